//! The metric of enqueued jobs. The store counts those of the application's writes, `jobs` all others.

use super::NewJob;

/// Counts jobs that were enqueued, by queue and name.
pub(crate) fn count(kinds: impl IntoIterator<Item = (Box<str>, Box<str>)>) {
    for (queue, name) in kinds {
        let [queue, name] = [queue.into_string(), name.into_string()];
        metrics::counter!("opora_jobs_enqueued_total", "queue" => queue, "name" => name).increment(1);
    }
}

/// The queue and the name of each job.
pub(crate) fn kinds(jobs: &[NewJob]) -> impl Iterator<Item = (Box<str>, Box<str>)> {
    jobs.iter().map(|job| (job.queue.clone(), job.name.clone()))
}
