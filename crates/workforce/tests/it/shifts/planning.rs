//! Planning and looking at one's shifts in the chat: warnings, what a contract does not allow, and what is over.

use std::time::Duration;

use workforce::shifts::Shifts;
use workforce::sites::Why;
use workforce::texts::Language;

use super::{Yard, button_with, chooses, closes, is_here, opens, person, plans};
use crate::kit::firm::{Kind, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    a_made_up_button_opens_nothing_where_the_contract_allows_planned_shifts_only,
}

async fn a_made_up_button_opens_nothing_where_the_contract_allows_planned_shifts_only(kind: Kind) {
    let yard = Yard::open(kind).await;
    let (shop, foreign) = (yard.site("Shop", 10_000).await, yard.site("Elsewhere", 10_000).await);
    let unplanned = yard.site("Depot", 10_000).await;
    yard.slot(shop, 60, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[shop, unplanned], |_| {}).await;
    plans(&anna).await;
    for (site, why) in [(unplanned, Why::NotSpontaneous), (foreign, Why::NoContract)] {
        chooses(&anna, "▶️ Open a shift").await;
        anna.sees("Which shift do you open?");
        assert!(!anna.transcript().contains("without a plan"), "{}", anna.transcript());
        anna.presses_data(&format!("open:site:{site}")).await;
        // Of a site that she does not work at she is not even asked where she is.
        if site == unplanned {
            is_here(&anna).await;
        }
        anna.sees(&why.words(Language::En));
        anna.sees_button("🏠 Main menu");
    }
    assert!(yard.rows("SELECT id FROM shifts").await.is_empty());
    assert!(yard.rows("SELECT id FROM site_openings").await.is_empty());
    assert_eq!(yard.rows("SELECT status FROM shift_plans").await, [["planned"]]);
    // What she has planned she opens all the same.
    opens(&anna, "Shop").await;
}

#[tokio::test]
async fn whoever_plans_is_warned_of_a_long_day_and_of_another_shift_at_that_time() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    yard.slot(site, 0, 8 * 60, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    assert!(!anna.transcript().contains("⚠️"), "eight hours are a day's work: {}", anna.transcript());
    // From three to eleven in the evening; and then on for five hours more.
    let late = yard.slot(site, 8 * 60, 5 * 60, |_| {}).await;
    chooses(&anna, "🗓 Plan a shift").await;
    anna.presses("⚡ Next free places").await;
    anna.presses(&button_with(&anna, "01.01 23:00")).await;
    anna.sees("⚠️ With this you would work about 13 hours on that day.");
    anna.sees_button("Yes, I will come");
    // While she thinks about it, staff put her somewhere at that time.
    let other = yard.site("Other", 10_000).await;
    let there = yard.slot(other, 9 * 60, 60, |_| {}).await;
    let user = person(&yard.firm, &anna).await;
    let contract = workforce::sites::AboutContract {
        status: workforce::sites::ContractStatus::Active,
        rate_kopecks: None,
        allows_spontaneous: false,
        sites: vec![other],
    };
    yard.sites.create_contract(&yard.owner, user.id, contract).await.unwrap();
    Shifts::of_app(&yard.firm.app).plan(&yard.owner, user.id, there).await.unwrap();
    // Back and forth: the same question is asked with what is so by now.
    anna.presses("← Back").await;
    anna.presses_data(&format!("plan:slot:{late}")).await;
    anna.sees("⚠️ You have another shift planned at that time.");
    anna.presses("Yes, I will come").await;
    anna.sees("You have another shift planned at that time.");
    assert_eq!(yard.rows("SELECT id FROM shift_plans").await.len(), 2);
}

#[tokio::test]
async fn what_was_worked_that_day_counts_for_a_long_one_whether_it_was_planned_or_not() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    // From three to seven by a plan, from seven to eight without one.
    yard.slot(site, 0, 4 * 60, |_| {}).await;
    plans(&anna).await;
    for (start, minutes) in [(" · Shop", 4 * 60), ("without a plan", 60)] {
        opens(&anna, start).await;
        yard.firm.stage.passes(Duration::from_secs(minutes * 60)).await;
        closes(&anna).await;
    }
    // From eleven in the evening on for eight hours more.
    yard.slot(site, 8 * 60, 8 * 60, |_| {}).await;
    chooses(&anna, "🗓 Plan a shift").await;
    anna.presses("⚡ Next free places").await;
    anna.presses(&button_with(&anna, "01.01 23:00")).await;
    anna.sees("⚠️ With this you would work about 13 hours on that day.");
}

#[tokio::test]
async fn my_shifts_lists_what_is_planned_open_and_over() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    yard.slot(site, 24 * 60, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    chooses(&anna, "📅 My shifts").await;
    anna.sees("Your shifts:\nNothing is planned.");
    plans(&anna).await;
    opens(&anna, "without a plan").await;
    yard.firm.stage.passes(Duration::from_secs(90 * 60)).await;
    chooses(&anna, "📅 My shifts").await;
    anna.sees("🗓 02.01 15:00–17:00 · Shop\n▶️ 01.01 15:00–16:30 · Shop · 1.50 h so far at 100.00\u{a0}₽");
    closes(&anna).await;
    yard.firm.stage.passes(Duration::from_secs(3600)).await;
    chooses(&anna, "📅 My shifts").await;
    anna.sees("🗓 02.01 15:00–17:00 · Shop\n✔️ 01.01 15:00–16:30 · Shop · 1.50 h at 100.00\u{a0}₽");
    anna.sees_button("✖ Cancel 02.01 15:00–17:00");
    // After two weeks it is not shown any more.
    yard.firm.stage.passes(Duration::from_secs(15 * 24 * 3600)).await;
    chooses(&anna, "📅 My shifts").await;
    anna.sees("Nothing is planned.");
    assert!(!anna.answers().concat().contains("✔️"), "{:?}", anna.answers());
}
