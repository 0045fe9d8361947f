//! A database that comes back empty or replaced: a bot notices before it creates anything.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use opora::bot::BotError;
use opora::instance::NotLeading;
use opora::store::{self, PostgresStore, Store, StoreError, Version};
use opora_testkit::postgres_server::{PostgresSchema, PostgresServer, query};
use sqlx::{Connection, PgConnection};

use super::{BOT, claim, person, talk, version};
use crate::runtime::form::{AGE, NAME, form};
use crate::stage::{Person, Running, Stage, until};

/// A database in a server of the test's own, and a data directory.
struct Fixture {
    server: PostgresServer,
    data: tempfile::TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let fixture = Self { server: PostgresServer::start(&[]), data: tempfile::tempdir().unwrap() };
        query(&fixture.server.url(), "CREATE DATABASE bots").await;
        fixture
    }

    /// The address of the database.
    fn plain(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/bots", self.server.port())
    }

    /// The same, with the last-seen record in the data directory.
    fn address(&self) -> String {
        watched(&self.plain(), self.data.path())
    }

    /// Drops the database, even if it is in use, and creates it again.
    async fn recreate(&self) {
        query(&self.server.url(), "DROP DATABASE bots WITH (FORCE)").await;
        query(&self.server.url(), "CREATE DATABASE bots").await;
    }

    /// The number of tables.
    async fn tables(&self) -> i64 {
        let mut connection = PgConnection::connect(&self.plain()).await.unwrap();
        let count = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
        sqlx::query_scalar(count).fetch_one(&mut connection).await.unwrap()
    }
}

fn watched(address: &str, data: &Path) -> String {
    let mark = if address.contains('?') { '&' } else { '?' };
    format!("{address}{mark}data={}", data.display())
}

/// The message of an error about lost data.
#[track_caller]
fn lost<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> String {
    match answer {
        Err(StoreError::Lost { what }) => what,
        other => panic!("it was not refused as lost: {other:?}"),
    }
}

/// A running bot, and a person who was asked for a name.
async fn start_and_ask<'a>(stage: &'a Stage, store: Arc<dyn Store>) -> (Running, Person<'a>) {
    let bot = stage.bot(&store).dialogue(form());
    let bot = Running::start(bot.settings(|settings| settings.lease.ttl = Duration::from_secs(3)));
    let anna = stage.person("Anna").await;
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    until("it is acknowledged", async || stage.unacknowledged() == 0).await;
    (bot, anna)
}

/// Waits until the bot has ended because of lost data. Returns the message.
async fn ends_lost(bot: Running) -> String {
    match bot.ends().await {
        Err(BotError::NotLeading(NotLeading::Store(error))) => lost::<()>(Err(error)),
        other => panic!("it did not end by the loss: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_stops_when_its_database_is_recreated() {
    let (stage, fixture) = (Stage::new().await, Fixture::new().await);
    let (bot, anna) = start_and_ask(&stage, store::open(&fixture.address()).await.unwrap()).await;
    fixture.recreate().await;
    anna.says("Anna").await;
    let what = ends_lost(bot).await;
    assert!(what.contains("is empty") && what.contains("opora state accept"), "{what}");
    assert_eq!(anna.received().await, [NAME]);
    assert_eq!(stage.unacknowledged(), 1, "Telegram keeps the update");
    assert_eq!(fixture.tables().await, 0, "nothing was made");
}

/// A failover to another server with data. A process notices that without a file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_stops_when_its_tables_are_replaced() {
    let (stage, fixture) = (Stage::new().await, Fixture::new().await);
    let (bot, anna) = start_and_ask(&stage, store::open(&fixture.plain()).await.unwrap()).await;
    fixture.recreate().await;
    PostgresStore::open(&fixture.plain()).await.unwrap().close().await.unwrap();
    anna.says("Anna").await;
    let what = ends_lost(bot).await;
    assert!(what.contains("is another one"), "{what}");
    assert_eq!(anna.received().await, [NAME]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_away_is_recognized() {
    let (stage, mut fixture) = (Stage::new().await, Fixture::new().await);
    let (bot, anna) = start_and_ask(&stage, store::open(&fixture.address()).await.unwrap()).await;
    fixture.server.kill();
    anna.says("Anna").await;
    fixture.server.start_again();
    anna.receives_exactly(&[NAME, AGE]).await;
    bot.stops().await;
}

#[tokio::test]
async fn an_empty_database_is_refused_until_it_is_accepted() {
    let fixture = Fixture::new().await;
    let store = PostgresStore::open(&fixture.address()).await.unwrap();
    let epoch = claim(&store, "first").await;
    store.commit(epoch, talk(person(1), Version(0))).await.unwrap();
    store.close().await.unwrap();
    PostgresStore::open(&fixture.address()).await.unwrap().close().await.unwrap();
    fixture.recreate().await;

    let what = lost(PostgresStore::open(&fixture.address()).await);
    assert!(what.contains("bots at 127.0.0.1") && what.contains("is empty"), "{what}");
    lost(PostgresStore::check(&fixture.address()).await);
    assert_eq!(fixture.tables().await, 0, "nothing was made");
    let loss = PostgresStore::loss(&fixture.plain(), fixture.data.path()).await.unwrap().unwrap();
    assert!(loss.is_empty, "{loss}");
    lost(PostgresStore::open(&fixture.address()).await);

    assert_eq!(PostgresStore::accept_loss(&fixture.plain(), fixture.data.path()).await.unwrap(), Some(loss));
    let store = PostgresStore::open(&fixture.address()).await.unwrap();
    assert!(claim(&store, "next").await > epoch, "no number is given twice");
    let version = version(&store, &person(1)).await.unwrap();
    assert!(version > Version(1_000_000), "no button of the lost time fits: {version:?}");
    store.close().await.unwrap();
    PostgresStore::open(&fixture.address()).await.unwrap().close().await.unwrap();
    assert_eq!(PostgresStore::accept_loss(&fixture.plain(), fixture.data.path()).await.unwrap(), None);
}

#[tokio::test]
async fn another_database_is_refused() {
    let fixture = Fixture::new().await;
    PostgresStore::open(&fixture.address()).await.unwrap().close().await.unwrap();
    query(&fixture.server.url(), "ALTER DATABASE bots RENAME TO away").await;
    query(&fixture.server.url(), "CREATE DATABASE bots").await;
    let other = PostgresStore::open(&fixture.plain()).await.unwrap();
    other.close().await.unwrap();
    let what = lost(PostgresStore::open(&fixture.address()).await);
    assert!(what.contains("is another one"), "{what}");
    query(&fixture.server.url(), "DROP DATABASE bots WITH (FORCE)").await;
    query(&fixture.server.url(), "ALTER DATABASE away RENAME TO bots").await;
    PostgresStore::open(&fixture.address()).await.unwrap().close().await.unwrap();
}

#[tokio::test]
async fn an_accepted_database_continues_above_its_versions() {
    let fixture = Fixture::new().await;
    let store = PostgresStore::open(&fixture.address()).await.unwrap();
    let (first, seen) = (claim(&store, "0").await, claim(&store, "1").await);
    store.close().await.unwrap();
    fixture.recreate().await;
    let other = PostgresStore::open(&fixture.plain()).await.unwrap();
    let epoch = claim(&other, "2").await;
    assert_eq!(epoch, first, "its epochs begin again");
    other.commit(epoch, talk(person(1), Version(0))).await.unwrap();
    other.release(BOT, epoch).await.unwrap();
    other.close().await.unwrap();
    PostgresStore::accept_loss(&fixture.plain(), fixture.data.path()).await.unwrap();
    let store = PostgresStore::open(&fixture.address()).await.unwrap();
    let version = version(&store, &person(1)).await.unwrap();
    assert!(version > Version(1_000_000), "{version:?}");
    let epoch = claim(&store, "3").await;
    assert!(epoch > seen, "{epoch:?}");
    store.commit(epoch, talk(person(1), version)).await.unwrap();
}

#[tokio::test]
async fn schemas_in_one_folder_have_separate_records() {
    let (one, other, data) = (PostgresSchema::new().await, PostgresSchema::new().await, tempfile::tempdir().unwrap());
    for space in [&one, &other, &one] {
        PostgresStore::open(&watched(&space.url, data.path())).await.unwrap().close().await.unwrap();
    }
    one.empty().await;
    lost(PostgresStore::open(&watched(&one.url, data.path())).await);
    assert_eq!(one.table_count().await, 0);
    PostgresStore::open(&watched(&other.url, data.path())).await.unwrap().close().await.unwrap();
    let nowhere = tempfile::tempdir().unwrap();
    let unknown = PostgresStore::loss(&one.url, nowhere.path()).await.unwrap_err();
    assert!(unknown.to_string().contains("no last-seen record"), "{unknown}");
}

#[tokio::test]
async fn accepting_on_another_machine_does_not_stop_the_leader() {
    let (fixture, elsewhere) = (Fixture::new().await, tempfile::tempdir().unwrap());
    let there = watched(&fixture.plain(), elsewhere.path());
    for address in [fixture.address(), there.clone()] {
        let store = PostgresStore::open(&address).await.unwrap();
        claim(&store, "before").await;
        store.close().await.unwrap();
    }
    fixture.recreate().await;
    for data in [fixture.data.path(), elsewhere.path()] {
        PostgresStore::accept_loss(&fixture.plain(), data).await.unwrap().unwrap();
    }
    let leader = PostgresStore::open(&fixture.address()).await.unwrap();
    let epoch = claim(&leader, "leads").await;
    PostgresStore::open(&there).await.unwrap().close().await.unwrap();
    leader.renew(BOT, epoch).await.unwrap();
}

#[tokio::test]
async fn the_same_epoch_in_recreated_tables_is_not_our_lease() {
    let fixture = Fixture::new().await;
    let store = PostgresStore::open(&fixture.plain()).await.unwrap();
    let epoch = claim(&store, "first").await;
    store.renew(BOT, epoch).await.unwrap();
    fixture.recreate().await;
    let other = PostgresStore::open(&fixture.plain()).await.unwrap();
    assert_eq!(claim(&other, "other").await, epoch);
    // The old connections are gone, which causes the first errors.
    until("it is noticed", async || matches!(store.renew(BOT, epoch).await, Err(StoreError::Lost { .. }))).await;
}

#[tokio::test]
async fn a_removed_record_is_written_again() {
    let fixture = Fixture::new().await;
    let store = PostgresStore::open(&fixture.address()).await.unwrap();
    for file in std::fs::read_dir(fixture.data.path()).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    claim(&store, "first").await;
    store.close().await.unwrap();
    fixture.recreate().await;
    lost(PostgresStore::open(&fixture.address()).await);
}
