//! Leases: which instance may write.
//!
//! A lease has an epoch that rises with every leader. Every write checks it, so an instance that was paused past its
//! lease is refused when it wakes up. No wall clocks are compared: a standby watches renewals, and takes over after it
//! has seen none for the lease's whole time on its own monotonic clock.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Millis;

/// The number of a lease. It rises with every leader and serves as a fencing token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub i64);

impl Epoch {
    /// The first id of this epoch. Later epochs start higher, so a new leader continues in order without reading
    /// anything.
    #[must_use]
    pub fn first_number(self) -> i64 {
        self.0 << 40
    }
}

/// The instance that holds a lease, in enough detail to find its process or to know that it is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The machine's name.
    pub host: String,
    /// The process id.
    pub pid: u32,
    /// When the process started, in the kernel's unit. It tells a process from a later one with the same pid.
    pub process_start: u64,
    /// The machine's boot id. Processes of another boot are gone.
    pub boot_id: String,
    /// The pid namespace. In another one the pid means another process.
    pub pid_namespace: String,
    /// When the instance took the lease.
    pub since: Millis,
    /// A random text that tells leases of one process apart.
    pub token: String,
    /// How long after its last renewal the lease is over.
    pub ttl_ms: i64,
}

/// The longest time that a renewal waits for a side check.
const MAX_SIDE_CHECK: Duration = Duration::from_secs(1);
/// A side check may take this fraction of the lease's time. A renewal has half of that time and is tried twice in it.
const SIDE_CHECK_PARTS: u32 = 4;

impl Holder {
    /// How long a renewal may wait for a check on a server that does not grant the lease.
    pub(crate) fn side_check_timeout(&self) -> Duration {
        let ttl = Duration::from_millis(u64::try_from(self.ttl_ms).unwrap_or(0));
        (ttl / SIDE_CHECK_PARTS).min(MAX_SIDE_CHECK)
    }
}

/// A lease as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Its epoch.
    pub epoch: Epoch,
    /// Its holder.
    pub holder: Holder,
    /// The number of renewals; a standby watches it.
    pub renewals: i64,
}

impl Lease {
    /// Whether the lease is still as it was seen.
    pub(super) fn is_unchanged(&self, seen: Option<&Self>) -> bool {
        seen.is_some_and(|seen| {
            seen.epoch == self.epoch && seen.renewals == self.renewals && seen.holder.token == self.holder.token
        })
    }

    /// Describes the holder, for errors.
    pub(super) fn in_words(&self) -> String {
        format!("process {} on {} holds epoch {}", self.holder.pid, self.holder.host, self.epoch.0)
    }
}

/// The result of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseAnswer {
    /// The lease was granted under this epoch. Writes of the earlier holder are refused from now on.
    Granted(Epoch),
    /// Another instance holds it.
    Held(Box<Lease>),
}
