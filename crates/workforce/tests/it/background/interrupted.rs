//! A worker that is killed in each job, and a leader that is paused inside one while a standby takes over.

use serde_json::{Value, json};
use workforce::domain::Domain;
use workforce::rooms::Rooms;

use crate::kit::app_process::{AppProcess, start_emulator};
use crate::kit::demo::{Demo, until};
use crate::kit::firm::{StorageKind, TestStorage, embedded_and_on_servers};
use crate::operator;
use crate::shifts::jobs_at_startup::{OLGA, assert_told_once, prepare, sums_of};

embedded_and_on_servers! {
    a_leader_paused_in_a_job_completes_nothing,
}

/// What the job of [`paused`] does: half an hour at a hundred an hour for the closed shift.
const PAY: &str = "5000";

/// Runs `opora jobs` on a storage, with JSON.
struct Jobs<'a> {
    storage: &'a TestStorage,
    emulator: &'a Demo,
}

impl Jobs<'_> {
    async fn run(&self, arguments: &[&str]) -> Value {
        let database = self.storage.database.url();
        let settings = [("DATABASE_URL", database.as_str()), ("BOT_TOKEN", self.emulator.token.as_str())];
        let arguments = [&["jobs"], arguments, &["--json"]].concat();
        let said = operator::run(&settings, &arguments).await.success().stdout;
        serde_json::from_str(&said).unwrap()
    }

    /// Enqueues a scheduled job; returns its id.
    async fn enqueue(&self, name: &str) -> String {
        self.run(&["run", name]).await["id"].to_string()
    }

    /// Waits until a job has completed.
    async fn is_completed(&self, id: &str) -> Value {
        until("the job completes", async || {
            let job = self.run(&["show", id]).await;
            (job["state"] == "completed").then_some(job)
        })
        .await
    }
}

/// Schedules that would run jobs beside those of the test.
fn schedules_off() -> Vec<(String, String)> {
    let names = workforce::config::schedule_settings().map(|(setting, _)| setting.to_owned());
    names.map(|setting| (setting, "off".to_owned())).collect()
}

fn start(storage: &TestStorage, emulator: &Demo, failpoints: &str) -> AppProcess {
    let off = schedules_off();
    let mut settings: Vec<_> = off.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    settings.push(("OPORA_FAILPOINTS", failpoints));
    AppProcess::start(storage, emulator, &settings)
}

/// Each process dies when its job has done everything and the end of the job is not stored. The next process rescues
/// the job, and dies in the next one. The queue `notifications` is paused meanwhile, because notices would run in
/// between; `sent_after_response` kills the sending of notices.
#[tokio::test]
async fn a_worker_killed_in_each_job_leaves_the_effect_once() {
    let (storage, emulator) = (TestStorage::new(StorageKind::Sqlite).await, start_emulator().await);
    emulator.post("/users", json!({"id": OLGA, "first_name": "Olga", "language_code": "en"})).await;
    let domain = prepare(&storage).await;
    let jobs = Jobs { storage: &storage, emulator: &emulator };
    let mut killed: Vec<String> = Vec::new();
    for job in Rooms::all().jobs().list().iter().filter(|job| job.queue != "notifications") {
        // The first run is that of the rescued job.
        let nth = if killed.is_empty() { 1 } else { 2 };
        let process = start(&storage, &emulator, &format!("job.after_run=abort@{nth}"));
        process.wait_for_log("opora starts").await;
        jobs.run(&["pause", "notifications"]).await;
        if let Some(rescued) = killed.last() {
            jobs.is_completed(rescued).await;
        }
        killed.push(jobs.enqueue(job.name).await);
        process.ended().await;
    }
    let process = start(&storage, &emulator, "");
    jobs.run(&["resume", "notifications"]).await;
    for id in &killed {
        let job = jobs.is_completed(id).await;
        assert_eq!((&job["attempt"], job["errors"].as_array().unwrap().len()), (&json!(2), 1), "{job:#}");
    }
    for job in Rooms::all().jobs().list().iter().filter(|job| job.queue == "notifications") {
        jobs.is_completed(&jobs.enqueue(job.name).await).await;
    }
    assert_told_once(&emulator).await;
    assert_eq!(sums_of(&domain).await, ["15000"]);
    process.stop().await;
    domain.close().await.unwrap();
    emulator.stop().await;
}

/// Pauses a process where it holds no lock of an SQLite file: there it would stop every other process too.
async fn pause_and_clear_lease(storage: &TestStorage, process: &AppProcess) {
    const ATTEMPTS: usize = 5;
    for attempt in 1..=ATTEMPTS {
        process.signal("STOP");
        let cleared = operator::run(&[("STATE_URL", &storage.state)], &["state", "lease", "clear", "--yes"]).await;
        if !cleared.stderr.contains("database is locked") || attempt == ATTEMPTS {
            cleared.success();
            return;
        }
        process.signal("CONT");
    }
}

async fn a_leader_paused_in_a_job_completes_nothing(kind: StorageKind) {
    let (storage, emulator) = (TestStorage::new(kind).await, start_emulator().await);
    let domain = prepare(&storage).await;
    let jobs = Jobs { storage: &storage, emulator: &emulator };
    let paused = start(&storage, &emulator, "job.after_run=pause");
    paused.wait_for_log("opora starts").await;
    let id = jobs.enqueue("shift-adjustments").await;
    paused.wait_for_log("failpoint job.after_run").await;
    pause_and_clear_lease(&storage, &paused).await;
    let next = start(&storage, &emulator, "");
    let job = jobs.is_completed(&id).await;
    assert_eq!((&job["attempt"], job["errors"].as_array().unwrap().len()), (&json!(2), 1), "{job:#}");
    let before = posted(&domain).await;
    paused.signal("CONT");
    paused.wait_for_log("no longer the leader").await;
    assert_eq!(jobs.run(&["show", &id]).await, job, "the former leader changes nothing");
    assert_eq!((posted(&domain).await, before.as_slice()), (before.clone(), &[PAY.to_owned()][..]));
    paused.kill().await;
    next.stop().await;
    domain.close().await.unwrap();
    emulator.stop().await;
}

async fn posted(domain: &Domain) -> Vec<String> {
    let sql = "SELECT CAST(amount_kopecks AS TEXT) FROM adjustments ORDER BY id";
    crate::shifts::prepared_tables::first_column::<String>(domain, sql).await
}
