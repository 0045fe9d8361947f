//! An operator changes the store while the bot runs.

use std::sync::Arc;

use opora::clock::Clock;
use opora::key::ConversationKey;
use opora::store::{Filter, Store};
use opora_testkit::postgres_server::PostgresSchema;
use opora_testkit::redis_server::RedisNamespace;

use super::form::{AGE, NAME, form};
use crate::stage::{BOT, Running, Stage, memory};

/// `tool` may be another connection than the bot's.
async fn operator_changes_count(stage: &Stage, store: Arc<dyn Store>, tool: Arc<dyn Store>) {
    let anna = stage.person("Anna").await;
    let key = ConversationKey::private(BOT, anna.id);
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    anna.says("/start").await;
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, AGE]).await;
    let saved = tool.list(&Filter::default(), None, 10).await.unwrap().pop().unwrap();
    assert!(tool.operator().reset(&key, Clock::machine().now()).await.unwrap());
    // Nothing is open any more, so no handler gets this.
    anna.says("7").await;
    anna.says("/start").await;
    anna.receives_exactly(&[NAME, AGE, NAME]).await;
    assert!(!tool.operator().import(&saved, false).await.unwrap(), "the conversation is open");
    assert!(tool.operator().import(&saved, true).await.unwrap());
    anna.says("7").await;
    anna.receives_exactly(&[NAME, AGE, NAME, "Anna is 7."]).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_reset_and_an_import_count_at_once_in_memory() {
    let (stage, store) = (Stage::new().await, memory());
    operator_changes_count(&stage, Arc::clone(&store), store).await;
}

#[tokio::test]
async fn a_reset_and_an_import_count_at_once_in_sqlite() {
    let stage = Stage::new().await;
    let (store, tool) = (stage.sqlite().await, stage.sqlite().await);
    operator_changes_count(&stage, store, tool).await;
}

#[tokio::test]
async fn a_reset_and_an_import_count_at_once_in_redis() {
    let (stage, space) = (Stage::new().await, RedisNamespace::new());
    let (store, tool) = (open(&space.url).await, open(&space.url).await);
    operator_changes_count(&stage, store, tool).await;
}

#[tokio::test]
async fn a_reset_and_an_import_count_at_once_in_postgres() {
    let (stage, space) = (Stage::new().await, PostgresSchema::new().await);
    let (store, tool) = (open(&space.url).await, open(&space.url).await);
    operator_changes_count(&stage, store, tool).await;
}

async fn open(url: &str) -> Arc<dyn Store> {
    opora::store::open(url).await.unwrap()
}
