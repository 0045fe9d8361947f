//! The decision store: conversations in Redis, the application's tables in SQL.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use opora::clock::Millis;
use opora::key::ConversationKey;
use opora::store::{
    Commit, Committed, DecisionStore, DomainWrites, Epoch, InputRef, LeaseAnswer, Mark, Opened, OutboxId,
    PostgresStore, RedisStore, SqliteStore, StateChange, StateName, Store, StoreResult, StoredState, Version,
};
use opora::testing::holder;
use opora_testkit::postgres_server::{PostgresSchema, PostgresServer};
use opora_testkit::redis_server::RedisServer;
use parking_lot::Mutex;
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};

use crate::postgres_store::message;

mod addresses;
mod cleaning;
mod fences;
mod loss;
mod lost_answers;
mod lost_database;
mod outage;
pub mod separate_stores;
mod writes;

const BOT: i64 = 7_000_000_001;
const NOW: Millis = Millis(1_700_000_000_000);

/// Makes a test of each function on either database.
macro_rules! on_both_databases {
    ($($name:ident,)*) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name(crate::decisions::Tables::in_a_file()).await;
            })*
        }

        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                super::$name(crate::decisions::Tables::in_a_schema().await).await;
            })*
        }
    };
}
use on_both_databases;

/// The application's tables. They are removed with the test.
pub enum Tables {
    File(tempfile::TempDir),
    Schema(PostgresSchema),
    Server(PostgresServer),
}

/// A Redis of the test's own and a database.
struct Fixture {
    redis: Arc<Mutex<RedisServer>>,
    tables: Tables,
}

impl Tables {
    pub fn in_a_file() -> Self {
        Self::File(tempfile::tempdir().unwrap())
    }

    pub async fn in_a_schema() -> Self {
        Self::Schema(PostgresSchema::new().await)
    }

    fn path(&self) -> Option<PathBuf> {
        match self {
            Self::File(folder) => Some(folder.path().join("tables.db")),
            Self::Schema(_) | Self::Server(_) => None,
        }
    }

    pub fn url(&self) -> String {
        match self {
            Self::File(_) => format!("sqlite:{}", self.path().unwrap().display()),
            Self::Schema(space) => space.url.clone(),
            Self::Server(server) => server.url(),
        }
    }

    /// Runs a statement on the database.
    pub async fn execute(&self, statement: &str) {
        let statement = sqlx::raw_sql(AssertSqlSafe(statement.to_owned()));
        if self.path().is_some() {
            statement.execute(&mut SqliteConnection::connect(&self.url()).await.unwrap()).await.unwrap();
        } else {
            statement.execute(&mut PgConnection::connect(&self.url()).await.unwrap()).await.unwrap();
        }
    }

    /// The number that a query returns.
    pub async fn number(&self, query: &'static str) -> i64 {
        if self.path().is_some() {
            let mut database = SqliteConnection::connect(&self.url()).await.unwrap();
            sqlx::query_scalar(query).fetch_one(&mut database).await.unwrap()
        } else {
            let mut database = PgConnection::connect(&self.url()).await.unwrap();
            sqlx::query_scalar(query).fetch_one(&mut database).await.unwrap()
        }
    }

    /// How often the application has written.
    pub async fn notes(&self) -> i64 {
        self.number("SELECT count(*) FROM notes").await
    }
}

impl Fixture {
    /// With the application's table and no open store.
    async fn new(tables: Tables) -> Self {
        let redis = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
        let fixture = Self { redis: Arc::new(Mutex::new(redis)), tables };
        fixture.store().await.close().await.unwrap();
        fixture.tables.execute("CREATE TABLE notes (person BIGINT NOT NULL)").await;
        fixture
    }

    async fn store(&self) -> DecisionStore {
        let url = self.redis_url();
        self.store_at(&url, &self.tables.url()).await
    }

    /// A store that uses other addresses of its servers.
    async fn store_at(&self, redis: &str, database: &str) -> DecisionStore {
        let redis = RedisStore::open(redis).await.unwrap();
        match self.tables.path() {
            Some(path) => DecisionStore::open(redis, SqliteStore::open(&path).await.unwrap()).await.unwrap(),
            None => DecisionStore::open(redis, PostgresStore::open(database).await.unwrap()).await.unwrap(),
        }
    }

    fn redis_url(&self) -> String {
        self.redis.lock().url()
    }

    /// The store as an operator's tool opens it.
    async fn plain_redis(&self) -> RedisStore {
        RedisStore::open(&self.redis_url()).await.unwrap()
    }
}

/// Claims the lease, also from another holder.
async fn claim(store: &impl Store, token: &str) -> Epoch {
    match try_claim(store, token).await.unwrap() {
        LeaseAnswer::Granted(epoch) => epoch,
        LeaseAnswer::Held(lease) => panic!("{lease:?} holds it"),
    }
}

async fn try_claim(store: &impl Store, token: &str) -> StoreResult<LeaseAnswer> {
    let seen = store.lease(BOT).await?;
    store.claim(BOT, &holder(token), seen.as_ref()).await
}

/// A turn that processes an update, sends a message, and enters a state named after the update.
fn turn(person: i64, update_id: i64, from: Version) -> Commit {
    let state = format!("after-{update_id}");
    Commit {
        processed: vec![InputRef::DirectUpdate(mark(update_id))],
        state: StateChange::Set(at_state(&state)),
        outgoing: vec![message(person, &state)],
        ..Commit::new(key(person), from, NOW)
    }
}

/// Like [`turn`], with a write of the application.
fn writing_turn(person: i64, update_id: i64, from: Version) -> Commit {
    Commit { writes: Some(note(person)), ..turn(person, update_id, from) }
}

async fn write_turn(store: &impl Store, epoch: Epoch, person: i64, update_id: i64) -> StoreResult<Committed> {
    let (version, _) = version_and_state(store, person).await;
    store.commit(epoch, writing_turn(person, update_id, version)).await
}

/// A write of the application.
fn note(person: i64) -> DomainWrites {
    DomainWrites::new(move |database| {
        Box::pin(async move {
            let insert = "INSERT INTO notes VALUES ($1)";
            if database.is_postgres() {
                sqlx::query(insert).bind(person).execute(database.postgres()).await?;
            } else {
                sqlx::query(insert).bind(person).execute(database.sqlite()).await?;
            }
            Ok(())
        })
    })
}

/// A write of the application during which Redis is killed.
fn note_and_kill(fixture: &Fixture, person: i64) -> DomainWrites {
    let redis = Arc::clone(&fixture.redis);
    DomainWrites::new(move |database| {
        Box::pin(async move {
            note(person).run(database).await?;
            redis.lock().kill();
            Ok(())
        })
    })
}

/// The version of a conversation and the name of its state.
async fn version_and_state(store: &impl Store, person: i64) -> (Version, Option<String>) {
    match store.open(&key(person), None).await.unwrap() {
        Opened::At { version, stored } => (version, stored.map(|stored| stored.states[0].state.to_string())),
        Opened::AlreadyProcessed => panic!("asked without a mark"),
    }
}

async fn is_processed(store: &impl Store, person: i64, update_id: i64) -> bool {
    store.open(&key(person), Some(&mark(update_id))).await.unwrap() == Opened::AlreadyProcessed
}

/// Waits until the store reaches a restarted Redis.
async fn found_again(store: &impl Store) {
    let finding = async {
        while store.lease(BOT).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), finding).await.expect("Redis is there again");
}

/// The texts of unsent messages.
async fn unsent(store: &impl Store) -> Vec<String> {
    let rows = store.unsent(BOT, OutboxId(0), 1_000).await.unwrap();
    let text = |row: &opora::store::OutboxRow| {
        let body: serde_json::Value = serde_json::from_str(&row.outgoing.body).unwrap();
        body["text"].as_str().unwrap().to_owned()
    };
    rows.iter().map(text).collect()
}

fn key(person: i64) -> ConversationKey {
    ConversationKey::private(BOT, person)
}

fn mark(update_id: i64) -> Mark {
    Mark { bot: BOT, update_id, identity: format!("message:{update_id}").into() }
}

fn at_state(state: &str) -> StoredState {
    let place = StateName { dialogue: "survey".into(), state: state.into() };
    StoredState { value: "{}".into(), states: vec![place], expires_at: None }
}
