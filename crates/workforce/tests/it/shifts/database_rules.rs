//! Rules that the database itself enforces.

use opora::store::WriteError;
use sea_orm::ConnectionTrait;
use workforce::domain::{Domain, NotWritten, Transaction};
use workforce::people::{self, Grant};
use workforce::person::Role;
use workforce::sites::{SiteRefusal, constraint_refusal};
use workforce::texts::Language;

use crate::kit::firm::{NOON, StorageKind, TestStorage, on_every_database};

on_every_database! {
    the_database_enforces_the_rules,
}

const SITE: &str = "INSERT INTO sites (id, name, address, time_zone, opens_minute, closes_minute, rate_kopecks, \
    created_at, updated_at) VALUES (1, 'Shop', 'Main Street 1', 'Europe/Moscow', 540, 1080, 10000, 0, 0)";
const OPENING: &str = "INSERT INTO site_openings (site_id, opened_by, opened_at) VALUES (1, 1, 0)";
const TASK: &str = "INSERT INTO shift_tasks (id, shift_id, source, place, text, amount_kopecks, is_mandatory, needs_media) \
    VALUES (1, 1, 'site', 1, 'Sweep', 100, FALSE, TRUE)";

async fn the_database_enforces_the_rules(kind: StorageKind) {
    let storage = TestStorage::with_tables(kind).await;
    let domain = storage.domain().await;
    for telegram_id in [1, 2] {
        let grant =
            Grant { telegram_id, full_name: "A".into(), role: Role::Employee, language: Language::En, by: None };
        domain.write(move |db| Box::pin(people::grant(db, grant, NOON))).await.unwrap();
    }
    for good in [SITE, &slot(1, 0, 100, "", 2), &slot(2, 100, 200, "", 1), &slot(3, 0, 100, "cashier", 1)] {
        run(&domain, good).await.unwrap();
    }
    assert_refused(&domain, &slot(4, 0, 100, "", 1), SiteRefusal::Exists).await;
    assert_refused(&domain, "UPDATE time_slots SET taken = taken + 3 WHERE id = 1", SiteRefusal::Full).await;

    // Adjacent plans are allowed. Overlapping plans are refused, also when they are moved or restored.
    for good in [&plan(1, 1, 0, 100, "planned"), &plan(2, 1, 100, 200, "planned"), &plan(3, 2, 0, 100, "planned")] {
        run(&domain, good).await.unwrap();
    }
    assert_refused(&domain, &plan(4, 1, 50, 150, "planned"), SiteRefusal::Overlap).await;
    run(&domain, &plan(4, 1, 50, 150, "cancelled")).await.unwrap();
    assert_refused(&domain, "UPDATE shift_plans SET status = 'planned' WHERE id = 4", SiteRefusal::Overlap).await;
    assert_refused(&domain, "UPDATE shift_plans SET starts_at = 99 WHERE id = 2", SiteRefusal::Overlap).await;
    run(&domain, "UPDATE shift_plans SET status = 'in_progress' WHERE id = 1").await.unwrap();

    run(&domain, &shift(1, 1, "1", "active")).await.unwrap();
    assert_refused(&domain, &shift(2, 1, "NULL", "active"), SiteRefusal::Working).await;
    assert_refused(&domain, &shift(2, 2, "1", "active"), SiteRefusal::PlanUsed).await;
    run(&domain, &shift(2, 1, "NULL", "completed")).await.unwrap();

    run(&domain, OPENING).await.unwrap();
    assert_refused(&domain, OPENING, SiteRefusal::SiteOpen).await;
    run(&domain, "UPDATE site_openings SET closed_at = 5").await.unwrap();
    run(&domain, OPENING).await.unwrap();

    run(&domain, TASK).await.unwrap();
    assert_refused(&domain, "UPDATE shift_tasks SET done_at = 5 WHERE id = 1", SiteRefusal::NeedsMedia).await;
    run(&domain, "UPDATE shift_tasks SET done_at = 5, media_count = 1 WHERE id = 1").await.unwrap();
    domain.close().await.unwrap();
}

fn slot(id: i64, from: i64, to: i64, title: &str, capacity: i64) -> String {
    format!(
        "INSERT INTO time_slots (id, site_id, title, day, starts_minute, ends_minute, starts_at, ends_at, capacity, \
         created_at, updated_at) VALUES ({id}, 1, '{title}', '1970-01-01', 0, 1, {from}, {to}, {capacity}, 0, 0)"
    )
}

fn plan(id: i64, user: i64, from: i64, to: i64, status: &str) -> String {
    format!(
        "INSERT INTO shift_plans (id, user_id, slot_id, site_id, starts_at, ends_at, status, created_at, updated_at) \
         VALUES ({id}, {user}, 1, 1, {from}, {to}, '{status}', 0, 0)"
    )
}

fn shift(id: i64, user: i64, plan: &str, status: &str) -> String {
    let ended = if status == "active" { "NULL" } else { "5" };
    format!(
        "INSERT INTO shifts (id, user_id, site_id, plan_id, status, started_at, ended_at, rate_kopecks, \
         penalises_lateness, late_threshold_minutes, late_minute_kopecks) \
         VALUES ({id}, {user}, 1, {plan}, '{status}', 0, {ended}, 100, FALSE, 0, 0)"
    )
}

async fn assert_refused(domain: &Domain, sql: &str, why: SiteRefusal) {
    let refused = run(domain, sql).await;
    assert!(matches!(&refused, Err(NotWritten::Refused(said)) if *said == why.key()), "{sql}: {refused:?}");
}

async fn run(domain: &Domain, sql: &str) -> Result<(), NotWritten> {
    let sql = sql.to_owned();
    domain.write(move |db| Box::pin(sql_on(db, sql))).await
}

async fn sql_on(db: &Transaction<'_, '_>, sql: String) -> Result<(), WriteError> {
    db.execute_unprepared(&sql).await.map_err(constraint_refusal)?;
    Ok(())
}
