# Words that all rooms share.
minutes = { $count ->
    [one] { $count } minute
   *[other] { $count } minutes
}
duration = { $hours } h { $minutes } min
duration-hours = { $hours } h
duration-minutes = { $minutes } min
main-menu-button = 🏠 Main menu
back-button = ← Back
cancel-button = Cancel
not-allowed-toast = You don't have permission to do this.

# What the library says itself.
stale-button-toast = This button no longer works.
does-not-fit = Sorry, that doesn't work here.
failed-and-kept = Something went wrong on our side. Everything you entered is saved.
failed-and-ended = Something went wrong on our side. Please try again later.
try-again-button = Try again
go-on = Let's continue. Please answer again.
cancelled = Okay, stopped. Anything already saved is kept.
nothing-to-cancel = There is nothing to stop.
timed-out = It's been a while, so I closed this conversation.
unreadable = I've been updated and can't continue from where we were.
begin-with = Send { $command } to start again.
one-moment = One moment, please: I'll answer as soon as I can.
not-shown = Something went wrong on our side, and I couldn't show you the answer. Please try again later.
restart = I'm about to restart. Nothing is lost: we'll continue right after.
