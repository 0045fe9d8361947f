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
cabinet-restore = Вернуть
cabinet-show = Показать
cabinet-from = С
cabinet-to = По

cabinet-site = Объект
cabinet-all-sites = Все объекты
cabinet-no-sites = Объектов пока нет
cabinet-no-sites-about = Объект — это место, где работают люди. Заполните форму ниже, чтобы добавить первый.
cabinet-site-sections = Разделы объекта
cabinet-site-overview = Обзор
cabinet-site-staff = Сотрудники
cabinet-site-about = Об объекте
cabinet-site-saved = Сохранено
cabinet-site-made = Объект добавлен
cabinet-no-staff = Здесь пока никто не работает
cabinet-no-staff-about = Добавьте договор на этот объект, и сотрудник сможет брать смены на нём.
cabinet-staff-in-people = Показать в «Людях»
cabinet-on-map = на карте
cabinet-no-position = координат пока нет: проверить, где сотрудник открывает смену, нельзя
cabinet-new-site = Новый объект
cabinet-deleted-sites = Удалённые объекты
cabinet-deleted-site = { $site } (удалён)
cabinet-hours = Часы работы
cabinet-state = Состояние
cabinet-open = открыт
cabinet-closed = закрыт
cabinet-rate = Ставка в час
cabinet-rate-per-hour = Ставка в час, { CURRENCY() }
cabinet-name = Название
cabinet-address = Адрес
cabinet-position = Координаты или ссылка с карты
cabinet-max-distance = Отмечаться не дальше, м
cabinet-time-zone = Часовой пояс
cabinet-opens = Открывается
cabinet-closes = Закрывается
cabinet-auto-close = Закрывать забытую смену через, мин
cabinet-late-threshold = Не считать опозданием, мин
cabinet-late-minute = Штраф за минуту опоздания, { CURRENCY() }
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
cabinet-delete-site-ask = Удалить объект…
cabinet-delete-site-sure = Удалить объект «{ $site }»?
cabinet-keep-site = Оставить
cabinet-delete-site-about = Удалённый объект можно вернуть.

cabinet-tasks = Задачи
cabinet-tasks-about = Что нужно сделать в каждой смене. Изменения подействуют на смены, которые откроют после них.
cabinet-no-tasks = Задач нет.
cabinet-new-task = Новая задача
cabinet-deleted-tasks = Удалённые задачи
cabinet-task-text = Что нужно сделать
cabinet-task-amount = Сумма, { CURRENCY() }

cabinet-mandatory = обязательная
cabinet-needs-media = нужно фото

cabinet-who = Кто
cabinet-when = Начало
cabinet-no-shifts = В эти дни смен не было
cabinet-no-shifts-about = Смена появится здесь, как только сотрудник её откроет. Выберите выше другие дни или другой объект.
cabinet-shift = Смена
cabinet-mine = Только мои
cabinet-mine-about = Ваши собственные смены на всех объектах
cabinet-shifts-cut = Показываем не больше { $most } дней сразу, начиная с { $from }.
cabinet-shifts-before = Более ранние, до { $to }
cabinet-at-work = на смене
cabinet-completed = завершена
cabinet-late = опоздание { $minutes } мин{ $forgiven ->
    [0] { "" }
   *[other] , из них { $forgiven } не считаются
}
cabinet-planned = По плану
cabinet-spontaneous = вне расписания
cabinet-began = Начало
cabinet-ended = Конец
cabinet-opened-at = Где открыта
cabinet-closed-at = Где закрыта
cabinet-metres-away = { $metres } м от объекта
cabinet-by-clock = Время местное, по часовому поясу объекта: { $zone }.
cabinet-closed-by-person = закрыта сотрудником
cabinet-closed-by-staff = закрыта менеджером
cabinet-closed-by-time = закрыта автоматически
cabinet-no-amounts = Расчёт появится, когда смена закроется.
cabinet-done-at = выполнена
cabinet-photos = { $count ->
    [one] Прислать мне { $count } файл в Telegram
    [few] Прислать мне { $count } файла в Telegram
   *[many] Прислать мне { $count } файлов в Telegram
}
cabinet-media-picture = Фото к задаче
cabinet-photos-sent = Файлы скоро придут вам в Telegram.
cabinet-media-awaited = Загружается из Telegram.
cabinet-media-failed = Не удалось загрузить из Telegram.
cabinet-media-again = Попробовать ещё раз
cabinet-media-asked-again = Загружаем из Telegram ещё раз.
cabinet-media-too-large = Файл больше { $most } МБ, и на странице его не показать. Нажмите кнопку, чтобы получить его в чат.
cabinet-media-save = Сохранить файл
cabinet-close-shift = Закрыть смену
cabinet-close-shift-ask = Закрыть смену…
cabinet-close-shift-not = Оставить открытой
cabinet-close-shift-about = Если смену забыли закрыть. Оплатятся часы до указанного окончания.
cabinet-close-shift-final = Отменить это нельзя. Если что-то не так, суммы можно исправить в разделе «Зарплата».
cabinet-close-pays = { $end } ({ $hours } ч, { $total })
cabinet-close-lasts = { $end } ({ $hours } ч)
cabinet-close-unseen = До этого времени: { $hours } ч, { $total }. Если всё верно, нажмите кнопку ещё раз.
cabinet-close-shift-sure = Закрыть эту смену?
cabinet-shift-closed = Смена закрыта.
cabinet-shift-closed-total = Смена закрыта: { $hours } ч, { $total }.
cabinet-close-end = Окончание
cabinet-close-over = по расписанию: { $time }
cabinet-close-now = сейчас
cabinet-close-at = в другое время
cabinet-close-time = Другое время, местное для объекта

cabinet-today = Сегодня
cabinet-working-now = Сейчас на смене
cabinet-late-today = Опоздали
cabinet-not-come = Нет на месте
cabinet-open-sites = Открытые объекты
cabinet-not-come-yet = нет на месте
cabinet-free-places = { $count ->
    [one] Сегодня свободно { $count } место
    [few] Сегодня свободно { $count } места
   *[many] Сегодня свободно { $count } мест
}

cabinet-view = Вид
cabinet-week = Неделя
cabinet-month = Месяц
cabinet-choose-site-sums = Если смен в дне много, показан только итог. Выберите объект, чтобы увидеть и изменить все смены.
cabinet-no-one-yet = пока никого
cabinet-who-comes = Кто придёт
cabinet-put-person = Кого поставить на смену
cabinet-put-button = Поставить
cabinet-person-put = Сотрудник поставлен на смену.
cabinet-person-taken-out = Смена сотрудника отменена.
cabinet-other-overlap = На это время у сотрудника уже запланирована другая смена.
cabinet-other-no-contract = У сотрудника нет действующего договора на этот объект.
cabinet-take-out = Отменить смену
cabinet-take-out-ask = Отменить…
cabinet-take-out-sure = { $name }: отменить эту смену?
cabinet-take-out-about = Сотрудник получит сообщение, штрафа не будет.
cabinet-take-out-not = Оставить смену
cabinet-new-slot = Новая смена
cabinet-day = День
cabinet-starts = С
cabinet-ends = До
cabinet-capacity = Мест
cabinet-slot-rate = Своя ставка, { CURRENCY() }
cabinet-slot-title = Должность, например «кассир»
cabinet-penalises-lateness = штрафовать за опоздание
cabinet-ignores-site-tasks = без задач объекта
cabinet-slot-about = Если конец не позже начала, смена закончится на следующий день. Без своей ставки действует ставка объекта.
cabinet-slot-tasks = Задачи только этой смены
cabinet-slot-own-case = Вы записаны на эту смену, и от неё зависит ваша оплата. Вы можете изменить должность и число мест; остальное меняет и удаляет владелец. Если не сможете прийти, отмените смену в боте.
cabinet-slot-deleted = Эта смена удалена из расписания.
cabinet-first-day = Первый день
cabinet-last-day = Последний день
cabinet-slots-made = { $count ->
    [0] Новых смен нет: в эти дни нет рабочих дней или смены уже есть.
    [one] Добавлена { $count } смена.
    [few] Добавлено { $count } смены.
   *[many] Добавлено { $count } смен.
}
cabinet-copy-week = Скопировать неделю
cabinet-copy-from = Какую неделю (любой её день)
cabinet-copy-to = На какую неделю
cabinet-copy-button = Скопировать
cabinet-copy-without-rates = Своя ставка смены не копируется: вместо неё будет ставка объекта.

cabinet-no-cancellations = Нет отмен на рассмотрении
cabinet-no-decided = Решений пока нет
cabinet-waiting = Ждут решения
cabinet-decided = Решённые
cabinet-short-notice = поздняя отмена
cabinet-document = Документ
cabinet-cancelled-at = Отменено
cabinet-fine-parts = Если отклонить: { $reason } за причину и { $short } за позднюю отмену.
cabinet-accept = Принять, без штрафа
cabinet-reject = Отклонить и удержать { $fine }
cabinet-reject-free = Отклонить
cabinet-reject-sure = Отклонить причину?
cabinet-reject-about = С сотрудника удержится { $fine }, и бот сообщит об этом. Пока месяц открыт, решение можно отменить.
cabinet-reject-about-free = Бот сообщит сотруднику, что причину не приняли. Штрафа не будет. Пока месяц открыт, решение можно отменить.
cabinet-reject-not = Не отклонять
cabinet-was-rejected = отклонено, { $fine }
cabinet-was-rejected-free = отклонено
cabinet-was-accepted = принято
cabinet-decided-by = Решение: { $name }
cabinet-was-reversed = Прежнее решение отменено: { $name }
cabinet-take-back = Отменить решение
cabinet-take-back-sure = Отменить решение?
cabinet-take-back-fine = Штраф { $fine } снимется, отмена снова будет ждать решения. Бот сообщит сотруднику.
cabinet-take-back-free = Отмена снова будет ждать решения. Бот сообщит сотруднику.
cabinet-take-back-not = Оставить как есть

cabinet-contracts = Договоры
cabinet-contracts-edit = Добавить или изменить договор
cabinet-offer-contract = Добавить договор
cabinet-offer-about = Выберите из списка. Можно указать и ID в Telegram, телефон или @имя.
cabinet-offer-whom = Сотрудник (начните вводить имя)
cabinet-contract-elsewhere = Этот договор действует и на других объектах, поэтому изменить его может только владелец.
cabinet-new-contract = Новый договор
cabinet-own-rate = Своя ставка в час, { CURRENCY() }
cabinet-rate-of-site = ставка смены или объекта
cabinet-allows-spontaneous = может открывать смены вне расписания
cabinet-contract-number = Договор № { $number }
cabinet-contract-saved = Договор сохранён
cabinet-delete-contract = Удалить договор
cabinet-delete-contract-ask = Удалить договор…
cabinet-delete-contract-sure = Удалить договор № { $number }?
cabinet-delete-contract-about = { $count ->
    [0] Запланированных смен по нему нет. Удалённый договор можно вернуть.
    [one] По нему запланирована { $count } смена: она останется в расписании, но без договора её не открыть. Удалённый договор можно вернуть.
    [few] По нему запланированы { $count } смены: они останутся в расписании, но без договора их не открыть. Удалённый договор можно вернуть.
   *[many] По нему запланировано { $count } смен: они останутся в расписании, но без договора их не открыть. Удалённый договор можно вернуть.
}
cabinet-contract-dates = Срок действия
cabinet-contract-from = Действует с
cabinet-contract-until = Действует по
cabinet-contract-needs-site = Выберите хотя бы один объект: без объекта договор не может действовать.
cabinet-contract-conflict-advice = Измените тот договор или укажите даты, которые не пересекаются.
cabinet-dates-from = с { $from }
cabinet-dates-until = по { $until }
cabinet-dates-between = { $from } – { $until }
cabinet-history-rate = Ставка в час
cabinet-unscheduled-shifts = Смены вне расписания
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
cabinet-permissions-about = Что менеджер может делать на каждом объекте. Любое право даёт и доступ к просмотру объекта. «Видеть финансы» — это заработанное там; выплаты отмечает владелец.
cabinet-permissions-saved = Права сохранены
cabinet-permissions-history = История изменений
cabinet-permissions-untouched = Эти права ещё никто не менял.
cabinet-managers-about = Кто за какие объекты отвечает и что там может. Чтобы назначить менеджера, дайте эту роль на странице сотрудника.
cabinet-no-managers = Менеджеров пока нет. Дайте эту роль на странице сотрудника.
cabinet-their-page = Страница сотрудника
cabinet-day-slots =
    { $count ->
        [one] { $count } смена
        [few] { $count } смены
       *[other] { $count } смен
    }, занято { $taken } из { $places }

cabinet-nav-schedule = Моё расписание
cabinet-my-plans = Мои смены
cabinet-no-plans = У вас пока нет смен.
cabinet-free-now = Свободные смены
cabinet-nothing-free = В ближайшие три недели свободных смен нет.
cabinet-free-places-here = { $count ->
    [0] Свободных мест сейчас нет
    [one] { $count } свободное место
    [few] { $count } свободных места
   *[other] { $count } свободных мест
}
cabinet-take-place = Записаться
cabinet-place-taken = Вы записаны на смену.
cabinet-cancel-in-bot = Отменить смену можно в боте: нажмите там «{ $button }» и укажите причину.
cabinet-to-bot = Перейти в бот

cabinet-warns-long = { $hours } ч: длиннее рабочего дня
cabinet-warns-meets = пересекается с другой сменой: { $when }
cabinet-warns-long-day = { $name }: { $hours } ч в этот день
cabinet-warns-cannot-come = { $name }: договор на этот объект больше не действует
cabinet-day-warns = { $count ->
    [one] { $count } смена требует внимания
    [few] { $count } смены требуют внимания
   *[other] { $count } смен требуют внимания
}
cabinet-day-not-looked-at = смены не проверены
cabinet-new-slot-on = Новая смена на { $day }
cabinet-deleted-slots = Удалённые смены

cabinet-in-hours = { $hours } ч
cabinet-in-starts = { $count ->
    [one] { $count } опоздание
    [few] { $count } опоздания
   *[other] { $count } опозданий
}
cabinet-chart-of = { $what } по дням, { $month }. Числа — в таблице ниже.
cabinet-as-table = Показать таблицей

cabinet-nav-settings = Настройки
cabinet-yes = да
cabinet-no = нет
cabinet-setting-default = По умолчанию: { $value }.
cabinet-settings-saved = Настройки сохранены.
cabinet-settings-business = Бизнес
cabinet-settings-pay = Оплата
cabinet-settings-cancelling = Отмена смен
cabinet-settings-orders = Заказы
cabinet-settings-personal = Персональные данные
cabinet-settings-sign-in = Вход
cabinet-settings-history = История изменений
cabinet-settings-untouched = Всё по умолчанию.
cabinet-setting-time-zone = Часовой пояс бизнеса
cabinet-setting-time-zone-about = По нему считаются месяцы, дни выплат и сумм, внесённых вручную. День смены и её оплаты — по часовому поясу объекта.
cabinet-setting-currency = Валюта
cabinet-setting-currency-about = Только обозначение: суммы не пересчитываются.
cabinet-setting-pay-start = Если смену открыли раньше времени, оплачивать
cabinet-setting-pay-start-about = Кто опоздал, получает оплату с открытия смены. Действует для смен, которые закроют после изменения.
cabinet-pay-from-opening = с открытия смены
cabinet-pay-from-planned-start = с планового начала
cabinet-setting-rounding = Округлять отработанное время
cabinet-setting-rounding-about = Всё время смены до целого шага. Действует для смен, которые закроют после изменения.
cabinet-rounding-none = не округлять
cabinet-rounding-5 = до 5 минут
cabinet-rounding-10 = до 10 минут
cabinet-rounding-15 = до 15 минут
cabinet-rounding-30 = до 30 минут
cabinet-setting-rounding-direction = Как округлять
cabinet-setting-rounding-direction-about = Если время округляется.
cabinet-rounding-down = вниз
cabinet-rounding-nearest = до ближайшего
cabinet-setting-task-penalty = Штраф за невыполненную обязательную задачу, { CURRENCY() }
cabinet-setting-task-penalty-about = Для обязательных задач без собственной суммы.
cabinet-setting-notice = За сколько часов до начала можно отменить смену без штрафа
cabinet-setting-notice-about = Если позже, отмена считается поздней.
cabinet-setting-short-notice = Штраф за позднюю отмену, { CURRENCY() }
cabinet-setting-short-notice-about = Только если причину отклонили.
cabinet-setting-invalid-reason = Штраф за отмену без уважительной причины, { CURRENCY() }
cabinet-setting-invalid-reason-about = Только если причину отклонили.
cabinet-setting-questions = Вопросы сотрудников получают
cabinet-setting-questions-about = Менеджеры, владельцы или один человек. Если ответить некому, вопрос получит другой доступный сотрудник.
cabinet-setting-managers = Менеджеры
cabinet-setting-owners = Владельцы
cabinet-setting-left = { $id } (больше не может отвечать)
cabinet-setting-cannot-answer = Этот человек не может отвечать на вопросы. Выберите из списка.
cabinet-setting-consent-ru = Согласие на обработку персональных данных, на русском
cabinet-setting-consent-en = Согласие на обработку персональных данных, на английском
cabinet-setting-consent-about = Новички читают его до первого вопроса. Изменённый текст увидят только в новых заявках: тех, кто уже согласился, бот не спросит снова.
cabinet-setting-text-bad = Введите текст: до 3500 знаков.
cabinet-setting-quiet = Тихие часы
cabinet-setting-quiet-about = В это время бот присылает только срочное: скоро смена, кого-то нет на месте, доступ закрыт. Остальное ждёт утра по часам объекта. Каждый может выбрать свои часы командой /quiet.
cabinet-setting-retention = Через сколько дней удалять данные отклонённых и документы тех, кому закрыт доступ
cabinet-setting-retention-about = Срок считается от последнего изменения. Отклонённые удаляются целиком, у тех, кому закрыт доступ, — только документы; смены и выплаты остаются. 0 — хранить всегда.
cabinet-setting-test-users = Тестовые пользователи входят с любым PIN
cabinet-setting-test-users-about = Включайте, только чтобы попробовать. Действует для тех, кто отмечен как тестовый.

# Что ввести в поле объекта, смены, договора или задачи.
cabinet-bad-name = Введите название до 100 знаков, например «Кафе на Ленина».
cabinet-bad-address = Введите адрес до 300 знаков, например «Екатеринбург, Ленина, 1».
cabinet-bad-position = Введите координаты, например 55.7558, 37.6173, или вставьте ссылку с карты.
cabinet-bad-position-short-link = В короткой ссылке нет координат. Откройте её в браузере и скопируйте полный адрес или сами координаты, например 55.7558, 37.6173.
cabinet-bad-position-link = В этой ссылке нет координат. Отметьте точку на карте и скопируйте ссылку ещё раз или введите координаты, например 55.7558, 37.6173.
cabinet-bad-max-distance = Введите расстояние в метрах от 1 до 100 000, например 500.
cabinet-bad-auto-close = Введите минуты от 1 до 1440, например 60.
cabinet-bad-late-threshold = Введите минуты от 0 до 1440, например 5.
cabinet-bad-late-minute = Введите сумму за минуту, например 10 или 0.
cabinet-bad-rate = Введите ставку за час, например 250 или 250,50.
cabinet-bad-title = Сократите название до 100 знаков.
cabinet-bad-capacity = Введите число мест от 1 до 1000, например 2.
cabinet-bad-whom = Такого сотрудника нет. Введите ID в Telegram, телефон или @имя, например 123456789 или @anna.
cabinet-bad-contract-sites = Выберите хотя бы один объект.
cabinet-bad-task-text = Опишите задачу, до 300 знаков, например «Протереть витрины».
cabinet-bad-task-amount = Введите сумму больше нуля, например 100 или 99,50.

# Задачи: премия или штраф.
cabinet-task-kind = Оплата
cabinet-task-bonus = Премия за выполнение
cabinet-task-penalty = Штраф за невыполнение
cabinet-task-free = Без оплаты
cabinet-task-shown-bonus = премия { $amount }
cabinet-task-shown-penalty = штраф { $amount }
cabinet-task-shown-free = без оплаты
cabinet-task-shown-skipped = если не сделать — штраф { $amount }
cabinet-task-skipped = Если не сделать — штраф { $amount }

# Часовые пояса России.
zone-kaliningrad = Калининград
zone-moscow = Москва
zone-samara = Самара
zone-yekaterinburg = Екатеринбург
zone-omsk = Омск
zone-krasnoyarsk = Красноярск
zone-irkutsk = Иркутск
zone-yakutsk = Якутск
zone-vladivostok = Владивосток
zone-magadan = Магадан
zone-kamchatka = Петропавловск-Камчатский
cabinet-bad-valid-until = Введите дату не раньше начала договора, например 31.12.2026, или оставьте поле пустым.
cabinet-bad-last-day = Введите дату не раньше первого дня и не позже чем через два года после него, например 31.12.2026.

# Сообщение сотрудникам объекта.
cabinet-broadcast = Сообщение сотрудникам
cabinet-broadcast-about = Бот пришлёт сообщение каждому выбранному сотруднику в личный чат.
cabinet-broadcast-text = Текст сообщения
cabinet-broadcast-recipients = Кому
cabinet-broadcast-check = Проверить и отправить
cabinet-broadcast-preview = { $count ->
    [one] Сообщение получит { $count } сотрудник
    [few] Сообщение получат { $count } сотрудника
   *[many] Сообщение получат { $count } сотрудников
}
cabinet-broadcast-send = { $count ->
    [one] Отправить { $count } сотруднику
   *[many] Отправить { $count } сотрудникам
}
cabinet-broadcast-edit-about = Чтобы что-то изменить, поправьте форму ниже и проверьте сообщение ещё раз.
cabinet-broadcast-no-recipients = Писать пока некому: на этом объекте ни у кого нет действующего договора.
cabinet-broadcast-history = Отправленные сообщения
cabinet-broadcast-none = Сообщений ещё не было.
cabinet-broadcast-progress = Сколько отправлено
cabinet-broadcast-sent = Отправлено: { $sent } из { $total }
cabinet-broadcast-failed = не доставлено: { $count }
cabinet-broadcast-blocked = заблокировали бота: { $count }
cabinet-broadcast-unknown = результат неизвестен после перезапуска: { $count }
cabinet-broadcast-skipped = больше не работают: { $count }
cabinet-broadcast-cancelled = отменено: { $count }
cabinet-broadcast-cancel = Не отправлять остальным
cabinet-broadcast-begun = Сообщение отправляется.
cabinet-broadcast-stopped = Остальные это сообщение не получат.
cabinet-bad-broadcast-text = Напишите сообщение, до 3500 знаков, например «Завтра открываемся в 10:00».
cabinet-bad-broadcast-recipients = Выберите хотя бы одного сотрудника.
cabinet-site-deleted = Удалён
cabinet-around-the-clock = круглосуточно
cabinet-cancellations-hidden = Ещё { $count } { $count ->
    [one] отмена появится, когда вы рассмотрите эти.
    [few] отмены появятся, когда вы рассмотрите эти.
   *[many] отмен появятся, когда вы рассмотрите эти.
}
