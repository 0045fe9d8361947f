//! Many reminders that are due at once, within Telegram's limits: each chat gets one, in order, also over a kill in the
//! middle. Meanwhile people who ask something are answered first.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use opora::clock::Clock;
use serde_json::{Value, json};
use workforce::domain::Domain;

use super::interrupted::schedules_off;
use crate::kit::app_process::{AppProcess, start_emulator_with};
use crate::kit::demo::Demo;
use crate::kit::firm::{StorageKind, TestStorage};
use crate::operator;
use crate::shifts::about_site;
use crate::shifts::prepared_tables::{PreparedTables, first_column};

const FIRST_CHAT: i64 = 100_000;
/// People who only ask. Each asks once per phase, because a chat gets one message a second.
const FIRST_ASKER: i64 = 5_000;
const ASKERS: i64 = 30;
/// A busy machine may delay any answer by this much.
const ANSWER_FLOOR: Duration = Duration::from_secs(1);
/// Telegram's limit for a bot.
const MESSAGES_PER_SECOND: usize = 30;
/// How many requests at a time this test makes.
const REQUESTS: usize = 16;

struct Crowd {
    storage: TestStorage,
    emulator: Demo,
    people: i64,
}

impl Crowd {
    /// Each person has a plan that begins within two hours, in the order of their chats.
    async fn prepare(people: i64) -> Self {
        let storage = TestStorage::new(StorageKind::Sqlite).await;
        let emulator = start_emulator_with(&["--limits", "telegram"]).await;
        let ids = (FIRST_CHAT..FIRST_CHAT + people).chain(FIRST_ASKER..FIRST_ASKER + ASKERS);
        let known = stream::iter(ids).map(|id| {
            let emulator = &emulator;
            async move { emulator.post("/users", json!({"id": id, "first_name": "P", "language_code": "en"})).await }
        });
        known.buffer_unordered(REQUESTS).for_each(async |_| {}).await;
        let tables = PreparedTables::new(&storage).await;
        let site = tables.site(about_site("Shop")).await;
        tables.running_slot(site, |_| {}).await;
        let soon = Clock::machine().now().plus(Duration::from_secs(5400)).0;
        let numbers =
            format!("WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {people})");
        tables
            .run(format!(
            "{numbers} INSERT INTO users (telegram_id, full_name, language, status, enrolled_by, created_at, updated_at)
             SELECT {FIRST_CHAT} + i, 'Person', 'en', 'verified', 'grant', 0, 0 FROM n"
        ))
            .await;
        tables
            .run(format!(
                "INSERT INTO shift_plans (user_id, slot_id, site_id, starts_at, ends_at, created_at, updated_at)
             SELECT users.id, time_slots.id, {site}, {soon} + users.telegram_id - {FIRST_CHAT}, {soon} + 3600000, 0, 0
             FROM users, time_slots WHERE users.telegram_id >= {FIRST_CHAT}"
            ))
            .await;
        tables.close().await;
        Self { storage, emulator, people }
    }

    fn start(&self, failpoints: &str) -> AppProcess {
        let off = schedules_off();
        let mut settings: Vec<_> = off.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        settings.extend([("SEND_LIMITS", "telegram"), ("OPORA_FAILPOINTS", failpoints)]);
        AppProcess::start(&self.storage, &self.emulator, &settings)
    }

    /// The slowest of the answers to people who ask one after the other: the p99 of so few.
    async fn slowest_answer(&self) -> Duration {
        let mut slowest = Duration::ZERO;
        for asker in FIRST_ASKER..FIRST_ASKER + ASKERS {
            let before = self.emulator.texts(asker).await.len();
            let began = Instant::now();
            self.emulator.says(asker, "/me").await;
            let answered = async |emulator: &Demo| {
                let texts = emulator.texts(asker).await;
                texts.iter().skip(before).any(|text| text.contains("Your Telegram ID")).then_some(())
            };
            self.emulator.until("the answer", answered).await;
            slowest = slowest.max(began.elapsed());
        }
        slowest
    }

    /// Waits until a query returns a number, as long as it goes on rising or falling.
    async fn until_number(&self, domain: &Domain, sql: &str, number: i64) {
        let mut last = (i64::MIN, Instant::now());
        loop {
            let now = first_column::<i64>(domain, sql).await[0];
            if now == number {
                return;
            }
            if now != last.0 {
                last = (now, Instant::now());
            }
            assert!(last.1.elapsed() < STALLED_AFTER, "{sql} stays {now}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The reminders of each chat: when they came, in the order of the chats.
    async fn reminders(&self) -> Vec<Vec<i64>> {
        let chats = stream::iter(FIRST_CHAT..FIRST_CHAT + self.people).map(|chat| async move {
            let said = self.emulator.get(&format!("/chats/{chat}/messages?after=0&wait=0")).await;
            let is_reminder =
                |message: &&Value| message["text"].as_str().is_some_and(|text| text.contains("starts soon"));
            let said = said.as_array().cloned().unwrap_or_default();
            said.iter().filter(is_reminder).map(|message| message["date"].as_i64().unwrap()).collect()
        });
        chats.buffered(REQUESTS).collect().await
    }
}

/// No notice was sent for so long.
const STALLED_AFTER: Duration = Duration::from_secs(60);

/// Sends reminders to so many people. The first process stops in the middle, when all that it posted has arrived: a
/// message in flight during a kill is sent again.
async fn remind(people: i64) {
    let crowd = Crowd::prepare(people).await;
    let middle = people / 2;
    let first = crowd.start(&format!("notice.after_post=pause@{middle}"));
    first.wait_for_log("opora starts").await;
    let usual = crowd.slowest_answer().await;
    let limit = usual.max(ANSWER_FLOOR) * 2;
    let database = crowd.storage.database.url();
    let settings = [("DATABASE_URL", database.as_str()), ("BOT_TOKEN", crowd.emulator.token.as_str())];
    operator::run(&settings, &["jobs", "run", "shift-reminders"]).await.success();
    let domain = Domain::open_for_command(&crowd.storage.database).await.unwrap();
    let told = "SELECT COUNT(*) FROM notices WHERE is_told";
    crowd.until_number(&domain, "SELECT COUNT(*) > 0 FROM notices WHERE is_told", 1).await;
    let busy = crowd.slowest_answer().await;
    assert!(busy < limit, "answers took {busy:?} beside reminders, and {usual:?} before");
    crowd.until_number(&domain, told, middle - 1).await;
    first.wait_for_log("failpoint notice.after_post").await;
    crowd.until_number(&domain, "SELECT COUNT(*) FROM opora_outbox", 0).await;
    first.kill().await;
    let second = crowd.start("");
    second.wait_for_log("opora starts").await;
    crowd.until_number(&domain, &format!("SELECT COUNT(*) > {middle} FROM notices WHERE is_told"), 1).await;
    let busy = crowd.slowest_answer().await;
    assert!(busy < limit, "answers took {busy:?} after the restart, and {usual:?} before");
    crowd.until_number(&domain, told, people).await;
    crowd.until_number(&domain, "SELECT COUNT(*) FROM opora_outbox", 0).await;
    check(&crowd.reminders().await);
    domain.close().await.unwrap();
    second.stop().await;
    crowd.emulator.stop().await;
}

fn check(reminders: &[Vec<i64>]) {
    let wrong: Vec<_> = reminders.iter().enumerate().filter(|(_, times)| times.len() != 1).collect();
    assert!(wrong.is_empty(), "chats without exactly one reminder: {wrong:?}");
    let times: Vec<i64> = reminders.concat();
    assert!(times.is_sorted(), "the shift that begins first goes first");
    let mut by_second = BTreeMap::<i64, usize>::new();
    for second in times {
        *by_second.entry(second).or_default() += 1;
    }
    assert!(by_second.values().all(|count| *count <= MESSAGES_PER_SECOND), "{by_second:?}");
}

#[tokio::test]
async fn reminders_are_sent_once_in_order_beside_answers() {
    remind(300).await;
}

mod all_at_full_size {
    #[tokio::test]
    async fn ten_thousand_reminders_are_sent_once_in_order() {
        super::remind(10_000).await;
    }
}
