//! Jobs of a bot that is killed in the middle of them: the effect of each is there once, and attempts are counted on.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use opora::bot::Bot;
use opora::clock::{Clock, Millis, Stopwatch};
use opora::failpoints;
use opora::jobs::{Job, JobContext, JobError, JobFilter, JobRow, JobState, NewJob, QueueSettings};
use opora::store::Store;
use opora_testkit::environment;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::backend::StoreKind;
use super::bots::{ChildConfig, create_table, run_child, writing_people};
use super::people::Scenario;
use super::process::Process;
use super::stage::Stage;
use crate::stage::until;

/// The failpoints of the tests here.
pub const COVERED: [&str; 2] = [failpoints::JOB_BEFORE_RUN, failpoints::JOB_AFTER_RUN];

const BOT: i64 = opora_testkit::stage::BOT;
const JOBS: i64 = 30;
const KILLS: usize = 2;
/// In the long form. In an hour these are fewer than a bot keeps.
const JOBS_PER_SECOND: i64 = 20;

/// Writes its number into the application's table, if there is one.
#[derive(Serialize, Deserialize)]
struct Sign {
    number: i64,
}

impl Job for Sign {
    const NAME: &'static str = "sign";
}

async fn sign(job: Sign, context: JobContext, has_tables: bool) -> Result<(), JobError> {
    if has_tables {
        context.finish_with(move |database| {
            Box::pin(async move {
                let insert = "INSERT INTO writer (process, person) VALUES (0, $1)";
                if database.is_postgres() {
                    sqlx::query(insert).bind(job.number).execute(database.postgres()).await?;
                } else {
                    sqlx::query(insert).bind(job.number).execute(database.sqlite()).await?;
                }
                Ok(())
            })
        });
    }
    Ok(())
}

/// The entry point of child processes. In a normal test run it does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_runs_jobs() {
    run_child(|config, bot: Bot| {
        let has_tables = config.database_url.is_some() || !config.state_url.starts_with("redis:");
        bot.worker(move |job, context| sign(job, context, has_tables)).queue("default", QueueSettings::concurrency(4))
    })
    .await;
}

on_every_store! { jobs_survive_kills, }
on_every_store! { in redis_and_sqlite on RedisAndSqlite: jobs_survive_kills, }

async fn jobs_survive_kills(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    let store =
        opora::store::open_with_database(&stage.backend.address_and_folder().0, stage.backend.database().as_deref())
            .await
            .unwrap();
    if stage.backend.has_tables() {
        create_table(&store).await;
    }
    if let Some(duration) = environment::soak_duration() {
        return survive_for(duration, &stage, &store).await;
    }
    let now = Clock::machine().now();
    let jobs = (1..=JOBS).map(|number| NewJob::from(Sign { number })).collect();
    store.enqueue_jobs(BOT, jobs, now).await.unwrap();
    let start = |failpoints| start(&stage, failpoints);
    for failpoint in COVERED {
        for kill in 0..KILLS {
            let process = start(format!("{failpoint}=pause@{}", 3 + 2 * kill));
            process.wait_for_log(&format!("failpoint {failpoint}")).await;
            process.kill().await;
        }
    }
    let process = start(String::new());
    until("all jobs", async || rows(&store).await.iter().all(|row| row.state == JobState::Completed)).await;
    process.stop(&stage).await;
    let rows = rows(&store).await;
    store.close().await.unwrap();
    assert_eq!(rows.len() as i64, JOBS);
    let repeated: Vec<_> = rows.iter().filter(|row| row.attempt > 1).collect();
    assert!(!repeated.is_empty(), "a kill ends at least one attempt");
    assert!(repeated.iter().all(|row| row.errors.len() as u32 == row.attempt - 1), "{repeated:?}");
    if stage.backend.has_tables() {
        let mut signed = writing_people(&stage).await;
        signed.sort_unstable();
        assert_eq!(signed, (1..=JOBS).collect::<Vec<_>>(), "every effect is there once");
        assert_eq!(signed.iter().collect::<BTreeSet<_>>().len(), signed.len());
    }
}

fn start(stage: &Stage, failpoints: String) -> Process {
    let config = ChildConfig { failpoints, ..ChildConfig::of(stage, Scenario::Registration) };
    Process::child_test("crash::jobs::child_runs_jobs", &config)
}

/// Jobs in a steady stream, and a bot that is killed or paused at any moment: no job is lost, no effect is there twice,
/// and later instances take no more memory than the first ones.
async fn survive_for(duration: Duration, stage: &Stage, store: &Arc<dyn Store>) {
    let watch = Stopwatch::start();
    let (mut jobs, mut memory) = (0, Vec::new());
    while watch.elapsed() < duration {
        let process = start(stage, String::new());
        for _ in 0..fastrand::i64(5..90) {
            let new = (jobs + 1..=jobs + JOBS_PER_SECOND).map(|number| NewJob::from(Sign { number })).collect();
            store.enqueue_jobs(BOT, new, Clock::machine().now()).await.unwrap();
            jobs += JOBS_PER_SECOND;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        if fastrand::u8(..4) == 0 {
            // The next instance takes over before this one wakes up, unless this one has locked an SQLite file.
            process.signal(Signal::STOP);
            let next = start(stage, String::new());
            let _ = tokio::time::timeout(Duration::from_secs(5), next.wait_until_leading()).await;
            process.signal(Signal::CONT);
            tokio::time::sleep(Duration::from_secs(2)).await;
            next.kill().await;
        }
        memory.push(process.resident_kib());
        process.kill().await;
    }
    let process = start(stage, String::new());
    process.wait_until_leading().await;
    until("all jobs", async || store.job_counts(BOT, None).await.unwrap().is_empty()).await;
    memory.push(process.resident_kib());
    process.stop(stage).await;
    let counts = store.job_counts(BOT, Some(Millis(0))).await.unwrap();
    store.close().await.unwrap();
    let completed = counts.iter().filter(|count| count.state == JobState::Completed).map(|count| count.jobs);
    assert_eq!(completed.sum::<i64>(), jobs, "no job is lost: {counts:?}");
    if stage.backend.has_tables() {
        let mut signed = writing_people(stage).await;
        signed.sort_unstable();
        assert_eq!(signed, (1..=jobs).collect::<Vec<_>>(), "every effect is there once");
    }
    let quarter = memory.len().div_ceil(4);
    let most = |some: &[u64]| some.iter().max().copied().unwrap_or_default();
    let (first, last) = (most(&memory[..quarter]), most(&memory[memory.len() - quarter..]));
    println!("{jobs} jobs, {} instances, {first} KiB at first and {last} KiB at last", memory.len());
    assert!(last <= first * 3 / 2, "memory grows: {memory:?}");
}

async fn rows(store: &Arc<dyn Store>) -> Vec<JobRow> {
    let filter = JobFilter { bot: BOT, ..JobFilter::default() };
    store.operator().jobs(&filter, None, 1_000).await.unwrap()
}
