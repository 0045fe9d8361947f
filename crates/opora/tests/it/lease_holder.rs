//! The instance that holds a lease, in tests of stores.

use opora::clock::Millis;
use opora::store::Holder;

/// An instance on another machine, whose lease lasts ten seconds.
pub fn holder(token: &str) -> Holder {
    Holder {
        host: "machine".into(),
        pid: 42,
        process_start: 1,
        boot_id: "boot".into(),
        pid_namespace: "namespace".into(),
        since: Millis(0),
        token: token.into(),
        ttl_ms: 10_000,
    }
}
