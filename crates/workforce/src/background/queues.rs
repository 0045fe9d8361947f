//! The queues with what waits and runs in them.

use std::time::Duration;

use opora::clock::Millis;
use opora::jobs::{JobFilter, JobState};
use opora::store::{Store, StoreResult};
use serde::Serialize;

use crate::jobs::QUEUES;

/// The time over which finished jobs are counted.
pub const RATE_PERIOD: Duration = Duration::from_secs(600);
/// How many of the newest jobs are looked at for that.
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
    let counts = store.job_counts(bot, false).await?;
    let paused = store.operator().paused_queues(bot).await?;
    let mut names: Vec<String> = QUEUES.map(str::to_owned).into();
    for name in counts.iter().map(|count| &count.queue).chain(&paused) {
        if !names.iter().any(|known| **known == **name) {
            names.push(name.to_string());
        }
    }
    let mut queues = Vec::with_capacity(names.len());
    // A bot has few queues.
    for name in names {
        let mut queue = QueueStatus { is_paused: paused.iter().any(|one| **one == *name), ..QueueStatus::default() };
        for count in counts.iter().filter(|count| *count.queue == *name) {
            match count.state {
                JobState::Running => queue.running += count.jobs,
                JobState::Scheduled if count.oldest > now => queue.scheduled += count.jobs,
                JobState::Scheduled | JobState::Available => {
                    queue.waiting += count.jobs;
                    queue.oldest_ms = queue.oldest_ms.max(now.0 - count.oldest.0);
                }
                JobState::Completed | JobState::Discarded | JobState::Cancelled => {}
            }
        }
        let filter = JobFilter { bot, queue: Some(name.clone()), ..JobFilter::default() };
        let newest = store.operator().jobs(&filter, None, RATE_SAMPLE).await?;
        let since = now.minus(RATE_PERIOD);
        queue.finished_lately = newest.iter().filter(|job| job.finished_at.is_some_and(|at| at >= since)).count();
        queue.finished_more = newest.len() == RATE_SAMPLE && newest.last().is_some_and(|job| job.enqueued_at >= since);
        queues.push(QueueStatus { queue: name, ..queue });
    }
    Ok(queues)
}
