# Words that all rooms share.
minutes = { $count ->
    [one] { $count } minute
   *[other] { $count } minutes
}
main-menu-button = 🏠 Main menu
back-button = ← Back
cancel-button = Cancel
not-allowed-toast = This is for others: your role does not include it.

# What the library says itself.
stale-button-toast = This button is no longer in use.
does-not-fit = Sorry, this does not fit here.
failed-and-kept = Something went wrong on our side. What you have entered is kept.
failed-and-ended = Something went wrong on our side. Please try again later.
try-again-button = Try again
go-on = Let us go on. Please answer once more.
cancelled = Cancelled.
nothing-to-cancel = There is nothing to cancel.
timed-out = It has been a while, so I have closed this.
unreadable = I have been updated and cannot go on from where we were.
begin-with = Send { $command } to begin again.
one-moment = One moment, please: I will answer as soon as I can.
not-shown = Something went wrong on our side, and I could not show you my answer. Please try again later.
restart = I will be restarted in a moment. Nothing is lost: we go on right after.
