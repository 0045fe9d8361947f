//! Jobs on a stage: attempts, and what their results make of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::attempt::rescued;
use super::{Job, JobContext, JobError, JobRequest, JobRow, JobState, MissedTicks, NewJob, Schedule, Workers};
use crate::clock::{Clock, Millis};
use crate::store::{LeaseAnswer, MemoryStore, Store, Tick};
use crate::testing::jobs::JobStage;
use crate::testing::{NOON, holder};
use crate::turn::Context;

/// Does what its text says.
#[derive(Clone, Serialize, Deserialize)]
struct Act(String);

impl Job for Act {
    const NAME: &'static str = "act";
    const MAX_ATTEMPTS: u32 = 3;

    fn backoff(attempt: u32) -> Duration {
        Duration::from_secs(60 * u64::from(attempt))
    }
}

async fn act(Act(what): Act, context: JobContext) -> Result<Option<String>, JobError> {
    match (&*what, context.attempt()) {
        ("fails", _) | ("fails once", 1) => Err(std::io::Error::other("no").into()),
        ("panics", _) => panic!("oh no"),
        ("hangs", _) => std::future::pending().await,
        ("gives up", _) => Err(JobError::Discard("in vain".to_owned())),
        ("steps back", _) => Err(JobError::Cancel("not needed".to_owned())),
        ("sleeps twice, then fails", 1..=2) => Err(JobError::Snooze(Duration::from_secs(3600).into())),
        ("sleeps twice, then fails", _) => Err(std::io::Error::other("no").into()),
        ("says much", _) => Ok(Some("a".repeat(1 << 20))),
        ("sleeps once", 1) => Err(JobError::Snooze(Duration::from_secs(3600).into())),
        _ => Ok(Some(format!("{what} at {}", context.attempt()))),
    }
}

fn stage() -> JobStage {
    JobStage::new(Workers::new().worker(act))
}

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

#[tokio::test]
async fn a_failed_job_is_tried_again_until_it_is_discarded() {
    let stage = stage();
    let id = stage.enqueue(Act("fails".to_owned())).await;
    stage.run_due().await;
    let row = stage.job(id).await;
    assert_eq!((row.state, row.attempt), (JobState::Scheduled, 1));
    let pause = row.run_at.since(NOON);
    assert!((minutes(1)..=Duration::from_secs(75)).contains(&pause), "{pause:?}");
    assert!(stage.advance(Duration::from_secs(59)).await.is_empty());
    stage.advance(minutes(1)).await;
    assert_eq!(stage.job(id).await.attempt, 2);
    let rows = stage.advance(minutes(5)).await;
    assert_eq!((rows[0].state, rows[0].errors.len()), (JobState::Discarded, 3));
    assert_eq!(rows[0].errors[2].reason, "no");
    assert!(stage.advance(minutes(600)).await.is_empty());
    assert_eq!(stage.request(JobRequest::Retry(vec![id])).await, 1);
    assert_eq!(stage.run_due().await[0].attempt, 4, "an operator may ask for one more");
}

#[tokio::test]
async fn a_job_succeeds_at_its_second_attempt() {
    let stage = stage();
    let id = stage.enqueue(Act("fails once".to_owned())).await;
    stage.run_due().await;
    stage.advance(minutes(2)).await;
    let row = stage.job(id).await;
    assert_eq!((row.state, row.result.as_deref()), (JobState::Completed, Some("\"fails once at 2\"")));
    assert_eq!(row.errors.len(), 1);
}

#[tokio::test]
async fn a_job_ends_as_it_says() {
    let stage = stage();
    for (what, state, reason) in [
        ("gives up", JobState::Discarded, "in vain"),
        ("steps back", JobState::Cancelled, "not needed"),
        ("panics", JobState::Scheduled, "panicked"),
        ("says much", JobState::Discarded, "1048578 bytes"),
    ] {
        let id = stage.enqueue(Act(what.to_owned())).await;
        stage.run_due().await;
        let row = stage.job(id).await;
        assert_eq!(row.state, state, "{what}");
        assert!(row.errors[0].reason.contains(reason), "{:?}", row.errors);
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_hangs_is_ended() {
    let stage = stage();
    let id = stage.enqueue(Act("hangs".to_owned())).await;
    stage.run_due().await;
    let row = stage.job(id).await;
    assert!(row.state == JobState::Scheduled && row.errors[0].reason.contains("longer than 300s"), "{row:?}");
}

#[tokio::test]
async fn a_snoozed_attempt_does_not_count() {
    let stage = stage();
    let id = stage.enqueue(NewJob::from(Act("sleeps once".to_owned())).max_attempts(1)).await;
    stage.run_due().await;
    let row = stage.job(id).await;
    assert_eq!((row.state, row.max_attempts, row.run_at), (JobState::Scheduled, 2, NOON.plus(minutes(60))));
    assert!(row.errors.is_empty());
    assert_eq!(stage.advance(minutes(60)).await[0].state, JobState::Completed);
}

#[tokio::test]
async fn a_snoozed_attempt_does_not_lengthen_the_backoff() {
    let stage = stage();
    let id = stage.enqueue(Act("sleeps twice, then fails".to_owned())).await;
    stage.run_due().await;
    stage.advance(minutes(60)).await;
    stage.advance(minutes(60)).await;
    let row = stage.job(id).await;
    assert_eq!((row.attempt, row.errors.len()), (3, 1));
    let pause = row.run_at.since(NOON.plus(minutes(120)));
    assert!((minutes(1)..=Duration::from_secs(75)).contains(&pause), "{pause:?}");
}

#[tokio::test]
async fn a_backoff_may_be_endless_or_panic() {
    #[derive(Serialize, Deserialize)]
    struct Patient {}
    impl Job for Patient {
        const NAME: &'static str = "patient";

        fn backoff(failed_attempts: u32) -> Duration {
            assert!(failed_attempts < 2, "no more");
            Duration::MAX
        }
    }
    let fail = async |_: Patient, _: JobContext| Err::<(), _>(std::io::Error::other("no").into());
    let stage = JobStage::new(Workers::new().worker(fail));
    let id = stage.enqueue(Patient {}).await;
    stage.run_due().await;
    let pause = stage.job(id).await.run_at.since(NOON);
    assert!(pause >= minutes(365 * 24 * 60), "{pause:?}");
    stage.request(JobRequest::Retry(vec![id])).await;
    stage.run_due().await;
    let row = stage.job(id).await;
    assert!(row.state == JobState::Scheduled && row.run_at.since(NOON) <= minutes(2), "{row:?}");
}

#[tokio::test]
async fn a_job_without_a_function_waits_for_one() {
    #[derive(Serialize, Deserialize)]
    struct Unknown {}
    impl Job for Unknown {
        const NAME: &'static str = "unknown";
    }
    let stage = stage();
    let id = stage.enqueue(Unknown {}).await;
    stage.run_due().await;
    let row = stage.job(id).await;
    assert!(row.state == JobState::Scheduled && row.errors[0].reason.contains("no function"), "{row:?}");
    for _ in 0..30 {
        stage.advance(minutes(2)).await;
    }
    let row = stage.job(id).await;
    assert!(row.state == JobState::Scheduled && row.errors.len() == 1 && row.attempt > 20, "{row:?}");
}

#[tokio::test]
async fn an_error_that_cannot_be_written_fails_only_its_attempt() {
    #[derive(Debug)]
    struct Unspeakable;
    impl std::fmt::Display for Unspeakable {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("no words")
        }
    }
    impl std::error::Error for Unspeakable {}
    let stage = JobStage::new(Workers::new().worker(async |_: Act, _: JobContext| Err::<(), _>(Unspeakable.into())));
    let id = stage.enqueue(Act(String::new())).await;
    stage.run_due().await;
    assert!(stage.job(id).await.errors[0].reason.contains("panicked"));
}

#[test]
fn a_job_that_ends_its_instances_waits_after_the_second_time() {
    let row = |errors| JobRow { state: JobState::Running, attempt: 2, max_attempts: 9, errors, ..JobRow::default() };
    let (first, _) = rescued(&row(Vec::new()), NOON, minutes(3));
    assert_eq!((first.state, first.run_at), (JobState::Available, NOON));
    let (second, _) = rescued(&row(first.errors), NOON, minutes(3));
    assert_eq!((second.state, second.run_at), (JobState::Scheduled, NOON.plus(minutes(3))));
}

#[tokio::test]
async fn a_later_attempt_knows_the_tick_of_its_job() {
    let ticks = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let seen = Arc::clone(&ticks);
    let fails_once = move |_: Act, context: JobContext| {
        seen.lock().push(context.scheduled_at());
        async move { if context.attempt() == 1 { Err(std::io::Error::other("no").into()) } else { Ok::<(), JobError>(()) } }
    };
    let schedule = Schedule::new("daily", "0 4 * * *", "UTC", Act(String::new())).unwrap();
    let stage = JobStage::new(Workers::new().worker(fails_once)).schedules([schedule]);
    stage.run_due().await;
    stage.advance(minutes(16 * 60)).await;
    stage.advance(minutes(5)).await;
    assert_eq!(*ticks.lock(), [NOON.plus(minutes(16 * 60)); 2]);
}

#[test]
#[should_panic(expected = "is not a name of a job or a queue")]
fn a_queue_has_a_plain_name() {
    NewJob::check_all(&[NewJob::from(Act(String::new())).queue("a|b")]).unwrap_or_else(|mistake| panic!("{mistake}"));
}

/// The ticks of a schedule within a time, as `month-day hour:minute` in UTC.
fn ticks(cron: &str, zone: &str, (from, to): (&str, &str)) -> Vec<String> {
    let schedule = Schedule::new("test", cron, zone, Act(String::new())).unwrap();
    let millis = |text: &str| Millis(chrono::DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis());
    let ticks = std::iter::successors(schedule.next_after(millis(from)), |tick| schedule.next_after(*tick));
    let text =
        |tick: Millis| chrono::DateTime::from_timestamp_millis(tick.0).unwrap().format("%m-%d %H:%M").to_string();
    ticks.take_while(|tick| *tick <= millis(to)).map(text).collect()
}

#[test]
fn a_fixed_time_has_one_tick_in_each_night_with_a_change() {
    // 29 March 2026: 02:00 becomes 03:00, so 02:30 does not exist. 25 October: 03:00 becomes 02:00, so it comes twice.
    let spring = ticks("30 2 * * *", "Europe/Berlin", ("2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z"));
    assert_eq!(spring, ["03-29 01:00", "03-30 00:30"]);
    let autumn = ticks("30 2 * * *", "Europe/Berlin", ("2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z"));
    assert_eq!(autumn, ["10-25 00:30", "10-26 01:30"]);
    let hourly = ticks("0 * * * *", "Europe/Berlin", ("2026-10-24T23:30:00Z", "2026-10-25T03:00:00Z"));
    assert_eq!(hourly, ["10-25 00:00", "10-25 01:00", "10-25 02:00", "10-25 03:00"]);
}

#[test]
fn a_schedule_knows_leap_days_and_new_year() {
    assert_eq!(ticks("0 9 29 2 *", "UTC", ("2026-01-01T00:00:00Z", "2029-01-01T00:00:00Z")), ["02-29 09:00"]);
    let slots = ticks("0 3 1 12 *", "Asia/Vladivostok", ("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"));
    assert_eq!(slots, ["11-30 17:00"]);
}

#[test]
fn a_wrong_schedule_is_refused() {
    for (cron, zone) in [("* * * *", "UTC"), ("0 0 * * * *", "UTC"), ("0 0 30 2 *", "UTC"), ("0 4 * * *", "Mars")] {
        let schedule = Schedule::new("test", cron, zone, Act(String::new()));
        assert!(schedule.is_err(), "{cron} in {zone}: {schedule:?}");
    }
}

/// Over a year with both changes of the clock, a search backwards finds the same ticks as one forwards.
#[test]
fn ticks_are_the_same_in_both_directions() {
    for cron in ["30 2 * * *", "*/30 * * * *", "0 4 1 * *"] {
        for policy in [MissedTicks::RunOnce, MissedTicks::CatchUp] {
            let schedule = Schedule::new("test", cron, "Europe/Berlin", Act(String::new())).unwrap().missed(policy);
            let mut noted = NOON;
            let mut count = 0;
            while let Some(next) = schedule.next_after(noted)
                && next < NOON.plus(Duration::from_secs(365 * 24 * 3600))
            {
                assert_eq!(schedule.due(noted, Millis(next.0 - 1)), None, "{cron}");
                assert_eq!(schedule.due(noted, next), Some((next, vec![next])), "{cron}");
                (noted, count) = (next, count + 1);
            }
            assert!(count >= 12);
        }
    }
}

async fn ran_after_three_days_off(missed: MissedTicks) -> (usize, Vec<Millis>) {
    let schedule = || Schedule::new("daily", "0 4 * * *", "UTC", Act("x".to_owned())).unwrap().missed(missed);
    let store = Arc::new(MemoryStore::new());
    let clock = Clock::manual(NOON);
    let workers = || Workers::new().worker(act);
    let stage = JobStage::on(workers(), Context::new(), store, clock).schedules([schedule()]);
    assert!(stage.run_due().await.is_empty(), "a new schedule begins now");
    let rows = stage.advance(minutes(3 * 24 * 60)).await;
    let late = rows.iter().map(|row| row.run_at).collect();
    assert!(stage.run_due().await.is_empty(), "every tick happens once");
    // The next tick is on time.
    assert_eq!(stage.advance(minutes(16 * 60)).await.len(), 1);
    (rows.len(), late)
}

#[tokio::test]
async fn missed_ticks_follow_the_policy() {
    let fours = |day: u64| NOON.plus(minutes((16 + 24 * day) * 60));
    assert_eq!(ran_after_three_days_off(MissedTicks::Skip).await, (0, vec![]));
    assert_eq!(ran_after_three_days_off(MissedTicks::RunOnce).await, (1, vec![fours(2)]));
    assert_eq!(ran_after_three_days_off(MissedTicks::CatchUp).await, (3, vec![fours(0), fours(1), fours(2)]));
}

#[tokio::test]
async fn a_unique_job_of_a_schedule_does_not_pile_up() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    #[derive(Clone, Serialize, Deserialize)]
    struct Sweep {}
    impl Job for Sweep {
        const NAME: &'static str = "sweep";
        fn unique(&self) -> Option<super::Unique> {
            Some(super::Unique::by(""))
        }
    }
    async fn sweep(_: Sweep, _: JobContext) -> Result<(), JobError> {
        RUNS.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
    let schedule = Schedule::new("sweep", "*/10 * * * *", "UTC", Sweep {}).unwrap().missed(MissedTicks::CatchUp);
    let stage = JobStage::new(Workers::new().worker(sweep)).schedules([schedule]);
    stage.run_due().await;
    assert_eq!(stage.advance(minutes(60)).await.len(), 1);
    assert_eq!(RUNS.load(Ordering::SeqCst), 1);
}

/// A wrong clock noted a tick of next month. After its correction the schedule must not be silent until then.
#[tokio::test]
async fn a_noted_tick_in_the_future_is_noted_again() {
    let day = Duration::from_secs(24 * 3600);
    for (ahead, ticks) in [(day * 30, 2), (day, 1)] {
        let store = Arc::new(MemoryStore::new());
        let LeaseAnswer::Granted(epoch) = store.claim(7, &holder("before"), None).await.unwrap() else {
            panic!("no lease")
        };
        let tick = Tick { schedule: "daily".into(), from: None, to: NOON.plus(ahead), now: NOON };
        assert!(store.tick_jobs(7, epoch, tick, Vec::new()).await.unwrap());
        store.release(7, epoch).await.unwrap();
        let stage = JobStage::on(Workers::new().worker(act), Context::new(), store, Clock::manual(NOON));
        let stage = stage.schedules([Schedule::new("daily", "0 4 * * *", "UTC", Act("x".to_owned())).unwrap()]);
        assert!(stage.run_due().await.is_empty(), "no tick is due");
        let ran = [stage.advance(minutes(16 * 60)).await.len(), stage.advance(day).await.len()];
        assert_eq!(ran.into_iter().sum::<usize>(), ticks, "{ahead:?}");
    }
}
