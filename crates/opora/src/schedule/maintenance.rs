//! Removes old rows and reports metrics, at intervals.
//!
//! Both run beside the schedule, so no timer waits for a slow cleaning.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::gauges::StoreGauges;
use super::{POLL_INTERVAL, Retention};
use crate::clock::{Clock, Millis};
use crate::jobs::{JobRetention, metrics::JobGauges};
use crate::mailbox::Mailboxes;
use crate::store::{Cleaned, CleaningLimits, Epoch, JobLimits, Store, StoreError};

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
    pub(crate) job_retention: JobRetention,
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
        let mut gauges = StoreGauges::new();
        let mut job_gauges = JobGauges::default();
        loop {
            let next = self.clock.now().plus(REPORT_INTERVAL);
            if let Ok(statistics) = self.store.statistics(Some(self.bot)).await {
                gauges.set(statistics, self.mailboxes.waiting(), self.clock.now());
            }
            if let Ok(counts) = self.store.job_counts(self.bot, None).await {
                job_gauges.set(counts, self.clock.now());
            }
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
        removed.aged += self.prune_jobs(now).await?;
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

    /// Removes old finished jobs. Returns their number.
    async fn prune_jobs(&self, now: Millis) -> Result<u64, StoreError> {
        let JobRetention { results, finished, max_finished } = self.job_retention;
        let limits =
            JobLimits { results_before: now.minus(results), finished_before: now.minus(finished), max_finished };
        let mut removed = 0;
        loop {
            match self.store.prune_jobs(self.bot, self.epoch, limits).await? {
                0 => return Ok(removed),
                more => removed += more,
            }
            tokio::task::yield_now().await;
        }
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
