//! A bot on PostgreSQL: restarts of the bot and of the server, and locks held by others.

use std::sync::Arc;

use opora::key::ConversationKey;
use opora::store::{self, Opened, Store, Version};
use opora_testkit::postgres_server::PostgresServer;
use sqlx::{Connection, PgConnection};

use crate::runtime::form::{AGE, NAME, form};
use crate::runtime::log_capture::LogCapture;
use crate::stage::{BOT, Running, Stage, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dialogue_survives_restarts_of_bot_and_server() {
    let stage = Stage::new().await;
    let mut server = PostgresServer::start(&[]);
    let open = async |url: &str| -> Arc<dyn Store> { store::open(url).await.unwrap() };
    let store = open(&server.url()).await;
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    let anna = stage.person("Anna").await;
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    bot.stops().await;

    let store = open(&server.url()).await;
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, AGE]).await;
    server.kill();
    anna.says("33").await;
    server.start_again();
    anna.receives_exactly(&[NAME, AGE, "Anna is 33."]).await;
    bot.stops().await;
    assert_eq!(open(&server.url()).await.statistics(None).await.unwrap().outbox, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_people_get_every_answer_once() {
    let (stage, server) = (Stage::new().await, PostgresServer::start(&[]));
    let store = store::open(&server.url()).await.unwrap();
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    let mut people = Vec::new();
    for number in 0..20 {
        people.push(stage.person(&format!("Person {number}")).await);
    }
    futures_util::future::join_all(people.iter().map(|person| async move {
        person.says("/start").await;
        person.receives(NAME).await;
        person.says("Anna").await;
        person.receives(AGE).await;
        person.says("33").await;
        person.receives_exactly(&[NAME, AGE, "Anna is 33."]).await;
    }))
    .await;
    bot.stops().await;
}

/// Another client holds a lock on what a turn has to change.
async fn turn_waits_for_a_lock(lock: &'static str) {
    let (stage, server, log) = (Stage::new().await, PostgresServer::start(&[]), LogCapture::begin());
    let store = store::open(&server.url()).await.unwrap();
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    let anna = stage.person("Anna").await;
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    let mut other = PgConnection::connect(&server.url()).await.unwrap();
    sqlx::raw_sql("BEGIN").execute(&mut other).await.unwrap();
    sqlx::raw_sql(lock).execute(&mut other).await.unwrap();
    anna.says("Anna").await;
    // Longer than the lock timeout: PostgreSQL ends the turn's statement, and the turn runs again.
    let log_line = ["the store is unavailable; the turn waits", "PostgreSQL 55P03"];
    until("the turn waits", async || log.has(&log_line)).await;
    assert!(bot.handle.is_running(), "the lease is not affected");
    anna.receives_exactly(&[NAME]).await;
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    anna.receives_exactly(&[NAME, AGE]).await;
    let key = ConversationKey::private(BOT, anna.id);
    let version = async || match store.open(&key, None).await.unwrap() {
        Opened::At { version, .. } => version,
        Opened::AlreadyProcessed => panic!("opened without a mark"),
    };
    assert_eq!(version().await, Version(2), "it is taken once");
    anna.says("33").await;
    anna.receives_exactly(&[NAME, AGE, "Anna is 33."]).await;
    assert_eq!(version().await, Version(3));
    assert_eq!(store.parked(None, 9).await.unwrap().len(), 0);
    bot.stops().await;
}

#[tokio::test]
async fn a_turn_waits_for_a_locked_row() {
    turn_waits_for_a_lock("SELECT 1 FROM opora_conversations FOR UPDATE").await;
}

#[tokio::test]
async fn a_turn_waits_for_a_locked_table() {
    turn_waits_for_a_lock("LOCK TABLE opora_conversations IN SHARE ROW EXCLUSIVE MODE").await;
}
