//! Jobs and the application's writes, which commit together. Only where jobs are in an SQL database.

use super::fixture::{BOT, Fixture, at, fenced};
use super::jobs::{ended, job, named};
use crate::store::{DomainWrites, JobState, JobUpdate, NewJob, Refusal, StoreError};

/// Adds a job, and refuses afterwards if it is told to.
fn add(job: NewJob, refuses: bool) -> DomainWrites {
    DomainWrites::new(move |database| {
        Box::pin(async move {
            database.enqueue(BOT, job, at(3)).await?;
            if refuses { Err(Refusal::because("no")) } else { Ok(()) }
        })
    })
}

impl Fixture {
    fn has_writes(&self) -> bool {
        self.store().has_jobs_in_sql()
    }
}

/// A job of the application's writes is added with them, or not at all.
pub async fn a_job_of_refused_writes_is_not_added(fixture: Fixture) {
    if !fixture.has_writes() {
        return;
    }
    let refused = fixture.store().write(add(job("refused"), true)).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    fixture.store().write(add(job("added"), false)).await.expect("the writes commit");
    assert_eq!(named(&fixture.jobs().await), ["added"]);
}

/// The last writes of a job and its completion happen together, once, or not at all.
pub async fn last_writes_commit_with_their_job(fixture: Fixture) {
    if !fixture.has_writes() {
        return;
    }
    fixture.add_all(vec![job("anna")]).await;
    let row = fixture.start(1, at(2)).await.remove(0);
    let finish = async |update: JobUpdate, refuses| {
        let writes = Some(add(job("next"), refuses));
        fixture.store().update_jobs(BOT, fixture.epoch, vec![update], writes).await
    };
    let completed = || ended(&row, JobState::Completed, at(4));
    let refused = finish(completed(), true).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    assert_eq!(fixture.jobs().await, std::slice::from_ref(&row), "it still runs, and nothing was written");
    let other_attempt = JobUpdate { attempt: 2, ..completed() };
    assert_eq!(finish(other_attempt, false).await.expect("answered"), [false]);
    assert_eq!(fixture.jobs().await, std::slice::from_ref(&row), "another attempt writes nothing");
    assert_eq!(finish(JobUpdate::compare(&row), false).await.expect("answered"), [true]);
    assert_eq!(fixture.job(row.id).await, row, "a step of the job does not complete it");
    assert_eq!(finish(completed(), false).await.expect("answered"), [true]);
    assert_eq!(fixture.job(row.id).await.state, JobState::Completed);
    assert_eq!(finish(completed(), false).await.expect("answered"), [false]);
    assert_eq!(named(&fixture.jobs().await), ["next", "next", "anna"], "a completed job writes nothing");
}

/// An instance that has lost its lease writes nothing for its jobs, with or without an update.
pub async fn an_old_instance_cannot_write_for_jobs(fixture: Fixture) {
    if !fixture.has_writes() {
        return;
    }
    fixture.add_all(vec![job("anna")]).await;
    let row = fixture.start(1, at(2)).await.remove(0);
    fixture.take_over().await;
    for updates in [Vec::new(), vec![JobUpdate::compare(&row)], vec![ended(&row, JobState::Completed, at(3))]] {
        let writes = Some(add(job("next"), false));
        fenced(fixture.store().update_jobs(BOT, fixture.epoch, updates, writes).await);
    }
    assert_eq!(fixture.jobs().await, [row]);
}
