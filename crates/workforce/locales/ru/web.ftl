# Страницы: вход, оформление, люди, своя страница, страница администратора.
web-brand = Опора
web-skip = К содержанию
web-nav = Разделы
web-nav-people = Люди
web-nav-admin = Администрирование
web-sign-out = Выйти
web-to-home = На главную

web-sign-in = Вход
web-sign-in-about = Наш бот в Telegram пришлёт вам PIN, введите его здесь.
web-sign-in-by-link = Или отправьте боту /cabinet: он пришлёт ссылку для входа.
web-sign-in-too-many = Слишком много запросов. Новый PIN можно запросить через { $minutes ->
    [one] { $minutes } минуту
    [few] { $minutes } минуты
   *[many] { $minutes } минут
}. Можно и не ждать: отправьте боту /cabinet, и он пришлёт ссылку для входа.
web-link-message =
    Ваша ссылка для входа в кабинет: { $url }

    Она сработает один раз и действует пять минут. Никому её не пересылайте: по ней входят от вашего имени.
web-link-button = 🖥 Открыть кабинет
web-link-owner = По этой ссылке откроется аккаунт: { $name }.
web-link-over = Ссылка уже использована или устарела. Отправьте боту /cabinet, чтобы получить новую.
web-who = Номер в Telegram, @имя или телефон
web-who-hint = Свой номер можно узнать у бота командой /me.
web-who-not-understood = Это не номер, не имя пользователя и не телефон. Проверьте, пожалуйста.
web-send-pin = Прислать PIN
web-pin-sent = Если { $who } здесь знают, бот только что прислал шесть цифр. Они действуют пять минут.
web-pin = PIN от бота
web-log-in = Войти
web-ask-again = Запросить другой PIN
web-pin-wrong = PIN не подходит. Он действует один раз и только в том браузере, где его запросили.
web-pin-expired = Этот PIN устарел. Запросите, пожалуйста, новый.
web-pin-unavailable = Сейчас бот не может прислать PIN: хранилище, в котором лежат его сообщения, не отвечает. Ничего не отправлено; попробуйте, пожалуйста, через несколько минут.
web-pin-locked = Слишком много неверных PIN. Новый можно запросить через { $minutes ->
    [one] { $minutes } минуту
    [few] { $minutes } минуты
   *[many] { $minutes } минут
}.
web-pin-message =
    Ваш PIN для входа: { $pin }

    Он действует пять минут на { $url }. Если вы его не запрашивали, ничего не делайте и никому его не сообщайте.

web-bad-request = Мы не поняли этот запрос
web-bad-request-advice = Вернитесь, пожалуйста, и попробуйте ещё раз.
web-bad-day = Такой день мы показать не можем
web-bad-day-advice = Выберите, пожалуйста, дату с { $first } по { $last } год в виде 2026-01-31.
web-forbidden = Эта страница не для вас
web-forbidden-advice = Ваша роль её не включает. Если должна, поговорите с владельцем.
web-not-found = Такой страницы нет
web-not-found-advice = Возможно, она переехала или адрес не совсем верный.
web-stale-form = Форма устарела
web-stale-form-advice = Вернитесь, пожалуйста, обновите страницу и повторите.
web-not-possible = Сейчас это невозможно
web-not-possible-advice = Возможно, кто-то успел раньше. Обновите, пожалуйста, страницу и проверьте.
web-too-many = Слишком много запросов
web-too-many-advice = { $minutes ->
    [one] Подождите, пожалуйста, { $minutes } минуту и попробуйте снова.
    [few] Подождите, пожалуйста, { $minutes } минуты и попробуйте снова.
   *[many] Подождите, пожалуйста, { $minutes } минут и попробуйте снова.
}
web-unavailable = Сейчас это не работает
web-unavailable-advice = Бот как раз запускается или переезжает. Попробуйте, пожалуйста, через минуту.
web-failed = У нас что-то пошло не так
web-failed-advice = Мы это записали. Попробуйте, пожалуйста, чуть позже.
web-request-number = Запрос { $number }

web-home = Главная
web-greeting = Здравствуйте, { $name }!
web-home-empty = Для вашей роли здесь пока ничего нет; новое появится в боте и здесь.
web-count-verified = В команде
web-count-pending = Ждут проверки

web-people = Люди
web-people-count = { $count ->
    [one] { $count } человек
    [few] { $count } человека
   *[many] { $count } человек
}
web-people-of-sites = Люди с договором на объекты, за сотрудников которых вы отвечаете.
web-search = Найти
web-search-hint = Имя, @имя, телефон или номер
web-nobody-found = Никого не нашлось.
web-pages = Страницы
web-previous = ← Назад
web-next = Дальше →
web-page-of = { $page } из { $pages }
web-name = Имя
web-roles = Роли
web-status = Статус
web-phone = Телефон
web-username = Имя пользователя
web-telegram-id = Номер в Telegram
web-email = Почта
web-since = С нами с
web-test-user = Тестовый пользователь
web-status-pending = на проверке
web-status-verified = в команде
web-status-rejected = отказано
web-status-blocked = доступ закрыт

web-access = Доступ
web-give-role = Дать эту роль
web-take-role = Забрать
web-block = Закрыть доступ
web-block-about = Доступ закроется сразу: входы на страницы завершатся, и бот перестанет выполнять просьбы.
web-unblock = Открыть доступ
web-history = Что делали сотрудники
web-history-empty = Пока ничего.
web-by-command = из командной строки

web-me = Моя страница
web-language = Язык
web-sessions = Где выполнен вход
web-this-browser = этот браузер
web-seen = последний раз
web-end-session = Завершить
web-end-others = Завершить все остальные

web-admin-beginning = Эта страница — начало: скоро здесь будет больше об эксплуатации.
web-health = Состояние
web-version = Версия
web-database = База данных
web-bot = Бот
web-store = Разговоры
web-well = работает
web-not-well = не отвечает
web-lease = Кто работает за бота
web-lease-held = процесс { $pid } на { $host }, с
web-lease-free = сейчас никто
web-dialogues = Диалоги по состояниям
web-dialogues-active = { $count ->
    [one] { $count } идёт
    [few] { $count } идут
   *[many] { $count } идут
}
web-waiting = Что ждёт
web-inbox = Входящие
web-outbox = Сообщения к отправке
web-unsendable = Неотправленные сообщения
web-timers = Таймеры
web-effects = Работа в процессе
web-parked = Отложенные ходы
web-parked-none = Нет: окончательных сбоев не было.
web-parked-of = аккаунта Telegram { $user }
web-parked-advice = Посмотреть, повторить или снять:

web-own-data = Личные данные
web-own-data-about = Человек вправе получить всё, что о нём известно, и попросить это удалить.
web-export = Скачать файлом
web-forget = Удалить…
web-forget-title = Удаление данных: { $name }
web-forget-goes = Будут удалены имя, телефон, почта и имя в Telegram, документы вместе с фотографиями, ответы анкеты и переписка с сотрудниками. Все входы на страницы завершатся.
web-forget-stays = Отработанные часы и выплаты останутся под номером: они нужны бухгалтерии. Останется и список того, что делали сотрудники.
web-forget-final = Отменить это нельзя. Человек сможет зарегистрироваться снова, как новый.
web-forget-sure = Понимаю; человек сам об этом попросил
web-forget-now = Удалить навсегда
web-forget-not = Оставить всё как есть

# Формы.
web-form-stale = Пока вы писали, это изменил кто-то другой. Ваше не потеряно: ваши слова в форме, а рядом с каждым отличием видно, как сейчас.
web-form-look-again = Проверьте, пожалуйста, отмеченные поля.
web-form-bad-field = Проверьте, пожалуйста.
web-form-not-yours = Вам не разрешено это менять.
web-form-by-now = Сейчас: { $value }
web-form-ticked = отмечено
web-form-not-ticked = не отмечено
web-form-on-top = Сохранить моё поверх
web-form-on-top-about = При сохранении написанное другим человеком заменится тем, что стоит в этой форме.
web-form-drop = Оставить как сейчас
web-form-typed = Вы написали:
