//! People are notified of what staff change in their plans and shifts, not of their own changes.

use std::time::Duration;

use workforce::money::Money;
use workforce::notices::{self, Notice};
use workforce::shifts::Shifts;
use workforce::texts::Language;

use super::{Workplace, first_day, first_day_at, opens, person};
use crate::kit::firm::{NOON, StorageKind, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    people_are_told_of_plans_that_staff_change,
    people_are_told_of_shifts_that_staff_close,
}

async fn unsent_notices(workplace: &Workplace) -> Vec<(i64, Notice)> {
    let untold = notices::unsent(&workplace.firm.app.domain).await.unwrap();
    untold.into_iter().map(|(_, user, notice)| (user, notice)).collect()
}

async fn people_are_told_of_plans_that_staff_change(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 10_000).await;
    let (own, theirs) = (workplace.slot(site, 60, 120, |_| {}).await, workplace.slot(site, 300, 120, |_| {}).await);
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    let (anna, room) = (person(&workplace.firm, &anna).await, Shifts::of_app(&workplace.firm.app));
    room.plan(&anna, anna.id, own).await.unwrap();
    assert_eq!(unsent_notices(&workplace).await, []);
    let plan = room.plan(&workplace.owner, anna.id, theirs).await.unwrap();
    let (site, when) = ("Shop".to_owned(), first_day("20:00", "22:00"));
    let made = (anna.id, Notice::PlanMade { site: site.clone(), when });
    assert_eq!(unsent_notices(&workplace).await, std::slice::from_ref(&made));
    room.cancel(&workplace.owner, plan).await.unwrap();
    assert_eq!(unsent_notices(&workplace).await, [made.clone(), (anna.id, Notice::PlanCancelled { site, when })]);
    assert_eq!(made.1.text(Language::En), "You've been signed up for a shift at Shop: Jan 1, 20:00–22:00.");
    assert!(made.1.text(Language::Ru).contains("01.01, 20:00–22:00"), "in the reader's language");
    assert_eq!(room.plans_of(anna.id, NOON).await.unwrap().len(), 1);
}

async fn people_are_told_of_shifts_that_staff_close(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.task(site, None, "Sweep", -500).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    workplace.firm.stage.advance(Duration::from_secs(3600)).await;
    let (anna, room) = (person(&workplace.firm, &anna).await, Shifts::of_app(&workplace.firm.app));
    let shift = room.active_of(anna.id).await.unwrap().unwrap();
    room.close(&workplace.owner, shift.id).await.unwrap();
    let closed =
        Notice::ClosedByStaff { site: "Shop".into(), end: first_day_at("16:00"), total: Money::from_roubles(95) };
    assert_eq!(unsent_notices(&workplace).await, [(anna.id, closed)]);
}
