//! Many at once: two hundred want ten places, two close one shift, two open one site.

use std::time::Duration;

use futures_util::future::join_all;
use opora::store::WriteError;
use sea_orm::ConnectionTrait;
use workforce::domain::{Domain, NotWritten, Writing};
use workforce::shifts::{self, Shifts};
use workforce::sites::{NotDone, Why};

use super::{Yard, closes, is_here, is_told, opens, person, plans};
use crate::kit::firm::{Kind, NOON};

#[tokio::test]
async fn of_two_hundred_who_want_ten_places_ten_get_one_on_sqlite() {
    two_hundred(Kind::Sqlite).await;
}

#[tokio::test]
async fn of_two_hundred_who_want_ten_places_ten_get_one_on_postgres() {
    two_hundred(Kind::Postgres).await;
}

async fn two_hundred(kind: Kind) {
    let yard = Yard::open(kind).await;
    let site = yard.site("Shop", 10_000).await;
    let slot = yard.slot(site, 60, 240, |slot| slot.capacity = 10).await;
    yard.firm.app.domain.write(move |db| Box::pin(hire_two_hundred(db, site))).await.unwrap();
    let users = yard.rows("SELECT id FROM users WHERE telegram_id >= 50000 ORDER BY id").await;
    // Two instances, each with a connection of its own.
    let other = Domain::beside(&yard.firm._ground.database).await.unwrap();
    let wants = users.iter().enumerate().map(|(at, row)| {
        let (user, domain) = (row[0].parse::<i64>().unwrap(), if at % 2 == 0 { &yard.firm.app.domain } else { &other });
        plan(domain, user, slot)
    });
    let got = join_all(wants).await;
    let full = |one: &Result<(), NotWritten>| matches!(one, Err(NotWritten::Refused(why)) if *why == Why::Full.key());
    assert_eq!(
        got.iter().filter(|one| one.is_ok()).count(),
        10,
        "{:?}",
        got.iter().find(|one| one.is_err() && !full(one))
    );
    assert_eq!(got.iter().filter(|one| full(one)).count(), 190);
    assert_eq!(yard.rows("SELECT id FROM shift_plans").await.len(), 10);
    assert_eq!(yard.rows("SELECT taken FROM time_slots").await, [["10"]]);
    other.close().await.unwrap();
}

#[tokio::test]
async fn who_takes_two_places_at_one_time_at_once_gets_one_on_sqlite() {
    two_places_at_one_time(Kind::Sqlite).await;
}

#[tokio::test]
async fn who_takes_two_places_at_one_time_at_once_gets_one_on_postgres() {
    two_places_at_one_time(Kind::Postgres).await;
}

async fn two_places_at_one_time(kind: Kind) {
    let yard = Yard::open(kind).await;
    let (one, other) = (yard.site("Shop", 10_000).await, yard.site("Bar", 10_000).await);
    let anna = yard.worker("Anna", &[one, other], |_| {}).await;
    let user = person(&yard.firm, &anna).await.id;
    let beside = Domain::beside(&yard.firm._ground.database).await.unwrap();
    for day in 1..=10 {
        // Half an hour of one is within the other.
        let slots =
            [yard.slot(one, day * 1440, 120, |_| {}).await, yard.slot(other, day * 1440 + 90, 120, |_| {}).await];
        let (here, there) = tokio::join!(plan(&yard.firm.app.domain, user, slots[0]), plan(&beside, user, slots[1]));
        let went = [here, there];
        let overlaps =
            |got: &Result<(), NotWritten>| matches!(got, Err(NotWritten::Refused(why)) if *why == Why::Overlap.key());
        assert!(went.iter().any(Result::is_ok) && went.iter().any(overlaps), "{went:?}");
        for (slot, got) in slots.iter().zip(&went) {
            let taken = yard.rows(&format!("SELECT taken FROM time_slots WHERE id = {slot}")).await;
            let planned = yard.rows(&format!("SELECT id FROM shift_plans WHERE slot_id = {slot}")).await;
            assert_eq!((taken[0][0].as_str(), planned.len()), if got.is_ok() { ("1", 1) } else { ("0", 0) });
        }
    }
    beside.close().await.unwrap();
}

async fn plan(domain: &Domain, user: i64, slot: i64) -> Result<(), NotWritten> {
    domain.write(move |db| Box::pin(async move { shifts::plan(db, user, slot, NOON).await.map(drop) })).await
}

pub async fn hire_two_hundred(db: &Writing<'_, '_>, site: i64) -> Result<(), WriteError> {
    for number in 50_000..50_200 {
        let user = format!(
            "INSERT INTO users (telegram_id, full_name, language, status, enrolled_by, created_at, updated_at) \
             VALUES ({number}, 'N', 'en', 'verified', 'grant', 0, 0)"
        );
        db.execute_unprepared(&user).await?;
    }
    db.execute_unprepared(
        "INSERT INTO user_roles (user_id, role) SELECT id, 'employee' FROM users WHERE telegram_id >= 50000",
    )
    .await?;
    db.execute_unprepared(
        "INSERT INTO contracts (user_id, status, created_at, updated_at) \
         SELECT id, 'active', 0, 0 FROM users WHERE telegram_id >= 50000",
    )
    .await?;
    let places = format!("INSERT INTO contract_sites (contract_id, site_id) SELECT id, {site} FROM contracts");
    db.execute_unprepared(&places).await?;
    Ok(())
}

#[tokio::test]
async fn who_closes_second_changes_nothing() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    yard.task(site, None, "Sweep", 5_000).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    yard.firm.stage.passes(Duration::from_secs(3600)).await;
    let shifts = Shifts::of_app(&yard.firm.app);
    let shift = shifts.active_of(person(&yard.firm, &anna).await.id).await.unwrap().unwrap();
    closes(&anna).await;
    is_told(&yard, &anna, "Total: 100.00").await;
    let posted = yard.amounts().await;
    assert_eq!(posted, [("shift_base".to_owned(), 10_000)]);
    // A second position, the old button, and staff on a page, all too late.
    is_here(&anna).await;
    anna.presses("⏹ Close my shift").await;
    anna.sees("You have no open shift.");
    let late = shifts.close(&yard.owner, shift.id).await;
    assert!(matches!(late, Err(NotDone::Refused(Why::NotWorking))), "{late:?}");
    let (one, two) = tokio::join!(
        workforce::shifts::jobs::post_missing(yard.firm.app.clone()),
        workforce::shifts::jobs::post_missing(yard.firm.app.clone())
    );
    one.and(two).unwrap();
    assert_eq!(yard.amounts().await, posted);
    assert_eq!(
        yard.rows("SELECT status, ended_at FROM shifts").await,
        [["completed", &(NOON.0 + 3_600_000).to_string()]]
    );
}

#[tokio::test]
async fn a_shift_whose_amounts_cannot_be_posted_is_not_closed_at_all() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    yard.slot(site, 0, 480, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    opens(&anna, "Shop").await;
    yard.firm.stage.passes(Duration::from_secs(3600)).await;
    let write = async |sql: &str| {
        let sql = sql.to_owned();
        yard.firm.app.domain.write(move |db| Box::pin(super::by_time::run(db, sql))).await.unwrap();
    };
    let stands = async || {
        let of = async |sql: &str| yard.rows(sql).await.concat();
        [
            of("SELECT status FROM shifts").await,
            of("SELECT ended_at FROM shifts").await,
            of("SELECT status FROM shift_plans").await,
            of("SELECT closed_at FROM site_openings").await,
        ]
        .concat()
    };
    write("CREATE TRIGGER broken BEFORE INSERT ON adjustments BEGIN SELECT RAISE(ABORT, 'broken'); END").await;
    let shifts = Shifts::of_app(&yard.firm.app);
    let shift = shifts.active_of(person(&yard.firm, &anna).await.id).await.unwrap().unwrap();
    let failed = shifts.close(&yard.owner, shift.id).await;
    assert!(matches!(failed, Err(NotDone::Failed(_))), "{failed:?}");
    assert_eq!(stands().await, ["active", "-", "in_progress", "-"]);
    assert_eq!(yard.amounts().await, []);
    write("DROP TRIGGER broken").await;
    closes(&anna).await;
    is_told(&yard, &anna, "Total: 100.00").await;
    let at = (NOON.0 + 3_600_000).to_string();
    assert_eq!(stands().await, ["completed", at.as_str(), "completed", at.as_str()]);
    assert_eq!(yard.amounts().await, [("shift_base".to_owned(), 10_000)]);
}

#[tokio::test]
async fn of_eight_who_close_a_shift_for_somebody_at_once_one_does() {
    let yard = Yard::open(Kind::Postgres).await;
    let site = yard.site("Shop", 10_000).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    let shifts = Shifts::of_app(&yard.firm.app);
    let shift = shifts.active_of(person(&yard.firm, &anna).await.id).await.unwrap().unwrap();
    yard.firm.stage.clock().advance(Duration::from_secs(60));
    let closings = (0..8).map(|_| shifts.close(&yard.owner, shift.id));
    let closed = join_all(closings).await;
    assert_eq!(closed.iter().filter(|one| one.is_ok()).count(), 1, "{closed:?}");
    assert_eq!(yard.amounts().await.len(), 1);
}
