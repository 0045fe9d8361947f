//! Addresses, passwords, permissions, and checks when a store is opened.

use opora::bot::BotError;
use opora::store::{self, RedisCode, RedisStore, Store, StoreError};
use opora_testkit::redis_server::RedisServer;

use super::{Fixture, at_state};
use crate::runtime::form::form;
use crate::stage::{BOT, Running, Stage};

#[tokio::test]
async fn an_error_about_a_password_does_not_contain_it() {
    let server = RedisServer::start(&["--requirepass", "r1ghtone"]);
    let at = server.url().replace("redis://", "");
    for address in
        [format!("redis://:wr0ngone@{at}"), format!("redis://{at}"), format!("redis://stranger:wr0ngone@{at}")]
    {
        let error = store::open(&address).await.map(drop).unwrap_err();
        let message = format!("{error} {error:?}");
        assert!(message.contains("password") && message.contains(&at), "{message}");
        assert!(!message.contains("wr0ng"), "{message}");
    }
    let store = store::open(&format!("redis://:r1ghtone@{at}")).await.unwrap();
    let message = format!("{} {store:?}", store.describe());
    assert!(message.contains(&at) && !message.contains("r1ght"), "{message}");
}

#[tokio::test]
async fn a_missing_server_is_reported_at_once() {
    let error = store::open("redis://127.0.0.1:1/").await.map(drop).unwrap_err();
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
    let tls = store::open("rediss://127.0.0.1:1/").await.map(drop).unwrap_err();
    assert!(tls.to_string().contains("127.0.0.1:1"), "{tls}");
}

#[tokio::test]
async fn the_description_says_what_a_restart_loses() {
    let server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let describe = async || store::open(&server.url()).await.unwrap().describe();
    assert!(describe().await.ends_with("a restart loses nothing"));
    server.command(&["CONFIG", "SET", "appendfsync", "everysec"]);
    assert!(describe().await.contains("last second"));
    server.command(&["CONFIG", "SET", "appendonly", "no"]);
    assert!(describe().await.contains("everything"));
}

#[tokio::test]
async fn a_bot_on_aiograms_keys_needs_a_mapping() {
    let (server, stage) = (RedisServer::start(&[]), Stage::new().await);
    let address = format!("{}?layout=aiogram", server.url());
    let store = store::open(&address).await.unwrap();
    let ended = Running::start(stage.bot(&store).dialogue(form())).ends().await;
    let Err(BotError::Store(StoreError::Unsupported(why))) = ended else { panic!("{ended:?}") };
    assert!(why.contains("mapping") && why.contains("AiogramStore::open"), "{why}");
    let tool = store::open_existing(&address).await.unwrap();
    assert_eq!(tool.lease(BOT).await.unwrap(), None, "the bot never led");
}

#[tokio::test]
async fn a_tool_creates_nothing() {
    let server = RedisServer::start(&[]);
    let missing = RedisStore::open_existing(&server.url()).await;
    assert!(matches!(missing, Err(StoreError::Unsupported(_))), "{missing:?}");
    assert_eq!(server.command(&["DBSIZE"]), redis::Value::Int(0));
    let made = RedisStore::open(&server.url()).await.unwrap();
    let found = RedisStore::open_existing(&server.url()).await.unwrap();
    assert_eq!(made.generation(), found.generation());
    for layout in ["0", "2"] {
        server.command(&["SET", "{opora}:layout", layout]);
        for other in [RedisStore::open(&server.url()).await, RedisStore::open_existing(&server.url()).await] {
            assert!(matches!(other, Err(StoreError::Unsupported(_))), "{other:?}");
        }
    }
}

#[tokio::test]
async fn a_generation_lasts_until_redis_is_emptied() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    let generation = fixture.store.generation().to_owned();
    let again = RedisStore::open(&fixture.server.url()).await.unwrap();
    assert_eq!(again.generation(), generation);
    fixture.server.command(&["DEL", "{opora:3}:generation"]);
    let partly = RedisStore::open(&fixture.server.url()).await.unwrap();
    assert!(partly.generation().contains(&generation) && partly.generation().contains('+'), "{}", partly.generation());
    fixture.server.command(&["FLUSHALL"]);
    let emptied = RedisStore::open(&fixture.server.url()).await.unwrap();
    assert!(!emptied.generation().contains(&generation));
}

#[tokio::test]
async fn without_permission_for_functions_scripts_are_used() {
    let server = RedisServer::start(&[]);
    server.command(&["ACL", "SETUSER", "bot", "on", ">pw", "~{opora*", "+@all", "-function", "-config"]);
    let address = server.url().replace("redis://", "redis://bot:pw@");
    let store = RedisStore::open(&address).await.unwrap();
    assert!(store.describe().contains("by scripts") && store.describe().contains("does not tell"));
    let epoch = super::claim(&store, "first").await;
    super::turn(&store, epoch, 1, at_state("asked")).await.unwrap();
    server.command(&["ACL", "SETUSER", "bot", "+function", "-fcall"]);
    let store = RedisStore::open(&address).await.unwrap();
    assert!(store.describe().contains("by scripts"));
}

#[tokio::test]
async fn a_user_without_dangerous_commands_is_enough() {
    let server = RedisServer::start(&[]);
    server.command(&["ACL", "SETUSER", "bot", "on", ">pw", "~{opora*", "+@all", "-@dangerous"]);
    let address = server.url().replace("redis://", "redis://bot:pw@");
    let store = RedisStore::open(&address).await.unwrap();
    assert!(store.describe().contains("does not tell"), "{}", store.describe());
    let epoch = super::claim(&store, "first").await;
    super::turn(&store, epoch, 1, at_state("asked")).await.unwrap();
    store.release(super::BOT, epoch).await.unwrap();
}

#[tokio::test]
async fn two_prefixes_are_separate() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    fixture.turn(1, at_state("asked")).await.unwrap();
    let other = store::open(&format!("{}?prefix=other", fixture.server.url())).await.unwrap();
    assert_eq!(other.operator().bots().await.unwrap(), Vec::<i64>::new());
    assert_eq!(other.statistics(None).await.unwrap().active, 0);
    let redis::Value::Array(keys) = fixture.server.command(&["KEYS", "*"]) else { panic!("keys are a list") };
    let is_ours = |key: &redis::Value| matches!(key, redis::Value::BulkString(name) if name.starts_with(b"{opora") || name.starts_with(b"{other"));
    assert!(keys.iter().all(is_ours), "{keys:?}");
}
