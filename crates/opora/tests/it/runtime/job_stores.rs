//! Jobs of a complete bot on every store: enqueued by turns, completed with their last writes, and fenced.

use std::any::Any;
use std::sync::Arc;

use opora::jobs::{Job, JobContext, JobError, JobFilter, JobRow, JobState, QueueSettings};
use opora::prelude::*;
use opora::store::{Database, DecisionStore, DomainWrites, PostgresStore, RedisStore, SqliteStore, Store, WriteError};
use opora::testing::faulty::{Fault, FaultyStore};
use opora_testkit::postgres_server::PostgresSchema;
use opora_testkit::redis_server::RedisNamespace;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::stage::{BOT, Running, Stage, until, until_some};

/// Makes a test of each function for every store with SQL tables.
macro_rules! with_tables {
    ($($name:ident,)*) => {
        with_tables! { sqlite: $($name,)* }
        with_tables! { postgres: $($name,)* }
        with_tables! { redis_and_sqlite: $($name,)* }
        with_tables! { redis_and_postgres: $($name,)* }
    };
    ($store:ident: $($name:ident,)*) => {
        mod $store {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(super::Place::$store().await).await;
            })*
        }
    };
}

with_tables! {
    a_turn_enqueues_a_job_that_runs,
    last_writes_fail_alone,
    last_writes_of_many_jobs_are_one_call,
    a_fenced_leader_writes_nothing,
}
with_tables! { memory: a_turn_enqueues_a_job_that_runs, }
with_tables! { redis: a_turn_enqueues_a_job_that_runs, }

/// A store, and where it keeps its data.
struct Place {
    store: Arc<dyn Store>,
    data: Box<dyn Any>,
}

impl Place {
    fn at(store: impl Store, data: impl Any) -> Self {
        Self { store: Arc::new(store), data: Box::new(data) }
    }

    async fn memory() -> Self {
        Self { store: crate::stage::memory(), data: Box::new(()) }
    }

    async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::at(SqliteStore::open(&folder.path().join("tables.db")).await.unwrap(), folder)
    }

    async fn postgres() -> Self {
        let schema = PostgresSchema::new().await;
        Self::at(PostgresStore::open(&schema.url).await.unwrap(), schema)
    }

    async fn redis() -> Self {
        let space = RedisNamespace::new();
        Self::at(RedisStore::open(&space.url).await.unwrap(), space)
    }

    async fn redis_and_sqlite() -> Self {
        let (space, folder) = (RedisNamespace::new(), tempfile::tempdir().unwrap());
        let redis = RedisStore::open(&space.url).await.unwrap();
        let file = SqliteStore::open(&folder.path().join("tables.db")).await.unwrap();
        Self::at(DecisionStore::open(redis, file).await.unwrap(), (space, folder))
    }

    async fn redis_and_postgres() -> Self {
        let (space, schema) = (RedisNamespace::new(), PostgresSchema::new().await);
        let redis = RedisStore::open(&space.url).await.unwrap();
        let database = PostgresStore::open(&schema.url).await.unwrap();
        Self::at(DecisionStore::open(redis, database).await.unwrap(), (space, schema))
    }

    async fn execute(&self, sqlite: &'static str, postgres: &'static str) {
        let write = DomainWrites::new(move |database| {
            Box::pin(async move {
                if database.is_postgres() {
                    sqlx::query(postgres).execute(database.postgres()).await?;
                } else {
                    sqlx::query(sqlite).execute(database.sqlite()).await?;
                }
                Ok(())
            })
        });
        self.store.write(write).await.unwrap();
    }

    /// The application's table. In PostgreSQL its constraint is checked at the commit.
    async fn with_table(self) -> Self {
        let sqlite = "CREATE TABLE marks (number INTEGER UNIQUE)";
        self.execute(sqlite, "CREATE TABLE marks (number BIGINT UNIQUE DEFERRABLE INITIALLY DEFERRED)").await;
        self
    }

    async fn marks(&self) -> Vec<i64> {
        const MARKS: &str = "SELECT number FROM marks ORDER BY number";
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let read = DomainWrites::new(move |database| {
            Box::pin(async move {
                let numbers: Vec<i64> = if database.is_postgres() {
                    sqlx::query_scalar(MARKS).fetch_all(database.postgres()).await?
                } else {
                    sqlx::query_scalar(MARKS).fetch_all(database.sqlite()).await?
                };
                let _ = sender.send(numbers);
                Ok(())
            })
        });
        self.store.write(read).await.unwrap();
        receiver.await.unwrap()
    }

    async fn jobs(&self) -> Vec<JobRow> {
        let filter = JobFilter { bot: BOT, ..JobFilter::default() };
        self.store.operator().jobs(&filter, None, 1_000).await.unwrap()
    }

    async fn count(&self, state: JobState) -> usize {
        self.jobs().await.iter().filter(|row| row.state == state).count()
    }
}

async fn mark(database: &mut Database<'_>, number: i64) -> Result<(), WriteError> {
    const MARK: &str = "INSERT INTO marks (number) VALUES ($1)";
    if database.is_postgres() {
        sqlx::query(MARK).bind(number).execute(database.postgres()).await?;
    } else {
        sqlx::query(MARK).bind(number).execute(database.sqlite()).await?;
    }
    Ok(())
}

/// Writes its number with its completion, when the gate is open.
#[derive(Clone, Serialize, Deserialize)]
struct Mark(i64);

impl Job for Mark {
    const NAME: &'static str = "mark";
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "wish")]
enum Wish {
    Made,
}

async fn wish(turn: &mut Turn, command: Command) -> Step<Wish> {
    turn.enqueue(Mark(command.argument.parse()?));
    turn.say("Granted.");
    Ok(Next::Go(Wish::Made))
}

async fn thanks(_: &mut Turn, _: String) -> Step<Wish> {
    Ok(Next::End)
}

/// The numbers of the jobs whose functions have returned.
type Done = Arc<Mutex<Vec<i64>>>;

/// A bot whose jobs wait for the gate, and write their numbers if there is a table.
fn marking(bot: Bot, done: &Done, gate: &Arc<Semaphore>, has_table: bool) -> Bot {
    let (done, gate) = (Arc::clone(done), Arc::clone(gate));
    let bot = bot.dialogue(Dialogue::new().start(command("wish"), wish).on(Wish::MADE, text(), thanks));
    bot.queue("default", QueueSettings::concurrency(20)).worker(move |Mark(number): Mark, context: JobContext| {
        let (done, gate) = (Arc::clone(&done), Arc::clone(&gate));
        async move {
            gate.acquire().await?.forget();
            if has_table {
                context.finish_with(move |database| {
                    Box::pin(async move {
                        mark(database, number).await?;
                        match number {
                            0 => Err(Refusal::because("no zero")),
                            -1 => panic!("nothing negative"),
                            _ => Ok(()),
                        }
                    })
                });
            }
            done.lock().push(number);
            Ok::<_, JobError>(())
        }
    })
}

fn open_gate() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(1_000))
}

async fn start(place: &Place, stage: &Stage, bot: impl FnOnce(Bot) -> Bot) -> Running {
    let bot = Running::start(bot(stage.bot(&place.store)));
    until("the bot", async || bot.handle.is_running()).await;
    bot
}

async fn a_turn_enqueues_a_job_that_runs(place: Place) {
    let (stage, done) = (Stage::new().await, Done::default());
    let anna = stage.person("Anna").await;
    let bot = start(&place, &stage, |bot| marking(bot, &done, &open_gate(), false)).await;
    anna.says("/wish 7").await;
    anna.receives_exactly(&["Granted."]).await;
    until("the job", async || place.count(JobState::Completed).await == 1).await;
    until("no effect is left", async || place.store.statistics(Some(BOT)).await.unwrap().effects == 0).await;
    assert_eq!((place.jobs().await.len(), done.lock().clone()), (1, vec![7]));
    bot.stops().await;
    drop(place.data);
}

/// Of jobs that are completed together, one whose writes fail takes no other with it.
async fn last_writes_fail_alone(place: Place) {
    let place = place.with_table().await;
    let (stage, done, gate) = (Stage::new().await, Done::default(), Arc::new(Semaphore::new(0)));
    let bot = start(&place, &stage, |bot| marking(bot, &done, &gate, true)).await;
    let numbers = [1, 0, 2, 2, -1, 3];
    bot.handle.enqueue_all(numbers.map(|number| Mark(number).into()).into()).await.unwrap();
    until("all run", async || place.count(JobState::Running).await == numbers.len()).await;
    gate.add_permits(numbers.len());
    until("all have ended", async || place.count(JobState::Running).await == 0).await;
    bot.stops().await;
    assert_eq!(place.marks().await, [1, 2, 3]);
    let mut reasons = Vec::new();
    for row in place.jobs().await {
        assert_eq!((row.attempt, row.max_attempts), (1, Mark::MAX_ATTEMPTS), "no attempt was undone: {row:?}");
        match row.state {
            JobState::Completed => assert!(row.errors.is_empty()),
            _ => reasons.push(row.errors[0].reason.clone()),
        }
    }
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    for words in ["no zero", "panicked", "unique"] {
        assert!(reasons.iter().any(|reason| reason.to_lowercase().contains(words)), "{words}: {reasons:?}");
    }
}

async fn last_writes_of_many_jobs_are_one_call(place: Place) {
    let mut place = place.with_table().await;
    let faulty = Arc::new(FaultyStore::new(Arc::clone(&place.store)));
    place.store = Arc::clone(&faulty) as _;
    let (stage, done, gate) = (Stage::new().await, Done::default(), Arc::new(Semaphore::new(0)));
    let bot = start(&place, &stage, |bot| marking(bot, &done, &gate, true)).await;
    bot.handle.enqueue_all((1..=20).map(|number| Mark(number).into()).collect()).await.unwrap();
    until("all run", async || place.count(JobState::Running).await == 20).await;
    let before = faulty.calls("update_jobs");
    faulty.fail_next("update_jobs", 1, Fault::Stall);
    gate.add_permits(1);
    until("the first", async || faulty.calls("update_jobs") > before).await;
    gate.add_permits(19);
    until("the others", async || done.lock().len() == 20).await;
    faulty.clear_faults("update_jobs");
    until("all are completed", async || place.count(JobState::Completed).await == 20).await;
    // A function may have returned a moment before its attempt has ended.
    let calls = faulty.calls("update_jobs") - before;
    assert!(calls <= 10, "{calls} calls for 20 jobs");
    assert_eq!(place.marks().await.len(), 20);
    bot.stops().await;
}

/// A leader that was fenced while a job ran: a step of the job, and its last writes, are refused.
async fn a_fenced_leader_writes_nothing(place: Place) {
    let place = place.with_table().await;
    let stage = Stage::new().await;
    let steps = Arc::new(Mutex::new(Vec::new()));
    let writing = |bot: Bot, gate: &Arc<Semaphore>| {
        let (gate, steps) = (Arc::clone(gate), Arc::clone(&steps));
        bot.worker(move |Mark(number): Mark, context: JobContext| {
            let (gate, steps) = (Arc::clone(&gate), Arc::clone(&steps));
            async move {
                gate.acquire().await?.forget();
                let attempt = i64::from(context.attempt());
                let step = context.transact(move |database| Box::pin(mark(database, 10 * number + attempt))).await;
                context.finish_with(move |database| Box::pin(mark(database, 100 * number + attempt)));
                steps.lock().push((attempt, step.is_ok()));
                Ok::<_, JobError>(())
            }
        })
    };
    let gate = Arc::new(Semaphore::new(0));
    let old = start(&place, &stage, |bot| writing(bot, &gate)).await;
    old.handle.enqueue(Mark(1)).await.unwrap();
    until("the job runs", async || place.count(JobState::Running).await == 1).await;
    place.store.operator().clear_lease(BOT).await.unwrap();
    let next = Running::start(writing(stage.bot(&place.store), &open_gate()));
    let row = until_some("the next leader", async || {
        place.jobs().await.into_iter().find(|row| row.state == JobState::Completed)
    })
    .await;
    gate.add_permits(1);
    old.stop.stop();
    next.stop.stop();
    let _ = old.ends().await;
    let _ = next.ends().await;
    assert_eq!(row.attempt, 2);
    assert!(!steps.lock().contains(&(1, true)), "{steps:?}");
    assert_eq!(place.marks().await, [12, 102]);
}
