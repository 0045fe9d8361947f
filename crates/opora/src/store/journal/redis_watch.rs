//! Watches whether Redis answers, and switches between Redis and the journal.

use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{PrimaryStore, Shared};
use crate::clock::Stopwatch;
use crate::store::StoreError;
use crate::store::redis::RedisBackend;
use crate::store::sent_log::SentLog;

/// The longest time between two pings.
const MAX_PING_INTERVAL: Duration = Duration::from_millis(250);
/// How many pings fit into the time after which Redis counts as away.
const PINGS_BEFORE_AWAY: u32 = 4;
/// How long the answer to a ping may take.
const PING_TIMEOUT: Duration = Duration::from_secs(1);
/// How many answers in a row say that Redis is back.
const ANSWERS_BEFORE_BACK: u32 = 3;

/// Runs until the journal is dropped or closed. A Redis that has not answered for `away_after` is away.
pub(super) async fn watch(shared: Weak<Shared>, away_after: Duration) {
    let pause = (away_after / PINGS_BEFORE_AWAY).min(MAX_PING_INTERVAL);
    let mut silence: Option<Stopwatch> = None;
    let mut answers: u32 = 0;
    loop {
        tokio::time::sleep(pause).await;
        let Some(shared) = shared.upgrade() else { return };
        if shared.is_closed.load(Ordering::Acquire) {
            return;
        }
        let watch = Stopwatch::start();
        let answered = shared.redis_answers().await;
        shared.is_silent.store(!answered, Ordering::Release);
        if answered {
            (silence, answers) = (None, answers.saturating_add(1));
        } else {
            (silence, answers) = (silence.or(Some(watch)), 0);
        }
        let is_away = shared.is_away();
        if !is_away && silence.is_some_and(|silence| silence.elapsed() >= away_after) {
            tracing::error!(redis = %shared.place, journal = %shared.journal.name(), "Redis is away: the journal goes on");
            shared.away.send_replace(true);
        } else if is_away && answers >= ANSWERS_BEFORE_BACK {
            tracing::info!(redis = %shared.place, "Redis is back: the journal is replayed");
            shared.away.send_replace(false);
        }
    }
}

impl Shared {
    /// Pings Redis. A Redis that was never reached is opened.
    async fn redis_answers(&self) -> bool {
        let Some(primary) = self.primary.get() else { return self.open_redis().await };
        matches!(tokio::time::timeout(PING_TIMEOUT, primary.redis().ping()).await, Ok(Ok(())))
    }

    async fn open_redis(&self) -> bool {
        match RedisBackend::open_for_journal(&self.address).await {
            // Only this task sets `primary`.
            Ok(redis) => self.primary.set(PrimaryStore::new(SentLog::around(redis), &self.journal)).is_ok(),
            Err(StoreError::Unavailable(_)) => false,
            // Redis answers and cannot be used: the next claim fails with this.
            Err(error) => {
                *self.refusal.lock() = Some(error.to_string());
                true
            }
        }
    }
}
