# Pay: amounts, their reasons, periods and payments.
payroll-money = { $amount } ₽

payroll-month-1 = January
payroll-month-2 = February
payroll-month-3 = March
payroll-month-4 = April
payroll-month-5 = May
payroll-month-6 = June
payroll-month-7 = July
payroll-month-8 = August
payroll-month-9 = September
payroll-month-10 = October
payroll-month-11 = November
payroll-month-12 = December

payroll-kind-shift-base = Hours worked
payroll-kind-late-start = Late start
payroll-kind-task-bonus = Bonus for a task
payroll-kind-task-completed = Task done
payroll-kind-task-penalty = Task not done
payroll-kind-order-share = Share of an order
payroll-kind-cancelled-late = Shift cancelled at short notice
payroll-kind-cancelled-invalid = Shift cancelled without a valid reason
payroll-kind-manual-bonus = Bonus
payroll-kind-manual-deduction = Deduction
payroll-kind-correction = Correction

payroll-by-hours = { $clock } worked, that is { $hours } h, at { $rate } an hour
payroll-by-lateness = { $minutes ->
    [one] { $minutes } minute
   *[other] { $minutes } minutes
} past the { $threshold } allowed, at { $price } a minute
payroll-by-task-done = “{ $task }”: done
payroll-by-task-not-done = “{ $task }”: not done
payroll-by-task-avoided = “{ $task }”: done, so the penalty of { $price } was avoided
payroll-by-order = { $percent } % of { $total } less { $materials } for materials
payroll-by-notice = Cancelled { $hours } h { $minutes } min before the start; less than { $limit } h is short notice
payroll-by-notice-after = Cancelled { $hours } h { $minutes } min after the start; less than { $limit } h before it is short notice
payroll-by-reason = The reason for cancelling was not accepted

payroll-bad-amount = Please write an amount such as 1500 or 99.50, and not zero.
payroll-bad-reason = Please write the reason in 1 to { $most } characters.
payroll-bad-day = This is not a day.
payroll-stale = Somebody was faster: this has changed since you opened the page. Please look at it as it is now, below.
payroll-gone = This is not there any more.
payroll-not-manual = This amount follows from work that was done. Add a bonus or a deduction instead.
payroll-not-over = This month is not over yet.
payroll-is-closed = This month is closed and stays as it is.
payroll-more-than-due = This is more than is due. If it is an advance, confirm it below: what is beyond counts for the months after.
payroll-nothing-there = Nothing was earned in this month.
payroll-too-far-ahead = Payments are marked for months up to the next one. This month is later.
payroll-over-a-year-ahead = Amounts can be added up to a year ahead. This month is later.
payroll-nothing-to-pay = Nothing was earned in this month. Only an advance can be paid, if you say that it is one and the month is open.

# The bot.
payroll-earnings-button = 💰 My earnings
payroll-report-button = 📊 Report
payroll-told-nothing = { $month }: nothing was earned in this month.
payroll-told =
    { $month }: { $total }
    Hours: { $hours }
    Paid: { $paid }, still to be paid: { $due }
payroll-told-credit = Paid in advance before, and counted here: { $credit }
payroll-told-more = { $count ->
    [one] And { $count } more:
   *[other] And { $count } more:
} { $page }
payroll-report-ask = For which days? Choose a month, or write the days, like 01.11.2026 - 15.11.2026.
payroll-report-bad-days = Please write the days like 01.11.2026 - 15.11.2026: a year at most, from 2000 to 2100.
payroll-report =
    { $from } – { $to }
    { $count ->
        [one] { $count } person
       *[other] { $count } people
    }, { $hours } h, { $total }
payroll-report-line = { $name }: { $hours } h, { $total }

# News of one's own pay.
payroll-news-bonus = { $month }: a bonus for you, { $amount }. Reason: { $reason }
payroll-news-deduction = { $month }: a deduction from your pay, { $amount }. Reason: { $reason }
payroll-news-changed = { $month }: { $before } of your pay is now { $now }. Reason: { $reason }
payroll-news-removed = { $month }: { $amount } of your pay has been removed and does not count any more. It was for: { $reason }
payroll-news-restored = { $month }: { $amount } of your pay was removed before and counts again. Reason: { $reason }
payroll-news-into = That month is closed, so the difference counts in another one: { $month }.
payroll-news-paid = { $month }: { $amount } was paid to you.
payroll-news-taken-back = { $month }: it was noted by mistake that { $amount } was paid to you. The note has been taken back.

# Pages.
payroll-nav = Payroll
payroll-nav-own = My earnings
payroll-months = Months
payroll-person = Person
payroll-hours = Hours
payroll-earned = Earned
payroll-bonuses = Bonuses
payroll-deductions = Deductions
payroll-total = Total
payroll-paid = Paid
payroll-due = To be paid
payroll-sum = Sum
payroll-payment = Payment
payroll-empty = Nothing was earned in this month yet. Amounts appear when people close their shifts.
payroll-is-paid = paid
payroll-is-due = to be paid
payroll-is-partly-paid = { $amount } to be paid
payroll-is-overpaid = { $amount } too much
payroll-is-nothing = nothing to pay
payroll-export-xlsx = Download for Excel
payroll-export-csv = Download CSV
payroll-closed-since = Closed since
payroll-closed-about = What is found to be wrong later becomes a correction in the next month.
payroll-close = Close { $month }
payroll-close-about = A closed month cannot be changed or opened again. Later changes become corrections in the next month.
payroll-close-sure = Close this month for good?
payroll-open-shifts = { $count ->
    [one] { $count } shift of this month is still open, and would count in the next one:
   *[other] { $count } shifts of this month are still open, and would count in the next one:
}
payroll-pending-cancellations = { $count ->
    [one] { $count } cancellation of this month waits to be judged; its fine would count in the next one
   *[other] { $count } cancellations of this month wait to be judged; their fines would count in the next one
}
payroll-open-about = This month can be closed when it is over.
payroll-newest = To the newest
payroll-amounts = What it is made of
payroll-amount = Amount, ₽
payroll-reason = Reason
payroll-add = Bonus or deduction
payroll-add-button = Add
payroll-add-closed = This month is closed: what you add is written into the next one.
payroll-change = Change
payroll-change-closed = This month is closed: your change becomes a correction in the next one.
payroll-save = Save
payroll-remove = Remove
payroll-removed = Removed
payroll-restore = Undo the removal
payroll-corrected = Corrected later to { $amount }
payroll-mark-paid = Mark as paid
payroll-advance = It is an advance: { $due } is due, and the rest counts for the months after
payroll-credit = Paid in advance before
payroll-payments = Payments
payroll-take-back = Take back
payroll-taken-back = taken back
payroll-history = Every change
payroll-deed-added = Added
payroll-deed-changed = Changed
payroll-deed-removed = Removed
payroll-deed-restored = Brought back
payroll-of-sites = What was earned at the sites whose finances you see: { $sites }. Bonuses and deductions by hand, and payments, are with the owner.
