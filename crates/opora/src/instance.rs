//! One instance works; others stand by.
//!
//! An instance polls and writes only while it holds the lease. It renews at half of the lease's time; when it cannot,
//! it stops by itself before the time is over. A standby takes over when it has seen no renewal for the lease's whole
//! time, or at once when it can see that the holder's process is gone.
//!
//! The fence itself is in the store: a write with an old epoch is refused whatever this module believes.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, TryFutureExt};
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, Millis};
use crate::failpoints;
use crate::store::{Epoch, Holder, Lease, LeaseAnswer, Store, StoreError};

pub use self::process::{Sighting, look_for};

mod process;

/// How long a lease lasts without a renewal.
pub const LEASE_TTL: Duration = Duration::from_secs(30);

/// After which part of the lease's time the store is asked again for a renewal that it has not answered.
const RENEWAL_PARTS: u32 = 4;
/// The shortest pause between renewals.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

/// How an instance gets and keeps its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseSettings {
    /// How long a lease lasts without a renewal; it is renewed twice in that time.
    pub ttl: Duration,
    /// How often a standby looks.
    pub look_every: Duration,
    /// What to do when somebody else holds the lease.
    pub if_held: IfHeld,
}

/// What to do when somebody else holds the lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfHeld {
    /// Wait as a standby and take over when the holder is gone.
    #[default]
    StandBy,
    /// Say who holds it, and end.
    Exit,
}

impl Default for LeaseSettings {
    fn default() -> Self {
        Self { ttl: LEASE_TTL, look_every: Duration::from_secs(1), if_held: IfHeld::default() }
    }
}

/// Why an instance does not lead.
#[derive(Debug, thiserror::Error)]
pub enum NotLeading {
    /// Somebody else holds the lease, and standing by was not wanted.
    #[error("another instance holds the lease: {0}")]
    Held(String),
    /// It was told to stop while it stood by.
    #[error("stopped while standing by")]
    Stopped,
    /// The store cannot keep a lease.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The right to work, as long as it lasts.
#[derive(Debug)]
pub struct Leadership {
    /// The epoch that every write carries.
    pub epoch: Epoch,
    /// Ends when the lease is lost.
    pub lost: CancellationToken,
    remaining: Arc<Remaining>,
    renewing: tokio::task::JoinHandle<()>,
    store: Arc<dyn Store>,
    bot: i64,
}

/// When the lease is over, unless it is renewed.
#[derive(Debug)]
struct Remaining {
    until: AtomicI64,
    clock: Clock,
}

/// Asks for the lease of a bot until it is granted, or until `stop`.
pub async fn lead(
    store: &Arc<dyn Store>,
    bot: i64,
    settings: &LeaseSettings,
    clock: &Clock,
    stop: &CancellationToken,
) -> Result<Leadership, NotLeading> {
    let mut watch = Watch::default();
    loop {
        let holder = process::this(clock.now(), settings.ttl);
        let mut asked = clock.now();
        let over = watch.over.take();
        match store.claim(bot, &holder, over.as_ref()).await {
            Ok(LeaseAnswer::Granted(epoch)) => {
                if let Some(lease) = over {
                    tracing::warn!(bot, epoch = epoch.0, from = %describe(&lease.holder), "took over the lease");
                } else {
                    tracing::info!(bot, epoch = epoch.0, "holds the lease");
                }
                // What had to be done first may have taken most of it: nothing is sent under a lease that is about to
                // run out.
                let took_over_at = clock.now();
                if took_over_at.since(asked) > settings.ttl / 4 && store.renew(bot, epoch).await.is_ok() {
                    asked = took_over_at;
                }
                return Ok(Leadership::new(store, bot, epoch, settings, clock, asked));
            }
            Ok(LeaseAnswer::Held(lease)) => {
                let is_new_holder = watch.saw(*lease, clock.now());
                if watch.over.is_some() {
                    continue;
                }
                if settings.if_held == IfHeld::Exit {
                    return Err(NotLeading::Held(watch.holder()));
                }
                if is_new_holder {
                    tracing::info!(bot, holder = %watch.holder(), "stands by: another instance holds the lease");
                }
            }
            Err(error @ StoreError::Unavailable(_)) => {
                tracing::warn!(bot, %error, "cannot ask for the lease; trying again")
            }
            Err(error) => return Err(error.into()),
        }
        tokio::select! {
            () = stop.cancelled() => return Err(NotLeading::Stopped),
            () = tokio::time::sleep(settings.look_every) => {}
        }
    }
}

/// Who holds a lease, in words.
#[must_use]
pub fn describe(holder: &Holder) -> String {
    let gone = if process::is_gone(holder) { ", which is gone" } else { "" };
    format!("process {} on {}{gone}, since {}", holder.pid, holder.host, utc(holder.since))
}

/// A time as people read it.
#[must_use]
pub fn utc(at: Millis) -> String {
    let time = chrono::DateTime::from_timestamp_millis(at.0);
    time.map_or_else(|| format!("{} ms", at.0), |time| time.format("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// What a standby has seen of another's lease.
#[derive(Default)]
struct Watch {
    seen: Option<(Lease, Millis)>,
    /// A lease that is over.
    over: Option<Lease>,
}

impl Watch {
    /// Takes note of a lease as it is now; true if another than before holds it.
    fn saw(&mut self, lease: Lease, now: Millis) -> bool {
        let known = self.seen.as_ref().filter(|(seen, _)| *seen == lease).map(|(_, since)| *since);
        let is_new_holder = self.seen.as_ref().is_none_or(|(seen, _)| seen.epoch != lease.epoch);
        let since = known.unwrap_or(now);
        let ttl = Duration::from_millis(u64::try_from(lease.holder.ttl_ms).unwrap_or(0));
        if now.since(since) >= ttl || process::is_gone(&lease.holder) {
            self.over = Some(lease.clone());
        }
        self.seen = Some((lease, since));
        is_new_holder
    }

    fn holder(&self) -> String {
        self.seen.as_ref().map_or_else(String::new, |(lease, _)| describe(&lease.holder))
    }
}

impl Leadership {
    fn new(
        store: &Arc<dyn Store>,
        bot: i64,
        epoch: Epoch,
        settings: &LeaseSettings,
        clock: &Clock,
        asked: Millis,
    ) -> Self {
        let remaining = Remaining { until: AtomicI64::new(asked.plus(settings.ttl).0), clock: clock.clone() };
        let remaining = Arc::new(remaining);
        let lost = CancellationToken::new();
        let renewal = Renewal {
            store: Arc::clone(store),
            bot,
            epoch,
            ttl: settings.ttl,
            remaining: Arc::clone(&remaining),
            lost: lost.clone(),
        };
        let renewing = tokio::spawn(renewal.run());
        Self { epoch, lost, remaining, renewing, store: Arc::clone(store), bot }
    }

    /// How long the lease lasts for sure; for the courier, because Telegram cannot be fenced.
    pub fn remaining(&self) -> impl Fn() -> Duration + Send + Sync + 'static {
        let remaining = Arc::clone(&self.remaining);
        move || remaining.left()
    }

    /// Stops renewing and gives the lease back at once, so that another instance need not wait.
    pub async fn release(self) {
        self.renewing.abort();
        match self.store.release(self.bot, self.epoch).await {
            Ok(()) => tracing::info!(bot = self.bot, "released the lease"),
            Err(error) if error.ends_the_lease() => {}
            Err(error) => tracing::warn!(bot = self.bot, %error, "could not release the lease; it will run out"),
        }
    }
}

impl Drop for Leadership {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

impl Remaining {
    fn left(&self) -> Duration {
        Millis(self.until.load(Ordering::Acquire)).since(self.clock.now())
    }
}

struct Renewal {
    store: Arc<dyn Store>,
    bot: i64,
    epoch: Epoch,
    ttl: Duration,
    remaining: Arc<Remaining>,
    lost: CancellationToken,
}

impl Renewal {
    /// Renews within this time. A store that is slow may take all of it; in case it hangs, or the answer was lost, it
    /// is asked again beside. Answers when it was asked for what it has granted.
    async fn renew(&self, patience: Duration) -> Result<Millis, StoreError> {
        let over = tokio::time::sleep(patience);
        tokio::pin!(over);
        let mut asked = FuturesUnordered::new();
        loop {
            let at = self.remaining.clock.now();
            let renewed = self.store.renew(self.bot, self.epoch);
            asked.push(renewed.map_ok(move |()| at));
            tokio::select! {
                biased;
                Some(answer) = asked.next() => return answer,
                () = &mut over => {
                    return Err(StoreError::Unavailable(format!("no answer within {patience:?}").into()));
                }
                () = tokio::time::sleep(self.ttl / RENEWAL_PARTS) => {}
            }
        }
    }

    /// How long a renewal may take: as long as the lease. If no time is left, this process was paused, and gets a last
    /// try: whether the lease is over the store knows.
    fn patience(&self) -> Duration {
        let left = self.remaining.left();
        if left.is_zero() { self.ttl } else { left }
    }

    async fn run(self) {
        let mut pause = self.ttl / 2;
        loop {
            tokio::time::sleep(pause).await;
            failpoints::hit(failpoints::INSTANCE_BEFORE_RENEW).await;
            let began = self.remaining.clock.now();
            let patience = self.patience();
            match self.renew(patience).await {
                Ok(asked) => {
                    self.remaining.until.store(asked.plus(self.ttl).0, Ordering::Release);
                    pause = self.ttl / 2;
                }
                Err(StoreError::Fenced { holder, .. }) => {
                    tracing::error!(bot = self.bot, %holder, "lost the lease: another instance has taken over");
                    break;
                }
                // Why is told by whoever asks for the lease next.
                Err(StoreError::Lost { .. }) => break,
                Err(error) => {
                    let left = self.remaining.left();
                    // One that takes far longer than it may was begun before a pause of this process.
                    let was_paused = self.remaining.clock.now().since(began) > patience * 2;
                    if left.is_zero() && !was_paused {
                        tracing::error!(bot = self.bot, %error, "lost the lease: it could not be renewed in time");
                        break;
                    }
                    tracing::warn!(bot = self.bot, %error, left_ms = left.as_millis(), "cannot renew the lease yet");
                    pause = (self.ttl / 30).max(SHORTEST_PAUSE);
                }
            }
            metrics::gauge!("opora_lease_remaining_seconds").set(self.remaining.left().as_secs_f64());
        }
        self.remaining.until.store(0, Ordering::Release);
        self.lost.cancel();
    }
}

#[cfg(test)]
mod tests;
