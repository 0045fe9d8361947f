//! The functions that run jobs, by the names of their kinds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Serialize;

use super::{Job, JobContext, JobError, QueueSettings};

/// Runs a job whose value is JSON. The answer is JSON too; none if there is nothing to keep.
type Run = Arc<dyn Fn(Box<str>, JobContext) -> BoxFuture<'static, Result<Option<Box<str>>, JobError>> + Send + Sync>;

/// A function for one kind of job.
#[derive(Clone)]
pub(super) struct Worker {
    pub(super) run: Run,
    pub(super) timeout: Duration,
    pub(super) backoff: fn(u32) -> Duration,
}

/// The functions that run jobs, and the settings of their queues.
#[derive(Clone, Default)]
pub struct Workers {
    by_name: BTreeMap<&'static str, Worker>,
    queues: BTreeMap<Box<str>, QueueSettings>,
}

impl Workers {
    /// No functions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the function for a kind of job.
    #[must_use]
    pub fn worker<J, F, R, T>(mut self, run: F) -> Self
    where
        J: Job,
        F: Fn(J, JobContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, JobError>> + Send + 'static,
        T: Serialize,
    {
        self.add(run);
        self
    }

    /// Sets how a queue is worked through.
    #[must_use]
    pub fn queue(mut self, name: &str, settings: QueueSettings) -> Self {
        self.set_queue(name, settings);
        self
    }

    pub(crate) fn add<J, F, R, T>(&mut self, run: F)
    where
        J: Job,
        F: Fn(J, JobContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, JobError>> + Send + 'static,
        T: Serialize,
    {
        let run = Arc::new(run);
        let run_json: Run = Arc::new(move |args, context| {
            let run = Arc::clone(&run);
            Box::pin(async move {
                let job = serde_json::from_str(&args)
                    .map_err(|error| JobError::Discard(format!("the job cannot be read: {error}")))?;
                let result = serde_json::to_string(&run(job, context).await?)?;
                Ok((result != "null").then(|| result.into()))
            })
        });
        self.queues.entry(J::QUEUE.into()).or_default();
        self.by_name.insert(J::NAME, Worker { run: run_json, timeout: J::TIMEOUT, backoff: J::backoff });
    }

    pub(crate) fn set_queue(&mut self, name: &str, settings: QueueSettings) {
        self.queues.insert(name.into(), settings);
    }

    pub(super) fn get(&self, name: &str) -> Option<&Worker> {
        self.by_name.get(name)
    }

    pub(super) fn queues(&self) -> &BTreeMap<Box<str>, QueueSettings> {
        &self.queues
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The kinds of jobs that can run.
    pub(crate) fn names(&self) -> BTreeSet<&'static str> {
        self.by_name.keys().copied().collect()
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers").field("names", &self.names()).field("queues", &self.queues).finish()
    }
}
