//! Plans that a block gave back, when the person is unblocked.

use std::time::Duration;

use workforce::audit;
use workforce::people::blocking;
use workforce::person::Status;
use workforce::rooms::GivenBack;
use workforce::sites::AboutSlot;
use workforce::texts::Language;

use crate::kit::firm::{StorageKind, on_databases};
use crate::kit::queries::QueryCounter;
use crate::shifts::{Workplace, person, plans};

on_databases! { [sqlite Sqlite, postgres Postgres]
    an_unblock_restores_several_plans_at_their_hours,
}

async fn an_unblock_restores_several_plans_at_their_hours(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 10_000).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    let mut slots = Vec::new();
    for after in [60, 300] {
        slots.push(workplace.slot(site, after, 120, |_| {}).await);
        plans(&anna).await;
    }
    let id = person(&workplace.firm, &anna).await.id;
    block(&workplace, id).await;
    move_slot(&workplace, slots[1], 2).await;
    assert_eq!(unblock(&workplace, id).await, 2);
    let restored = workplace.rows("SELECT status, starts_at, version FROM shift_plans ORDER BY starts_at").await;
    let hours = workplace.rows("SELECT taken, starts_at FROM time_slots ORDER BY starts_at").await;
    assert_eq!(restored.iter().map(|row| &row[0]).collect::<Vec<_>>(), ["planned", "planned"]);
    assert_eq!(
        restored.iter().map(|row| &row[1]).collect::<Vec<_>>(),
        hours.iter().map(|row| &row[1]).collect::<Vec<_>>()
    );
    assert!(hours.iter().all(|row| row[0] == "1"), "{hours:?}");
    let plan: i64 = workplace.rows("SELECT id FROM shift_plans ORDER BY starts_at").await[0][0].parse().unwrap();
    let lines = audit::about(&workplace.firm.app.domain, ("plan", plan)).await.unwrap();
    assert_eq!(lines.last().unwrap().actor, Some(workplace.owner.id));
}

#[tokio::test]
async fn a_plan_at_a_deleted_site_is_not_restored() {
    let (workplace, id, site, _) = blocked_with_a_plan().await;
    let version = workplace.sites.site(site).await.unwrap().unwrap().version;
    workplace.sites.delete(&workplace.owner, site, version).await.unwrap();
    assert!(offered(&workplace, id).await[0].obstacle.is_some());
    assert_eq!(unblock(&workplace, id).await, 0);
    assert_eq!(workplace.rows("SELECT status FROM shift_plans").await, [["cancelled"]]);
}

#[tokio::test]
async fn a_slot_that_moved_past_its_plan_is_offered() {
    let (workplace, id, _, slot) = blocked_with_a_plan().await;
    move_slot(&workplace, slot, 3).await;
    workplace.firm.stage.clock().advance(Duration::from_secs(24 * 3600));
    let offered = offered(&workplace, id).await;
    assert_eq!(offered.iter().map(|one| one.obstacle.as_deref()).collect::<Vec<_>>(), [None]);
    assert_eq!(unblock(&workplace, id).await, 1);
}

#[tokio::test]
async fn an_unblock_restores_no_plan_of_an_earlier_block() {
    let (workplace, id, ..) = blocked_with_a_plan().await;
    set_blocked(&workplace, id, false, false).await;
    block(&workplace, id).await;
    assert!(offered(&workplace, id).await.is_empty());
    assert_eq!(unblock(&workplace, id).await, 0);
    assert_eq!(workplace.rows("SELECT status FROM shift_plans").await, [["cancelled"]]);
}

#[tokio::test]
async fn the_offer_takes_the_same_queries_for_many_plans() {
    let queries = QueryCounter::install();
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    let id = person(&workplace.firm, &anna).await.id;
    let mut counts = Vec::new();
    for plans_made in [1, 4] {
        for number in 0..plans_made {
            workplace.slot(site, 60 * (plans_made + number), 50, |_| {}).await;
            plans(&anna).await;
        }
        block(&workplace, id).await;
        counts.push(queries.count(async || offered(&workplace, id).await).await);
        assert_eq!(offered(&workplace, id).await.len() as i64, plans_made);
        set_blocked(&workplace, id, false, false).await;
        let sql = "UPDATE time_slots SET deleted_at = 1";
        crate::kit::sql::run_sql(&workplace.firm.app.domain, sql.to_owned()).await;
    }
    assert_eq!(counts[0], counts[1]);
}

/// A firm with a person who has a plan and was blocked. Returns the person, the site and the slot.
async fn blocked_with_a_plan() -> (Workplace, i64, i64, i64) {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let slot = workplace.slot(site, 60, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    let id = person(&workplace.firm, &anna).await.id;
    block(&workplace, id).await;
    (workplace, id, site, slot)
}

async fn block(workplace: &Workplace, id: i64) {
    set_blocked(workplace, id, true, false).await;
}

/// Unblocks a person and restores what can be restored.
async fn unblock(workplace: &Workplace, id: i64) -> u64 {
    set_blocked(workplace, id, false, true).await
}

async fn set_blocked(workplace: &Workplace, id: i64, is_blocked: bool, restores: bool) -> u64 {
    let app = &workplace.firm.app;
    let person = app.people.by_id(id).await.unwrap().unwrap();
    assert_eq!(person.status == Status::Blocked, !is_blocked);
    let (by, at) = (Some(workplace.owner.id), app.clock.now());
    let changed = app.domain.write_and_get(move |db| {
        Box::pin(async move {
            if is_blocked {
                blocking::block(db, id, by, at).await
            } else {
                blocking::unblock(db, &person, restores, by, at).await
            }
        })
    });
    changed.await.unwrap()
}

async fn offered(workplace: &Workplace, id: i64) -> Vec<GivenBack> {
    blocking::given_back(&workplace.firm.app, id, Language::En).await.unwrap()
}

/// Moves a slot by some days.
async fn move_slot(workplace: &Workplace, slot: i64, days: u64) {
    let slot = workplace.sites.slot(slot).await.unwrap().unwrap();
    let about = AboutSlot { day: slot.about.day + chrono::Days::new(days), ..slot.about };
    workplace.sites.edit_slot(&workplace.owner, slot.id, slot.version, about).await.unwrap();
}
