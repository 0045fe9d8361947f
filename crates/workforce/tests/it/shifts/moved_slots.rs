//! Slots that are changed while a person works in them, or after one has.

use std::time::Duration;

use chrono::Days;
use opora::testing::chat::ChatUser;
use workforce::notices::{self, Notice};
use workforce::person::Person;
use workforce::shifts::{ShiftStart, Shifts, jobs};
use workforce::sites::{AboutSlot, ActionError, Hours, SiteRefusal, Sites};

use super::{Workplace, about_contract, closes, first_day, opens, person, plans};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{NOON, StorageKind, on_databases};
use crate::overview::business_pages::make_site;

on_databases! { [sqlite Sqlite, postgres Postgres]
    a_used_slot_keeps_its_day_and_start,
    a_longer_slot_extends_the_paid_time,
    worked_hours_stay_paid_when_the_slot_is_shortened,
}

/// Anna works in a slot with two places, from three to five in the afternoon, in Moscow.
async fn anna_at_work(kind: StorageKind) -> (Workplace, i64, ChatUser) {
    let workplace = Workplace::open(kind).await;
    let (shop, bar) = (workplace.site("Shop", 10_000).await, workplace.site("Bar", 10_000).await);
    let slot = workplace.slot(shop, 0, 120, |slot| slot.capacity = 2).await;
    let anna = workplace.worker("Anna", &[shop, bar], |_| {}).await;
    plans(&anna).await;
    opens(&anna, "Shop").await;
    (workplace, slot, anna)
}

async fn edit_slot(workplace: &Workplace, slot: i64, change: impl FnOnce(&mut AboutSlot)) -> Result<(), ActionError> {
    let mut seen = workplace.sites.slot(slot).await.unwrap().unwrap();
    change(&mut seen.about);
    workplace.sites.edit_slot(&workplace.owner, slot, seen.version, seen.about).await
}

async fn a_used_slot_keeps_its_day_and_start(kind: StorageKind) {
    let (workplace, slot, anna) = anna_at_work(kind).await;
    for status in ["in_progress", "completed"] {
        assert_eq!(workplace.rows("SELECT status FROM shift_plans").await, [[status]]);
        let moved = edit_slot(&workplace, slot, |about| about.hours = Hours::new(16 * 60, 17 * 60)).await;
        assert!(matches!(moved, Err(ActionError::Refused(SiteRefusal::Worked))), "{moved:?}");
        let moved = edit_slot(&workplace, slot, |about| about.day = about.day + Days::new(1)).await;
        assert!(matches!(moved, Err(ActionError::Refused(SiteRefusal::Worked))), "{moved:?}");
        edit_slot(&workplace, slot, |about| about.title = status.into()).await.unwrap();
        if status == "in_progress" {
            closes(&anna).await;
        }
    }
    let here = workplace.sites.slot(slot).await.unwrap().unwrap();
    assert_eq!((here.period.from, here.taken), (NOON, 1));
    let found = Shifts::of_app(&workplace.firm.app).plans_for(&[here]).await.unwrap();
    assert_eq!(found.len(), 1, "the plan is found by the slot's hours");
}

async fn a_longer_slot_extends_the_paid_time(kind: StorageKind) {
    let (workplace, slot, anna) = anna_at_work(kind).await;
    let until = |hour: i64| move |about: &mut AboutSlot| about.hours = Hours::new(15 * 60, hour * 60);
    // Anna has another plan from seven to eight.
    let user = person(&workplace.firm, &anna).await.id;
    let bar =
        workplace.sites.sites_of_worker(user).await.unwrap().into_iter().find(|site| site.about.name == "Bar").unwrap();
    let evening = workplace.slot(bar.id, 240, 60, |_| {}).await;
    Shifts::of_app(&workplace.firm.app).plan(&workplace.owner, user, evening).await.unwrap();
    let met = edit_slot(&workplace, slot, until(20)).await;
    assert!(matches!(met, Err(ActionError::Refused(SiteRefusal::Overlap))), "{met:?}");

    edit_slot(&workplace, slot, until(19)).await.unwrap();
    let told: Vec<_> =
        notices::unsent(&workplace.firm.app.domain).await.unwrap().into_iter().map(|row| row.2).collect();
    let (before, after) = (first_day("15:00", "17:00"), first_day("15:00", "19:00"));
    assert_eq!(told.last(), Some(&Notice::PlanMoved { site: "Shop".into(), before, after }));
    workplace.firm.stage.advance(Duration::from_secs(3 * 3600)).await;
    jobs::close_overdue(workplace.firm.app.clone()).await.unwrap();
    assert!(workplace.adjustments().await.is_empty(), "an hour after the old end the shift is still open");
    workplace.firm.stage.advance(Duration::from_secs(2 * 3600)).await;
    jobs::close_overdue(workplace.firm.app.clone()).await.unwrap();
    assert_eq!(workplace.adjustments().await, [("shift_base".to_owned(), 40_000)]);
}

async fn worked_hours_stay_paid_when_the_slot_is_shortened(kind: StorageKind) {
    let (workplace, slot, _anna) = anna_at_work(kind).await;
    let until = |minute: i64| move |about: &mut AboutSlot| about.hours = Hours::new(15 * 60, 15 * 60 + minute);
    let ends = async || {
        let rows = workplace.rows("SELECT planned_end FROM shifts").await;
        (rows[0][0].parse::<i64>().unwrap() - NOON.0) / 60_000
    };
    workplace.minutes_pass(60).await;
    edit_slot(&workplace, slot, until(30)).await.unwrap();
    assert_eq!(ends().await, 60, "she has worked until now");
    // The future part may become longer or shorter.
    for minute in [240, 90] {
        edit_slot(&workplace, slot, until(minute)).await.unwrap();
        assert_eq!(ends().await, minute);
    }
    edit_slot(&workplace, slot, until(30)).await.unwrap();
    workplace.minutes_pass(15).await;
    edit_slot(&workplace, slot, until(45)).await.unwrap();
    assert_eq!(ends().await, 60, "a further change keeps the worked time");
    workplace.minutes_pass(45).await;
    jobs::close_overdue(workplace.firm.app.clone()).await.unwrap();
    assert_eq!(workplace.adjustments().await, [("shift_base".to_owned(), 10_000)]);
}

/// Gives Boris a contract for a site.
pub async fn hire_boris(cabinet: &Cabinet, site: i64) -> Person {
    let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let about = about_contract(&[site], true);
    Sites::of_app(&cabinet.app).create_contract(&anna, boris.id, about).await.unwrap();
    boris
}

#[tokio::test]
async fn moving_a_used_slot_explains_the_refusal() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let (anna, site) = (cabinet.person(ANNA).await, make_site(&cabinet, &owner).await);
    let boris = hire_boris(&cabinet, site).await;
    let about = AboutSlot::usual("2026-01-01".parse().unwrap(), Hours::new(15 * 60, 17 * 60));
    let slot = Sites::of_app(&cabinet.app).create_slot(&anna, site, about).await.unwrap();
    let plan_id = Some(Shifts::of_app(&cabinet.app).plan(&boris, boris.id, slot).await.unwrap());
    let start = ShiftStart { user_id: boris.id, site_id: site, plan_id, position: None, started_at: NOON, at: NOON };
    cabinet.app.domain.write_and_get(move |db| Box::pin(workforce::shifts::open(db, start))).await.unwrap();
    let (path, words) = (format!("/calendar/slots/{slot}"), "Someone works or has worked this shift");
    owner.post(&format!("{path}/move"), &[("day", "2026-01-02"), ("version", "1")]).await.is(409, words);
    let typed = [("day", "2026-01-01"), ("starts", "16:00"), ("ends", "17:00"), ("capacity", "1"), ("version", "1")];
    owner.post(&path, &typed).await.is(409, words).is(409, "value=\"16:00\"");
    let typed = [("day", "2026-01-01"), ("starts", "15:00"), ("ends", "18:00"), ("capacity", "1"), ("version", "1")];
    owner.post(&path, &typed).await.redirects_to(&path);
    cabinet.close().await;
}

#[tokio::test]
async fn moving_a_slot_onto_another_plan_is_refused() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
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
    let words = "This employee already has another shift at that time.";
    let longer = [("day", "2026-01-02"), ("starts", "15:00"), ("ends", "19:00"), ("capacity", "1"), ("version", "1")];
    owner.post(&first, &longer).await.is(409, words);
    owner.post(&format!("{next_day}/move"), &[("day", "2026-01-02"), ("version", "1")]).await.is(409, words);
    cabinet.close().await;
}
