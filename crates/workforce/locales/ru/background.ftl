# Фоновые задачи, для операторов.
background-nav = Фоновые задачи
background-about = То, что выполняется само. Команда действует в течение секунды и попадает в журнал.
background-queues = Очереди
background-queue = Очередь
background-waiting = Ждут
background-oldest = Самая старая
background-scheduled = Отложены
background-running = Выполняются
background-lately = Готово за 10 мин
background-action = Действие
background-is-paused = пауза
background-pause = Приостановить
background-resume = Возобновить
background-paused-toast = Очередь { $queue } приостановлена: её задачи ждут.
background-resumed-toast = Очередь { $queue } снова работает.
background-seconds = { $count } с
background-minutes = { $count } мин
background-hours = { $count } ч
background-schedules = Расписания
background-schedules-about = Минута, час, день, месяц и день недели по часам { $zone }. «Запустить» выполнит задачу ещё раз, помимо расписания.
background-cron = Расписание
background-last-tick = Прошлый раз
background-next-tick = Следующий раз
background-off = выключено
background-run = Запустить
background-run-toast = Задача { $job } сейчас запустится.
background-runs-already-toast = Задача { $job } уже выполняется или ждёт своей очереди.
background-jobs = Задачи
background-job = Задача
background-state = Состояние
background-name = Название
background-all = Все
background-filter = Показать
background-none = Таких задач нет
background-attempts = Попытки
background-time = Время
background-from = с
background-error = Последняя ошибка
background-older = Более старые
background-state-scheduled = Отложена
background-state-available = Ждёт
background-state-running = Выполняется
background-state-completed = Готова
background-state-discarded = Не удалась
background-state-cancelled = Отменена
background-cancelling = отменяется
background-retry = Выполнить снова
background-cancel = Отменить задачу
background-retry-all = Выполнить все снова
background-retry-all-sure = Выполнить эти задачи снова?
background-retry-all-about = Все неудавшиеся задачи, которые подходят под фильтры, выполнятся как можно скорее. Чтобы выполнить другие, выберите их состояние в фильтре.
background-cancel-all = Отменить все
background-cancel-all-sure = Отменить эти задачи?
background-cancel-all-about = Все незавершённые задачи, которые подходят под фильтры, будут отменены, а выполняемые — остановлены.
background-keep = Оставить как есть
background-unchanged-toast = Ничего не изменилось.
background-retried-toast =
    { $count ->
        [one] { $count } задача выполнится снова.
        [few] { $count } задачи выполнятся снова.
       *[other] { $count } задач выполнятся снова.
    }
background-cancelled-toast =
    { $count ->
        [one] { $count } задача отменена.
        [few] { $count } задачи отменены.
       *[other] { $count } задач отменено.
    }
background-done = Действия операторов
background-priority = Приоритет
background-enqueued = Добавлена
background-run-at = Запуск
background-started = Началась
background-finished = Завершилась
background-arguments = Параметры
background-result = Результат
background-errors = Неудачные попытки
background-no-errors = Неудачных попыток не было.
background-attempt = Попытка { $number }
