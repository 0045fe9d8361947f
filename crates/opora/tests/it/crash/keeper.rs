//! Where a bot keeps its state: a file, or a server of the test's own, which can be killed and started again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use opora::store::with_setting;
use opora_testkit::postgres_server::{PostgresServer, PostgresSpace};
use opora_testkit::redis_server::RedisServer;
use parking_lot::Mutex;
use sqlx::{Connection, PgConnection, SqliteConnection};

/// Which kind of store it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    /// Whatever it has answered is on its disk.
    Redis,
    /// The same, and what is on its disk is noted; so it is of the next.
    RedisAlways,
    /// Its disk is up to a second behind.
    RedisEverySecond,
    /// The same, and the application's tables in PostgreSQL.
    RedisEverySecondAndPostgres,
    /// The same as `Redis`, with states in aiogram's keys.
    RedisAsAiogram,
    /// Perhaps with others' tables beside.
    Postgres,
    /// A server that a test may harm.
    OwnPostgres,
    /// Conversations in Redis, the application's tables in a file.
    RedisAndSqlite,
    /// Conversations in Redis, the application's tables in PostgreSQL.
    RedisAndPostgres,
    /// The same, on a PostgreSQL that nobody else uses.
    RedisAndOwnPostgres,
}

/// A store's file or server. The server ends with it.
pub struct Keeper {
    place: Place,
    /// Where instances keep what they know of their server.
    data: PathBuf,
}

enum Place {
    File(String),
    Redis(Mutex<RedisServer>, &'static str),
    Space(PostgresSpace),
    Postgres(Mutex<PostgresServer>),
    Pair(Mutex<RedisServer>, Box<Place>),
}

impl Keeper {
    /// Starts a server if the kind has one; `file` is where SQLite would keep everything.
    pub async fn start(kind: Kind, file: &Path) -> Self {
        Self { place: Place::start(kind, file).await, data: file.with_file_name("data") }
    }

    /// The address, as [`opora::store::open`] takes it.
    pub fn address(&self) -> String {
        match self.place.address() {
            file if file.starts_with("sqlite:") => file,
            server => with_setting(&server, "data", &self.data.display().to_string()),
        }
    }

    /// The address of a server without a word of where files are kept, and the folder that [`Self::address`] names.
    pub fn apart(&self) -> (String, &Path) {
        (self.place.address(), self.data.as_path())
    }

    /// The address of the application's tables, if they are elsewhere.
    pub fn database(&self) -> Option<String> {
        match &self.place {
            Place::Pair(_, database) => Some(database.address()),
            _ => None,
        }
    }

    /// Whether the application has tables: a Redis alone has none.
    pub fn has_tables(&self) -> bool {
        !matches!(self.place, Place::Redis(..))
    }

    /// The numbers of messages that are noted as sent on this machine; whether they are settled, only the store knows.
    pub fn noted(&self) -> BTreeSet<i64> {
        let (folder, begins) = match &self.place {
            Place::File(url) => {
                let database = Path::new(url.trim_start_matches("sqlite:"));
                let name = database.file_name().unwrap().to_str().unwrap();
                (database.parent().unwrap(), format!("{name}-sent-"))
            }
            _ => (&*self.data, String::new()),
        };
        noted_in(folder, &begins)
    }

    /// The same with those of whatever else is kept beside it, such as a journal.
    pub fn noted_everywhere(&self) -> BTreeSet<i64> {
        let beside = self.data.parent().unwrap();
        noted_in(&self.data, "").into_iter().chain(noted_in(beside, "")).collect()
    }

    /// The port of the server that keeps the state.
    pub fn port(&self) -> u16 {
        self.place.port()
    }

    /// Kills the server, and every process of it, with what cannot be caught.
    pub fn kill(&self) {
        self.place.kill();
    }

    /// Starts the server again on what it has kept. Not within a task: PostgreSQL ends with the thread that started it.
    pub fn start_again(&self) {
        self.place.start_again();
    }

    /// Kills the server of the application's tables, where it is another one, as [`Self::kill`] does.
    pub fn kill_database(&self) {
        self.place.database().kill();
    }

    /// The same for [`Self::start_again`].
    pub fn start_database_again(&self) {
        self.place.database().start_again();
    }

    /// The server that keeps the state, if it is a Redis.
    pub fn redis(&self) -> &Mutex<RedisServer> {
        match &self.place {
            Place::Redis(server, _) | Place::Pair(server, _) => server,
            Place::File(_) | Place::Space(_) | Place::Postgres(_) => panic!("this is no Redis"),
        }
    }

    /// Whether nobody is in the midst of a write. A Redis never is: a write is one call.
    pub async fn is_free(&self) -> bool {
        self.place.is_free().await
    }

    /// Numbers that a query of the application's own finds; none in Redis, where it has no tables.
    pub async fn numbers(&self, query: &'static str) -> Vec<i64> {
        self.place.numbers(query).await
    }
}

/// The numbers in the notes of a folder whose names begin so.
fn noted_in(folder: &Path, begins: &str) -> BTreeSet<i64> {
    let Ok(files) = std::fs::read_dir(folder) else { return BTreeSet::new() };
    let is_note = |file: &PathBuf| {
        let name = file.file_name().unwrap().to_string_lossy();
        name.starts_with(begins) && name.contains("-sent-")
    };
    // A number that was cut off is not one.
    let ids = |bytes: Vec<u8>| bytes.as_chunks().0.iter().map(|id| i64::from_le_bytes(*id)).collect::<Vec<_>>();
    let files = files.map(|file| file.unwrap().path()).filter(is_note);
    // One that went meanwhile has nothing to say.
    files.filter_map(|file| std::fs::read(file).ok()).flat_map(ids).collect()
}

impl Place {
    async fn start(kind: Kind, file: &Path) -> Self {
        let settings = |fsync: &'static str| ["--appendonly", "yes", "--appendfsync", fsync];
        let server = |fsync| Mutex::new(RedisServer::start(&settings(fsync)));
        let noted = |fsync| Mutex::new(RedisServer::start_with_flushes_noted(&settings(fsync)));
        let in_a_file = || Self::File(format!("sqlite:{}", file.display()));
        match kind {
            Kind::Sqlite => in_a_file(),
            Kind::Redis => Self::Redis(server("always"), ""),
            Kind::RedisAsAiogram => Self::Redis(server("always"), "?layout=aiogram&with_bot_id=1"),
            Kind::RedisAlways => Self::Redis(noted("always"), ""),
            Kind::RedisEverySecond => Self::Redis(noted("everysec"), ""),
            Kind::RedisAndSqlite => Self::Pair(server("always"), Box::new(in_a_file())),
            Kind::RedisAndPostgres => Self::Pair(server("always"), Box::new(Self::Space(PostgresSpace::new().await))),
            Kind::RedisEverySecondAndPostgres => {
                Self::Pair(server("everysec"), Box::new(Self::Space(PostgresSpace::new().await)))
            }
            Kind::RedisAndOwnPostgres => {
                Self::Pair(server("always"), Box::new(Self::Postgres(Mutex::new(PostgresServer::start(&[])))))
            }
            Kind::Postgres => Self::Space(PostgresSpace::new().await),
            Kind::OwnPostgres => Self::Postgres(Mutex::new(PostgresServer::start(&[]))),
        }
    }

    /// The address, without a word of where files are kept.
    fn address(&self) -> String {
        match self {
            Self::File(url) => url.clone(),
            Self::Redis(server, settings) => server.lock().url() + settings,
            Self::Pair(server, _) => server.lock().url(),
            Self::Space(space) => space.url.clone(),
            Self::Postgres(server) => server.lock().url(),
        }
    }

    /// Where the application's tables are, if that is elsewhere.
    fn database(&self) -> &Self {
        let Self::Pair(_, database) = self else { panic!("these have no server of their own") };
        database
    }

    fn port(&self) -> u16 {
        match self {
            Self::File(_) | Self::Space(_) => panic!("this is no server of the test's own"),
            Self::Redis(server, _) | Self::Pair(server, _) => server.lock().port(),
            Self::Postgres(server) => server.lock().port(),
        }
    }

    fn kill(&self) {
        match self {
            Self::File(_) | Self::Space(_) => panic!("this is no server of the test's own"),
            Self::Redis(server, _) | Self::Pair(server, _) => server.lock().kill(),
            Self::Postgres(server) => server.lock().kill_all(),
        }
    }

    fn start_again(&self) {
        match self {
            Self::File(_) | Self::Space(_) => panic!("this is no server of the test's own"),
            Self::Redis(server, _) | Self::Pair(server, _) => server.lock().start_again(),
            Self::Postgres(server) => server.lock().start_again(),
        }
    }

    async fn is_free(&self) -> bool {
        match self {
            Self::File(url) => is_file_free(url).await,
            Self::Redis(..) => true,
            Self::Pair(_, database) => Box::pin(database.is_free()).await,
            Self::Space(_) => panic!("others may be writing here"),
            Self::Postgres(_) => {
                let held = "
                    SELECT (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')
                         + (SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%')";
                numbers_at(&self.address(), held).await == [0]
            }
        }
    }

    async fn numbers(&self, query: &'static str) -> Vec<i64> {
        match self {
            Self::Redis(..) => Vec::new(),
            Self::Pair(_, database) => Box::pin(database.numbers(query)).await,
            Self::File(_) | Self::Space(_) | Self::Postgres(_) => numbers_at(&self.address(), query).await,
        }
    }
}

/// Numbers that a query finds in a database, a file or on a server.
pub async fn numbers_at(url: &str, query: &'static str) -> Vec<i64> {
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

/// Whether nobody is in the midst of a write to this file.
pub async fn is_file_free(url: &str) -> bool {
    let mut database = SqliteConnection::connect(url).await.unwrap();
    sqlx::query("PRAGMA busy_timeout = 20").execute(&mut database).await.unwrap();
    let is_free = match database.begin_with("BEGIN IMMEDIATE").await {
        Ok(transaction) => transaction.rollback().await.is_ok(),
        Err(_) => false,
    };
    database.close().await.unwrap();
    is_free
}
