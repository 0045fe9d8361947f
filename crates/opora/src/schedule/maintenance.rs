//! Removes old rows and reports metrics, at intervals.
//!
//! Both run beside the schedule, so no timer waits for a slow cleaning.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{POLL_INTERVAL, Retention};
use crate::clock::{Clock, Millis};
use crate::mailbox::Mailboxes;
use crate::store::{Cleaned, CleaningLimits, Epoch, StateCount, StateName, Store, StoreError};

/// How often metrics are reported.
const REPORT_INTERVAL: Duration = Duration::from_secs(15);
/// How many parked turns are kept. An operator cannot read more, and the store must not fill up.
const MAX_PARKED: usize = 10_000;
/// How many of them may be inputs without a handler. They must not displace failed turns.
pub(super) const MAX_UNHANDLED: usize = 1_000;

/// Cleans the store and keeps metrics up to date.
pub(crate) struct Maintenance {
    pub(crate) bot: i64,
    pub(crate) epoch: Epoch,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    pub(crate) mailboxes: Mailboxes,
    pub(crate) retention: Retention,
}

impl Maintenance {
    /// Runs until `stop`. An unfinished cleaning continues after the next start.
    pub(crate) async fn run(self, stop: CancellationToken) {
        stop.run_until_cancelled(async { tokio::join!(self.clean_regularly(), self.report_regularly()) }).await;
    }

    async fn clean_regularly(&self) {
        loop {
            let next = self.clock.now().plus(self.retention.cleaning_interval);
            if let Err(error) = self.clean().await {
                tracing::warn!(%error, "cannot remove old rows; trying again later");
            }
            self.wait_until(next).await;
        }
    }

    async fn report_regularly(&self) {
        let mut reported = HashSet::new();
        loop {
            let next = self.clock.now().plus(REPORT_INTERVAL);
            self.report(&mut reported).await;
            self.wait_until(next).await;
        }
    }

    /// Waits for a time on the bot's clock, which a test may move.
    async fn wait_until(&self, time: Millis) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            if self.clock.now() >= time {
                return;
            }
        }
    }

    /// Reports metrics. `reported` has the states of the last report: those without conversations now are set to 0.
    async fn report(&self, reported: &mut HashSet<StateName>) {
        let Ok(numbers) = self.store.statistics(Some(self.bot)).await else { return };
        let gauges = [
            ("opora_active_dialogues", numbers.active),
            ("opora_inbox_rows", numbers.inbox),
            ("opora_outbox_rows", numbers.outbox),
            ("opora_failed_sends", numbers.failed),
            ("opora_timers", numbers.timers),
            ("opora_effects", numbers.effects),
            ("opora_parked_turns", numbers.parked),
        ];
        for (name, value) in gauges {
            metrics::gauge!(name).set(value as f64);
        }
        metrics::gauge!("opora_mailbox_waiting").set(self.mailboxes.waiting() as f64);
        let age = numbers.outbox_oldest.map_or(Duration::ZERO, |oldest| self.clock.now().since(oldest));
        metrics::gauge!("opora_outbox_oldest_seconds").set(age.as_secs_f64());
        let mut empty = std::mem::take(reported);
        for StateCount { state: place, conversations } in numbers.by_state {
            empty.remove(&place);
            set_state_gauge(&place, conversations);
            reported.insert(place);
        }
        empty.iter().for_each(|place| set_state_gauge(place, 0));
    }

    /// Removes old rows, a limited number at a time so that turns can run in between.
    pub(super) async fn clean(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let bounds = CleaningLimits {
            marks_before: now.minus(self.retention.marks),
            records_before: now.minus(self.retention.records),
            max_parked: MAX_PARKED,
            mark_ttl: Some(self.retention.marks),
        };
        let unhandled = self.clean_unhandled(bounds.records_before).await?;
        let mut removed = Cleaned { aged: unhandled, parked: 0 };
        loop {
            let cleaned = self.store.clean(self.epoch, bounds).await?;
            if cleaned.is_empty() {
                break;
            }
            removed += cleaned;
            tokio::task::yield_now().await;
        }
        if removed.aged > 0 {
            tracing::info!(removed = removed.aged, "removed old rows");
        }
        if removed.parked > 0 {
            let dropped = removed.parked;
            tracing::error!(
                bot = self.bot,
                dropped,
                kept = MAX_PARKED,
                "too many turns are parked; the oldest were dropped"
            );
        }
        Ok(())
    }

    /// Drops old inputs without a handler, and the oldest ones above the limit. Returns their number. They are few, so
    /// they are selected here and not in the store.
    async fn clean_unhandled(&self, before: Millis) -> Result<u64, StoreError> {
        let parked = self.store.parked(Some(self.bot), 2 * MAX_PARKED).await?;
        let unhandled: Vec<_> = parked.iter().filter(|parked| parked.is_unhandled() && !parked.retry).collect();
        let excess = unhandled.len().saturating_sub(MAX_UNHANDLED);
        let mut dropped = 0;
        for (index, parked) in unhandled.into_iter().enumerate() {
            if index < excess || parked.at < before {
                dropped += u64::from(self.store.drop_parked(parked.id).await?);
            }
        }
        Ok(dropped)
    }
}

fn set_state_gauge(name: &StateName, conversations: i64) {
    let dialogue = name.dialogue.to_string();
    let state = name.state.to_string();
    metrics::gauge!("opora_dialogues", "dialogue" => dialogue, "state" => state).set(conversations as f64);
}
