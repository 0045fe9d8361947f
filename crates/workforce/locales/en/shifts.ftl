# Shifts: planning, opening, tasks, closing, cancelling.
shifts-plan-button = 🗓 Plan a shift
shifts-mine-button = 📅 My shifts
shifts-open-button = ▶️ Open a shift
shifts-tasks-button = ✅ My tasks
shifts-close-button = ⏹ Close my shift
shifts-open-site-button = 🔓 Open a site
shifts-close-site-button = 🔒 Close a site
shifts-page-before-button = ◂ Previous
shifts-page-after-button = More ▸
shifts-skip-button = Skip
shifts-back-said = One step back.
shifts-left = All right.
shifts-timed-out = I have waited a while and put this aside. What you have marked and sent is kept.
shifts-resume = You can go on whenever you like.
shifts-too-long = Please write { $count } characters at most.

shifts-no-sites = You have no contract for any site yet. Please talk to your manager.
shifts-plan-site = At which site?
shifts-free-button = ⚡ Next free places
shifts-plan-free = Which place would you like?
shifts-plan-day = On which day? The number says how many slots are free.
shifts-plan-slot = At which time? The last number says how many places are left.
shifts-nothing-free = Nothing is free here.
shifts-plan-confirm =
    { $site }
    { $when }
    { $rate } an hour

    Shall I put you down?
shifts-plan-yes-button = Yes, I will come
shifts-planned = Planned: { $site }, { $when }. I will remind you.
shifts-overlap-warning = ⚠️ You have another shift planned at that time.
shifts-long-day-warning = ⚠️ With this you would work about { $hours } hours on that day.

shifts-mine = Your shifts:
shifts-mine-none = Nothing is planned.
shifts-mine-open = ▶️ { $when } · { $site } · { $hours } h so far at { $rate }
shifts-mine-over = ✔️ { $when } · { $site } · { $hours } h at { $rate }
shifts-cancel-choice = ✖ Cancel { $when }

shifts-nothing-to-open = Nothing is planned for you now.
shifts-open-what = Which shift do you open?
shifts-open-forgotten = Your shift at { $site } was over at { $end }, and nobody has closed it. When you open another one, it is closed as of then.
shifts-without-plan-choice = { $site }, without a plan
shifts-open-position = Please share your position, so that I can see that you are at { $site }.
shifts-close-position = Please share your position to close your shift at { $site }.
shifts-open-site-position = Please share your position to open { $site }.
shifts-position-button = 📍 Share my position
shifts-position-taken = Thank you, I have your position.
shifts-position-wanted = Please press the key with the pin to share your position.
shifts-position-not-own = This position was forwarded or chosen from a list. Please press the key with the pin where you are now.
shifts-position-old = This live position was sent a while ago. Please press the key with the pin where you are now.
shifts-too-far = You are { $distance } away from { $site }. It has to be { $most } or less. Come closer and share your position again.
shifts-metres = { $count } m
shifts-kilometres = { $count } km
shifts-opened = Your shift at { $site } is open since { $hour }.
shifts-opened-tasks = Your tasks:
shifts-mandatory = required

shifts-none-open = You have no open shift.
shifts-no-tasks = This shift has no tasks.
shifts-tasks = Your tasks:
shifts-done-choice = ⬜ { $task }
shifts-undo-choice = ✅ { $task }
shifts-photo-choice = 📷 { $task }
shifts-more-media-button = 📷 ＋
shifts-ready-button = Done
shifts-go-on-button = Go on to closing
shifts-change-tasks-button = Mark tasks
shifts-send-media = Send a photo, a video or a file for: { $task }
shifts-media-wanted = Please send a photo, a video or a file.
shifts-media-taken = Thank you, it is kept with the task.
shifts-tasks-kept = All marks are kept.

shifts-close-review = Shall I close your shift?
shifts-closing = Your shift has ended. I'll send the details in a separate message.
shifts-closed = Your shift at { $site } is closed: { $hours } h.
shifts-closed-total = Total: { $total }
shifts-site-closed-too = Nobody else works at { $site }, so it is closed too.

shifts-no-site-to-open = All of your sites are open already.
shifts-no-site-to-close = None of your sites is open.
shifts-open-which = Which site do you open?
shifts-close-which = Which site do you close?
shifts-site-opened = { $site } is open.
shifts-site-closed = { $site } is closed.

shifts-cancel-reason = Why can you not come?
shifts-reason-illness-button = Illness
shifts-reason-family-button = Family
shifts-reason-transport-button = Transport
shifts-reason-other-button = Something else
shifts-reason-by-staff = Cancelled by staff
shifts-cancel-words = Please write why, in a few words.
shifts-cancel-document = Is there a paper that proves it? Write its kind and number.
shifts-cancel-photo = You can send a photo of it.
shifts-cancelled = Cancelled: { $site }, { $when }. Your reason will be looked at, and I will tell you what comes of it.

weekday-mon = Mon
weekday-tue = Tue
weekday-wed = Wed
weekday-thu = Thu
weekday-fri = Fri
weekday-sat = Sat
weekday-sun = Sun
