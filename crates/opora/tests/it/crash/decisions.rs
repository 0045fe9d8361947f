//! Bots with conversations in Redis and tables in SQL: however they end, every turn writes once.

use opora::failpoints;

use super::backend::StoreKind;
use super::bots::writing_people;
use super::bugs::Bug;
use super::kills::{Bot, survives_kills_at};
use super::people::Scenario;
use super::seeded_bugs::kill_at;
use super::stage::Stage;

/// The failpoints that only such bots hit.
pub const COVERED: &[&str] =
    &[failpoints::STORE_BEFORE_WRITES, failpoints::STORE_IN_WRITES, failpoints::STORE_AFTER_WRITES];

macro_rules! killed_at {
    ($($kind:ident $name:ident: $failpoint:ident,)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            survives_kills_at(failpoints::$failpoint, Bot::Registration, StoreKind::$kind).await;
        })*
    };
}

killed_at! {
    RedisAndSqlite sqlite_turns_write_once_over_kills_before_the_writes: STORE_BEFORE_WRITES,
    RedisAndSqlite sqlite_turns_write_once_over_kills_within_the_writes: STORE_IN_WRITES,
    RedisAndSqlite sqlite_turns_write_once_over_kills_before_redis: STORE_AFTER_WRITES,
    RedisAndSqlite sqlite_turns_write_once_over_kills_after_a_commit: TURN_AFTER_COMMIT,
    RedisAndPostgres postgres_turns_write_once_over_kills_before_the_writes: STORE_BEFORE_WRITES,
    RedisAndPostgres postgres_turns_write_once_over_kills_within_the_writes: STORE_IN_WRITES,
    RedisAndPostgres postgres_turns_write_once_over_kills_before_redis: STORE_AFTER_WRITES,
    RedisAndPostgres postgres_turns_write_once_over_kills_after_a_commit: TURN_AFTER_COMMIT,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_that_write_without_a_record_are_found() {
    let stage = Stage::on(StoreKind::RedisAndSqlite).await;
    let (mut audit, diaries) =
        kill_at(&stage, Scenario::Registration, failpoints::STORE_AFTER_WRITES, Bug::WritesSeparately).await;
    audit.assert_clean();
    audit.check_writes(&writing_people(&stage).await, &diaries);
    assert!(audit.violates("I1"), "{audit:?}");
}
