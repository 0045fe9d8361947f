//! `state accept`: a Redis that has lost what a bot has seen of it, and a PostgreSQL that is another one.

use std::sync::Arc;

use opora::clock::{Clock, Millis};
use opora::instance::{LeaseSettings, NotLeading, lead};
use opora::store::{
    Commit, DomainWrites, OpenError, Opened, Place, RedisStore, StateChange, Store, StoreError, Stored, Version,
    open_with_database,
};
use opora_testkit::postgres_server::{PostgresSpace, query};
use opora_testkit::redis_server::RedisServer;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use workforce::domain::{Address, Domain};

use super::{BOT, key, run};

/// A bot has five turns, and its Redis is emptied.
async fn emptied(server: &RedisServer, address: &str) {
    let store: Arc<dyn Store> = Arc::new(RedisStore::open(address).await.unwrap());
    let stop = CancellationToken::new();
    let bot = lead(&store, BOT, &LeaseSettings::default(), &Clock::machine(), &stop).await.unwrap();
    for turn in 0..5 {
        store.commit(bot.epoch, Commit::new(key("1:5:5"), Version(turn), Millis(1))).await.unwrap();
    }
    store.close().await.unwrap();
    server.say(&["FLUSHALL"]);
}

#[tokio::test]
async fn a_loss_is_told_first_and_accepted_only_with_a_yes() {
    let (folder, server) = (tempfile::tempdir().unwrap(), RedisServer::start(&[]));
    let data = folder.path().join("data").display().to_string();
    let address = format!("{}?data={data}", server.url());
    emptied(&server, &address).await;
    let accept = ["state", "accept", "--store", &address, "--data", &data];
    let told = run(&[], &accept).await.well();
    assert!(
        told.stdout.contains("about 5 are missing") && told.stdout.contains("Nothing was changed"),
        "{}",
        told.stdout
    );
    assert!(matches!(RedisStore::open(&address).await, Err(StoreError::Lost { .. })));
    let done = run(&[], &[&accept[..], &["--yes"]].concat()).await.well();
    assert!(done.stdout.contains("is accepted"), "{}", done.stdout);
    RedisStore::open(&address).await.unwrap();
    let none = run(&[], &accept).await.well();
    assert!(none.stdout.contains("nothing to accept"), "{}", none.stdout);
}

#[tokio::test]
async fn without_a_bots_own_notes_there_is_nothing_to_compare_with() {
    let (folder, server) = (tempfile::tempdir().unwrap(), RedisServer::start(&[]));
    let (data, url) = (folder.path().display().to_string(), server.url());
    let nothing = run(&[], &["state", "accept", "--store", &url, "--data", &data]).await;
    assert_eq!(nothing.code, Some(1));
    assert!(nothing.stderr.contains("nothing is kept in that directory"), "{}", nothing.stderr);
    let other = run(&[], &["state", "accept", "--store", "sqlite:x.db", "--data", &data]).await;
    assert!(other.stderr.contains("only a server"), "{}", other.stderr);
}

#[tokio::test]
async fn a_database_that_came_back_empty_is_told_first_and_accepted_only_with_a_yes() {
    let (folder, space) = (tempfile::tempdir().unwrap(), PostgresSpace::new().await);
    let data = folder.path().display().to_string();
    let watched = format!("{}&data={data}", space.url);
    let database = Address::parse(&watched).unwrap();
    Domain::open(&watched, &database).await.unwrap().close().await.unwrap();
    space.is_emptied().await;
    let refused = Domain::open(&watched, &database).await.map(drop).unwrap_err();
    assert!(format!("{refused:#}").contains("is empty"), "{refused:#}");
    let accept = ["state", "accept", "--store", &space.url, "--data", &data];
    let told = run(&[], &accept).await.well();
    assert!(told.stdout.contains("is empty") && told.stdout.contains("Nothing was changed"), "{}", told.stdout);
    let migrated = run(&[("DATABASE_URL", &space.url), ("DATA_DIR", &data)], &["migrate"]).await;
    assert!(migrated.code == Some(1) && migrated.stderr.contains("is empty"), "{}", migrated.stderr);
    assert_eq!(space.tables().await, 0, "also the application has made none");
    let done = run(&[], &[&accept[..], &["--yes"]].concat()).await.well();
    assert!(done.stdout.contains("is accepted as it is"), "{}", done.stdout);
    Domain::open(&watched, &database).await.unwrap().close().await.unwrap();
    let none = run(&[], &accept).await.well();
    assert!(none.stdout.contains("nothing to accept"), "{}", none.stdout);
}

/// A bot that keeps its conversations in a Redis and its tables in a database.
struct Pair {
    server: RedisServer,
    data: TempDir,
}

impl Pair {
    fn new() -> Self {
        Self { server: RedisServer::start(&[]), data: tempfile::tempdir().unwrap() }
    }

    /// The address, as the application makes it of its settings.
    fn redis(&self) -> String {
        format!("{}?data={}", self.server.url(), self.data())
    }

    fn data(&self) -> String {
        self.data.path().display().to_string()
    }

    /// A bot has a turn that writes to its tables, and its Redis is emptied.
    async fn is_emptied(&self, database: &str) {
        let store = open_with_database(&self.redis(), Some(database)).await.unwrap();
        let bot = leads(&store).await.unwrap();
        let writes = DomainWrites::new(|_| Box::pin(async { Ok(()) }));
        let place = Place { dialogue: "registration".into(), state: "phone".into() };
        let state = StateChange::Set(Stored { value: "{}".into(), places: vec![place], expires_at: None });
        let turn = Commit { writes: Some(writes), state, ..Commit::new(key("1:5:5"), Version(0), Millis(1)) };
        store.commit(bot.epoch, turn).await.unwrap();
        store.close().await.unwrap();
        self.server.say(&["FLUSHALL"]);
    }

    /// The bot starts again and leads.
    async fn works_again(&self, database: &str) {
        let store = open_with_database(&self.redis(), Some(database)).await.unwrap();
        leads(&store).await.unwrap();
        let opened = store.open(&key("1:5:5"), None).await.unwrap();
        let is_known =
            matches!(&opened, Opened::At { stored: Some(stored), .. } if &*stored.places[0].state == "phone");
        assert!(is_known, "what was decided in the database is back: {opened:?}");
        store.close().await.unwrap();
    }

    async fn accept(&self, variables: &[(&str, &str)], more: &[&str]) -> String {
        let (redis, data) = (self.server.url(), self.data());
        let accept = ["state", "accept", "--store", &redis, "--data", &data];
        run(variables, &[&accept[..], more].concat()).await.well().stdout
    }
}

async fn leads(store: &Arc<dyn Store>) -> Result<opora::instance::Leadership, NotLeading> {
    lead(store, BOT, &LeaseSettings::default(), &Clock::machine(), &CancellationToken::new()).await
}

#[tokio::test]
async fn an_emptied_redis_beside_a_server_is_accepted_by_both_and_the_bot_starts() {
    let (pair, space) = (Pair::new(), PostgresSpace::new().await);
    pair.is_emptied(&space.url).await;
    let lost = open_with_database(&pair.redis(), Some(&space.url)).await.map(drop);
    assert!(matches!(lost, Err(OpenError::Store(StoreError::Lost { .. }))), "{lost:?}");
    let database = [("DATABASE_URL", &*space.url)];
    let told = pair.accept(&database, &[]).await;
    let says = ["is empty", "The PostgreSQL at", "knows another Redis", "for bot 1.", "Nothing was changed"];
    assert!(says.iter().all(|words| told.contains(words)), "{told}");
    let done = pair.accept(&database, &["--yes"]).await;
    let says = ["In Redis this is accepted", "belongs to this Redis now", "start the bot"];
    assert!(says.iter().all(|words| done.contains(words)), "{done}");
    pair.works_again(&space.url).await;
    assert!(pair.accept(&database, &["--yes"]).await.contains("nothing to accept"));
}

#[tokio::test]
async fn an_emptied_redis_beside_the_embedded_file_is_accepted_by_both_and_the_bot_starts() {
    let pair = Pair::new();
    let database = format!("sqlite:{}/opora.db", pair.data());
    pair.is_emptied(&database).await;
    let done = pair.accept(&[], &["--yes"]).await;
    assert!(done.contains("The database file") && done.contains("belongs to this Redis now"), "{done}");
    pair.works_again(&database).await;
}

#[tokio::test]
async fn a_loss_that_only_redis_has_accepted_is_accepted_by_the_database_too() {
    let (pair, folder) = (Pair::new(), tempfile::tempdir().unwrap());
    let database = format!("sqlite:{}/tables.db", folder.path().display());
    pair.is_emptied(&database).await;
    RedisStore::accept_losses(&pair.server.url(), pair.data.path()).await.unwrap();
    let store = open_with_database(&pair.redis(), Some(&database)).await.unwrap();
    let refused = leads(&store).await.map(drop);
    let is_told =
        matches!(&refused, Err(NotLeading::Store(StoreError::Unsupported(why))) if why.contains("state accept"));
    assert!(is_told, "{refused:?}");
    store.close().await.unwrap();
    let done = pair.accept(&[], &["--database", &database, "--yes"]).await;
    assert!(done.contains("belongs to this Redis now"), "{done}");
    pair.works_again(&database).await;
}

#[tokio::test]
async fn without_a_bots_own_notes_the_database_says_what_is_to_be_accepted() {
    let pair = Pair::new();
    let database = format!("sqlite:{}/opora.db", pair.data());
    pair.is_emptied(&database).await;
    for file in std::fs::read_dir(pair.data.path()).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let done = pair.accept(&[], &["--yes"]).await;
    assert!(done.contains("belongs to this Redis now"), "{done}");
    pair.works_again(&database).await;
}

#[tokio::test]
async fn another_database_is_accepted_beside_a_redis() {
    let (pair, space) = (Pair::new(), PostgresSpace::new().await);
    let watched = format!("{}&data={}", space.url, pair.data());
    let store = open_with_database(&pair.redis(), Some(&watched)).await.unwrap();
    leads(&store).await.unwrap().release().await;
    store.close().await.unwrap();
    query(&space.url, "UPDATE opora_generation SET generation = 'another'").await;
    let refused = open_with_database(&pair.redis(), Some(&watched)).await.map(drop).unwrap_err();
    assert!(refused.to_string().contains("is another one"), "{refused}");
    let database = [("DATABASE_URL", &*space.url)];
    let done = pair.accept(&database, &["--yes"]).await;
    assert!(done.contains("is accepted as it is"), "{done}");
    leads(&open_with_database(&pair.redis(), Some(&watched)).await.unwrap()).await.unwrap();
}
