//! Who has a plan comes by it, also who says that it is without one; and nobody is late by what was before they knew.

use std::time::Duration;

use opora::testing::chat::Someone;
use workforce::notices::{self, Notice};
use workforce::shifts::{self, Start, jobs};
use workforce::sites::{AboutSite, AboutSlot, Hours};

use super::{Yard, about_site, chooses, closes, is_here, opens, person, plans};
use crate::kit::firm::{Kind, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    who_has_a_plan_opens_that_and_is_late_by_it_whatever_was_chosen,
    whose_slot_is_moved_behind_now_is_awaited_from_then_on,
    whose_slot_comes_back_after_its_start_is_awaited_from_then_on,
}

async fn passes(yard: &Yard, minutes: u64) {
    yard.firm.stage.passes(Duration::from_secs(60 * minutes)).await;
}

/// A site where every minute costs ten roubles.
fn strict(name: &str) -> AboutSite {
    AboutSite { rate_kopecks: 36_000, late_minute_kopecks: 1_000, ..about_site(name) }
}

/// How often somebody was told that they were missed.
async fn missed(yard: &Yard) -> usize {
    jobs::note_missed(yard.firm.app.clone()).await.unwrap();
    let told = notices::untold(&yard.firm.app.domain).await.unwrap();
    told.into_iter().filter(|(_, _, notice)| matches!(notice, Notice::YouMissed { .. })).count()
}

async fn who_has_a_plan_opens_that_and_is_late_by_it_whatever_was_chosen(kind: Kind) {
    let yard = Yard::open(kind).await;
    let (shop, bar) = (yard.site_like(strict("Shop")).await, yard.site_like(strict("Bar")).await);
    let slot = yard.slot(shop, 0, 240, |slot| (slot.capacity, slot.rate_kopecks) = (2, Some(72_000))).await;
    yard.task(shop, Some(slot), "Of the slot", 0).await;
    let anna = yard.worker("Anna", &[shop, bar], |contract| contract.allows_spontaneous = true).await;
    let boris = yard.worker("Boris", &[shop], |contract| contract.allows_spontaneous = true).await;
    for someone in [&anna, &boris] {
        plans(someone).await;
    }
    passes(&yard, 7).await;
    chooses(&anna, "▶️ Open a shift").await;
    anna.sees_button("Bar, without a plan");
    assert!(!anna.transcript().contains("Shop, without a plan"), "{}", anna.transcript());
    // A button of another day says so still.
    anna.presses_data(&format!("open:site:{shop}")).await;
    is_here(&anna).await;
    anna.sees("⬜ Of the slot");
    // And so may whoever opens a shift by another way than the chat.
    let (user_id, at) = (person(&yard.firm, &boris).await.id, yard.firm.app.clock.now());
    let start = Start { user_id, site_id: shop, plan_id: None, position: None, started_at: at, at };
    yard.firm.app.domain.write_and_get(move |db| Box::pin(shifts::open(db, start))).await.unwrap();
    yard.firm.stage.passes(Duration::from_secs(36)).await;
    for someone in [&anna, &boris] {
        closes(someone).await;
    }
    let expected = [("shift_base".to_owned(), 720), ("late_start".to_owned(), -7_000)];
    assert_eq!(yard.amounts().await, [expected.clone(), expected].concat());
    assert_eq!(yard.rows("SELECT status FROM shift_plans").await, [["completed"], ["completed"]]);
    passes(&yard, 60).await;
    assert_eq!(missed(&yard).await, 0);
}

/// A strict shop with a slot that begins so many minutes after noon and lasts four hours; Anna and Boris have planned it.
async fn planned(kind: Kind, after: i64) -> (Yard, i64, [Someone; 2]) {
    let yard = Yard::open(kind).await;
    let site = yard.site_like(strict("Shop")).await;
    let slot = yard.slot(site, after, 240, |slot| slot.capacity = 2).await;
    let both = [yard.worker("Anna", &[site], |_| {}).await, yard.worker("Boris", &[site], |_| {}).await];
    for someone in &both {
        plans(someone).await;
    }
    (yard, slot, both)
}

/// Staff have it begin at another minute of the day, by the clock of Moscow.
async fn moves(yard: &Yard, slot: i64, from_minute: i64) {
    let seen = yard.sites.slot(slot).await.unwrap().unwrap();
    let hours = Hours::new(from_minute, seen.about.hours.to_minute);
    let about = AboutSlot { hours, ..seen.about };
    yard.sites.edit_slot(&yard.owner, slot, seen.version, about).await.unwrap();
}

/// What lateness has cost.
async fn fine(yard: &Yard) -> i64 {
    let late = yard.amounts().await.into_iter().filter(|(kind, _)| kind == "late_start");
    late.map(|(_, kopecks)| kopecks).sum()
}

async fn whose_slot_is_moved_behind_now_is_awaited_from_then_on(kind: Kind) {
    // From five in the afternoon on. At four it is made to begin at half past two.
    let (yard, slot, [anna, _]) = planned(kind, 120).await;
    passes(&yard, 60).await;
    moves(&yard, slot, 14 * 60 + 30).await;
    assert_eq!(missed(&yard).await, 0, "they have only just been told");
    passes(&yard, 7).await;
    opens(&anna, "Shop").await;
    closes(&anna).await;
    assert_eq!(fine(&yard).await, -7_000);
    passes(&yard, 52).await;
    assert_eq!(missed(&yard).await, 0);
    passes(&yard, 1).await;
    assert_eq!(missed(&yard).await, 1, "Boris had an hour, too");
}

#[tokio::test]
async fn who_is_awaited_already_stays_so_when_the_slot_is_moved() {
    let (yard, slot, [anna, boris]) = planned(Kind::Sqlite, 60).await;
    passes(&yard, 70).await;
    // It is to have begun at three and not at four: nobody was told of that hour.
    moves(&yard, slot, 15 * 60).await;
    passes(&yard, 10).await;
    for someone in [&anna, &boris] {
        opens(someone, "Shop").await;
        closes(someone).await;
    }
    assert_eq!(fine(&yard).await, -40_000);
}

#[tokio::test]
async fn who_was_awaited_and_is_told_of_a_later_start_is_awaited_from_that() {
    let (yard, slot, [anna, boris]) = planned(Kind::Sqlite, 0).await;
    passes(&yard, 10).await;
    moves(&yard, slot, 16 * 60).await;
    passes(&yard, 55).await;
    for someone in [&anna, &boris] {
        opens(someone, "Shop").await;
        closes(someone).await;
    }
    assert_eq!(fine(&yard).await, -10_000);
}

async fn whose_slot_comes_back_after_its_start_is_awaited_from_then_on(kind: Kind) {
    let (yard, slot, [anna, _]) = planned(kind, 30).await;
    yard.sites.delete_slot(&yard.owner, slot, 1).await.unwrap();
    passes(&yard, 120).await;
    yard.sites.restore_slot(&yard.owner, slot).await.unwrap();
    assert_eq!(missed(&yard).await, 0);
    passes(&yard, 7).await;
    opens(&anna, "Shop").await;
    closes(&anna).await;
    assert_eq!(fine(&yard).await, -7_000);
    passes(&yard, 53).await;
    assert_eq!(missed(&yard).await, 1);
}
