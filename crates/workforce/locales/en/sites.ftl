# Sites, slots, tasks and contracts; why something cannot be done.
why-stale-toast = Somebody has changed this meanwhile. Please look at it again.
why-gone-toast = This is not there any more.
why-not-allowed-toast = You are not allowed to do this.
why-bad-toast = Something in this is not as it should be.
why-exists-toast = There is one like this already.
why-taken-toast = More people have planned to come than there would be places.
why-in-use-toast = Somebody works here, or plans to. This has to end first.
why-worked-toast = Somebody works or has worked in this slot, so its day and its start stay. Make another slot instead.
why-full-toast = No place is left here.
why-overlap-toast = You have another shift planned at that time.
why-no-contract-toast = Your contract does not include this site.
why-not-spontaneous-toast = Your contract allows planned shifts only. Plan one first.
why-working-toast = You are at work already. Close that shift first.
why-not-working-toast = This shift is not open any more.
why-not-then-toast = The end has to lie between the start of the shift and now.
why-plan-used-toast = This plan has been used or cancelled already.
why-past-toast = Its time is over.
why-early-toast = It is too early: a shift may be opened two hours before its start.
why-needs-media-toast = This task needs a photo before it is done.
why-too-much-media-toast = This task has enough photos.
why-too-many-tasks-toast = A shift has 90 tasks at most, those of its site and of its slot together.
why-site-open-toast = This site is open already.
why-site-closed-toast = This site is closed already.
why-others-work-toast = Others still work here. The site closes when they are done.
why-decided-toast = This has been decided already.
why-own-case-toast = This is about yourself: an owner decides it.

# News for those who are concerned.
notice-plan-moved = Your shift at { $site } has been moved: { $before } is now { $after }.
notice-plan-made = You have been put down for a shift at { $site }: { $when }.
notice-plan-cancelled = Your shift at { $site } on { $when } has been cancelled. You do not have to come.
notice-plan-restored = Your shift at { $site } on { $when } takes place after all.
notice-reminder = A reminder: your shift at { $site } is soon, { $when }.
notice-missed = { $name } has not come to { $site }, { $when }.
notice-you-missed = You were expected at { $site }, { $when }. If something has happened, please tell your manager.
notice-closed-by-time = I have closed your shift at { $site }, because its time was over. It ended at { $end }; total: { $total }.
notice-site-closed-by-time = I have closed { $site }, which you had opened: its hours are over, and nobody works there.
notice-closed-by-staff = Your shift at { $site } was closed for you. It ended at { $end }; total: { $total }.
notice-cancelled = { $name } has cancelled a shift at { $site }, { $when }. The reason waits under "Today".
notice-reason-accepted = Your reason for cancelling the shift at { $site }, { $when }, was accepted.
notice-reason-rejected = Your reason for cancelling the shift at { $site }, { $when }, was not accepted. Deducted: { $fine }.

# The owner in the bot.
sites-today-button = 📋 Today
sites-button = 🏢 Sites
sites-today = Today:
sites-none = There are no sites yet. Create them in the cabinet.
sites-list = Which site?
sites-works = • { $name } works since { $since }
sites-late = { $count ->
    [one] ⏰ late by { $count } minute
   *[other] ⏰ late by { $count } minutes
}
sites-was-here = • { $name } was here from { $since } and has gone
sites-not-come = • { $name } has not come: { $when }
sites-comes = • { $name } comes: { $when }
sites-card =
    { $site }
    { $address }
    { $rate } an hour
sites-week = The next seven days:
sites-new-slot-button = ➕ New slot
sites-new-slot = Write the day, the hours and the number of places in one line, such as: 31.12 09:00-18:00 2
sites-slot-not-understood = I did not understand this. An example: 31.12 09:00-18:00 2
sites-slot-made = There is a new slot at { $site }: { $when }.
sites-cancellation = { $name } does not come to { $site }, { $when }. The reason: { $reason }
sites-accept-button = ✅ Accept
sites-reject-button = ❌ Reject
sites-accepted = The reason is accepted.
sites-rejected = The reason is rejected, and the fine is posted.

# What managers may do.
sites-may-view = see
sites-may-edit = edit the site and tasks
sites-may-delete = delete the site
sites-may-employees = employees and cancellations
sites-may-finances = finances
sites-may-rates = rates
sites-may-schedule = schedule
