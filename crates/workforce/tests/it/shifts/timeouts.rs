//! Dialogues that are left unanswered are put aside after a while, and one button resumes them.

use std::time::Duration;

use opora::testing::chat::ChatUser;
use workforce::person::Role;

use super::{Workplace, chooses_from_menu, opens, plans};
use crate::kit::firm::StorageKind;

/// A little more than a quarter of an hour.
const TIMEOUT_PASSED: Duration = Duration::from_secs(15 * 60 + 1);

/// Asserts that the question is put aside and comes again by its button.
async fn assert_resumed(workplace: &Workplace, someone: &ChatUser, button: &str, question: &str) {
    someone.sees(question);
    workplace.firm.stage.advance(TIMEOUT_PASSED).await;
    someone.sees("It's been a while, so let's leave this for now.");
    someone.sees("You can continue any time.");
    someone.sees_button("🏠 Main menu");
    assert_eq!(someone.state().await, None);
    someone.presses(button).await;
    someone.sees(question);
    someone.sends("/cancel").await;
}

#[tokio::test]
async fn employee_dialogues_time_out_and_can_be_resumed() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.task(site, None, "Sweep", 500).await;
    workplace.slot(site, 240, 120, |slot| slot.capacity = 2).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    chooses_from_menu(&anna, "🗓 Pick up a shift").await;
    assert_resumed(&workplace, &anna, "🗓 Pick up a shift", "Which site?").await;
    chooses_from_menu(&anna, "🔓 Open a site").await;
    assert_resumed(&workplace, &anna, "🔓 Open a site", "Which site are you opening?").await;
    chooses_from_menu(&anna, "▶️ Clock in").await;
    assert_resumed(&workplace, &anna, "▶️ Clock in", "Which shift are you starting?").await;
    plans(&anna).await;
    chooses_from_menu(&anna, "📅 My shifts").await;
    anna.presses("✖ Cancel Jan 1, 19:00–21:00").await;
    workplace.firm.stage.advance(TIMEOUT_PASSED).await;
    anna.sees("You can continue any time.");
    anna.presses("📅 My shifts").await;
    anna.sees_button("✖ Cancel Jan 1, 19:00–21:00");
    opens(&anna, "unscheduled").await;
    chooses_from_menu(&anna, "✅ My tasks").await;
    assert_resumed(&workplace, &anna, "✅ My tasks", "⬜ Sweep").await;
    chooses_from_menu(&anna, "⏹ Clock out").await;
    assert_resumed(&workplace, &anna, "⏹ Clock out", "Clock out?").await;
    chooses_from_menu(&anna, "🔒 Close a site").await;
    assert_resumed(&workplace, &anna, "🔒 Close a site", "Which site are you closing?").await;
}

#[tokio::test]
async fn owner_dialogues_time_out_and_can_be_resumed() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    workplace.site("Shop", 10_000).await;
    let max = workplace.firm.member("Max", &[Role::Owner]).await;
    chooses_from_menu(&max, "🏢 Sites").await;
    max.presses("Shop").await;
    max.presses("➕ New shift").await;
    max.sees("Dec 31");
    workplace.firm.stage.advance(TIMEOUT_PASSED).await;
    max.sees("It's been a while, so let's leave this for now.");
    max.presses("➕ New shift").await;
    max.sends("02.01 09:00-18:00 2").await;
    max.sees("New shift at Shop: Jan 2, 09:00–18:00.");
    chooses_from_menu(&max, "📊 Report").await;
    assert_resumed(&workplace, &max, "📊 Report", "Which days?").await;
}
