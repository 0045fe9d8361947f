//! The application over a real database, with a stage to talk on and no process: for tests of rooms.

use std::sync::Arc;

use opora::bot::Bot;
use opora::store::Store;
use opora::testing::chat::{Someone, Stage};
use opora::testing::clock_at_noon;
use opora::turn::Context;
use opora_testkit::postgres_server::PostgresSpace;
use opora_testkit::redis_server::RedisSpace;
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

/// Runs tests wherever conversations and tables may be; each is a function of the [`Kind`]. The usual run takes both
/// databases and both kinds of conversation stores; the other two combinations are for `cargo xtask test --all`.
macro_rules! on_every_database {
    ($($test:ident,)*) => {
        crate::kit::firm::on_databases! { [sqlite Sqlite, redis_and_postgres RedisAndPostgres] $($test,)* }
        crate::kit::firm::on_databases! { [all_postgres Postgres, all_redis_and_sqlite RedisAndSqlite] $($test,)* }
    };
}

/// The same for tests of whole processes, which take longer: embedded, and on servers of both kinds.
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
                super::$test(crate::kit::firm::Kind::$First).await;
            })*
        }
        mod $second {
            $(#[tokio::test]
            async fn $test() {
                super::$test(crate::kit::firm::Kind::$Second).await;
            })*
        }
    };
}
pub(crate) use {embedded_and_on_servers, on_databases, on_every_database};

/// Where conversations and tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Both in one file.
    Sqlite,
    /// Both in one database.
    Postgres,
    RedisAndPostgres,
    RedisAndSqlite,
}

/// Servers and folders of one test. They go with it.
pub struct Ground {
    /// As `STATE_URL` names it.
    pub state: String,
    pub database: Address,
    pub folder: TempDir,
    _postgres: Option<PostgresSpace>,
    _redis: Option<RedisSpace>,
}

/// The application, and its people on a stage.
pub struct Firm {
    pub app: App,
    pub stage: Stage,
    // Dropped last.
    pub _ground: Ground,
}

impl Ground {
    pub async fn new(kind: Kind) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let postgres = match kind {
            Kind::Postgres | Kind::RedisAndPostgres => Some(PostgresSpace::new().await),
            Kind::Sqlite | Kind::RedisAndSqlite => None,
        };
        let redis = matches!(kind, Kind::RedisAndPostgres | Kind::RedisAndSqlite).then(RedisSpace::new);
        let file = format!("sqlite:{}/opora.db", folder.path().display());
        let database = postgres.as_ref().map_or(file, |space| space.url.clone());
        let state = redis.as_ref().map_or_else(|| database.clone(), |space| space.url.clone());
        let database = Address::parse(&database).unwrap();
        Self { state, database, folder, _postgres: postgres, _redis: redis }
    }

    /// A database and a store that are there already; the caller keeps their servers.
    pub fn at(state: String, database: Address, folder: TempDir) -> Self {
        Self { state, database, folder, _postgres: None, _redis: None }
    }

    /// The configuration of an application on this ground.
    pub fn config(&self, more: &[(&str, &str)]) -> Config {
        let (database, data_dir) = (self.database.url(), self.folder.path().to_str().unwrap());
        let here = [("STATE_URL", self.state.as_str()), ("DATABASE_URL", &database), ("DATA_DIR", data_dir)];
        let values = here.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let layer = Layer { origin: "a test".into(), values: values.collect() };
        Config::read(&Layers::new(vec![layer])).unwrap()
    }

    pub async fn domain(&self) -> Domain {
        Domain::open(&self.state, &self.database).await.unwrap()
    }
}

impl Firm {
    pub async fn open(kind: Kind) -> Self {
        Self::with(kind, Rooms::all()).await
    }

    pub async fn with(kind: Kind, rooms: Rooms) -> Self {
        Self::on(Ground::new(kind).await, rooms).await
    }

    pub async fn on(ground: Ground, rooms: Rooms) -> Self {
        let domain = ground.domain().await;
        let clock = clock_at_noon();
        let store: Arc<dyn Store> = domain.store().clone();
        let config = ground.config(&SETTINGS);
        let app = App::new(&config, domain, rooms.clone(), Bot::new("7:stage").handle(), clock.clone());
        let context = Context::new().with(app.clone());
        let stage = Stage::on(application::script(&rooms), context, store, clock);
        Self { app, stage, _ground: ground }
    }

    /// The pages of another process on the same database.
    pub async fn beside(&self) -> App {
        let config = self._ground.config(&SETTINGS);
        let (domain, rooms, clock) = (self._ground.domain().await, self.app.rooms.clone(), self.app.clock.clone());
        App::new(&config, domain, rooms, Bot::new("7:stage").handle(), clock)
    }

    /// Runs a job as the schedule does: by its name.
    pub async fn works(&self, job: &str) {
        let found = self.app.rooms.jobs().into_iter().find(|one| one.name == job);
        let found = found.unwrap_or_else(|| panic!("there is no job {job}"));
        (found.run)(self.app.clone()).await.unwrap();
    }

    /// Somebody who works here in these roles, and whose Telegram is in English.
    pub async fn member(&self, name: &str, roles: &[Role]) -> Someone {
        let someone = self.stage.person(name);
        for role in roles {
            let (telegram_id, full_name) = (someone.key().user, name.to_owned());
            let grant = Grant { telegram_id, full_name, role: *role, language: Language::En, by: None };
            self.app.domain.write(move |db| Box::pin(people::grant(db, grant, NOON))).await.unwrap();
        }
        someone
    }
}
