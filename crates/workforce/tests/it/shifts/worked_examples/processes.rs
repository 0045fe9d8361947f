//! The three worked examples with the real program, killed between them.
//!
//! Each process runs ahead of the machine's clock, by `OPORA_CLOCK_AHEAD`, so that no test waits for minutes. An amount
//! is the same over a span of seconds (0.07 h are 234 s to 269 s). A process starts at the beginning of the span, and
//! has the rest of it for one step.

use opora::clock::{Clock, Millis};
use serde_json::json;
use workforce::sites::{AboutSite, AboutTask};

use super::super::person_chat::{Action, PersonChat, Step};
use super::super::prepared_tables::PreparedTables;
use super::super::{about_site, task};
use crate::kit::app_process::{AppProcess, start_emulator};
use crate::kit::demo::{ANNA, BORIS, Demo, until};
use crate::kit::firm::{StorageKind, TestStorage, embedded_and_on_servers};
use crate::registration::newcomer::{HILL, TOWER};

embedded_and_on_servers! {
    worked_examples_match_over_kills,
}

const VERA: i64 = 1003;
const CLOSING: &[Step] =
    &[(Action::Presses("⏹ Clock out"), "[Mark tasks]"), (Action::Chooses("lock out"), "Please share your location")];

const ANNA_PLANS: &[Step] = &[
    (Action::Says("/start"), "what would you like"),
    (Action::Presses("🗓 Pick up a shift"), "Which site?"),
    (Action::Presses("⚡ Next open shifts"), "Which shift would you like?"),
    (Action::Chooses(" · Warehouse"), "111\u{a0}₽ an hour"),
    (Action::Presses("Yes, I'll be there"), "You're signed up: Warehouse"),
];
const ANNA_WORKS: &[Step] = &[
    (Action::Says("/start"), "[▶️ Clock in]"),
    (Action::Presses("▶️ Clock in"), "Which shift are you starting?"),
    (Action::Chooses(" · Warehouse"), "Please share your location"),
    (Action::Here, "⬜ Drive 123 · bonus 123\u{a0}₽ · 📷 0\n⬜ Sweep · 📷 0"),
    (Action::Presses("✅ My tasks"), "[📷 Drive 123]"),
    (Action::Presses("📷 Drive 123"), "for: Drive 123"),
    (Action::Photo(HILL), "[✅ Drive 123]"),
    (Action::Presses("📷 Sweep"), "for: Sweep"),
    (Action::Photo(TOWER), "✅ Drive 123 · bonus 123\u{a0}₽ · 📷 1\n✅ Sweep · 📷 1"),
];
const ANNA_EARNS: &str = "\n\nHours worked: +7.77\u{a0}₽\n\
    Late start: −100\u{a0}₽\nBonus for a task “Drive 123”: +123\u{a0}₽\nTotal: 30.77\u{a0}₽";

const BORIS_WORKS: &[Step] = &[
    (Action::Says("/start"), "what would you like"),
    (Action::Presses("▶️ Clock in"), "Which shift are you starting?"),
    (Action::Presses("Shop, unscheduled"), "Please share your location"),
    (Action::Here, "⬜ Count the till · penalty 33\u{a0}₽\n⬜ Wash the windows · bonus 100\u{a0}₽"),
    (Action::Presses("✅ My tasks"), "[⬜ Wash the windows]"),
    (Action::Presses("⬜ Wash the windows"), "[✅ Wash the windows]"),
];
const BORIS_EARNS: &str = "\n\nHours worked: +9.90\u{a0}₽\n\
    Task not done “Count the till”: −33\u{a0}₽\nBonus for a task “Wash the windows”: +100\u{a0}₽\nTotal: 76.90\u{a0}₽";

/// Her task is marked while closing.
const VERA_WORKS: &[Step] = &[
    (Action::Says("/start"), "what would you like"),
    (Action::Presses("▶️ Clock in"), "Which shift are you starting?"),
    (Action::Presses("Kiosk, unscheduled"), "Please share your location"),
    (Action::Here, "⬜ Lock the door · penalty 44\u{a0}₽\n⬜ Wash the windows · bonus 50\u{a0}₽"),
    (Action::Presses("⏹ Clock out"), "[Clock out anyway]"),
    (Action::Presses("Mark tasks"), "[⬜ Lock the door]"),
    (Action::Presses("⬜ Lock the door"), "[✅ Lock the door]"),
    (Action::Presses("Continue to clock out"), "Please share your location"),
];
const VERA_EARNS: &str = "\n\nHours worked: +0.44\u{a0}₽\n\
    Task done “Lock the door”: 0\u{a0}₽\nTotal: 0.44\u{a0}₽";

/// Processes on the same storage, each later than the one before.
struct ProcessesOverTime {
    storage: TestStorage,
    emulator: Demo,
    tables: PreparedTables,
    ahead_seconds: i64,
}

async fn worked_examples_match_over_kills(kind: StorageKind) {
    let mut processes = ProcessesOverTime::begin(kind).await;
    let process = processes.start();
    processes.chat(ANNA).take_steps(ANNA_PLANS).await;
    process.kill().await;

    // Five of the fifteen minutes are free.
    let planned = processes.moment("SELECT created_at FROM shift_plans").await;
    let process = processes.start_at(planned, 15 * 60 + 1);
    processes.chat(ANNA).take_steps(ANNA_WORKS).await;
    processes.chat(BORIS).take_steps(BORIS_WORKS).await;
    processes.chat(VERA).take_steps(VERA_WORKS).await;
    process.kill().await;

    let process = processes.close_after(VERA, 18, VERA_EARNS).await;
    processes.chat(ANNA).take_steps(CLOSING).await;
    process.kill().await;
    let process = processes.close_after(ANNA, 234, ANNA_EARNS).await;
    processes.chat(BORIS).take_steps(CLOSING).await;
    process.kill().await;
    let process = processes.close_after(BORIS, 342, BORIS_EARNS).await;
    processes.assert_results().await;
    process.stop().await;
    processes.end().await;
}

impl ProcessesOverTime {
    async fn begin(kind: StorageKind) -> Self {
        let (storage, emulator) = (TestStorage::with_tables(kind).await, start_emulator().await);
        emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
        let tables = PreparedTables::new(&storage).await;
        make_warehouse(&tables).await;
        make_shop(&tables).await;
        make_kiosk(&tables).await;
        Self { storage, emulator, tables, ahead_seconds: 0 }
    }

    fn chat(&self, owner: i64) -> PersonChat<'_> {
        PersonChat::of(owner, &self.emulator)
    }

    fn start(&self) -> AppProcess {
        let ahead = self.ahead_seconds.to_string();
        AppProcess::start(&self.storage, &self.emulator, &[("OPORA_CLOCK_AHEAD", &ahead)])
    }

    /// Starts a process whose clock is this many seconds after a moment, or a little later. The clock never goes back.
    fn start_at(&mut self, moment: Millis, seconds: i64) -> AppProcess {
        let ahead_ms = moment.0 + seconds * 1000 - Clock::machine().now().0;
        self.ahead_seconds = self.ahead_seconds.max(ahead_ms.div_euclid(1000) + 1);
        self.start()
    }

    /// Shares the position when the shift is this old, and waits for the summary.
    async fn close_after(&mut self, who: i64, seconds: i64, told: &str) -> AppProcess {
        let since = "SELECT started_at FROM shifts JOIN users ON users.id = shifts.user_id WHERE telegram_id =";
        let started = self.moment(&format!("{since} {who}")).await;
        let process = self.start_at(started, seconds);
        let chat = self.chat(who);
        chat.act(Action::Here).await;
        chat.wait_for(told).await;
        process
    }

    async fn moment(&self, sql: &str) -> Millis {
        Millis(self.tables.numbers(sql).await[0])
    }

    /// Asserts that rows, sums and files match the summaries.
    async fn assert_results(&self) {
        let posted = "SELECT sites.name || ' ' || kind || ' ' || CAST(amount_kopecks AS TEXT) FROM adjustments \
            JOIN shifts ON shifts.id = adjustments.shift_id JOIN sites ON sites.id = shifts.site_id ORDER BY adjustments.id";
        let expected = [
            "Kiosk shift_base 44",
            "Kiosk task_completed 0",
            "Warehouse shift_base 777",
            "Warehouse late_start -10000",
            "Warehouse task_bonus 12300",
            "Shop shift_base 990",
            "Shop task_penalty -3300",
            "Shop task_bonus 10000",
        ];
        assert_eq!(self.tables.texts(posted).await, expected);
        let totals = "SELECT CAST(SUM(total_kopecks) AS BIGINT) FROM payroll_entries \
            JOIN users ON users.id = payroll_entries.user_id GROUP BY telegram_id ORDER BY telegram_id";
        assert_eq!(self.tables.numbers(totals).await, [3_077, 7_690, 44]);
        assert_eq!(self.tables.texts("SELECT status FROM shift_plans").await, ["completed"]);
        assert_eq!(self.tables.texts("SELECT DISTINCT status FROM shifts").await, ["completed"]);
        assert_eq!(self.tables.numbers("SELECT COUNT(*) FROM shifts").await, [3]);
        let kept = async || self.tables.numbers("SELECT COUNT(*) FROM attachments WHERE name IS NOT NULL").await;
        until("both photos are kept", async || (kept().await == [2]).then_some(())).await;
    }

    async fn end(self) {
        self.tables.close().await;
        self.emulator.stop().await;
    }
}

/// Shift 352: planned, at the slot's 111 an hour; lateness costs ten a minute; two tasks that need a photo.
async fn make_warehouse(tables: &PreparedTables) {
    let late = AboutSite { late_threshold_minutes: 5, late_minute_kopecks: 1_000, ..about_site("Warehouse") };
    let site = tables.site(AboutSite { rate_kopecks: 20_000, ..late }).await;
    let slot = tables.running_slot(site, |slot| slot.rate_kopecks = Some(11_100)).await;
    tables.task(site, Some(slot), AboutTask { needs_media: true, ..task("Drive 123", 12_300) }).await;
    tables.task(site, None, AboutTask { needs_media: true, ..task("Sweep", 0) }).await;
    tables.worker(ANNA, "Anna", site, |contract| contract.allows_spontaneous = false).await;
}

/// Shift 364: at the contract's 99 an hour; a penalty and a bonus.
async fn make_shop(tables: &PreparedTables) {
    let site = tables.site(AboutSite { rate_kopecks: 20_000, ..about_site("Shop") }).await;
    tables.task(site, None, task("Count the till", -3_300)).await;
    tables.task(site, None, task("Wash the windows", 10_000)).await;
    tables.worker(BORIS, "Boris", site, |contract| contract.rate_kopecks = Some(9_900)).await;
}

/// Shift 365: at the site's 44 an hour; a penalty and a bonus.
async fn make_kiosk(tables: &PreparedTables) {
    let site = tables.site(AboutSite { rate_kopecks: 4_400, ..about_site("Kiosk") }).await;
    tables.task(site, None, task("Lock the door", -4_400)).await;
    tables.task(site, None, task("Wash the windows", 5_000)).await;
    tables.worker(VERA, "Vera", site, |_| {}).await;
}
