//! What people meet in the chat: too far, restarts, marks that are real, tasks that stay, reasons that are judged.

use std::time::Duration;

use opora::testing::chat::Someone;
use serde_json::json;
use workforce::domain::NotWritten;
use workforce::notices::{self, Notice};
use workforce::shifts::{self, Shifts, Start};
use workforce::sites::{AboutTask, NotDone, Why};

use super::{HERE, Yard, button_with, chooses, closes, is_here, is_told, opens, person, plans, task};
use crate::kit::firm::{Kind, NOON, on_every_database};

on_every_database! {
    a_restart_between_any_two_steps_loses_nothing,
}

/// What somebody does.
enum Deed {
    /// Goes there from the main menu.
    Menu(&'static str),
    /// Presses the last button with these words.
    Press(&'static str),
    Photo,
    Here,
}

/// A whole shift: what is done, and what is said to it.
const DEEDS: &[(Deed, &str)] = &[
    (Deed::Menu("▶️ Open a shift"), "Which shift do you open?"),
    (Deed::Press(" · Shop"), "Please share your position"),
    (Deed::Here, "is open since"),
    (Deed::Menu("✅ My tasks"), "⬜ Sweep"),
    (Deed::Press("📷 Sweep"), "Send a photo"),
    (Deed::Photo, "✅ Sweep"),
    (Deed::Press("⬜ Lock up"), "✅ Lock up"),
    (Deed::Menu("⏹ Close my shift"), "✅ Sweep · +50.00\u{a0}₽ · 📷 1\n✅ Lock up · −10.00\u{a0}₽"),
    (Deed::Press("Go on to closing"), "to close your shift"),
    (Deed::Here, "I have your position"),
];

async fn a_restart_between_any_two_steps_loses_nothing(kind: Kind) {
    let mut yard = Yard::open(kind).await;
    let site = yard.site("Shop", 10_000).await;
    let about = AboutTask { needs_media: true, ..task("Sweep", 5_000) };
    yard.sites.create_task(&yard.owner, site, None, about).await.unwrap();
    yard.task(site, None, "Lock up", -1_000).await;
    yard.slot(site, 0, 480, |_| {}).await;
    let mut anna = yard.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    for (deed, sees) in DEEDS {
        match *deed {
            Deed::Menu(caption) => chooses(&anna, caption).await,
            Deed::Press(words) => anna.presses(&button_with(&anna, words)).await,
            Deed::Photo => drop(anna.sends_photo().await),
            Deed::Here => is_here(&anna).await,
        }
        anna.sees(sees);
        yard.firm.stage.clock().advance(Duration::from_secs(360));
        let fresh = yard.firm.stage.restarts().await;
        anna = anna.on(&fresh);
        yard.firm.stage = fresh;
    }
    is_told(&yard, &anna, "Total: ").await;
    let posted: Vec<_> = yard.amounts().await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(posted, ["shift_base", "task_bonus", "task_completed"]);
    assert_eq!(yard.rows("SELECT status FROM shift_plans").await, [["completed"]]);
}

#[tokio::test]
async fn who_is_too_far_is_told_the_distance_and_can_come_closer() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    chooses(&anna, "▶️ Open a shift").await;
    anna.presses(&button_with(&anna, "without a plan")).await;
    anna.sees_button("📍 Share my position");
    anna.sends_location(HERE.latitude + 0.01, HERE.longitude).await;
    anna.sees("You are 1112 m away from Shop. It has to be 500 m or less.");
    anna.sends("let me in").await;
    anna.sees("Please press the key with the pin");
    is_here(&anna).await;
    anna.sees("Your shift at Shop is open since 15:00.");
    anna.sees_button("🏠 Main menu");
    chooses(&anna, "▶️ Open a shift").await;
    anna.sees("You are at work already.");
    closes(&anna).await;
    is_told(&yard, &anna, "Nobody else works at Shop, so it is closed too.").await;
}

#[tokio::test]
async fn who_is_too_far_closes_no_shift_and_opens_no_site_and_is_told_the_distance() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    let is_away = async || {
        anna.sends_location(HERE.latitude + 0.01, HERE.longitude).await;
        anna.sees("You are 1112 m away from Shop. It has to be 500 m or less.");
        anna.state().await.unwrap()
    };
    let shifts = async || yard.rows("SELECT status, ended_at, version FROM shifts").await;
    let openings = async || yard.rows("SELECT opened_by, closed_at FROM site_openings").await;

    opens(&anna, "without a plan").await;
    let (before, open) = (shifts().await, openings().await);
    chooses(&anna, "⏹ Close my shift").await;
    anna.presses("Go on to closing").await;
    assert_eq!(is_away().await, "close_shift:position");
    assert_eq!((shifts().await, openings().await, yard.amounts().await), (before, open, vec![]));
    is_here(&anna).await;
    is_told(&yard, &anna, "Total: ").await;

    let closed = openings().await;
    chooses(&anna, "🔓 Open a site").await;
    anna.presses("Shop").await;
    assert_eq!(is_away().await, "site_doors:position");
    assert_eq!(openings().await, closed);
    is_here(&anna).await;
    anna.sees("Shop is open.");
    assert_eq!(openings().await.len(), 2);
}

/// A position as Telegram brings it, with something that speaks against it.
async fn sends_position(someone: &Someone, more: serde_json::Value) {
    let position = json!({"latitude": HERE.latitude, "longitude": HERE.longitude});
    let mut message = json!({"location": position, "date": NOON.0 / 1000});
    for (name, value) in more.as_object().unwrap() {
        message[name] = value.clone();
    }
    someone.sends_message(message).await;
}

#[tokio::test]
async fn positions_of_others_and_old_live_ones_open_and_close_nothing() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    let (latitude, longitude) = (HERE.latitude, HERE.longitude);
    let boris = json!({"id": 5, "is_bot": false, "first_name": "Boris"});
    let forwarded = json!({"forward_origin": {"type": "user", "date": 1, "sender_user": boris}});
    let by_a_bot = json!({"via_bot": {"id": 6, "is_bot": true, "first_name": "Maps"}});
    let place = json!({"latitude": latitude, "longitude": longitude});
    let venue = json!({"venue": {"location": place, "title": "Shop", "address": "Main Street 1"}});
    let live = json!({"latitude": latitude, "longitude": longitude, "live_period": 3600});
    let old = json!({"location": live, "date": NOON.0 / 1000 - 601});
    let wrong = [
        (forwarded, "This position was forwarded"),
        (by_a_bot, "This position was forwarded"),
        (venue, "or chosen from a list"),
        (old, "This live position was sent a while ago."),
    ];
    let shifts = async || yard.rows("SELECT status FROM shifts").await;

    chooses(&anna, "▶️ Open a shift").await;
    anna.presses(&button_with(&anna, "without a plan")).await;
    for (message, words) in &wrong {
        sends_position(&anna, message.clone()).await;
        anna.sees(words);
    }
    assert!(shifts().await.is_empty());
    // One that has only just become live is as good as any.
    sends_position(&anna, json!({"location": live})).await;
    anna.sees("is open since");

    chooses(&anna, "⏹ Close my shift").await;
    anna.presses("Go on to closing").await;
    for (message, words) in &wrong {
        sends_position(&anna, message.clone()).await;
        anna.sees(words);
    }
    assert_eq!(shifts().await, [["active"]]);
    is_here(&anna).await;
    assert_eq!(shifts().await, [["completed"]]);

    chooses(&anna, "🔓 Open a site").await;
    anna.presses("Shop").await;
    sends_position(&anna, wrong[0].0.clone()).await;
    anna.sees("This position was forwarded");
    assert_eq!(yard.rows("SELECT id FROM site_openings WHERE closed_at IS NULL").await.len(), 0);
}

#[tokio::test]
async fn marks_show_what_is_done_and_can_be_taken_back_and_a_second_tap_does_nothing() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let sweep = yard.task(site, None, "Sweep", 5_000).await;
    let needs_photo = AboutTask { needs_media: true, ..task("Photo of the shelf", 0) };
    yard.sites.create_task(&yard.owner, site, None, needs_photo).await.unwrap();
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    // Tasks are the shift's own: what is edited now is for later shifts.
    yard.sites.edit_task(&yard.owner, sweep, 1, task("Mop", -900)).await.unwrap();
    yard.sites.create_task(&yard.owner, site, None, task("Dust", 100)).await.unwrap();
    chooses(&anna, "✅ My tasks").await;
    anna.presses("⬜ Sweep").await;
    anna.sees("✅ Sweep · +50.00");
    let done = async || yard.rows("SELECT text, done_at FROM shift_tasks ORDER BY place").await;
    let at = NOON.0.to_string();
    assert_eq!(done().await, [["Sweep", at.as_str()], ["Photo of the shelf", "-"]]);
    // The same button once more: it says what is wanted, not the other way round.
    let id = yard.rows("SELECT id FROM shift_tasks ORDER BY place").await[0][0].clone();
    anna.presses_data(&format!("task:done:{id}")).await;
    assert_eq!(done().await[0][1], at);
    anna.presses("✅ Sweep").await;
    anna.sees("⬜ Sweep");
    assert_eq!(done().await[0][1], "-");
    // Somebody who makes up a button does not get around the photo.
    let id = yard.rows("SELECT id FROM shift_tasks ORDER BY place").await[1][0].clone();
    anna.presses_data(&format!("task:done:{id}")).await;
    anna.sees_toast("needs a photo");
    assert_eq!(done().await[1][1], "-");
    anna.presses("📷 Photo of the shelf").await;
    anna.sends_album("album", 3).await;
    anna.sees("✅ Photo of the shelf · 📷 3");
    anna.presses("Done").await;
    anna.sees("All marks are kept.");
    anna.sees_button("🏠 Main menu");
}

#[tokio::test]
async fn photos_can_be_added_to_every_task_also_to_one_that_has_some() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    yard.task(site, None, "Sweep", 5_000).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    chooses(&anna, "✅ My tasks").await;
    for count in 1..=2 {
        anna.presses("📷 ＋").await;
        anna.sees("Send a photo, a video or a file for: Sweep");
        anna.sends_photo().await;
        anna.sees("✅ Sweep · +50.00");
        assert_eq!(yard.rows("SELECT media_count FROM shift_tasks").await, [[count.to_string()]]);
    }
}

#[tokio::test]
async fn closing_a_site_closes_the_own_shift_first_with_the_tasks_of_its_slot() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let slot = yard.slot(site, 0, 480, |_| {}).await;
    yard.task(site, Some(slot), "Of the slot", 1_000).await;
    yard.task(site, None, "Of the site", -500).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    let boris = yard.worker("Boris", &[site], |contract| contract.allows_spontaneous = true).await;
    plans(&anna).await;
    opens(&anna, "Shop").await;
    opens(&boris, "Shop").await;
    boris.sees("⬜ Of the site");
    for who in [&anna, &boris] {
        chooses(who, "🔒 Close a site").await;
        who.presses("Shop").await;
        who.presses("Mark tasks").await;
    }
    anna.sees("⬜ Of the slot · +10.00\u{a0}₽\n⬜ Of the site · −5.00\u{a0}₽");
    anna.presses("⬜ Of the slot").await;
    anna.presses("Go on to closing").await;
    is_here(&anna).await;
    is_told(&yard, &anna, "Bonus for a task «Of the slot»: +10.00").await;
    is_told(&yard, &anna, "Task not done «Of the site»: −5.00").await;
    anna.sees("Others still work here.");
    boris.presses("Go on to closing").await;
    is_here(&boris).await;
    is_told(&yard, &boris, "so it is closed too").await;
    assert_eq!(yard.rows("SELECT site_id FROM site_openings WHERE closed_at IS NULL").await.len(), 0);
    chooses(&boris, "🔒 Close a site").await;
    boris.sees("None of your sites is open.");
    chooses(&boris, "🔓 Open a site").await;
    boris.presses("Shop").await;
    is_here(&boris).await;
    boris.sees("Shop is open.");
    chooses(&boris, "🔒 Close a site").await;
    boris.presses("Shop").await;
    boris.sees("Shop is closed.");
}

#[tokio::test]
async fn a_slot_that_ignores_the_tasks_of_its_site_has_its_own_alone() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let slot = yard.slot(site, 0, 480, |slot| slot.ignores_site_tasks = true).await;
    yard.task(site, Some(slot), "Of the slot", 1_000).await;
    yard.task(site, None, "Of the site", -500).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    opens(&anna, "Shop").await;
    assert_eq!(yard.rows("SELECT text, source FROM shift_tasks").await, [["Of the slot", "slot"]]);
}

#[tokio::test]
async fn who_cancels_late_for_a_bad_reason_pays_twice_once_it_was_rejected() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let slot = yard.slot(site, 60, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    chooses(&anna, "📅 My shifts").await;
    anna.presses("✖ Cancel 01.01 16:00–18:00").await;
    anna.presses("Something else").await;
    anna.sends("I do not feel like it").await;
    anna.presses("Skip").await;
    anna.sends_photo().await;
    anna.sees("Cancelled: Shop, 01.01 16:00–18:00.");
    anna.sees_button("🏠 Main menu");
    assert_eq!(yard.sites.slot(slot).await.unwrap().unwrap().taken, 0, "the place is free at once");
    assert!(yard.amounts().await.is_empty(), "nobody has judged the reason yet");
    anna.presses("✖ Cancel 01.01 16:00–18:00").await;
    anna.sees_toast("used or cancelled already");

    let shifts = Shifts::of_app(&yard.firm.app);
    let waiting = shifts.cancellations(&[site]).await.unwrap();
    assert_eq!((waiting.len(), waiting[0].0.is_short_notice), (1, true));
    assert_eq!(waiting[0].0.words.as_deref(), Some("I do not feel like it"));
    let worker = person(&yard.firm, &anna).await;
    let not_hers = shifts.judge(&worker, waiting[0].0.id, true).await;
    assert!(matches!(not_hers, Err(NotDone::Refused(Why::NotAllowed))), "{not_hers:?}");
    shifts.judge(&yard.owner, waiting[0].0.id, false).await.unwrap();
    let twice = shifts.judge(&yard.owner, waiting[0].0.id, true).await;
    assert!(matches!(twice, Err(NotDone::Refused(Why::Decided))), "{twice:?}");
    let fines = [("cancelled_invalid".to_owned(), -50_000), ("cancelled_late".to_owned(), -50_000)];
    assert_eq!(yard.amounts().await, fines);
    let told: Vec<_> = notices::untold(&yard.firm.app.domain).await.unwrap().into_iter().map(|row| row.2).collect();
    assert!(matches!(&told[..], [Notice::Cancelled { .. }, Notice::ReasonRejected { .. }]), "{told:?}");
}

#[tokio::test]
async fn a_place_is_planned_by_site_and_day_with_warnings_and_only_with_a_contract() {
    let yard = Yard::open(Kind::Sqlite).await;
    let (shop, other) = (yard.site("Shop", 10_000).await, yard.site("Other", 10_000).await);
    yard.slot(shop, 60, 8 * 60, |slot| slot.title = "cashier".into()).await;
    yard.slot(other, 9 * 60, 6 * 60, |_| {}).await;
    let vera = yard.firm.member("Vera", &[workforce::person::Role::Employee]).await;
    chooses(&vera, "🗓 Plan a shift").await;
    vera.sees("You have no contract for any site yet.");
    let anna = yard.worker("Anna", &[shop, other], |_| {}).await;
    let boris = yard.worker("Boris", &[shop], |_| {}).await;
    for who in [&anna, &boris] {
        chooses(who, "🗓 Plan a shift").await;
        who.presses("Shop").await;
        who.presses("Thu 01.01 · 1").await;
        who.presses(&button_with(who, "cashier")).await;
        who.sees("01.01 16:00–00:00\n100.00\u{a0}₽ an hour");
    }
    anna.presses("Yes, I will come").await;
    anna.sees("Planned: Shop");
    boris.presses("Yes, I will come").await;
    boris.sees("No place is left here.");
    boris.sees_button("🏠 Main menu");
    // Half an hour before midnight it would still be the same day of work.
    yard.slot(other, 4 * 60, 60, |_| {}).await;
    chooses(&anna, "🗓 Plan a shift").await;
    anna.presses("Other").await;
    assert!(!anna.transcript().contains("01.01 · 2"), "what meets her own plan is not offered");
}

#[tokio::test]
async fn an_owner_sees_today_and_makes_a_slot_in_one_line() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    yard.task(site, None, "Sweep", -500).await;
    yard.slot(site, 0, 240, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    plans(&anna).await;
    yard.firm.stage.passes(Duration::from_secs(3600)).await;
    let max = yard.firm.member("Max", &[workforce::person::Role::Owner]).await;
    chooses(&max, "📋 Today").await;
    max.sees("⚪ Shop\n• Anna has not come: 01.01 15:00–19:00");
    opens(&anna, "01.01").await;
    chooses(&max, "📋 Today").await;
    max.sees("🟢 Shop\n• Anna works since 16:00\n⏰ late by 60 minutes");
    chooses(&max, "🏢 Sites").await;
    max.presses("Shop").await;
    max.sees("• Sweep · −5.00");
    max.presses("➕ New slot").await;
    max.sends("tomorrow").await;
    max.sees("I did not understand this.");
    max.sends("02.01 22:00-06:00 3").await;
    max.sees("There is a new slot at Shop: 02.01 22:00–06:00.");
    anna.presses_data("owner:sites").await;
    anna.sees_toast("This is for others");
}

#[tokio::test]
async fn a_planned_shift_is_opened_two_hours_before_its_start_at_the_earliest() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    yard.slot(site, 180, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    chooses(&anna, "▶️ Open a shift").await;
    anna.sees("Nothing is planned for you now.");
    let user_id = person(&yard.firm, &anna).await.id;
    let plan_id = Shifts::of_app(&yard.firm.app).plans_of(user_id, NOON).await.unwrap().first().map(|plan| plan.id);
    let start = Start { user_id, site_id: site, plan_id, position: None, started_at: NOON, at: NOON };
    let opened = yard.firm.app.domain.write_and_get(move |db| Box::pin(shifts::open(db, start))).await;
    assert!(matches!(&opened, Err(NotWritten::Refused(why)) if *why == Why::Early.key()), "{opened:?}");
    yard.firm.stage.passes(Duration::from_secs(3600)).await;
    opens(&anna, "Shop").await;
}
