//! Who has a plan comes by it, also who says that it is without one; and nobody is late by what was before they knew.

use std::time::Duration;

use workforce::shifts::{self, Start, jobs};
use workforce::sites::{AboutSite, Notice, notices};

use super::{Yard, about_site, chooses, closes, is_here, person, plans};
use crate::firm::{Kind, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    who_has_a_plan_opens_that_and_is_late_by_it_whatever_was_chosen,
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
    let start = Start { user_id, site_id: shop, plan_id: None, position: None, at };
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
