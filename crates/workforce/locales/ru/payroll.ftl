# Расчёты: суммы, их причины, периоды и выплаты.

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
payroll-from-planned-start = время считается с { $start }, планового начала
payroll-rounded = округлено до { $step } мин, было { $exact }
payroll-by-lateness = { $threshold ->
    [0] опоздание { $minutes } мин, по { $price } за минуту
   *[other] опоздание { $late } мин, из них { $threshold } не считаются: { $minutes } мин по { $price } за минуту
}
payroll-by-task-done = «{ $task }»: выполнена
payroll-by-task-not-done = «{ $task }»: не выполнена
payroll-by-task-avoided = «{ $task }»: выполнена, штрафа { $price } нет
payroll-by-order = { $percent } % от { $total } за вычетом материалов { $materials }
payroll-by-notice = Отмена за { $hours } ч { $minutes } мин до начала; без штрафа — не позже чем за { $limit } ч
payroll-by-notice-after = Отмена через { $hours } ч { $minutes } мин после начала; без штрафа — не позже чем за { $limit } ч до него
payroll-by-reason = Причина отмены не принята

payroll-bad-amount = Напишите, пожалуйста, сумму, например 1500 или 99,50. Ноль не подойдёт.
payroll-bad-reason = Напишите, пожалуйста, причину: от 1 до { $most } знаков.
payroll-bad-day = Не похоже на дату. Напишите её так: 15.11.2026.
payroll-stale = Пока страница была открыта, кто-то это изменил. Проверьте, пожалуйста, ниже.
payroll-gone = Этого здесь больше нет.
payroll-not-manual = Эта сумма начислена за работу. Вместо правки добавьте премию или удержание.
payroll-not-over = Этот месяц ещё не закончился.
payroll-is-closed = Этот месяц закрыт. Владелец может снова открыть его в разделе «Зарплата».
payroll-is-open = Этот месяц и так открыт.
payroll-more-than-due = Это больше, чем к выплате. Если это аванс, подтвердите ниже: лишнее зачтётся в следующих месяцах.
payroll-nothing-there = За этот месяц начислений нет.
payroll-too-far-ahead = Отметить выплату можно не дальше следующего месяца.
payroll-over-a-year-ahead = Добавить сумму можно не дальше чем на год вперёд.
payroll-nothing-to-pay = За этот месяц начислений нет. Пока месяц открыт, можно выплатить аванс: отметьте, что это аванс.

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
payroll-news-bonus = { $month }: вам начислили премию, { $amount }. Причина: { $reason }
payroll-news-deduction = { $month }: из вашей оплаты удержали { $amount }. Причина: { $reason }
payroll-news-changed = { $month }: в вашей оплате было { $before }, стало { $now }. Причина: { $reason }
payroll-news-removed = { $month }: из вашей оплаты убрали { $amount }. Причина, по которой сумму добавляли: { $reason }
payroll-news-restored = { $month }: в вашу оплату вернули { $amount }. Причина: { $reason }
payroll-news-into = Этот месяц закрыт, поэтому разница попадёт в другой: { $month }.
payroll-news-paid = { $month }: вам выплатили { $amount }.
payroll-news-taken-back = { $month }: отметку о выплате { $amount } сняли, её поставили по ошибке.

# Страницы.
payroll-nav = Зарплата
payroll-nav-own = Мой заработок
payroll-months = Месяцы
payroll-person = Сотрудник
payroll-hours = Часы
payroll-earned = За часы
payroll-bonuses = Премии
payroll-deductions = Удержания
payroll-total = Итого
payroll-paid = Выплачено
payroll-due = К выплате
payroll-sum = Всего
payroll-payment = Выплата
payroll-empty = За этот месяц начислений пока нет
payroll-empty-about = Они появятся, когда сотрудники закроют смены.
payroll-is-paid = выплачено
payroll-is-due = к выплате
payroll-is-partly-paid = осталось { $amount }
payroll-is-overpaid = переплата { $amount }
payroll-is-nothing = платить нечего
payroll-files = Файлы за месяц
payroll-timesheet = Табель
payroll-timesheet-about = Оплаченные часы по сотрудникам, дням и объектам.
payroll-export-xlsx = Скачать для Excel
payroll-export-csv = Скачать CSV
payroll-closed-since = Закрыт
payroll-closed-about = Если позже найдётся ошибка, исправление попадёт в следующий месяц.
payroll-close = Закрыть: { $month }
payroll-close-about = Суммы закрытого месяца не меняются: более поздние правки станут исправлениями в следующем.
payroll-close-sure = Закрыть месяц: { $month }?
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
payroll-amounts = Расчёт
payroll-amount = Сумма, { CURRENCY() }
payroll-reason = Причина
payroll-add-button = Добавить
payroll-add-closed = Этот месяц закрыт: новая сумма попадёт в следующий.
payroll-change = Изменить
payroll-change-closed = Этот месяц закрыт: правка станет исправлением в следующем.
payroll-save = Сохранить
payroll-remove = Удалить
payroll-removed = Удалено
payroll-restore = Вернуть
payroll-corrected = Позже исправлено на { $amount }
payroll-mark-paid = Отметить выплату
payroll-advance = Это аванс: к выплате { $due }, остальное зачтётся в следующих месяцах
payroll-credit = Зачтено из переплаты
payroll-payments = Выплаты
payroll-take-back = Отменить отметку о выплате
payroll-taken-back = отметка отменена
payroll-history = История изменений
payroll-deed-added = Добавлено
payroll-deed-changed = Изменено
payroll-deed-removed = Удалено
payroll-deed-restored = Возвращено
payroll-of-sites = Заработанное на объектах, финансы которых вам доступны: { $sites }. Премии, удержания и выплаты ведёт владелец.
payroll-bad-reason-field = Напишите причину, например «За помощь в выходной».
payroll-undo = Вернуть
payroll-cancel = Отмена
payroll-month-end = Конец месяца
payroll-is-closed-badge = закрыт
payroll-is-open-badge = открыт
payroll-open-person = Суммы ещё могут измениться.
payroll-close-sums = { $count ->
    [one] { $count } человек, всего { $total }, ещё не выплачено { $due }.
    [few] { $count } человека, всего { $total }, ещё не выплачено { $due }.
   *[many] { $count } человек, всего { $total }, ещё не выплачено { $due }.
}
payroll-close-unsettled = Есть смены или отмены этого месяца, по которым нет решения. Они попадут в следующий месяц.
payroll-leave-open = Оставить открытым
payroll-leave-closed = Оставить закрытым
payroll-reopen = Открыть снова
payroll-reopen-sure = Снова открыть месяц: { $month }?
payroll-reopen-about = Суммы снова можно будет менять. Выплаты на { $paid } остаются отмеченными: если окажется, что кому-то заплатили лишнее, оно зачтётся в следующих месяцах. Уже внесённые исправления останутся в своих месяцах.
payroll-reopened-at-once = Закрыли по ошибке
payroll-add-ask = Премия или удержание…
payroll-add-title = Премия или удержание: { $name }, { $month }
payroll-pay-due = Выплатить { $amount }…
payroll-pay-advance = Выплатить аванс…
payroll-pay-title = Отметить выплату: { $name }
payroll-pay-about = { $month }: к выплате { $due }. Деньги Опора не переводит: отметьте, что вы заплатили.
payroll-pay-overpaid = Сейчас переплата { $amount }.
payroll-remove-ask = Удалить…
payroll-remove-bonus-sure = Удалить премию { $amount }?
payroll-remove-deduction-sure = Удалить удержание { $amount }?
payroll-total-then = { $month }: итого станет { $total }.
payroll-keep = Оставить
payroll-take-back-ask = Отменить…
payroll-take-back-sure = Отменить отметку о выплате { $amount }?
payroll-take-back-about = К выплате станет { $due }. Сотрудник получит сообщение.
payroll-keep-payment = Оставить отметку

# Что только что сделано.
payroll-done-bonus = Премия { $amount } добавлена: { $name }
payroll-done-deduction = Удержание { $amount } добавлено: { $name }
payroll-done-changed = Было { $before }, стало { $now }
payroll-done-removed-bonus = Премия { $amount } удалена
payroll-done-removed-deduction = Удержание { $amount } удалено
payroll-done-restored = Возвращено: { $amount }
payroll-done-paid = Выплата { $amount } отмечена: { $name }
payroll-done-taken-back = Отметка о выплате { $amount } отменена
payroll-done-closed = Месяц закрыт: { $month }
payroll-done-reopened = Месяц снова открыт: { $month }
