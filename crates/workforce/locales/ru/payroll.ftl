# Расчёты: суммы, их причины, периоды и выплаты.
payroll-money = { $amount } ₽

payroll-month-1 = Январь
payroll-month-2 = Февраль
payroll-month-3 = Март
payroll-month-4 = Апрель
payroll-month-5 = Май
payroll-month-6 = Июнь
payroll-month-7 = Июль
payroll-month-8 = Август
payroll-month-9 = Сентябрь
payroll-month-10 = Октябрь
payroll-month-11 = Ноябрь
payroll-month-12 = Декабрь

payroll-kind-shift-base = Отработанные часы
payroll-kind-late-start = Опоздание
payroll-kind-task-bonus = Премия за задачу
payroll-kind-task-completed = Задача выполнена
payroll-kind-task-penalty = Задача не выполнена
payroll-kind-order-share = Доля от заказа
payroll-kind-cancelled-late = Поздняя отмена смены
payroll-kind-cancelled-invalid = Отмена смены без уважительной причины
payroll-kind-manual-bonus = Премия
payroll-kind-manual-deduction = Удержание
payroll-kind-correction = Исправление

payroll-by-hours = отработано { $clock }, это { $hours } ч по { $rate } в час
payroll-by-lateness = { $minutes ->
    [one] { $minutes } минута
    [few] { $minutes } минуты
   *[many] { $minutes } минут
} сверх допустимых { $threshold }, по { $price } за минуту
payroll-by-task-done = «{ $task }»: выполнена
payroll-by-task-not-done = «{ $task }»: не выполнена
payroll-by-task-avoided = «{ $task }»: выполнена, штрафа { $price } нет
payroll-by-order = { $percent } % от { $total } за вычетом материалов { $materials }
payroll-by-notice = Отмена за { $hours } ч { $minutes } мин до начала; поздней считается отмена меньше чем за { $limit } ч
payroll-by-notice-after = Отмена через { $hours } ч { $minutes } мин после начала; поздней считается отмена меньше чем за { $limit } ч до него
payroll-by-reason = Причина отмены не принята

payroll-bad-amount = Напишите, пожалуйста, сумму, например 1500 или 99,50, и не ноль.
payroll-bad-reason = Напишите, пожалуйста, причину: от 1 до { $most } знаков.
payroll-bad-day = Это не дата.
payroll-stale = Кто-то успел раньше: пока страница была открыта, здесь всё изменилось. Посмотрите, пожалуйста, как есть сейчас, ниже.
payroll-gone = Этого здесь больше нет.
payroll-not-manual = Эта сумма начислена за работу. Вместо правки добавьте премию или удержание.
payroll-not-over = Этот месяц ещё не закончился.
payroll-is-closed = Этот месяц закрыт и больше не меняется.
payroll-more-than-due = Это больше, чем причитается. Если это аванс, подтвердите ниже: лишнее зачтётся в следующих месяцах.
payroll-nothing-there = За этот месяц начислений нет.
payroll-too-far-ahead = Выплаты отмечаются не дальше следующего месяца, а этот месяц позже.
payroll-over-a-year-ahead = Суммы можно добавлять не дальше чем на год вперёд, а этот месяц позже.
payroll-nothing-to-pay = За этот месяц начислений нет. Можно выплатить только аванс: отметьте, что это аванс; месяц должен быть открыт.

# Бот.
payroll-earnings-button = 💰 Мой заработок
payroll-report-button = 📊 Отчёт
payroll-told-nothing = { $month }: начислений нет.
payroll-told =
    { $month }: { $total }
    Часы: { $hours }
    Выплачено: { $paid }, осталось выплатить: { $due }
payroll-told-credit = Зачтено из переплаты за прошлые месяцы: { $credit }
payroll-told-more = { $count ->
    [one] И ещё { $count } строка:
    [few] И ещё { $count } строки:
   *[many] И ещё { $count } строк:
} { $page }
payroll-report-ask = За какие дни? Выберите месяц или напишите даты, например 01.11.2026 - 15.11.2026.
payroll-report-bad-days = Напишите, пожалуйста, даты так: 01.11.2026 - 15.11.2026, не больше года, с 2000 по 2100 год.
payroll-report =
    { $from } – { $to }
    { $count ->
        [one] { $count } человек
        [few] { $count } человека
       *[many] { $count } человек
    }, { $hours } ч, { $total }
payroll-report-line = { $name }: { $hours } ч, { $total }

# Новости о собственной оплате.
payroll-news-bonus = { $month }: вам начислена премия, { $amount }. Причина: { $reason }
payroll-news-deduction = { $month }: удержание из вашей оплаты, { $amount }. Причина: { $reason }
payroll-news-changed = { $month }: в вашей оплате вместо { $before } теперь { $now }. Причина: { $reason }
payroll-news-removed = { $month }: из вашей оплаты убрано { $amount }, эта сумма больше не учитывается. Она была за: { $reason }
payroll-news-restored = { $month }: { $amount } в вашей оплате снова учитывается. Причина: { $reason }
payroll-news-into = Тот месяц закрыт, поэтому разница учтена в другом: { $month }.
payroll-news-paid = { $month }: вам выплачено { $amount }.
payroll-news-taken-back = { $month }: отметка, что вам выплачено { $amount }, была ошибкой и отменена.

# Страницы.
payroll-nav = Зарплата
payroll-nav-own = Мой заработок
payroll-months = Месяцы
payroll-person = Сотрудник
payroll-hours = Часы
payroll-earned = Начислено
payroll-bonuses = Премии
payroll-deductions = Удержания
payroll-total = Итого
payroll-paid = Выплачено
payroll-due = К выплате
payroll-sum = Всего
payroll-payment = Выплата
payroll-empty = За этот месяц начислений пока нет. Они появятся, когда сотрудники закроют смены.
payroll-is-paid = выплачено
payroll-is-due = к выплате
payroll-is-partly-paid = осталось { $amount }
payroll-is-overpaid = переплата { $amount }
payroll-is-nothing = платить нечего
payroll-export-xlsx = Скачать для Excel
payroll-export-csv = Скачать CSV
payroll-closed-since = Закрыт
payroll-closed-about = Если позже найдётся ошибка, исправление попадёт в следующий месяц.
payroll-close = Закрыть: { $month }
payroll-close-about = Закрытый месяц нельзя изменить или открыть снова. Позднейшие правки станут исправлениями в следующем месяце.
payroll-close-sure = Закрыть этот месяц окончательно?
payroll-open-shifts = { $count ->
    [one] { $count } смена этого месяца ещё открыта и попадёт в следующий:
    [few] { $count } смены этого месяца ещё открыты и попадут в следующий:
   *[many] { $count } смен этого месяца ещё открыто, они попадут в следующий:
}
payroll-pending-cancellations = { $count ->
    [one] { $count } отмена смены этого месяца ждёт решения; штраф за неё попадёт в следующий
    [few] { $count } отмены смен этого месяца ждут решения; штрафы за них попадут в следующий
   *[many] { $count } отмен смен этого месяца ждут решения; штрафы за них попадут в следующий
}
payroll-open-about = Месяц можно закрыть, когда он закончится.
payroll-newest = К самым новым
payroll-amounts = Из чего складывается
payroll-amount = Сумма, ₽
payroll-reason = Причина
payroll-add = Премия или удержание
payroll-add-button = Добавить
payroll-add-closed = Этот месяц закрыт: новая сумма попадёт в следующий.
payroll-change = Изменить
payroll-change-closed = Этот месяц закрыт: правка станет исправлением в следующем.
payroll-save = Сохранить
payroll-remove = Удалить
payroll-removed = Удалено
payroll-restore = Вернуть удалённое
payroll-corrected = Позже исправлено на { $amount }
payroll-mark-paid = Отметить выплату
payroll-advance = Это аванс: причитается { $due }, остальное зачесть в следующих месяцах
payroll-credit = Зачтено из переплаты
payroll-payments = Выплаты
payroll-take-back = Отменить отметку
payroll-taken-back = отметка отменена
payroll-history = Все изменения
payroll-deed-added = Добавлено
payroll-deed-changed = Изменено
payroll-deed-removed = Удалено
payroll-deed-restored = Возвращено
payroll-of-sites = Заработанное на объектах, финансы которых вы видите: { $sites }. Премии и вычеты вручную и выплаты остаются у владельца.
