//! The whole program, killed or stopped between any two steps of a shift: nothing is lost, and nothing happens twice.

use chrono_tz::Europe::Moscow;
use workforce::money;
use workforce::sites::{AboutSite, AboutTask, Hours};

use super::phone::{Deed, Phone, Step};
use super::premises::Premises;
use super::{about_site, task};
use crate::kit::demo::{ANNA, until};
use crate::kit::firm::{Ground, Kind, embedded_and_on_servers};
use crate::kit::product::{Run, silent_emulator};
use crate::registration::newcomer::HILL;

mod nested;
mod within;

embedded_and_on_servers! {
    a_kill_between_any_two_steps_loses_nothing,
    a_restart_between_any_two_steps_loses_nothing,
}

/// What an hour costs: a rouble for each second.
const RATE_KOPECKS: i64 = 360_000;

/// What Anna does, and what she hears.
pub const DEEDS: &[Step] = &[
    (Deed::Says("/start"), "what would you like"),
    (Deed::Presses("▶️ Open a shift"), "Which shift do you open?"),
    (Deed::Presses("Shop, without a plan"), "Please share your position, so"),
    (Deed::Here, "Your shift at Shop is open"),
    (Deed::Presses("✅ My tasks"), "[📷 Sweep]"),
    (Deed::Presses("📷 Sweep"), "Send a photo"),
    (Deed::Photo(HILL), "✅ Sweep · +50.00\u{a0}₽ · 📷 1\n⬜ Lock up"),
    (Deed::Presses("⬜ Lock up"), "✅ Sweep · +50.00\u{a0}₽ · 📷 1\n✅ Lock up"),
    (Deed::Presses("⏹ Close my shift"), "Shall I close"),
    (Deed::Presses("Go on to closing"), "Please share your position to close"),
    (Deed::Here, "Your shift at Shop is closed"),
];

/// Anna may work at a shop without a plan, with two tasks; one needs a photo.
pub async fn prepare(ground: &Ground) {
    let premises = Premises::of(ground).await;
    let (rate_kopecks, hours) = (RATE_KOPECKS, Hours::new(0, 0));
    let site = premises.site(AboutSite { rate_kopecks, hours, time_zone: Moscow, ..about_site("Shop") }).await;
    premises.task(site, None, AboutTask { needs_media: true, ..task("Sweep", 5_000) }).await;
    premises.task(site, None, task("Lock up", -1_000)).await;
    premises.worker(ANNA, "Anna", site, |_| {}).await;
    premises.close().await;
}

async fn a_kill_between_any_two_steps_loses_nothing(kind: Kind) {
    a_shift_over_many_processes(kind, Run::dies).await;
}

async fn a_restart_between_any_two_steps_loses_nothing(kind: Kind) {
    a_shift_over_many_processes(kind, async |run: Run| drop(run.stops().await)).await;
}

/// Every step is heard by a process of its own.
async fn a_shift_over_many_processes(kind: Kind, ends: impl AsyncFn(Run)) {
    let (ground, emulator) = (Ground::new(kind).await, silent_emulator().await);
    prepare(&ground).await;
    let anna = Phone::of(ANNA, &emulator);
    for step in DEEDS {
        let run = Run::start(&ground, &emulator, &[]);
        anna.step(step).await;
        ends(run).await;
    }
    let run = Run::start(&ground, &emulator, &[]);
    has_worked_once(&ground, run).await;
    emulator.stop().await;
}

/// All that came of the shift is there, once.
pub async fn has_worked_once(ground: &Ground, run: Run) {
    let premises = Premises::of(ground).await;
    let kept = async || premises.texts("SELECT media_type FROM attachments WHERE name IS NOT NULL").await;
    until("the photo is kept", async || (kept().await == ["image/png"]).then_some(())).await;
    run.stops().await;
    assert_eq!(premises.texts("SELECT kind FROM task_media").await, ["photo"]);
    // The bonus, the penalty that was avoided, and what the time is worth.
    has_earned(&premises, &[("task_bonus", 5_000), ("task_completed", 0)]).await;
    premises.close().await;
}

/// One shift is over, and came to these amounts besides its time, to the kopeck; answers the sum.
async fn has_earned(premises: &Premises, besides: &[(&str, i64)]) -> i64 {
    assert_eq!(premises.texts("SELECT status FROM shifts").await, ["completed"]);
    let worked = premises.numbers("SELECT (ended_at - started_at) / 1000 FROM shifts").await[0];
    let base = money::Hours::worked(worked).at(money::Money::from_kopecks(RATE_KOPECKS)).kopecks();
    let expected = [&[("shift_base", base)], besides].concat();
    let kinds = premises.texts("SELECT kind FROM adjustments ORDER BY id").await;
    let amounts = premises.numbers("SELECT amount_kopecks FROM adjustments ORDER BY id").await;
    let posted: Vec<_> = kinds.iter().map(String::as_str).zip(amounts).collect();
    assert_eq!(posted, expected);
    let sum: i64 = expected.iter().map(|(_, amount)| amount).sum();
    assert_eq!(premises.numbers("SELECT total_kopecks FROM payroll_entries").await, [sum]);
    sum
}
