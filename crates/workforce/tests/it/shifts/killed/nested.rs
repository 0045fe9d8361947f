//! The same for a shift that was planned, and closed from within another dialogue: the way through "Close a site" asks for
//! the shift, which asks for its tasks, so that three dialogues lie on each other when a process ends.

use workforce::money::Money;
use workforce::sites::AboutSite;
use workforce::texts::Language;

use super::super::phone::{Deed, Phone, Step};
use super::super::premises::Premises;
use super::super::{about_site, task};
use super::{RATE_KOPECKS, has_earned};
use crate::kit::demo::ANNA;
use crate::kit::firm::{Ground, Kind, embedded_and_on_servers};
use crate::kit::product::{Run, silent_emulator};
use crate::operator;

embedded_and_on_servers! {
    a_kill_between_any_two_steps_of_a_planned_shift_that_is_closed_with_its_site_loses_nothing,
}

const STEPS: &[Step] = &[
    (Deed::Says("/start"), "what would you like"),
    (Deed::Presses("🗓 Plan a shift"), "At which site?"),
    (Deed::Presses("⚡ Next free places"), "Which place would you like?"),
    (Deed::Chooses(" · Shop"), "Shall I put you down?"),
    (Deed::Presses("Yes, I will come"), "Planned: Shop"),
    (Deed::Presses("▶️ Open a shift"), "Which shift do you open?"),
    (Deed::Chooses(" · Shop"), "Please share your position, so"),
    (Deed::Here, "Your shift at Shop is open"),
    (Deed::Presses("🔒 Close a site"), "Which site do you close?"),
    (Deed::Presses("Shop"), "Shall I close your shift?"),
    (Deed::Presses("Mark tasks"), "[⬜ Lock up]"),
    (Deed::Presses("⬜ Lock up"), "[✅ Lock up]"),
    (Deed::Presses("✅ Lock up"), "[⬜ Lock up]"),
    (Deed::Presses("⬜ Lock up"), "[✅ Lock up]"),
    (Deed::Presses("Go on to closing"), "Please share your position to close"),
    (Deed::Here, "Your shift at Shop is closed"),
];

/// Anna may work at a shop in a slot with a rate and a task of its own, and only there. It has begun already.
async fn prepare(premises: &Premises) {
    let late = AboutSite { late_threshold_minutes: 5, late_minute_kopecks: 1_000, ..about_site("Shop") };
    let site = premises.site(AboutSite { rate_kopecks: 100, ..late }).await;
    let slot = premises.begun_slot(site, |slot| slot.rate_kopecks = Some(RATE_KOPECKS)).await;
    premises.task(site, Some(slot), task("Count the till", 7_000)).await;
    premises.task(site, None, task("Lock up", -1_000)).await;
    premises.worker(ANNA, "Anna", site, |contract| contract.allows_spontaneous = false).await;
}

async fn a_kill_between_any_two_steps_of_a_planned_shift_that_is_closed_with_its_site_loses_nothing(kind: Kind) {
    let (ground, emulator) = (Ground::new(kind).await, silent_emulator().await);
    let (premises, anna) = (Premises::of(&ground).await, Phone::of(ANNA, &emulator));
    prepare(&premises).await;
    for step in STEPS {
        let run = Run::start(&ground, &emulator, &[]);
        anna.step(step).await;
        run.dies().await;
    }
    let run = Run::start(&ground, &emulator, &[]);
    // What was under way is over when this is answered.
    anna.step(&(Deed::Says("/me"), "Your Telegram number: 1001")).await;
    run.stops().await;
    let sum = has_earned(&premises, &[("task_completed", 0)]).await;
    let told = format!(
        "Total: {}\n\nNobody else works at Shop, so it is closed too.",
        Money::from_kopecks(sum).shown(Language::En)
    );
    assert!(anna.count(&told).await > 0, "{:?}", emulator.texts(ANNA).await);
    is_over(&premises).await;
    let state = [("STATE_URL", ground.state.as_str())];
    let parked = operator::run(&state, &["state", "parked", "list"]).await.well().stdout;
    assert!(parked.contains("Nothing is parked"), "{parked}");
    premises.close().await;
    emulator.stop().await;
}

/// One plan, one shift by it, one opening of the site: all of them are over, by the person's own deed.
async fn is_over(premises: &Premises) {
    assert_eq!(premises.texts("SELECT status FROM shift_plans").await, ["completed"]);
    assert_eq!(premises.numbers("SELECT taken FROM time_slots").await, [1]);
    let by_plan = "SELECT closed_by FROM shifts WHERE plan_id IS NOT NULL AND ended_at > started_at";
    assert_eq!(premises.texts(by_plan).await, ["person"]);
    let done = "SELECT text FROM shift_tasks WHERE done_at IS NOT NULL";
    assert_eq!(premises.texts(done).await, ["Lock up"]);
    assert_eq!(premises.numbers("SELECT COUNT(*) FROM shift_tasks").await, [2]);
    assert_eq!(premises.numbers("SELECT closed_at - opened_at FROM site_openings").await.len(), 1);
    assert_eq!(premises.numbers("SELECT COUNT(*) FROM site_openings WHERE closed_at IS NULL").await, [0]);
}
