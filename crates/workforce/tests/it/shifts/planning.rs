//! Planning and listing shifts in the chat: warnings, limits of the contract, past shifts.

use std::time::Duration;

use workforce::shifts::Shifts;
use workforce::sites::SiteRefusal;
use workforce::texts::Language;

use super::{Workplace, about_contract, button_with, chooses_from_menu, closes, opens, person, plans, shares_position};
use crate::kit::firm::{StorageKind, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    forged_buttons_open_no_unplanned_shift,
}

async fn forged_buttons_open_no_unplanned_shift(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let (shop, foreign) = (workplace.site("Shop", 10_000).await, workplace.site("Elsewhere", 10_000).await);
    let unplanned = workplace.site("Depot", 10_000).await;
    workplace.slot(shop, 60, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[shop, unplanned], |_| {}).await;
    plans(&anna).await;
    for (site, why) in [(unplanned, SiteRefusal::NotSpontaneous), (foreign, SiteRefusal::NoContract)] {
        chooses_from_menu(&anna, "▶️ Clock in").await;
        anna.sees("Which shift are you starting?");
        assert!(!anna.transcript().contains("unscheduled"), "{}", anna.transcript());
        anna.presses_data(&format!("open:site:{site}")).await;
        // At a site without a contract she is not even asked for her position.
        if site == unplanned {
            shares_position(&anna).await;
        }
        anna.sees(&why.text(Language::En));
        anna.sees_button("🏠 Main menu");
    }
    assert!(workplace.rows("SELECT id FROM shifts").await.is_empty());
    assert!(workplace.rows("SELECT id FROM site_openings").await.is_empty());
    assert_eq!(workplace.rows("SELECT status FROM shift_plans").await, [["planned"]]);
    // Her planned shift can still be opened.
    opens(&anna, "Shop").await;
}

#[tokio::test]
async fn planning_warns_of_long_days_and_overlaps() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.slot(site, 0, 8 * 60, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    assert!(!anna.transcript().contains("⚠️"), "eight hours are a day's work: {}", anna.transcript());
    // A slot from three to eleven in the evening, and then five hours more.
    let late = workplace.slot(site, 8 * 60, 5 * 60, |_| {}).await;
    chooses_from_menu(&anna, "🗓 Pick up a shift").await;
    anna.presses("⚡ Next open shifts").await;
    anna.presses(&button_with(&anna, "Jan 1, 23:00")).await;
    anna.sees("⚠️ With this shift you'd work about 13 hours that day.");
    anna.sees_button("Yes, I'll be there");
    // Meanwhile staff give her another plan at that time.
    let other = workplace.site("Other", 10_000).await;
    let there = workplace.slot(other, 9 * 60, 60, |_| {}).await;
    let user = person(&workplace.firm, &anna).await;
    let contract = about_contract(&[other], false);
    workplace.sites.create_contract(&workplace.owner, user.id, contract).await.unwrap();
    Shifts::of_app(&workplace.firm.app).plan(&workplace.owner, user.id, there).await.unwrap();
    // Asked again, the question shows the present warnings.
    anna.presses("← Back").await;
    anna.presses_data(&format!("plan:slot:{late}")).await;
    anna.sees("⚠️ You already have another shift at that time.");
    anna.presses("Yes, I'll be there").await;
    anna.sees("You already have another shift at that time.");
    assert_eq!(workplace.rows("SELECT id FROM shift_plans").await.len(), 2);
}

#[tokio::test]
async fn worked_hours_count_for_the_long_day_warning() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    // From three to seven by a plan, from seven to eight without one.
    workplace.slot(site, 0, 4 * 60, |_| {}).await;
    plans(&anna).await;
    for (start, minutes) in [(" · Shop", 4 * 60), ("unscheduled", 60)] {
        opens(&anna, start).await;
        workplace.firm.stage.advance(Duration::from_secs(minutes * 60)).await;
        closes(&anna).await;
    }
    // A slot of eight hours from eleven in the evening.
    workplace.slot(site, 8 * 60, 8 * 60, |_| {}).await;
    chooses_from_menu(&anna, "🗓 Pick up a shift").await;
    anna.presses("⚡ Next open shifts").await;
    anna.presses(&button_with(&anna, "Jan 1, 23:00")).await;
    anna.sees("⚠️ With this shift you'd work about 13 hours that day.");
}

#[tokio::test]
async fn my_shifts_lists_planned_open_and_past_shifts() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.slot(site, 24 * 60, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    chooses_from_menu(&anna, "📅 My shifts").await;
    anna.sees("Your shifts:\nNone yet.");
    plans(&anna).await;
    opens(&anna, "unscheduled").await;
    workplace.firm.stage.advance(Duration::from_secs(90 * 60)).await;
    chooses_from_menu(&anna, "📅 My shifts").await;
    anna.sees(
        "🗓 Jan 2, 15:00–17:00 · Shop\n▶️ Jan 1, 15:00–16:30 · Shop · 1\u{a0}h 30\u{a0}min so far, 100\u{a0}₽ an hour",
    );
    closes(&anna).await;
    workplace.firm.stage.advance(Duration::from_secs(3600)).await;
    chooses_from_menu(&anna, "📅 My shifts").await;
    anna.sees("🗓 Jan 2, 15:00–17:00 · Shop\n✔️ Jan 1, 15:00–16:30 · Shop · 1\u{a0}h 30\u{a0}min, 100\u{a0}₽ an hour");
    anna.sees_button("✖ Cancel Jan 2, 15:00–17:00");
    // After two weeks it is not shown any more.
    workplace.firm.stage.advance(Duration::from_secs(15 * 24 * 3600)).await;
    chooses_from_menu(&anna, "📅 My shifts").await;
    anna.sees("None yet.");
    assert!(!anna.answers().concat().contains("✔️"), "{:?}", anna.answers());
}
