# Регистрация: о чём спрашивают новичков и что из этого выходит.
registration-language = Давайте познакомимся. На каком языке мне говорить?
registration-resume = Вы начали регистрацию: пройдено шагов { $done } из { $all }. Продолжим?
registration-continue-button = Продолжить
registration-over-button = Начать заново
registration-back-button = ← Назад
registration-back-said = Возвращаемся на шаг назад.
registration-skip-button = Пропустить
registration-name = Как вас зовут? Напишите имя и фамилию.
registration-name-too-short = Напишите, пожалуйста, имя буквами: их должно быть хотя бы две.
registration-name-too-long = Для имени это слишком длинно: не больше 100 знаков, пожалуйста.
registration-name-is-a-button = Это кнопка, а не имя. Напишите имя и фамилию.
registration-phone = Ваш номер телефона? Нажмите кнопку ниже или напишите номер.
registration-share-button = 📱 Поделиться номером
registration-phone-taken = Спасибо. Ваш номер: { $phone }
registration-phone-of-another = Это контакт другого человека. Поделитесь своим номером с помощью кнопки или напишите его.
registration-phone-not-understood = Не узнаю такой номер. Напишите его с кодом страны, например +7 999 123-45-67.
registration-email = Ваша электронная почта? Этот шаг можно пропустить.
registration-email-not-understood = Это не похоже на адрес почты. Напишите его в виде name@example.com или пропустите этот шаг.
registration-kind = Какой документ вы покажете?
registration-passport-button = Паспорт
registration-licence-button = Водительское удостоверение
registration-selfie-button = Селфи
registration-send-passport = Пришлите фото паспорта: разворот с фотографией, чётко и целиком.
registration-send-licence = Пришлите фото водительского удостоверения: лицевую сторону, чётко и целиком.
registration-send-selfie = Теперь селфи: лицо должно быть хорошо видно.
registration-not-a-picture = Здесь нужна одна картинка: фото или изображение файлом.
registration-too-large = Этот файл слишком большой: не больше { $most } МБ, пожалуйста.
registration-same-picture = Это та же картинка, что и документ. Нужно фото вашего лица.
registration-same-as-selfie = Это та же картинка, что и селфи. Нужно фото документа.
registration-text-wanted = Ответьте, пожалуйста, текстом.
registration-button-wanted = Выберите, пожалуйста, одну из кнопок.
registration-saving = Одну минуту: сохраняю вашу заявку…
registration-still-saving = Ещё сохраняю вашу заявку. Напишу, как только будет готово.
registration-done = Готово! Ваша заявка на проверке. Я напишу, как только её рассмотрят.
registration-not-saved = Не получилось сохранить заявку. Всё, что вы ввели, осталось: попробуйте ещё раз сейчас или позже командой /start.
registration-passport-not-an-image = Файл, который вы прислали как паспорт, — не изображение, которое я умею читать (JPEG, PNG, WebP или HEIC). Пришлите его, пожалуйста, ещё раз.
registration-licence-not-an-image = Файл, который вы прислали как водительское удостоверение, — не изображение, которое я умею читать (JPEG, PNG, WebP или HEIC). Пришлите его, пожалуйста, ещё раз.
registration-selfie-not-an-image = Файл, который вы прислали как селфи, — не изображение, которое я умею читать (JPEG, PNG, WebP или HEIC). Пришлите его, пожалуйста, ещё раз.
registration-known-already = Вы уже зарегистрированы.
registration-cancelled = Отменено, ничего не сохранено. Начать заново — /start.
registration-timed-out = Прошли сутки, и я удалил то, что вы ввели. Команда /start начнёт регистрацию заново.
registration-once-more = Прошлая заявка отклонена: { $reason } Вы можете подать новую.

# Решение.
registration-waiting-button = 📝 Заявки
registration-new =
    Новая заявка: { $name }
    Номер в Telegram: { $id }
    { $since }
registration-waits =
    { $name }
    Номер в Telegram: { $id }
    ждёт с { $since }
registration-count = { $count ->
    [one] Ждёт { $count } заявка.
    [few] Ждут { $count } заявки.
   *[many] Ждут { $count } заявок.
}
registration-nobody-waits = Заявок на проверку нет.
registration-approve-button = ✅ Одобрить
registration-reject-button = ❌ Отклонить
registration-papers-button = 🪪 Документы
registration-no-papers = Здесь нет документов, которые можно показать.
registration-reason = Почему отклонить заявку ({ $name })? Человек прочитает ваш ответ. /cancel оставит всё как есть.
registration-reason-bad = Напишите причину: от 1 до { $most } знаков.
registration-approved-by-you = Одобрено: { $name }
registration-rejected-by-you = Отклонено: { $name }
registration-approved-already-toast = Уже одобрено: { $name }.
registration-rejected-already-toast = Уже отклонено: { $name }.
registration-out-of-date-toast = Это устарело: заявка изменилась.
registration-approved = Добро пожаловать в команду! Ваша заявка одобрена.
registration-rejected =
    Ваша заявка отклонена.
    Причина: { $reason }
    Подать новую можно командой /start.

# Страницы.
registration-nav = Заявки
registration-card = заявок ждут решения
registration-since = Ждёт с
registration-changed = Решение не записано: с тех пор как вы открыли страницу, документы изменились. Сначала посмотрите их.
registration-shown-of = Показано { $shown } из { $count }. Кто ждёт дольше, тот выше; остальные появятся, когда вы примете решение.
registration-reason-hint = Причину человек прочитает в чате и сможет подать новую заявку.
registration-documents = Документы
registration-document-of = Чей документ
registration-document-sent = Прислан
registration-document-size = Размер
registration-document-private = Документы видят только владелец и суперадмин.
registration-kilobytes = { $size } КБ
registration-other-documents = Другие документы этого человека
registration-cannot-show = Браузер не показывает { $type }. Скачайте файл, чтобы посмотреть его.
registration-download = Скачать
registration-decide = К решению по заявке
registration-no-documents = Документов нет.
registration-reason-label = Причина отказа
registration-document-pending = ждёт
registration-document-approved = одобрен
registration-document-rejected = отклонён
