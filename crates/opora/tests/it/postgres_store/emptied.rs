//! A database that comes back empty, or another one in its place: a bot notices before it makes anything.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use opora::bot::BotError;
use opora::instance::NotLeading;
use opora::store::{self, PostgresStore, Store, StoreError, Version};
use opora_testkit::postgres_server::{PostgresServer, PostgresSpace, query};
use sqlx::{Connection, PgConnection};

use super::{BOT, claim, person, talk, version};
use crate::runtime::form::{AGE, NAME, form};
use crate::stage::{Person, Running, Stage, until};

/// A database of a server of the test's own, and a data directory.
struct Scene {
    server: PostgresServer,
    data: tempfile::TempDir,
}

impl Scene {
    async fn new() -> Self {
        let scene = Self { server: PostgresServer::start(&[]), data: tempfile::tempdir().unwrap() };
        query(&scene.server.url(), "CREATE DATABASE bots").await;
        scene
    }

    /// The address of the database.
    fn plain(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/bots", self.server.port())
    }

    /// The same, watched from the data directory.
    fn address(&self) -> String {
        watched(&self.plain(), self.data.path())
    }

    /// Drops the database, whoever has it open, and makes it anew.
    async fn is_made_anew(&self) {
        query(&self.server.url(), "DROP DATABASE bots WITH (FORCE)").await;
        query(&self.server.url(), "CREATE DATABASE bots").await;
    }

    /// How many tables are there.
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

/// What a refusal says, if it is about something that is lost.
#[track_caller]
fn lost<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> String {
    match answer {
        Err(StoreError::Lost { what }) => what,
        other => panic!("it was not refused as lost: {other:?}"),
    }
}

/// A bot that works, and a person who was asked for a name.
async fn asked<'a>(stage: &'a Stage, store: Arc<dyn Store>) -> (Running, Person<'a>) {
    let bot = stage.bot(&store).dialogue(form());
    let bot = Running::start(bot.settings(|settings| settings.lease.ttl = Duration::from_secs(3)));
    let anna = stage.person("Anna").await;
    anna.says("/start").await;
    anna.hears_just(&[NAME]).await;
    until("it is acknowledged", async || stage.unacknowledged() == 0).await;
    (bot, anna)
}

/// The bot has ended because something is missing; what it says.
async fn ends_lost(bot: Running) -> String {
    match bot.ends().await {
        Err(BotError::NotLeading(NotLeading::Store(error))) => lost::<()>(Err(error)),
        other => panic!("it did not end by the loss: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_whose_database_is_made_anew_beneath_it_stops_and_takes_nobody_for_new() {
    let (stage, scene) = (Stage::new().await, Scene::new().await);
    let (bot, anna) = asked(&stage, store::open(&scene.address()).await.unwrap()).await;
    scene.is_made_anew().await;
    anna.says("Anna").await;
    let what = ends_lost(bot).await;
    assert!(what.contains("is empty") && what.contains("opora state accept"), "{what}");
    assert_eq!(anna.heard().await, [NAME]);
    assert_eq!(stage.unacknowledged(), 1, "Telegram keeps what was said");
    assert_eq!(scene.tables().await, 0, "nothing was made");
}

/// A failover to another server, on which somebody has worked already; a process needs no file to notice that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_beneath_which_there_are_other_tables_stops() {
    let (stage, scene) = (Stage::new().await, Scene::new().await);
    let (bot, anna) = asked(&stage, store::open(&scene.plain()).await.unwrap()).await;
    scene.is_made_anew().await;
    PostgresStore::open(&scene.plain()).await.unwrap().close().await.unwrap();
    anna.says("Anna").await;
    let what = ends_lost(bot).await;
    assert!(what.contains("is another one"), "{what}");
    assert_eq!(anna.heard().await, [NAME]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_away_and_is_the_same_is_not_taken_for_another() {
    let (stage, mut scene) = (Stage::new().await, Scene::new().await);
    let (bot, anna) = asked(&stage, store::open(&scene.address()).await.unwrap()).await;
    scene.server.kill();
    anna.says("Anna").await;
    scene.server.start_again();
    anna.hears_just(&[NAME, AGE]).await;
    bot.stops().await;
}

#[tokio::test]
async fn an_empty_database_is_refused_at_the_start_until_it_is_accepted() {
    let scene = Scene::new().await;
    let store = PostgresStore::open(&scene.address()).await.unwrap();
    let epoch = claim(&store, "first").await;
    store.commit(epoch, talk(person(1), Version(0))).await.unwrap();
    store.close().await.unwrap();
    PostgresStore::open(&scene.address()).await.unwrap().close().await.unwrap();
    scene.is_made_anew().await;

    let what = lost(PostgresStore::open(&scene.address()).await);
    assert!(what.contains("bots at 127.0.0.1") && what.contains("is empty"), "{what}");
    lost(PostgresStore::check(&scene.address()).await);
    assert_eq!(scene.tables().await, 0, "nothing was made");
    let loss = PostgresStore::loss(&scene.plain(), scene.data.path()).await.unwrap().unwrap();
    assert!(loss.is_empty, "{loss}");
    lost(PostgresStore::open(&scene.address()).await);

    assert_eq!(PostgresStore::accept_loss(&scene.plain(), scene.data.path()).await.unwrap(), Some(loss));
    let store = PostgresStore::open(&scene.address()).await.unwrap();
    assert!(claim(&store, "next").await > epoch, "no number is given twice");
    let version = version(&store, &person(1)).await.unwrap();
    assert!(version > Version(1_000_000), "no button of the lost time fits: {version:?}");
    store.close().await.unwrap();
    PostgresStore::open(&scene.address()).await.unwrap().close().await.unwrap();
    assert_eq!(PostgresStore::accept_loss(&scene.plain(), scene.data.path()).await.unwrap(), None);
}

#[tokio::test]
async fn another_database_is_refused_and_the_right_one_is_taken() {
    let scene = Scene::new().await;
    PostgresStore::open(&scene.address()).await.unwrap().close().await.unwrap();
    query(&scene.server.url(), "ALTER DATABASE bots RENAME TO away").await;
    query(&scene.server.url(), "CREATE DATABASE bots").await;
    let other = PostgresStore::open(&scene.plain()).await.unwrap();
    other.close().await.unwrap();
    let what = lost(PostgresStore::open(&scene.address()).await);
    assert!(what.contains("is another one"), "{what}");
    query(&scene.server.url(), "DROP DATABASE bots WITH (FORCE)").await;
    query(&scene.server.url(), "ALTER DATABASE away RENAME TO bots").await;
    PostgresStore::open(&scene.address()).await.unwrap().close().await.unwrap();
}

#[tokio::test]
async fn an_accepted_database_that_has_conversations_goes_on_above_them() {
    let scene = Scene::new().await;
    let store = PostgresStore::open(&scene.address()).await.unwrap();
    let (first, seen) = (claim(&store, "0").await, claim(&store, "1").await);
    store.close().await.unwrap();
    scene.is_made_anew().await;
    let other = PostgresStore::open(&scene.plain()).await.unwrap();
    let epoch = claim(&other, "2").await;
    assert_eq!(epoch, first, "its epochs begin again");
    other.commit(epoch, talk(person(1), Version(0))).await.unwrap();
    other.release(BOT, epoch).await.unwrap();
    other.close().await.unwrap();
    PostgresStore::accept_loss(&scene.plain(), scene.data.path()).await.unwrap();
    let store = PostgresStore::open(&scene.address()).await.unwrap();
    let version = version(&store, &person(1)).await.unwrap();
    assert!(version > Version(1_000_000), "{version:?}");
    let epoch = claim(&store, "3").await;
    assert!(epoch > seen, "{epoch:?}");
    store.commit(epoch, talk(person(1), version)).await.unwrap();
}

#[tokio::test]
async fn schemas_that_share_a_folder_are_told_apart_and_without_a_file_nothing_is_known() {
    let (one, other, data) = (PostgresSpace::new().await, PostgresSpace::new().await, tempfile::tempdir().unwrap());
    for space in [&one, &other, &one] {
        PostgresStore::open(&watched(&space.url, data.path())).await.unwrap().close().await.unwrap();
    }
    one.is_emptied().await;
    lost(PostgresStore::open(&watched(&one.url, data.path())).await);
    assert_eq!(one.tables().await, 0);
    PostgresStore::open(&watched(&other.url, data.path())).await.unwrap().close().await.unwrap();
    let nowhere = tempfile::tempdir().unwrap();
    let unknown = PostgresStore::loss(&one.url, nowhere.path()).await.unwrap_err();
    assert!(unknown.to_string().contains("nothing is kept in that directory"), "{unknown}");
}

#[tokio::test]
async fn who_accepts_on_another_machine_does_not_put_the_working_one_out() {
    let (scene, elsewhere) = (Scene::new().await, tempfile::tempdir().unwrap());
    let there = watched(&scene.plain(), elsewhere.path());
    for address in [scene.address(), there.clone()] {
        let store = PostgresStore::open(&address).await.unwrap();
        claim(&store, "before").await;
        store.close().await.unwrap();
    }
    scene.is_made_anew().await;
    for data in [scene.data.path(), elsewhere.path()] {
        PostgresStore::accept_loss(&scene.plain(), data).await.unwrap().unwrap();
    }
    let leader = PostgresStore::open(&scene.address()).await.unwrap();
    let epoch = claim(&leader, "leads").await;
    PostgresStore::open(&there).await.unwrap().close().await.unwrap();
    leader.renew(BOT, epoch).await.unwrap();
}

#[tokio::test]
async fn a_lease_of_the_same_number_in_tables_made_anew_is_not_taken_for_the_own() {
    let scene = Scene::new().await;
    let store = PostgresStore::open(&scene.plain()).await.unwrap();
    let epoch = claim(&store, "first").await;
    store.renew(BOT, epoch).await.unwrap();
    scene.is_made_anew().await;
    let other = PostgresStore::open(&scene.plain()).await.unwrap();
    assert_eq!(claim(&other, "other").await, epoch);
    // The connections of before are gone: the first answers say only that.
    until("it is noticed", async || matches!(store.renew(BOT, epoch).await, Err(StoreError::Lost { .. }))).await;
}

#[tokio::test]
async fn a_file_that_was_removed_beneath_a_bot_is_made_anew_with_what_it_knows() {
    let scene = Scene::new().await;
    let store = PostgresStore::open(&scene.address()).await.unwrap();
    for file in std::fs::read_dir(scene.data.path()).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    claim(&store, "first").await;
    store.close().await.unwrap();
    scene.is_made_anew().await;
    lost(PostgresStore::open(&scene.address()).await);
}
