//! The queues with what waits and runs in them.

use std::time::Duration;

use opora::clock::Millis;
use opora::jobs::JobState;
use opora::store::{Store, StoreResult};
use serde::Serialize;

use super::all_of;
use crate::jobs::QUEUES;

/// The time over which finished jobs are counted.
pub const RATE_PERIOD: Duration = Duration::from_secs(600);
/// How many of the newest jobs, of all queues, are looked at for that.
const RATE_SAMPLE: usize = 500;

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
    /// Jobs that finished in the last ten minutes, of the newest ones.
    pub finished_lately: usize,
    /// There may be more, because only the newest jobs were counted.
    pub finished_more: bool,
}

/// All queues of a bot: those of the product, and others that have jobs.
pub async fn queues(store: &dyn Store, bot: i64, now: Millis) -> StoreResult<Vec<QueueStatus>> {
    let mut queues = unfinished(store, bot, now).await?;
    let newest = store.operator().jobs(&all_of(bot), None, RATE_SAMPLE).await?;
    let since = now.minus(RATE_PERIOD);
    let has_more = newest.len() == RATE_SAMPLE && newest.last().is_some_and(|job| job.enqueued_at >= since);
    for queue in &mut queues {
        let of_queue = newest.iter().filter(|job| *job.queue == *queue.queue);
        queue.finished_lately = of_queue.filter(|job| job.finished_at.is_some_and(|at| at >= since)).count();
        queue.finished_more = has_more;
    }
    Ok(queues)
}

/// Whether there is a queue of this name.
pub async fn has_queue(store: &dyn Store, bot: i64, name: &str) -> StoreResult<bool> {
    Ok(unfinished(store, bot, Millis::default()).await?.iter().any(|queue| queue.queue == name))
}

/// All queues, with the numbers of their unfinished jobs.
async fn unfinished(store: &dyn Store, bot: i64, now: Millis) -> StoreResult<Vec<QueueStatus>> {
    let counts = store.job_counts(bot, false).await?;
    let paused = store.operator().paused_queues(bot).await?;
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
            JobState::Completed | JobState::Discarded | JobState::Cancelled => {}
        }
        queue.oldest_ms = queue.oldest_ms.max(count.oldest.map_or(0, |oldest| now.0 - oldest.0));
    }
    Ok(queues)
}
