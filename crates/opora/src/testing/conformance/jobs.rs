//! Jobs: queues, attempts that are counted, and leases that are compared.

use super::fixture::{ALL, BOT, Fixture, OTHER_BOT, at, fenced, granted, holder};
use super::{Start, Subject};
use crate::clock::{Millis, When};
use crate::store::{
    Enqueued, Epoch, JobFailure, JobFilter, JobId, JobLimits, JobPoll, JobRequest, JobRow, JobStart, JobState,
    JobUpdate, NewJob, Tick, Unique,
};

/// A job in the queue `mail`.
pub(super) fn job(name: &str) -> NewJob {
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

/// Starts jobs of these queues.
pub(super) fn start(queues: &[(&str, usize)], now: Millis) -> JobStart {
    let queues = queues.iter().map(|(queue, limit)| (Box::from(*queue), *limit)).collect();
    JobStart { queues, also_scheduled: true, now }
}

pub(super) fn named(rows: &[JobRow]) -> Vec<&str> {
    rows.iter().map(|row| &*row.name).collect()
}

/// The end of an attempt.
pub(super) fn ended(row: &JobRow, state: JobState, when: Millis) -> JobUpdate {
    JobUpdate { state, run_at: when, at: when, ..JobUpdate::compare(row) }
}

pub(super) fn no_limits() -> JobLimits {
    JobLimits { results_before: Millis(i64::MIN), finished_before: Millis(i64::MIN), max_finished: usize::MAX >> 1 }
}

impl Fixture {
    pub(super) async fn add(&self, job: NewJob, now: Millis) -> Enqueued {
        self.store().enqueue_jobs(BOT, vec![job], now).await.expect("a job is enqueued")[0]
    }

    pub(super) async fn add_all(&self, jobs: Vec<NewJob>) -> Vec<JobId> {
        let enqueued = self.store().enqueue_jobs(BOT, jobs, at(1)).await.expect("jobs are enqueued");
        enqueued.into_iter().map(Enqueued::id).collect()
    }

    pub(super) async fn start(&self, limit: usize, now: Millis) -> Vec<JobRow> {
        let wanted = start(&[("mail", limit)], now);
        self.store().start_jobs(BOT, self.epoch, wanted).await.expect("jobs are started")
    }

    pub(super) async fn update(&self, update: JobUpdate) -> bool {
        let applied = self.store().update_jobs(BOT, self.epoch, vec![update], None).await.expect("answered");
        applied[0]
    }

    pub(super) async fn jobs(&self) -> Vec<JobRow> {
        let filter = JobFilter { bot: BOT, ..JobFilter::default() };
        self.operator().jobs(&filter, None, ALL).await.expect("jobs can be listed")
    }

    pub(super) async fn job(&self, id: JobId) -> JobRow {
        let filter = JobFilter { bot: BOT, id: Some(id), ..JobFilter::default() };
        self.operator().jobs(&filter, None, ALL).await.expect("answered").pop().expect("the job is there")
    }

    pub(super) async fn request(&self, request: JobRequest) -> u64 {
        self.operator().request_jobs(BOT, request, at(9)).await.expect("a request is stored")
    }

    pub(super) async fn poll(&self) -> JobPoll {
        self.store().poll_jobs(BOT).await.expect("answered")
    }

    /// Starts one job and ends its attempt.
    pub(super) async fn run_one(&self, state: JobState, when: Millis) -> JobRow {
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
    assert_eq!(fixture.poll().await, JobPoll { next_scheduled: Some(at(20)), ..JobPoll::default() });
    assert!(fixture.start(5, at(19)).await.is_empty());
    fixture.add_all(vec![job("now")]).await;
    let poll = fixture.poll().await;
    assert_eq!((poll.available, poll.next_scheduled), (vec!["mail".into()], Some(at(20))), "one can start at once");
    let only_available = JobStart { also_scheduled: false, ..start(&[("mail", 5)], at(20)) };
    let rows = fixture.store().start_jobs(BOT, fixture.epoch, only_available).await.expect("jobs are started");
    assert_eq!(named(&rows), ["now"], "without the scheduled ones");
    assert_eq!(named(&fixture.start(5, at(20)).await), ["later"]);
    assert_eq!(fixture.poll().await, JobPoll::default());
    let never = NewJob { when: When::At(Millis(i64::MAX)), ..job("never") };
    let overdue = NewJob { when: When::At(Millis(i64::MIN)), ..job("overdue") };
    fixture.add_all(vec![never, overdue]).await;
    assert_eq!(fixture.poll().await.available, [Box::from("mail")], "any time can be stored");
    assert_eq!(named(&fixture.start(5, at(20)).await), ["overdue"]);
    assert!(fixture.poll().await.next_scheduled.is_some_and(|due| due > at(1_000_000)));
}

/// A queue starts its own jobs, at most as many as asked for.
pub async fn a_queue_starts_only_its_own_jobs(fixture: Fixture) {
    let report = NewJob { queue: "reports".into(), ..job("report") };
    fixture.add_all(vec![job("one"), report, job("two"), job("three")]).await;
    assert_eq!(named(&fixture.start(2, at(2)).await), ["one", "two"]);
    let wanted = start(&[("reports", 5), ("mail", 5)], at(2));
    let rows = fixture.store().start_jobs(BOT, fixture.epoch, wanted).await.expect("answered");
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
    fenced(store.start_jobs(BOT, old, start(&[("mail", 5)], at(3))).await);
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

/// Bots of one store do not see each other's jobs.
pub async fn each_bot_has_its_own_jobs(fixture: Fixture) {
    let other: Epoch = granted(fixture.store().claim(OTHER_BOT, &holder("other"), None).await);
    let unique = || NewJob { unique: Some(Unique::by("7")), ..job("anna") };
    fixture.add(unique(), at(1)).await;
    let wanted = start(&[("mail", 5)], at(2));
    let rows = fixture.store().start_jobs(OTHER_BOT, other, wanted).await.expect("answered");
    assert_eq!(rows, []);
    let added = fixture.store().enqueue_jobs(OTHER_BOT, vec![unique()], at(1)).await.expect("enqueued");
    assert!(matches!(added[0], Enqueued::New(_)), "the same key of another bot");
    assert_eq!(fixture.start(5, at(2)).await.len(), 1);
    let filter = JobFilter { bot: OTHER_BOT, ..JobFilter::default() };
    assert_eq!(fixture.operator().jobs(&filter, None, ALL).await.expect("answered").len(), 1);
}
