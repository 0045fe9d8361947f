//! `state accept`: a Redis that has lost what a bot has seen of it.

use std::sync::Arc;

use opora::clock::{Clock, Millis};
use opora::instance::{LeaseSettings, lead};
use opora::store::{Commit, RedisStore, Store, StoreError, Version};
use tokio_util::sync::CancellationToken;

use super::{BOT, key, run};
use crate::redis_server::RedisServer;

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
    assert!(other.stderr.contains("only a Redis"), "{}", other.stderr);
}
