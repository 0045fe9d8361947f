//! Jobs of a complete bot: enqueued by a turn, by the application and by a handle; stopped, taken over, cancelled.

use std::sync::Arc;
use std::time::Duration;

use opora::jobs::{
    Enqueued, Job, JobContext, JobError, JobFilter, JobId, JobRequest, JobRow, JobState, NewJob, QueueSettings, Unique,
};
use opora::prelude::*;
use opora::store::{DomainWrites, JobStart, Store, StoreResult};
use opora::testing::faulty::{Fault, FaultyStore};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::stage::{BOT, Running, Stage, memory, until, until_some};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "letter")]
enum Letter {
    Written,
}

#[derive(Serialize, Deserialize)]
struct Send {
    to: String,
}

impl Job for Send {
    const NAME: &'static str = "send";
    const QUEUE: &'static str = "mail";

    fn backoff(_: u32) -> Duration {
        Duration::from_millis(5)
    }

    fn unique(&self) -> Option<Unique> {
        Some(Unique::by(&*self.to))
    }
}

async fn write(turn: &mut Turn, command: Command) -> Step<Letter> {
    turn.enqueue(Send { to: command.argument });
    turn.say("It will be sent.");
    Ok(Next::Go(Letter::Written))
}

async fn thanks(_: &mut Turn, _: String) -> Step<Letter> {
    Ok(Next::End)
}

fn letter() -> Dialogue<Letter> {
    Dialogue::new().start(command("write"), write).on(Letter::WRITTEN, text(), thanks)
}

/// Who got a letter, and the attempt.
type Sent = Arc<Mutex<Vec<(String, u32)>>>;

/// A bot that sends letters. Letters to `slow` wait for the gate.
fn post(bot: Bot, sent: &Sent, gate: &Arc<Semaphore>) -> Bot {
    let (sent, gate) = (Arc::clone(sent), Arc::clone(gate));
    bot.dialogue(letter()).worker(move |job: Send, context: JobContext| {
        let (sent, gate) = (Arc::clone(&sent), Arc::clone(&gate));
        async move {
            if job.to == "slow" {
                gate.acquire().await?.forget();
            }
            if job.to == "moody" && context.attempt() < 3 {
                return Err(std::io::Error::other("not today").into());
            }
            sent.lock().push((job.to, context.attempt()));
            Ok::<_, JobError>(context.attempt())
        }
    })
}

fn closed() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(0))
}

async fn jobs(store: &Arc<dyn Store>) -> Vec<JobRow> {
    let filter = JobFilter { bot: BOT, ..JobFilter::default() };
    store.operator().jobs(&filter, None, 100).await.unwrap()
}

async fn job_is(store: &Arc<dyn Store>, id: JobId, state: JobState) -> JobRow {
    until_some(&format!("job {id:?} to be {}", state.name()), async || {
        jobs(store).await.into_iter().find(|row| row.id == id && row.state == state)
    })
    .await
}

fn now() -> opora::clock::Millis {
    opora::clock::Clock::machine().now()
}

#[tokio::test]
async fn a_turn_enqueues_a_job_that_is_tried_until_it_succeeds() {
    let stage = Stage::new().await;
    for store in [memory(), stage.sqlite().await] {
        let sent = Sent::default();
        let anna = stage.person("Anna").await;
        let bot = Running::start(post(stage.bot(&store), &sent, &closed()));
        anna.says("/write moody").await;
        anna.receives("It will be sent.").await;
        until("the letter", async || sent.lock().len() == 1).await;
        let row = job_is(&store, jobs(&store).await[0].id, JobState::Completed).await;
        assert_eq!((row.attempt, row.errors.len(), row.result.as_deref()), (3, 2, Some("3")));
        assert_eq!(*sent.lock(), [("moody".to_owned(), 3)]);
        bot.stops().await;
    }
}

#[tokio::test]
async fn a_handle_enqueues_a_job_also_where_the_bot_stands_by() {
    let (stage, sent, store) = (Stage::new().await, Sent::default(), memory());
    let leader = Running::start(post(stage.bot(&store), &sent, &closed()));
    until("the leader", async || leader.handle.is_running()).await;
    let standby = Running::start(post(stage.bot(&store), &sent, &closed()));
    let enqueued =
        until_some("the standby", async || standby.handle.enqueue(Send { to: "anna".to_owned() }).await.ok()).await;
    assert!(!standby.handle.is_running() && matches!(enqueued, Enqueued::New(_)));
    job_is(&store, enqueued.id(), JobState::Completed).await;
    assert_eq!(*sent.lock(), [("anna".to_owned(), 1)]);
    standby.stops().await;
    leader.stops().await;
}

#[tokio::test]
async fn a_job_of_the_applications_writes_commits_with_them() {
    let (stage, sent) = (Stage::new().await, Sent::default());
    let store = stage.sqlite().await;
    let write = async |to: &'static str, succeeds: bool| -> StoreResult<()> {
        store
            .write(DomainWrites::new(move |database| {
                Box::pin(async move {
                    database.enqueue(BOT, Send { to: to.to_owned() }, now()).await?;
                    if succeeds { Ok(()) } else { Err(Refusal::because("no")) }
                })
            }))
            .await
    };
    write("nobody", false).await.unwrap_err();
    write("anna", true).await.unwrap();
    let bot = Running::start(post(stage.bot(&store), &sent, &closed()));
    until("the letter", async || !sent.lock().is_empty()).await;
    bot.stops().await;
    assert_eq!(*sent.lock(), [("anna".to_owned(), 1)]);
}

#[tokio::test]
async fn a_stop_puts_a_running_job_back_without_counting_it() {
    let (stage, sent, store) = (Stage::new().await, Sent::default(), memory());
    let bot = post(stage.bot(&store), &sent, &closed())
        .settings(|settings| settings.stop.deadline = Duration::from_millis(100));
    let bot = Running::start(bot);
    let id = until_some("the bot", async || bot.handle.enqueue(Send { to: "slow".to_owned() }).await.ok()).await.id();
    job_is(&store, id, JobState::Running).await;
    bot.stops().await;
    let row = job_is(&store, id, JobState::Available).await;
    assert_eq!((row.attempt, row.max_attempts, row.errors.len()), (1, 21, 0));
    let gate = Arc::new(Semaphore::new(1));
    let bot = Running::start(post(stage.bot(&store), &sent, &gate));
    job_is(&store, id, JobState::Completed).await;
    bot.stops().await;
}

/// The first signal lets running jobs finish: what they post is sent.
#[tokio::test]
async fn a_job_may_post_while_the_bot_stops() {
    #[derive(Serialize, Deserialize)]
    struct Greet(i64);
    impl Job for Greet {
        const NAME: &'static str = "greet";
    }
    let (stage, gate, store) = (Stage::new().await, closed(), memory());
    let anna = stage.person("Anna").await;
    let (bot, waits) = (stage.bot(&store), Arc::clone(&gate));
    let handle = bot.handle();
    let bot = Running::start(bot.dialogue(letter()).worker(move |Greet(to): Greet, _| {
        let (waits, handle) = (Arc::clone(&waits), handle.clone());
        async move {
            waits.acquire().await?.forget();
            handle.post("greeting", to, "Hello!").await?;
            Ok::<_, JobError>(())
        }
    }));
    let id = until_some("the bot", async || bot.handle.enqueue(Greet(anna.id)).await.ok()).await.id();
    job_is(&store, id, JobState::Running).await;
    let handle = bot.handle.clone();
    let stops = tokio::spawn(bot.stops());
    until("the stop", async || !handle.is_running()).await;
    gate.add_permits(1);
    stops.await.unwrap();
    assert_eq!(job_is(&store, id, JobState::Completed).await.attempt, 1);
    anna.receives_exactly(&["Hello!"]).await;
}

/// A second signal does not wait for jobs. None of them runs on after the lease is released.
#[tokio::test]
async fn a_stop_at_once_ends_running_jobs() {
    let (stage, sent, gate, store) = (Stage::new().await, Sent::default(), closed(), memory());
    let bot = Running::start(post(stage.bot(&store), &sent, &gate));
    let id = until_some("the bot", async || bot.handle.enqueue(Send { to: "slow".to_owned() }).await.ok()).await.id();
    job_is(&store, id, JobState::Running).await;
    bot.stops_now().await;
    gate.add_permits(1);
    let next = Running::start(post(stage.bot(&store), &sent, &gate));
    assert_eq!(job_is(&store, id, JobState::Completed).await.attempt, 2);
    next.stops().await;
    assert_eq!(*sent.lock(), [("slow".to_owned(), 2)]);
}

#[tokio::test]
async fn a_job_of_a_leader_that_is_gone_runs_again() {
    let (stage, sent, store) = (Stage::new().await, Sent::default(), memory());
    let bot = Running::start(post(stage.bot(&store), &sent, &closed()));
    let id = until_some("the bot", async || bot.handle.enqueue(Send { to: "slow".to_owned() }).await.ok()).await.id();
    job_is(&store, id, JobState::Running).await;
    // The leader is fenced in the middle of the job: it completes nothing, whatever its function does.
    store.operator().clear_lease(BOT).await.unwrap();
    let gate = Arc::new(Semaphore::new(2));
    let next = Running::start(post(stage.bot(&store), &sent, &gate));
    let row = job_is(&store, id, JobState::Completed).await;
    assert_eq!((row.attempt, row.errors.len()), (2, 1));
    assert!(row.errors[0].reason.contains("has ended"), "{:?}", row.errors);
    bot.stops().await;
    next.stops().await;
    assert_eq!(*sent.lock(), [("slow".to_owned(), 2)]);
}

/// A leader that was fenced while a job ran: the job's last write and its completion are refused together.
#[tokio::test]
async fn a_fenced_leader_completes_nothing() {
    #[derive(Serialize, Deserialize)]
    struct Pay {}
    impl Job for Pay {
        const NAME: &'static str = "pay";
    }
    let stage = Stage::new().await;
    let store = stage.sqlite().await;
    let sql = async |statement: &'static str| {
        let write = DomainWrites::new(move |database| {
            Box::pin(async move {
                sqlx::query(statement).execute(database.sqlite()).await?;
                Ok(())
            })
        });
        store.write(write).await
    };
    sql("CREATE TABLE paid (attempt INTEGER UNIQUE CHECK (attempt = 2))").await.unwrap();
    let pay = |bot: Bot, gate: &Arc<Semaphore>, done: &Arc<Semaphore>| {
        let (gate, done) = (Arc::clone(gate), Arc::clone(done));
        bot.worker(move |_: Pay, context: JobContext| {
            let (gate, done) = (Arc::clone(&gate), Arc::clone(&done));
            async move {
                gate.acquire().await?.forget();
                let attempt = context.attempt();
                // A step of its own would be refused too.
                let step = context.transact(|_| Box::pin(async { Ok(()) })).await;
                assert_eq!(step.is_ok(), attempt == 2, "{step:?}");
                context.finish_with(move |database| {
                    Box::pin(async move {
                        let insert = sqlx::query("INSERT INTO paid VALUES (?)").bind(attempt);
                        insert.execute(database.sqlite()).await?;
                        Ok(())
                    })
                });
                done.add_permits(1);
                Ok::<_, JobError>(())
            }
        })
    };
    let (gate, done) = (closed(), closed());
    let old = Running::start(pay(stage.bot(&store), &gate, &done));
    let id = until_some("the bot", async || old.handle.enqueue(Pay {}).await.ok()).await.id();
    job_is(&store, id, JobState::Running).await;
    store.operator().clear_lease(BOT).await.unwrap();
    let next = Running::start(pay(stage.bot(&store), &Arc::new(Semaphore::new(1)), &done));
    let row = job_is(&store, id, JobState::Completed).await;
    gate.add_permits(1);
    old.stops().await;
    next.stops().await;
    assert_eq!((row.attempt, done.available_permits() >= 1), (2, true));
    sql("INSERT INTO paid VALUES (2)").await.unwrap_err();
}

#[tokio::test]
async fn an_operator_cancels_a_running_job() {
    let (stage, sent, store) = (Stage::new().await, Sent::default(), memory());
    let bot = Running::start(post(stage.bot(&store), &sent, &closed()));
    let id = until_some("the bot", async || bot.handle.enqueue(Send { to: "slow".to_owned() }).await.ok()).await.id();
    job_is(&store, id, JobState::Running).await;
    store.operator().request_jobs(BOT, JobRequest::Cancel(vec![id]), now()).await.unwrap();
    let row = job_is(&store, id, JobState::Cancelled).await;
    assert!(row.errors[0].reason.contains("operator"), "{:?}", row.errors);
    assert!(!row.cancel_requested && sent.lock().is_empty());
    bot.stops().await;
}

/// A call of the store took effect after the runner had given it up: the job runs, but not here.
#[tokio::test]
async fn a_job_whose_start_took_effect_late_can_be_cancelled() {
    let (stage, sent, store) = (Stage::new().await, Sent::default(), memory());
    let bot = Running::start(post(stage.bot(&store), &sent, &closed()));
    until("the bot", async || bot.handle.is_running()).await;
    // The runner starts nothing in this queue.
    let job = NewJob::from(Send { to: "slow".to_owned() }).queue("reports");
    let id = bot.handle.enqueue(job).await.unwrap().id();
    let epoch = store.lease(BOT).await.unwrap().unwrap().epoch;
    let start = JobStart { queues: vec![("reports".into(), 1)], also_scheduled: false, now: now() };
    store.start_jobs(BOT, epoch, start).await.unwrap();
    store.operator().request_jobs(BOT, JobRequest::Cancel(vec![id]), now()).await.unwrap();
    job_is(&store, id, JobState::Cancelled).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_queue_runs_no_more_jobs_at_once_than_it_may() {
    let (stage, sent, store) = (Stage::new().await, Sent::default(), memory());
    let gate = closed();
    let bot = post(stage.bot(&store), &sent, &gate).queue("mail", QueueSettings::concurrency(2));
    let bot = Running::start(bot);
    until("the bot", async || bot.handle.is_running()).await;
    let slow = |number: i64| NewJob::from(Send { to: "slow".to_owned() }).unique(Unique::by(number.to_string()));
    bot.handle.enqueue_all((0..5).map(slow).collect()).await.unwrap();
    let running = async || jobs(&store).await.iter().filter(|row| row.state == JobState::Running).count();
    until("two jobs", async || running().await == 2).await;
    for done in 1..=5 {
        gate.add_permits(1);
        until("one more", async || sent.lock().len() == done).await;
        assert!(running().await <= 2);
    }
    bot.stops().await;
}

#[tokio::test]
async fn a_lost_answer_neither_loses_nor_repeats_a_job() {
    for method in ["start_jobs", "update_jobs", "enqueue_jobs"] {
        let (stage, sent) = (Stage::new().await, Sent::default());
        let faulty = Arc::new(FaultyStore::new(memory()));
        let store: Arc<dyn Store> = Arc::clone(&faulty) as Arc<dyn Store>;
        let anna = stage.person("Anna").await;
        let bot = Running::start(post(stage.bot(&store), &sent, &closed()));
        until("the bot", async || bot.handle.is_running()).await;
        faulty.fail_next(method, 1, Fault::After);
        anna.says("/write anna").await;
        let id = until_some("the job", async || jobs(&store).await.first().map(|row| row.id)).await;
        let row = job_is(&store, id, JobState::Completed).await;
        let stored = jobs(&store).await.len();
        assert_eq!((row.attempt, sent.lock().len(), stored), (1, 1, 1), "{method}");
        bot.stops().await;
    }
}
