//! Lists that are longer than a message lead on, and back.

use opora::testing::chat::Someone;
use workforce::people::Role;
use workforce::shifts::Shifts;

use super::{Yard, chooses, person};
use crate::firm::Kind;

const DAY_MINUTES: i64 = 24 * 60;

async fn turns(someone: &Someone, pages: usize) {
    for _ in 0..pages {
        someone.presses("More ▸").await;
    }
}

#[tokio::test]
async fn each_of_a_hundred_and_twenty_sites_can_be_chosen_in_the_chat() {
    let yard = Yard::open(Kind::Sqlite).await;
    let mut sites = Vec::new();
    for number in 1..=120 {
        sites.push(yard.site(&format!("Site {number:03}"), 10_000).await);
    }
    yard.slot(sites[119], 60, 120, |_| {}).await;
    let anna = yard.worker("Anna", &sites, |contract| contract.allows_spontaneous = true).await;

    chooses(&anna, "🗓 Plan a shift").await;
    anna.sees_button("Site 020");
    assert!(!anna.transcript().contains("Site 021"), "a message has only so many buttons");
    turns(&anna, 5).await;
    anna.presses("◂ Previous").await;
    anna.sees_button("Site 081");
    turns(&anna, 1).await;
    anna.presses("Site 120").await;
    anna.sees_button("Thu 01.01 · 1");

    chooses(&anna, "▶️ Open a shift").await;
    turns(&anna, 5).await;
    anna.presses("Site 120, without a plan").await;
    anna.sees("that you are at Site 120");

    chooses(&anna, "🔓 Open a site").await;
    turns(&anna, 5).await;
    anna.presses("Site 120").await;
    anna.sees("to open Site 120");

    let max = yard.firm.member("Max", &[Role::Owner]).await;
    chooses(&max, "🏢 Sites").await;
    turns(&max, 5).await;
    max.presses("Site 120").await;
    max.presses("➕ New slot").await;
    max.sends("02.01 09:00-18:00").await;
    max.sees("There is a new slot at Site 120");
}

#[tokio::test]
async fn all_days_and_places_can_be_chosen_and_all_plans_cancelled() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let mut slots = Vec::new();
    for number in 1..=30 {
        yard.slot(site, 60, 120, |slot| slot.title = format!("post {number:02}")).await;
    }
    for day in 1..=20 {
        slots.push(yard.slot(site, day * DAY_MINUTES + 60, 120, |_| {}).await);
    }
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    chooses(&anna, "🗓 Plan a shift").await;
    anna.presses("Shop").await;
    turns(&anna, 1).await;
    anna.sees_button("Wed 21.01 · 1");
    anna.presses("◂ Previous").await;
    anna.presses("Thu 01.01 · 30").await;
    turns(&anna, 1).await;
    anna.presses("01.01 16:00–18:00 · post 30 · 1").await;
    anna.sees("Shall I put you down?");
    chooses(&anna, "🗓 Plan a shift").await;
    anna.presses("⚡ Next free places").await;
    turns(&anna, 2).await;
    anna.presses("21.01 16:00–18:00 · Shop").await;
    anna.sees("Shall I put you down?");

    let (doors, user) = (Shifts::of_app(&yard.firm.app), person(&yard.firm, &anna).await.id);
    slots.push(yard.slot(site, 21 * DAY_MINUTES + 60, 120, |_| {}).await);
    for slot in slots {
        doors.plan(&yard.owner, user, slot).await.unwrap();
    }
    chooses(&anna, "📅 My shifts").await;
    turns(&anna, 1).await;
    anna.presses("✖ Cancel 22.01 16:00–18:00").await;
    anna.sees("Why can you not come?");
}
