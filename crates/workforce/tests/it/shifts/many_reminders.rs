//! Many reminders at once: all are sent in one run.

use sea_orm::ConnectionTrait;
use workforce::notices::{self, Notice};
use workforce::shifts::jobs;

use super::{Workplace, person, plans};
use crate::kit::firm::{NOON, StorageKind, on_databases};
use crate::kit::sql::run_sql;

on_databases! { [sqlite Sqlite, postgres Postgres]
    all_people_are_reminded_once_in_one_run,
}

const PLANS: usize = 1_200;

async fn all_people_are_reminded_once_in_one_run(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 10_000).await;
    let slot = workplace.slot(site, 1, 118, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    let user = person(&workplace.firm, &anna).await.id;
    // One plan every five seconds in the next two hours, written in reverse order.
    let sql = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {PLANS})
        INSERT INTO shift_plans (user_id, slot_id, site_id, starts_at, ends_at, created_at, updated_at)
        SELECT {user}, {slot}, {site}, {0} + ({PLANS} + 1 - i) * 5000, {0} + ({PLANS} + 1 - i) * 5000 + 4000, 0, 0 FROM n",
        NOON.0
    );
    run_sql(&workplace.firm.app.domain, sql).await;
    for _ in 0..2 {
        jobs::remind(workplace.firm.app.clone()).await.unwrap();
        let told = workplace.rows("SELECT body FROM notices ORDER BY id").await;
        assert_eq!(told.len(), PLANS);
        assert!(told.is_sorted(), "reminders are ordered by start");
    }
    assert_eq!(workplace.rows("SELECT id FROM shift_plans WHERE reminded_at IS NULL").await.len(), 0);
}

/// The query of the job that posts missing amounts.
#[tokio::test]
async fn closed_shifts_are_found_by_index() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let sql = "EXPLAIN QUERY PLAN SELECT shifts.id FROM shifts WHERE (shifts.status = 'completed')
        AND NOT EXISTS (SELECT 1 FROM adjustments WHERE adjustments.shift_id = shifts.id AND kind = 'shift_base')
        AND shifts.id > 5 ORDER BY shifts.id LIMIT 500";
    let db = workplace.firm.app.domain.read();
    let rows = db.query_all_raw(sea_orm::Statement::from_string(db.get_database_backend(), sql)).await.unwrap();
    let plan: Vec<String> = rows.iter().map(|row| row.try_get("", "detail").unwrap()).collect();
    assert!(plan[0].contains("USING COVERING INDEX shifts_completed"), "{plan:?}");
    let has_index = |step: &String| step.contains("adjustments_once_by_shift (shift_id=? AND kind=?)");
    assert!(plan.iter().any(has_index) && !plan.iter().any(|step| step.contains("B-TREE")), "{plan:?}");
}

/// SQLite keeps any value in any column.
#[tokio::test]
async fn an_unreadable_plan_stops_no_reminders() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let mut people = Vec::new();
    workplace.slot(site, 60, 60, |slot| slot.capacity = 3).await;
    for name in ["Anna", "Boris", "Vera"] {
        let someone = workplace.worker(name, &[site], |_| {}).await;
        plans(&someone).await;
        people.push(person(&workplace.firm, &someone).await.id);
    }
    let app = &workplace.firm.app;
    run_sql(&app.domain, format!("UPDATE shift_plans SET version = 'torn' WHERE user_id = {}", people[0])).await;
    for _ in 0..2 {
        workplace.firm.run_job("shift-reminders").await;
        let told = notices::unsent(&app.domain).await.unwrap();
        let told: Vec<i64> = told.into_iter().filter(|one| is_reminder(&one.2)).map(|(_, user, _)| user).collect();
        assert_eq!(told, people[1..]);
    }
}

fn is_reminder(notice: &Notice) -> bool {
    matches!(notice, Notice::Reminder { .. })
}
