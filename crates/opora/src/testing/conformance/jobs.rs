//! Jobs: attempts that are counted, queues, uniqueness, schedules and requests of an operator.

use std::time::Duration;

use super::fixture::{ALL, BOT, Fixture, OTHER_BOT, at, fenced, granted, holder};
use super::{Start, Subject};
use crate::clock::{Millis, When};
use crate::store::{
    Enqueued, Epoch, JobFailure, JobFilter, JobId, JobLimits, JobPoll, JobRequest, JobRow, JobState, JobUpdate, NewJob,
    Tick, Unique,
};

/// A job in the queue `mail`.
fn job(name: &str) -> NewJob {
    NewJob {
        name: name.into(),
        queue: "mail".into(),
        args: format!(r#"{{"to":"{name}"}}"#).into(),
        priority: 0,
        when: When::At(at(0)),
        max_attempts: 3,
        unique: None,
        once: None,
        mistake: None,
    }
}

fn named(rows: &[JobRow]) -> Vec<&str> {
    rows.iter().map(|row| &*row.name).collect()
}

/// The end of an attempt.
fn ended(row: &JobRow, state: JobState, when: Millis) -> JobUpdate {
    JobUpdate { state, run_at: when, at: when, ..JobUpdate::compare(row) }
}

fn no_limits() -> JobLimits {
    JobLimits { results_before: Millis(i64::MIN), finished_before: Millis(i64::MIN), max_finished: usize::MAX >> 1 }
}

impl Fixture {
    async fn add(&self, job: NewJob, now: Millis) -> Enqueued {
        self.store().enqueue_jobs(BOT, vec![job], now).await.expect("a job is enqueued")[0]
    }

    async fn add_all(&self, jobs: Vec<NewJob>) -> Vec<JobId> {
        let enqueued = self.store().enqueue_jobs(BOT, jobs, at(1)).await.expect("jobs are enqueued");
        enqueued.into_iter().map(Enqueued::id).collect()
    }

    async fn start(&self, limit: usize, now: Millis) -> Vec<JobRow> {
        let wanted = vec![("mail".into(), limit)];
        self.store().start_jobs(BOT, self.epoch, wanted, now).await.expect("jobs are started")
    }

    async fn update(&self, update: JobUpdate) -> bool {
        let applied = self.store().update_jobs(BOT, self.epoch, vec![update], None).await.expect("answered");
        applied[0]
    }

    async fn jobs(&self) -> Vec<JobRow> {
        let filter = JobFilter { bot: BOT, ..JobFilter::default() };
        self.operator().jobs(&filter, None, ALL).await.expect("jobs can be listed")
    }

    async fn job(&self, id: JobId) -> JobRow {
        let filter = JobFilter { bot: BOT, id: Some(id), ..JobFilter::default() };
        self.operator().jobs(&filter, None, ALL).await.expect("answered").pop().expect("the job is there")
    }

    async fn request(&self, request: JobRequest) -> u64 {
        self.operator().request_jobs(BOT, request, at(9)).await.expect("a request is stored")
    }

    async fn poll(&self) -> JobPoll {
        self.store().poll_jobs(BOT).await.expect("answered")
    }

    /// Starts one job and ends its attempt.
    async fn run_one(&self, state: JobState, when: Millis) -> JobRow {
        let row = self.start(1, when).await.remove(0);
        assert!(self.update(ended(&row, state, when)).await, "the attempt is running");
        row
    }
}

/// A job waits, runs and completes; every step is durable, and its values stay as they were.
pub async fn a_job_runs_once_until_it_completes(mut fixture: Fixture) {
    let id = fixture.add_all(vec![NewJob { priority: 4, ..job("anna") }]).await[0];
    let row = fixture.start(5, at(2)).await.remove(0);
    assert_eq!((row.id, row.bot, &*row.name, &*row.queue), (id, BOT, "anna", "mail"));
    assert_eq!((&*row.args, row.state, row.priority), (r#"{"to":"anna"}"#, JobState::Running, 4));
    assert_eq!((row.attempt, row.max_attempts, row.epoch), (1, 3, fixture.epoch));
    assert_eq!((row.enqueued_at, row.started_at, row.finished_at), (at(1), Some(at(2)), None));
    assert!(fixture.start(5, at(3)).await.is_empty(), "a running job is not started again");
    let update = JobUpdate { result: Some(r#""sent""#.into()), ..ended(&row, JobState::Completed, at(4)) };
    assert!(fixture.update(update.clone()).await);
    assert!(!fixture.update(update).await, "an attempt ends once");
    fixture.restart().await;
    let row = fixture.job(id).await;
    assert_eq!(
        (row.state, row.finished_at, row.result.as_deref()),
        (JobState::Completed, Some(at(4)), Some(r#""sent""#))
    );
    assert!(fixture.start(5, at(5)).await.is_empty());
}

/// The lowest priority number goes first, then the earliest time, then the order of arrival.
pub async fn jobs_start_in_their_order(fixture: Fixture) {
    let bulk = NewJob { priority: 5, ..job("bulk") };
    let early = NewJob { when: When::At(at(-5)), ..job("early") };
    fixture.add_all(vec![bulk, job("one"), early, job("two")]).await;
    assert_eq!(named(&fixture.start(3, at(2)).await), ["early", "one", "two"]);
    assert_eq!(named(&fixture.start(3, at(2)).await), ["bulk"]);
}

/// A job for later waits for its time, and the store knows when that is.
pub async fn a_job_starts_at_its_time(fixture: Fixture) {
    assert_eq!(fixture.poll().await, JobPoll::default());
    fixture.add_all(vec![NewJob { when: When::At(at(20)), ..job("later") }]).await;
    assert_eq!(fixture.jobs().await[0].state, JobState::Scheduled);
    assert_eq!(fixture.poll().await.next_due, Some(at(20)));
    assert!(fixture.start(5, at(19)).await.is_empty());
    fixture.add_all(vec![job("now")]).await;
    assert!(fixture.poll().await.next_due.is_some_and(|due| due <= at(1)), "another one is due before");
    assert_eq!(named(&fixture.start(5, at(20)).await), ["now", "later"]);
    assert_eq!(fixture.poll().await.next_due, None);
    let never = NewJob { when: When::At(Millis(i64::MAX)), ..job("never") };
    let overdue = NewJob { when: When::At(Millis(i64::MIN)), ..job("overdue") };
    fixture.add_all(vec![never, overdue]).await;
    assert!(fixture.poll().await.next_due.is_some_and(|due| due <= at(1)), "any time can be stored");
    assert_eq!(named(&fixture.start(5, at(20)).await), ["overdue"]);
    assert!(fixture.poll().await.next_due.is_some_and(|due| due > at(1_000_000)));
}

/// A queue starts its own jobs, at most as many as asked for.
pub async fn a_queue_starts_only_its_own_jobs(fixture: Fixture) {
    let report = NewJob { queue: "reports".into(), ..job("report") };
    fixture.add_all(vec![job("one"), report, job("two"), job("three")]).await;
    assert_eq!(named(&fixture.start(2, at(2)).await), ["one", "two"]);
    let wanted = vec![("reports".into(), 5), ("mail".into(), 5)];
    let rows = fixture.store().start_jobs(BOT, fixture.epoch, wanted, at(2)).await.expect("answered");
    assert_eq!(named(&rows), ["report", "three"]);
    let running = async |after, limit| fixture.store().running_jobs(BOT, after, limit).await.expect("answered");
    let first = running(JobId::default(), 3).await;
    assert_eq!(named(&first), ["one", "report", "two"], "running jobs are read in pages");
    assert_eq!(named(&running(first[2].id, 3).await), ["three"]);
}

/// Attempts and their failures are counted over restarts.
pub async fn attempts_are_counted_over_restarts(mut fixture: Fixture) {
    let id = fixture.add_all(vec![job("anna")]).await[0];
    let mut errors = Vec::new();
    for attempt in 1..=3 {
        let row = fixture.start(1, at(10 * i64::from(attempt))).await.remove(0);
        assert_eq!((row.attempt, &row.errors), (attempt, &errors));
        errors.push(JobFailure { attempt, at: at(5), reason: format!("no: \u{0} \"{attempt}\" нет") });
        let update = ended(&row, JobState::Scheduled, at(10 * i64::from(attempt) + 5));
        assert!(fixture.update(JobUpdate { errors: errors.clone(), max_attempts: 7, ..update }).await);
        fixture.restart().await;
    }
    let row = fixture.job(id).await;
    assert_eq!((row.attempt, row.max_attempts, row.run_at, row.errors), (3, 7, at(35), errors));
}

/// An attempt that a later leader has ended completes nothing.
pub async fn an_ended_attempt_completes_nothing(mut fixture: Fixture) {
    let id = fixture.add_all(vec![job("anna")]).await[0];
    let first = fixture.start(1, at(2)).await.remove(0);
    fixture.restart().await;
    let running = fixture.store().running_jobs(BOT, JobId::default(), ALL).await.expect("answered");
    assert_eq!(running, std::slice::from_ref(&first), "the new leader sees what was running");
    assert!(fixture.update(ended(&first, JobState::Available, at(3))).await, "the new leader puts it back");
    let second = fixture.start(1, at(4)).await.remove(0);
    assert_eq!((second.attempt, second.epoch), (2, fixture.epoch));
    assert!(!fixture.update(ended(&first, JobState::Completed, at(5))).await, "the attempt is another one");
    assert!(fixture.update(JobUpdate::compare(&second)).await, "the second attempt still counts");
    let same_attempt = JobUpdate { epoch: first.epoch, ..ended(&second, JobState::Completed, at(5)) };
    assert!(!fixture.update(same_attempt).await, "the lease is another one");
    assert_eq!(fixture.job(id).await, second);
}

/// An instance that has lost its lease neither starts nor ends, prunes or ticks anything.
pub async fn an_old_instance_cannot_run_jobs(fixture: Fixture) {
    fixture.add_all(vec![job("one"), job("two")]).await;
    let row = fixture.start(1, at(2)).await.remove(0);
    fixture.take_over().await;
    let before = fixture.jobs().await;
    let (store, old) = (fixture.store(), fixture.epoch);
    fenced(store.start_jobs(BOT, old, vec![("mail".into(), 5)], at(3)).await);
    fenced(store.update_jobs(BOT, old, vec![ended(&row, JobState::Completed, at(3))], None).await);
    fenced(store.prune_jobs(BOT, old, JobLimits { max_finished: 0, ..no_limits() }).await);
    let tick = Tick { schedule: "daily".into(), from: None, to: at(3), now: at(3) };
    fenced(store.tick_jobs(BOT, old, tick, vec![job("daily")]).await);
    assert_eq!(fixture.jobs().await, before);
    assert!(store.job_ticks(BOT).await.expect("answered").is_empty());
}

/// Any instance enqueues jobs, with or without a leader, and they survive a restart.
pub async fn jobs_are_enqueued_without_a_lease(mut subject: Subject) {
    let enqueued = subject.store().enqueue_jobs(BOT, vec![job("one"), job("two")], at(1)).await.expect("enqueued");
    let [Enqueued::New(one), Enqueued::New(two)] = enqueued[..] else { panic!("two new jobs: {enqueued:?}") };
    assert!(one < two, "ids rise");
    subject.restart().await;
    let fixture = Fixture::from_subject(subject).await;
    assert_eq!(fixture.start(5, at(2)).await.iter().map(|row| row.id).collect::<Vec<_>>(), [one, two]);
}

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
    assert_eq!(fixture.poll().await.next_due, None);
    assert_eq!(fixture.operator().paused_queues(BOT).await.expect("answered"), [Box::from("mail")]);
    assert_eq!(fixture.request(JobRequest::Resume("mail".into())).await, 1);
    assert!(fixture.poll().await.next_due.is_some());
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

/// Bots of one store do not see each other's jobs.
pub async fn each_bot_has_its_own_jobs(fixture: Fixture) {
    let other: Epoch = granted(fixture.store().claim(OTHER_BOT, &holder("other"), None).await);
    let unique = || NewJob { unique: Some(Unique::by("7")), ..job("anna") };
    fixture.add(unique(), at(1)).await;
    let rows = fixture.store().start_jobs(OTHER_BOT, other, vec![("mail".into(), 5)], at(2)).await.expect("answered");
    assert_eq!(rows, []);
    let added = fixture.store().enqueue_jobs(OTHER_BOT, vec![unique()], at(1)).await.expect("enqueued");
    assert!(matches!(added[0], Enqueued::New(_)), "the same key of another bot");
    assert_eq!(fixture.start(5, at(2)).await.len(), 1);
    let filter = JobFilter { bot: OTHER_BOT, ..JobFilter::default() };
    assert_eq!(fixture.operator().jobs(&filter, None, ALL).await.expect("answered").len(), 1);
}
