//! However a dialogue ends, its last message leads to the main menu.

use opora::testing::chat::Someone;
use workforce::person::Role;

use super::{Yard, button_with, chooses, closes, is_here, is_told, opens, plans};
use crate::kit::firm::Kind;

/// The dialogue is over, and what was said last has the button.
async fn ends(someone: &Someone) {
    assert_eq!(someone.state().await, None, "{}", someone.transcript());
    someone.sees_button("🏠 Main menu");
}

/// The dialogue is left in its midst.
async fn leaves(someone: &Someone) {
    someone.sends("/cancel").await;
    someone.sees("Cancelled.");
    ends(someone).await;
}

/// A shop with a slot of today and one of tomorrow, and somebody who works there.
async fn a_shop() -> (Yard, Someone) {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    yard.task(site, None, "Sweep", 5_000).await;
    yard.slot(site, 24 * 60, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    (yard, anna)
}

#[tokio::test]
async fn whatever_is_done_to_its_end_leads_to_the_main_menu() {
    let (yard, anna) = a_shop().await;
    plans(&anna).await;
    ends(&anna).await;
    opens(&anna, "without a plan").await;
    ends(&anna).await;
    chooses(&anna, "✅ My tasks").await;
    anna.presses("⬜ Sweep").await;
    anna.presses("Done").await;
    ends(&anna).await;
    closes(&anna).await;
    // By a notice, and every notice leads to the main menu.
    is_told(&yard, &anna, "Your shift at Shop is closed").await;
    chooses(&anna, "🔓 Open a site").await;
    anna.presses("Shop").await;
    is_here(&anna).await;
    ends(&anna).await;
    chooses(&anna, "🔒 Close a site").await;
    anna.presses("Shop").await;
    ends(&anna).await;
    chooses(&anna, "📅 My shifts").await;
    anna.presses(&button_with(&anna, "✖ Cancel")).await;
    anna.presses("Illness").await;
    anna.presses("Skip").await;
    anna.presses("Skip").await;
    ends(&anna).await;
    chooses(&anna, "💰 My earnings").await;
    ends(&anna).await;
}

#[tokio::test]
async fn whoever_leaves_a_dialogue_in_the_midst_is_led_to_the_main_menu() {
    let (_yard, anna) = a_shop().await;
    plans(&anna).await;
    let captions =
        ["🗓 Plan a shift", "▶️ Open a shift", "📅 My shifts", "✅ My tasks", "⏹ Close my shift", "🔓 Open a site"];
    for caption in captions {
        chooses(&anna, caption).await;
        anna.sees_button("🏠 Main menu");
        // A list leaves nothing open to be cancelled, and the answer leads there all the same.
        anna.sends("/cancel").await;
        ends(&anna).await;
    }
    // In the midst of each of those that have a midst.
    chooses(&anna, "▶️ Open a shift").await;
    anna.presses(&button_with(&anna, "without a plan")).await;
    leaves(&anna).await;
    opens(&anna, "without a plan").await;
    for steps in
        [&["⏹ Close my shift"][..], &["⏹ Close my shift", "Mark tasks"], &["⏹ Close my shift", "Go on to closing"]]
    {
        chooses(&anna, steps[0]).await;
        for step in &steps[1..] {
            anna.presses(step).await;
        }
        leaves(&anna).await;
    }
}

#[tokio::test]
async fn what_an_owner_does_in_the_chat_leads_to_the_main_menu_too() {
    let (yard, anna) = a_shop().await;
    plans(&anna).await;
    chooses(&anna, "📅 My shifts").await;
    anna.presses(&button_with(&anna, "✖ Cancel")).await;
    anna.presses("Illness").await;
    anna.presses("Skip").await;
    anna.presses("Skip").await;
    let owner = yard.firm.member("Olaf", &[Role::Owner]).await;
    chooses(&owner, "📋 Today").await;
    ends(&owner).await;
    owner.presses("✅ Accept").await;
    ends(&owner).await;
    chooses(&owner, "🏢 Sites").await;
    ends(&owner).await;
    owner.presses("Shop").await;
    ends(&owner).await;
    owner.presses("➕ New slot").await;
    owner.sees_button("🏠 Main menu");
    owner.sends("31.12 09:00-18:00 2").await;
    ends(&owner).await;
    chooses(&owner, "📊 Report").await;
    owner.sees_button("🏠 Main menu");
    leaves(&owner).await;
}
