//! Settings of queues and of finished jobs.

use std::time::Duration;

/// How a queue is worked through. Only the leader runs jobs, so the limits hold for all instances together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSettings {
    /// How many jobs run at once.
    pub concurrency: usize,
    /// At most so many jobs start within this time; none for no limit. For a new leader the jobs of the former one
    /// count as if they had started evenly.
    pub rate: Option<(u32, Duration)>,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self { concurrency: 10, rate: None }
    }
}

impl QueueSettings {
    /// A queue in which so many jobs run at once.
    #[must_use]
    pub fn concurrency(concurrency: usize) -> Self {
        Self { concurrency, ..Self::default() }
    }

    /// Starts at most so many jobs within a time.
    #[must_use]
    pub fn rate(self, jobs: u32, within: Duration) -> Self {
        Self { rate: Some((jobs, within)), ..self }
    }
}

/// How long finished jobs are kept, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobRetention {
    /// How long results are kept.
    pub results: Duration,
    /// How long finished jobs are kept.
    pub finished: Duration,
    /// How many finished jobs a bot keeps.
    pub max_finished: usize,
}

impl Default for JobRetention {
    fn default() -> Self {
        Self { results: Duration::from_secs(3600), finished: Duration::from_secs(7 * 24 * 3600), max_finished: 100_000 }
    }
}
