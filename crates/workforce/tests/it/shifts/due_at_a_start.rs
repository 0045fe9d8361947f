//! The whole program and what was due before it started: its jobs find that by themselves, do it and tell it, once.

use chrono::Timelike;
use chrono_tz::Europe::Moscow;
use opora::clock::{Clock, Millis};
use serde_json::json;
use workforce::domain::Domain;
use workforce::people::{self, Grant, People};
use workforce::person::Role;
use workforce::rooms::Rooms;
use workforce::shifts::{self, Start};
use workforce::sites::{self, AboutContract, AboutSite, AboutSlot, By, ContractStatus, Hours, local};
use workforce::texts::Language;

use super::about_site;
use super::by_time::run as run_sql;
use super::premises::first_column;
use crate::kit::demo::{ANNA, BORIS, Demo, until};
use crate::kit::firm::{Ground, Kind, embedded_and_on_servers};
use crate::kit::product::{Run, silent_emulator};

embedded_and_on_servers! {
    what_was_due_before_the_start_is_done_and_told_once,
}

const OLGA: i64 = 1003;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// Who hears what.
const TOLD: [(i64, &str); 4] = [
    (ANNA, "I have closed your shift at Shop, because its time was over."),
    (BORIS, "A reminder: your shift at Shop is soon"),
    (BORIS, "You were expected at Shop"),
    (OLGA, "Boris has not come to Shop"),
];

/// Tables as a process finds them that was away for a while.
struct Before {
    domain: Domain,
    now: Millis,
    site: i64,
}

impl Before {
    async fn new(ground: &Ground) -> Self {
        let domain = Domain::beside(&ground.database).await.unwrap();
        let (now, by) = (Clock::machine().now(), By { person: None, at: Millis(0) });
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
        let (id, by) = (self.person(telegram_id, name, Role::Employee).await, By { person: None, at: Millis(0) });
        let about = AboutContract {
            status: ContractStatus::Active,
            rate_kopecks: None,
            allows_spontaneous: true,
            sites: vec![self.site],
        };
        self.domain.write_and_get(move |db| Box::pin(sites::create_contract(db, id, about, by))).await.unwrap();
        id
    }

    /// Somebody plans to come for an hour, long ago.
    async fn plans(&self, user: i64, starts: Millis) {
        let (site, by) = (self.site, By { person: None, at: Millis(0) });
        let (from, to) = (local(starts, Moscow), local(Millis(starts.0 + HOUR_MS), Moscow));
        let minute = |at: chrono::NaiveDateTime| i64::from(at.num_seconds_from_midnight()) / 60;
        let about = AboutSlot::usual(from.date(), Hours::new(minute(from), minute(to)));
        let slot = self.domain.write_and_get(move |db| Box::pin(sites::create_slot(db, site, about, by)));
        let slot = slot.await.unwrap();
        self.domain.write_and_get(move |db| Box::pin(shifts::plan(db, user, slot, Millis(0)))).await.unwrap();
    }

    async fn opens(&self, user: i64, at: Millis) {
        let start = Start { user_id: user, site_id: self.site, plan_id: None, position: None, started_at: at, at };
        self.domain.write_and_get(move |db| Box::pin(shifts::open(db, start))).await.unwrap();
    }

    async fn sql(&self, sql: &str) {
        let sql = sql.to_owned();
        self.domain.write(move |db| Box::pin(run_sql(db, sql))).await.unwrap();
    }
}

/// A shift that was closed and not paid, one that nobody closed, a plan for soon, and one that nobody came to.
async fn prepare(ground: &Ground) -> Domain {
    let before = Before::new(ground).await;
    before.person(OLGA, "Olga", Role::Owner).await;
    let (anna, boris) = (before.worker(ANNA, "Anna").await, before.worker(BORIS, "Boris").await);
    before.opens(anna, before.at(-30 * HOUR_MS)).await;
    before.sql("UPDATE shifts SET status = 'completed', ended_at = started_at + 1800000, closed_by = 'staff'").await;
    before.opens(anna, before.at(-5 * HOUR_MS)).await;
    before.plans(boris, before.at(HOUR_MS)).await;
    before.plans(boris, before.at(-2 * HOUR_MS)).await;
    before.domain
}

async fn what_was_due_before_the_start_is_done_and_told_once(kind: Kind) {
    let (ground, emulator) = (Ground::new(kind).await, silent_emulator().await);
    emulator.post("/users", json!({"id": OLGA, "first_name": "Olga", "language_code": "en"})).await;
    let domain = prepare(&ground).await;
    let run = Run::start(&ground, &emulator, &[]);
    for (chat, words) in TOLD {
        emulator.hears(chat, words).await;
    }
    // Half an hour, and the hour after which the other one was over, at a hundred an hour.
    let amounts = async || {
        first_column::<String>(&domain, "SELECT CAST(amount_kopecks AS TEXT) FROM adjustments ORDER BY 1").await
    };
    until("both shifts are paid", async || (amounts().await == ["10000", "5000"]).then_some(())).await;
    run.stops().await;
    // A start lets every job run again, and none finds anything to do.
    let run = Run::start(&ground, &emulator, &[("RUST_LOG", "info,workforce::jobs=debug")]);
    for job in Rooms::all().jobs() {
        run.logs(&format!("a job is done job=\"{}\"", job.name)).await;
    }
    is_told_once(&emulator).await;
    run.stops().await;
    assert_eq!(amounts().await, ["10000", "5000"]);
    let kinds = first_column::<String>(&domain, "SELECT DISTINCT kind FROM adjustments").await;
    let sums = first_column::<String>(&domain, "SELECT CAST(SUM(total_kopecks) AS TEXT) FROM payroll_entries").await;
    assert_eq!((kinds, sums), (vec!["shift_base".to_owned()], vec!["15000".to_owned()]));
    domain.close().await.unwrap();
    emulator.stop().await;
}

async fn is_told_once(emulator: &Demo) {
    for (chat, words) in TOLD {
        // Whatever was posted before the answer is in the chat before it.
        let before = emulator.texts(chat).await.len();
        emulator.says(chat, "/me").await;
        let answer = format!("Your Telegram number: {chat}");
        let answered = async |demo: &Demo| {
            demo.texts(chat).await.iter().skip(before).any(|text| text.contains(&answer)).then_some(())
        };
        emulator.until(&answer, answered).await;
        let said = emulator.texts(chat).await;
        assert_eq!(said.iter().filter(|text| text.starts_with(words)).count(), 1, "{words}: {said:#?}");
    }
}
