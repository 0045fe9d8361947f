//! The bot follows the situation: the menu, what a decision costs, keyboards that stay, messages that are replaced.

use std::time::Duration;

use opora::testing::chat::ChatUser;
use workforce::person::Role;
use workforce::sites::AboutTask;

use super::{HERE, Workplace, button_with, chooses_from_menu, goes_on_to_close, opens, plans, shares_position, task};
use crate::kit::firm::StorageKind;

/// The captions below the menu that the person gets now.
async fn menu(someone: &ChatUser) -> Vec<String> {
    someone.sends("/start").await;
    let chat = someone.transcript();
    let last = chat.rsplit("bot    |").next().unwrap();
    last.split(['[', ']']).skip(1).step_by(2).map(ToOwned::to_owned).collect()
}

#[tokio::test]
async fn the_menu_follows_the_situation() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.task(site, None, "Sweep", 5_000).await;
    workplace.slot(site, 3 * 60, 120, |_| {}).await;

    let vera = workplace.firm.member("Vera", &[Role::Employee]).await;
    let offered = menu(&vera).await;
    vera.sees("You don't have a contract with any site yet.");
    assert!(!offered.iter().any(|caption| caption.contains("Pick up") || caption.contains("Clock in")), "{offered:?}");

    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    assert_eq!(menu(&anna).await[0], "🗓 Pick up a shift");
    plans(&anna).await;
    assert_eq!(menu(&anna).await[0], "🗓 Pick up a shift", "it is too early to clock in");
    anna.sees("🗓 Your shift: Shop, Jan 1, 18:00–20:00.");
    workplace.firm.stage.advance(Duration::from_secs(3 * 3600)).await;
    assert_eq!(menu(&anna).await[0], "▶️ Clock in");

    opens(&anna, " · Shop").await;
    workplace.firm.stage.advance(Duration::from_secs(3600 + 54 * 60)).await;
    let offered = menu(&anna).await;
    anna.sees("▶️ You're clocked in at Shop since 18:00, 1\u{a0}h 54\u{a0}min so far.");
    assert_eq!(offered[..2], ["✅ My tasks", "⏹ Clock out"]);
    assert!(!offered.contains(&"▶️ Clock in".to_owned()), "{offered:?}");
    assert!(offered.contains(&"🔒 Close a site".to_owned()), "{offered:?}");
}

#[tokio::test]
async fn the_owners_menu_counts_what_waits() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.slot(site, 24 * 60, 120, |_| {}).await;
    let (anna, owner) =
        (workplace.worker("Anna", &[site], |_| {}).await, workplace.firm.member("Olaf", &[Role::Owner]).await);
    assert!(menu(&owner).await.contains(&"📋 Today".to_owned()));
    plans(&anna).await;
    cancels(&anna).await;
    assert_eq!(menu(&owner).await[0], "📋 Today · 1");
}

/// Cancels the only plan.
async fn cancels(someone: &ChatUser) {
    chooses_from_menu(someone, "📅 My shifts").await;
    someone.presses(&button_with(someone, "✖ Cancel")).await;
    someone.presses("Illness").await;
    someone.presses("Skip").await;
    someone.presses("Skip").await;
    someone.sees("Shift cancelled");
}

#[tokio::test]
async fn a_fine_is_named_before_a_reason_is_chosen() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    for (minutes, words) in [
        (23 * 60, "⚠️ Your shift starts in less than 24 h. If your reason isn't accepted, 1,000\u{a0}₽ will be"),
        (25 * 60, "⚠️ If your reason isn't accepted, 500\u{a0}₽ will be deducted."),
    ] {
        workplace.slot(site, minutes, 30, |_| {}).await;
        plans(&anna).await;
        chooses_from_menu(&anna, "📅 My shifts").await;
        anna.presses(&button_with(&anna, "✖ Cancel")).await;
        anna.sees("Cancelling your shift: Shop, Jan 2");
        anna.sees(words);
        anna.presses("Illness").await;
        anna.presses("Skip").await;
        anna.presses("Skip").await;
    }
}

#[tokio::test]
async fn undone_tasks_are_named_before_closing() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.task(site, None, "Sweep", -3_300).await;
    let about = AboutTask { is_mandatory: true, ..task("Lock up", 0) };
    workplace.sites.create_task(&workplace.owner, site, None, about).await.unwrap();
    workplace.task(site, None, "Smile", 1_000).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    chooses_from_menu(&anna, "⏹ Clock out").await;
    anna.sees("⚠️ Not done:\n• Sweep: 33\u{a0}₽ will be deducted\n• Lock up: 50\u{a0}₽ will be deducted\n\nClock out");
    anna.presses("Mark tasks").await;
    anna.presses("⬜ Sweep").await;
    anna.presses("⬜ Lock up").await;
    anna.presses("← Back").await;
    anna.sees("Clock out?");
    anna.sees_button("Continue to clock out");
}

#[tokio::test]
async fn the_location_key_stays_until_it_is_used() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    let is_refused = async || {
        anna.sees_button("📍 Share my location");
        anna.sends_location(HERE.latitude + 0.01, HERE.longitude).await;
        anna.sees("You're 1112 m away from Shop");
        anna.sees_button("📍 Share my location");
        anna.sends("let me in").await;
        anna.sees_button("📍 Share my location");
    };
    chooses_from_menu(&anna, "▶️ Clock in").await;
    anna.presses(&button_with(&anna, "unscheduled")).await;
    is_refused().await;
    shares_position(&anna).await;
    anna.sees("You clocked in at Shop");
    chooses_from_menu(&anna, "⏹ Clock out").await;
    goes_on_to_close(&anna).await;
    is_refused().await;
    shares_position(&anna).await;
    chooses_from_menu(&anna, "🔓 Open a site").await;
    anna.presses("Shop").await;
    is_refused().await;
    // The menu replaces the question, and a message of its own takes the key away.
    anna.sends("/start").await;
    assert_eq!(anna.answers()[0], "Okay.");
}

#[tokio::test]
async fn questions_replace_each_other_in_one_message() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.slot(site, 24 * 60, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    anna.sends("/start").await;
    for caption in ["🗓 Pick up a shift", "← Back", "🗓 Pick up a shift", "Shop", "← Back", "⚡ Next open shifts"]
    {
        anna.presses(caption).await;
    }
    anna.presses(&button_with(&anna, " · Shop")).await;
    anna.presses("Yes, I'll be there").await;
    anna.sees("You're signed up: Shop");
    let messages = || anna.transcript().matches("bot    |").count();
    assert_eq!(messages(), 1, "{}", anna.transcript());
    // The last message is worth keeping, so what follows comes below it.
    anna.presses("🏠 Main menu").await;
    anna.sees("what would you like to do?");
    assert_eq!(messages(), 2, "{}", anna.transcript());
}

#[tokio::test]
async fn a_second_tap_on_a_replaced_question_does_nothing() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.slot(site, 24 * 60, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    chooses_from_menu(&anna, "🗓 Pick up a shift").await;
    anna.presses("⚡ Next open shifts").await;
    anna.presses(&button_with(&anna, " · Shop")).await;
    anna.presses("Yes, I'll be there").await;
    // Telegram sends the second tap with the data of the button that is gone by then.
    anna.presses_data("~1~plan:yes").await;
    anna.sees_toast("This button no longer works.");
    anna.sees_nothing();
    assert_eq!(workplace.rows("SELECT id FROM shift_plans").await.len(), 1);
}
