//! The queues with what waits and runs in them.

use std::time::Duration;

use opora::clock::Millis;
use opora::jobs::{JobCount, JobState};
use opora::store::{Store, StoreResult};
use serde::Serialize;

use crate::jobs::QUEUES;

/// The time over which completed jobs are counted.
pub const RATE_PERIOD: Duration = Duration::from_secs(600);

/// A queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueStatus {
    pub queue: String,
    pub is_paused: bool,
    /// Jobs that could start now.
    pub waiting: i64,
    /// Jobs that wait for their time.
    pub scheduled: i64,
    pub running: i64,
    /// How long the oldest job that could start now has waited.
    pub oldest_ms: i64,
    /// Jobs that were completed in the last ten minutes.
    pub completed_lately: i64,
}

/// All queues of a bot: those of the product, and others that have jobs.
pub async fn queues(store: &dyn Store, bot: i64, now: Millis) -> StoreResult<Vec<QueueStatus>> {
    let counts = store.job_counts(bot, Some(now.minus(RATE_PERIOD))).await?;
    let paused = store.operator().paused_queues(bot).await?;
    Ok(by_queue(counts, &paused, now))
}

/// Whether there is a queue of this name.
pub async fn has_queue(store: &dyn Store, bot: i64, name: &str) -> StoreResult<bool> {
    let counts = store.job_counts(bot, None).await?;
    let paused = store.operator().paused_queues(bot).await?;
    Ok(by_queue(counts, &paused, Millis::default()).iter().any(|queue| queue.queue == name))
}

fn by_queue(counts: Vec<JobCount>, paused: &[Box<str>], now: Millis) -> Vec<QueueStatus> {
    let mut queues: Vec<QueueStatus> = Vec::new();
    for name in
        QUEUES.into_iter().chain(counts.iter().map(|count| &*count.queue)).chain(paused.iter().map(|name| &**name))
    {
        if !queues.iter().any(|queue| queue.queue == name) {
            let is_paused = paused.iter().any(|one| **one == *name);
            queues.push(QueueStatus { queue: name.to_owned(), is_paused, ..QueueStatus::default() });
        }
    }
    for count in counts {
        let Some(queue) = queues.iter_mut().find(|queue| *queue.queue == *count.queue) else { continue };
        match count.state {
            JobState::Running => queue.running += count.jobs,
            JobState::Scheduled => queue.scheduled += count.jobs,
            JobState::Available => queue.waiting += count.jobs,
            JobState::Completed => queue.completed_lately += count.recent,
            JobState::Discarded | JobState::Cancelled => {}
        }
        queue.oldest_ms = queue.oldest_ms.max(count.oldest.map_or(0, |oldest| now.0 - oldest.0));
    }
    queues
}
