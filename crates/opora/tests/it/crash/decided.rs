//! Bots whose conversations are in Redis and whose application writes to SQL: however they end, every turn writes once.

use opora::failpoints;

use super::bots::written_by;
use super::bugs::Bug;
use super::keeper::Kind;
use super::kills::{Bot, survives_kills_at};
use super::people::Story;
use super::seeded::kill_at;
use super::stage::Stage;

/// The failpoints that only such bots pass.
pub const COVERED: &[&str] =
    &[failpoints::STORE_BEFORE_WRITES, failpoints::STORE_IN_WRITES, failpoints::STORE_AFTER_WRITES];

macro_rules! killed_at {
    ($($kind:ident $name:ident: $failpoint:ident,)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            survives_kills_at(failpoints::$failpoint, Bot::Registration, Kind::$kind).await;
        })*
    };
}

killed_at! {
    RedisAndSqlite with_a_file_turns_write_once_over_kills_before_the_writes: STORE_BEFORE_WRITES,
    RedisAndSqlite with_a_file_turns_write_once_over_kills_within_the_writes: STORE_IN_WRITES,
    RedisAndSqlite with_a_file_turns_write_once_over_kills_between_the_writes_and_redis: STORE_AFTER_WRITES,
    RedisAndSqlite with_a_file_turns_write_once_over_kills_after_a_commit: TURN_AFTER_COMMIT,
    RedisAndPostgres with_postgres_turns_write_once_over_kills_before_the_writes: STORE_BEFORE_WRITES,
    RedisAndPostgres with_postgres_turns_write_once_over_kills_within_the_writes: STORE_IN_WRITES,
    RedisAndPostgres with_postgres_turns_write_once_over_kills_between_the_writes_and_redis: STORE_AFTER_WRITES,
    RedisAndPostgres with_postgres_turns_write_once_over_kills_after_a_commit: TURN_AFTER_COMMIT,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_that_write_without_a_record_are_found_out() {
    let stage = Stage::on(Kind::RedisAndSqlite).await;
    let (mut account, diaries) =
        kill_at(&stage, Story::Registration, failpoints::STORE_AFTER_WRITES, Bug::WritesApart).await;
    account.is_clean();
    account.writes(&written_by(&stage).await, &diaries);
    assert!(account.breaks("I1"), "{account:?}");
}
