//! Each job twice in a row has the effect of once.

use std::time::Duration;

use sea_orm::{ConnectionTrait, Statement};
use workforce::rooms::Rooms;

use crate::kit::firm::{NOON, StorageKind};
use crate::kit::sql::run_sql;
use crate::shifts::{Workplace, opens, person, plans};

/// Jobs that must find something to do in these tables. Others may.
const WITH_WORK: [&str; 7] = [
    "payroll",
    "sessions",
    "shift-adjustments",
    "shift-auto-close",
    "shift-no-shows",
    "shift-reminders",
    "slots-of-next-year",
];

#[tokio::test]
async fn each_job_twice_has_the_effect_of_once() {
    let workplace = prepare().await;
    for job in Rooms::all().jobs().list() {
        let before = dump(&workplace).await;
        // No bot runs here, so that files cannot be requested.
        if job.name == "attachments" {
            continue;
        }
        workplace.firm.run_job(job.name).await;
        let once = dump(&workplace).await;
        assert!(!WITH_WORK.contains(&job.name) || before != once, "{} finds nothing to do", job.name);
        workplace.firm.run_job(job.name).await;
        assert_eq!(once, dump(&workplace).await, "{} has run twice", job.name);
    }
}

/// On the third of December: a plan for soon and a missed one, an open shift that is over, a closed one without pay,
/// wrong sums, an old session.
async fn prepare() -> Workplace {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let until_december = Duration::from_secs(336 * 24 * 3600);
    let site = workplace.site("Shop", 10_000).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    let boris = workplace.worker("Boris", &[site], |_| {}).await;
    workplace.slot(site, 60, 60, |slot| slot.capacity = 5).await;
    plans(&boris).await;
    opens(&anna, "Shop").await;
    workplace.firm.stage.clock().advance(until_december);
    let (now, ms) = (NOON.plus(until_december).0, 60_000);
    let [anna, boris] = [person(&workplace.firm, &anna).await.id, person(&workplace.firm, &boris).await.id];
    let db = &workplace.firm.app.domain;
    run_sql(db, format!("UPDATE shift_plans SET starts_at = {}, ends_at = {}", now + 30 * ms, now + 90 * ms)).await;
    run_sql(
        db,
        format!(
            "INSERT INTO shift_plans (user_id, slot_id, site_id, starts_at, ends_at, created_at, updated_at)
             SELECT {boris}, slot_id, site_id, {}, {}, 0, 0 FROM shift_plans",
            now - 120 * ms,
            now - 60 * ms
        ),
    )
    .await;
    run_sql(
        db,
        format!(
            "INSERT INTO shifts (user_id, site_id, status, started_at, ended_at, rate_kopecks, penalises_lateness,
             late_threshold_minutes, late_minute_kopecks, closed_by)
             VALUES ({anna}, {site}, 'completed', 1000, 3601000, 10000, FALSE, 0, 0, 'staff')"
        ),
    )
    .await;
    run_sql(db, "INSERT INTO payroll_periods (id) VALUES ('2026-11')").await;
    run_sql(
        db,
        format!(
            "INSERT INTO payroll_entries (period, user_id, hours_hundredths, earned_kopecks, bonus_kopecks,
             deduction_kopecks, total_kopecks) VALUES ('2026-11', {anna}, 0, 0, 1, 0, 1)"
        ),
    )
    .await;
    run_sql(
        db,
        format!(
            "INSERT INTO sessions (token_hash, user_id, agent, created_at, seen_at, expires_at)
             VALUES ('x', {anna}, '', 1, 1, 2)"
        ),
    )
    .await;
    workplace
}

/// All rows of the application's tables. The library's tables keep the jobs themselves.
async fn dump(workplace: &Workplace) -> String {
    let db = workplace.firm.app.domain.read();
    let query = |sql: String| db.query_all_raw(Statement::from_string(db.get_database_backend(), sql));
    let names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'opora_%'
        AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let mut text = String::new();
    for row in query(names.to_owned()).await.unwrap() {
        let name: String = row.try_get_by_index(0).unwrap();
        text.push_str(&format!("{name}\n"));
        let columns: Vec<String> = query(format!("SELECT name FROM pragma_table_info('{name}')"))
            .await
            .unwrap()
            .iter()
            .map(|row| format!("coalesce({}, '-')", row.try_get_by_index::<String>(0).unwrap()))
            .collect();
        let cells = columns.join(" || '|' || ");
        for row in query(format!("SELECT CAST({cells} AS TEXT) FROM {name} ORDER BY 1")).await.unwrap() {
            text.push_str(&format!("  {}\n", row.try_get_by_index::<String>(0).unwrap()));
        }
    }
    text
}
