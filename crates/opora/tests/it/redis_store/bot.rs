//! A bot on Redis: restarts of the bot and of Redis.

use std::sync::Arc;

use opora::store::{self, Store};
use opora_testkit::redis_server::RedisServer;

use crate::runtime::form::{AGE, NAME, form};
use crate::stage::{Running, Stage};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dialogue_survives_restarts_of_bot_and_server() {
    let stage = Stage::new().await;
    let mut server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
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
}
