//! What staff does to people's plans and shifts they are told of; what they do themselves they know.

use std::time::Duration;

use workforce::money::Money;
use workforce::notices::{self, Notice};
use workforce::shifts::Shifts;
use workforce::texts::Language;

use super::{Yard, opens, person};
use crate::kit::firm::{Kind, NOON, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    people_are_told_of_plans_that_staff_makes_and_cancels_for_them,
    people_are_told_of_shifts_that_staff_closes_for_them,
}

async fn told(yard: &Yard) -> Vec<(i64, Notice)> {
    let untold = notices::untold(&yard.firm.app.domain).await.unwrap();
    untold.into_iter().map(|(_, user, notice)| (user, notice)).collect()
}

async fn people_are_told_of_plans_that_staff_makes_and_cancels_for_them(kind: Kind) {
    let yard = Yard::open(kind).await;
    let site = yard.site("Shop", 10_000).await;
    let (own, theirs) = (yard.slot(site, 60, 120, |_| {}).await, yard.slot(site, 300, 120, |_| {}).await);
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    let (anna, doors) = (person(&yard.firm, &anna).await, Shifts::of_app(&yard.firm.app));
    doors.plan(&anna, anna.id, own).await.unwrap();
    assert_eq!(told(&yard).await, []);
    let plan = doors.plan(&yard.owner, anna.id, theirs).await.unwrap();
    let (site, when) = ("Shop".to_owned(), "01.01 20:00–22:00".to_owned());
    let made = (anna.id, Notice::PlanMade { site: site.clone(), when: when.clone() });
    assert_eq!(told(&yard).await, std::slice::from_ref(&made));
    doors.cancel(&yard.owner, plan).await.unwrap();
    assert_eq!(told(&yard).await, [made.clone(), (anna.id, Notice::PlanCancelled { site, when })]);
    assert_eq!(made.1.words(Language::En), "You have been put down for a shift at Shop: 01.01 20:00–22:00.");
    assert_eq!(doors.plans_of(anna.id, NOON).await.unwrap().len(), 1);
}

async fn people_are_told_of_shifts_that_staff_closes_for_them(kind: Kind) {
    let yard = Yard::open(kind).await;
    let site = yard.site("Shop", 10_000).await;
    yard.task(site, None, "Sweep", -500).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    yard.firm.stage.passes(Duration::from_secs(3600)).await;
    let (anna, doors) = (person(&yard.firm, &anna).await, Shifts::of_app(&yard.firm.app));
    let shift = doors.active_of(anna.id).await.unwrap().unwrap();
    doors.close(&yard.owner, shift.id).await.unwrap();
    let closed =
        Notice::ClosedByStaff { site: "Shop".into(), end: "01.01 16:00".into(), total: Money::from_roubles(95) };
    assert_eq!(told(&yard).await, [(anna.id, closed)]);
}
