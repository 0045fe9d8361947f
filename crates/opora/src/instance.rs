//! The lease: one instance leads, others stand by.
//!
//! An instance runs turns only while it holds the lease. It renews the lease after half of its time; if it cannot, it
//! stops before the time is over. A standby takes over when it has seen no renewal for the whole time of the lease, or
//! at once when it sees that the leader's process is gone.
//!
//! The fence is in the store: it refuses a write with an old epoch, whatever this module believes.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, TryFutureExt};
use metrics::Gauge;
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, Millis};
use crate::failpoints;
use crate::store::{Epoch, Holder, Lease, LeaseAnswer, Store, StoreError, describe_holder, lease_holder};

/// How long a lease lasts without a renewal.
pub const LEASE_TTL: Duration = Duration::from_secs(30);

/// An unanswered renewal is repeated after this fraction of the lease's time.
const RENEWAL_PARTS: u32 = 4;
/// The shortest pause between renewals.
const MIN_PAUSE: Duration = Duration::from_millis(10);

/// Settings of the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseSettings {
    /// How long the lease lasts without a renewal. The leader renews it twice in that time.
    pub ttl: Duration,
    /// How often a standby reads the lease.
    pub poll_interval: Duration,
    /// What to do while another instance holds the lease.
    pub if_held: IfHeld,
}

/// What to do while another instance holds the lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfHeld {
    /// Stand by, and take over when the leader is gone.
    #[default]
    StandBy,
    /// Return an error that names the leader.
    Exit,
}

impl Default for LeaseSettings {
    fn default() -> Self {
        Self { ttl: LEASE_TTL, poll_interval: Duration::from_secs(1), if_held: IfHeld::default() }
    }
}

/// Why an instance does not lead.
#[derive(Debug, thiserror::Error)]
pub enum NotLeading {
    /// Another instance holds the lease, and [`IfHeld::Exit`] is set.
    #[error("another instance holds the lease: {0}")]
    Held(String),
    /// It was stopped while standing by.
    #[error("stopped while standing by")]
    Stopped,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A lease that this instance holds, renewed in the background.
#[derive(Debug)]
pub struct Leadership {
    /// The epoch that every write carries.
    pub epoch: Epoch,
    /// Cancelled when the lease is lost.
    pub lost: CancellationToken,
    deadline: Arc<LeaseDeadline>,
    remaining: Gauge,
    renewing: tokio::task::JoinHandle<()>,
    store: Arc<dyn Store>,
    bot: i64,
}

/// The time at which the lease expires, unless it is renewed.
#[derive(Debug)]
struct LeaseDeadline {
    at: AtomicI64,
    clock: Clock,
}

/// Claims the lease of a bot. Stands by until it is granted, or until `stop`.
pub async fn lead(
    store: &Arc<dyn Store>,
    bot: i64,
    settings: &LeaseSettings,
    clock: &Clock,
    stop: &CancellationToken,
) -> Result<Leadership, NotLeading> {
    let mut watch = Watch::default();
    // One token for all attempts: a lease with this token was granted by a claim whose answer was lost.
    let first_holder = lease_holder::this_holder(clock.now(), settings.ttl);
    loop {
        let mut claimed_at = clock.now();
        let holder = Holder { since: claimed_at, ..first_holder.clone() };
        let expired = watch.expired.take();
        match store.claim(bot, &holder, expired.as_ref()).await {
            Ok(LeaseAnswer::Granted(epoch)) => {
                if let Some(lease) = expired.filter(|lease| lease.holder.token != holder.token) {
                    tracing::warn!(bot, epoch = epoch.0, from = %describe_holder(&lease.holder), "took over the lease");
                } else {
                    tracing::info!(bot, epoch = epoch.0, "holds the lease");
                }
                // A slow claim, such as a replay of the journal, may have used up most of the lease's time.
                let granted_at = clock.now();
                if granted_at.since(claimed_at) > settings.ttl / 4 && store.renew(bot, epoch).await.is_ok() {
                    claimed_at = granted_at;
                }
                return Ok(Leadership::new(store, bot, epoch, settings, clock, claimed_at));
            }
            Ok(LeaseAnswer::Held(lease)) if lease.holder.token == holder.token => {
                watch.expired = Some(*lease);
                continue;
            }
            Ok(LeaseAnswer::Held(lease)) => {
                let is_new_holder = watch.observe(*lease, clock.now());
                if watch.expired.is_some() {
                    continue;
                }
                if settings.if_held == IfHeld::Exit {
                    return Err(NotLeading::Held(watch.holder()));
                }
                if is_new_holder {
                    tracing::info!(bot, holder = %watch.holder(), "standing by: another instance holds the lease");
                }
            }
            Err(error @ StoreError::Unavailable(_)) => {
                tracing::warn!(bot, %error, "cannot claim the lease; trying again")
            }
            Err(error) => return Err(error.into()),
        }
        tokio::select! {
            () = stop.cancelled() => return Err(NotLeading::Stopped),
            () = tokio::time::sleep(settings.poll_interval) => {}
        }
    }
}

/// What a standby has seen of the leader's lease.
#[derive(Default)]
struct Watch {
    /// The lease, and when it was first seen in this form.
    seen: Option<(Lease, Millis)>,
    /// The lease, if it can be taken over.
    expired: Option<Lease>,
}

impl Watch {
    /// Notes the present lease. True if it has a new holder.
    fn observe(&mut self, lease: Lease, now: Millis) -> bool {
        let seen_since = self.seen.as_ref().filter(|(seen, _)| *seen == lease).map(|(_, since)| *since);
        let is_new_holder = self.seen.as_ref().is_none_or(|(seen, _)| seen.epoch != lease.epoch);
        let since = seen_since.unwrap_or(now);
        let ttl = Duration::from_millis(u64::try_from(lease.holder.ttl_ms).unwrap_or(0));
        if now.since(since) >= ttl || lease_holder::is_gone(&lease.holder) {
            self.expired = Some(lease.clone());
        }
        self.seen = Some((lease, since));
        is_new_holder
    }

    fn holder(&self) -> String {
        self.seen.as_ref().map_or_else(String::new, |(lease, _)| describe_holder(&lease.holder))
    }
}

impl Leadership {
    fn new(
        store: &Arc<dyn Store>,
        bot: i64,
        epoch: Epoch,
        settings: &LeaseSettings,
        clock: &Clock,
        claimed_at: Millis,
    ) -> Self {
        let expires_at = AtomicI64::new(claimed_at.plus(settings.ttl).0);
        let deadline = Arc::new(LeaseDeadline { at: expires_at, clock: clock.clone() });
        let lost = CancellationToken::new();
        let remaining = metrics::gauge!("opora_lease_remaining_seconds");
        remaining.set(deadline.remaining());
        let renewal = Renewal {
            store: Arc::clone(store),
            bot,
            epoch,
            ttl: settings.ttl,
            deadline: Arc::clone(&deadline),
            remaining: remaining.clone(),
            lost: lost.clone(),
        };
        let renewing = tokio::spawn(renewal.run());
        Self { epoch, lost, deadline, remaining, renewing, store: Arc::clone(store), bot }
    }

    /// A function that returns how long the lease still lasts. The courier needs it, because Telegram cannot be fenced.
    pub fn remaining(&self) -> impl Fn() -> Duration + Send + Sync + 'static {
        let deadline = Arc::clone(&self.deadline);
        move || deadline.remaining()
    }

    /// Stops renewing and releases the lease, so that another instance need not wait.
    pub async fn release(self) {
        self.renewing.abort();
        match self.store.release(self.bot, self.epoch).await {
            Ok(()) => tracing::info!(bot = self.bot, "released the lease"),
            Err(error) if error.ends_lease() => {}
            Err(error) => tracing::warn!(bot = self.bot, %error, "could not release the lease; it will expire"),
        }
    }
}

impl Drop for Leadership {
    fn drop(&mut self) {
        self.renewing.abort();
        self.remaining.set(0);
    }
}

impl LeaseDeadline {
    fn remaining(&self) -> Duration {
        Millis(self.at.load(Ordering::Acquire)).since(self.clock.now())
    }
}

struct Renewal {
    store: Arc<dyn Store>,
    bot: i64,
    epoch: Epoch,
    ttl: Duration,
    deadline: Arc<LeaseDeadline>,
    remaining: Gauge,
    lost: CancellationToken,
}

impl Renewal {
    /// Renews the lease within `timeout`. If the store does not answer soon, the request is repeated in parallel,
    /// because the answer may be lost. Returns the time at which the successful request was made.
    async fn renew(&self, timeout: Duration) -> Result<Millis, StoreError> {
        let timed_out = tokio::time::sleep(timeout);
        tokio::pin!(timed_out);
        let mut requests = FuturesUnordered::new();
        loop {
            let at = self.deadline.clock.now();
            let renewed = self.store.renew(self.bot, self.epoch);
            requests.push(renewed.map_ok(move |()| at));
            tokio::select! {
                biased;
                Some(answer) = requests.next() => return answer,
                () = &mut timed_out => {
                    return Err(StoreError::Unavailable(format!("no answer within {timeout:?}").into()));
                }
                () = tokio::time::sleep(self.ttl / RENEWAL_PARTS) => {}
            }
        }
    }

    /// How long a renewal may take: until the lease expires. If no time is left, the process was paused. Then it tries
    /// once more, because only the store knows whether the lease was taken over.
    fn timeout(&self) -> Duration {
        let remaining = self.deadline.remaining();
        if remaining.is_zero() { self.ttl } else { remaining }
    }

    async fn run(self) {
        let mut pause = self.ttl / 2;
        loop {
            tokio::time::sleep(pause).await;
            failpoints::hit(failpoints::INSTANCE_BEFORE_RENEW).await;
            let began = self.deadline.clock.now();
            let timeout = self.timeout();
            match self.renew(timeout).await {
                Ok(requested_at) => {
                    self.deadline.at.store(requested_at.plus(self.ttl).0, Ordering::Release);
                    pause = self.ttl / 2;
                }
                Err(StoreError::Fenced { holder, .. }) => {
                    tracing::error!(bot = self.bot, %holder, "lost the lease: another instance has taken over");
                    break;
                }
                // The next claim logs the reason.
                Err(StoreError::Lost { .. }) => break,
                Err(error) => {
                    let remaining = self.deadline.remaining();
                    // A renewal that exceeds its timeout by far means that the process was paused.
                    let was_paused = self.deadline.clock.now().since(began) > timeout * 2;
                    if remaining.is_zero() && !was_paused {
                        tracing::error!(bot = self.bot, %error, "lost the lease: it could not be renewed in time");
                        break;
                    }
                    tracing::warn!(bot = self.bot, %error, left_ms = remaining.as_millis(), "cannot renew the lease yet");
                    pause = (self.ttl / 30).max(MIN_PAUSE);
                }
            }
            self.remaining.set(self.deadline.remaining());
        }
        self.remaining.set(0);
        self.deadline.at.store(0, Ordering::Release);
        self.lost.cancel();
    }
}

#[cfg(test)]
mod tests;
