//! Slots that are changed while somebody works in them, or when somebody has.

use std::time::Duration;

use chrono::Days;
use opora::testing::chat::Someone;
use workforce::notices::{self, Notice};
use workforce::person::Person;
use workforce::shifts::{Shifts, Start, jobs};
use workforce::sites::{AboutContract, AboutSlot, ContractStatus, Hours, NotDone, Sites, Why};

use super::{Yard, closes, opens, person, plans};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{Kind, NOON, on_databases};
use crate::overview::running_a_business::make_site;

on_databases! { [sqlite Sqlite, postgres Postgres]
    a_slot_in_which_somebody_works_or_has_worked_keeps_its_day_and_start,
    who_works_in_a_slot_that_ends_later_is_paid_up_to_that,
    hours_that_were_worked_stay_paid_when_the_end_of_a_slot_is_moved_before_them,
}

/// Anna works in the first of two places of a slot, from three to five in the afternoon of Moscow.
async fn working(kind: Kind) -> (Yard, i64, Someone) {
    let yard = Yard::open(kind).await;
    let (shop, bar) = (yard.site("Shop", 10_000).await, yard.site("Bar", 10_000).await);
    let slot = yard.slot(shop, 0, 120, |slot| slot.capacity = 2).await;
    let anna = yard.worker("Anna", &[shop, bar], |_| {}).await;
    plans(&anna).await;
    opens(&anna, "Shop").await;
    (yard, slot, anna)
}

async fn edits(yard: &Yard, slot: i64, change: impl FnOnce(&mut AboutSlot)) -> Result<(), NotDone> {
    let mut seen = yard.sites.slot(slot).await.unwrap().unwrap();
    change(&mut seen.about);
    yard.sites.edit_slot(&yard.owner, slot, seen.version, seen.about).await
}

async fn a_slot_in_which_somebody_works_or_has_worked_keeps_its_day_and_start(kind: Kind) {
    let (yard, slot, anna) = working(kind).await;
    for status in ["in_progress", "completed"] {
        assert_eq!(yard.rows("SELECT status FROM shift_plans").await, [[status]]);
        let moved = edits(&yard, slot, |about| about.hours = Hours::new(16 * 60, 17 * 60)).await;
        assert!(matches!(moved, Err(NotDone::Refused(Why::Worked))), "{moved:?}");
        let moved = edits(&yard, slot, |about| about.day = about.day + Days::new(1)).await;
        assert!(matches!(moved, Err(NotDone::Refused(Why::Worked))), "{moved:?}");
        edits(&yard, slot, |about| about.title = status.into()).await.unwrap();
        if status == "in_progress" {
            closes(&anna).await;
        }
    }
    let here = yard.sites.slot(slot).await.unwrap().unwrap();
    assert_eq!((here.period.from, here.taken), (NOON, 1));
    let found = Shifts::of_app(&yard.firm.app).plans_for(&[here]).await.unwrap();
    assert_eq!(found.len(), 1, "who has the place is found by the slot's hours");
}

async fn who_works_in_a_slot_that_ends_later_is_paid_up_to_that(kind: Kind) {
    let (yard, slot, anna) = working(kind).await;
    let until = |hour: i64| move |about: &mut AboutSlot| about.hours = Hours::new(15 * 60, hour * 60);
    // From seven to eight Anna works elsewhere: she cannot be in both places.
    let user = person(&yard.firm, &anna).await.id;
    let bar = yard.sites.of_worker(user).await.unwrap().into_iter().find(|site| site.about.name == "Bar").unwrap();
    let evening = yard.slot(bar.id, 240, 60, |_| {}).await;
    Shifts::of_app(&yard.firm.app).plan(&yard.owner, user, evening).await.unwrap();
    let met = edits(&yard, slot, until(20)).await;
    assert!(matches!(met, Err(NotDone::Refused(Why::Overlap))), "{met:?}");

    edits(&yard, slot, until(19)).await.unwrap();
    let told: Vec<_> = notices::untold(&yard.firm.app.domain).await.unwrap().into_iter().map(|row| row.2).collect();
    let (before, after) = ("01.01 15:00–17:00".to_owned(), "01.01 15:00–19:00".to_owned());
    assert_eq!(told.last(), Some(&Notice::PlanMoved { site: "Shop".into(), before, after }));
    yard.firm.stage.passes(Duration::from_secs(3 * 3600)).await;
    jobs::close_overdue(yard.firm.app.clone()).await.unwrap();
    assert!(yard.amounts().await.is_empty(), "an hour after the end of before she is still at work");
    yard.firm.stage.passes(Duration::from_secs(2 * 3600)).await;
    jobs::close_overdue(yard.firm.app.clone()).await.unwrap();
    assert_eq!(yard.amounts().await, [("shift_base".to_owned(), 40_000)]);
}

async fn hours_that_were_worked_stay_paid_when_the_end_of_a_slot_is_moved_before_them(kind: Kind) {
    let (yard, slot, _anna) = working(kind).await;
    let until = |minute: i64| move |about: &mut AboutSlot| about.hours = Hours::new(15 * 60, 15 * 60 + minute);
    let passes = async |minutes: u64| yard.firm.stage.passes(Duration::from_secs(60 * minutes)).await;
    let ends = async || {
        let rows = yard.rows("SELECT planned_end FROM shifts").await;
        (rows[0][0].parse::<i64>().unwrap() - NOON.0) / 60_000
    };
    passes(60).await;
    edits(&yard, slot, until(30)).await.unwrap();
    assert_eq!(ends().await, 60, "she has worked until now");
    // What is still to come may be changed, one way and the other.
    for minute in [240, 90] {
        edits(&yard, slot, until(minute)).await.unwrap();
        assert_eq!(ends().await, minute);
    }
    edits(&yard, slot, until(30)).await.unwrap();
    passes(15).await;
    edits(&yard, slot, until(45)).await.unwrap();
    assert_eq!(ends().await, 60, "nor does the next change take away what she was left");
    passes(45).await;
    jobs::close_overdue(yard.firm.app.clone()).await.unwrap();
    assert_eq!(yard.amounts().await, [("shift_base".to_owned(), 10_000)]);
}

/// Boris may work at a site of the cabinet's.
pub async fn hire_boris(cabinet: &Cabinet, site: i64) -> Person {
    let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let status = ContractStatus::Active;
    let about = AboutContract { status, rate_kopecks: None, allows_spontaneous: true, sites: vec![site] };
    Sites::of_app(&cabinet.app).create_contract(&anna, boris.id, about).await.unwrap();
    boris
}

#[tokio::test]
async fn whoever_drags_a_slot_in_which_somebody_works_reads_why_it_stays() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let (anna, site) = (cabinet.person(ANNA).await, make_site(&cabinet, &owner).await);
    let boris = hire_boris(&cabinet, site).await;
    let about = AboutSlot::usual("2026-01-01".parse().unwrap(), Hours::new(15 * 60, 17 * 60));
    let slot = Sites::of_app(&cabinet.app).create_slot(&anna, site, about).await.unwrap();
    let plan_id = Some(Shifts::of_app(&cabinet.app).plan(&boris, boris.id, slot).await.unwrap());
    let start = Start { user_id: boris.id, site_id: site, plan_id, position: None, started_at: NOON, at: NOON };
    cabinet.app.domain.write_and_get(move |db| Box::pin(workforce::shifts::open(db, start))).await.unwrap();
    let (path, words) = (format!("/calendar/slots/{slot}"), "Somebody works or has worked in this slot");
    owner.post(&format!("{path}/move"), &[("day", "2026-01-02"), ("version", "1")]).await.is(409, words);
    let typed = [("day", "2026-01-01"), ("starts", "16:00"), ("ends", "17:00"), ("capacity", "1"), ("version", "1")];
    owner.post(&path, &typed).await.is(409, words).is(409, "value=\"16:00\"");
    let typed = [("day", "2026-01-01"), ("starts", "15:00"), ("ends", "18:00"), ("capacity", "1"), ("version", "1")];
    owner.post(&path, &typed).await.leads_to(&path);
    cabinet.close().await;
}

#[tokio::test]
async fn whoever_moves_a_slot_to_where_its_people_have_another_reads_that_it_is_theirs() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let (anna, site) = (cabinet.person(ANNA).await, make_site(&cabinet, &owner).await);
    let boris = hire_boris(&cabinet, site).await;
    let planned = async |day: &str, from: i64, to: i64| {
        let about = AboutSlot::usual(day.parse().unwrap(), Hours::new(from * 60, to * 60));
        let slot = Sites::of_app(&cabinet.app).create_slot(&anna, site, about).await.unwrap();
        Shifts::of_app(&cabinet.app).plan(&boris, boris.id, slot).await.unwrap();
        format!("/calendar/slots/{slot}")
    };
    let first = planned("2026-01-02", 15, 17).await;
    planned("2026-01-02", 18, 20).await;
    let next_day = planned("2026-01-03", 16, 18).await;
    let words = "This person has another shift planned at that time.";
    let longer = [("day", "2026-01-02"), ("starts", "15:00"), ("ends", "19:00"), ("capacity", "1"), ("version", "1")];
    owner.post(&first, &longer).await.is(409, words);
    owner.post(&format!("{next_day}/move"), &[("day", "2026-01-02"), ("version", "1")]).await.is(409, words);
    cabinet.close().await;
}
