# Sites, slots, tasks and contracts; why something cannot be done.
why-stale-toast = Someone changed this first. Please take another look.
why-gone-toast = This no longer exists.
why-not-allowed-toast = You don't have permission to do this.
why-exists-toast = There is already a shift at this time on this day.
why-taken-toast = More people than that have already signed up.
why-in-use-toast = Someone is working here or signed up for a shift. Wait until their shifts end, or cancel them.
why-worked-toast = Someone works or has worked this shift, so its day and start can't change. Create another shift instead.
why-full-toast = No spots left.
why-overlap-toast = You already have another shift at that time.
why-not-member-toast = This person doesn't have access any more.
why-no-contract-toast = Your contract doesn't cover this site.
why-contract-exists-toast = This employee already has an active contract for this site.
why-not-spontaneous-toast = Your contract covers scheduled shifts only. Pick up a shift first.
why-working-toast = You're already clocked in. Clock out first.
why-not-working-toast = This shift is already over.
why-not-then-toast = Choose a time between the start of the shift and now.
why-plan-used-toast = This shift has already been started or cancelled.
why-past-toast = That time has passed.
why-early-toast = It's too early: you can clock in two hours before the start.
why-needs-media-toast = Send a photo for this task first.
why-too-much-media-toast = You can't add more photos to this task.
why-too-many-tasks-toast = A shift can have up to 90 tasks, counting its own and those of the site.
why-site-open-toast = This site is already open.
why-site-closed-toast = This site is already closed.
why-others-work-toast = Others are still working here. The site closes when they're done.
why-decided-toast = This has already been decided.
why-fine-changed-toast = The penalty has changed. Please check it and decide again.
why-month-closed-toast = The month is closed, so this decision stays. You can give the amount back as a bonus.
why-own-case-toast = This is about you, so an owner decides.

# News for those who are concerned.
notice-blocked = { $count ->
    [0] Your access has been blocked. If you think this is a mistake, please contact your manager.
    [one] Your access has been blocked and your planned shift has been cancelled. If you think this is a mistake, please contact your manager.
   *[other] Your access has been blocked and your { $count } planned shifts have been cancelled. If you think this is a mistake, please contact your manager.
}
notice-unblocked = { $count ->
    [0] You have access again. You can go on using the bot.
    [one] You have access again, and your planned shift is back on the schedule.
   *[other] You have access again, and your { $count } planned shifts are back on the schedule.
}
notice-plan-moved = Your shift at { $site } has been moved: { $before } is now { $after }.
notice-plan-made = You've been signed up for a shift at { $site }: { $when }.
notice-contract-made = { $count ->
    [one] You have a new contract. Your site: { $sites }.
   *[other] You have a new contract. Your sites: { $sites }.
} You can pick up a shift now.
notice-contract-made-from = { $count ->
    [one] You have a new contract. Your site from { $day }: { $sites }.
   *[other] You have a new contract. Your sites from { $day }: { $sites }.
}
notice-contract-again = { $count ->
    [one] Your contract is active again. Your site: { $sites }.
   *[other] Your contract is active again. Your sites: { $sites }.
} You can pick up a shift now.
notice-contract-again-from = { $count ->
    [one] Your contract is active again from { $day }. Your site: { $sites }.
   *[other] Your contract is active again from { $day }. Your sites: { $sites }.
}
notice-plan-cancelled = Your shift at { $site } on { $when } has been cancelled. You don't need to come.
notice-plan-restored = Your shift at { $site } on { $when } is back on.
notice-reminder = Reminder: your shift at { $site } starts soon, { $when }.
notice-missed = No-show: { $name }, { $site }, { $when }.
notice-you-missed = You were expected at { $site }, { $when }. If something happened, please tell your manager.
notice-closed-by-time = I clocked you out at { $site }, because your shift was over. It ended on { $end }; total: { $total }.
notice-site-closed-by-time = I closed { $site }, which you had opened: its hours are over, and no one is working there.
notice-closed-by-staff = A manager clocked you out at { $site }. Your shift ended on { $end }; total: { $total }.
notice-cancelled = { $name } cancelled a shift at { $site }, { $when }. Review the reason under “Today”.
notice-reason-accepted = Your reason for cancelling was accepted: { $site }, { $when }. There is no penalty.
notice-reason-rejected = Your reason for cancelling was not accepted: { $site }, { $when }. Deducted: { $fine }.
notice-reason-rejected-free = Your reason for cancelling was not accepted: { $site }, { $when }. There is no penalty.
notice-decision-taken-back = The decision about your cancellation will be reviewed again: { $site }, { $when }.
notice-fine-taken-back = The decision about your cancellation will be reviewed again: { $site }, { $when }. The penalty of { $fine } was removed.

# The owner in the bot.
sites-today-button = 📋 Today
sites-button = 🏢 Sites
sites-today = Today:
sites-none = No sites yet. Create one in the dashboard.
sites-list = Which site?
sites-works = • { $name } working since { $since }
sites-was-here = • { $name } clocked in at { $since }, already clocked out
sites-not-come = • { $name } no-show: { $when }
sites-comes = • { $name } expected: { $when }
sites-card =
    { $site }
    { $address }
    { $rate } an hour
sites-week = The next seven days:
sites-new-slot-button = ➕ New shift
sites-new-slot = Write the day, hours and number of people in one line, like: Dec 31 09:00-18:00 2
sites-slot-not-understood = I didn't get that. Example: Dec 31 09:00-18:00 2
sites-slot-made = New shift at { $site }: { $when }.
sites-new-slot-stopped = Okay, no shift was added.
sites-cancellation = { $name } can't make it to { $site }, { $when }. Reason: { $reason }
sites-accept-button = ✅ Accept, no penalty
sites-reject-choice = ❌ Reject and deduct { $fine }
sites-reject-free-button = ❌ Reject, no penalty
sites-accepted = Reason accepted, nothing is deducted.
sites-rejected = Reason rejected, { $fine } deducted.
sites-rejected-free = Reason rejected, nothing is deducted.
sites-take-back-button = ↩️ Take back
sites-taken-back = Decision taken back. Any penalty was removed. The cancellation awaits approval again.

# What managers may do.
sites-may-view = see the site
sites-may-edit = edit the site and tasks
sites-may-delete = delete the site
sites-may-employees = manage employees and cancellations
sites-may-finances = see finances
sites-may-rates = change rates
sites-may-schedule = plan the schedule

# Import of staff and sites.
import-title = Import
import-about = Upload a CSV file or paste rows from a spreadsheet. First you'll see what will be added; nothing is saved until you confirm. Up to { $rows } rows and { $kilobytes } KB.
import-staff = Staff
import-staff-about = Columns: name, telegram id (both required), phone, role, site, rate. Everyone needs a Telegram ID, because the bot recognises people by it. With a site, an active contract is added too.
import-sites = Sites
import-sites-about = Columns: name, address (both required), position, time zone, opens, closes, rate.
import-file = CSV file
import-paste = or rows with a heading, pasted from a spreadsheet
import-check = Check
import-example = Example file
import-staff-example = name,telegram id,phone,role,site,rate
    Anna Petrova,123456789,+7 999 123-45-67,employee,,350
import-sites-example = name,address,position,time zone,opens,closes,rate
    Coffee shop,"Main Street 1","55.7520, 37.6175",Europe/Moscow,08:00,20:00,300
import-empty = There is no table here: it needs a heading and at least one row.
import-too-long = The table is too large: { $kilobytes } KB at most. Split it into parts.
import-too-many-rows = The table has too many rows: { $rows } at most. Split it into parts.
import-too-many-columns = A row has too many columns: { $columns } at most.
import-unreadable = Line { $line } can't be read. Look for an unclosed quotation mark.
import-mistakes = { $count ->
    [one] There is { $count } mistake. Nothing was imported: correct it and upload again.
   *[other] There are { $count } mistakes. Nothing was imported: correct them and upload again.
}
import-preview = { $count ->
    [0] Everything in this table exists already. There is nothing to import.
    [one] { $count } row will add something. Nothing has been saved yet.
   *[other] { $count } rows will add something. Nothing has been saved yet.
}
import-now = Import { $count }
import-other = Choose another file
import-line = Line
import-column = Column
import-typed = Value
import-what-to-do = What to correct
import-head = heading
import-effect = What happens
import-address = Address
import-zone = Time zone
import-new-person = new person
import-new-contract = new contract
import-kept-out = no access, no contract
import-new-site = new site
import-exists = exists, no change
import-done = Imported: people { $people }, contracts { $contracts }, sites { $sites }. Unchanged rows: { $unchanged }
import-no-column = This column is missing. Add it to the heading.
import-unknown-column = Unknown column. Rename or remove it.
import-bad-name = Enter a name of at least two letters, up to 100 characters.
import-bad-phone = Enter a phone like +7 999 123-45-67, or leave it empty.
import-bad-telegram-id = Enter a Telegram ID: digits only, such as 123456789.
import-bad-role = Enter employee, technician, dispatcher or manager. Owners are appointed on their page.
import-unknown-site = There is no site with exactly this name. Add the site first.
import-bad-rate = Enter an hourly rate like 350 or 350.50.
import-bad-address = Enter an address.
import-bad-position = Enter coordinates like 55.7520, 37.6175, or leave it empty.
import-bad-time-zone = Enter a time zone like Europe/Moscow, or leave it empty.
import-bad-time = Enter a time like 09:00.
import-twice = This is already in an earlier line.
# A message to the staff of a site.
sites-broadcast-message =
    📢 { $site }

    { $text }

# The position of a site: the owner in the bot.
sites-position-button = 📍 Set the location
sites-position-ask = Send the site's location: tap 📎, choose “Location” and put the pin on the map. Coordinates or a map link work too.
sites-position-set = Done: the location of { $site } is saved.
sites-position-stopped = Okay, the location of the site stays as it was.
