//! Jobs: uniqueness, schedules, requests of an operator, and what an operator sees.

use std::time::Duration;

use super::fixture::{ALL, BOT, Fixture, at};
use super::jobs::{ended, job, named, no_limits};
use crate::clock::Millis;
use crate::store::{
    Enqueued, JobFilter, JobId, JobLimits, JobPoll, JobRequest, JobState, JobUpdate, NewJob, Tick, Unique,
};
use crate::turn::When;

/// A unique job is not added while another one of its key is in one of the states.
pub async fn a_unique_job_is_added_once(fixture: Fixture) {
    let unique = |unique: Unique| NewJob { unique: Some(unique), ..job("anna") };
    let id = fixture.add(unique(Unique::by("7")), at(1)).await.id();
    assert_eq!(fixture.add(unique(Unique::by("7")), at(2)).await, Enqueued::Known(id));
    assert!(matches!(fixture.add(unique(Unique::by("8")), at(2)).await, Enqueued::New(_)), "another key");
    let other_name = NewJob { name: "boris".into(), ..unique(Unique::by("7")) };
    assert!(matches!(fixture.add(other_name, at(2)).await, Enqueued::New(_)), "another name");
    let pair = vec![unique(Unique::by("9")), unique(Unique::by("9"))];
    let pair = fixture.store().enqueue_jobs(BOT, pair, at(2)).await.expect("enqueued");
    assert_eq!(pair[1], Enqueued::Known(pair[0].id()), "of two in a batch the first is added");
    fixture.run_one(JobState::Completed, at(3)).await;
    let again = fixture.add(unique(Unique::by("7").also_finished()), at(4)).await;
    assert_eq!(again, Enqueued::Known(id), "the finished job counts if asked for");
    assert!(matches!(fixture.add(unique(Unique::by("7")), at(4)).await, Enqueued::New(_)), "otherwise not");
}

/// Only jobs that were enqueued within the period count.
pub async fn a_unique_job_has_a_period(fixture: Fixture) {
    let within = |seconds| {
        let unique = Unique::by("7").within(Duration::from_secs(seconds)).also_finished();
        NewJob { unique: Some(unique), ..job("anna") }
    };
    let id = fixture.add(within(60), Millis(1_000)).await.id();
    assert_eq!(fixture.add(within(60), Millis(60_999)).await, Enqueued::Known(id));
    assert!(matches!(fixture.add(within(60), Millis(61_000)).await, Enqueued::New(_)));
}

/// A job that an effect brings is added once, also if the effect runs again after the job has finished.
pub async fn a_job_of_an_effect_is_added_once(fixture: Fixture) {
    let carried = || NewJob { once: Some("7-abc".into()), ..job("anna") };
    let id = fixture.add(carried(), at(1)).await.id();
    assert_eq!(fixture.add(carried(), at(2)).await, Enqueued::Known(id));
    fixture.run_one(JobState::Completed, at(3)).await;
    assert_eq!(fixture.add(carried(), at(4)).await, Enqueued::Known(id));
}

/// A paused queue starts nothing until it is resumed, also after a restart.
pub async fn a_paused_queue_starts_nothing(mut fixture: Fixture) {
    fixture.add_all(vec![job("one")]).await;
    assert_eq!(fixture.request(JobRequest::Pause("mail".into())).await, 1);
    assert_eq!(fixture.request(JobRequest::Pause("mail".into())).await, 0, "it is paused already");
    fixture.restart().await;
    assert!(fixture.start(5, at(2)).await.is_empty());
    assert!(fixture.poll().await.available.is_empty());
    assert_eq!(fixture.operator().paused_queues(BOT).await.expect("answered"), [Box::from("mail")]);
    assert_eq!(fixture.request(JobRequest::Resume("mail".into())).await, 1);
    assert_eq!(fixture.poll().await.available, [Box::from("mail")]);
    assert_eq!(named(&fixture.start(5, at(2)).await), ["one"]);
}

/// A waiting job is cancelled at once; the leader is told to end a running one.
pub async fn a_job_can_be_cancelled(fixture: Fixture) {
    let later = NewJob { when: When::At(at(50)), ..job("later") };
    let ids = fixture.add_all(vec![job("runs"), job("waits"), later]).await;
    let row = fixture.start(1, at(2)).await.remove(0);
    assert_eq!(fixture.poll().await.to_cancel, []);
    assert_eq!(fixture.request(JobRequest::Cancel(ids.clone())).await, 3);
    for id in &ids[1..] {
        let row = fixture.job(*id).await;
        assert_eq!((row.state, row.finished_at), (JobState::Cancelled, Some(at(9))));
    }
    assert!(fixture.start(5, at(60)).await.is_empty());
    assert_eq!(fixture.poll().await.to_cancel, [ids[0]]);
    assert!(fixture.update(JobUpdate::compare(&row)).await, "it still runs");
    assert_eq!(fixture.poll().await.to_cancel, [ids[0]], "a comparison does not forget the request");
    assert!(fixture.update(ended(&row, JobState::Cancelled, at(10))).await);
    assert_eq!(fixture.poll().await.to_cancel, []);
    assert_eq!(fixture.request(JobRequest::Cancel(ids)).await, 0, "they have finished");
}

/// An attempt that ends before the leader has read the request does not hide it: no other attempt follows.
pub async fn a_request_to_cancel_outlives_its_attempt(fixture: Fixture) {
    let ids = fixture.add_all(["fails", "snoozes", "succeeds"].map(job).into()).await;
    let rows = fixture.start(3, at(2)).await;
    assert_eq!(fixture.request(JobRequest::Cancel(ids.clone())).await, 3);
    let ends = [JobState::Available, JobState::Scheduled, JobState::Completed];
    for (row, state) in rows.iter().zip(ends) {
        assert!(fixture.update(JobUpdate { run_at: at(50), ..ended(row, state, at(10)) }).await);
    }
    for (id, state) in ids.iter().zip([JobState::Cancelled, JobState::Cancelled, JobState::Completed]) {
        let row = fixture.job(*id).await;
        assert_eq!((row.state, row.finished_at, row.cancel_requested), (state, Some(at(10)), false));
    }
    assert_eq!(fixture.poll().await, JobPoll::default());
    assert!(fixture.start(5, at(60)).await.is_empty());
}

/// An operator runs a finished job again, and a scheduled one at once.
pub async fn a_job_can_be_run_again(fixture: Fixture) {
    let ids = fixture.add_all(vec![NewJob { max_attempts: 1, ..job("fails") }]).await;
    fixture.run_one(JobState::Discarded, at(2)).await;
    let later = fixture.add_all(vec![NewJob { when: When::At(at(50)), ..job("later") }]).await[0];
    assert_eq!(fixture.request(JobRequest::Retry(vec![ids[0], later, JobId(999)])).await, 2);
    let row = fixture.job(ids[0]).await;
    assert_eq!((row.state, row.max_attempts, row.finished_at), (JobState::Available, 2, None));
    assert_eq!((row.run_at, row.scheduled_at), (at(9), at(0)), "its first time stays");
    let rows = fixture.start(5, at(9)).await;
    assert_eq!((named(&rows), rows[0].attempt), (vec!["fails", "later"], 2));
    assert_eq!(fixture.request(JobRequest::Retry(ids)).await, 0, "a running job stays as it is");
}

/// Results go first, then old finished jobs, then those above the limit. Jobs that wait or run stay.
pub async fn finished_jobs_are_pruned(fixture: Fixture) {
    let ids = fixture.add_all(["a", "b", "c", "d"].map(job).into()).await;
    let later = NewJob { when: When::At(at(5_000)), ..job("later") };
    fixture.add_all(vec![later, job("runs")]).await;
    for (number, row) in fixture.start(4, at(2)).await.into_iter().enumerate() {
        let when = at(100 * (i64::try_from(number).unwrap_or_default() + 1));
        let update = JobUpdate { result: Some("1".into()), ..ended(&row, JobState::Completed, when) };
        assert!(fixture.update(update).await);
    }
    fixture.start(1, at(2)).await;
    let prune = async |limits| fixture.store().prune_jobs(BOT, fixture.epoch, limits).await.expect("pruned");
    let left = async || fixture.jobs().await.into_iter().rev().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(prune(no_limits()).await, 0);
    assert_eq!(prune(JobLimits { results_before: at(201), ..no_limits() }).await, 2);
    assert_eq!(fixture.job(ids[1]).await.result, None);
    assert_eq!(fixture.job(ids[2]).await.result.as_deref(), Some("1"));
    assert_eq!(prune(JobLimits { finished_before: at(101), ..no_limits() }).await, 1);
    assert_eq!(left().await[..3], ids[1..]);
    assert_eq!(prune(JobLimits { max_finished: 1, ..no_limits() }).await, 2);
    assert_eq!(left().await[0], ids[3]);
    assert_eq!(left().await.len(), 3, "what waits or runs is not old");
}

/// A tick and its jobs are stored once, in one step.
pub async fn a_tick_happens_once(mut fixture: Fixture) {
    let tick = |from: Option<i64>, to| Tick { schedule: "daily".into(), from: from.map(at), to: at(to), now: at(to) };
    let note = async |fixture: &Fixture, tick, jobs| {
        fixture.store().tick_jobs(BOT, fixture.epoch, tick, jobs).await.expect("answered")
    };
    assert!(note(&fixture, tick(None, 5), Vec::new()).await);
    assert!(note(&fixture, tick(Some(5), 10), vec![job("first")]).await);
    assert!(!note(&fixture, tick(Some(5), 10), vec![job("again")]).await, "it was noted");
    assert!(!note(&fixture, tick(None, 10), vec![job("again")]).await, "it was noted");
    fixture.restart().await;
    assert_eq!(fixture.store().job_ticks(BOT).await.expect("answered"), [("daily".into(), at(10))]);
    assert!(!note(&fixture, tick(Some(5), 10), vec![job("again")]).await, "another leader has noted it");
    assert_eq!(named(&fixture.jobs().await), ["first"]);
}

/// Jobs are listed with the newest first, by a filter and in pages.
pub async fn jobs_are_listed_by_a_filter(fixture: Fixture) {
    let report = NewJob { queue: "reports".into(), ..job("report") };
    let ids = fixture.add_all(vec![job("one"), report, job("two"), job("two")]).await;
    fixture.run_one(JobState::Discarded, at(2)).await;
    assert_eq!(named(&fixture.jobs().await), ["two", "two", "report", "one"]);
    let all = || JobFilter { bot: BOT, ..JobFilter::default() };
    let list = async |filter: JobFilter, before, limit| {
        let rows = fixture.operator().jobs(&filter, before, limit).await.expect("answered");
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(list(all(), Some(ids[3]), 2).await, [ids[2], ids[1]]);
    assert_eq!(list(JobFilter { queue: Some("reports".into()), ..all() }, None, ALL).await, [ids[1]]);
    assert_eq!(list(JobFilter { name: Some("two".into()), ..all() }, None, ALL).await, [ids[3], ids[2]]);
    assert_eq!(list(JobFilter { state: Some(JobState::Discarded), ..all() }, None, ALL).await, [ids[0]]);
    assert_eq!(list(JobFilter { id: Some(ids[2]), ..all() }, None, ALL).await, [ids[2]]);
    assert_eq!(list(JobFilter { id: Some(JobId(999)), ..all() }, None, ALL).await, []);
}

/// Jobs are counted by queue, name and state, with the time of the oldest one that can start.
pub async fn jobs_are_counted(fixture: Fixture) {
    fixture.add_all(vec![job("first"), job("two"), NewJob { when: When::At(at(-7)), ..job("two") }]).await;
    fixture.run_one(JobState::Scheduled, at(700)).await;
    fixture.run_one(JobState::Completed, at(3)).await;
    let counts = async |finished_since| {
        let counts = fixture.store().job_counts(BOT, finished_since).await.expect("counted");
        let text = |count: &crate::store::JobCount| {
            format!("{} {} {} {}", count.queue, count.name, count.state.name(), count.jobs)
        };
        (counts.iter().map(text).collect::<Vec<_>>(), counts)
    };
    let (texts, rows) = counts(None).await;
    assert_eq!(texts, ["mail two scheduled 1", "mail two available 1"]);
    assert_eq!(rows[1].oldest, Some(at(0)));
    assert_eq!(rows[0].oldest, None, "it waits for its time");
    let (texts, rows) = counts(Some(at(3))).await;
    assert_eq!(texts, ["mail first completed 1", "mail two scheduled 1", "mail two available 1"]);
    assert_eq!(rows.iter().map(|count| count.recent).collect::<Vec<_>>(), [1, 0, 0]);
    assert_eq!(counts(Some(at(4))).await.1[0].recent, 0, "it finished before");
}
