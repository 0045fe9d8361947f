# Shifts: planning, opening, tasks, closing, cancelling.
shifts-plan-button = 🗓 Pick up a shift
shifts-mine-button = 📅 My shifts
shifts-open-button = ▶️ Clock in
shifts-tasks-button = ✅ My tasks
shifts-close-button = ⏹ Clock out
shifts-open-site-button = 🔓 Open a site
shifts-close-site-button = 🔒 Close a site
shifts-page-before-button = ◂ Previous
shifts-page-after-button = More ▸
shifts-skip-button = Skip
shifts-back-said = Back one step.
shifts-left = Okay.
shifts-timed-out = It's been a while, so let's leave this for now. Everything you marked and sent is saved.
shifts-resume = You can continue any time.
shifts-too-long = Please keep it to { $count } characters.

shifts-no-sites = You don't have a contract with any site yet. A manager will add one, and then you can pick up shifts here.
shifts-plan-site = Which site?
shifts-free-button = ⚡ Next open shifts
shifts-plan-free = Which shift would you like?
shifts-plan-day = Which day? The number is how many shifts are open.
shifts-plan-slot = What time? The last number is how many spots are left.
shifts-nothing-free = No open shifts.
shifts-plan-confirm =
    { $site }
    { $when }
    { $rate } an hour

    Sign you up?
shifts-plan-yes-button = Yes, I'll be there
shifts-planned = You're signed up: { $site }, { $when }. I'll remind you.
shifts-overlap-warning = ⚠️ You already have another shift at that time.
shifts-long-day-warning = ⚠️ With this shift you'd work about { $hours } hours that day.

shifts-mine = Your shifts:
shifts-mine-none = None yet.
shifts-mine-open = ▶️ { $when } · { $site } · { $time } so far, { $rate } an hour
shifts-mine-over = ✔️ { $when } · { $site } · { $time }, { $rate } an hour
shifts-cancel-choice = ✖ Cancel { $when }

shifts-nothing-to-open = You have no shift planned right now.
shifts-open-what = Which shift are you starting?
shifts-open-forgotten = Your shift at { $site } ended on { $end }, but you never clocked out. When you clock in to another one, it will be closed at that time.
shifts-without-plan-choice = { $site }, unscheduled
shifts-open-position = Please share your location to show that you're at { $site }.
shifts-close-position = Please share your location to clock out at { $site }.
shifts-open-site-position = Please share your location to open { $site }.
shifts-position-button = 📍 Share my location
shifts-position-taken = Thank you, I have your location.
shifts-position-wanted = Please press the 📍 button to share your location.
shifts-position-not-own = This location was forwarded or picked from a list. Please press the 📍 button where you are now.
shifts-position-old = This live location was started earlier. Please press the 📍 button where you are now.
shifts-too-far = You're { $distance } away from { $site }, and it has to be { $most } or less. Come closer and share your location again.
shifts-metres = { $count } m
shifts-kilometres = { $count } km
shifts-opened = You clocked in at { $site } at { $hour }.
shifts-opened-tasks = Your tasks:
shifts-mandatory = required
shifts-task-bonus-if-done = +{ $price } when done
shifts-task-bonus-missed = no bonus of { $price }
shifts-task-penalty-avoided = penalty of { $price } avoided
shifts-task-penalty-if-skipped = −{ $price } if skipped

shifts-none-open = You're not clocked in.
shifts-no-tasks = This shift has no tasks.
shifts-tasks = Your tasks:
shifts-done-choice = ⬜ { $task }
shifts-undo-choice = ✅ { $task }
shifts-photo-choice = 📷 { $task }
shifts-more-media-button = 📷 ＋
shifts-ready-button = Done
shifts-go-on-button = Continue to clock out
shifts-change-tasks-button = Mark tasks
shifts-send-media = Send a photo, video or file for: { $task }
shifts-media-wanted = Please send a photo, video or file.
shifts-media-taken = Thank you, it's saved with the task.
shifts-tasks-kept = Everything you marked is saved.

shifts-close-review = Clock out?
shifts-closing = You're clocked out. I'll send the details in a separate message.
shifts-closed = Your shift at { $site } is over: { $time }.
shifts-closed-paid = Paid: { $hours } h.
shifts-closed-task = { $kind } “{ $task }”
shifts-closed-total = Total: { $total }
shifts-site-closed-too = No one else is working at { $site }, so it's closed too.

shifts-no-site-to-open = Nothing to open right now: your sites are open already, or your contract hasn't started yet.
shifts-no-site-to-close = Nothing to close: none of your sites is open.
shifts-open-which = Which site are you opening?
shifts-close-which = Which site are you closing?
shifts-site-opened = { $site } is open.
shifts-site-closed = { $site } is closed.

shifts-cancel-reason = Why can't you make it?
shifts-reason-illness-button = Illness
shifts-reason-family-button = Family
shifts-reason-transport-button = Transport
shifts-reason-other-button = Something else
shifts-reason-by-staff = Cancelled by a manager
shifts-cancel-words = Please tell us why, in a few words.
shifts-cancel-document = Do you have a document that confirms it? Write what it is and its number.
shifts-cancel-photo = Send a photo of it if you can.
shifts-cancelled = Shift cancelled: { $site }, { $when }. A manager will review your reason, and I'll tell you the decision.

weekday-mon = Mon
weekday-tue = Tue
weekday-wed = Wed
weekday-thu = Thu
weekday-fri = Fri
weekday-sat = Sat
weekday-sun = Sun

shifts-menu-at-work = ▶️ You're clocked in at { $site } since { $since }, { $time } so far.
shifts-menu-today = 🗓 Your shift: { $site }, { $when }.

shifts-close-undone = ⚠️ Not done:
shifts-undone-deducted = • { $task }: { $amount } will be deducted
shifts-undone-bonus = • { $task }: no bonus of { $amount }
shifts-undone = • { $task }
shifts-undone-more = • and { $count } more
shifts-close-anyway = Clock out without them?
shifts-close-anyway-button = Clock out anyway

shifts-cancel-which = Cancelling your shift: { $site }, { $when }.
shifts-cancel-fine = ⚠️ If your reason isn't accepted, { $amount } will be deducted.
shifts-cancel-fine-late = ⚠️ Your shift starts in less than { $hours } h. If your reason isn't accepted, { $amount } will be deducted.

# What stays after /cancel.
shifts-plan-stopped = Okay, you're not signed up for anything new.
shifts-open-stopped = Okay, no new shift was started.
shifts-tasks-stopped = Okay. Everything you marked and sent is saved.
shifts-close-stopped = Okay. You're still clocked in, and everything you marked and sent is saved.
shifts-close-both-stopped = Okay. You're still clocked in, the site stays open, and everything you marked and sent is saved.
shifts-open-site-stopped = Okay, no site was opened.
shifts-close-site-stopped = Okay, the site stays open.
shifts-cancel-stopped = Okay. Your shift on { $day } is still yours.
