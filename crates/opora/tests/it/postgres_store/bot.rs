//! A whole bot on PostgreSQL: restarts of it, and of the server beneath it, and others who hold its rows.

use std::sync::Arc;

use opora::key::DialogueKey;
use opora::store::{self, Opened, Store, Version};
use opora_testkit::postgres_server::PostgresServer;
use sqlx::{Connection, PgConnection};

use crate::runtime::form::{AGE, NAME, form};
use crate::runtime::journal::Journal;
use crate::stage::{BOT, Running, Stage, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dialogue_goes_on_after_restarts_of_bot_and_server() {
    let stage = Stage::new().await;
    let mut server = PostgresServer::start(&[]);
    let open = async |url: &str| -> Arc<dyn Store> { store::open(url).await.unwrap() };
    let store = open(&server.url()).await;
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    let anna = stage.person("Anna").await;
    anna.says("/start").await;
    anna.hears_just(&[NAME]).await;
    bot.stops().await;

    let store = open(&server.url()).await;
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    anna.says("Anna").await;
    anna.hears_just(&[NAME, AGE]).await;
    server.kill();
    anna.says("33").await;
    server.start_again();
    anna.hears_just(&[NAME, AGE, "Anna is 33."]).await;
    bot.stops().await;
    assert_eq!(open(&server.url()).await.statistics(None).await.unwrap().outbox, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_talk_at_once_and_every_answer_is_sent_once() {
    let (stage, server) = (Stage::new().await, PostgresServer::start(&[]));
    let store = store::open(&server.url()).await.unwrap();
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    let mut people = Vec::new();
    for number in 0..20 {
        people.push(stage.person(&format!("Person {number}")).await);
    }
    futures_util::future::join_all(people.iter().map(|person| async move {
        person.says("/start").await;
        person.hears(NAME).await;
        person.says("Anna").await;
        person.hears(AGE).await;
        person.says("33").await;
        person.hears_just(&[NAME, AGE, "Anna is 33."]).await;
    }))
    .await;
    bot.stops().await;
}

/// Somebody else, a tool of the database's for instance, holds what a turn has to change.
async fn waits_while_another_holds(lock: &'static str) {
    let (stage, server, journal) = (Stage::new().await, PostgresServer::start(&[]), Journal::begin());
    let store = store::open(&server.url()).await.unwrap();
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    let anna = stage.person("Anna").await;
    anna.says("/start").await;
    anna.hears_just(&[NAME]).await;
    let mut other = PgConnection::connect(&server.url()).await.unwrap();
    sqlx::raw_sql("BEGIN").execute(&mut other).await.unwrap();
    sqlx::raw_sql(lock).execute(&mut other).await.unwrap();
    anna.says("Anna").await;
    // Longer than anybody waits for a lock: PostgreSQL ends the turn's statement, and the turn is run again.
    let is_told = ["the store is away; the turn waits", "PostgreSQL 55P03"];
    until("the turn waits", async || journal.has(&is_told)).await;
    assert!(bot.handle.is_running(), "the lease is nobody else's concern");
    anna.hears_just(&[NAME]).await;
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    anna.hears_just(&[NAME, AGE]).await;
    let key = DialogueKey::private(BOT, anna.id);
    let version = async || match store.open(&key, None).await.unwrap() {
        Opened::At { version, .. } => version,
        Opened::AlreadyTaken => panic!("asked without a mark"),
    };
    assert_eq!(version().await, Version(2), "it is taken once");
    anna.says("33").await;
    anna.hears_just(&[NAME, AGE, "Anna is 33."]).await;
    assert_eq!(version().await, Version(3));
    assert_eq!(store.parked(None, 9).await.unwrap().len(), 0);
    bot.stops().await;
}

#[tokio::test]
async fn a_turn_whose_row_is_held_for_longer_than_the_limit_waits_and_is_taken_once() {
    waits_while_another_holds("SELECT 1 FROM opora_conversations FOR UPDATE").await;
}

#[tokio::test]
async fn a_turn_whose_table_is_held_for_longer_than_the_limit_waits_and_is_taken_once() {
    waits_while_another_holds("LOCK TABLE opora_conversations IN SHARE ROW EXCLUSIVE MODE").await;
}
