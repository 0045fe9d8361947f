//! Concurrent changes: two hundred people and ten places, two closings of one shift, two openings of one site.

use std::time::Duration;

use futures_util::future::join_all;
use opora::store::WriteError;
use sea_orm::ConnectionTrait;
use workforce::domain::{Domain, NotWritten, Transaction};
use workforce::shifts::{self, Shifts};
use workforce::sites::{ActionError, SiteRefusal};

use super::{Workplace, closes, is_notified, opens, person, plans, shares_position};
use crate::kit::firm::{NOON, StorageKind};
use crate::kit::sql::run_sql;

#[tokio::test]
async fn of_two_hundred_people_ten_get_a_place_on_sqlite() {
    plan_by_two_hundred(StorageKind::Sqlite).await;
}

#[tokio::test]
async fn of_two_hundred_people_ten_get_a_place_on_postgres() {
    plan_by_two_hundred(StorageKind::Postgres).await;
}

async fn plan_by_two_hundred(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 10_000).await;
    let slot = workplace.slot(site, 60, 240, |slot| slot.capacity = 10).await;
    workplace.firm.app.domain.write(move |db| Box::pin(hire_two_hundred(db, site))).await.unwrap();
    let users = workplace.rows("SELECT id FROM users WHERE telegram_id >= 50000 ORDER BY id").await;
    // Two instances, each with its own connection.
    let other = Domain::open_for_command(&workplace.firm.storage.database).await.unwrap();
    let wants = users.iter().enumerate().map(|(at, row)| {
        let (user, domain) =
            (row[0].parse::<i64>().unwrap(), if at % 2 == 0 { &workplace.firm.app.domain } else { &other });
        plan(domain, user, slot)
    });
    let got = join_all(wants).await;
    let full =
        |one: &Result<(), NotWritten>| matches!(one, Err(NotWritten::Refused(why)) if *why == SiteRefusal::Full.key());
    assert_eq!(
        got.iter().filter(|one| one.is_ok()).count(),
        10,
        "{:?}",
        got.iter().find(|one| one.is_err() && !full(one))
    );
    assert_eq!(got.iter().filter(|one| full(one)).count(), 190);
    assert_eq!(workplace.rows("SELECT id FROM shift_plans").await.len(), 10);
    assert_eq!(workplace.rows("SELECT taken FROM time_slots").await, [["10"]]);
    other.close().await.unwrap();
}

#[tokio::test]
async fn of_two_overlapping_places_one_is_given_on_sqlite() {
    two_places_at_one_time(StorageKind::Sqlite).await;
}

#[tokio::test]
async fn of_two_overlapping_places_one_is_given_on_postgres() {
    two_places_at_one_time(StorageKind::Postgres).await;
}

async fn two_places_at_one_time(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let (one, other) = (workplace.site("Shop", 10_000).await, workplace.site("Bar", 10_000).await);
    let anna = workplace.worker("Anna", &[one, other], |_| {}).await;
    let user = person(&workplace.firm, &anna).await.id;
    let other_instance = Domain::open_for_command(&workplace.firm.storage.database).await.unwrap();
    for day in 1..=10 {
        // The slots overlap by half an hour.
        let slots = [
            workplace.slot(one, day * 1440, 120, |_| {}).await,
            workplace.slot(other, day * 1440 + 90, 120, |_| {}).await,
        ];
        let (here, there) =
            tokio::join!(plan(&workplace.firm.app.domain, user, slots[0]), plan(&other_instance, user, slots[1]));
        let went = [here, there];
        let overlaps = |got: &Result<(), NotWritten>| matches!(got, Err(NotWritten::Refused(why)) if *why == SiteRefusal::Overlap.key());
        assert!(went.iter().any(Result::is_ok) && went.iter().any(overlaps), "{went:?}");
        for (slot, got) in slots.iter().zip(&went) {
            let taken = workplace.rows(&format!("SELECT taken FROM time_slots WHERE id = {slot}")).await;
            let planned = workplace.rows(&format!("SELECT id FROM shift_plans WHERE slot_id = {slot}")).await;
            assert_eq!((taken[0][0].as_str(), planned.len()), if got.is_ok() { ("1", 1) } else { ("0", 0) });
        }
    }
    other_instance.close().await.unwrap();
}

async fn plan(domain: &Domain, user: i64, slot: i64) -> Result<(), NotWritten> {
    domain.write(move |db| Box::pin(async move { shifts::plan(db, user, slot, NOON).await.map(drop) })).await
}

pub async fn hire_two_hundred(db: &Transaction<'_, '_>, site: i64) -> Result<(), WriteError> {
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
    let places = format!(
        "INSERT INTO contract_sites (contract_id, site_id, user_id, is_active) \
         SELECT id, {site}, user_id, TRUE FROM contracts"
    );
    db.execute_unprepared(&places).await?;
    Ok(())
}

#[tokio::test]
async fn a_second_closing_changes_nothing() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.task(site, None, "Sweep", 5_000).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    workplace.firm.stage.advance(Duration::from_secs(3600)).await;
    let shifts = Shifts::of_app(&workplace.firm.app);
    let shift = shifts.active_of(person(&workplace.firm, &anna).await.id).await.unwrap().unwrap();
    closes(&anna).await;
    is_notified(&workplace, &anna, "Total: 100").await;
    let posted = workplace.adjustments().await;
    assert_eq!(posted, [("shift_base".to_owned(), 10_000)]);
    // A second position, an old button, and staff on a page, all too late.
    shares_position(&anna).await;
    anna.presses("⏹ Clock out").await;
    anna.sees("You're not clocked in.");
    let late = shifts.close(&workplace.owner, shift.id).await;
    assert!(matches!(late, Err(ActionError::Refused(SiteRefusal::NotWorking))), "{late:?}");
    let (one, two) = tokio::join!(
        workforce::shifts::jobs::post_missing(workplace.firm.app.clone()),
        workforce::shifts::jobs::post_missing(workplace.firm.app.clone())
    );
    one.and(two).unwrap();
    assert_eq!(workplace.adjustments().await, posted);
    assert_eq!(
        workplace.rows("SELECT status, ended_at FROM shifts").await,
        [["completed", &(NOON.0 + 3_600_000).to_string()]]
    );
}

#[tokio::test]
async fn a_shift_without_its_amounts_is_not_closed() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.slot(site, 0, 480, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    opens(&anna, "Shop").await;
    workplace.firm.stage.advance(Duration::from_secs(3600)).await;
    let write = async |sql: &str| run_sql(&workplace.firm.app.domain, sql).await;
    let stands = async || {
        let of = async |sql: &str| workplace.rows(sql).await.concat();
        [
            of("SELECT status FROM shifts").await,
            of("SELECT ended_at FROM shifts").await,
            of("SELECT status FROM shift_plans").await,
            of("SELECT closed_at FROM site_openings").await,
        ]
        .concat()
    };
    write("CREATE TRIGGER broken BEFORE INSERT ON adjustments BEGIN SELECT RAISE(ABORT, 'broken'); END").await;
    let shifts = Shifts::of_app(&workplace.firm.app);
    let shift = shifts.active_of(person(&workplace.firm, &anna).await.id).await.unwrap().unwrap();
    let failed = shifts.close(&workplace.owner, shift.id).await;
    assert!(matches!(failed, Err(ActionError::Failed(_))), "{failed:?}");
    assert_eq!(stands().await, ["active", "-", "in_progress", "-"]);
    assert_eq!(workplace.adjustments().await, []);
    write("DROP TRIGGER broken").await;
    closes(&anna).await;
    is_notified(&workplace, &anna, "Total: 100").await;
    let at = (NOON.0 + 3_600_000).to_string();
    assert_eq!(stands().await, ["completed", at.as_str(), "completed", at.as_str()]);
    assert_eq!(workplace.adjustments().await, [("shift_base".to_owned(), 10_000)]);
}

#[tokio::test]
async fn of_eight_simultaneous_closings_one_succeeds() {
    let workplace = Workplace::open(StorageKind::Postgres).await;
    let site = workplace.site("Shop", 10_000).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    let shifts = Shifts::of_app(&workplace.firm.app);
    let shift = shifts.active_of(person(&workplace.firm, &anna).await.id).await.unwrap().unwrap();
    workplace.firm.stage.clock().advance(Duration::from_secs(60));
    let closings = (0..8).map(|_| shifts.close(&workplace.owner, shift.id));
    let closed = join_all(closings).await;
    assert_eq!(closed.iter().filter(|one| one.is_ok()).count(), 1, "{closed:?}");
    assert_eq!(workplace.adjustments().await.len(), 1);
}
