//! Whoever is called away in the middle of a dialogue is told so after a while, and one button leads back.

use std::time::Duration;

use opora::testing::chat::Someone;
use workforce::person::Role;

use super::{Yard, chooses, opens, plans};
use crate::kit::firm::Kind;

/// A quarter of an hour, and a little.
const WHILE: Duration = Duration::from_secs(15 * 60 + 1);

/// The question that was left is put aside, and comes again by its button.
async fn is_resumed(yard: &Yard, someone: &Someone, button: &str, question: &str) {
    someone.sees(question);
    yard.firm.stage.passes(WHILE).await;
    someone.sees("I have waited a while and put this aside.");
    someone.sees("You can go on whenever you like.");
    someone.sees_button("🏠 Main menu");
    assert_eq!(someone.state().await, None);
    someone.presses(button).await;
    someone.sees(question);
    someone.sends("/cancel").await;
}

#[tokio::test]
async fn dialogues_of_workers_that_were_left_say_so_and_can_be_resumed() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    yard.task(site, None, "Sweep", 500).await;
    yard.slot(site, 240, 120, |slot| slot.capacity = 2).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    chooses(&anna, "🗓 Plan a shift").await;
    is_resumed(&yard, &anna, "🗓 Plan a shift", "At which site?").await;
    chooses(&anna, "🔓 Open a site").await;
    is_resumed(&yard, &anna, "🔓 Open a site", "Which site do you open?").await;
    chooses(&anna, "▶️ Open a shift").await;
    is_resumed(&yard, &anna, "▶️ Open a shift", "Which shift do you open?").await;
    plans(&anna).await;
    chooses(&anna, "📅 My shifts").await;
    anna.presses("✖ Cancel 01.01 19:00–21:00").await;
    yard.firm.stage.passes(WHILE).await;
    anna.sees("You can go on whenever you like.");
    anna.presses("📅 My shifts").await;
    anna.sees_button("✖ Cancel 01.01 19:00–21:00");
    opens(&anna, "without a plan").await;
    chooses(&anna, "✅ My tasks").await;
    is_resumed(&yard, &anna, "✅ My tasks", "⬜ Sweep").await;
    chooses(&anna, "⏹ Close my shift").await;
    is_resumed(&yard, &anna, "⏹ Close my shift", "Shall I close").await;
    chooses(&anna, "🔒 Close a site").await;
    is_resumed(&yard, &anna, "🔒 Close a site", "Which site do you close?").await;
}

#[tokio::test]
async fn dialogues_of_owners_that_were_left_say_so_and_can_be_resumed() {
    let yard = Yard::open(Kind::Sqlite).await;
    yard.site("Shop", 10_000).await;
    let max = yard.firm.member("Max", &[Role::Owner]).await;
    chooses(&max, "🏢 Sites").await;
    max.presses("Shop").await;
    max.presses("➕ New slot").await;
    max.sees("31.12");
    yard.firm.stage.passes(WHILE).await;
    max.sees("I have waited a while and put this aside.");
    max.presses("➕ New slot").await;
    max.sends("02.01 09:00-18:00 2").await;
    max.sees("There is a new slot at Shop: 02.01 09:00–18:00.");
    chooses(&max, "📊 Report").await;
    is_resumed(&yard, &max, "📊 Report", "For which days?").await;
}
