//! An operator's hand in the store while the bot runs.

use std::sync::Arc;

use opora::clock::Clock;
use opora::key::DialogueKey;
use opora::store::{Filter, Store};
use opora_testkit::postgres_server::PostgresSpace;
use opora_testkit::redis_server::RedisSpace;

use super::form::{AGE, NAME, form};
use crate::stage::{BOT, Running, Stage, memory};

/// The operator may use another connection than the bot.
async fn the_operators_hand_counts(stage: &Stage, store: Arc<dyn Store>, hand: Arc<dyn Store>) {
    let anna = stage.person("Anna").await;
    let key = DialogueKey::private(BOT, anna.id);
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    anna.says("/start").await;
    anna.says("Anna").await;
    anna.hears_just(&[NAME, AGE]).await;
    let saved = hand.list(&Filter::default(), None, 10).await.unwrap().pop().unwrap();
    assert!(hand.operator().reset(&key, Clock::machine().now()).await.unwrap());
    // Nothing is open any more, so nobody hears this.
    anna.says("7").await;
    anna.says("/start").await;
    anna.hears_just(&[NAME, AGE, NAME]).await;
    assert!(!hand.operator().import(&saved, false).await.unwrap(), "somebody talks there");
    assert!(hand.operator().import(&saved, true).await.unwrap());
    anna.says("7").await;
    anna.hears_just(&[NAME, AGE, NAME, "Anna is 7."]).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_reset_and_an_import_count_at_once_in_memory() {
    let (stage, store) = (Stage::new().await, memory());
    the_operators_hand_counts(&stage, Arc::clone(&store), store).await;
}

#[tokio::test]
async fn a_reset_and_an_import_count_at_once_in_sqlite() {
    let stage = Stage::new().await;
    let (store, hand) = (stage.sqlite().await, stage.sqlite().await);
    the_operators_hand_counts(&stage, store, hand).await;
}

#[tokio::test]
async fn a_reset_and_an_import_count_at_once_in_redis() {
    let (stage, space) = (Stage::new().await, RedisSpace::new());
    let (store, hand) = (open(&space.url).await, open(&space.url).await);
    the_operators_hand_counts(&stage, store, hand).await;
}

#[tokio::test]
async fn a_reset_and_an_import_count_at_once_in_postgres() {
    let (stage, space) = (Stage::new().await, PostgresSpace::new().await);
    let (store, hand) = (open(&space.url).await, open(&space.url).await);
    the_operators_hand_counts(&stage, store, hand).await;
}

async fn open(url: &str) -> Arc<dyn Store> {
    opora::store::open(url).await.unwrap()
}
