//! Metrics of jobs, by queue and name.

use std::collections::HashSet;
use std::time::Duration;

use super::attempt::AttemptEnd;
use crate::clock::Millis;
use crate::store::{JobCount, JobRow, JobState};

pub(super) fn started(row: &JobRow) {
    let [queue, name] = labels(row);
    metrics::counter!("opora_jobs_started_total", "queue" => queue, "name" => name).increment(1);
}

/// Counts the end of an attempt. An attempt that did not run here has no duration.
pub(super) fn ended(row: &JobRow, end: AttemptEnd, took: Option<Duration>) {
    let [queue, name] = labels(row);
    if let Some(took) = took {
        metrics::histogram!("opora_job_seconds", "queue" => queue.clone(), "name" => name.clone())
            .record(took.as_secs_f64());
    }
    let outcome = match end {
        AttemptEnd::Completed => "completed",
        AttemptEnd::Failed => "failed",
        AttemptEnd::Discarded => "discarded",
        AttemptEnd::Cancelled => "cancelled",
        AttemptEnd::Snoozed => "snoozed",
    };
    metrics::counter!("opora_jobs_finished_total", "queue" => queue, "name" => name, "outcome" => outcome).increment(1);
}

fn labels(row: &JobRow) -> [String; 2] {
    [row.queue.to_string(), row.name.to_string()]
}

/// The gauges of jobs in one term. At its end they fall to 0, so that a former leader shows no old numbers.
#[derive(Default)]
pub(crate) struct JobGauges(HashSet<(Box<str>, Box<str>)>);

impl JobGauges {
    /// Reports how many jobs could start and have not, and how long the oldest of them has waited. Kinds that were
    /// reported before and have none now are set to 0.
    pub(crate) fn set(&mut self, counts: Vec<JobCount>, now: Millis) {
        let mut gone = std::mem::take(&mut self.0);
        for JobCount { queue, name, jobs, oldest, .. } in
            counts.into_iter().filter(|count| count.state == JobState::Available)
        {
            gone.remove(&(queue.clone(), name.clone()));
            set(&queue, &name, (jobs, oldest.map_or(Duration::ZERO, |oldest| now.since(oldest))));
            self.0.insert((queue, name));
        }
        gone.iter().for_each(|(queue, name)| set(queue, name, (0, Duration::ZERO)));
    }
}

impl Drop for JobGauges {
    fn drop(&mut self) {
        self.set(Vec::new(), Millis(0));
    }
}

fn set(queue: &str, name: &str, (jobs, age): (i64, Duration)) {
    let [queue, name] = [queue.to_owned(), name.to_owned()];
    metrics::gauge!("opora_jobs_waiting", "queue" => queue.clone(), "name" => name.clone()).set(jobs as f64);
    metrics::gauge!("opora_jobs_oldest_seconds", "queue" => queue, "name" => name).set(age.as_secs_f64());
}
