//! Sites without a position do not ask people for theirs.

use workforce::shifts::Shifts;
use workforce::sites::AboutSite;

use super::{Workplace, about_site, button_with, chooses_from_menu, is_notified, person, plans};
use crate::kit::firm::{NOON, StorageKind};

async fn prepare_workplace() -> (Workplace, i64) {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = AboutSite { position: None, rate_kopecks: 10_000, ..about_site("Shop") };
    let site = workplace.site_with(site).await;
    workplace.task(site, None, "Sweep", 5_000).await;
    (workplace, site)
}

#[tokio::test]
async fn a_site_without_a_position_needs_none() {
    let (workplace, site) = prepare_workplace().await;
    workplace.slot(site, 0, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    plans(&anna).await;
    chooses_from_menu(&anna, "▶️ Clock in").await;
    anna.presses(&button_with(&anna, "· Shop")).await;
    anna.sees("You clocked in at Shop at 15:00.\n\nYour tasks:\n⬜ Sweep");
    chooses_from_menu(&anna, "⏹ Clock out").await;
    anna.presses("Mark tasks").await;
    anna.presses("⬜ Sweep").await;
    anna.presses("Continue to clock out").await;
    anna.sees("You're clocked out.");
    is_notified(&workplace, &anna, "Bonus for a task “Sweep”: +50\u{a0}₽\nTotal: 50").await;

    chooses_from_menu(&anna, "▶️ Clock in").await;
    anna.presses("Shop, unscheduled").await;
    anna.sees("You clocked in at");
    chooses_from_menu(&anna, "⏹ Clock out").await;
    anna.presses("Continue to clock out").await;
    is_notified(&workplace, &anna, "Total: 0").await;
    chooses_from_menu(&anna, "🔓 Open a site").await;
    anna.presses("Shop").await;
    anna.sees("Shop is open.");
    assert!(!anna.transcript().contains("your location"), "{}", anna.transcript());
    let rows = workplace.rows("SELECT status, plan_id FROM shifts WHERE opened_latitude IS NULL ORDER BY id").await;
    assert_eq!(rows, [["completed", "1"], ["completed", "-"]]);
}

#[tokio::test]
async fn refusals_are_told_without_a_position() {
    let (workplace, site) = prepare_workplace().await;
    workplace.slot(site, 0, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    let room = Shifts::of_app(&workplace.firm.app);
    let user = person(&workplace.firm, &anna).await.id;
    chooses_from_menu(&anna, "▶️ Clock in").await;
    let plan = room.plans_of(user, NOON).await.unwrap()[0].id;
    room.cancel(&workplace.owner, plan).await.unwrap();
    anna.presses(&button_with(&anna, "· Shop")).await;
    anna.sees("This shift has already been started or cancelled.");
    anna.sees_button("🏠 Main menu");

    chooses_from_menu(&anna, "🔓 Open a site").await;
    room.open_site(&workplace.owner, site).await.unwrap();
    anna.presses("Shop").await;
    anna.sees("This site is already open.");
    assert!(workplace.rows("SELECT id FROM shifts").await.is_empty());
}
