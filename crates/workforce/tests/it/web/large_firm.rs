//! Pages of a firm with a long history run as many queries, and read as many rows, as those of a new firm.

use std::collections::BTreeMap;

use opora_testkit::product::large_firm::{LargeFirm, Reader, Size};
use sqlx::PgPool;

use crate::kit::cabinet::{Browser, Cabinet};
use crate::kit::firm::{NOON, StorageKind};
use crate::kit::queries::QueryCounter;

/// For a page with its style sheet, scripts and icons, compressed.
const MAX_FIRST_LOAD_BYTES: usize = 100 * 1024;
const SIZE: Size = Size { sites: 20, people: 120, owners: 1, managers: 1, per_day: 28 };
const READERS: [Reader; 3] = [Reader::Owner, Reader::Manager, Reader::Employee];
/// Tables that grow every day.
const GROWING: &str = "'shifts', 'shift_tasks', 'task_media', 'shift_plans', 'plan_cancellations', 'time_slots',
    'site_openings', 'site_tasks', 'adjustments', 'adjustment_changes', 'payroll_entries', 'payments', 'audit',
    'settings_history'";

/// The cost of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    queries: usize,
    /// Rows read from growing tables.
    rows: i64,
    /// Sequential scans of growing tables.
    scans: i64,
    /// Bytes of a first load, compressed.
    first_load: usize,
}

#[tokio::test]
async fn a_longer_history_does_not_cost_more_queries() {
    let queries = QueryCounter::install();
    let cabinet = Cabinet::open(StorageKind::Postgres).await;
    let pool = cabinet.app.domain.read().get_postgres_connection_pool().clone();
    let firm = LargeFirm::create(&pool, SIZE, NOON.0).await;
    firm.add_days(-60, 45).await;
    firm.analyze().await;
    let short = costs(&cabinet, &firm, &queries, &pool).await;
    firm.add_days(-600, -60).await;
    firm.analyze().await;
    let long = costs(&cabinet, &firm, &queries, &pool).await;
    for (page, cost) in &long {
        let before = short[page];
        assert_eq!(cost.queries, before.queries, "{page}: {before:?}, then {cost:?}");
        // Index reads vary a little with the size of the index.
        assert!(cost.rows <= before.rows + before.rows / 4 + 50, "{page}: {before:?}, then {cost:?}");
        assert!(cost.scans == 0 && cost.queries <= 22, "{page}: {cost:?}");
        assert!(cost.first_load < MAX_FIRST_LOAD_BYTES, "{page}: {cost:?}");
    }
    cabinet.close().await;
}

async fn costs(cabinet: &Cabinet, firm: &LargeFirm, queries: &QueryCounter, pool: &PgPool) -> BTreeMap<String, Cost> {
    let mut costs = BTreeMap::new();
    for reader in READERS {
        let browser = signed_in(cabinet, firm.account(reader, 0)).await;
        for page in firm.pages(reader, 0) {
            // Stays within the rate limit.
            cabinet.clock.advance(std::time::Duration::from_secs(10));
            let counted = queries.count(async || browser.get(&page.path).await.is(200, "").body.len()).await;
            let (rows, scans) = growing_table_reads(pool).await;
            browser.get(&page.path).await;
            let (rows_after, scans_after) = growing_table_reads(pool).await;
            let first_load = browser.first_load_bytes(&page.path).await;
            let cost = Cost { queries: counted, rows: rows_after - rows, scans: scans_after - scans, first_load };
            costs.insert(format!("{reader:?} {}", page.name), cost);
        }
    }
    costs
}

async fn signed_in(cabinet: &Cabinet, account: i64) -> Browser {
    let browser = cabinet.browser();
    browser.get("/sign-in").await;
    // All accounts are test users.
    browser.log_in(account, "000000").await.redirects_to("/");
    browser.get("/me").await;
    browser
}

/// Rows read from growing tables, and their sequential scans, so far. Each connection reports its counts with a delay,
/// so all connections are asked to flush them.
async fn growing_table_reads(pool: &PgPool) -> (i64, i64) {
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
