# What staff did, as pages tell it. The key is `audit-` and the name of the action, with hyphens; details are put in by name.
audit-role-granted = Role given: { $role }
audit-role-revoked = Role taken away: { $role }
audit-status-changed = Status: { $status }
audit-test-user-marked = Is a test user: any PIN signs in while that is enabled
audit-test-user-unmarked = Is no test user any more
audit-registration-deleted = Registration deleted
audit-setting-changed = Setting changed: { $name }
audit-data-exported = Data given out
audit-person-forgotten = Forgotten: personal data deleted

# Sites, shifts, pay.
audit-payment-marked = Payment marked for { $period }
audit-payment-taken-back = Mark of a payment taken back for { $period }
audit-pay-period-closed = Period closed: { $period }
audit-shift-closed = Shift closed
audit-plan-cancelled = Planned shift cancelled
audit-cancellation-judged = Reason of a cancellation judged
audit-site-created = Site added
audit-site-changed = Site changed
audit-site-deleted = Site deleted
audit-site-restored = Site restored
audit-task-created = Task added
audit-task-changed = Task changed
audit-task-deleted = Task deleted
audit-task-restored = Task restored
audit-contract-created = Contract made
audit-contract-changed = Contract changed
audit-contract-deleted = Contract deleted
audit-contract-restored = Contract restored
audit-permissions-changed = Permissions of a manager changed
audit-permissions-given = { $place }: { $allowed } (before: { $before })
audit-slot-created = Time slot added
audit-slot-changed = Time slot changed
audit-slot-deleted = Time slot deleted
audit-slot-restored = Time slot restored
audit-week-copied = Week of the schedule copied
audit-slots-filled = Schedule filled
