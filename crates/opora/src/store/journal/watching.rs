//! Watches whether Redis answers.

use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Shared, There};
use crate::clock::Stopwatch;
use crate::store::StoreError;
use crate::store::redis::RedisBackend;
use crate::store::sent_log::SentLog;

/// How often it is asked, at least.
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// Redis is asked this often in the time after which it is away.
const QUESTIONS_BEFORE_AWAY: u32 = 4;
/// How long an answer may take.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);
/// So many answers in a row say that it is back.
const ANSWERS_FOR_BACK: u32 = 3;

/// Watches for as long as the journal is held. A Redis that has not answered for `away_after` is away.
pub(super) async fn watch(shared: Weak<Shared>, away_after: Duration) {
    let pause = (away_after / QUESTIONS_BEFORE_AWAY).min(LONGEST_PAUSE);
    let mut silence: Option<Stopwatch> = None;
    let mut answers: u32 = 0;
    loop {
        tokio::time::sleep(pause).await;
        let Some(shared) = shared.upgrade() else { return };
        if shared.is_closed.load(Ordering::Acquire) {
            return;
        }
        let asked = Stopwatch::start();
        let answered = shared.answers().await;
        shared.is_silent.store(!answered, Ordering::Release);
        if answered {
            (silence, answers) = (None, answers.saturating_add(1));
        } else {
            (silence, answers) = (silence.or(Some(asked)), 0);
        }
        let is_away = shared.is_away();
        if !is_away && silence.is_some_and(|silence| silence.elapsed() >= away_after) {
            tracing::error!(redis = %shared.place, journal = %shared.book.name(), "Redis is away: the journal goes on");
            shared.away.send_replace(true);
        } else if is_away && answers >= ANSWERS_FOR_BACK {
            tracing::info!(redis = %shared.place, "Redis is back: what the journal has is replayed");
            shared.away.send_replace(false);
        }
    }
}

impl Shared {
    /// Asks Redis whether it is there; one that was never open is opened.
    async fn answers(&self) -> bool {
        let Some(there) = self.there.get() else { return self.open_redis().await };
        matches!(tokio::time::timeout(ANSWERS_WITHIN, there.redis().ping()).await, Ok(Ok(())))
    }

    async fn open_redis(&self) -> bool {
        match RedisBackend::open_behind_journal(&self.address).await {
            // Only the watch opens it.
            Ok(redis) => self.there.set(There::of(SentLog::around(redis), &self.book)).is_ok(),
            Err(StoreError::Unavailable(_)) => false,
            // It is there and cannot be used: whoever asks for the lease next is told.
            Err(error) => {
                *self.refusal.lock() = Some(error.to_string());
                true
            }
        }
    }
}
