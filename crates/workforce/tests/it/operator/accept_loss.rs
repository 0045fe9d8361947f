//! `state accept`: a Redis that lost data which a bot has seen, and a PostgreSQL with another generation.

use std::sync::Arc;

use opora::clock::{Clock, Millis};
use opora::instance::{LeaseSettings, NotLeading, lead};
use opora::store::{
    Commit, DomainWrites, OpenError, Opened, RedisStore, StateChange, StateName, Store, StoreError, StoredState,
    Version, open_with_database,
};
use opora_testkit::postgres_server::{PostgresSchema, query};
use opora_testkit::redis_server::RedisServer;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use workforce::domain::{Address, Domain};

use super::{BOT, key, run};

/// A bot runs five turns, then its Redis is emptied.
async fn fill_and_empty(server: &RedisServer, address: &str) {
    let store: Arc<dyn Store> = Arc::new(RedisStore::open(address).await.unwrap());
    let stop = CancellationToken::new();
    let bot = lead(&store, BOT, &LeaseSettings::default(), &Clock::machine(), &stop).await.unwrap();
    for turn in 0..5 {
        store.commit(bot.epoch, Commit::new(key("1:5:5"), Version(turn), Millis(1))).await.unwrap();
    }
    store.close().await.unwrap();
    server.command(&["FLUSHALL"]);
}

#[tokio::test]
async fn a_loss_is_shown_and_accepted_only_with_yes() {
    let (folder, server) = (tempfile::tempdir().unwrap(), RedisServer::start(&[]));
    let data = folder.path().join("data").display().to_string();
    let address = format!("{}?data={data}", server.url());
    fill_and_empty(&server, &address).await;
    let accept = ["state", "accept", "--store", &address, "--data", &data];
    let output = run(&[], &accept).await.success();
    assert!(
        output.stdout.contains("about 5 are missing") && output.stdout.contains("Nothing was changed"),
        "{}",
        output.stdout
    );
    assert!(matches!(RedisStore::open(&address).await, Err(StoreError::Lost { .. })));
    let done = run(&[], &[&accept[..], &["--yes"]].concat()).await.success();
    assert!(done.stdout.contains("is accepted"), "{}", done.stdout);
    RedisStore::open(&address).await.unwrap();
    let none = run(&[], &accept).await.success();
    assert!(none.stdout.contains("nothing to accept"), "{}", none.stdout);
}

#[tokio::test]
async fn without_a_last_seen_record_there_is_nothing_to_accept() {
    let (folder, server) = (tempfile::tempdir().unwrap(), RedisServer::start(&[]));
    let (data, url) = (folder.path().display().to_string(), server.url());
    let nothing = run(&[], &["state", "accept", "--store", &url, "--data", &data]).await;
    assert_eq!(nothing.code, Some(1));
    assert!(nothing.stderr.contains("no last-seen record"), "{}", nothing.stderr);
    let other = run(&[], &["state", "accept", "--store", "sqlite:x.db", "--data", &data]).await;
    assert!(other.stderr.contains("only a server"), "{}", other.stderr);
}

#[tokio::test]
async fn an_emptied_database_is_accepted_only_with_yes() {
    let (folder, space) = (tempfile::tempdir().unwrap(), PostgresSchema::new().await);
    let data = folder.path().display().to_string();
    let watched = format!("{}&data={data}", space.url);
    let database = Address::parse(&watched).unwrap();
    Domain::open(&watched, &database).await.unwrap().close().await.unwrap();
    space.empty().await;
    let refused = Domain::open(&watched, &database).await.map(drop).unwrap_err();
    assert!(format!("{refused:#}").contains("is empty"), "{refused:#}");
    let accept = ["state", "accept", "--store", &space.url, "--data", &data];
    let output = run(&[], &accept).await.success();
    assert!(output.stdout.contains("is empty") && output.stdout.contains("Nothing was changed"), "{}", output.stdout);
    let migrated = run(&[("DATABASE_URL", &space.url), ("DATA_DIR", &data)], &["migrate"]).await;
    assert!(migrated.code == Some(1) && migrated.stderr.contains("is empty"), "{}", migrated.stderr);
    assert_eq!(space.table_count().await, 0, "the application has created no tables");
    let done = run(&[], &[&accept[..], &["--yes"]].concat()).await.success();
    assert!(done.stdout.contains("is accepted as it is"), "{}", done.stdout);
    Domain::open(&watched, &database).await.unwrap().close().await.unwrap();
    let none = run(&[], &accept).await.success();
    assert!(none.stdout.contains("nothing to accept"), "{}", none.stdout);
}

/// A bot with conversations in Redis and tables in a database.
struct RedisWithDatabase {
    server: RedisServer,
    data: TempDir,
}

impl RedisWithDatabase {
    fn new() -> Self {
        Self { server: RedisServer::start(&[]), data: tempfile::tempdir().unwrap() }
    }

    /// The address, as the application builds it from its settings.
    fn redis(&self) -> String {
        format!("{}?data={}", self.server.url(), self.data())
    }

    fn data(&self) -> String {
        self.data.path().display().to_string()
    }

    /// A bot runs a turn that writes to its tables, then its Redis is emptied.
    async fn fill_and_empty(&self, database: &str) {
        let store = open_with_database(&self.redis(), Some(database)).await.unwrap();
        let bot = claim_lease(&store).await.unwrap();
        let writes = DomainWrites::new(|_| Box::pin(async { Ok(()) }));
        let place = StateName { dialogue: "registration".into(), state: "phone".into() };
        let state = StateChange::Set(StoredState { value: "{}".into(), states: vec![place], expires_at: None });
        let turn = Commit { writes: Some(writes), state, ..Commit::new(key("1:5:5"), Version(0), Millis(1)) };
        store.commit(bot.epoch, turn).await.unwrap();
        store.close().await.unwrap();
        self.server.command(&["FLUSHALL"]);
    }

    /// Asserts that the bot starts again and leads.
    async fn assert_starts_again(&self, database: &str) {
        let store = open_with_database(&self.redis(), Some(database)).await.unwrap();
        claim_lease(&store).await.unwrap();
        let opened = store.open(&key("1:5:5"), None).await.unwrap();
        let is_known =
            matches!(&opened, Opened::At { stored: Some(stored), .. } if &*stored.states[0].state == "phone");
        assert!(is_known, "the decision record was not applied: {opened:?}");
        store.close().await.unwrap();
    }

    async fn accept(&self, variables: &[(&str, &str)], more: &[&str]) -> String {
        let (redis, data) = (self.server.url(), self.data());
        let accept = ["state", "accept", "--store", &redis, "--data", &data];
        run(variables, &[&accept[..], more].concat()).await.success().stdout
    }
}

async fn claim_lease(store: &Arc<dyn Store>) -> Result<opora::instance::Leadership, NotLeading> {
    lead(store, BOT, &LeaseSettings::default(), &Clock::machine(), &CancellationToken::new()).await
}

#[tokio::test]
async fn an_emptied_redis_with_postgres_can_be_accepted() {
    let (stores, space) = (RedisWithDatabase::new(), PostgresSchema::new().await);
    stores.fill_and_empty(&space.url).await;
    let lost = open_with_database(&stores.redis(), Some(&space.url)).await.map(drop);
    assert!(matches!(lost, Err(OpenError::Store(StoreError::Lost { .. }))), "{lost:?}");
    let database = [("DATABASE_URL", &*space.url)];
    let output = stores.accept(&database, &[]).await;
    let says = ["is empty", "The PostgreSQL at", "knows another Redis", "for bot 1.", "Nothing was changed"];
    assert!(says.iter().all(|words| output.contains(words)), "{output}");
    let done = stores.accept(&database, &["--yes"]).await;
    let says = ["Accepted in Redis", "belongs to this Redis now", "start the bot"];
    assert!(says.iter().all(|words| done.contains(words)), "{done}");
    stores.assert_starts_again(&space.url).await;
    assert!(stores.accept(&database, &["--yes"]).await.contains("nothing to accept"));
}

#[tokio::test]
async fn an_emptied_redis_with_sqlite_can_be_accepted() {
    let stores = RedisWithDatabase::new();
    let database = format!("sqlite:{}/opora.db", stores.data());
    stores.fill_and_empty(&database).await;
    let done = stores.accept(&[], &["--yes"]).await;
    assert!(done.contains("The database file") && done.contains("belongs to this Redis now"), "{done}");
    stores.assert_starts_again(&database).await;
}

#[tokio::test]
async fn a_loss_accepted_by_redis_only_can_be_completed() {
    let (stores, folder) = (RedisWithDatabase::new(), tempfile::tempdir().unwrap());
    let database = format!("sqlite:{}/tables.db", folder.path().display());
    stores.fill_and_empty(&database).await;
    RedisStore::accept_losses(&stores.server.url(), stores.data.path()).await.unwrap();
    let store = open_with_database(&stores.redis(), Some(&database)).await.unwrap();
    let refused = claim_lease(&store).await.map(drop);
    let is_told =
        matches!(&refused, Err(NotLeading::Store(StoreError::Unsupported(why))) if why.contains("state accept"));
    assert!(is_told, "{refused:?}");
    store.close().await.unwrap();
    let done = stores.accept(&[], &["--database", &database, "--yes"]).await;
    assert!(done.contains("belongs to this Redis now"), "{done}");
    stores.assert_starts_again(&database).await;
}

#[tokio::test]
async fn without_a_last_seen_record_the_database_decides() {
    let stores = RedisWithDatabase::new();
    let database = format!("sqlite:{}/opora.db", stores.data());
    stores.fill_and_empty(&database).await;
    for file in std::fs::read_dir(stores.data.path()).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let done = stores.accept(&[], &["--yes"]).await;
    assert!(done.contains("belongs to this Redis now"), "{done}");
    stores.assert_starts_again(&database).await;
}

#[tokio::test]
async fn another_database_beside_redis_can_be_accepted() {
    let (stores, space) = (RedisWithDatabase::new(), PostgresSchema::new().await);
    let watched = format!("{}&data={}", space.url, stores.data());
    let store = open_with_database(&stores.redis(), Some(&watched)).await.unwrap();
    claim_lease(&store).await.unwrap().release().await;
    store.close().await.unwrap();
    query(&space.url, "UPDATE opora_generation SET generation = 'another'").await;
    let refused = open_with_database(&stores.redis(), Some(&watched)).await.map(drop).unwrap_err();
    assert!(refused.to_string().contains("is another one"), "{refused}");
    let database = [("DATABASE_URL", &*space.url)];
    let done = stores.accept(&database, &["--yes"]).await;
    assert!(done.contains("is accepted as it is"), "{done}");
    claim_lease(&open_with_database(&stores.redis(), Some(&watched)).await.unwrap()).await.unwrap();
}
