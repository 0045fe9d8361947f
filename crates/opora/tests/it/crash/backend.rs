//! The backend of a bot's store: a file, or a server of the test's own, which can be killed and started again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use opora::store::with_setting;
use opora_testkit::postgres_server::{PostgresSchema, PostgresServer};
use opora_testkit::redis_server::RedisServer;
use parking_lot::Mutex;
use sqlx::{Connection, PgConnection, SqliteConnection};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    Sqlite,
    /// Every answer is on its disk.
    Redis,
    /// Like `Redis`, with recorded flushes.
    RedisAlways,
    /// Its disk may be up to a second behind. Flushes are recorded.
    RedisEverySecond,
    /// Like `RedisEverySecond`, with the application's tables in PostgreSQL and without recorded flushes.
    RedisEverySecondAndPostgres,
    /// Like `Redis`, with states in aiogram's keys.
    RedisAsAiogram,
    /// A schema in a shared PostgreSQL.
    Postgres,
    /// A PostgreSQL of the test's own, which it may kill.
    OwnPostgres,
    /// Conversations in Redis, the application's tables in a file.
    RedisAndSqlite,
    /// Conversations in Redis, the application's tables in PostgreSQL.
    RedisAndPostgres,
    /// Like `RedisAndPostgres`, on a PostgreSQL of the test's own.
    RedisAndOwnPostgres,
}

/// The file or server of a store. The server ends with it.
pub struct Backend {
    servers: Servers,
    /// Where instances store their last-seen records and sent logs.
    data: PathBuf,
}

enum Servers {
    File(String),
    Redis(Mutex<RedisServer>, &'static str),
    Schema(PostgresSchema),
    Postgres(Mutex<PostgresServer>),
    Pair(Mutex<RedisServer>, Box<Servers>),
}

impl Backend {
    /// Starts a server if the kind needs one. `file` is the path of a SQLite database.
    pub async fn start(kind: StoreKind, file: &Path) -> Self {
        Self { servers: Servers::start(kind, file).await, data: file.with_file_name("data") }
    }

    pub fn address(&self) -> String {
        match self.servers.address() {
            file if file.starts_with("sqlite:") => file,
            server => with_setting(&server, "data", &self.data.display().to_string()),
        }
    }

    /// The address of the server without the folder for files, and that folder.
    pub fn address_and_folder(&self) -> (String, &Path) {
        (self.servers.address(), self.data.as_path())
    }

    /// The address of the application's tables, if they are in another database.
    pub fn database(&self) -> Option<String> {
        match &self.servers {
            Servers::Pair(_, database) => Some(database.address()),
            _ => None,
        }
    }

    /// Whether the application has tables. With Redis alone it has none.
    pub fn has_tables(&self) -> bool {
        !matches!(self.servers, Servers::Redis(..))
    }

    /// The ids of messages in the sent logs of this machine. Only the store knows whether they are settled.
    pub fn sent_log_ids(&self) -> BTreeSet<i64> {
        let (folder, begins) = match &self.servers {
            Servers::File(url) => {
                let database = Path::new(url.trim_start_matches("sqlite:"));
                let name = database.file_name().unwrap().to_str().unwrap();
                (database.parent().unwrap(), format!("{name}-sent-"))
            }
            _ => (&*self.data, String::new()),
        };
        sent_log_ids_in(folder, &begins)
    }

    /// Like [`Self::sent_log_ids`], with the sent logs of a journal beside it.
    pub fn all_sent_log_ids(&self) -> BTreeSet<i64> {
        let beside = self.data.parent().unwrap();
        sent_log_ids_in(&self.data, "").into_iter().chain(sent_log_ids_in(beside, "")).collect()
    }

    pub fn port(&self) -> u16 {
        self.servers.port()
    }

    /// Kills all processes of the conversations' server with SIGKILL.
    pub fn kill(&self) {
        self.servers.kill();
    }

    /// Starts the server again on its files. Not within a task: PostgreSQL ends with the thread that started it.
    pub fn start_again(&self) {
        self.servers.start_again();
    }

    pub fn kill_database(&self) {
        self.servers.database().kill();
    }

    pub fn start_database_again(&self) {
        self.servers.database().start_again();
    }

    pub fn redis(&self) -> &Mutex<RedisServer> {
        match &self.servers {
            Servers::Redis(server, _) | Servers::Pair(server, _) => server,
            Servers::File(_) | Servers::Schema(_) | Servers::Postgres(_) => panic!("not a Redis"),
        }
    }

    /// Whether no write is under way. With Redis this is always true: a write is one call.
    pub async fn is_idle(&self) -> bool {
        self.servers.is_idle().await
    }

    /// The numbers that a query on the application's tables returns. None with Redis alone.
    pub async fn query_numbers(&self, query: &'static str) -> Vec<i64> {
        self.servers.query_numbers(query).await
    }
}

/// The ids in the sent logs of a folder whose file names begin with `begins`.
fn sent_log_ids_in(folder: &Path, begins: &str) -> BTreeSet<i64> {
    let Ok(files) = std::fs::read_dir(folder) else { return BTreeSet::new() };
    let is_sent_log = |file: &PathBuf| {
        let name = file.file_name().unwrap().to_string_lossy();
        name.starts_with(begins) && name.contains("-sent-")
    };
    // An incomplete id at the end is ignored.
    let ids = |bytes: Vec<u8>| bytes.as_chunks().0.iter().map(|id| i64::from_le_bytes(*id)).collect::<Vec<_>>();
    let files = files.map(|file| file.unwrap().path()).filter(is_sent_log);
    // A file may have been removed in the meantime.
    files.filter_map(|file| std::fs::read(file).ok()).flat_map(ids).collect()
}

impl Servers {
    async fn start(kind: StoreKind, file: &Path) -> Self {
        let settings = |fsync: &'static str| ["--appendonly", "yes", "--appendfsync", fsync];
        let server = |fsync| Mutex::new(RedisServer::start(&settings(fsync)));
        let recorded = |fsync| Mutex::new(RedisServer::start_with_flush_log(&settings(fsync)));
        let in_a_file = || Self::File(format!("sqlite:{}", file.display()));
        match kind {
            StoreKind::Sqlite => in_a_file(),
            StoreKind::Redis => Self::Redis(server("always"), ""),
            StoreKind::RedisAsAiogram => Self::Redis(server("always"), "?layout=aiogram&with_bot_id=1"),
            StoreKind::RedisAlways => Self::Redis(recorded("always"), ""),
            StoreKind::RedisEverySecond => Self::Redis(recorded("everysec"), ""),
            StoreKind::RedisAndSqlite => Self::Pair(server("always"), Box::new(in_a_file())),
            StoreKind::RedisAndPostgres => {
                Self::Pair(server("always"), Box::new(Self::Schema(PostgresSchema::new().await)))
            }
            StoreKind::RedisEverySecondAndPostgres => {
                Self::Pair(server("everysec"), Box::new(Self::Schema(PostgresSchema::new().await)))
            }
            StoreKind::RedisAndOwnPostgres => {
                Self::Pair(server("always"), Box::new(Self::Postgres(Mutex::new(PostgresServer::start(&[])))))
            }
            StoreKind::Postgres => Self::Schema(PostgresSchema::new().await),
            StoreKind::OwnPostgres => Self::Postgres(Mutex::new(PostgresServer::start(&[]))),
        }
    }

    /// The address, without the folder for files.
    fn address(&self) -> String {
        match self {
            Self::File(url) => url.clone(),
            Self::Redis(server, settings) => server.lock().url() + settings,
            Self::Pair(server, _) => server.lock().url(),
            Self::Schema(schema) => schema.url.clone(),
            Self::Postgres(server) => server.lock().url(),
        }
    }

    /// The backend of the application's tables, if it is another one.
    fn database(&self) -> &Self {
        let Self::Pair(_, database) = self else { panic!("the tables have no backend of their own") };
        database
    }

    fn port(&self) -> u16 {
        match self {
            Self::File(_) | Self::Schema(_) => panic!("not a server of the test's own"),
            Self::Redis(server, _) | Self::Pair(server, _) => server.lock().port(),
            Self::Postgres(server) => server.lock().port(),
        }
    }

    fn kill(&self) {
        match self {
            Self::File(_) | Self::Schema(_) => panic!("not a server of the test's own"),
            Self::Redis(server, _) | Self::Pair(server, _) => server.lock().kill(),
            Self::Postgres(server) => server.lock().kill_all(),
        }
    }

    fn start_again(&self) {
        match self {
            Self::File(_) | Self::Schema(_) => panic!("not a server of the test's own"),
            Self::Redis(server, _) | Self::Pair(server, _) => server.lock().start_again(),
            Self::Postgres(server) => server.lock().start_again(),
        }
    }

    async fn is_idle(&self) -> bool {
        match self {
            Self::File(url) => is_file_idle(url).await,
            Self::Redis(..) => true,
            Self::Pair(_, database) => Box::pin(database.is_idle()).await,
            Self::Schema(_) => panic!("other tests may be writing here"),
            Self::Postgres(_) => {
                let under_way = "
                    SELECT (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')
                         + (SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%')";
                query_numbers_at(&self.address(), under_way).await == [0]
            }
        }
    }

    async fn query_numbers(&self, query: &'static str) -> Vec<i64> {
        match self {
            Self::Redis(..) => Vec::new(),
            Self::Pair(_, database) => Box::pin(database.query_numbers(query)).await,
            Self::File(_) | Self::Schema(_) | Self::Postgres(_) => query_numbers_at(&self.address(), query).await,
        }
    }
}

pub async fn query_numbers_at(url: &str, query: &'static str) -> Vec<i64> {
    if url.starts_with("sqlite:") {
        let mut database = SqliteConnection::connect(url).await.unwrap();
        let numbers = sqlx::query_scalar(query).fetch_all(&mut database).await.unwrap();
        database.close().await.unwrap();
        return numbers;
    }
    let mut database = PgConnection::connect(url).await.unwrap();
    let numbers = sqlx::query_scalar(query).fetch_all(&mut database).await.unwrap();
    database.close().await.unwrap();
    numbers
}

/// Whether no write to this SQLite file is under way.
pub async fn is_file_idle(url: &str) -> bool {
    let mut database = SqliteConnection::connect(url).await.unwrap();
    sqlx::query("PRAGMA busy_timeout = 20").execute(&mut database).await.unwrap();
    let is_idle = match database.begin_with("BEGIN IMMEDIATE").await {
        Ok(transaction) => transaction.rollback().await.is_ok(),
        Err(_) => false,
    };
    database.close().await.unwrap();
    is_idle
}
