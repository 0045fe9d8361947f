//! A shift follows the person's plan, even if it is opened without one. A person is not late for a time before
//! they knew of it.

use std::time::Duration;

use opora::testing::chat::ChatUser;
use workforce::notices::{self, Notice};
use workforce::shifts::{self, ShiftStart, jobs};
use workforce::sites::{AboutSite, AboutSlot, Hours};

use super::{Workplace, about_site, chooses_from_menu, closes, opens, person, plans, shares_position};
use crate::kit::firm::{StorageKind, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    a_shift_uses_the_plan_even_if_opened_without,
    after_a_move_into_the_past_lateness_counts_from_now,
    after_a_restore_lateness_counts_from_then,
}

/// A site where every minute late costs ten roubles.
fn strict(name: &str) -> AboutSite {
    AboutSite { rate_kopecks: 36_000, late_minute_kopecks: 1_000, ..about_site(name) }
}

/// Runs the job, and counts the notices to people who were missed.
async fn count_missed(workplace: &Workplace) -> usize {
    jobs::note_missed(workplace.firm.app.clone()).await.unwrap();
    let unsent = notices::unsent(&workplace.firm.app.domain).await.unwrap();
    unsent.into_iter().filter(|(_, _, notice)| matches!(notice, Notice::YouMissed { .. })).count()
}

async fn a_shift_uses_the_plan_even_if_opened_without(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let (shop, bar) = (workplace.site_with(strict("Shop")).await, workplace.site_with(strict("Bar")).await);
    let slot = workplace.slot(shop, 0, 240, |slot| (slot.capacity, slot.rate_kopecks) = (2, Some(72_000))).await;
    workplace.task(shop, Some(slot), "Of the slot", 0).await;
    let anna = workplace.worker("Anna", &[shop, bar], |contract| contract.allows_spontaneous = true).await;
    let boris = workplace.worker("Boris", &[shop], |contract| contract.allows_spontaneous = true).await;
    for someone in [&anna, &boris] {
        plans(someone).await;
    }
    workplace.minutes_pass(7).await;
    chooses_from_menu(&anna, "▶️ Clock in").await;
    anna.sees_button("Bar, unscheduled");
    assert!(!anna.transcript().contains("Shop, unscheduled"), "{}", anna.transcript());
    // The button of an earlier message still offers it.
    anna.presses_data(&format!("open:site:{shop}")).await;
    shares_position(&anna).await;
    anna.sees("⬜ Of the slot");
    // The same applies to a shift that is not opened in the chat.
    let (user_id, at) = (person(&workplace.firm, &boris).await.id, workplace.firm.app.clock.now());
    let start = ShiftStart { user_id, site_id: shop, plan_id: None, position: None, started_at: at, at };
    workplace.firm.app.domain.write_and_get(move |db| Box::pin(shifts::open(db, start))).await.unwrap();
    workplace.firm.stage.advance(Duration::from_secs(36)).await;
    for someone in [&anna, &boris] {
        closes(someone).await;
    }
    let expected = [("shift_base".to_owned(), 720), ("late_start".to_owned(), -7_000)];
    assert_eq!(workplace.adjustments().await, [expected.clone(), expected].concat());
    assert_eq!(workplace.rows("SELECT status FROM shift_plans").await, [["completed"], ["completed"]]);
    workplace.minutes_pass(60).await;
    assert_eq!(count_missed(&workplace).await, 0);
}

/// A strict shop with a slot of four hours that begins this many minutes after noon. Anna and Boris have planned it.
async fn planned_slot(kind: StorageKind, after: i64) -> (Workplace, i64, [ChatUser; 2]) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site_with(strict("Shop")).await;
    let slot = workplace.slot(site, after, 240, |slot| slot.capacity = 2).await;
    let both = [workplace.worker("Anna", &[site], |_| {}).await, workplace.worker("Boris", &[site], |_| {}).await];
    for someone in &both {
        plans(someone).await;
    }
    (workplace, slot, both)
}

/// Staff move the slot's start to another minute of the day, in Moscow.
async fn move_start(workplace: &Workplace, slot: i64, from_minute: i64) {
    let seen = workplace.sites.slot(slot).await.unwrap().unwrap();
    let hours = Hours::new(from_minute, seen.about.hours.to_minute);
    let about = AboutSlot { hours, ..seen.about };
    workplace.sites.edit_slot(&workplace.owner, slot, seen.version, about).await.unwrap();
}

/// The sum of all penalties for lateness.
async fn lateness_penalty(workplace: &Workplace) -> i64 {
    let late = workplace.adjustments().await.into_iter().filter(|(kind, _)| kind == "late_start");
    late.map(|(_, kopecks)| kopecks).sum()
}

async fn after_a_move_into_the_past_lateness_counts_from_now(kind: StorageKind) {
    // The slot begins at 17:00. At 16:00 it is moved to 14:30.
    let (workplace, slot, [anna, _]) = planned_slot(kind, 120).await;
    workplace.minutes_pass(60).await;
    move_start(&workplace, slot, 14 * 60 + 30).await;
    assert_eq!(count_missed(&workplace).await, 0, "they have only just been told");
    workplace.minutes_pass(7).await;
    opens(&anna, "Shop").await;
    closes(&anna).await;
    assert_eq!(lateness_penalty(&workplace).await, -7_000);
    workplace.minutes_pass(52).await;
    assert_eq!(count_missed(&workplace).await, 0);
    workplace.minutes_pass(1).await;
    assert_eq!(count_missed(&workplace).await, 1, "Boris had an hour, too");
}

#[tokio::test]
async fn moving_a_running_slot_keeps_its_lateness() {
    let (workplace, slot, [anna, boris]) = planned_slot(StorageKind::Sqlite, 60).await;
    workplace.minutes_pass(70).await;
    // The start is moved from 16:00 to 15:00, after the fact. That hour was never announced.
    move_start(&workplace, slot, 15 * 60).await;
    workplace.minutes_pass(10).await;
    for someone in [&anna, &boris] {
        opens(someone, "Shop").await;
        closes(someone).await;
    }
    assert_eq!(lateness_penalty(&workplace).await, -40_000);
}

#[tokio::test]
async fn a_later_start_counts_for_lateness() {
    let (workplace, slot, [anna, boris]) = planned_slot(StorageKind::Sqlite, 0).await;
    workplace.minutes_pass(10).await;
    move_start(&workplace, slot, 16 * 60).await;
    workplace.minutes_pass(55).await;
    for someone in [&anna, &boris] {
        opens(someone, "Shop").await;
        closes(someone).await;
    }
    assert_eq!(lateness_penalty(&workplace).await, -10_000);
}

async fn after_a_restore_lateness_counts_from_then(kind: StorageKind) {
    let (workplace, slot, [anna, _]) = planned_slot(kind, 30).await;
    workplace.sites.delete_slot(&workplace.owner, slot, 1).await.unwrap();
    workplace.minutes_pass(120).await;
    workplace.sites.restore_slot(&workplace.owner, slot).await.unwrap();
    assert_eq!(count_missed(&workplace).await, 0);
    workplace.minutes_pass(7).await;
    opens(&anna, "Shop").await;
    closes(&anna).await;
    assert_eq!(lateness_penalty(&workplace).await, -7_000);
    workplace.minutes_pass(53).await;
    assert_eq!(count_missed(&workplace).await, 1);
}
