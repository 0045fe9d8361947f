//! Who may write.
//!
//! A lease has an epoch that rises with every owner; every write checks it, so an instance that was paused past its
//! lease is refused when it wakes up. No wall clocks are compared: a standby watches whether the lease is renewed, and
//! takes over when it has seen no renewal for the lease's whole time by its own monotonic clock.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Millis;

/// Rises with every owner of the lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub i64);

impl Epoch {
    /// The first number of a sequence that belongs to this epoch: later epochs count from larger ones, so a new owner
    /// needs to read nothing to go on in order.
    #[must_use]
    pub fn first_number(self) -> i64 {
        self.0 << 40
    }
}

/// Who holds a lease, in enough detail to find the process or to know that it is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The machine's name.
    pub host: String,
    /// The process.
    pub pid: u32,
    /// When the process started, in the kernel's own unit: a pid alone may be somebody else's by now.
    pub process_start: u64,
    /// The machine's boot: on another one no process can be looked up.
    pub boot_id: String,
    /// The pid namespace: in another one the pid means something else.
    pub pid_namespace: String,
    /// When the instance took the lease.
    pub since: Millis,
    /// A random text that tells two leases of one process apart.
    pub token: String,
    /// How long after its last renewal the lease is over.
    pub ttl_ms: i64,
}

/// How long a renewal waits at most for something aside.
const LONGEST_ASIDE: Duration = Duration::from_secs(1);
/// The part of a lease's time that is; a renewal has half of that time, and is asked for twice in it.
const ASIDE_PARTS: u32 = 4;

impl Holder {
    /// How long a renewal may wait for what is asked beside it, of a server that does not give the lease.
    pub(crate) fn waits_aside(&self) -> Duration {
        let ttl = Duration::from_millis(u64::try_from(self.ttl_ms).unwrap_or(0));
        (ttl / ASIDE_PARTS).min(LONGEST_ASIDE)
    }
}

/// A lease as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Its epoch.
    pub epoch: Epoch,
    /// Its holder.
    pub holder: Holder,
    /// How often it was renewed; a standby watches this number.
    pub renewals: i64,
}

impl Lease {
    /// Whether nothing has happened to the lease since it was seen like this.
    pub(super) fn is_unchanged(&self, seen: Option<&Self>) -> bool {
        seen.is_some_and(|seen| {
            seen.epoch == self.epoch && seen.renewals == self.renewals && seen.holder.token == self.holder.token
        })
    }

    /// Who holds it, in words.
    pub(super) fn in_words(&self) -> String {
        format!("process {} on {} holds epoch {}", self.holder.pid, self.holder.host, self.epoch.0)
    }
}

/// What a claim answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseAnswer {
    /// The lease is ours under this epoch; what the earlier holder writes from now on is refused.
    Granted(Epoch),
    /// Somebody else has it.
    Held(Box<Lease>),
}
