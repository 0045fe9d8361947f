//! Who takes a place in a slot that has begun is awaited from then on, and not from its start.

use std::time::Duration;

use workforce::notices::{self, Notice};
use workforce::shifts::jobs;
use workforce::sites::AboutSite;

use super::{Yard, about_site, chooses, closes, opens, plans};
use crate::kit::firm::{Kind, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    who_fills_in_pays_only_for_being_late_after_that,
    who_fills_in_is_missed_an_hour_later_and_not_at_once,
}

/// A firm with a slot that began five hours ago, and four more to go.
async fn begun(kind: Kind) -> (Yard, i64) {
    let yard = Yard::open(kind).await;
    let rate_kopecks = 36_000;
    let about = AboutSite { rate_kopecks, late_threshold_minutes: 5, late_minute_kopecks: 1_000, ..about_site("Shop") };
    let site = yard.site_like(about).await;
    yard.slot(site, -300, 540, |_| {}).await;
    (yard, site)
}

async fn passes(yard: &Yard, seconds: u64) {
    yard.firm.stage.passes(Duration::from_secs(seconds)).await;
}

async fn who_fills_in_pays_only_for_being_late_after_that(kind: Kind) {
    let (yard, site) = begun(kind).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    let max = yard.firm.member("Max", &[workforce::person::Role::Owner]).await;
    chooses(&max, "📋 Today").await;
    assert!(!max.transcript().contains("has not come: 01.01 10:00"), "she said only now that she would");
    passes(&yard, 7 * 60).await;
    opens(&anna, "Shop").await;
    passes(&yard, 36).await;
    closes(&anna).await;
    // Seven minutes after she took the place, of which five are free.
    assert_eq!(yard.amounts().await, [("shift_base".to_owned(), 360), ("late_start".to_owned(), -2_000)]);
}

async fn who_fills_in_is_missed_an_hour_later_and_not_at_once(kind: Kind) {
    let (yard, site) = begun(kind).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    let missed = async || {
        jobs::note_missed(yard.firm.app.clone()).await.unwrap();
        let told = notices::untold(&yard.firm.app.domain).await.unwrap();
        told.into_iter().filter(|(_, _, notice)| matches!(notice, Notice::YouMissed { .. })).count()
    };
    assert_eq!(missed().await, 0);
    passes(&yard, 59 * 60).await;
    assert_eq!(missed().await, 0);
    passes(&yard, 60).await;
    assert_eq!(missed().await, 1);
}
