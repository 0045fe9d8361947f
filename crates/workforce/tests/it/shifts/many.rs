//! Many at once: nobody is left for the next run because others came first.

use sea_orm::ConnectionTrait;
use workforce::shifts::jobs;

use super::{Yard, person};
use crate::kit::firm::{Kind, NOON, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    all_are_reminded_in_one_run_and_each_once,
}

const PLANS: usize = 1_200;

async fn all_are_reminded_in_one_run_and_each_once(kind: Kind) {
    let yard = Yard::open(kind).await;
    let site = yard.site("Shop", 10_000).await;
    let slot = yard.slot(site, 1, 118, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    let user = person(&yard.firm, &anna).await.id;
    // One after another in the next two hours, those that begin last written first.
    let sql = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {PLANS})
        INSERT INTO shift_plans (user_id, slot_id, site_id, starts_at, ends_at, created_at, updated_at)
        SELECT {user}, {slot}, {site}, {0} + ({PLANS} + 1 - i) * 5000, {0} + ({PLANS} + 1 - i) * 5000 + 4000, 0, 0 FROM n",
        NOON.0
    );
    let planned = yard.firm.app.domain.write(move |db| {
        Box::pin(async move {
            db.execute_unprepared(&sql).await?;
            Ok(())
        })
    });
    planned.await.unwrap();
    for _ in 0..2 {
        jobs::remind(yard.firm.app.clone()).await.unwrap();
        let told = yard.rows("SELECT body FROM notices ORDER BY id").await;
        assert_eq!(told.len(), PLANS);
        assert!(told.is_sorted(), "those that begin first are told first");
    }
    assert_eq!(yard.rows("SELECT id FROM shift_plans WHERE reminded_at IS NULL").await.len(), 0);
}

/// As the job asks for them that looks after their amounts.
#[tokio::test]
async fn what_has_ended_lately_is_found_by_its_index() {
    let yard = Yard::open(Kind::Sqlite).await;
    let sql = "EXPLAIN QUERY PLAN SELECT id FROM shifts WHERE status = 'completed' AND ended_at > 5 ORDER BY ended_at";
    let db = yard.firm.app.domain.read();
    let rows = db.query_all_raw(sea_orm::Statement::from_string(db.get_database_backend(), sql)).await.unwrap();
    let plan: Vec<String> = rows.iter().map(|row| row.try_get("", "detail").unwrap()).collect();
    assert_eq!(plan.len(), 1, "nothing is sorted: {plan:?}");
    assert!(plan[0].contains("USING INDEX shifts_ended"), "{plan:?}");
}
