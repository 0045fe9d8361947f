# Background jobs, for operators.
background-nav = Background jobs
background-about = What runs by itself. A request takes effect within a second; every one is in the audit log.
background-queues = Queues
background-queue = Queue
background-waiting = Waiting
background-oldest = Oldest
background-scheduled = Scheduled
background-running = Running
background-lately = Done in 10 min
background-action = Action
background-is-paused = paused
background-pause = Pause
background-resume = Resume
background-paused-toast = Queue { $queue } is paused: its jobs wait.
background-resumed-toast = Queue { $queue } is running again.
background-seconds = { $count } s
background-minutes = { $count } min
background-hours = { $count } h
background-schedules = Schedules
background-schedules-about = Minute, hour, day, month and weekday by the clock of { $zone }. “Run now” runs a job in addition to its schedule.
background-cron = Schedule
background-last-tick = Last time
background-next-tick = Next time
background-off = off
background-run = Run now
background-run-toast = { $job } will run in a moment.
background-runs-already-toast = { $job } is already running or waiting for its turn.
background-jobs = Jobs
background-job = Job
background-state = State
background-name = Name
background-all = All
background-filter = Filter
background-none = No jobs match
background-attempts = Attempts
background-time = Time
background-from = from
background-error = Last error
background-older = Older jobs
background-state-scheduled = Scheduled
background-state-available = Waiting
background-state-running = Running
background-state-completed = Done
background-state-discarded = Failed
background-state-cancelled = Cancelled
background-cancelling = cancelling
background-retry = Run again
background-cancel = Cancel job
background-retry-all = Run all again
background-retry-all-sure = Run these jobs again?
background-retry-all-about = All failed jobs that match the filters run as soon as possible. To run others, filter by their state.
background-cancel-all = Cancel all
background-cancel-all-sure = Cancel these jobs?
background-cancel-all-about = All unfinished jobs that match the filters are cancelled; running ones are stopped.
background-keep = Leave as is
background-unchanged-toast = Nothing has changed.
background-retried-toast =
    { $count ->
        [one] { $count } job will run again.
       *[other] { $count } jobs will run again.
    }
background-cancelled-toast =
    { $count ->
        [one] { $count } job cancelled.
       *[other] { $count } jobs cancelled.
    }
background-done = What operators did
background-priority = Priority
background-enqueued = Added
background-run-at = Runs at
background-started = Started
background-finished = Finished
background-arguments = Arguments
background-result = Result
background-errors = Failed attempts
background-no-errors = No attempt has failed.
background-attempt = Attempt { $number }
