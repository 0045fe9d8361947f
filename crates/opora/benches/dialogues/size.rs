//! The size of a store, asked of its database, and the address of a second store beside one.

use std::fs;
use std::path::Path;
use std::time::Duration;

use sqlx::{Connection, PgConnection, Row, SqliteConnection};

/// How long a server may take to finish its background work.
const BACKGROUND_WORK_TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) struct Size {
    bytes: f64,
    /// Where the data is.
    pub(crate) place: &'static str,
}

impl Size {
    pub(crate) async fn of(address: &str) -> Self {
        match Kind::of(address) {
            Kind::Sqlite(path) => Self { bytes: fs::metadata(path).unwrap().len() as f64, place: "on the disk" },
            Kind::Postgres => {
                let mut connection = PgConnection::connect(address).await.unwrap();
                let size = sqlx::query("SELECT pg_database_size(current_database())");
                let bytes: i64 = size.fetch_one(&mut connection).await.unwrap().get(0);
                Self { bytes: bytes as f64, place: "on the disk" }
            }
            Kind::Redis => {
                Self { bytes: info_number(address, "memory", "used_memory").await, place: "of Redis' memory" }
            }
            Kind::Memory => Self { bytes: crate::process::resident_bytes(), place: "of this process" },
        }
    }

    pub(crate) fn larger_by(&self, other: &Self) -> f64 {
        self.bytes - other.bytes
    }
}

/// The address of an empty store on the same server, or beside the same file.
pub(crate) async fn beside(address: &str) -> String {
    let (server, name) = address.rsplit_once('/').unwrap();
    match Kind::of(address) {
        Kind::Memory => address.to_owned(),
        Kind::Sqlite(_) => format!("{address}-many"),
        Kind::Redis => format!("{server}/{}", name.parse::<u8>().unwrap_or(0) + 1),
        Kind::Postgres => {
            let mut connection = PgConnection::connect(address).await.unwrap();
            sqlx::query("CREATE DATABASE opora_many").execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
            format!("{server}/opora_many")
        }
    }
}

/// Lets a database finish its background work: vacuum, checkpoint, rewrite of the log.
pub(crate) async fn finish_background_work(address: &str) {
    match Kind::of(address) {
        Kind::Sqlite(path) => {
            let mut connection = SqliteConnection::connect(path.to_str().unwrap()).await.unwrap();
            sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        }
        Kind::Postgres => {
            let mut connection = PgConnection::connect(address).await.unwrap();
            sqlx::query("VACUUM (ANALYZE)").execute(&mut connection).await.unwrap();
            sqlx::query("CHECKPOINT").execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        }
        Kind::Redis => {
            let until = tokio::time::Instant::now() + BACKGROUND_WORK_TIMEOUT;
            while info_number(address, "persistence", "aof_rewrite_in_progress").await > 0.0 {
                assert!(tokio::time::Instant::now() < until, "Redis does not finish rewriting its log");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
        Kind::Memory => {}
    }
}

enum Kind<'a> {
    Memory,
    Sqlite(&'a Path),
    Redis,
    Postgres,
}

impl<'a> Kind<'a> {
    fn of(address: &'a str) -> Self {
        match address.split_once(':').unwrap() {
            ("sqlite", path) => Self::Sqlite(Path::new(path)),
            ("redis", _) => Self::Redis,
            ("postgres", _) => Self::Postgres,
            _ => Self::Memory,
        }
    }
}

async fn info_number(address: &str, section: &str, name: &str) -> f64 {
    let client = redis::Client::open(address).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let info: String = redis::cmd("INFO").arg(section).query_async(&mut connection).await.unwrap();
    let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap().trim().parse().unwrap()
}
