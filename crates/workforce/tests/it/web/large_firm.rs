//! Pages of a firm with a long history ask no more, and read no more rows, than those of one that is new.

use std::collections::BTreeMap;

use opora_testkit::product::large_firm::{LargeFirm, Reader, Size};
use sqlx::PgPool;

use crate::kit::cabinet::{Browser, Cabinet};
use crate::kit::firm::{Kind, NOON};
use crate::kit::queries::Queries;

const SIZE: Size = Size { sites: 20, people: 120, owners: 1, managers: 1, per_day: 28 };
const READERS: [Reader; 3] = [Reader::Owner, Reader::Manager, Reader::Employee];
/// Tables that grow with every day.
const GROWING: &str = "'shifts', 'shift_tasks', 'task_media', 'shift_plans', 'plan_cancellations', 'time_slots',
    'site_openings', 'site_tasks', 'adjustments', 'adjustment_changes', 'payroll_entries', 'payments', 'audit',
    'settings_history'";

/// What a page takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    queries: usize,
    /// Of tables that grow.
    rows: i64,
    /// How often such a table was read from end to end.
    scans: i64,
    bytes: usize,
}

#[tokio::test]
async fn pages_ask_and_read_no_more_of_a_history_that_is_ten_times_longer() {
    let queries = Queries::counted();
    let cabinet = Cabinet::open(Kind::Postgres).await;
    let pool = cabinet.app.domain.read().get_postgres_connection_pool().clone();
    let firm = LargeFirm::found(&pool, SIZE, NOON.0).await;
    firm.work(-60, 45).await;
    firm.settle().await;
    let short = costs(&cabinet, &firm, &queries, &pool).await;
    firm.work(-600, -60).await;
    firm.settle().await;
    let long = costs(&cabinet, &firm, &queries, &pool).await;
    for (page, cost) in &long {
        let before = short[page];
        assert_eq!(cost.queries, before.queries, "{page}: {before:?}, then {cost:?}");
        // How an index is gone through differs a little with its size.
        assert!(cost.rows <= before.rows + before.rows / 4 + 50, "{page}: {before:?}, then {cost:?}");
        assert!(cost.scans == 0 && cost.queries <= 17, "{page}: {cost:?}");
        // Nobody reads more on one page, and drawing it takes time.
        assert!(cost.bytes < 64 * 1024, "{page}: {cost:?}");
    }
    cabinet.close().await;
}

async fn costs(cabinet: &Cabinet, firm: &LargeFirm, queries: &Queries, pool: &PgPool) -> BTreeMap<String, Cost> {
    let mut costs = BTreeMap::new();
    for reader in READERS {
        let browser = signed_in(cabinet, firm.account(reader, 0)).await;
        for page in firm.pages(reader, 0) {
            // Nobody reads so much within a minute.
            cabinet.clock.advance(std::time::Duration::from_secs(10));
            let read = async || browser.get(&page.path).await.is(200, "").body.len();
            let counted = queries.of(read).await;
            let (rows, scans) = so_far(pool).await;
            let bytes = read().await;
            let (rows_after, scans_after) = so_far(pool).await;
            let cost = Cost { queries: counted, rows: rows_after - rows, scans: scans_after - scans, bytes };
            costs.insert(format!("{reader:?} {}", page.name), cost);
        }
    }
    costs
}

async fn signed_in(cabinet: &Cabinet, account: i64) -> Browser {
    let browser = cabinet.browser();
    browser.get("/sign-in").await;
    // All of them are test users.
    browser.log_in(account, "000000").await.leads_to("/");
    browser.get("/me").await;
    browser
}

/// Rows of tables that grow which were read, and how often such a table was read whole. Each connection keeps its own
/// counts for a while, so all of them are asked to hand them in.
async fn so_far(pool: &PgPool) -> (i64, i64) {
    let mut connections = Vec::new();
    for _ in 0..pool.options().get_max_connections() {
        connections.push(pool.acquire().await.unwrap());
    }
    for connection in &mut connections {
        sqlx::query("SELECT pg_stat_force_next_flush()").execute(&mut **connection).await.unwrap();
    }
    let sums = format!(
        "SELECT SUM(seq_tup_read + COALESCE(idx_tup_fetch, 0))::bigint, SUM(seq_scan)::bigint FROM pg_stat_user_tables
        WHERE schemaname = current_schema() AND relname IN ({GROWING})"
    );
    sqlx::query_as(sqlx::AssertSqlSafe(sums)).fetch_one(&mut *connections[0]).await.unwrap()
}
