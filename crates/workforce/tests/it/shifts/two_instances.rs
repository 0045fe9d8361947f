//! Two processes on one PostgreSQL, each with a writer of its own: what one has not committed yet the other waits for, and
//! then sees.

use futures_util::future::BoxFuture;
use opora::store::WriteError;
use sea_orm::ConnectionTrait;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use workforce::domain::{Domain, NotWritten, Writing};
use workforce::money::Money;
use workforce::notices::{self, Notice};
use workforce::shifts::{self, ClosedBy, End, MediumKind, Proof, Start};
use workforce::sites::{self, AboutSlot, By, Hours, Why};

use super::{Yard, opens, person};
use crate::kit::demo::until;
use crate::kit::firm::{Kind, NOON};

/// A commit that is as good as done, and waits.
pub struct Held {
    commit: JoinHandle<Result<(), NotWritten>>,
    go_on: oneshot::Sender<()>,
}

impl Held {
    /// Commits.
    pub async fn goes_on(self) {
        self.go_on.send(()).unwrap();
        self.commit.await.unwrap().unwrap();
    }
}

/// Whoever waits for another one's commit among those who are at the tables of this test.
pub const WAITING: &str = "SELECT COUNT(*) FROM pg_locks AS waits WHERE NOT waits.granted AND waits.pid IN \
    (SELECT here.pid FROM pg_locks AS here JOIN pg_class ON here.relation = pg_class.oid \
     WHERE here.granted AND pg_class.relnamespace = CAST(current_schema() AS regnamespace))";

pub async fn hold<F>(domain: &Domain, deed: F) -> Held
where
    F: for<'w> FnOnce(&'w Writing<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
{
    let ((done, is_done), (go_on, goes_on)) = (oneshot::channel(), oneshot::channel());
    let domain = domain.clone();
    let commit = tokio::spawn(async move {
        let write = domain.write(move |db| {
            Box::pin(async move {
                deed(db).await?;
                done.send(()).unwrap();
                goes_on.await.unwrap();
                Ok(())
            })
        });
        write.await
    });
    is_done.await.unwrap();
    Held { commit, go_on }
}

/// The other instance does something; the first commits once the second waits for it, or is over without having waited.
async fn meets<F>(yard: &Yard, held: Held, other: &Domain, deed: F) -> Result<(), NotWritten>
where
    F: for<'w> FnOnce(&'w Writing<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
{
    let other = other.clone();
    let second = tokio::spawn(async move { other.write(deed).await });
    until("the second waits or is over", async || {
        (second.is_finished() || yard.rows(WAITING).await[0][0] != "0").then_some(())
    })
    .await;
    held.goes_on().await;
    second.await.unwrap()
}

/// A slot with one who may plan for it: both numbers, and the other instance.
async fn a_slot() -> (Yard, i64, i64, Domain) {
    let yard = Yard::open(Kind::Postgres).await;
    let site = yard.site("Shop", 10_000).await;
    let slot = yard.slot(site, 60, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    let user = person(&yard.firm, &anna).await.id;
    let other = Domain::beside(&yard.firm._ground.database).await.unwrap();
    (yard, slot, user, other)
}

async fn plan(db: &Writing<'_, '_>, user: i64, slot: i64) -> Result<(), WriteError> {
    shifts::plan(db, user, slot, NOON).await.map(drop)
}

#[tokio::test]
async fn who_plans_while_the_slot_is_moved_has_its_new_hours() {
    let (yard, slot, user, other) = a_slot().await;
    let seen = yard.sites.slot(slot).await.unwrap().unwrap();
    let later = AboutSlot { hours: Hours::new(18 * 60, 20 * 60), ..seen.about };
    let by = By { person: Some(yard.owner.id), at: NOON };
    let moved = hold(&yard.firm.app.domain, move |db| Box::pin(sites::edit_slot(db, slot, seen.version, later, by)));
    let moved = moved.await;
    meets(&yard, moved, &other, move |db| Box::pin(plan(db, user, slot))).await.unwrap();
    let hours = async |table: &str| yard.rows(&format!("SELECT starts_at, ends_at FROM {table}")).await;
    assert_eq!(hours("shift_plans").await, hours("time_slots").await);
    other.close().await.unwrap();
}

#[tokio::test]
async fn a_place_that_is_taken_while_its_slot_is_deleted_goes_with_it() {
    let (yard, slot, user, other) = a_slot().await;
    let planned = hold(&other, move |db| Box::pin(plan(db, user, slot))).await;
    let by = By { person: Some(yard.owner.id), at: NOON };
    let domain = yard.firm.app.domain.clone();
    meets(&yard, planned, &domain, move |db| Box::pin(sites::delete_slot(db, slot, 1, by))).await.unwrap();
    assert_eq!(yard.rows("SELECT status FROM shift_plans").await, [["cancelled"]]);
    assert_eq!(yard.rows("SELECT taken FROM time_slots WHERE deleted_at IS NOT NULL").await, [["0"]]);
    let told = notices::untold(&domain).await.unwrap();
    assert!(matches!(&told[..], [(_, who, Notice::PlanCancelled { .. })] if *who == user), "{told:?}");
    other.close().await.unwrap();
}

#[tokio::test]
async fn a_site_is_not_deleted_under_whoever_plans_there_and_nobody_plans_at_one_that_goes() {
    let refused = |done: Result<(), NotWritten>, why: Why| match done {
        Err(NotWritten::Refused(told)) => assert_eq!(told, why.key()),
        done => panic!("{done:?}"),
    };
    let (yard, slot, user, other) = a_slot().await;
    let (site, domain) = (yard.sites.slot(slot).await.unwrap().unwrap().site_id, yard.firm.app.domain.clone());
    let by = By { person: Some(yard.owner.id), at: NOON };
    let planned = hold(&other, move |db| Box::pin(plan(db, user, slot))).await;
    let gone = meets(&yard, planned, &domain, move |db| Box::pin(sites::delete_site(db, site, 1, by))).await;
    refused(gone, Why::InUse);

    domain
        .write(|db| {
            Box::pin(
                async move { db.execute_unprepared("DELETE FROM shift_plans").await.map(drop).map_err(Into::into) },
            )
        })
        .await
        .unwrap();
    let deleted = hold(&domain, move |db| Box::pin(sites::delete_site(db, site, 1, by))).await;
    let late = meets(&yard, deleted, &other, move |db| Box::pin(plan(db, user, slot))).await;
    refused(late, Why::Gone);
    assert!(yard.rows("SELECT id FROM shift_plans").await.is_empty());
    other.close().await.unwrap();
}

/// Opens a shift without a plan.
async fn open(db: &Writing<'_, '_>, user_id: i64, site_id: i64) -> Result<(), WriteError> {
    shifts::open(db, Start { user_id, site_id, plan_id: None, position: None, started_at: NOON, at: NOON })
        .await
        .map(drop)
}

#[tokio::test]
async fn a_site_stays_open_for_whoever_begins_while_the_last_one_closes() {
    let (yard, [_, shift, _], other) = a_shift().await;
    let site = yard.rows("SELECT site_id FROM shifts").await[0][0].parse().unwrap();
    let boris = yard.worker("Boris", &[site], |contract| contract.allows_spontaneous = true).await;
    let boris = person(&yard.firm, &boris).await.id;
    let domain = yard.firm.app.domain.clone();
    let opened = hold(&other, move |db| Box::pin(open(db, boris, site))).await;
    meets(&yard, opened, &domain, move |db| Box::pin(shifts::close(db, end(shift)))).await.unwrap();
    let is_open = "SELECT site_id FROM site_openings WHERE closed_at IS NULL";
    assert_eq!(yard.rows(is_open).await, [[site.to_string()]]);
    assert_eq!(yard.rows("SELECT user_id FROM shifts WHERE status = 'active'").await, [[boris.to_string()]]);
    // Nor is it closed by hand under somebody who has only just begun.
    let boris = yard.rows("SELECT id FROM shifts WHERE status = 'active'").await[0][0].parse().unwrap();
    domain.write(move |db| Box::pin(shifts::close(db, end(boris)))).await.unwrap();
    assert!(yard.rows(is_open).await.is_empty(), "the last one has gone");
    let owner = yard.owner.id;
    domain.write(move |db| Box::pin(shifts::open_site(db, site, owner, NOON))).await.unwrap();
    let anna = yard.rows("SELECT user_id FROM shifts ORDER BY id").await[0][0].parse().unwrap();
    let opened = hold(&other, move |db| Box::pin(open(db, anna, site))).await;
    match meets(&yard, opened, &domain, move |db| Box::pin(shifts::close_site(db, site, owner, NOON))).await {
        Err(NotWritten::Refused(why)) => assert_eq!(why, Why::OthersWork.key()),
        done => panic!("{done:?}"),
    }
    other.close().await.unwrap();
}

#[tokio::test]
async fn of_two_who_close_at_once_the_last_one_closes_the_site() {
    let (yard, [_, shift, _], other) = a_shift().await;
    let site = yard.rows("SELECT site_id FROM shifts").await[0][0].parse().unwrap();
    let boris = yard.worker("Boris", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&boris, "Shop").await;
    let second = yard.rows("SELECT id FROM shifts ORDER BY id").await[1][0].parse().unwrap();
    let closed = hold(&other, move |db| Box::pin(shifts::close(db, end(shift)))).await;
    let domain = yard.firm.app.domain.clone();
    meets(&yard, closed, &domain, move |db| Box::pin(shifts::close(db, end(second)))).await.unwrap();
    assert!(yard.rows("SELECT id FROM site_openings WHERE closed_at IS NULL").await.is_empty());
    other.close().await.unwrap();
}

/// An open shift with one task that brings fifty: the numbers of person, shift and task, and the other instance.
async fn a_shift() -> (Yard, [i64; 3], Domain) {
    let yard = Yard::open(Kind::Postgres).await;
    let site = yard.site("Shop", 10_000).await;
    yard.task(site, None, "Sweep", 5_000).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    let row = yard.rows("SELECT shift_id, id FROM shift_tasks").await.remove(0);
    let numbers = [person(&yard.firm, &anna).await.id, row[0].parse().unwrap(), row[1].parse().unwrap()];
    let other = Domain::beside(&yard.firm._ground.database).await.unwrap();
    (yard, numbers, other)
}

fn end(shift_id: i64) -> End {
    let (position, mandatory_task_penalty) = (None, Money::from_roubles(50));
    End {
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
async fn what_is_marked_while_staff_closes_the_shift_is_paid() {
    let (yard, [user, shift, task], other) = a_shift().await;
    let marked = hold(&yard.firm.app.domain, move |db| Box::pin(shifts::mark(db, user, task, NOON))).await;
    meets(&yard, marked, &other, move |db| Box::pin(shifts::close(db, end(shift)))).await.unwrap();
    assert!(yard.amounts().await.contains(&("task_bonus".to_owned(), 5_000)), "{:?}", yard.amounts().await);
    other.close().await.unwrap();
}

#[tokio::test]
async fn what_comes_after_staff_has_closed_the_shift_is_refused_also_by_the_other_instance() {
    let (yard, [user, shift, task], other) = a_shift().await;
    let is_late = |done: Result<(), NotWritten>| match done {
        Err(NotWritten::Refused(why)) => assert_eq!(why, Why::NotWorking.key()),
        done => panic!("{done:?}"),
    };
    let closed = hold(&other, move |db| Box::pin(shifts::close(db, end(shift)))).await;
    let proof = Proof { kind: MediumKind::Photo, telegram_file: "photo".into(), unique_id: "u".into() };
    let domain = yard.firm.app.domain.clone();
    is_late(
        meets(&yard, closed, &domain, move |db| Box::pin(shifts::attach(db, user, task, (proof, false), NOON))).await,
    );
    is_late(domain.write(move |db| Box::pin(shifts::mark(db, user, task, NOON))).await);
    assert_eq!(yard.rows("SELECT done_at, media_count FROM shift_tasks").await, [["-", "0"]]);
    other.close().await.unwrap();
}
