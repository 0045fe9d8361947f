# What staff did, as pages tell it. The key is `audit-` and the name of the action, with hyphens; details are put in by name.
audit-role-granted = Role given: { $role }
audit-role-revoked = Role taken away: { $role }
audit-status-changed = Status: { $status }
audit-registration-deleted = Registration deleted
audit-setting-changed = Setting changed: { $name }
audit-data-exported = Data given out
audit-person-forgotten = Forgotten: personal data deleted
