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
cabinet-restore = Undo the deletion
cabinet-show = Show
cabinet-from = From
cabinet-to = To

cabinet-site = Site
cabinet-all-sites = All sites
cabinet-no-sites = There are no sites yet.
cabinet-new-site = New site
cabinet-deleted-sites = Deleted sites
cabinet-deleted-site = { $site } (deleted)
cabinet-hours = Opening hours
cabinet-state = State
cabinet-open = open
cabinet-closed = closed
cabinet-rate = Rate per hour
cabinet-rate-per-hour = Rate per hour, ₽
cabinet-name = Name
cabinet-address = Address
cabinet-position = Position: latitude, longitude
cabinet-max-distance = Largest distance, m
cabinet-time-zone = Time zone
cabinet-opens = Opens
cabinet-closes = Closes
cabinet-auto-close = Forgotten shifts close after, min
cabinet-late-threshold = Lateness is forgiven up to, min
cabinet-late-minute = A minute of lateness costs, ₽
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
cabinet-delete-site-about = A deleted site can be brought back.

cabinet-tasks = Tasks
cabinet-tasks-about = What is to be done in every shift here. A change counts for shifts that are opened after it.
cabinet-no-tasks = There are no tasks.
cabinet-new-task = New task
cabinet-deleted-tasks = Deleted tasks
cabinet-task-text = What is to be done
cabinet-task-amount = Amount, ₽
cabinet-task-amount-about = Above zero it is a bonus for doing it. With a minus it is a penalty for leaving it undone.
cabinet-mandatory = mandatory
cabinet-needs-media = needs a photo

cabinet-who = Who
cabinet-when = Began
cabinet-no-shifts = There were no shifts in these days.
cabinet-mine = Only mine
cabinet-mine-about = Your own shifts, at whichever site they were
cabinet-shifts-cut = Not more than { $most } days are shown at once: these are the days from { $from } on.
cabinet-shifts-before = Those until { $to }
cabinet-at-work = at work
cabinet-completed = completed
cabinet-cancelled = cancelled
cabinet-late = { $minutes } min late
cabinet-planned = Planned
cabinet-spontaneous = without a plan
cabinet-began = Began
cabinet-ended = Ended
cabinet-opened-at = Opened at
cabinet-closed-at = Closed at
cabinet-metres-away = { $metres } m from the site
cabinet-by-clock = Times by the clock of the site: { $zone }.
cabinet-closed-by-person = closed by the person
cabinet-closed-by-staff = closed by staff
cabinet-closed-by-time = closed by itself
cabinet-no-amounts = Amounts are reckoned when the shift is closed.
cabinet-done-at = done
cabinet-photos = { $count ->
    [one] Send me { $count } file in Telegram
   *[other] Send me { $count } files in Telegram
}
cabinet-media-picture = Picture for the task
cabinet-media-awaited = It is being fetched from Telegram.
cabinet-media-failed = It could not be fetched from Telegram.
cabinet-media-again = Try again
cabinet-media-too-large = It is larger than { $most } MB. Telegram gives it to people only: have it sent to you there.
cabinet-media-save = Save the file
cabinet-close-shift = Close this shift
cabinet-close-shift-about = For a shift that somebody forgot. The hours up to its end are paid.
cabinet-close-shift-sure = Close this shift?
cabinet-close-end = It ended
cabinet-close-over = when it should have: { $time }
cabinet-close-now = now
cabinet-close-at = at another time
cabinet-close-time = The other time, by the clock of the site

cabinet-today = Today
cabinet-working-now = Working now
cabinet-late-today = Late
cabinet-not-come = Not come
cabinet-open-sites = Open sites
cabinet-not-come-yet = has not come
cabinet-expected = expected
cabinet-free-places = { $count ->
    [one] { $count } place is free today
   *[other] { $count } places are free today
}

cabinet-view = View
cabinet-week = Week
cabinet-month = Month
cabinet-choose-site = Choose a site to add slots.
cabinet-choose-site-sums = Days with many slots are shown as sums. Choose a site to see and change all of its slots.
cabinet-nobody-yet = nobody yet
cabinet-who-comes = Who comes
cabinet-put-somebody = Put somebody here
cabinet-put-button = Put here
cabinet-nobody-free = Nobody who works here by a contract is free then.
cabinet-other-overlap = This person has another shift planned at that time.
cabinet-other-no-contract = This person has no active contract for this site.
cabinet-take-out = Cancel
cabinet-take-out-sure = Cancel this plan? The person is told, and it costs them nothing.
cabinet-new-slot = New slot
cabinet-day = Day
cabinet-starts = From
cabinet-ends = To
cabinet-capacity = Places
cabinet-slot-rate = Own rate, ₽
cabinet-slot-title = Post, such as “cashier”
cabinet-penalises-lateness = lateness costs
cabinet-ignores-site-tasks = without the site's tasks
cabinet-slot-about = An end that is not after the beginning is on the next day. Without a rate of its own, the site's counts.
cabinet-slot-tasks = Tasks of this slot alone
cabinet-slot-own-case = You have a place in this slot, and your pay depends on it. You can change its post and its places; the rest is for an owner to change or delete. If you cannot come, cancel in the bot.
cabinet-slot-deleted = This slot is deleted.
cabinet-fill = Fill working days
cabinet-fill-about = A slot like this on every working day of the site. Those that are there stay.
cabinet-fill-button = Fill
cabinet-first-day = First day
cabinet-last-day = Last day
cabinet-slots-made = { $count ->
    [0] No new slots: nothing was to be added on these days, or it is there already.
    [one] { $count } new slot.
   *[other] { $count } new slots.
}
cabinet-copy-week = Copy a week
cabinet-copy-from = The week of
cabinet-copy-to = To the week of
cabinet-copy-button = Copy
cabinet-copy-without-rates = Slots with a rate of their own are copied with that of the site.

cabinet-cancellations-about = A reason that you accept costs nothing. One that you reject costs the fine that your settings say.
cabinet-no-cancellations = No cancellations wait for you.
cabinet-short-notice = short notice
cabinet-document = Document
cabinet-cancelled-at = Cancelled
cabinet-accept = Accept the reason
cabinet-reject = Reject it

cabinet-contracts = Contracts
cabinet-contracts-edit = Contracts: add and edit
cabinet-offer-contract = Offer a contract
cabinet-offer-about = For somebody who is verified and has no contract here yet.
cabinet-offer-whom = Telegram number, phone or @username
cabinet-contract-elsewhere = This contract counts at other sites too: an owner changes it.
cabinet-new-contract = New contract
cabinet-own-rate = Own rate per hour, ₽
cabinet-rate-of-site = that of the slot or the site
cabinet-allows-spontaneous = may open shifts without a plan
cabinet-contract-draft = draft
cabinet-contract-active = active
cabinet-contract-suspended = suspended
cabinet-contract-terminated = ended

cabinet-cost = Cost
cabinet-late-starts = Late starts
cabinet-nothing-to-chart = There is nothing to show for this month.
cabinet-deleted-contracts = Deleted contracts

cabinet-permissions = Permissions
cabinet-permissions-edit = Change permissions
cabinet-permissions-about = What this manager may do at each site. Whoever may do anything at a site also sees it. Finances shows what was earned there; pay is marked by owners.
cabinet-permissions-history = History
cabinet-permissions-untouched = Nobody has changed these permissions yet.
cabinet-permitted-nothing = May do nothing at any site yet.
cabinet-managers-about = Who looks after which sites, and what they may do there. Somebody becomes a manager by the role on their page.
cabinet-no-managers = Nobody is a manager yet. Give somebody the role on their page.
cabinet-their-page = Personal page
cabinet-day-slots =
    { $count ->
        [one] { $count } slot
       *[other] { $count } slots
    }, { $taken } of { $places } places taken

cabinet-nav-schedule = My schedule
cabinet-my-plans = What I have planned
cabinet-no-plans = You have planned nothing yet.
cabinet-free-now = Free places
cabinet-nothing-free = There are no free places in the next three weeks.
cabinet-free-places-here = { $count ->
    [0] No free places now
    [one] { $count } free place
   *[other] { $count } free places
}
cabinet-take-place = Take it
cabinet-cancel-in-bot = You cancel a shift in the bot, with a reason: press “{ $button }” there.
cabinet-to-bot = To the bot

cabinet-warns-long = { $hours } h: more than a day's work
cabinet-warns-meets = overlaps another slot: { $when }
cabinet-warns-long-day = { $name }: { $hours } h on this day
cabinet-warns-cannot-come = { $name } has no active contract for this site any more
cabinet-day-warns = { $count ->
    [one] { $count } slot to look at
   *[other] { $count } slots to look at
}
cabinet-day-not-looked-at = slots not looked at
cabinet-new-slot-on = New slot on { $day }
cabinet-deleted-slots = Deleted slots

cabinet-in-hours = { $hours } h
cabinet-in-starts = { $count ->
    [one] { $count } late start
   *[other] { $count } late starts
}
cabinet-chart-of = { $what } by day, { $month }. The values are in the table below.
cabinet-as-table = The values as a table

cabinet-nav-settings = Settings
cabinet-yes = yes
cabinet-no = no
cabinet-setting-default = Default: { $value }.
cabinet-settings-history = Changes
cabinet-settings-untouched = Everything is as it comes.
cabinet-setting-time-zone = Time zone of the business
cabinet-setting-time-zone-about = Which month it is on the pages goes by it, and so do the days of payments and of amounts by hand. The day of a shift and of its pay goes by the clock of its site.
cabinet-setting-task-penalty = A mandatory task left undone costs, ₽
cabinet-setting-task-penalty-about = For mandatory tasks that have no price of their own.
cabinet-setting-notice = Plans may be cancelled freely until, hours before
cabinet-setting-notice-about = Later than that is short notice.
cabinet-setting-short-notice = Cancelling at short notice costs, ₽
cabinet-setting-short-notice-about = Only once somebody has rejected the reason.
cabinet-setting-invalid-reason = Cancelling for a reason that does not count costs, ₽
cabinet-setting-invalid-reason-about = Only once somebody has rejected the reason.
cabinet-setting-questions = Questions of employees go to
cabinet-setting-questions-about = To managers, to owners, or to one person. Where nobody of these can answer, to whoever else may.
cabinet-setting-managers = Managers
cabinet-setting-owners = Owners
cabinet-setting-left = { $id } (may not answer any more)
cabinet-setting-nobody = Nobody with this number may answer questions. Please choose from the list.
cabinet-setting-test-users = Test users sign in with any PIN
cabinet-setting-test-users-about = For trying things out only. It counts for people who are marked as test users.
