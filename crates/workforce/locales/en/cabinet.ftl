# The cabinet: today, sites, the calendar, shifts, charts.
cabinet-nav-calendar = Calendar
cabinet-nav-shifts = Shifts
cabinet-nav-sites = Sites
cabinet-nav-cancellations = Cancellations
cabinet-nav-charts = Charts
cabinet-nav-managers = Managers

cabinet-create = Create
cabinet-save = Save
cabinet-edit = Edit
cabinet-delete = Delete
cabinet-restore = Restore
cabinet-show = Show
cabinet-from = From
cabinet-to = To

cabinet-site = Site
cabinet-all-sites = All sites
cabinet-no-sites = No sites yet
cabinet-no-sites-about = A site is a place where people work. Fill in the form below to add the first one.
cabinet-site-sections = Parts of the site
cabinet-site-overview = Overview
cabinet-site-staff = Staff
cabinet-site-about = About the site
cabinet-site-saved = Saved
cabinet-site-made = Site added
cabinet-no-staff = No one works here yet
cabinet-no-staff-about = Add a contract for this site, and the person can pick up its shifts.
cabinet-staff-in-people = Show in People
cabinet-on-map = on the map
cabinet-no-position = no location yet: employees can't be checked when they clock in
cabinet-new-site = New site
cabinet-deleted-sites = Deleted sites
cabinet-deleted-site = { $site } (deleted)
cabinet-hours = Opening hours
cabinet-state = Status
cabinet-open = open
cabinet-closed = closed
cabinet-rate = Hourly rate
cabinet-rate-per-hour = Hourly rate, { CURRENCY() }
cabinet-name = Name
cabinet-address = Address
cabinet-position = Coordinates or a map link
cabinet-max-distance = Clock in within, m
cabinet-time-zone = Time zone
cabinet-opens = Opens
cabinet-closes = Closes
cabinet-auto-close = Clock out forgotten shifts after, min
cabinet-late-threshold = Grace period for lateness, min
cabinet-late-minute = Penalty per minute late, { CURRENCY() }
cabinet-working-days = Working days
cabinet-day-0 = Mon
cabinet-day-1 = Tue
cabinet-day-2 = Wed
cabinet-day-3 = Thu
cabinet-day-4 = Fri
cabinet-day-5 = Sat
cabinet-day-6 = Sun
cabinet-open-site = Open the site
cabinet-close-site = Close the site
cabinet-delete-site = Delete this site
cabinet-delete-site-ask = Delete this site…
cabinet-delete-site-sure = Delete { $site }?
cabinet-keep-site = Keep it
cabinet-delete-site-about = You can restore a deleted site.

cabinet-tasks = Tasks
cabinet-tasks-about = What to do in every shift here. Changes apply to shifts that start after them.
cabinet-no-tasks = No tasks.
cabinet-new-task = New task
cabinet-deleted-tasks = Deleted tasks
cabinet-task-text = What to do
cabinet-task-amount = Amount, { CURRENCY() }

cabinet-mandatory = required
cabinet-needs-media = needs a photo

cabinet-who = Who
cabinet-when = Start
cabinet-no-shifts = No shifts on these days
cabinet-no-shifts-about = A shift appears here as soon as an employee clocks in. Choose other days or another site above.
cabinet-shift = Shift
cabinet-mine = Only mine
cabinet-mine-about = Your own shifts at all sites
cabinet-shifts-cut = Showing up to { $most } days at once, from { $from }.
cabinet-shifts-before = Earlier, until { $to }
cabinet-at-work = working
cabinet-completed = completed
cabinet-late = { $minutes } min late{ $forgiven ->
    [0] { "" }
   *[other] , { $forgiven } forgiven
}
cabinet-planned = Planned
cabinet-spontaneous = unscheduled
cabinet-began = Start
cabinet-ended = End
cabinet-opened-at = Clocked in at
cabinet-closed-at = Clocked out at
cabinet-metres-away = { $metres } m from the site
cabinet-by-clock = Times are local to the site: { $zone }.
cabinet-closed-by-person = clocked out by the employee
cabinet-closed-by-staff = clocked out by a manager
cabinet-closed-by-time = clocked out automatically
cabinet-no-amounts = Amounts are calculated when the employee clocks out.
cabinet-done-at = done
cabinet-photos = { $count ->
    [one] Send me { $count } file in Telegram
   *[other] Send me { $count } files in Telegram
}
cabinet-media-picture = Photo for the task
cabinet-photos-sent = The files are on their way to your Telegram.
cabinet-media-awaited = Loading from Telegram.
cabinet-media-failed = Couldn't load it from Telegram.
cabinet-media-again = Try again
cabinet-media-asked-again = Loading it from Telegram again.
cabinet-media-too-large = The file is larger than { $most } MB and can't be shown here. Press the button to get it in the chat.
cabinet-media-save = Save the file
cabinet-close-shift = Clock out
cabinet-close-shift-ask = Clock out…
cabinet-close-shift-not = Leave it running
cabinet-close-shift-about = For a shift that someone forgot to clock out of. Hours up to the end are paid.
cabinet-close-shift-final = This can't be undone. If something is wrong, the amounts can be corrected in payroll.
cabinet-close-pays = { $end } ({ $hours } h, { $total })
cabinet-close-lasts = { $end } ({ $hours } h)
cabinet-close-unseen = Until that time it's { $hours } h and { $total }. Press the button again if that's right.
cabinet-close-shift-sure = Clock out of this shift?
cabinet-shift-closed = The shift is over.
cabinet-shift-closed-total = The shift is over: { $hours } h, { $total }.
cabinet-close-end = End
cabinet-close-over = as scheduled: { $time }
cabinet-close-now = now
cabinet-close-at = at another time
cabinet-close-time = Other time, local to the site

cabinet-today = Today
cabinet-working-now = Working now
cabinet-late-today = Late
cabinet-not-come = No-shows
cabinet-open-sites = Open sites
cabinet-not-come-yet = no-show
cabinet-free-places = { $count ->
    [one] { $count } open spot today
   *[other] { $count } open spots today
}

cabinet-view = View
cabinet-week = Week
cabinet-month = Month
cabinet-choose-site-sums = Days with many shifts show totals only. Choose a site to see and change all of its shifts.
cabinet-no-one-yet = no one yet
cabinet-who-comes = Who is coming
cabinet-put-person = Assign someone
cabinet-put-button = Assign
cabinet-person-put = Shift assigned.
cabinet-person-taken-out = Shift cancelled for the employee.
cabinet-other-overlap = This employee already has another shift at that time.
cabinet-other-no-contract = This employee has no active contract for this site.
cabinet-take-out = Cancel the shift
cabinet-take-out-ask = Cancel…
cabinet-take-out-sure = Cancel this shift for { $name }?
cabinet-take-out-about = The employee will be told, and there is no penalty.
cabinet-take-out-not = Keep the shift
cabinet-new-slot = New shift
cabinet-day = Day
cabinet-starts = From
cabinet-ends = To
cabinet-capacity = People needed
cabinet-slot-rate = Own rate, { CURRENCY() }
cabinet-slot-title = Position, such as “cashier”
cabinet-penalises-lateness = deduct for lateness
cabinet-ignores-site-tasks = without the site's tasks
cabinet-slot-about = If the end isn't after the start, the shift ends the next day. Without its own rate, the site's rate applies.
cabinet-slot-tasks = Tasks for this shift only
cabinet-slot-own-case = You're signed up for this shift, and your pay depends on it. You can change the position and the number of people; an owner changes or deletes the rest. If you can't make it, cancel in the bot.
cabinet-slot-deleted = This shift has been deleted.
cabinet-first-day = First day
cabinet-last-day = Last day
cabinet-slots-made = { $count ->
    [0] No new shifts: there are no working days among these, or the shifts already exist.
    [one] { $count } new shift.
   *[other] { $count } new shifts.
}
cabinet-copy-week = Copy a week
cabinet-copy-from = Which week (any day of it)
cabinet-copy-to = To which week
cabinet-copy-button = Copy
cabinet-copy-without-rates = A shift's own rate isn't copied: the site's rate applies instead.

cabinet-no-cancellations = No cancellations awaiting approval
cabinet-no-decided = No decisions yet
cabinet-waiting = Awaiting approval
cabinet-decided = Decided
cabinet-short-notice = short notice
cabinet-document = Document
cabinet-cancelled-at = Cancelled
cabinet-fine-parts = If rejected: { $reason } for the reason and { $short } for short notice.
cabinet-accept = Accept, no penalty
cabinet-reject = Reject and deduct { $fine }
cabinet-reject-free = Reject
cabinet-reject-sure = Reject this reason?
cabinet-reject-about = { $fine } will be deducted from the employee's pay, and the bot will tell them. You can take it back while the month is open.
cabinet-reject-about-free = The bot will tell the employee. Nothing is deducted. You can take it back while the month is open.
cabinet-reject-not = Don't reject
cabinet-was-rejected = rejected, { $fine }
cabinet-was-rejected-free = rejected
cabinet-was-accepted = accepted
cabinet-decided-by = Decided by { $name }
cabinet-was-reversed = The earlier decision was taken back by { $name }
cabinet-take-back = Take back
cabinet-take-back-sure = Take back this decision?
cabinet-take-back-fine = The penalty of { $fine } will be removed, and the cancellation will await approval again. The bot will tell the employee.
cabinet-take-back-free = The cancellation will await approval again. The bot will tell the employee.
cabinet-take-back-not = Keep it

cabinet-contracts = Contracts
cabinet-contracts-edit = Add or edit contracts
cabinet-offer-contract = Add a contract
cabinet-offer-about = Choose from the list. You can also enter a Telegram ID, phone or @username.
cabinet-offer-whom = Employee (start typing a name)
cabinet-contract-elsewhere = This contract also covers other sites, so only an owner can change it.
cabinet-new-contract = New contract
cabinet-own-rate = Own hourly rate, { CURRENCY() }
cabinet-rate-of-site = rate of the shift or the site
cabinet-allows-spontaneous = may work unscheduled shifts
cabinet-contract-number = Contract No. { $number }
cabinet-contract-saved = Contract saved
cabinet-delete-contract = Delete the contract
cabinet-delete-contract-ask = Delete the contract…
cabinet-delete-contract-sure = Delete contract No. { $number }?
cabinet-delete-contract-about = { $count ->
    [0] No planned shifts depend on it. You can restore a deleted contract.
    [one] { $count } planned shift depends on it: it stays on the schedule, but can't be started without a contract. You can restore a deleted contract.
   *[other] { $count } planned shifts depend on it: they stay on the schedule, but can't be started without a contract. You can restore a deleted contract.
}
cabinet-contract-dates = Valid
cabinet-contract-from = Valid from
cabinet-contract-until = Valid until
cabinet-contract-needs-site = Choose at least one site. A contract without a site can't be active.
cabinet-contract-conflict-advice = Change that contract, or set dates that don't overlap.
cabinet-dates-from = from { $from }
cabinet-dates-until = until { $until }
cabinet-dates-between = { $from } – { $until }
cabinet-history-rate = Hourly rate
cabinet-unscheduled-shifts = Unscheduled shifts
cabinet-contract-draft = draft
cabinet-contract-active = active
cabinet-contract-suspended = suspended
cabinet-contract-terminated = ended

cabinet-cost = Cost
cabinet-late-starts = Late starts
cabinet-nothing-to-chart = Nothing to show for this month.
cabinet-deleted-contracts = Deleted contracts

cabinet-permissions = Permissions
cabinet-permissions-edit = Change permissions
cabinet-permissions-about = What this manager can do at each site. Any permission also lets them see the site. “See finances” shows what was earned there; owners mark payments.
cabinet-permissions-saved = Permissions saved
cabinet-permissions-history = Change history
cabinet-permissions-untouched = No one has changed these permissions yet.
cabinet-managers-about = Who looks after which sites, and what they can do there. To make someone a manager, give them the role on their page.
cabinet-no-managers = No managers yet. Give someone the role on their page.
cabinet-their-page = Employee page
cabinet-day-slots =
    { $count ->
        [one] { $count } shift
       *[other] { $count } shifts
    }, { $taken } of { $places } spots taken

cabinet-nav-schedule = My schedule
cabinet-my-plans = My shifts
cabinet-no-plans = You have no shifts yet.
cabinet-free-now = Open shifts
cabinet-nothing-free = No open shifts in the next three weeks.
cabinet-free-places-here = { $count ->
    [0] No spots left
    [one] { $count } spot left
   *[other] { $count } spots left
}
cabinet-take-place = Claim
cabinet-place-taken = You're signed up for this shift.
cabinet-cancel-in-bot = To cancel a shift, press “{ $button }” in the bot and give a reason.
cabinet-to-bot = Go to the bot

cabinet-warns-long = { $hours } h: longer than a working day
cabinet-warns-meets = overlaps another shift: { $when }
cabinet-warns-long-day = { $name }: { $hours } h on this day
cabinet-warns-cannot-come = { $name } no longer has an active contract for this site
cabinet-day-warns = { $count ->
    [one] { $count } shift needs attention
   *[other] { $count } shifts need attention
}
cabinet-day-not-looked-at = shifts not checked
cabinet-new-slot-on = New shift on { $day }
cabinet-deleted-slots = Deleted shifts

cabinet-in-hours = { $hours } h
cabinet-in-starts = { $count ->
    [one] { $count } late start
   *[other] { $count } late starts
}
cabinet-chart-of = { $what } by day, { $month }. The values are in the table below.
cabinet-as-table = Show as a table

cabinet-nav-settings = Settings
cabinet-yes = yes
cabinet-no = no
cabinet-setting-default = Default: { $value }.
cabinet-settings-saved = Settings saved.
cabinet-settings-business = Business
cabinet-settings-pay = Pay
cabinet-settings-cancelling = Cancelling shifts
cabinet-settings-orders = Orders
cabinet-settings-personal = Personal data
cabinet-settings-sign-in = Sign-in
cabinet-settings-history = Change history
cabinet-settings-untouched = All defaults.
cabinet-setting-time-zone = Time zone of the business
cabinet-setting-time-zone-about = Decides which month it is, and the days of payments and of amounts added by hand. The day of a shift and its pay follows the site's time zone.
cabinet-setting-currency = Currency
cabinet-setting-currency-about = Changes the symbol only: amounts are not converted.
cabinet-setting-pay-start = If a shift is started early, pay
cabinet-setting-pay-start-about = A late start is paid from clock-in. Applies to shifts that are closed after the change.
cabinet-pay-from-opening = from clock-in
cabinet-pay-from-planned-start = from the planned start
cabinet-setting-rounding = Round worked time
cabinet-setting-rounding-about = The whole time of a shift, to full steps. Applies to shifts that are closed after the change.
cabinet-rounding-none = don't round
cabinet-rounding-5 = to 5 minutes
cabinet-rounding-10 = to 10 minutes
cabinet-rounding-15 = to 15 minutes
cabinet-rounding-30 = to 30 minutes
cabinet-setting-rounding-direction = Which way to round
cabinet-setting-rounding-direction-about = Only if time is rounded.
cabinet-rounding-down = down
cabinet-rounding-nearest = to the nearest step
cabinet-setting-task-penalty = Penalty for a required task not done, { CURRENCY() }
cabinet-setting-task-penalty-about = For required tasks without an amount of their own.
cabinet-setting-notice = Free cancellation until, hours before the start
cabinet-setting-notice-about = Later than that is short notice.
cabinet-setting-short-notice = Penalty for cancelling at short notice, { CURRENCY() }
cabinet-setting-short-notice-about = Only if the reason is rejected.
cabinet-setting-invalid-reason = Penalty for cancelling without a valid reason, { CURRENCY() }
cabinet-setting-invalid-reason-about = Only if the reason is rejected.
cabinet-setting-questions = Employees' questions go to
cabinet-setting-questions-about = Managers, owners or one person. If none of them can answer, another available team member gets the question.
cabinet-setting-managers = Managers
cabinet-setting-owners = Owners
cabinet-setting-left = { $id } (can no longer answer)
cabinet-setting-cannot-answer = This person can't answer questions. Please choose from the list.
cabinet-setting-consent-ru = Consent to the processing of personal data, in Russian
cabinet-setting-consent-en = Consent to the processing of personal data, in English
cabinet-setting-consent-about = Newcomers read it before the first question. A changed text is shown in new registrations only: people who have agreed are not asked again.
cabinet-setting-text-bad = Enter a text of up to 3,500 characters.
cabinet-setting-quiet = Quiet hours
cabinet-setting-quiet-about = The bot sends only urgent messages then: a shift that starts soon, a no-show, a block. Others wait until the morning of the person's site. People can choose their own with /quiet.
cabinet-setting-retention = Days after which data of rejected applicants and documents of blocked people are deleted
cabinet-setting-retention-about = Counted from the last change. Rejected applicants are deleted entirely, blocked people lose only their documents; shifts and pay stay. 0 keeps everything.
cabinet-setting-test-users = Test users sign in with any PIN
cabinet-setting-test-users-about = Only for trying things out. Applies to people marked as test users.

# What to type into a field of a site, slot, contract or task.
cabinet-bad-name = Enter a name of up to 100 characters, for example “Lenin Street café”.
cabinet-bad-address = Enter an address of up to 300 characters, for example “1 Lenin Street, Yekaterinburg”.
cabinet-bad-position = Enter coordinates, for example 55.7558, 37.6173, or paste a link from a map.
cabinet-bad-position-short-link = A short link has no coordinates in it. Open it in a browser and copy the full address, or the coordinates, for example 55.7558, 37.6173.
cabinet-bad-position-link = This link has no coordinates. Drop a pin on the map and copy the link again, or enter coordinates, for example 55.7558, 37.6173.
cabinet-bad-max-distance = Enter a distance in metres from 1 to 100,000, for example 500.
cabinet-bad-auto-close = Enter minutes from 1 to 1440, for example 60.
cabinet-bad-late-threshold = Enter minutes from 0 to 1440, for example 5.
cabinet-bad-late-minute = Enter an amount per minute, for example 10 or 0.
cabinet-bad-rate = Enter an hourly rate, for example 250 or 250.50.
cabinet-bad-title = Shorten the title to 100 characters.
cabinet-bad-capacity = Enter a number of people from 1 to 1000, for example 2.
cabinet-bad-whom = No such employee. Enter a Telegram ID, phone or username, for example 123456789 or @anna.
cabinet-bad-contract-sites = Choose at least one site.
cabinet-bad-task-text = Describe the task in up to 300 characters, for example “Wipe the counters”.
cabinet-bad-task-amount = Enter an amount above zero, for example 100 or 99.50.

# Tasks: bonus or penalty.
cabinet-task-kind = Pay
cabinet-task-bonus = Bonus when done
cabinet-task-penalty = Penalty when skipped
cabinet-task-free = No pay
cabinet-task-shown-bonus = bonus { $amount }
cabinet-task-shown-penalty = penalty { $amount }
cabinet-task-shown-free = no pay
cabinet-task-shown-skipped = skipping it costs { $amount }
cabinet-task-skipped = Skipping it costs { $amount }

# The time zones of Russia.
zone-kaliningrad = Kaliningrad
zone-moscow = Moscow
zone-samara = Samara
zone-yekaterinburg = Yekaterinburg
zone-omsk = Omsk
zone-krasnoyarsk = Krasnoyarsk
zone-irkutsk = Irkutsk
zone-yakutsk = Yakutsk
zone-vladivostok = Vladivostok
zone-magadan = Magadan
zone-kamchatka = Petropavlovsk-Kamchatsky
cabinet-bad-valid-until = Enter a date that is not before the start of the contract, for example Dec 31, 2026, or leave the field empty.
cabinet-bad-last-day = Enter a date that is not before the first day and at most two years after it, for example Dec 31, 2026.

# A message to the staff of a site.
cabinet-broadcast = Message the staff
cabinet-broadcast-about = The bot sends the message to each person you choose, in a private chat.
cabinet-broadcast-text = Message
cabinet-broadcast-recipients = To
cabinet-broadcast-check = Preview and send
cabinet-broadcast-preview = { $count ->
    [one] { $count } person will get this message
   *[other] { $count } people will get this message
}
cabinet-broadcast-send = { $count ->
    [one] Send to { $count } person
   *[other] Send to { $count } people
}
cabinet-broadcast-edit-about = To change something, edit the form below and preview it again.
cabinet-broadcast-no-recipients = There is no one to write to yet: no one has an active contract for this site.
cabinet-broadcast-history = Sent messages
cabinet-broadcast-none = No messages yet.
cabinet-broadcast-progress = How many are sent
cabinet-broadcast-sent = Sent: { $sent } of { $total }
cabinet-broadcast-failed = not delivered: { $count }
cabinet-broadcast-blocked = blocked the bot: { $count }
cabinet-broadcast-unknown = result unknown after a restart: { $count }
cabinet-broadcast-skipped = no longer work here: { $count }
cabinet-broadcast-cancelled = cancelled: { $count }
cabinet-broadcast-cancel = Don't send the rest
cabinet-broadcast-begun = The message is being sent.
cabinet-broadcast-stopped = The rest won't get this message.
cabinet-bad-broadcast-text = Write a message of up to 3,500 characters, for example “We open at 10 tomorrow”.
cabinet-bad-broadcast-recipients = Choose at least one person.
cabinet-site-deleted = Deleted
cabinet-around-the-clock = around the clock
cabinet-cancellations-hidden = { $count ->
    [one] { $count } more appears as you decide on these.
   *[other] { $count } more appear as you decide on these.
}
