//! The cost of background jobs, and how long they wait for their start.
//!
//! A bot runs as it does in production, with an emulator in place of Telegram. All jobs are enqueued while their queue
//! is paused, so only running them is measured: the processor time of this process and of the servers.

use std::sync::Arc;
use std::time::Duration;

use opora::bot::{Bot, Stop};
use opora::clock::Stopwatch;
use opora::jobs::{Job, JobContext, JobError, JobRequest, NewJob, QueueSettings};
use opora::store::{DomainWrites, Store};
use opora_testkit::stage::{BOT, Stage, TOKEN};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::process::Processes;

/// How many jobs run at once.
const CONCURRENCY: usize = 100;
/// How many jobs are enqueued at once.
const BATCH: usize = 1_000;
/// How many jobs are enqueued one by one for the time to their start, and the pause between two of them.
const TIMED: usize = 2_000;
const PAUSE: Duration = Duration::from_millis(5);

/// Does nothing.
#[derive(Serialize, Deserialize)]
struct Nothing {
    number: usize,
}

impl Job for Nothing {
    const NAME: &'static str = "nothing";
    const QUEUE: &'static str = "nothing";
}

/// Writes a row, together with its completion.
#[derive(Serialize, Deserialize)]
struct Row {
    number: i64,
}

impl Job for Row {
    const NAME: &'static str = "row";
    const QUEUE: &'static str = "row";
}

/// Notes when it started.
#[derive(Serialize, Deserialize)]
struct Timed {
    number: usize,
}

impl Job for Timed {
    const NAME: &'static str = "timed";
    const QUEUE: &'static str = "timed";
}

async fn nothing(_: Nothing, _: JobContext) -> Result<(), JobError> {
    Ok(())
}

async fn row(job: Row, context: JobContext) -> Result<(), JobError> {
    context.finish_with(move |database| {
        Box::pin(async move {
            const INSERT: &str = "INSERT INTO bench_rows (number) VALUES ($1)";
            if database.is_postgres() {
                sqlx::query(INSERT).bind(job.number).execute(database.postgres()).await?;
            } else {
                sqlx::query(INSERT).bind(job.number).execute(database.sqlite()).await?;
            }
            Ok(())
        })
    });
    Ok(())
}

/// Prints the results as JSON: microseconds of processor time for each kind of job, and the wait in milliseconds.
#[tokio::main]
pub(crate) async fn measure(address: &str, database: Option<&str>, servers: &[u32], count: usize) {
    let store = opora::store::open_with_database(address, database).await.unwrap();
    let has_tables = store.has_jobs_in_sql();
    if has_tables {
        let create = DomainWrites::new(|database| {
            const CREATE: &str = "CREATE TABLE IF NOT EXISTS bench_rows (number BIGINT NOT NULL)";
            Box::pin(async move {
                if database.is_postgres() {
                    sqlx::query(CREATE).execute(database.postgres()).await?;
                } else {
                    sqlx::query(CREATE).execute(database.sqlite()).await?;
                }
                Ok(())
            })
        });
        store.write(create).await.unwrap();
    }
    let stage = Stage::new().await;
    let starts = Arc::new(Mutex::new(vec![None; TIMED]));
    let seen = Arc::clone(&starts);
    let begun = Stopwatch::start();
    let timed = move |job: Timed, _: JobContext| {
        seen.lock()[job.number] = Some(begun.elapsed());
        async { Ok::<(), JobError>(()) }
    };
    let bot = Bot::new(TOKEN).api_url(&stage.base).store(Arc::clone(&store)).worker(nothing).worker(row).worker(timed);
    let bot = ["nothing", "row", "timed"]
        .into_iter()
        .fold(bot, |bot, queue| bot.queue(queue, QueueSettings::concurrency(CONCURRENCY)));
    let (stop, handle) = (Stop::new(), bot.handle());
    let running = tokio::spawn(bot.run_until(stop.clone()));
    while !handle.is_running() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    let processes = Processes::with_servers(servers);
    let mut costs = serde_json::Map::new();
    for queue in ["nothing", "row"] {
        if queue == "row" && !has_tables {
            continue;
        }
        store.operator().request_jobs(BOT, JobRequest::Pause(queue.into()), clock_now()).await.unwrap();
        for first in (0..count).step_by(BATCH) {
            let numbers = first..count.min(first + BATCH);
            let jobs: Vec<NewJob> = match queue {
                "nothing" => numbers.map(|number| Nothing { number }.into()).collect(),
                _ => numbers.map(|number| Row { number: number as i64 }.into()).collect(),
            };
            handle.enqueue_all(jobs).await.unwrap();
        }
        let (before, watch) = (processes.cpu_us(), Stopwatch::start());
        store.operator().request_jobs(BOT, JobRequest::Resume(queue.into()), clock_now()).await.unwrap();
        while unfinished(&*store).await > 0 {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let used = processes.cpu_us().since(before);
        let each = count as f64;
        costs.insert(
            queue.to_owned(),
            json!({"us": (used.own + used.server) / each, "own_us": used.own / each, "server_us": used.server / each,
                   "per_second": each / watch.elapsed().as_secs_f64()}),
        );
    }

    let mut waits = Vec::with_capacity(TIMED);
    let mut times = Vec::with_capacity(TIMED);
    for number in 0..TIMED {
        times.push(begun.elapsed());
        handle.enqueue(Timed { number }).await.unwrap();
        tokio::time::sleep(PAUSE).await;
    }
    while starts.lock().iter().any(Option::is_none) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for (start, time) in starts.lock().iter().flatten().zip(times) {
        waits.push(start.saturating_sub(time).as_secs_f64() * 1_000.0);
    }
    waits.sort_by(f64::total_cmp);
    costs.insert("wait_ms".to_owned(), json!({"p50": waits[TIMED / 2], "p99": waits[TIMED * 99 / 100]}));
    stop.stop();
    running.await.unwrap().unwrap();
    println!("{}", serde_json::Value::Object(costs));
}

fn clock_now() -> opora::clock::Millis {
    opora::clock::Clock::machine().now()
}

async fn unfinished(store: &dyn Store) -> i64 {
    store.job_counts(BOT, None).await.unwrap().iter().map(|count| count.jobs).sum()
}
