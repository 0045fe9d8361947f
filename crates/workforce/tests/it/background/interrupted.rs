//! A worker that is killed in each job, and a leader that is paused inside one while a standby takes over.

use std::time::Duration;

use chrono_tz::Europe::Moscow;
use opora::bot::Bot;
use opora::clock::Clock;
use serde_json::{Value, json};
use workforce::application::App;
use workforce::domain::Domain;
use workforce::notices::{self, Notice};
use workforce::person::Person;
use workforce::registration::TellDecision;
use workforce::rooms::Rooms;
use workforce::sites::{BroadcastDraft, Period, Sites};

use crate::kit::app_process::{AppProcess, start_emulator};
use crate::kit::demo::{BORIS, Demo, until};
use crate::kit::firm::{StorageKind, TestStorage, embedded_and_on_servers};
use crate::kit::sql::run_sql;
use crate::operator;
use crate::shifts::jobs_at_startup::{OLGA, assert_told_once, prepare, sums_of};

embedded_and_on_servers! {
    a_leader_paused_in_a_job_completes_nothing,
}

const VERA: i64 = 1004;
const HOUR: Duration = Duration::from_secs(3600);

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
pub fn schedules_off() -> Vec<(String, String)> {
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

/// A running job is cancelled beside the running product: its attempt is ended within a second.
#[tokio::test]
async fn a_running_job_is_cancelled_by_a_command() {
    let (storage, emulator) = (TestStorage::new(StorageKind::Sqlite).await, start_emulator().await);
    let process = start(&storage, &emulator, "job.before_run=pause");
    process.wait_for_log("opora starts").await;
    let jobs = Jobs { storage: &storage, emulator: &emulator };
    // The jobs of the start are off, so the failpoint is that of this job.
    let id = jobs.enqueue("payroll").await;
    process.wait_for_log("failpoint job.before_run").await;
    assert_eq!(jobs.run(&["show", &id]).await["state"], "running");
    assert_eq!(jobs.run(&["cancel", &id]).await, json!({"jobs": 1}));
    let is_cancelled = async || (jobs.run(&["show", &id]).await["state"] == "cancelled").then_some(());
    until("the job is cancelled", is_cancelled).await;
    process.stop().await;
    emulator.stop().await;
}

/// A decision, a message to staff and a notice wait when the program starts. Each process dies at the end of another
/// attempt, and the next one goes on.
#[tokio::test]
async fn messages_are_sent_once_by_killed_workers() {
    let (storage, emulator) = (TestStorage::new(StorageKind::Sqlite).await, start_emulator().await);
    for (id, name) in [(OLGA, "Olga"), (VERA, "Vera")] {
        emulator.post("/users", json!({"id": id, "first_name": name, "language_code": "en"})).await;
    }
    let domain = prepare(&storage).await;
    write_messages(&storage, &emulator, domain.clone()).await;
    // Nothing is sent yet: a message in flight during a kill is sent again.
    emulator.post("/faults", json!({"method": "sendMessage", "times": 1_000, "retry_after": 1})).await;
    // The first hit of the later ones is the end of the rescued attempt.
    for nth in [1, 2, 2] {
        start(&storage, &emulator, &format!("job.after_run=abort@{nth}")).ended().await;
    }
    let faults = format!("{}/client/{}/faults", emulator.base, emulator.token);
    assert!(emulator.http.delete(faults).send().await.unwrap().status().is_success());
    let process = start(&storage, &emulator, "");
    let expected = [(VERA, "The picture is dark"), (BORIS, "We open at ten"), (BORIS, "signed up for a shift")];
    for (chat, words) in expected {
        let arrived = async |demo: &Demo| demo.texts(chat).await.iter().any(|text| text.contains(words)).then_some(());
        emulator.until(words, arrived).await;
    }
    let jobs = Jobs { storage: &storage, emulator: &emulator };
    let unfinished = async || {
        let all = jobs.run(&["list", "--queue", "notifications"]).await;
        all.as_array().unwrap().iter().all(|job| job["state"] == "completed").then_some(())
    };
    until("all jobs end", unfinished).await;
    for (chat, words) in expected {
        let texts = emulator.texts(chat).await;
        assert_eq!(texts.iter().filter(|text| text.contains(words)).count(), 1, "{words}: {texts:#?}");
    }
    process.stop().await;
    domain.close().await.unwrap();
    emulator.stop().await;
}

/// Writes what [`messages_are_sent_once_by_killed_workers`] sends.
async fn write_messages(storage: &TestStorage, emulator: &Demo, domain: Domain) {
    run_sql(
        &domain,
        format!(
            "INSERT INTO users (telegram_id, full_name, language, status, enrolled_by, created_at, updated_at)
             VALUES ({VERA}, 'Vera', 'en', 'rejected', 'registration', 0, 0)"
        ),
    )
    .await;
    let config = storage.config(&[("BOT_TOKEN", emulator.token.as_str()), ("PUBLIC_URL", "http://office.example")]);
    let app = App::new(&config, domain, Rooms::all(), Bot::new(&emulator.token).handle(), Clock::machine());
    let [olga, boris, vera] = [OLGA, BORIS, VERA].map(|id| app.people.by_telegram(id));
    let (olga, boris, vera) = (person_of(olga).await, person_of(boris).await, person_of(vera).await);
    let draft = BroadcastDraft { text: "We open at ten".into(), recipients: vec![boris.id] };
    let sites = Sites::of_app(&app);
    let site = sites.list().await.unwrap()[0].id;
    sites.send_broadcast(&olga, site, draft).await.unwrap();
    let decision = format!(
        "INSERT INTO registration_decisions (user_id, is_approved, reason, decided_by, decided_at)
         VALUES ({}, FALSE, 'The picture is dark', {}, 0)",
        vera.id, olga.id
    );
    run_sql(&app.domain, decision).await;
    let when = Period { from: app.clock.now(), to: app.clock.now().plus(HOUR) }.local(Moscow);
    let news = vec![(boris.id, Notice::PlanMade { site: "Shop".into(), when })];
    let at = app.clock.now();
    let write = app.domain.write(move |db| {
        Box::pin(async move {
            db.enqueue([TellDecision { decision: 1 }], at).await?;
            notices::write(db, news, at).await
        })
    });
    write.await.unwrap();
}

async fn person_of(found: impl Future<Output = Result<Option<Person>, sea_orm::DbErr>>) -> Person {
    found.await.unwrap().unwrap()
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
