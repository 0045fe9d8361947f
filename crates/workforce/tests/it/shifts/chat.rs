//! Shifts in the chat: distance, restarts, marks, tasks that stay, cancellations that are judged.

use std::time::Duration;

use opora::testing::chat::ChatUser;
use serde_json::json;
use workforce::domain::NotWritten;
use workforce::notices::{self, Notice};
use workforce::shifts::{self, ShiftStart, Shifts};
use workforce::sites::{AboutTask, ActionError, SiteRefusal};

use super::{
    HERE, Workplace, button_with, chooses_from_menu, closes, is_notified, opens, person, plans, shares_position, task,
};
use crate::kit::firm::{NOON, StorageKind, on_every_database};

on_every_database! {
    a_restart_between_any_two_steps_loses_nothing,
}

enum Action {
    /// Opens the menu and presses an item.
    Menu(&'static str),
    /// Presses the last button with these words.
    Press(&'static str),
    Photo,
    Here,
}

/// A whole shift: each action and the answer to it.
const STEPS: &[(Action, &str)] = &[
    (Action::Menu("▶️ Clock in"), "Which shift are you starting?"),
    (Action::Press(" · Shop"), "Please share your location"),
    (Action::Here, "You clocked in at"),
    (Action::Menu("✅ My tasks"), "⬜ Sweep"),
    (Action::Press("📷 Sweep"), "Send a photo"),
    (Action::Photo, "✅ Sweep"),
    (Action::Press("⬜ Lock up"), "✅ Lock up"),
    (Action::Menu("⏹ Clock out"), "✅ Sweep · bonus 50\u{a0}₽ · 📷 1\n✅ Lock up · penalty 10\u{a0}₽"),
    (Action::Press("Continue to clock out"), "to clock out"),
    (Action::Here, "I have your location"),
];

async fn a_restart_between_any_two_steps_loses_nothing(kind: StorageKind) {
    let mut workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 10_000).await;
    let about = AboutTask { needs_media: true, ..task("Sweep", 5_000) };
    workplace.sites.create_task(&workplace.owner, site, None, about).await.unwrap();
    workplace.task(site, None, "Lock up", -1_000).await;
    workplace.slot(site, 0, 480, |_| {}).await;
    let mut anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    for (action, sees) in STEPS {
        match *action {
            Action::Menu(caption) => chooses_from_menu(&anna, caption).await,
            Action::Press(words) => anna.presses(&button_with(&anna, words)).await,
            Action::Photo => drop(anna.sends_photo().await),
            Action::Here => shares_position(&anna).await,
        }
        anna.sees(sees);
        workplace.firm.stage.clock().advance(Duration::from_secs(360));
        let fresh = workplace.firm.stage.restart().await;
        anna = anna.on(&fresh);
        workplace.firm.stage = fresh;
    }
    is_notified(&workplace, &anna, "Total: ").await;
    let posted: Vec<_> = workplace.adjustments().await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(posted, ["shift_base", "task_bonus", "task_completed"]);
    assert_eq!(workplace.rows("SELECT status FROM shift_plans").await, [["completed"]]);
}

#[tokio::test]
async fn a_person_too_far_away_is_told_the_distance() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    chooses_from_menu(&anna, "▶️ Clock in").await;
    anna.presses(&button_with(&anna, "unscheduled")).await;
    anna.sees_button("📍 Share my location");
    anna.sends_location(HERE.latitude + 0.01, HERE.longitude).await;
    anna.sees("You're 1112 m away from Shop, and it has to be 500 m or less.");
    anna.sends("let me in").await;
    anna.sees("Please press the 📍 button");
    shares_position(&anna).await;
    anna.sees("You clocked in at Shop at 15:00.");
    anna.sees_button("🏠 Main menu");
    anna.presses_data("open:begin").await;
    anna.sees("You're already clocked in.");
    closes(&anna).await;
    is_notified(&workplace, &anna, "No one else is working at Shop, so it's closed too.").await;
}

#[tokio::test]
async fn too_far_away_nothing_is_closed_or_opened() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    let is_away = async || {
        anna.sends_location(HERE.latitude + 0.01, HERE.longitude).await;
        anna.sees("You're 1112 m away from Shop, and it has to be 500 m or less.");
        anna.state().await.unwrap()
    };
    let shifts = async || workplace.rows("SELECT status, ended_at, version FROM shifts").await;
    let openings = async || workplace.rows("SELECT opened_by, closed_at FROM site_openings").await;

    opens(&anna, "unscheduled").await;
    let (before, open) = (shifts().await, openings().await);
    chooses_from_menu(&anna, "⏹ Clock out").await;
    anna.presses("Continue to clock out").await;
    assert_eq!(is_away().await, "close_shift:position");
    assert_eq!((shifts().await, openings().await, workplace.adjustments().await), (before, open, vec![]));
    shares_position(&anna).await;
    is_notified(&workplace, &anna, "Total: ").await;

    let closed = openings().await;
    chooses_from_menu(&anna, "🔓 Open a site").await;
    anna.presses("Shop").await;
    assert_eq!(is_away().await, "site_doors:position");
    assert_eq!(openings().await, closed);
    shares_position(&anna).await;
    anna.sees("Shop is open.");
    assert_eq!(openings().await.len(), 2);
}

/// Sends a position message with more or other fields.
async fn sends_position(someone: &ChatUser, more: serde_json::Value) {
    let position = json!({"latitude": HERE.latitude, "longitude": HERE.longitude});
    let mut message = json!({"location": position, "date": NOON.0 / 1000});
    for (name, value) in more.as_object().unwrap() {
        message[name] = value.clone();
    }
    someone.sends_message(message).await;
}

#[tokio::test]
async fn forwarded_and_old_live_positions_are_refused() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    let (latitude, longitude) = (HERE.latitude, HERE.longitude);
    let boris = json!({"id": 5, "is_bot": false, "first_name": "Boris"});
    let forwarded = json!({"forward_origin": {"type": "user", "date": 1, "sender_user": boris}});
    let by_a_bot = json!({"via_bot": {"id": 6, "is_bot": true, "first_name": "Maps"}});
    let place = json!({"latitude": latitude, "longitude": longitude});
    let venue = json!({"venue": {"location": place, "title": "Shop", "address": "Main Street 1"}});
    let live = json!({"latitude": latitude, "longitude": longitude, "live_period": 3600});
    let old = json!({"location": live, "date": NOON.0 / 1000 - 601});
    let wrong = [
        (forwarded, "This location was forwarded"),
        (by_a_bot, "This location was forwarded"),
        (venue, "or picked from a list"),
        (old, "This live location was started earlier."),
    ];
    let shifts = async || workplace.rows("SELECT status FROM shifts").await;

    chooses_from_menu(&anna, "▶️ Clock in").await;
    anna.presses(&button_with(&anna, "unscheduled")).await;
    for (message, words) in &wrong {
        sends_position(&anna, message.clone()).await;
        anna.sees(words);
    }
    assert!(shifts().await.is_empty());
    // A live position that has just begun is accepted.
    sends_position(&anna, json!({"location": live})).await;
    anna.sees("You clocked in at");

    chooses_from_menu(&anna, "⏹ Clock out").await;
    anna.presses("Continue to clock out").await;
    for (message, words) in &wrong {
        sends_position(&anna, message.clone()).await;
        anna.sees(words);
    }
    assert_eq!(shifts().await, [["active"]]);
    shares_position(&anna).await;
    assert_eq!(shifts().await, [["completed"]]);

    chooses_from_menu(&anna, "🔓 Open a site").await;
    anna.presses("Shop").await;
    sends_position(&anna, wrong[0].0.clone()).await;
    anna.sees("This location was forwarded");
    assert_eq!(workplace.rows("SELECT id FROM site_openings WHERE closed_at IS NULL").await.len(), 0);
}

#[tokio::test]
async fn marks_can_be_set_and_undone() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let sweep = workplace.task(site, None, "Sweep", 5_000).await;
    let needs_photo = AboutTask { needs_media: true, ..task("Photo of the shelf", 0) };
    workplace.sites.create_task(&workplace.owner, site, None, needs_photo).await.unwrap();
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    // A shift has its own copy of the tasks. Edits apply to later shifts.
    workplace.sites.edit_task(&workplace.owner, sweep, 1, task("Mop", -900)).await.unwrap();
    workplace.sites.create_task(&workplace.owner, site, None, task("Dust", 100)).await.unwrap();
    chooses_from_menu(&anna, "✅ My tasks").await;
    anna.presses("⬜ Sweep").await;
    anna.sees("✅ Sweep · bonus 50");
    let done = async || workplace.rows("SELECT text, done_at FROM shift_tasks ORDER BY place").await;
    let at = NOON.0.to_string();
    assert_eq!(done().await, [["Sweep", at.as_str()], ["Photo of the shelf", "-"]]);
    // The same button again: it sets the mark and does not toggle it.
    let id = workplace.rows("SELECT id FROM shift_tasks ORDER BY place").await[0][0].clone();
    anna.presses_data(&format!("task:done:{id}")).await;
    assert_eq!(done().await[0][1], at);
    anna.presses("✅ Sweep").await;
    anna.sees("⬜ Sweep");
    assert_eq!(done().await[0][1], "-");
    // Forged button data does not bypass the photo.
    let id = workplace.rows("SELECT id FROM shift_tasks ORDER BY place").await[1][0].clone();
    anna.presses_data(&format!("task:done:{id}")).await;
    anna.sees_toast("Send a photo for this task first");
    assert_eq!(done().await[1][1], "-");
    anna.presses("📷 Photo of the shelf").await;
    anna.sends_album("album", 3).await;
    anna.sees("✅ Photo of the shelf · 📷 3");
    anna.presses("Done").await;
    anna.sees("Everything you marked is saved.");
    anna.sees_button("🏠 Main menu");
}

#[tokio::test]
async fn photos_can_be_added_to_any_task() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.task(site, None, "Sweep", 5_000).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    chooses_from_menu(&anna, "✅ My tasks").await;
    for count in 1..=2 {
        anna.presses("📷 ＋").await;
        anna.sees("Send a photo, video or file for: Sweep");
        anna.sends_photo().await;
        anna.sees("✅ Sweep · bonus 50");
        assert_eq!(workplace.rows("SELECT media_count FROM shift_tasks").await, [[count.to_string()]]);
    }
}

#[tokio::test]
async fn closing_a_site_closes_the_own_shift_first() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let slot = workplace.slot(site, 0, 480, |_| {}).await;
    workplace.task(site, Some(slot), "Of the slot", 1_000).await;
    workplace.task(site, None, "Of the site", -500).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    let boris = workplace.worker("Boris", &[site], |contract| contract.allows_spontaneous = true).await;
    plans(&anna).await;
    opens(&anna, "Shop").await;
    opens(&boris, "Shop").await;
    boris.sees("⬜ Of the site");
    for who in [&anna, &boris] {
        chooses_from_menu(who, "🔒 Close a site").await;
        who.presses("Shop").await;
        who.presses("Mark tasks").await;
    }
    anna.sees("⬜ Of the slot · bonus 10\u{a0}₽\n⬜ Of the site · penalty 5\u{a0}₽");
    anna.presses("⬜ Of the slot").await;
    anna.presses("Continue to clock out").await;
    shares_position(&anna).await;
    is_notified(&workplace, &anna, "Bonus for a task “Of the slot”: +10").await;
    is_notified(&workplace, &anna, "Task not done “Of the site”: −5").await;
    anna.sees("Others are still working here.");
    boris.presses("Continue to clock out").await;
    shares_position(&boris).await;
    is_notified(&workplace, &boris, "so it's closed too").await;
    assert_eq!(workplace.rows("SELECT site_id FROM site_openings WHERE closed_at IS NULL").await.len(), 0);
    boris.presses_data("site:close").await;
    boris.sees("Nothing to close: none of your sites is open.");
    chooses_from_menu(&boris, "🔓 Open a site").await;
    boris.presses("Shop").await;
    shares_position(&boris).await;
    boris.sees("Shop is open.");
    chooses_from_menu(&boris, "🔒 Close a site").await;
    boris.presses("Shop").await;
    boris.sees("Shop is closed.");
}

#[tokio::test]
async fn a_slot_can_ignore_the_sites_tasks() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let slot = workplace.slot(site, 0, 480, |slot| slot.ignores_site_tasks = true).await;
    workplace.task(site, Some(slot), "Of the slot", 1_000).await;
    workplace.task(site, None, "Of the site", -500).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    opens(&anna, "Shop").await;
    assert_eq!(workplace.rows("SELECT text, source FROM shift_tasks").await, [["Of the slot", "slot"]]);
}

#[tokio::test]
async fn a_rejected_late_cancellation_costs_two_fines() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let slot = workplace.slot(site, 60, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    chooses_from_menu(&anna, "📅 My shifts").await;
    anna.presses("✖ Cancel Jan 1, 16:00–18:00").await;
    anna.presses("Something else").await;
    anna.sends("I do not feel like it").await;
    anna.presses("Skip").await;
    anna.sends_photo().await;
    anna.sees("Shift cancelled: Shop, Jan 1, 16:00–18:00.");
    anna.sees_button("🏠 Main menu");
    assert_eq!(workplace.sites.slot(slot).await.unwrap().unwrap().taken, 0, "the place is free at once");
    assert!(workplace.adjustments().await.is_empty(), "the reason is not judged yet");
    let plan = workplace.rows("SELECT id FROM shift_plans").await[0][0].clone();
    anna.presses_data(&format!("plan:cancel:{plan}")).await;
    anna.sees_toast("already been started or cancelled");

    let shifts = Shifts::of_app(&workplace.firm.app);
    let waiting = shifts.cancellations(&[site]).await.unwrap();
    assert_eq!((waiting.len(), waiting[0].0.is_short_notice), (1, true));
    assert_eq!(waiting[0].0.words.as_deref(), Some("I do not feel like it"));
    let worker = person(&workplace.firm, &anna).await;
    let not_hers = shifts.judge(&worker, waiting[0].0.id, true).await;
    assert!(matches!(not_hers, Err(ActionError::Refused(SiteRefusal::NotAllowed))), "{not_hers:?}");
    shifts.judge(&workplace.owner, waiting[0].0.id, false).await.unwrap();
    let twice = shifts.judge(&workplace.owner, waiting[0].0.id, true).await;
    assert!(matches!(twice, Err(ActionError::Refused(SiteRefusal::Decided))), "{twice:?}");
    let fines = [("cancelled_invalid".to_owned(), -50_000), ("cancelled_late".to_owned(), -50_000)];
    assert_eq!(workplace.adjustments().await, fines);
    let told: Vec<_> =
        notices::unsent(&workplace.firm.app.domain).await.unwrap().into_iter().map(|row| row.2).collect();
    assert!(matches!(&told[..], [Notice::Cancelled { .. }, Notice::ReasonRejected { .. }]), "{told:?}");
}

#[tokio::test]
async fn a_place_is_planned_by_site_and_day() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let (shop, other) = (workplace.site("Shop", 10_000).await, workplace.site("Other", 10_000).await);
    workplace.slot(shop, 60, 8 * 60, |slot| slot.title = "cashier".into()).await;
    workplace.slot(other, 9 * 60, 6 * 60, |_| {}).await;
    let vera = workplace.firm.member("Vera", &[workforce::person::Role::Employee]).await;
    for data in ["plan:begin", "open:begin", "site:open", "site:close"] {
        vera.presses_data(data).await;
        vera.sees("You don't have a contract with any site yet.");
    }
    let anna = workplace.worker("Anna", &[shop, other], |_| {}).await;
    let boris = workplace.worker("Boris", &[shop], |_| {}).await;
    for who in [&anna, &boris] {
        chooses_from_menu(who, "🗓 Pick up a shift").await;
        who.presses("Shop").await;
        who.presses("Thu Jan 1 · 1").await;
        who.presses(&button_with(who, "cashier")).await;
        who.sees("Jan 1, 16:00–00:00\n100\u{a0}₽ an hour");
    }
    anna.presses("Yes, I'll be there").await;
    anna.sees("You're signed up: Shop");
    boris.presses("Yes, I'll be there").await;
    boris.sees("No spots left.");
    boris.sees_button("🏠 Main menu");
    // A slot that overlaps her plan.
    workplace.slot(other, 4 * 60, 60, |_| {}).await;
    chooses_from_menu(&anna, "🗓 Pick up a shift").await;
    anna.presses("Other").await;
    assert!(!anna.transcript().contains("Jan 1 · 2"), "overlapping slots are not offered");
}

#[tokio::test]
async fn an_owner_sees_today_and_creates_a_slot() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.task(site, None, "Sweep", -500).await;
    workplace.slot(site, 0, 240, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    plans(&anna).await;
    workplace.firm.stage.advance(Duration::from_secs(3600)).await;
    let max = workplace.firm.member("Max", &[workforce::person::Role::Owner]).await;
    chooses_from_menu(&max, "📋 Today").await;
    max.sees("⚪ Shop\n• Anna no-show: Jan 1, 15:00–19:00");
    opens(&anna, "Jan 1").await;
    chooses_from_menu(&max, "📋 Today").await;
    max.sees("🟢 Shop\n• Anna working since 16:00\n⏰ 60 min late");
    chooses_from_menu(&max, "🏢 Sites").await;
    max.presses("Shop").await;
    max.sees("• Sweep · penalty 5");
    max.presses("➕ New shift").await;
    max.sends("tomorrow").await;
    max.sees("I didn't get that.");
    max.sends("02.01 22:00-06:00 3").await;
    max.sees("New shift at Shop: Jan 2, 22:00–06:00.");
    anna.presses_data("owner:sites").await;
    anna.sees_toast("You don't have permission");
}

#[tokio::test]
async fn an_owner_sets_the_location_of_a_site() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let max = workplace.firm.member("Max", &[workforce::person::Role::Owner]).await;
    let position = async || workplace.sites.site(site).await.unwrap().unwrap().about.position.unwrap();
    chooses_from_menu(&max, "🏢 Sites").await;
    max.presses("Shop").await;
    max.presses("📍 Set the location").await;
    max.sends("around the corner").await;
    max.sees("Enter coordinates, for example 55.7558, 37.6173");
    max.sends("https://yandex.ru/maps/-/CDe4fG").await;
    max.sees("A short link has no coordinates in it.");
    max.sends_location(59.9386, 30.3141).await;
    max.sees("the location of Shop is saved");
    assert_eq!((position().await.latitude, position().await.longitude), (59.9386, 30.3141));
    max.presses_data(&format!("owner:position:{site}")).await;
    max.sends("55,7558 37,6173").await;
    max.sees("the location of Shop is saved");
    assert_eq!((position().await.latitude, position().await.longitude), (55.7558, 37.6173));
    // A worker cannot move a site, whatever number the button has.
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    anna.presses_data(&format!("owner:position:{site}")).await;
    anna.sees_toast("You don't have permission");
}

#[tokio::test]
async fn a_planned_shift_opens_at_most_two_hours_early() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.slot(site, 180, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    chooses_from_menu(&anna, "▶️ Clock in").await;
    anna.sees("You have no shift planned right now.");
    let user_id = person(&workplace.firm, &anna).await.id;
    let plan_id =
        Shifts::of_app(&workplace.firm.app).plans_of(user_id, NOON).await.unwrap().first().map(|plan| plan.id);
    let start = ShiftStart { user_id, site_id: site, plan_id, position: None, started_at: NOON, at: NOON };
    let opened = workplace.firm.app.domain.write_and_get(move |db| Box::pin(shifts::open(db, start))).await;
    assert!(matches!(&opened, Err(NotWritten::Refused(why)) if *why == SiteRefusal::Early.key()), "{opened:?}");
    workplace.firm.stage.advance(Duration::from_secs(3600)).await;
    opens(&anna, "Shop").await;
}
