//! Everything that the stores hold, as text: what a person with a copy of the disk, the database or Redis could read.

use std::path::Path;

use opora::store::{setting, without_setting};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row, SqliteConnection};
use workforce::domain::Address;

use crate::kit::demo::until;
use crate::kit::firm::TestStorage;

/// All data in the database and in Redis, as text. For SQLite the bytes of its files after a checkpoint.
pub async fn dump(storage: &TestStorage) -> String {
    let mut all = match &storage.database {
        Address::Sqlite(path) => sqlite_bytes(path).await,
        Address::Postgres(url) => postgres_rows(url).await,
    };
    if storage.state.starts_with("redis") {
        all.push_str(&redis_values(&storage.state));
    }
    assert!(!all.is_empty());
    all
}

/// The bytes of a SQLite file and its write-ahead log.
pub async fn sqlite_bytes(path: &Path) -> String {
    let url = format!("sqlite:{}", path.display());
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    let connection = tokio::sync::Mutex::new(&mut connection);
    until("the log is in the database", async || {
        let checkpoint = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)");
        let row = checkpoint.fetch_one(&mut **connection.lock().await).await.unwrap();
        (row.get::<i64, _>(0) == 0).then_some(())
    })
    .await;
    // Read by another process: closing a handle on the file would drop the locks of all connections in this process.
    let wal = format!("{}-wal", path.display());
    let read = std::process::Command::new("cat").arg(path).arg(wal).output().unwrap();
    String::from_utf8_lossy(&read.stdout).into_owned()
}

async fn postgres_rows(url: &str) -> String {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let names = "SELECT table_name::text FROM information_schema.tables
                 WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'";
    let mut all = String::new();
    for row in sqlx::query(names).fetch_all(&mut connection).await.unwrap() {
        let name: String = row.get(0);
        let rows = format!("SELECT coalesce(string_agg(t::text, ' '), '') FROM \"{name}\" AS t");
        let row = sqlx::query(AssertSqlSafe(rows)).fetch_one(&mut connection).await.unwrap();
        all.push_str(row.get(0));
    }
    all
}

fn redis_values(url: &str) -> String {
    let prefix = setting(url, "prefix").unwrap();
    let mut redis = redis::Client::open(without_setting(url, "prefix")).unwrap().get_connection().unwrap();
    let names: Vec<String> = redis::cmd("KEYS").arg(format!("*{prefix}*")).query(&mut redis).unwrap();
    let mut all = String::new();
    for name in names {
        let kind: String = redis::cmd("TYPE").arg(&name).query(&mut redis).unwrap();
        let mut read = match kind.as_str() {
            "string" => redis::cmd("GET"),
            "hash" => redis::cmd("HGETALL"),
            "set" => redis::cmd("SMEMBERS"),
            _ => redis::cmd("ZRANGE"),
        };
        read.arg(&name);
        if kind == "zset" {
            read.arg(0).arg(-1);
        }
        let value: redis::Value = read.query(&mut redis).unwrap();
        all.push_str(&to_text(&value));
    }
    all
}

fn to_text(value: &redis::Value) -> String {
    match value {
        redis::Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned() + " ",
        redis::Value::Array(values) | redis::Value::Set(values) => values.iter().map(to_text).collect(),
        redis::Value::Map(pairs) => pairs.iter().flat_map(|(key, value)| [to_text(key), to_text(value)]).collect(),
        other => format!("{other:?}"),
    }
}
