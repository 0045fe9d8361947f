//! A whole bot on PostgreSQL: restarts of it, and of the server beneath it.

use std::sync::Arc;

use opora::store::{self, Store};

use crate::postgres_server::PostgresServer;
use crate::runtime::form::{AGE, NAME, form};
use crate::stage::{Running, Stage};

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
