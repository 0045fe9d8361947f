# Регистрация: о чём спрашивают новичков и что из этого выходит.
registration-language = Давайте познакомимся. На каком языке вам удобнее?
registration-resume = Вы начали регистрацию: пройдено шагов { $done } из { $all }. Продолжим?
registration-continue-button = Продолжить
registration-over-button = Начать заново
registration-back-button = ← Назад
registration-back-said = Вернулись на шаг назад.
registration-skip-button = Пропустить
registration-skipped = (пропущено)
registration-name = Как вас зовут? Напишите имя и фамилию.
registration-name-too-short = Напишите, пожалуйста, имя буквами: нужно хотя бы две.
registration-name-too-long = Слишком длинное имя. Уложитесь, пожалуйста, в 100 знаков.
registration-name-is-a-button = Это кнопка, а не имя. Напишите имя и фамилию.
registration-phone = Какой у вас номер телефона? Нажмите кнопку ниже или напишите номер.
registration-share-button = 📱 Поделиться номером
registration-phone-taken = Спасибо. Ваш номер: { $phone }
registration-phone-of-another = Это контакт другого человека. Отправьте свой номер кнопкой или напишите его.
registration-phone-not-understood = Не получилось распознать номер. Напишите его с кодом страны, например +7 999 123-45-67.
registration-email = Какая у вас электронная почта? Этот шаг можно пропустить.
registration-email-not-understood = Не похоже на адрес почты. Напишите его в виде name@example.com или пропустите этот шаг.
registration-kind = Какой документ пришлёте?
registration-passport-button = Паспорт
registration-licence-button = Водительское удостоверение
registration-selfie-button = Селфи
registration-send-passport = Пришлите фото паспорта: разворот с фотографией, чётко и целиком.
registration-send-licence = Пришлите фото водительского удостоверения: лицевую сторону, чётко и целиком.
registration-send-selfie = Теперь пришлите селфи: лицо должно быть хорошо видно.
registration-not-a-picture = Пришлите одну картинку: фото или изображение файлом.
registration-too-large = Файл слишком большой. Пришлите, пожалуйста, не больше { $most } МБ.
registration-same-picture = Это та же картинка, что и документ. Пришлите фото лица.
registration-same-as-selfie = Это та же картинка, что и селфи. Пришлите фото документа.
registration-text-wanted = Ответьте, пожалуйста, текстом.
registration-button-wanted = Нажмите, пожалуйста, одну из кнопок.
registration-saving = Одну минуту: сохраняю заявку…
registration-still-saving = Всё ещё сохраняю заявку. Напишу, как только будет готово.
registration-done = Готово! Заявка на проверке. Напишу, как только её рассмотрят.
registration-not-saved = Не получилось сохранить заявку. Всё, что вы ввели, на месте: попробуйте ещё раз сейчас или позже командой /start.
registration-passport-not-an-image = Не получилось открыть фото паспорта: нужен файл JPEG, PNG, WebP или HEIC. Пришлите его, пожалуйста, ещё раз.
registration-licence-not-an-image = Не получилось открыть фото водительского удостоверения: нужен файл JPEG, PNG, WebP или HEIC. Пришлите его, пожалуйста, ещё раз.
registration-selfie-not-an-image = Не получилось открыть селфи: нужен файл JPEG, PNG, WebP или HEIC. Пришлите его, пожалуйста, ещё раз.
registration-known-already = Вы уже зарегистрированы.
registration-cancelled = Регистрация прервана, ничего не сохранено. Начать заново — /start.
registration-timed-out = Прошли сутки, и введённые данные удалены. Начать регистрацию заново — /start.
registration-once-more = Прошлую заявку отклонили: { $reason } Вы можете подать новую.

# Согласие на обработку персональных данных.
registration-consent-default =
    Чтобы принять вас на работу, нам нужны ваши персональные данные: имя, телефон, почта (по желанию), фото документа и селфи.

    Мы храним их, чтобы проверить заявку, оформить вас и платить за смены. Документы видят только владелец и главный администратор. Данные удаляются по вашей просьбе.

    Нажимая «Даю согласие», вы соглашаетесь на обработку персональных данных по Федеральному закону № 152-ФЗ. Его можно отозвать: напишите владельцу.
registration-agree-button = Даю согласие
registration-disagree-button = Не даю согласия
registration-agreed = ✓ Согласие получено.
registration-consent-changed = Пока вы читали, текст изменился. Прочитайте, пожалуйста, новый.
registration-consent-refused = Понимаю. Без согласия зарегистрировать вас нельзя, поэтому я ничего не сохраняю. Если передумаете — /start.
registration-discard-button = Удалить ответы
registration-paused = Остановились. Ответы сохранятся сутки; продолжить — /start.

registration-still-waits = Хорошо, заявка ({ $name }) остаётся без решения.
registration-no-site-yet = Скоро вам назначат объект, и я напишу. После этого можно брать смены.
registration-your-sites = { $count ->
    [one] Ваш объект: { $sites }.
   *[other] Ваши объекты: { $sites }.
    } Теперь можно взять смену.
registration-which-site = На каком объекте будет работать этот человек? Выберите, и я оформлю договор. Ставка — по объекту; её можно изменить в кабинете.
registration-contract-given = Договор оформлен: { $name }, { $site }. Можно брать смены — я об этом написал.

# Решение.
registration-waiting-button = 📝 Заявки
registration-new =
    Новая заявка: { $name }
    ID в Telegram: { $id }
    { $since }
registration-waits =
    { $name }
    ID в Telegram: { $id }
    ждёт с { $since }
registration-count = { $count ->
    [one] Ждёт решения { $count } заявка.
    [few] Ждут решения { $count } заявки.
   *[many] Ждут решения { $count } заявок.
}
registration-none-waiting = Новых заявок нет.
registration-approve-button = ✅ Одобрить
registration-reject-button = ❌ Отклонить
registration-papers-button = 🪪 Документы
registration-no-papers = Документов нет.
registration-reason = Почему отклоняете заявку ({ $name })? Человек прочитает ваш ответ.
registration-reason-bad = Напишите причину: от 1 до { $most } знаков.
registration-approved-by-you = Заявка одобрена: { $name }
registration-rejected-by-you = Заявка отклонена: { $name }
registration-rejected-card =
    Заявка отклонена: { $name }
    Причина: { $reason }
registration-approved-already-toast = Заявку уже рассмотрели: { $name } (одобрено).
registration-rejected-already-toast = Заявку уже рассмотрели: { $name } (отклонено).
registration-out-of-date-toast = Заявка с тех пор изменилась. Откройте её ещё раз.
registration-approved = Добро пожаловать в команду! Вашу заявку одобрили.
registration-rejected =
    Вашу заявку отклонили.
    Причина: { $reason }
    Подать новую — /start.

# Страницы.
registration-nav = Заявки
registration-approve = Одобрить
registration-reject = Отклонить
registration-card = { $count ->
    [one] { $count } заявка ждёт решения
    [few] { $count } заявки ждут решения
   *[many] { $count } заявок ждут решения
}
registration-since = Ждёт с
registration-changed = Решение не записано: пока страница была открыта, документы изменились. Сначала посмотрите их.
registration-shown-of = Показано { $shown } из { $count }, сначала самые давние. Остальные появятся, когда вы примете решения.
registration-reason-hint = Человек прочитает причину в чате и сможет подать новую заявку.
registration-documents = Документы
registration-document-of = Чей документ
registration-document-sent = Дата отправки
registration-document-size = Размер
registration-document-private = Документы видят только владелец и главный администратор.
registration-kilobytes = { $size } КБ
registration-other-documents = Другие документы этого человека
registration-cannot-show = Браузер не умеет показывать { $type }. Скачайте файл, чтобы посмотреть его.
registration-download = Скачать
registration-decide = Рассмотреть заявку
registration-no-documents = Документов нет.
registration-reason-label = Причина отказа
registration-document-pending = на проверке
registration-document-approved = одобрено
registration-document-rejected = отклонено
registration-contract = Где будет работать
registration-contract-about = Отметьте объекты, и договор появится вместе с одобрением. Не отметите — добавите его позже.
registration-page-approved-at = { $name }: заявка одобрена, договор оформлен ({ $sites }). Я написал, что можно брать смены.
registration-page-approved = { $name }: заявка одобрена. Чтобы брать смены, нужен договор.
registration-page-rejected = { $name }: заявка отклонена. Причину я передал.
registration-open-person = Открыть страницу человека
registration-next = Следующая заявка
registration-consent-given = Согласие на обработку персональных данных:
registration-consent-version = версия { $version }
registration-valid-until = действует до { $day }
registration-expiring = Документы с истекающим сроком
registration-expires = истекает { $day }
registration-expired = срок истёк { $day }
registration-valid-until-label = Действует до
registration-valid-until-optional = Документ действует до (необязательно)
registration-valid-until-about = За 30 дней до этой даты у документа появится предупреждение. Если срока нет, оставьте поле пустым.
registration-validity-saved = Дата сохранена.
