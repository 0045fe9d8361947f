//! A person who takes a place in a running slot is expected from then on, not from its start.

use workforce::notices::{self, Notice};
use workforce::shifts::jobs;
use workforce::sites::AboutSite;

use super::{Workplace, about_site, chooses_from_menu, closes, opens, plans};
use crate::kit::firm::{StorageKind, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    lateness_counts_from_taking_the_place,
    a_late_signup_is_missed_an_hour_later,
}

/// A slot that began five hours ago and lasts four more.
async fn running_slot(kind: StorageKind) -> (Workplace, i64) {
    let workplace = Workplace::open(kind).await;
    let rate_kopecks = 36_000;
    let about = AboutSite { rate_kopecks, late_threshold_minutes: 5, late_minute_kopecks: 1_000, ..about_site("Shop") };
    let site = workplace.site_with(about).await;
    workplace.slot(site, -300, 540, |_| {}).await;
    (workplace, site)
}

async fn lateness_counts_from_taking_the_place(kind: StorageKind) {
    let (workplace, site) = running_slot(kind).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    let max = workplace.firm.member("Max", &[workforce::person::Role::Owner]).await;
    chooses_from_menu(&max, "📋 Today").await;
    assert!(!max.transcript().contains("no-show: Jan 1, 10:00"), "she has planned it only now");
    // Nor while she is on her way.
    workplace.seconds_pass(14 * 60).await;
    chooses_from_menu(&max, "📋 Today").await;
    max.sees("• Anna expected: Jan 1, 10:00");
    workplace.seconds_pass(2 * 60).await;
    chooses_from_menu(&max, "📋 Today").await;
    max.sees("• Anna no-show: Jan 1, 10:00");
    opens(&anna, "Shop").await;
    workplace.seconds_pass(36).await;
    closes(&anna).await;
    // Sixteen minutes after she took the place, five of which are free.
    assert_eq!(workplace.adjustments().await, [("shift_base".to_owned(), 360), ("late_start".to_owned(), -11_000)]);
}

async fn a_late_signup_is_missed_an_hour_later(kind: StorageKind) {
    let (workplace, site) = running_slot(kind).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    let missed = async || {
        jobs::note_missed(workplace.firm.app.clone()).await.unwrap();
        let unsent = notices::unsent(&workplace.firm.app.domain).await.unwrap();
        unsent.into_iter().filter(|(_, _, notice)| matches!(notice, Notice::YouMissed { .. })).count()
    };
    assert_eq!(missed().await, 0);
    workplace.seconds_pass(59 * 60).await;
    assert_eq!(missed().await, 0);
    workplace.seconds_pass(60).await;
    assert_eq!(missed().await, 1);
}
