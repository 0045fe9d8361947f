# Pay: amounts, their reasons, periods and payments.

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

payroll-by-hours = { $clock } worked, that's { $hours } h at { $rate } an hour
payroll-from-planned-start = calculated from { $start }, the planned start
payroll-rounded = rounded to { $step } min from { $exact }
payroll-by-lateness = { $threshold ->
    [0] { $minutes } min late at { $price } a minute
   *[other] { $late } min late, { $threshold } forgiven: { $minutes } min at { $price } a minute
}
payroll-by-task-done = “{ $task }”: done
payroll-by-task-not-done = “{ $task }”: not done
payroll-by-task-avoided = “{ $task }”: done, no penalty of { $price }
payroll-by-order = { $percent } % of { $total } less { $materials } for materials
payroll-by-notice = Cancelled { $hours } h { $minutes } min before the start; no penalty up to { $limit } h before
payroll-by-notice-after = Cancelled { $hours } h { $minutes } min after the start; no penalty up to { $limit } h before it
payroll-by-reason = The reason for cancelling was not accepted

payroll-bad-amount = Please write an amount like 1500 or 99.50. Zero won't do.
payroll-bad-reason = Please write a reason, 1 to { $most } characters.
payroll-bad-day = This isn't a date. Write it like Nov 15, 2026.
payroll-stale = Someone changed this first, while you had the page open. Please check below.
payroll-gone = This no longer exists.
payroll-not-manual = This amount comes from work done. Add a bonus or a deduction instead.
payroll-not-over = This month isn't over yet.
payroll-is-closed = This month is closed. An owner can open it again under Payroll.
payroll-is-open = This month is open already.
payroll-more-than-due = This is more than is due. If it's an advance, confirm below: the rest counts towards the following months.
payroll-nothing-there = No earnings this month.
payroll-too-far-ahead = You can mark payments up to next month.
payroll-over-a-year-ahead = You can add amounts up to a year ahead.
payroll-nothing-to-pay = No earnings this month. While the month is open, you can pay an advance: tick that it's one.

# The bot.
payroll-earnings-button = 💰 My earnings
payroll-report-button = 📊 Report
payroll-told-nothing = { $month }: no earnings.
payroll-told =
    { $month }: { $total }
    Hours: { $hours }
    Paid: { $paid }, due: { $due }
payroll-told-credit = Counted from earlier overpayment: { $credit }
payroll-told-more = { $count ->
    [one] And { $count } more:
   *[other] And { $count } more:
} { $page }
payroll-report-ask = Which days? Choose a month, or write the dates, like Nov 1, 2026 - Nov 15, 2026.
payroll-report-bad-days = Please write the dates like Nov 1, 2026 - Nov 15, 2026: up to a year, between 2000 and 2100.
payroll-report =
    { $from } – { $to }
    { $count ->
        [one] { $count } person
       *[other] { $count } people
    }, { $hours } h, { $total }
payroll-report-line = { $name }: { $hours } h, { $total }

# News of one's own pay.
payroll-news-bonus = { $month }: you got a bonus, { $amount }. Reason: { $reason }
payroll-news-deduction = { $month }: { $amount } was deducted from your pay. Reason: { $reason }
payroll-news-changed = { $month }: in your pay, { $before } is now { $now }. Reason: { $reason }
payroll-news-removed = { $month }: { $amount } was removed from your pay. It was for: { $reason }
payroll-news-restored = { $month }: { $amount } is back in your pay. Reason: { $reason }
payroll-news-into = That month is closed, so the difference goes into another one: { $month }.
payroll-news-paid = { $month }: you were paid { $amount }.
payroll-news-taken-back = { $month }: the note that you were paid { $amount } was a mistake and has been undone.

# Pages.
payroll-nav = Payroll
payroll-nav-own = My earnings
payroll-months = Months
payroll-person = Employee
payroll-hours = Hours
payroll-earned = For hours
payroll-bonuses = Bonuses
payroll-deductions = Deductions
payroll-total = Total
payroll-paid = Paid
payroll-due = Due
payroll-sum = Total
payroll-payment = Payment
payroll-empty = No earnings this month yet
payroll-empty-about = They appear when employees clock out.
payroll-is-paid = paid
payroll-is-due = due
payroll-is-partly-paid = { $amount } due
payroll-is-overpaid = overpaid by { $amount }
payroll-is-nothing = nothing to pay
payroll-files = Files for the month
payroll-timesheet = Timesheet
payroll-timesheet-about = Paid hours by employee, day and site.
payroll-export-xlsx = Download for Excel
payroll-export-csv = Download CSV
payroll-closed-since = Closed on
payroll-closed-about = If a mistake turns up later, the correction goes into the next month.
payroll-close = Close { $month }
payroll-close-about = A closed month stays as it is: later changes become corrections in the next month.
payroll-close-sure = Close { $month }?
payroll-open-shifts = { $count ->
    [one] { $count } shift of this month is still in progress and will count in the next month:
   *[other] { $count } shifts of this month are still in progress and will count in the next month:
}
payroll-pending-cancellations = { $count ->
    [one] { $count } cancellation of this month is awaiting approval; its penalty will count in the next month
   *[other] { $count } cancellations of this month are awaiting approval; their penalties will count in the next month
}
payroll-open-about = You can close the month when it's over.
payroll-newest = Go to the newest
payroll-amounts = Breakdown
payroll-amount = Amount, { CURRENCY() }
payroll-reason = Reason
payroll-add-button = Add
payroll-add-closed = This month is closed: what you add goes into the next one.
payroll-change = Change
payroll-change-closed = This month is closed: your change becomes a correction in the next one.
payroll-save = Save
payroll-remove = Remove
payroll-removed = Removed
payroll-restore = Restore
payroll-corrected = Corrected later to { $amount }
payroll-mark-paid = Mark as paid
payroll-advance = It's an advance: { $due } is due, and the rest counts towards the following months
payroll-credit = Counted from overpayment
payroll-payments = Payments
payroll-take-back = Undo the payment mark
payroll-taken-back = undone
payroll-history = Change history
payroll-deed-added = Added
payroll-deed-changed = Changed
payroll-deed-removed = Removed
payroll-deed-restored = Restored
payroll-of-sites = Earnings at the sites whose finances you can see: { $sites }. The owner handles bonuses, deductions and payments.
payroll-bad-reason-field = Write a reason, for example “For helping on a day off”.
payroll-undo = Undo
payroll-cancel = Cancel
payroll-month-end = End of the month
payroll-is-closed-badge = closed
payroll-is-open-badge = open
payroll-open-person = The amounts can still change.
payroll-close-sums = { $count ->
    [one] { $count } person, { $total } in total, { $due } not paid yet.
   *[other] { $count } people, { $total } in total, { $due } not paid yet.
}
payroll-close-unsettled = Some shifts or cancellations of this month are still undecided. They will count in the next month.
payroll-leave-open = Leave it open
payroll-leave-closed = Leave it closed
payroll-reopen = Open again
payroll-reopen-sure = Open { $month } again?
payroll-reopen-about = Its amounts can change again. Payments of { $paid } stay marked: if someone has been paid too much then, it counts towards the following months. Corrections already made stay in their months.
payroll-reopened-at-once = Closed by mistake
payroll-add-ask = Bonus or deduction…
payroll-add-title = Bonus or deduction for { $name }, { $month }
payroll-pay-due = Pay { $amount }…
payroll-pay-advance = Pay an advance…
payroll-pay-title = Mark a payment to { $name }
payroll-pay-about = { $month }: { $due } is due. Opora moves no money: mark what you have paid.
payroll-pay-overpaid = Overpaid by { $amount } so far.
payroll-remove-ask = Remove…
payroll-remove-bonus-sure = Remove the bonus of { $amount }?
payroll-remove-deduction-sure = Remove the deduction of { $amount }?
payroll-total-then = The total for { $month } will be { $total }.
payroll-keep = Keep it
payroll-take-back-ask = Undo…
payroll-take-back-sure = Undo the payment mark of { $amount }?
payroll-take-back-about = Then { $due } will be due. The employee is told.
payroll-keep-payment = Keep the mark

# What was just done.
payroll-done-bonus = Bonus of { $amount } added for { $name }
payroll-done-deduction = Deduction of { $amount } added for { $name }
payroll-done-changed = Changed from { $before } to { $now }
payroll-done-removed-bonus = Bonus of { $amount } removed
payroll-done-removed-deduction = Deduction of { $amount } removed
payroll-done-restored = { $amount } restored
payroll-done-paid = Payment of { $amount } to { $name } marked
payroll-done-taken-back = Payment mark of { $amount } undone
payroll-done-closed = { $month } is closed
payroll-done-reopened = { $month } is open again
