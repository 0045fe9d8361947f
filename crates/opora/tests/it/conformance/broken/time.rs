//! Faults of timers, expiries and cleaning.

use opora::clock::Millis;
use opora::store::{Cleaned, CleaningLimits, Epoch, OutboxId, Settled, Settlement, StoreResult, TimerRow};

use super::{Broken, Fault};

const END_OF_TIME: Millis = Millis(i64::MAX);

impl Broken {
    pub(super) async fn broken_due_timers(&self, bot: i64, now: Millis, limit: usize) -> StoreResult<Vec<TimerRow>> {
        let now = if self.fault == Fault::FiresEarly { END_OF_TIME } else { now };
        let limit = self.limit("due_timers", limit);
        let mut rows = self.inner.due_timers(bot, now, limit).await?;
        rows.extend(self.leftovers.lock().timers.iter().cloned());
        if self.fault == Fault::TimersByNameOnly {
            rows.dedup_by(|later, earlier| later.name == earlier.name);
        }
        Ok(self.order("due_timers", rows))
    }

    pub(super) async fn broken_next_due(&self, bot: i64) -> StoreResult<Option<Millis>> {
        let timer = self.inner.due_timers(bot, END_OF_TIME, 1).await?.first().map(|row| row.due_at);
        match self.fault {
            Fault::NextDueWithoutExpiry => Ok(timer),
            Fault::NextDueWithoutTimers => {
                let next = self.inner.next_due(bot).await?;
                Ok(next.filter(|next| Some(*next) != timer))
            }
            _ => self.inner.next_due(bot).await,
        }
    }

    pub(super) async fn broken_clean(&self, epoch: Epoch, bounds: CleaningLimits) -> StoreResult<Cleaned> {
        let epoch = self.epoch("clean", epoch).await;
        match self.fault {
            Fault::DoesNothing("clean") => Ok(Cleaned::default()),
            Fault::CleansAll => {
                let all = CleaningLimits {
                    marks_before: END_OF_TIME,
                    records_before: END_OF_TIME,
                    max_parked: 0,
                    mark_ttl: None,
                };
                self.inner.clean(epoch, all).await
            }
            Fault::CleansNewestParked => {
                let bot = self.inner.operator().bots().await?[0];
                let rows = self.inner.parked(Some(bot), usize::MAX).await?;
                let parked = rows.len().saturating_sub(bounds.max_parked);
                for row in rows.iter().rev().take(parked) {
                    self.inner.drop_parked(row.id).await?;
                }
                let cleaned = self.inner.clean(epoch, bounds).await?;
                Ok(Cleaned { parked: parked as u64, ..cleaned })
            }
            Fault::CleansWhatWaits => {
                let bot = self.inner.operator().bots().await?[0];
                let rows = self.inner.unsent(bot, OutboxId(0), usize::MAX).await?;
                let sent = |id| Settled { id, outcome: Settlement::Sent { labelled: None } };
                self.inner.settle(epoch, rows.into_iter().map(|row| sent(row.id)).collect(), END_OF_TIME).await?;
                self.inner.clean(epoch, bounds).await
            }
            _ => self.inner.clean(epoch, bounds).await,
        }
    }
}
