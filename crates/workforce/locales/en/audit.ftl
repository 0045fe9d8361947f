# What staff did, as pages tell it. The key is `audit-` and the name of the action, with hyphens; details are put in by name.
audit-role-granted = Role given: { $role }
audit-role-revoked = Role removed: { $role }
audit-status-changed = Status: { $status }
audit-person-imported = Person imported: { $role }
audit-person-edited = Details edited
audit-test-user-marked = Marked as a test user: any PIN signs in while that is enabled
audit-test-user-unmarked = No longer a test user
audit-registration-deleted = Registration deleted
audit-setting-changed = Setting changed: { $name }
audit-data-exported = Personal data exported
audit-documents-forgotten = Documents deleted: the retention period is over
audit-document-validity-noted = Document validity: until { $valid_until }
audit-person-forgotten = Personal data deleted

# Sites, shifts, pay.
audit-payment-marked = Payment marked · { $period }
audit-payment-taken-back = Payment mark undone · { $period }
audit-pay-period-closed = Month closed · { $period }
audit-pay-period-reopened = Month opened again · { $period }: { $reason }
audit-shift-closed = Shift closed by staff
audit-plan-made = Employee signed up for a shift
audit-plan-cancelled = Scheduled shift cancelled
audit-plan-restored = Scheduled shift restored
audit-cancellation-judged = Cancellation reason reviewed
audit-cancellation-decision-taken-back = Decision about a cancellation taken back
audit-site-created = Site added
audit-site-changed = Site changed
audit-site-deleted = Site deleted
audit-site-restored = Site restored
audit-site-opened = Site opened
audit-site-closed = Site closed
audit-task-created = Task added
audit-task-changed = Task changed
audit-task-deleted = Task deleted
audit-task-restored = Task restored
audit-contract-created = Contract added
audit-contract-changed = Contract changed
audit-contract-deleted = Contract deleted
audit-contract-restored = Contract restored
audit-permissions-changed = Manager's permissions changed
audit-permissions-given = { $place }: { $allowed } (before: { $before })
audit-slot-created = Scheduled shift added
audit-slot-changed = Scheduled shift changed
audit-slot-deleted = Scheduled shift deleted
audit-slot-restored = Scheduled shift restored
audit-week-copied = Schedule week copied
audit-slots-filled = Schedule filled
audit-slots-taken-back = Added shifts taken back: { $slots }
audit-broadcast-sent = Message sent to the staff: { $count }
audit-broadcast-cancelled = Message to the staff cancelled: { $count }

# Background jobs.
audit-job-run = Run now: { $what }
audit-jobs-retried = Run again: { $what }
audit-jobs-cancelled = Cancelled: { $what }
audit-queue-paused = Queue paused: { $what }
audit-queue-resumed = Queue resumed: { $what }
