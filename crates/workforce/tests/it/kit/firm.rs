//! The application on a real database, with a stage for dialogues and without a bot process. For tests of rooms.

use std::sync::Arc;

use opora::bot::Bot;
use opora::clock::Clock;
use opora::jobs::{JobRow, JobState};
use opora::store::Store;
use opora::testing::chat::{ChatUser, Stage};
use opora::testing::clock_at_noon;
use opora::turn::Context;
use opora_testkit::postgres_server::PostgresSchema;
use opora_testkit::redis_server::RedisNamespace;
use tempfile::TempDir;
use workforce::application::{self, App};
use workforce::config::{Config, Layer, Layers};
use workforce::domain::{Address, Domain};
use workforce::people::{self, Grant};
use workforce::person::Role;
use workforce::rooms::Rooms;
use workforce::texts::Language;

pub use opora::testing::NOON;

const SETTINGS: [(&str, &str); 2] = [("BOT_TOKEN", "7:stage"), ("PUBLIC_URL", "http://office.example")];

/// Makes each test function, which takes a [`StorageKind`], a test per kind. The usual run covers both databases and
/// both conversation stores; the other two combinations run with `cargo xtask test --all`.
macro_rules! on_every_database {
    ($($test:ident,)*) => {
        crate::kit::firm::on_databases! { [sqlite Sqlite, redis_and_postgres RedisAndPostgres] $($test,)* }
        crate::kit::firm::on_databases! { [all_postgres Postgres, all_redis_and_sqlite RedisAndSqlite] $($test,)* }
    };
}

/// The same for slower tests of whole processes: on SQLite, and on Redis with PostgreSQL.
macro_rules! embedded_and_on_servers {
    ($($test:ident,)*) => {
        crate::kit::firm::on_databases! { [sqlite Sqlite, redis_and_postgres RedisAndPostgres] $($test,)* }
    };
}

macro_rules! on_databases {
    ([$first:ident $First:ident, $second:ident $Second:ident] $($test:ident,)*) => {
        mod $first {
            $(#[tokio::test]
            async fn $test() {
                super::$test(crate::kit::firm::StorageKind::$First).await;
            })*
        }
        mod $second {
            $(#[tokio::test]
            async fn $test() {
                super::$test(crate::kit::firm::StorageKind::$Second).await;
            })*
        }
    };
}
pub(crate) use {embedded_and_on_servers, on_databases, on_every_database};

/// Where conversations and tables are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageKind {
    /// Both in one file.
    Sqlite,
    /// Both in one database.
    Postgres,
    RedisAndPostgres,
    RedisAndSqlite,
}

/// The databases, servers and data folder of one test. They are removed when it is dropped.
pub struct TestStorage {
    /// The value of `STATE_URL`.
    pub state: String,
    pub database: Address,
    pub folder: TempDir,
    _postgres: Option<PostgresSchema>,
    _redis: Option<RedisNamespace>,
}

/// The application, with a stage on which its people talk to the bot.
pub struct Firm {
    pub app: App,
    pub stage: Stage,
    // Dropped last.
    pub storage: TestStorage,
}

impl StorageKind {
    fn is_on_postgres(self) -> bool {
        matches!(self, Self::Postgres | Self::RedisAndPostgres)
    }
}

impl TestStorage {
    /// Empty storage: the first start creates the tables.
    pub async fn new(kind: StorageKind) -> Self {
        let postgres = if kind.is_on_postgres() { Some(PostgresSchema::new().await) } else { None };
        Self::on(kind, postgres)
    }

    /// Storage whose PostgreSQL has the application's tables, which saves the time to create them.
    pub async fn with_tables(kind: StorageKind) -> Self {
        let create_tables = async |url: String| {
            Domain::migrate(&Address::parse(&url).unwrap()).await.unwrap();
        };
        let postgres =
            if kind.is_on_postgres() { Some(PostgresSchema::with_tables(create_tables).await) } else { None };
        Self::on(kind, postgres)
    }

    fn on(kind: StorageKind, postgres: Option<PostgresSchema>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let redis =
            matches!(kind, StorageKind::RedisAndPostgres | StorageKind::RedisAndSqlite).then(RedisNamespace::new);
        let file = format!("sqlite:{}/opora.db", folder.path().display());
        let database = postgres.as_ref().map_or(file, |space| space.url.clone());
        let state = redis.as_ref().map_or_else(|| database.clone(), |space| space.url.clone());
        let database = Address::parse(&database).unwrap();
        Self { state, database, folder, _postgres: postgres, _redis: redis }
    }

    /// Uses an existing database and store. The caller keeps their servers alive.
    pub fn existing(state: String, database: Address, folder: TempDir) -> Self {
        Self { state, database, folder, _postgres: None, _redis: None }
    }

    /// The configuration of an application with this storage.
    pub fn config(&self, more: &[(&str, &str)]) -> Config {
        let (database, data_dir) = (self.database.url(), self.folder.path().to_str().unwrap());
        let own = [("STATE_URL", self.state.as_str()), ("DATABASE_URL", &database), ("DATA_DIR", data_dir)];
        let values = own.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let layer = Layer { origin: "a test".into(), values: values.collect() };
        Config::read(&Layers::new(vec![layer])).unwrap()
    }

    pub async fn domain(&self) -> Domain {
        Domain::open(&self.state, &self.database).await.unwrap()
    }
}

impl Firm {
    pub async fn open(kind: StorageKind) -> Self {
        Self::with_rooms(kind, Rooms::all()).await
    }

    pub async fn with_rooms(kind: StorageKind, rooms: Rooms) -> Self {
        Self::on_storage(TestStorage::with_tables(kind).await, rooms).await
    }

    pub async fn on_storage(storage: TestStorage, rooms: Rooms) -> Self {
        let domain = storage.domain().await;
        Self::assemble(storage, domain, rooms, clock_at_noon())
    }

    /// All rooms, with a layer between them and the store.
    pub async fn with_layer(
        storage: TestStorage,
        clock: Clock,
        layer: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
    ) -> Self {
        let store = layer(storage.domain().await.store().clone());
        let domain = Domain::with_store(&storage.database, store).await.unwrap();
        Self::assemble(storage, domain, Rooms::all(), clock)
    }

    fn assemble(storage: TestStorage, domain: Domain, rooms: Rooms, clock: Clock) -> Self {
        let store: Arc<dyn Store> = domain.store().clone();
        let config = storage.config(&SETTINGS);
        let app = App::new(&config, domain, rooms.clone(), Bot::new("7:stage").handle(), clock.clone());
        let context = Context::new().with(app.clone());
        let stage = Stage::on(application::script(&rooms), context, store, clock);
        Self { app, stage, storage }
    }

    /// The application as a second instance on the same database.
    pub async fn second_instance(&self) -> App {
        let config = self.storage.config(&SETTINGS);
        let (domain, rooms, clock) = (self.storage.domain().await, self.app.rooms.clone(), self.app.clock.clone());
        App::new(&config, domain, rooms, Bot::new("7:stage").handle(), clock)
    }

    /// Runs a scheduled job by its name, and everything else that is due. The job has to succeed.
    pub async fn run_job(&self, job: &str) {
        let row = self.try_job(job).await;
        assert_eq!(row.state, JobState::Completed, "{row:?}");
    }

    /// Like [`Firm::run_job`], and returns the job after the attempt.
    pub async fn try_job(&self, job: &str) -> JobRow {
        let jobs = self.app.rooms.jobs();
        let found = jobs.list().iter().find(|one| one.name == job);
        let new = found.unwrap_or_else(|| panic!("there is no job {job}")).job.clone();
        let enqueued = self.app.domain.store().enqueue_jobs(self.app.bot_id, vec![new], self.app.clock.now());
        let id = enqueued.await.unwrap()[0].id();
        let ran = self.stage.run_jobs(&jobs.workers()).await;
        ran.into_iter().find(|row| row.id == id).unwrap_or_else(|| panic!("{job} did not run"))
    }

    /// A person with these roles, whose Telegram is in English.
    pub async fn member(&self, name: &str, roles: &[Role]) -> ChatUser {
        let someone = self.stage.person(name);
        for role in roles {
            let (telegram_id, full_name) = (someone.key().user, name.to_owned());
            let grant = Grant { telegram_id, full_name, role: *role, language: Language::En, by: None };
            self.app.domain.write(move |db| Box::pin(people::grant(db, grant, NOON))).await.unwrap();
        }
        someone
    }
}
