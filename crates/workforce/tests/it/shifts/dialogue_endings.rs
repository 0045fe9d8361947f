//! However a dialogue ends, its last message leads to the main menu.

use opora::testing::chat::ChatUser;
use workforce::person::Role;

use super::{Workplace, button_with, chooses_from_menu, closes, is_notified, opens, plans, shares_position};
use crate::kit::firm::StorageKind;

/// Asserts that the dialogue is over and its last message has the button.
async fn assert_ended(someone: &ChatUser) {
    assert_eq!(someone.state().await, None, "{}", someone.transcript());
    someone.sees_button("🏠 Main menu");
}

/// Leaves the dialogue with /cancel.
async fn cancel_dialogue(someone: &ChatUser) {
    someone.sends("/cancel").await;
    someone.sees("Okay");
    assert_eq!(someone.state().await, None, "{}", someone.transcript());
}

/// A shop with a slot tomorrow, and an employee.
async fn prepare_shop() -> (Workplace, ChatUser) {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.task(site, None, "Sweep", 5_000).await;
    workplace.slot(site, 24 * 60, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    (workplace, anna)
}

#[tokio::test]
async fn completed_dialogues_lead_to_the_main_menu() {
    let (workplace, anna) = prepare_shop().await;
    plans(&anna).await;
    assert_ended(&anna).await;
    opens(&anna, "unscheduled").await;
    assert_ended(&anna).await;
    chooses_from_menu(&anna, "✅ My tasks").await;
    anna.presses("⬜ Sweep").await;
    anna.presses("Done").await;
    assert_ended(&anna).await;
    closes(&anna).await;
    // The summary is a notice, and every notice leads to the main menu.
    is_notified(&workplace, &anna, "Your shift at Shop is over").await;
    chooses_from_menu(&anna, "🔓 Open a site").await;
    anna.presses("Shop").await;
    shares_position(&anna).await;
    assert_ended(&anna).await;
    chooses_from_menu(&anna, "🔒 Close a site").await;
    anna.presses("Shop").await;
    assert_ended(&anna).await;
    chooses_from_menu(&anna, "📅 My shifts").await;
    anna.presses(&button_with(&anna, "✖ Cancel")).await;
    anna.presses("Illness").await;
    anna.presses("Skip").await;
    anna.presses("Skip").await;
    assert_ended(&anna).await;
    chooses_from_menu(&anna, "💰 My earnings").await;
    assert_ended(&anna).await;
}

#[tokio::test]
async fn cancelled_dialogues_lead_to_the_main_menu() {
    let (_yard, anna) = prepare_shop().await;
    plans(&anna).await;
    let captions = ["🗓 Pick up a shift", "▶️ Clock in", "📅 My shifts", "🔓 Open a site"];
    for caption in captions {
        chooses_from_menu(&anna, caption).await;
        anna.sees_button("🏠 Main menu");
        // A list leaves nothing open to cancel, but the answer leads there too.
        anna.sends("/cancel").await;
        assert_ended(&anna).await;
    }
    // In the middle of dialogues with several steps.
    chooses_from_menu(&anna, "▶️ Clock in").await;
    anna.presses(&button_with(&anna, "unscheduled")).await;
    cancel_dialogue(&anna).await;
    opens(&anna, "unscheduled").await;
    for steps in [&["⏹ Clock out"][..], &["⏹ Clock out", "Mark tasks"], &["⏹ Clock out", "Continue to clock out"]]
    {
        chooses_from_menu(&anna, steps[0]).await;
        for step in &steps[1..] {
            anna.presses(step).await;
        }
        cancel_dialogue(&anna).await;
    }
}

#[tokio::test]
async fn owner_dialogues_lead_to_the_main_menu() {
    let (workplace, anna) = prepare_shop().await;
    plans(&anna).await;
    chooses_from_menu(&anna, "📅 My shifts").await;
    anna.presses(&button_with(&anna, "✖ Cancel")).await;
    anna.presses("Illness").await;
    anna.presses("Skip").await;
    anna.presses("Skip").await;
    let owner = workplace.firm.member("Olaf", &[Role::Owner]).await;
    chooses_from_menu(&owner, "📋 Today").await;
    assert_ended(&owner).await;
    owner.presses("✅ Accept, no penalty").await;
    assert_ended(&owner).await;
    chooses_from_menu(&owner, "🏢 Sites").await;
    assert_ended(&owner).await;
    owner.presses("Shop").await;
    assert_ended(&owner).await;
    owner.presses("➕ New shift").await;
    owner.sees_button("🏠 Main menu");
    owner.sends("31.12 09:00-18:00 2").await;
    assert_ended(&owner).await;
    chooses_from_menu(&owner, "📊 Report").await;
    owner.sees_button("🏠 Main menu");
    cancel_dialogue(&owner).await;
}
