//! Test tools for users of this library, and a conformance suite for stores.
//!
//! Nothing here runs in production. It is part of every build, so that an application's tests need no feature.

use crate::clock::{Clock, Millis};
use crate::store::Holder;

pub mod chat;
pub mod conformance;
pub mod faulty;
pub mod golden;
pub mod jobs;

/// Where a test's clock starts: 2026-01-01, noon, in UTC.
pub const NOON: Millis = Millis(1_767_268_800_000);

/// A clock at [`NOON`] that only the test moves.
#[must_use]
pub fn clock_at_noon() -> Clock {
    Clock::manual(NOON)
}

/// An instance on another machine, with a lease of ten seconds. Two different tokens are two instances.
#[must_use]
pub fn holder(token: &str) -> Holder {
    Holder {
        host: "machine".into(),
        pid: 42,
        process_start: 4_200,
        boot_id: "boot".into(),
        pid_namespace: "namespace".into(),
        since: NOON,
        token: token.into(),
        ttl_ms: 10_000,
    }
}
