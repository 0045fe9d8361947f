//! The program is killed or stopped between any two steps of a shift: nothing is lost, and nothing happens twice.

use chrono_tz::Europe::Moscow;
use workforce::money;
use workforce::sites::{AboutSite, AboutTask, Hours};

use super::person_chat::{Action, PersonChat, Step};
use super::prepared_tables::PreparedTables;
use super::{about_site, task};
use crate::kit::app_process::{AppProcess, start_emulator};
use crate::kit::demo::{ANNA, until};
use crate::kit::firm::{StorageKind, TestStorage, embedded_and_on_servers};
use crate::registration::newcomer::HILL;

mod nested;
mod within;

embedded_and_on_servers! {
    a_kill_between_any_two_steps_loses_nothing,
    a_restart_between_any_two_steps_loses_nothing,
}

/// A rouble for each second.
const RATE_KOPECKS: i64 = 360_000;

/// Anna's actions, and the answers.
pub const STEPS: &[Step] = &[
    (Action::Says("/start"), "what would you like"),
    (Action::Presses("▶️ Clock in"), "Which shift are you starting?"),
    (Action::Presses("Shop, unscheduled"), "Please share your location to show"),
    (Action::Here, "You clocked in at Shop"),
    (Action::Presses("✅ My tasks"), "[📷 Sweep]"),
    (Action::Presses("📷 Sweep"), "Send a photo"),
    (Action::Photo(HILL), "✅ Sweep · bonus 50\u{a0}₽ · 📷 1\n⬜ Lock up"),
    (Action::Presses("⬜ Lock up"), "✅ Sweep · bonus 50\u{a0}₽ · 📷 1\n✅ Lock up"),
    (Action::Presses("⏹ Clock out"), "Clock out?"),
    (Action::Presses("Continue to clock out"), "Please share your location to clock out"),
    (Action::Here, "Your shift at Shop is over"),
];

/// Anna may work at a shop without a plan. It has two tasks; one needs a photo.
pub async fn prepare(storage: &TestStorage) {
    let tables = PreparedTables::new(storage).await;
    let (rate_kopecks, hours) = (RATE_KOPECKS, Hours::new(0, 0));
    let site = tables.site(AboutSite { rate_kopecks, hours, time_zone: Moscow, ..about_site("Shop") }).await;
    tables.task(site, None, AboutTask { needs_media: true, ..task("Sweep", 5_000) }).await;
    tables.task(site, None, task("Lock up", -1_000)).await;
    tables.worker(ANNA, "Anna", site, |_| {}).await;
    tables.close().await;
}

async fn a_kill_between_any_two_steps_loses_nothing(kind: StorageKind) {
    run_shift_over_processes(kind, AppProcess::kill).await;
}

async fn a_restart_between_any_two_steps_loses_nothing(kind: StorageKind) {
    run_shift_over_processes(kind, async |process: AppProcess| drop(process.stop().await)).await;
}

/// Runs every step with its own process.
async fn run_shift_over_processes(kind: StorageKind, ends: impl AsyncFn(AppProcess)) {
    let (storage, emulator) = (TestStorage::with_tables(kind).await, start_emulator().await);
    prepare(&storage).await;
    let anna = PersonChat::of(ANNA, &emulator);
    for step in STEPS {
        let process = AppProcess::start(&storage, &emulator, &[]);
        anna.take_step(step).await;
        ends(process).await;
    }
    let process = AppProcess::start(&storage, &emulator, &[]);
    assert_worked_once(&storage, process).await;
    emulator.stop().await;
}

/// Asserts that everything of the shift exists, once.
pub async fn assert_worked_once(storage: &TestStorage, process: AppProcess) {
    let tables = PreparedTables::new(storage).await;
    let kept = async || tables.texts("SELECT media_type FROM attachments WHERE name IS NOT NULL").await;
    until("the photo is kept", async || (kept().await == ["image/png"]).then_some(())).await;
    process.stop().await;
    assert_eq!(tables.texts("SELECT kind FROM task_media").await, ["photo"]);
    // The bonus, the penalty that was avoided, and the pay for the time.
    assert_earned(&tables, &[("task_bonus", 5_000), ("task_completed", 0)]).await;
    tables.close().await;
}

/// Asserts that one shift is completed, with these amounts besides its time. Returns the sum.
async fn assert_earned(tables: &PreparedTables, besides: &[(&str, i64)]) -> i64 {
    assert_eq!(tables.texts("SELECT status FROM shifts").await, ["completed"]);
    let worked = tables.numbers("SELECT (ended_at - started_at) / 1000 FROM shifts").await[0];
    let base = money::PaidHours::worked(worked).at(money::Money::from_kopecks(RATE_KOPECKS)).kopecks();
    let expected = [&[("shift_base", base)], besides].concat();
    let kinds = tables.texts("SELECT kind FROM adjustments ORDER BY id").await;
    let amounts = tables.numbers("SELECT amount_kopecks FROM adjustments ORDER BY id").await;
    let posted: Vec<_> = kinds.iter().map(String::as_str).zip(amounts).collect();
    assert_eq!(posted, expected);
    let sum: i64 = expected.iter().map(|(_, amount)| amount).sum();
    assert_eq!(tables.numbers("SELECT total_kopecks FROM payroll_entries").await, [sum]);
    sum
}
