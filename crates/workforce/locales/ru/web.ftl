# Страницы: вход, оформление, люди, своя страница, страница администратора.
web-brand = Опора
web-skip = К содержанию
web-nav = Разделы
web-nav-people = Люди
web-nav-collapse = Свернуть меню
web-account = Ваше меню: { $name }
web-more = Ещё
web-close = Закрыть
web-search-pages = Разделы
web-search-nothing = Ничего не нашли. Попробуйте другое слово.
web-palette-hint = Человек, объект или раздел
web-nav-admin = Администрирование
web-sign-out = Выйти
web-to-home = На главную

web-sign-in = Вход
web-sign-in-about = Наш бот в Telegram пришлёт вам PIN — введите его здесь.
web-demo-sign-in = Это демо: войдите как владелец (1001), менеджер (1002) или сотрудник (1005). PIN — любые шесть цифр.
web-sign-in-by-link = Или отправьте боту /cabinet: он пришлёт ссылку для входа.
web-sign-in-too-many = Слишком много запросов. Новый PIN можно запросить через { $minutes ->
    [one] { $minutes } минуту
    [few] { $minutes } минуты
   *[many] { $minutes } минут
}. Можно и не ждать: отправьте боту /cabinet, и он пришлёт ссылку для входа.
web-link-message =
    Ваша ссылка для входа в кабинет: { $url }

    Она действует пять минут и сработает один раз. Никому её не пересылайте: по ней войдут от вашего имени.
web-link-button = 🖥 Открыть кабинет
web-link-owner = По этой ссылке откроется аккаунт: { $name }.
web-link-over = Ссылка уже использована или устарела. Отправьте боту /cabinet, чтобы получить новую.
web-who = ID в Telegram, @имя или телефон
web-who-hint = Чтобы узнать свой ID, отправьте боту /me.
web-who-not-understood = Не похоже на ID, @имя или телефон. Проверьте, пожалуйста.
web-send-pin = Прислать PIN
web-pin-sent = Если { $who } есть в системе, бот уже прислал шесть цифр. Они действуют пять минут.
web-pin = PIN от бота
web-log-in = Войти
web-ask-again = Получить другой PIN
web-pin-wrong = PIN не подходит. Он срабатывает один раз и только в том браузере, где его запросили.
web-pin-expired = Этот PIN устарел. Запросите, пожалуйста, новый.
web-pin-unavailable = Бот сейчас не может прислать PIN: не отвечает хранилище сообщений. Ничего не отправлено; попробуйте, пожалуйста, через несколько минут.
web-pin-locked = Слишком много неверных PIN. Новый можно запросить через { $minutes ->
    [one] { $minutes } минуту
    [few] { $minutes } минуты
   *[many] { $minutes } минут
}.
web-pin-message =
    Ваш PIN для входа: { $pin }

    Он действует пять минут на { $url }. Если вы его не запрашивали, ничего не делайте и никому его не сообщайте.

web-bad-request = Не получилось понять запрос
web-bad-request-advice = Вернитесь, пожалуйста, и попробуйте ещё раз.
web-bad-day = Не можем показать этот день
web-bad-day-advice = Выберите, пожалуйста, дату с { $first } по { $last } год, например 31.12.2026.
web-forbidden = Нет доступа к этой странице
web-forbidden-advice = У вашей роли нет прав на неё. Если они нужны, обратитесь к владельцу.
web-not-found = Такой страницы нет
web-not-found-advice = Возможно, она переехала или в адресе ошибка.
web-stale-form = Форма устарела
web-stale-form-advice = Вернитесь, пожалуйста, обновите страницу и попробуйте ещё раз.
web-not-possible = Сейчас так не получится
web-not-possible-advice = Возможно, кто-то успел раньше. Обновите, пожалуйста, страницу и проверьте.
web-too-many = Слишком много запросов
web-too-many-advice = { $minutes ->
    [one] Подождите, пожалуйста, { $minutes } минуту и попробуйте снова.
    [few] Подождите, пожалуйста, { $minutes } минуты и попробуйте снова.
   *[many] Подождите, пожалуйста, { $minutes } минут и попробуйте снова.
}
web-unavailable = Сейчас это не работает
web-unavailable-advice = Бот запускается или переезжает на другой сервер. Попробуйте, пожалуйста, через минуту.
web-failed = У нас что-то пошло не так
web-failed-advice = Мы записали ошибку. Попробуйте, пожалуйста, чуть позже.
web-request-number = Запрос { $number }

web-home = Сегодня
web-greeting = Здравствуйте, { $name }!
web-home-empty = Для вашей роли здесь пока ничего нет. Новое появится здесь и в боте.
web-count-verified = В команде

web-people = Люди
web-people-count = { $count ->
    [one] { $count } человек
    [few] { $count } человека
   *[many] { $count } человек
}
web-people-of-sites = Сотрудники с договором на объекты, за которые вы отвечаете.
web-search = Найти
web-search-hint = Имя, @имя, телефон или ID
web-no-person-found = Никого не нашли
web-no-person-found-about = Попробуйте другие слова или уберите часть фильтров.
web-people-show-all = Показать всех
web-no-people-yet = Здесь пока никого нет
web-no-people-yet-about = Отправьте приглашение: тот, кто откроет ссылку, зарегистрируется в боте и появится здесь.
web-all-people = Все
web-all-roles = Все роли
web-role = Роль
web-review = Рассмотреть
web-people-pending = Соискатели
web-people-verified = В команде
web-people-rejected = Отклонено
web-people-blocked = Доступ закрыт
web-pages = Страницы
web-previous = ← Назад
web-next = Дальше →
web-page-of = { $page } из { $pages }
web-name = Имя
web-roles = Роли
web-status = Статус
web-phone = Телефон
web-username = @имя
web-telegram-id = ID в Telegram
web-email = Почта
web-since = В системе с
web-test-user = Тестовый пользователь
web-status-pending = на проверке
web-status-verified = в команде
web-status-rejected = отклонено
web-status-blocked = доступ закрыт

web-access = Доступ
web-give-role = Дать роль
web-take-role = Снять роль
web-block = Закрыть доступ
web-unblock = Открыть доступ
web-block-ask = Закрыть доступ…
web-block-title = Закрыть доступ: { $name }?
web-block-signs-out = Сотрудник выйдет из кабинета на всех устройствах, бот перестанет отвечать на его команды.
web-block-gives-back = { $count ->
    [0] Запланированных смен нет, снимать нечего.
    [one] { $count } запланированная смена будет снята и станет свободной.
    [few] { $count } запланированные смены будут сняты и станут свободными.
   *[other] { $count } запланированных смен будет снято, они станут свободными.
}
web-block-at-work = Сейчас сотрудник на смене. Она останется открытой, пока вы её не закроете или она не закроется сама.
web-block-tells = Бот сообщит сотруднику, что доступ закрыт.
web-block-undo = Доступ можно снова открыть в любой момент и вернуть смены, которые ещё свободны.
web-block-not = Оставить доступ
web-block-done = { $count ->
    [0] { $name }: доступ закрыт
    [one] { $name }: доступ закрыт, снята { $count } смена
    [few] { $name }: доступ закрыт, сняты { $count } смены
   *[other] { $name }: доступ закрыт, снято { $count } смен
}
web-unblock-ask = Открыть доступ…
web-unblock-title = Открыть доступ: { $name }?
web-unblock-about = Сотрудник снова сможет входить в кабинет и пользоваться ботом. Бот ему об этом сообщит.
web-unblock-gone = Эти смены были сняты, вернуть их нельзя:
web-unblock-restores = { $count ->
    [one] Вернуть { $count } смену, которая ещё свободна
    [few] Вернуть { $count } смены, которые ещё свободны
   *[other] Вернуть { $count } смен, которые ещё свободны
}
web-unblock-not = Оставить закрытым
web-unblock-done = { $count ->
    [0] { $name }: доступ открыт
    [one] { $name }: доступ открыт, возвращена { $count } смена
    [few] { $name }: доступ открыт, возвращены { $count } смены
   *[other] { $name }: доступ открыт, возвращено { $count } смен
}
web-person-edit = Изменить
web-person-saved = Изменения сохранены
web-person-name-hint = Укажите имя и фамилию, не меньше двух букв.
web-person-phone-hint = Укажите телефон, например +7 999 123-45-67.
web-person-email-hint = Укажите адрес, например anna@example.com, или оставьте поле пустым.
web-person-username-about = @имя приходит из Telegram и обновляется само, когда человек пишет боту.
web-invite = Пригласить
web-invite-about = Отправьте эту ссылку новым сотрудникам или дайте отсканировать код. Бот проведёт их через регистрацию.
web-invite-link = Ссылка на бота
web-invite-qr = QR-код со ссылкой на бота
web-invite-copy = Скопировать ссылку
web-invite-copied = Скопировано
web-invite-print = Распечатать
web-invite-open = Открыть бота
web-invite-next = Когда человек зарегистрируется, одобрите заявку в разделе «Люди» → «Заявки»: там же можно сразу добавить договор.
web-invite-unknown = Telegram ещё не сообщил имя бота. Попробуйте через минуту.
web-forget-done = Персональные данные удалены
web-person-sections = Разделы страницы
web-person-overview = Обзор
web-person-photo = Фото
web-person-call = Позвонить
web-person-more = Другие действия
web-history = История изменений
web-history-empty = Пока ничего.
web-by-command = из командной строки

web-me = Моя страница
web-language = Язык
web-sessions = Где выполнен вход
web-this-browser = этот браузер
web-seen = последний раз:
web-end-session = Завершить
web-end-others = Завершить все остальные
web-language-saved = Теперь всё по-русски.
web-session-ended = Вход завершён.
web-sessions-ended = Остальные входы завершены.

web-admin-about = Состояние сервиса: бот, база данных и очереди сообщений.
web-store-sqlite = SQLite: после перезапуска всё на месте
web-store-postgres = PostgreSQL: после перезапуска всё на месте
web-store-redis = Redis: после перезапуска всё на месте, если Redis пишет на диск
web-store-memory = в памяти: после перезапуска диалоги начнутся заново
web-health = Состояние
web-version = Версия
web-database = База данных
web-bot = Бот
web-store = Разговоры
web-well = работает
web-not-well = не отвечает
web-lease = Активный процесс
web-lease-held = процесс { $pid } на { $host }, с
web-lease-free = нет
web-dialogues = Диалоги по состояниям
web-dialogues-active = { $count ->
    [one] Идёт { $count } диалог
    [few] Идут { $count } диалога
   *[many] Идут { $count } диалогов
}
web-waiting = В очереди
web-inbox = Входящие сообщения
web-outbox = Сообщения к отправке
web-unsendable = Неотправленные сообщения
web-timers = Таймеры
web-effects = Выполняемые задачи
web-parked = Необработанные сообщения
web-parked-none = Нет: всё обработано.
web-parked-of = из аккаунта Telegram { $user }
web-parked-advice = Посмотреть, повторить или снять командой:

web-own-data = Личные данные
web-own-data-about = Человек вправе получить все данные о себе и попросить их удалить.
web-export = Скачать файлом
web-forget = Удалить…
web-forget-title = Удаление данных: { $name }
web-forget-goes = Удалим имя, телефон, почту и имя в Telegram, документы с фотографиями, ответы анкеты и переписку. Человек выйдет из кабинета на всех устройствах.
web-forget-stays = Отработанные часы и выплаты останутся под номером: они нужны бухгалтерии. Останется и история изменений.
web-forget-final = Отменить это нельзя. Человек сможет зарегистрироваться снова, как новый.
web-forget-sure = Понимаю; человек сам об этом попросил
web-forget-now = Удалить навсегда
web-forget-not = Оставить всё как есть

# Формы.
web-form-stale = Пока вы писали, кто-то это изменил. Ваш вариант не потерян: он в форме, а рядом с отличиями показано текущее значение.
web-form-look-again = Проверьте, пожалуйста, отмеченные поля.
web-form-bad-field = Это значение не подходит. Введите другое.
web-form-not-yours = У вас нет прав это менять.
web-form-by-now = Сейчас: { $value }
web-form-ticked = отмечено
web-form-not-ticked = не отмечено
web-form-on-top = Сохранить мой вариант
web-form-on-top-about = Ваш вариант заменит то, что записал другой человек.
web-form-drop = Оставить текущий вариант
web-form-typed = Вы написали:

# Даты.
web-day = { $day }.{ $year }
web-long-day = { $weekday ->
    [1] понедельник
    [2] вторник
    [3] среда
    [4] четверг
    [5] пятница
    [6] суббота
   *[7] воскресенье
}, { $day } { $month ->
    [1] января
    [2] февраля
    [3] марта
    [4] апреля
    [5] мая
    [6] июня
    [7] июля
    [8] августа
    [9] сентября
    [10] октября
    [11] ноября
   *[12] декабря
}
# Что ввести в поле, которое не подошло.
web-form-bad-number = Введите целое число, например 5.
web-form-bad-money = Введите сумму, например 250 или 250,50.
web-form-bad-time = Введите время, например 09:30.
web-form-bad-day = Введите дату, например 31.12.2026.
web-form-bad-moment = Введите дату и время, например 31.12.2026 18:00.
web-form-bad-choice = Выберите вариант из списка.
web-form-bad-zone = Введите часовой пояс, например Москва или Europe/Moscow, либо выберите его из списка.
