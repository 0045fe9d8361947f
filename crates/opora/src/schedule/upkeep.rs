//! What is done from time to time: old rows are removed, and metrics are told how many wait.
//!
//! Each goes by itself and beside the schedule: however long a store takes to clean up, no timer waits for it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{LOOK_EVERY, Retention};
use crate::clock::{Clock, Millis};
use crate::mailbox::Mailboxes;
use crate::store::{Bounds, Cleaned, Epoch, Place, PlaceCount, Store, StoreError};

/// How often the numbers of waiting rows are told to metrics.
const REPORT_EVERY: Duration = Duration::from_secs(15);
/// How many parked turns are kept: an operator reads fewer, and a store that fills up helps nobody.
const PARKED_MOST: usize = 10_000;
/// How many inputs that no handler hears are kept among them. They must not push turns out that have failed.
pub(super) const UNHEARD_MOST: usize = 1_000;

/// Keeps the store clean and metrics up to date.
pub(crate) struct Upkeep {
    pub(crate) bot: i64,
    pub(crate) epoch: Epoch,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    pub(crate) mailboxes: Mailboxes,
    pub(crate) retention: Retention,
}

impl Upkeep {
    /// Works until told to stop. What is under way then is let go: it will be done after the next start.
    pub(crate) async fn run(self, stop: CancellationToken) {
        stop.run_until_cancelled(async { tokio::join!(self.keep_clean(), self.keep_told()) }).await;
    }

    async fn keep_clean(&self) {
        loop {
            let next = self.clock.now().plus(self.retention.every);
            if let Err(error) = self.clean().await {
                tracing::warn!(%error, "cannot clean old rows; trying again later");
            }
            self.pass(next).await;
        }
    }

    async fn keep_told(&self) {
        let mut told = HashSet::new();
        loop {
            let next = self.clock.now().plus(REPORT_EVERY);
            self.report(&mut told).await;
            self.pass(next).await;
        }
    }

    /// Waits for a time by the bot's clock, which a test may move.
    async fn pass(&self, until: Millis) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if self.clock.now() >= until {
                return;
            }
        }
    }

    /// Tells metrics how many rows wait. `told` are the places told of before: those that are empty now are told as
    /// such.
    async fn report(&self, told: &mut HashSet<Place>) {
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
        let mut empty = std::mem::take(told);
        for PlaceCount { place, conversations } in numbers.by_place {
            empty.remove(&place);
            tell_place(&place, conversations);
            told.insert(place);
        }
        empty.iter().for_each(|place| tell_place(place, 0));
    }

    /// Removes old rows, a bounded number at a time so that turns come between.
    pub(super) async fn clean(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let bounds = Bounds {
            marks_before: now.minus(self.retention.marks),
            records_before: now.minus(self.retention.records),
            parked_most: PARKED_MOST,
            marks_live: Some(self.retention.marks),
        };
        let unheard = self.clean_unheard(bounds.records_before).await?;
        let mut removed = Cleaned { aged: unheard, parked: 0 };
        loop {
            let cleaned = self.store.clean(self.epoch, bounds).await?;
            if cleaned.nothing() {
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
                kept = PARKED_MOST,
                "too many turns are parked; the oldest were dropped"
            );
        }
        Ok(())
    }

    /// Drops old inputs that no handler has heard, and the oldest of too many; how many went. They are few, and no turn
    /// waits for them, so they are looked through here and not by the store.
    async fn clean_unheard(&self, before: Millis) -> Result<u64, StoreError> {
        let parked = self.store.parked(Some(self.bot), 2 * PARKED_MOST).await?;
        let unheard: Vec<_> = parked.iter().filter(|parked| parked.is_unheard() && !parked.retry).collect();
        let too_many = unheard.len().saturating_sub(UNHEARD_MOST);
        let mut dropped = 0;
        for (place, parked) in unheard.into_iter().enumerate() {
            if place < too_many || parked.at < before {
                dropped += u64::from(self.store.drop_parked(parked.id).await?);
            }
        }
        Ok(dropped)
    }
}

fn tell_place(place: &Place, conversations: i64) {
    let dialogue = place.dialogue.to_string();
    let state = place.state.to_string();
    metrics::gauge!("opora_dialogues", "dialogue" => dialogue, "state" => state).set(conversations as f64);
}
