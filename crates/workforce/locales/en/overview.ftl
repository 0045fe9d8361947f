# Today and the calendar.

overview-attention = Needs attention
overview-all-good = All good: nothing needs your attention right now.
overview-applications-review = Review
overview-cancellations = { $count ->
    [one] { $count } cancellation awaiting approval
   *[other] { $count } cancellations awaiting approval
}
overview-cancellations-decide = Decide
overview-no-show = { $name } hasn't clocked in
overview-no-show-about = { $site }, expected at { $time }
overview-no-show-open = Show shift
overview-more-no-shows = { $count ->
    [one] { $count } more no-show
   *[other] { $count } more no-shows
}
overview-gap = { $count ->
    [one] { $count } open spot today
   *[other] { $count } open spots today
}
overview-gap-about = { $site }, { $hours }
overview-gap-assign = Assign
overview-more-gaps = { $count ->
    [one] { $count } more shift today with open spots
   *[other] { $count } more shifts today with open spots
}
overview-expiring = { $kind }: { $name }
overview-expires = Expires { $day }
overview-expired = Expired { $day }
overview-more-expiring = { $count ->
    [one] { $count } more document that expires soon
   *[other] { $count } more documents that expire soon
}
overview-show-document = Open document
overview-show-all = Show all
overview-working = working since { $since }, until { $until }
overview-working-open = working since { $since }
overview-worked = worked { $since }–{ $until }
overview-expected = expected { $since }–{ $until }
overview-sites = Sites today
overview-no-activity = No shifts today.
overview-day-bar = The day at { $site }: { $planned } planned, { $working } working

overview-start = Set up your business
overview-start-site = Add your first site
overview-start-site-about = Where people work: address, opening hours, hourly rate.
overview-start-schedule = Fill the schedule
overview-start-schedule-about = Mark days in the calendar to add shifts.
overview-start-invite = Invite your team
overview-start-invite-about = Send employees the link to the bot. They register there.
overview-start-contract = Add the first contract
overview-start-contract-about = It says where an employee works and at what rate.
overview-start-go = Start
overview-start-done = done

overview-calendar-empty = No sites yet
overview-calendar-empty-about = Shifts belong to a site. Add your first site, and the calendar is ready.
overview-add-site = Add a site
overview-close = Close
overview-fill = Fill several days
overview-fill-about = Adds a shift like this on each of these days. Existing shifts stay.
overview-fill-button = Add shifts
overview-every-day = every day
overview-working-days = only the site's working days
overview-everyone-busy = Everyone with a contract for this site has another shift then.
overview-no-contracts = No one has a contract for this site yet, so there is no one to assign.
overview-slot-tasks = { $count ->
    [0] Tasks for this shift
    [one] Tasks for this shift: { $count }
   *[other] Tasks for this shift: { $count }
}
overview-undo = Undo
overview-did-create = Shift added.
overview-did-save = Shift saved.
overview-did-move = Shift moved.
overview-did-delete = Shift deleted.
overview-did-restore = Shift restored.
overview-did-take-back = { $count ->
    [0] Nothing to take back: the new shifts have already been changed or taken.
    [one] { $count } new shift taken back.
   *[other] { $count } new shifts taken back.
}
overview-nothing-today = Nothing planned for the rest of the day.
