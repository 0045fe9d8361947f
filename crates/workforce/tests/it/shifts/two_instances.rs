//! Two instances on one PostgreSQL: a change waits for the uncommitted change of the other instance, and then sees it.

use futures_util::future::BoxFuture;
use opora::store::WriteError;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use workforce::domain::{Domain, NotWritten, Transaction};
use workforce::money::Money;
use workforce::notices::{self, Notice};
use workforce::shifts::{self, ClosedBy, MediumKind, Proof, ShiftEnd, ShiftStart};
use workforce::sites::{self, AboutSlot, ChangedBy, Hours, SiteRefusal};

use super::{Workplace, opens, person};
use crate::kit::demo::until;
use crate::kit::firm::{NOON, StorageKind};
use crate::kit::sql::run_sql;

/// A transaction that has done its work and waits before the commit.
pub struct HeldTransaction {
    commit: JoinHandle<Result<(), NotWritten>>,
    go_on: oneshot::Sender<()>,
}

impl HeldTransaction {
    /// Commits the transaction.
    pub async fn commit(self) {
        self.go_on.send(()).unwrap();
        self.commit.await.unwrap().unwrap();
    }
}

/// Counts the sessions that wait for a lock among those that use this test's database, as all databases of tests have
/// tables with the same ids.
pub const WAITING_SESSIONS: &str = "SELECT COUNT(*) FROM pg_locks AS waits WHERE NOT waits.granted AND waits.pid IN \
    (SELECT here.pid FROM pg_locks AS here JOIN pg_database ON here.database = pg_database.oid \
     JOIN pg_class ON here.relation = pg_class.oid WHERE here.granted AND pg_database.datname = current_database() \
     AND pg_class.relnamespace = CAST(current_schema() AS regnamespace))";

pub async fn hold<F>(domain: &Domain, write_rows: F) -> HeldTransaction
where
    F: for<'w> FnOnce(&'w Transaction<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
{
    let ((done, is_done), (go_on, goes_on)) = (oneshot::channel(), oneshot::channel());
    let domain = domain.clone();
    let commit = tokio::spawn(async move {
        let write = domain.write(move |db| {
            Box::pin(async move {
                write_rows(db).await?;
                done.send(()).unwrap();
                goes_on.await.unwrap();
                Ok(())
            })
        });
        write.await
    });
    is_done.await.unwrap();
    HeldTransaction { commit, go_on }
}

/// Runs a write on the other instance. The held transaction commits once the write waits for it, or has finished
/// without waiting.
async fn race<F>(workplace: &Workplace, held: HeldTransaction, other: &Domain, write_rows: F) -> Result<(), NotWritten>
where
    F: for<'w> FnOnce(&'w Transaction<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
{
    let other = other.clone();
    let second = tokio::spawn(async move { other.write(write_rows).await });
    until("the second write waits or has finished", async || {
        (second.is_finished() || workplace.rows(WAITING_SESSIONS).await[0][0] != "0").then_some(())
    })
    .await;
    held.commit().await;
    second.await.unwrap()
}

/// A slot and a person who may plan it: both ids, and the other instance.
async fn prepare_slot() -> (Workplace, i64, i64, Domain) {
    let workplace = Workplace::open(StorageKind::Postgres).await;
    let site = workplace.site("Shop", 10_000).await;
    let slot = workplace.slot(site, 60, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    let user = person(&workplace.firm, &anna).await.id;
    let other = Domain::open_for_command(&workplace.firm.storage.database).await.unwrap();
    (workplace, slot, user, other)
}

async fn plan(db: &Transaction<'_, '_>, user: i64, slot: i64) -> Result<(), WriteError> {
    shifts::plan(db, user, slot, NOON).await.map(drop)
}

#[tokio::test]
async fn a_plan_during_a_move_has_the_new_hours() {
    let (workplace, slot, user, other) = prepare_slot().await;
    let seen = workplace.sites.slot(slot).await.unwrap().unwrap();
    let later = AboutSlot { hours: Hours::new(18 * 60, 20 * 60), ..seen.about };
    let by = ChangedBy { person: Some(workplace.owner.id), at: NOON };
    let moved =
        hold(&workplace.firm.app.domain, move |db| Box::pin(sites::edit_slot(db, slot, seen.version, later, by)));
    let moved = moved.await;
    race(&workplace, moved, &other, move |db| Box::pin(plan(db, user, slot))).await.unwrap();
    let hours = async |table: &str| workplace.rows(&format!("SELECT starts_at, ends_at FROM {table}")).await;
    assert_eq!(hours("shift_plans").await, hours("time_slots").await);
    other.close().await.unwrap();
}

#[tokio::test]
async fn a_plan_during_a_deletion_is_cancelled() {
    let (workplace, slot, user, other) = prepare_slot().await;
    let planned = hold(&other, move |db| Box::pin(plan(db, user, slot))).await;
    let by = ChangedBy { person: Some(workplace.owner.id), at: NOON };
    let domain = workplace.firm.app.domain.clone();
    race(&workplace, planned, &domain, move |db| Box::pin(sites::delete_slot(db, slot, 1, by))).await.unwrap();
    assert_eq!(workplace.rows("SELECT status FROM shift_plans").await, [["cancelled"]]);
    assert_eq!(workplace.rows("SELECT taken FROM time_slots WHERE deleted_at IS NOT NULL").await, [["0"]]);
    let unsent = notices::unsent(&domain).await.unwrap();
    assert!(matches!(&unsent[..], [(_, who, Notice::PlanCancelled { .. })] if *who == user), "{unsent:?}");
    other.close().await.unwrap();
}

#[tokio::test]
async fn planning_and_deleting_a_site_exclude_each_other() {
    let refused = |done: Result<(), NotWritten>, why: SiteRefusal| match done {
        Err(NotWritten::Refused(told)) => assert_eq!(told, why.key()),
        done => panic!("{done:?}"),
    };
    let (workplace, slot, user, other) = prepare_slot().await;
    let (site, domain) =
        (workplace.sites.slot(slot).await.unwrap().unwrap().site_id, workplace.firm.app.domain.clone());
    let by = ChangedBy { person: Some(workplace.owner.id), at: NOON };
    let planned = hold(&other, move |db| Box::pin(plan(db, user, slot))).await;
    let gone = race(&workplace, planned, &domain, move |db| Box::pin(sites::delete_site(db, site, 1, by))).await;
    refused(gone, SiteRefusal::InUse);

    run_sql(&domain, "DELETE FROM shift_plans").await;
    let deleted = hold(&domain, move |db| Box::pin(sites::delete_site(db, site, 1, by))).await;
    let late = race(&workplace, deleted, &other, move |db| Box::pin(plan(db, user, slot))).await;
    refused(late, SiteRefusal::Gone);
    assert!(workplace.rows("SELECT id FROM shift_plans").await.is_empty());
    other.close().await.unwrap();
}

/// Opens a shift without a plan.
async fn open(db: &Transaction<'_, '_>, user_id: i64, site_id: i64) -> Result<(), WriteError> {
    shifts::open(db, ShiftStart { user_id, site_id, plan_id: None, position: None, started_at: NOON, at: NOON })
        .await
        .map(drop)
}

#[tokio::test]
async fn a_site_stays_open_for_a_shift_that_begins() {
    let (workplace, [_, shift, _], other) = prepare_shift().await;
    let site = workplace.rows("SELECT site_id FROM shifts").await[0][0].parse().unwrap();
    let boris = workplace.worker("Boris", &[site], |contract| contract.allows_spontaneous = true).await;
    let boris = person(&workplace.firm, &boris).await.id;
    let domain = workplace.firm.app.domain.clone();
    let opened = hold(&other, move |db| Box::pin(open(db, boris, site))).await;
    race(&workplace, opened, &domain, move |db| Box::pin(shifts::close(db, end(shift)))).await.unwrap();
    let is_open = "SELECT site_id FROM site_openings WHERE closed_at IS NULL";
    assert_eq!(workplace.rows(is_open).await, [[site.to_string()]]);
    assert_eq!(workplace.rows("SELECT user_id FROM shifts WHERE status = 'active'").await, [[boris.to_string()]]);
    // A site is not closed by hand while a person opens a shift there.
    let boris = workplace.rows("SELECT id FROM shifts WHERE status = 'active'").await[0][0].parse().unwrap();
    domain.write(move |db| Box::pin(shifts::close(db, end(boris)))).await.unwrap();
    assert!(workplace.rows(is_open).await.is_empty(), "the last shift has ended");
    let owner = workplace.owner.id;
    domain.write(move |db| Box::pin(shifts::open_site(db, site, owner, NOON))).await.unwrap();
    let anna = workplace.rows("SELECT user_id FROM shifts ORDER BY id").await[0][0].parse().unwrap();
    let opened = hold(&other, move |db| Box::pin(open(db, anna, site))).await;
    match race(&workplace, opened, &domain, move |db| Box::pin(shifts::close_site(db, site, owner, NOON))).await {
        Err(NotWritten::Refused(why)) => assert_eq!(why, SiteRefusal::OthersWork.key()),
        done => panic!("{done:?}"),
    }
    other.close().await.unwrap();
}

#[tokio::test]
async fn of_two_closings_the_last_closes_the_site() {
    let (workplace, [_, shift, _], other) = prepare_shift().await;
    let site = workplace.rows("SELECT site_id FROM shifts").await[0][0].parse().unwrap();
    let boris = workplace.worker("Boris", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&boris, "Shop").await;
    let second = workplace.rows("SELECT id FROM shifts ORDER BY id").await[1][0].parse().unwrap();
    let closed = hold(&other, move |db| Box::pin(shifts::close(db, end(shift)))).await;
    let domain = workplace.firm.app.domain.clone();
    race(&workplace, closed, &domain, move |db| Box::pin(shifts::close(db, end(second)))).await.unwrap();
    assert!(workplace.rows("SELECT id FROM site_openings WHERE closed_at IS NULL").await.is_empty());
    other.close().await.unwrap();
}

/// An open shift with a task worth fifty roubles: the ids of person, shift and task, and the other instance.
async fn prepare_shift() -> (Workplace, [i64; 3], Domain) {
    let workplace = Workplace::open(StorageKind::Postgres).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.task(site, None, "Sweep", 5_000).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    let row = workplace.rows("SELECT shift_id, id FROM shift_tasks").await.remove(0);
    let numbers = [person(&workplace.firm, &anna).await.id, row[0].parse().unwrap(), row[1].parse().unwrap()];
    let other = Domain::open_for_command(&workplace.firm.storage.database).await.unwrap();
    (workplace, numbers, other)
}

fn end(shift_id: i64) -> ShiftEnd {
    let (position, mandatory_task_penalty) = (None, Money::from_roubles(50));
    ShiftEnd {
        shift_id,
        version: None,
        position,
        closed_by: ClosedBy::Staff,
        ended_at: NOON,
        mandatory_task_penalty,
        at: NOON,
    }
}

#[tokio::test]
async fn a_mark_during_the_closing_is_paid() {
    let (workplace, [user, shift, task], other) = prepare_shift().await;
    let marked = hold(&workplace.firm.app.domain, move |db| Box::pin(shifts::mark(db, user, task, NOON))).await;
    race(&workplace, marked, &other, move |db| Box::pin(shifts::close(db, end(shift)))).await.unwrap();
    assert!(
        workplace.adjustments().await.contains(&("task_bonus".to_owned(), 5_000)),
        "{:?}",
        workplace.adjustments().await
    );
    other.close().await.unwrap();
}

#[tokio::test]
async fn changes_after_the_closing_are_refused() {
    let (workplace, [user, shift, task], other) = prepare_shift().await;
    let is_late = |done: Result<(), NotWritten>| match done {
        Err(NotWritten::Refused(why)) => assert_eq!(why, SiteRefusal::NotWorking.key()),
        done => panic!("{done:?}"),
    };
    let closed = hold(&other, move |db| Box::pin(shifts::close(db, end(shift)))).await;
    let proof = Proof { kind: MediumKind::Photo, telegram_file: "photo".into(), unique_id: "u".into() };
    let domain = workplace.firm.app.domain.clone();
    is_late(
        race(&workplace, closed, &domain, move |db| Box::pin(shifts::attach(db, user, task, (proof, false), NOON)))
            .await,
    );
    is_late(domain.write(move |db| Box::pin(shifts::mark(db, user, task, NOON))).await);
    assert_eq!(workplace.rows("SELECT done_at, media_count FROM shift_tasks").await, [["-", "0"]]);
    other.close().await.unwrap();
}
