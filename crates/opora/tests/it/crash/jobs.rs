//! Jobs of a bot that is killed in the middle of them: the effect of each is there once, and attempts are counted on.

use std::collections::BTreeSet;
use std::sync::Arc;

use opora::clock::Clock;
use opora::failpoints;
use opora::jobs::{Job, JobContext, JobError, JobFilter, JobRow, JobState, NewJob, QueueSettings};
use opora::prelude::*;
use opora::store::Store;
use opora_testkit::environment;
use serde_json::json;

use super::backend::StoreKind;
use super::bots::{ChildConfig, create_table, run_child, writing_people};
use super::job_soak;
use super::people::Scenario;
use super::process::Process;
use super::stage::Stage;
use crate::stage::until;

/// The failpoints of the tests here.
pub const COVERED: [&str; 2] = [failpoints::JOB_BEFORE_RUN, failpoints::JOB_AFTER_RUN];

pub const BOT: i64 = opora_testkit::stage::BOT;
const JOBS: i64 = 30;
const KILLS: usize = 2;

/// Writes its number into the application's table, if there is one.
#[derive(Serialize, Deserialize)]
pub struct Sign {
    pub number: i64,
}

impl Job for Sign {
    const NAME: &'static str = "sign";
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "office")]
enum Office {
    Open,
}

/// `/sign 7` enqueues a job in the turn.
fn office() -> Dialogue<Office> {
    async fn enqueue(turn: &mut Turn, command: Command) -> Step<Office> {
        turn.enqueue(Sign { number: command.argument.parse()? });
        Ok(Next::Go(Office::Open))
    }
    async fn leave(_: &mut Turn, _: String) -> Step<Office> {
        Ok(Next::End)
    }
    Dialogue::new().start(command("sign"), enqueue).on(Office::OPEN, text(), leave)
}

pub async fn sign(job: Sign, context: JobContext, has_tables: bool) -> Result<(), JobError> {
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
        let bot = bot.dialogue(office()).queue("default", QueueSettings::concurrency(4));
        if environment::soak_duration().is_some() {
            return job_soak::with_jobs(bot, has_tables);
        }
        bot.worker(move |job, context| sign(job, context, has_tables))
    })
    .await;
}

on_every_store! { jobs_survive_kills, jobs_of_turns_survive_kills, }
on_every_store! { in redis_and_sqlite on RedisAndSqlite: jobs_survive_kills, jobs_of_turns_survive_kills, }
on_every_store! { in redis_and_postgres on RedisAndPostgres: jobs_of_turns_survive_kills, }

async fn jobs_survive_kills(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    let store = open(&stage).await;
    if stage.backend.has_tables() {
        create_table(&store).await;
    }
    if let Some(duration) = environment::soak_duration() {
        return job_soak::survive_for(duration, &stage, &store).await;
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

pub fn start(stage: &Stage, failpoints: String) -> Process {
    let config = ChildConfig { failpoints, ..ChildConfig::of(stage, Scenario::Registration) };
    Process::child_test("crash::jobs::child_runs_jobs", &config)
}

/// A job that a turn enqueued is there once, wherever its bot is killed: also between the commit and the effect that
/// carries it.
async fn jobs_of_turns_survive_kills(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    let store = open(&stage).await;
    if stage.backend.has_tables() {
        create_table(&store).await;
    }
    let person = stage.post("/users", json!({"first_name": "Anna"})).await["id"].as_i64().unwrap();
    let says = async |text: String| {
        stage.post(&format!("/chats/{person}/send"), json!({"from": person, "text": text})).await;
    };
    let places = places_of_turns(kind);
    for (number, place) in (1..).zip(&places) {
        let process = start(&stage, format!("{place}=pause@1"));
        process.wait_until_leading().await;
        says(format!("/sign {number}")).await;
        process.wait_for_log(&format!("failpoint {place}")).await;
        process.kill().await;
    }
    let process = start(&stage, String::new());
    until("all jobs", async || {
        let rows = rows(&store).await;
        rows.len() >= places.len() && rows.iter().all(|row| row.state == JobState::Completed)
    })
    .await;
    process.stop(&stage).await;
    let rows = rows(&store).await;
    store.close().await.unwrap();
    assert_eq!(rows.len(), places.len(), "each job is there once: {rows:?}");
    if stage.backend.has_tables() {
        let mut signed = writing_people(&stage).await;
        signed.sort_unstable();
        assert_eq!(signed, (1..).take(places.len()).collect::<Vec<_>>(), "every effect is there once");
    }
}

/// Where a bot is killed while a turn enqueues a job.
fn places_of_turns(kind: StoreKind) -> Vec<&'static str> {
    match kind {
        // An effect carries the job.
        StoreKind::Redis => {
            vec![failpoints::TURN_AFTER_COMMIT, failpoints::EFFECT_BEFORE_RUN, failpoints::EFFECT_AFTER_RUN]
        }
        // The job is in the decision, which Redis carries out later.
        StoreKind::RedisAndSqlite | StoreKind::RedisAndPostgres => {
            vec![failpoints::STORE_IN_WRITES, failpoints::STORE_AFTER_WRITES, failpoints::TURN_AFTER_COMMIT]
        }
        _ => vec![failpoints::TURN_BEFORE_COMMIT, failpoints::TURN_AFTER_COMMIT],
    }
}

async fn open(stage: &Stage) -> Arc<dyn Store> {
    let (address, database) = (stage.backend.address_and_folder().0, stage.backend.database());
    opora::store::open_with_database(&address, database.as_deref()).await.unwrap()
}

async fn rows(store: &Arc<dyn Store>) -> Vec<JobRow> {
    let filter = JobFilter { bot: BOT, ..JobFilter::default() };
    store.operator().jobs(&filter, None, 1_000).await.unwrap()
}
