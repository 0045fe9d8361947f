//! The runner of jobs in a bot: queues that nothing serves, rates, reads of the store, and old jobs.

use std::sync::Arc;
use std::time::Duration;

use opora::clock::{Clock, Millis};
use opora::jobs::{Job, JobError, JobFilter, JobRow, JobState, NewJob, QueueSettings};
use opora::prelude::*;
use opora::store::{JobStart, JobUpdate, LeaseAnswer, MemoryStore, Store};
use opora::testing::faulty::FaultyStore;
use opora::testing::{NOON, clock_at_noon, holder};

use super::log_capture::LogCapture;
use crate::stage::{BOT, Running, Stage, until};

/// Does nothing.
#[derive(Clone, Serialize, Deserialize)]
struct Nod {}

impl Job for Nod {
    const NAME: &'static str = "nod";
}

fn nodding(stage: &Stage, store: &Arc<dyn Store>, clock: &Clock) -> Bot {
    let bot = stage.bot(store).clock(clock.clone()).worker(async |_: Nod, _| Ok::<_, JobError>(()));
    // After a jump of the clock the lease is renewed soon.
    bot.settings(|settings| settings.lease.ttl = Duration::from_millis(500))
}

async fn jobs(store: &Arc<dyn Store>) -> Vec<JobRow> {
    let filter = JobFilter { bot: BOT, ..JobFilter::default() };
    store.operator().jobs(&filter, None, 10_000).await.unwrap()
}

async fn completed(store: &Arc<dyn Store>) -> usize {
    jobs(store).await.iter().filter(|row| row.state == JobState::Completed).count()
}

#[tokio::test]
async fn a_queue_that_nothing_serves_is_logged_once() {
    let log = LogCapture::begin();
    let (stage, store) = (Stage::new().await, crate::stage::memory());
    let bot = Running::start(nodding(&stage, &store, &Clock::machine()));
    until("the bot", async || bot.handle.is_running()).await;
    for queue in ["x", "x", "y"] {
        bot.handle.enqueue(NewJob::from(Nod {}).queue(queue)).await.unwrap();
    }
    let logged = |queue: &str| {
        let is_it = |line: &&String| line.contains("its jobs wait") && line.ends_with(&format!("queue={queue}"));
        log.lines().iter().filter(is_it).count()
    };
    until("both are logged", async || logged("x") > 0 && logged("y") > 0).await;
    // Later looks at the store find the jobs again.
    bot.handle.enqueue(Nod {}).await.unwrap();
    until("another job", async || completed(&store).await == 1).await;
    bot.stops().await;
    assert_eq!((logged("x"), logged("y"), logged("default")), (1, 1, 0), "{:#?}", log.lines());
}

/// Another instance has enqueued it, so that only a look at the store finds it.
#[tokio::test]
async fn a_job_of_another_instance_in_an_unserved_queue_is_logged() {
    let log = LogCapture::begin();
    let (stage, store) = (Stage::new().await, crate::stage::memory());
    store.enqueue_jobs(BOT, vec![NewJob::from(Nod {}).queue("x")], NOON).await.unwrap();
    let bot = Running::start(nodding(&stage, &store, &Clock::machine()));
    until("it is logged", async || log.has(&["its jobs wait", "queue=x"])).await;
    bot.stops().await;
}

/// A job that this program has no function for gives its room back.
#[tokio::test]
async fn a_job_without_a_function_takes_no_room() {
    #[derive(Serialize, Deserialize)]
    struct Unknown {}
    impl Job for Unknown {
        const NAME: &'static str = "unknown";
    }
    let (stage, store) = (Stage::new().await, crate::stage::memory());
    let jobs = vec![NewJob::from(Unknown {}), NewJob::from(Unknown {}), NewJob::from(Nod {})];
    store.enqueue_jobs(BOT, jobs, NOON).await.unwrap();
    let bot = nodding(&stage, &store, &Clock::machine()).queue("default", QueueSettings::concurrency(1));
    let bot = Running::start(bot);
    until("the known job", async || completed(&store).await == 1).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_backlog_is_not_looked_for_before_each_job() {
    let stage = Stage::new().await;
    let faulty = Arc::new(FaultyStore::new(crate::stage::memory()));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    store.enqueue_jobs(BOT, (0..300).map(|_| Nod {}.into()).collect(), NOON).await.unwrap();
    let bot = nodding(&stage, &store, &Clock::machine()).queue("default", QueueSettings::concurrency(1));
    let bot = Running::start(bot);
    until("all jobs", async || completed(&store).await == 300).await;
    let (polls, starts) = (faulty.calls("poll_jobs"), faulty.calls("start_jobs"));
    assert!(starts >= 300 && polls < 100, "{polls} polls for {starts} starts");
    bot.stops().await;
}

/// A rate holds over a change of the leader: never more starts within its time.
#[tokio::test]
async fn a_rate_holds_over_two_leaders() {
    const MAX: u32 = 4;
    let within = Duration::from_secs(1);
    let (stage, store, clock) = (Stage::new().await, crate::stage::memory(), clock_at_noon());
    store.enqueue_jobs(BOT, (0..10).map(|_| Nod {}.into()).collect(), NOON).await.unwrap();
    let start = || {
        let queue = QueueSettings::concurrency(100).rate(MAX, within);
        Running::start(nodding(&stage, &store, &clock).queue("default", queue))
    };
    let mut bot = start();
    for done in [5, 10] {
        // The clock goes on until the jobs have run. The runner begins its rate when it has the lease.
        until(&format!("{done} jobs"), async || {
            clock.advance(Duration::from_millis(10));
            completed(&store).await >= done
        })
        .await;
        bot.stops().await;
        bot = start();
    }
    bot.stops().await;
    let mut starts: Vec<Millis> = jobs(&store).await.iter().filter_map(|row| row.started_at).collect();
    starts.sort_unstable();
    assert_eq!(starts.len(), 10);
    for window in starts.windows(MAX as usize + 1) {
        assert!(window[MAX as usize].since(window[0]) >= within, "{starts:?}");
    }
}

/// The leader removes results after an hour and jobs after a week, all of them in one cleaning.
#[tokio::test]
async fn the_leader_prunes_old_jobs() {
    const JOBS: usize = 2_500;
    let (stage, clock) = (Stage::new().await, clock_at_noon());
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let LeaseAnswer::Granted(epoch) = store.claim(BOT, &holder("before"), None).await.unwrap() else {
        panic!("no lease")
    };
    store.enqueue_jobs(BOT, (0..JOBS).map(|_| Nod {}.into()).collect(), NOON).await.unwrap();
    let start = JobStart { queues: vec![("default".into(), JOBS)], also_scheduled: false, now: NOON };
    let rows = store.start_jobs(BOT, epoch, start).await.unwrap();
    let completed = |row: &JobRow| JobUpdate {
        state: JobState::Completed,
        at: NOON,
        result: Some("1".into()),
        ..JobUpdate::compare(row)
    };
    store.update_jobs(BOT, epoch, rows.iter().map(completed).collect(), None).await.unwrap();
    store.release(BOT, epoch).await.unwrap();
    let bot = Running::start(nodding(&stage, &store, &clock));
    until("the bot", async || bot.handle.is_running()).await;
    let left = async || {
        let rows = jobs(&store).await;
        (rows.len(), rows.iter().filter(|row| row.result.is_some()).count())
    };
    assert_eq!(left().await, (JOBS, JOBS));
    // Each step is one cleaning: the clock stands still meanwhile.
    for (seconds, expected) in [(3_601, (JOBS, 0)), (7 * 24 * 3_600, (0, 0))] {
        clock.advance(Duration::from_secs(seconds));
        until(&format!("{expected:?}"), async || left().await == expected).await;
    }
    bot.stops().await;
}
