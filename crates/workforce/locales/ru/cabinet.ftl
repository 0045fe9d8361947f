# Кабинет: сегодня, объекты, календарь, смены, графики.
cabinet-nav-calendar = Календарь
cabinet-nav-shifts = Смены
cabinet-nav-sites = Объекты
cabinet-nav-cancellations = Отмены
cabinet-nav-charts = Графики
cabinet-nav-managers = Менеджеры

cabinet-create = Создать
cabinet-save = Сохранить
cabinet-edit = Изменить
cabinet-delete = Удалить
cabinet-restore = Вернуть удалённое
cabinet-show = Показать
cabinet-from = С
cabinet-to = По

cabinet-site = Объект
cabinet-all-sites = Все объекты
cabinet-no-sites = Объектов пока нет.
cabinet-new-site = Новый объект
cabinet-deleted-sites = Удалённые объекты
cabinet-deleted-site = { $site } (удалён)
cabinet-hours = Часы работы
cabinet-state = Состояние
cabinet-open = открыт
cabinet-closed = закрыт
cabinet-rate = Ставка в час
cabinet-rate-per-hour = Ставка в час, ₽
cabinet-name = Название
cabinet-address = Адрес
cabinet-position = Координаты: широта, долгота
cabinet-max-distance = Допустимое расстояние, м
cabinet-time-zone = Часовой пояс
cabinet-opens = Открывается
cabinet-closes = Закрывается
cabinet-auto-close = Забытые смены закрываются через, мин
cabinet-late-threshold = Опоздание прощается до, мин
cabinet-late-minute = Минута опоздания стоит, ₽
cabinet-working-days = Рабочие дни
cabinet-day-0 = Пн
cabinet-day-1 = Вт
cabinet-day-2 = Ср
cabinet-day-3 = Чт
cabinet-day-4 = Пт
cabinet-day-5 = Сб
cabinet-day-6 = Вс
cabinet-open-site = Открыть объект
cabinet-close-site = Закрыть объект
cabinet-delete-site = Удалить объект
cabinet-delete-site-about = Удалённый объект можно вернуть.

cabinet-tasks = Задачи
cabinet-tasks-about = Что нужно сделать в каждой смене. Изменения действуют для смен, открытых после них.
cabinet-no-tasks = Задач нет.
cabinet-new-task = Новая задача
cabinet-deleted-tasks = Удалённые задачи
cabinet-task-text = Что нужно сделать
cabinet-task-amount = Сумма, ₽
cabinet-task-amount-about = Больше нуля — премия за выполнение. Со знаком минус — штраф за невыполнение.
cabinet-mandatory = обязательная
cabinet-needs-media = нужно фото

cabinet-who = Кто
cabinet-when = Начало
cabinet-no-shifts = В эти дни смен не было.
cabinet-mine = Только мои
cabinet-mine-about = Ваши собственные смены, на каком бы объекте они ни были
cabinet-shifts-cut = Больше { $most } дней сразу не показывается: здесь дни начиная с { $from }.
cabinet-shifts-before = Те, что до { $to }
cabinet-at-work = на смене
cabinet-completed = завершена
cabinet-cancelled = отменена
cabinet-late = опоздание { $minutes } мин
cabinet-planned = По плану
cabinet-spontaneous = без плана
cabinet-began = Начало
cabinet-ended = Конец
cabinet-opened-at = Место открытия
cabinet-closed-at = Место закрытия
cabinet-metres-away = { $metres } м от объекта
cabinet-by-clock = Время по часам объекта: { $zone }.
cabinet-closed-by-person = закрыта сотрудником
cabinet-closed-by-staff = закрыта руководством
cabinet-closed-by-time = закрылась сама
cabinet-no-amounts = Суммы считаются при закрытии смены.
cabinet-done-at = выполнена
cabinet-photos = { $count ->
    [one] Прислать мне { $count } файл в Telegram
    [few] Прислать мне { $count } файла в Telegram
   *[many] Прислать мне { $count } файлов в Telegram
}
cabinet-media-picture = Снимок к задаче
cabinet-media-awaited = Загружается из Telegram.
cabinet-media-failed = Не удалось загрузить из Telegram.
cabinet-media-again = Попробовать ещё раз
cabinet-media-too-large = Файл больше { $most } МБ. Такие Telegram отдаёт только людям: попросите прислать его вам в чат.
cabinet-media-save = Сохранить файл
cabinet-close-shift = Закрыть смену
cabinet-close-shift-about = Если смену забыли закрыть. Оплачиваются часы до её конца.
cabinet-close-shift-sure = Закрыть эту смену?
cabinet-close-end = Закончилась
cabinet-close-over = когда должна была: { $time }
cabinet-close-now = сейчас
cabinet-close-at = в другое время
cabinet-close-time = Другое время, по часам объекта

cabinet-today = Сегодня
cabinet-working-now = Сейчас на смене
cabinet-late-today = Опоздали
cabinet-not-come = Не пришли
cabinet-open-sites = Открытые объекты
cabinet-not-come-yet = не пришёл
cabinet-expected = ожидается
cabinet-free-places = { $count ->
    [one] Сегодня свободно { $count } место
    [few] Сегодня свободно { $count } места
   *[many] Сегодня свободно { $count } мест
}

cabinet-view = Вид
cabinet-week = Неделя
cabinet-month = Месяц
cabinet-choose-site = Чтобы добавить слоты, выберите объект.
cabinet-choose-site-sums = Дни, где слотов много, показаны суммами. Чтобы увидеть и изменить все слоты, выберите объект.
cabinet-nobody-yet = пока никого
cabinet-who-comes = Кто придёт
cabinet-put-somebody = Поставить в этот слот
cabinet-put-button = Поставить
cabinet-nobody-free = Никто из тех, кто работает здесь по договору, в это время не свободен.
cabinet-other-overlap = На это время у сотрудника уже запланирована другая смена.
cabinet-other-no-contract = У сотрудника нет действующего договора на этот объект.
cabinet-take-out = Отменить
cabinet-take-out-sure = Отменить этот план? Сотрудник получит сообщение, штрафа не будет.
cabinet-new-slot = Новый слот
cabinet-day = День
cabinet-starts = С
cabinet-ends = До
cabinet-capacity = Мест
cabinet-slot-rate = Своя ставка, ₽
cabinet-slot-title = Пост, например «кассир»
cabinet-penalises-lateness = опоздания штрафуются
cabinet-ignores-site-tasks = без задач объекта
cabinet-slot-about = Если конец не позже начала, он на следующий день. Без своей ставки действует ставка объекта.
cabinet-slot-tasks = Задачи только этого слота
cabinet-slot-own-case = У вас есть место в этом слоте, и от него зависит ваша оплата. Вы можете менять пост и число мест; остальное меняет и удаляет владелец. Если не сможете прийти, отмените смену в боте.
cabinet-slot-deleted = Этот слот удалён.
cabinet-fill = Заполнить рабочие дни
cabinet-fill-about = Такой слот на каждый рабочий день объекта. Те, что уже есть, остаются.
cabinet-fill-button = Заполнить
cabinet-first-day = Первый день
cabinet-last-day = Последний день
cabinet-slots-made = { $count ->
    [0] Новых слотов нет: на эти дни добавлять нечего, или всё уже есть.
    [one] Добавлен { $count } слот.
    [few] Добавлено { $count } слота.
   *[many] Добавлено { $count } слотов.
}
cabinet-copy-week = Скопировать неделю
cabinet-copy-from = Неделя, в которой
cabinet-copy-to = На неделю, в которой
cabinet-copy-button = Скопировать
cabinet-copy-without-rates = Слоты со своей ставкой копируются со ставкой объекта.

cabinet-cancellations-about = Принятая причина ничего не стоит. За отклонённую берётся штраф из настроек.
cabinet-no-cancellations = Отмен, которые ждут решения, нет.
cabinet-short-notice = поздно
cabinet-document = Документ
cabinet-cancelled-at = Отменено
cabinet-accept = Принять причину
cabinet-reject = Отклонить

cabinet-contracts = Договоры
cabinet-contracts-edit = Договоры: добавить и изменить
cabinet-offer-contract = Предложить договор
cabinet-offer-about = Для проверенного сотрудника, у которого здесь ещё нет договора.
cabinet-offer-whom = Номер в Telegram, телефон или @имя
cabinet-contract-elsewhere = Этот договор действует и на других объектах: изменить его может владелец.
cabinet-new-contract = Новый договор
cabinet-own-rate = Своя ставка в час, ₽
cabinet-rate-of-site = ставка слота или объекта
cabinet-allows-spontaneous = может открывать смены без плана
cabinet-contract-draft = черновик
cabinet-contract-active = действует
cabinet-contract-suspended = приостановлен
cabinet-contract-terminated = завершён

cabinet-cost = Затраты
cabinet-late-starts = Опоздания
cabinet-nothing-to-chart = За этот месяц показывать нечего.
cabinet-deleted-contracts = Удалённые договоры

cabinet-permissions = Права
cabinet-permissions-edit = Изменить права
cabinet-permissions-about = Что этот менеджер может делать на каждом объекте. Кто может на объекте хоть что-то, тот его и видит. «Финансы» показывают заработанное там; выплаты отмечает владелец.
cabinet-permissions-history = История
cabinet-permissions-untouched = Эти права ещё никто не менял.
cabinet-permitted-nothing = Пока ничего не может ни на одном объекте.
cabinet-managers-about = Кто какими объектами занимается и что там может. Менеджером становятся по роли на странице человека.
cabinet-no-managers = Менеджеров пока нет. Дайте кому-нибудь эту роль на странице человека.
cabinet-their-page = Страница человека
cabinet-day-slots =
    { $count ->
        [one] { $count } смена
        [few] { $count } смены
       *[other] { $count } смен
    }, занято { $taken } из { $places }

cabinet-nav-schedule = Моё расписание
cabinet-my-plans = Мои планы
cabinet-no-plans = Вы пока ничего не запланировали.
cabinet-free-now = Свободные места
cabinet-nothing-free = В ближайшие три недели свободных мест нет.
cabinet-free-places-here = { $count ->
    [0] Свободных мест сейчас нет
    [one] { $count } свободное место
    [few] { $count } свободных места
   *[other] { $count } свободных мест
}
cabinet-take-place = Занять
cabinet-cancel-in-bot = Отменить смену можно в боте, указав причину: нажмите там «{ $button }».
cabinet-to-bot = Перейти в бот

cabinet-warns-long = { $hours } ч: длиннее рабочего дня
cabinet-warns-meets = пересекается с другим слотом: { $when }
cabinet-warns-long-day = { $name }: { $hours } ч в этот день
cabinet-warns-cannot-come = { $name }: договор на этот объект больше не действует
cabinet-day-warns = { $count ->
    [one] { $count } слот требует внимания
    [few] { $count } слота требуют внимания
   *[other] { $count } слотов требуют внимания
}
cabinet-day-not-looked-at = слоты не просмотрены
cabinet-new-slot-on = Новый слот на { $day }
cabinet-deleted-slots = Удалённые слоты

cabinet-in-hours = { $hours } ч
cabinet-in-starts = { $count ->
    [one] { $count } опоздание
    [few] { $count } опоздания
   *[other] { $count } опозданий
}
cabinet-chart-of = { $what } по дням, { $month }. Значения — в таблице ниже.
cabinet-as-table = Значения таблицей

cabinet-nav-settings = Настройки
cabinet-yes = да
cabinet-no = нет
cabinet-setting-default = По умолчанию: { $value }.
cabinet-settings-history = Изменения
cabinet-settings-untouched = Всё по умолчанию.
cabinet-setting-time-zone = Часовой пояс бизнеса
cabinet-setting-time-zone-about = По нему определяется, какой сейчас месяц, и дни выплат и сумм, внесённых вручную. День смены и её оплаты — по часам её объекта.
cabinet-setting-task-penalty = Невыполненная обязательная задача стоит, ₽
cabinet-setting-task-penalty-about = Для обязательных задач без собственной цены.
cabinet-setting-notice = Отменять план свободно можно не позже чем за, часов
cabinet-setting-notice-about = Позже — это поздняя отмена.
cabinet-setting-short-notice = Поздняя отмена стоит, ₽
cabinet-setting-short-notice-about = Только если причину отклонили.
cabinet-setting-invalid-reason = Отмена по неуважительной причине стоит, ₽
cabinet-setting-invalid-reason-about = Только если причину отклонили.
cabinet-setting-questions = Вопросы сотрудников получают
cabinet-setting-questions-about = Менеджеры, владельцы или один человек. Если никто из них не может ответить — тот, кто может.
cabinet-setting-managers = Менеджеры
cabinet-setting-owners = Владельцы
cabinet-setting-left = { $id } (больше не может отвечать)
cabinet-setting-nobody = Человек с этим номером не может отвечать на вопросы. Выберите из списка.
cabinet-setting-test-users = Тестовые пользователи входят с любым PIN
cabinet-setting-test-users-about = Только чтобы попробовать. Действует для тех, кто отмечен как тестовый.
