//! Work that was due before the program started: its jobs do it and notify people, once.

use chrono::Timelike;
use chrono_tz::Europe::Moscow;
use opora::clock::{Clock, Millis};
use serde_json::{Value, json};
use workforce::domain::Domain;
use workforce::people::{self, Grant, People};
use workforce::person::Role;
use workforce::rooms::Rooms;
use workforce::shifts::{self, ShiftStart};
use workforce::sites::{self, AboutSite, AboutSlot, ChangedBy, Hours, local};
use workforce::texts::Language;

use super::prepared_tables::first_column;
use super::{about_contract, about_site};
use crate::kit::app_process::{AppProcess, start_emulator};
use crate::kit::demo::{ANNA, BORIS, Demo, until};
use crate::kit::firm::{StorageKind, TestStorage, embedded_and_on_servers};
use crate::kit::sql::run_sql;
use crate::operator;

embedded_and_on_servers! {
    overdue_work_is_done_and_told_once,
}

pub const OLGA: i64 = 1003;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// The expected messages, by chat.
const EXPECTED_MESSAGES: [(i64, &str); 4] = [
    (ANNA, "I clocked you out at Shop, because your shift was over."),
    (BORIS, "Reminder: your shift at Shop starts soon"),
    (BORIS, "You were expected at Shop"),
    (OLGA, "No-show: Boris, Shop"),
];

/// Tables as a process finds them after it was away.
struct DueWork {
    domain: Domain,
    now: Millis,
    site: i64,
}

impl DueWork {
    async fn new(storage: &TestStorage) -> Self {
        let domain = Domain::open_for_command(&storage.database).await.unwrap();
        let (now, by) = (Clock::machine().now(), ChangedBy { person: None, at: Millis(0) });
        let about = AboutSite { rate_kopecks: 10_000, ..about_site("Shop") };
        let site = domain.write_and_get(move |db| Box::pin(sites::create_site(db, about, by))).await.unwrap();
        Self { domain, now, site }
    }

    fn at(&self, later_ms: i64) -> Millis {
        Millis(self.now.0 + later_ms)
    }

    async fn person(&self, telegram_id: i64, name: &str, role: Role) -> i64 {
        let grant = Grant { telegram_id, full_name: name.into(), role, language: Language::En, by: None };
        self.domain.write(move |db| Box::pin(people::grant(db, grant, Millis(0)))).await.unwrap();
        People::new(self.domain.clone()).by_telegram(telegram_id).await.unwrap().unwrap().id
    }

    async fn worker(&self, telegram_id: i64, name: &str) -> i64 {
        let (id, by) =
            (self.person(telegram_id, name, Role::Employee).await, ChangedBy { person: None, at: Millis(0) });
        let about = about_contract(&[self.site], true);
        self.domain.write_and_get(move |db| Box::pin(sites::create_contract(db, id, about, by))).await.unwrap();
        id
    }

    /// A plan for one hour, made long ago.
    async fn plans(&self, user: i64, starts: Millis) {
        let (site, by) = (self.site, ChangedBy { person: None, at: Millis(0) });
        let (from, to) = (local(starts, Moscow), local(Millis(starts.0 + HOUR_MS), Moscow));
        let minute = |at: chrono::NaiveDateTime| i64::from(at.num_seconds_from_midnight()) / 60;
        let about = AboutSlot::usual(from.date(), Hours::new(minute(from), minute(to)));
        let slot = self.domain.write_and_get(move |db| Box::pin(sites::create_slot(db, site, about, by)));
        let slot = slot.await.unwrap();
        self.domain.write_and_get(move |db| Box::pin(shifts::plan(db, user, slot, Millis(0)))).await.unwrap();
    }

    async fn opens(&self, user: i64, at: Millis) {
        let start = ShiftStart { user_id: user, site_id: self.site, plan_id: None, position: None, started_at: at, at };
        self.domain.write_and_get(move |db| Box::pin(shifts::open(db, start))).await.unwrap();
    }
}

/// A closed shift without pay, a shift that was not closed, a plan for soon, and a missed plan.
pub async fn prepare(storage: &TestStorage) -> Domain {
    let due = DueWork::new(storage).await;
    due.person(OLGA, "Olga", Role::Owner).await;
    let (anna, boris) = (due.worker(ANNA, "Anna").await, due.worker(BORIS, "Boris").await);
    due.opens(anna, due.at(-30 * HOUR_MS)).await;
    let closed = "UPDATE shifts SET status = 'completed', ended_at = started_at + 1800000, closed_by = 'staff'";
    run_sql(&due.domain, closed).await;
    due.opens(anna, due.at(-5 * HOUR_MS)).await;
    due.plans(boris, due.at(HOUR_MS)).await;
    due.plans(boris, due.at(-2 * HOUR_MS)).await;
    due.domain
}

async fn overdue_work_is_done_and_told_once(kind: StorageKind) {
    let (storage, emulator) = (TestStorage::new(kind).await, start_emulator().await);
    emulator.post("/users", json!({"id": OLGA, "first_name": "Olga", "language_code": "en"})).await;
    let domain = prepare(&storage).await;
    let process = AppProcess::start(&storage, &emulator, &[]);
    run_all_jobs(&storage, &emulator).await;
    for (chat, words) in EXPECTED_MESSAGES {
        emulator.receives(chat, words).await;
    }
    // Half an hour, and the hour until the other shift was over, at a hundred an hour.
    let amounts = async || {
        first_column::<String>(&domain, "SELECT CAST(amount_kopecks AS TEXT) FROM adjustments ORDER BY 1").await
    };
    until("both shifts are paid", async || (amounts().await == ["10000", "5000"]).then_some(())).await;
    process.stop().await;
    // After a restart every job runs again and finds nothing to do.
    let process = AppProcess::start(&storage, &emulator, &[]);
    run_all_jobs(&storage, &emulator).await;
    assert_told_once(&emulator).await;
    process.stop().await;
    assert_eq!(amounts().await, ["10000", "5000"]);
    let kinds = first_column::<String>(&domain, "SELECT DISTINCT kind FROM adjustments").await;
    assert_eq!((kinds, sums_of(&domain).await), (vec!["shift_base".to_owned()], vec!["15000".to_owned()]));
    domain.close().await.unwrap();
    emulator.stop().await;
}

/// The sum of all pay.
pub async fn sums_of(domain: &Domain) -> Vec<String> {
    first_column(domain, "SELECT CAST(SUM(total_kopecks) AS TEXT) FROM payroll_entries").await
}

/// Runs every scheduled job by the command line, beside the program, and waits for their ends.
async fn run_all_jobs(storage: &TestStorage, emulator: &Demo) {
    let database = storage.database.url();
    let settings = [("DATABASE_URL", database.as_str()), ("BOT_TOKEN", emulator.token.as_str())];
    for job in Rooms::all().jobs().list() {
        let said = operator::run(&settings, &["jobs", "run", job.name, "--json"]).await.success().stdout;
        let id = serde_json::from_str::<Value>(&said).unwrap()["id"].to_string();
        let is_done = async || {
            let said = operator::run(&settings, &["jobs", "show", &id, "--json"]).await.success().stdout;
            let shown: Value = serde_json::from_str(&said).unwrap();
            assert!(shown["errors"].as_array().unwrap().is_empty(), "{shown:#}");
            (shown["state"] == "completed").then_some(())
        };
        until(job.name, is_done).await;
    }
}

pub async fn assert_told_once(emulator: &Demo) {
    for (chat, words) in EXPECTED_MESSAGES {
        emulator.receives(chat, words).await;
        // Messages arrive in order, so everything posted before the answer has arrived.
        let before = emulator.texts(chat).await.len();
        emulator.says(chat, "/me").await;
        let answer = format!("Your Telegram ID: {chat}");
        let answered = async |demo: &Demo| {
            demo.texts(chat).await.iter().skip(before).any(|text| text.contains(&answer)).then_some(())
        };
        emulator.until(&answer, answered).await;
        let said = emulator.texts(chat).await;
        assert_eq!(said.iter().filter(|text| text.starts_with(words)).count(), 1, "{words}: {said:#?}");
    }
}
