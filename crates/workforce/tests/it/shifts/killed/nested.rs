//! Kills during a planned shift that is closed from within another dialogue: "Close a site" calls the shift's dialogue,
//! which calls its tasks, so that three dialogues are stacked.

use workforce::money::Money;
use workforce::sites::AboutSite;
use workforce::texts::Language;

use super::super::person_chat::{Action, PersonChat, Step};
use super::super::prepared_tables::PreparedTables;
use super::super::{about_site, task};
use super::{RATE_KOPECKS, assert_earned};
use crate::kit::app_process::{AppProcess, start_emulator};
use crate::kit::demo::ANNA;
use crate::kit::firm::{StorageKind, TestStorage, embedded_and_on_servers};
use crate::operator;

embedded_and_on_servers! {
    a_kill_in_nested_dialogues_loses_nothing,
}

const STEPS: &[Step] = &[
    (Action::Says("/start"), "what would you like"),
    (Action::Presses("🗓 Pick up a shift"), "Which site?"),
    (Action::Presses("⚡ Next open shifts"), "Which shift would you like?"),
    (Action::Chooses(" · Shop"), "Sign you up?"),
    (Action::Presses("Yes, I'll be there"), "You're signed up: Shop"),
    (Action::Says("/start"), "[▶️ Clock in]"),
    (Action::Presses("▶️ Clock in"), "Which shift are you starting?"),
    (Action::Chooses(" · Shop"), "Please share your location to show"),
    (Action::Here, "You clocked in at Shop"),
    (Action::Says("/start"), "[🔒 Close a site]"),
    (Action::Presses("🔒 Close a site"), "Which site are you closing?"),
    (Action::Presses("Shop"), "[Clock out anyway]"),
    (Action::Presses("Mark tasks"), "[⬜ Lock up]"),
    (Action::Presses("⬜ Lock up"), "[✅ Lock up]"),
    (Action::Presses("✅ Lock up"), "[⬜ Lock up]"),
    (Action::Presses("⬜ Lock up"), "[✅ Lock up]"),
    (Action::Presses("Continue to clock out"), "Please share your location to clock out"),
    (Action::Here, "Your shift at Shop is over"),
];

/// Anna may only work in a slot that has its own rate and task, and has already begun.
async fn prepare(tables: &PreparedTables) {
    let late = AboutSite { late_threshold_minutes: 5, late_minute_kopecks: 1_000, ..about_site("Shop") };
    let site = tables.site(AboutSite { rate_kopecks: 100, ..late }).await;
    let slot = tables.running_slot(site, |slot| slot.rate_kopecks = Some(RATE_KOPECKS)).await;
    tables.task(site, Some(slot), task("Count the till", 7_000)).await;
    tables.task(site, None, task("Lock up", -1_000)).await;
    tables.worker(ANNA, "Anna", site, |contract| contract.allows_spontaneous = false).await;
}

async fn a_kill_in_nested_dialogues_loses_nothing(kind: StorageKind) {
    let (storage, emulator) = (TestStorage::with_tables(kind).await, start_emulator().await);
    let (tables, anna) = (PreparedTables::new(&storage).await, PersonChat::of(ANNA, &emulator));
    prepare(&tables).await;
    for step in STEPS {
        let process = AppProcess::start(&storage, &emulator, &[]);
        anna.take_step(step).await;
        process.kill().await;
    }
    let process = AppProcess::start(&storage, &emulator, &[]);
    // When this is answered, everything before it is done.
    anna.take_step(&(Action::Says("/me"), "Your Telegram ID: 1001")).await;
    process.stop().await;
    let sum = assert_earned(&tables, &[("task_completed", 0)]).await;
    let told = format!(
        "Total: {}\n\nNo one else is working at Shop, so it's closed too.",
        Money::from_kopecks(sum).shown(Language::En)
    );
    assert!(anna.count(&told).await > 0, "{:?}", emulator.texts(ANNA).await);
    assert_over(&tables).await;
    let state = [("STATE_URL", storage.state.as_str())];
    let parked = operator::run(&state, &["state", "parked", "list"]).await.success().stdout;
    assert!(parked.contains("Nothing is parked"), "{parked}");
    tables.close().await;
    emulator.stop().await;
}

/// Asserts one plan, one shift and one opening, all ended by the person.
async fn assert_over(tables: &PreparedTables) {
    assert_eq!(tables.texts("SELECT status FROM shift_plans").await, ["completed"]);
    assert_eq!(tables.numbers("SELECT taken FROM time_slots").await, [1]);
    let by_plan = "SELECT closed_by FROM shifts WHERE plan_id IS NOT NULL AND ended_at > started_at";
    assert_eq!(tables.texts(by_plan).await, ["person"]);
    let done = "SELECT text FROM shift_tasks WHERE done_at IS NOT NULL";
    assert_eq!(tables.texts(done).await, ["Lock up"]);
    assert_eq!(tables.numbers("SELECT COUNT(*) FROM shift_tasks").await, [2]);
    assert_eq!(tables.numbers("SELECT closed_at - opened_at FROM site_openings").await.len(), 1);
    assert_eq!(tables.numbers("SELECT COUNT(*) FROM site_openings WHERE closed_at IS NULL").await, [0]);
}
