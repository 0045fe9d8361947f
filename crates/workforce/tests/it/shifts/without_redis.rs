//! A shift while Redis is away: a single instance continues on its journal, and the pay is right. Messages outside of
//! turns are refused meanwhile.

use opora_testkit::redis_server::RedisServer;

use super::killed::{STEPS, assert_worked_once, prepare};
use super::person_chat::PersonChat;
use crate::kit::app_process::{AppProcess, start_emulator};
use crate::kit::cabinet::sent_pins;
use crate::kit::demo::{ANNA, BORIS, until};
use crate::kit::firm::{StorageKind, TestStorage};
use crate::operator;
use crate::web::strangers::Guest;

const SINGLE_INSTANCE: &[(&str, &str)] = &[("ONLY_INSTANCE", "true")];

/// Storage with a Redis that the test may kill.
async fn storage_with_redis(kind: StorageKind, server: &RedisServer) -> TestStorage {
    let mut storage = TestStorage::new(kind).await;
    storage.state = server.url();
    storage
}

async fn shift_continues_without_redis(kind: StorageKind) {
    let mut server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let (storage, emulator) = (storage_with_redis(kind, &server).await, start_emulator().await);
    prepare(&storage).await;
    let process = AppProcess::start(&storage, &emulator, SINGLE_INSTANCE);
    let (anna, (before, rest)) = (PersonChat::of(ANNA, &emulator), STEPS.split_at(3));
    anna.take_steps(before).await;
    let store = opora::store::open_existing(&storage.state).await.unwrap();
    until("inbox and outbox are empty", async || {
        let numbers = store.statistics(None).await.unwrap();
        ((numbers.inbox, numbers.outbox) == (0, 0)).then_some(())
    })
    .await;
    server.kill();
    process.wait_for_log("the journal goes on").await;
    let (here, back) = rest.split_at(rest.len() - 2);
    anna.take_steps(here).await;
    // A person without a local copy is told to wait, and answered later.
    emulator.says(BORIS, "/me").await;
    emulator.receives(BORIS, "One moment").await;
    server.start_again();
    process.wait_for_log("Redis has everything").await;
    emulator.receives(BORIS, "Your Telegram ID: 1002").await;
    anna.take_steps(back).await;
    assert!(!emulator.texts(ANNA).await.iter().any(|text| text.contains("One moment")), "Anna was not asked to wait");
    assert_worked_once(&storage, process).await;
    let parked = operator::run(&[("STATE_URL", &storage.state)], &["state", "parked", "list"]).await.success().stdout;
    assert!(parked.contains("Nothing is parked"), "{parked}");
    emulator.stop().await;
}

#[tokio::test]
async fn a_shift_continues_without_redis_on_postgres() {
    shift_continues_without_redis(StorageKind::RedisAndPostgres).await;
}

#[tokio::test]
async fn a_shift_continues_without_redis_on_sqlite() {
    shift_continues_without_redis(StorageKind::RedisAndSqlite).await;
}

/// The bot leads on its journal all the time. The page must not promise a PIN that cannot be sent.
#[tokio::test]
async fn no_pins_are_promised_while_redis_is_away() {
    let mut server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let (storage, emulator) = (storage_with_redis(StorageKind::RedisAndSqlite, &server).await, start_emulator().await);
    let grant = ["people", "grant", "1001", "owner", "--name", "Anna", "--language", "en"];
    operator::run(&[("DATABASE_URL", &storage.database.url())], &grant).await.success();
    let process = AppProcess::start(&storage, &emulator, SINGLE_INSTANCE);
    emulator.says(ANNA, "/me").await;
    emulator.receives(ANNA, "Anna").await;
    let guest = Guest::at(&emulator, process.web_address().await).await;
    server.kill();
    process.wait_for_log("the journal goes on").await;
    emulator.says(ANNA, "/help").await;
    emulator.receives(ANNA, "I'm your team").await;
    for (language, words) in [("en", "can't send a PIN right now"), ("ru", "не может прислать PIN")] {
        let (status, page) = guest.post_in_language("/auth/send-pin", "who=1001", language).await;
        assert_eq!(status, 503, "{page}");
        assert!(page.contains(words) && !page.contains("pin-sent"), "{page}");
    }
    server.start_again();
    process.wait_for_log("Redis has everything").await;
    let asked = async || (guest.post("/auth/send-pin", "who=1001").await == 200).then_some(());
    until("PINs are sent again", asked).await;
    let pin = emulator.until("the PIN comes", async |emulator| sent_pins(emulator, ANNA).await.pop()).await;
    assert_eq!(guest.post("/auth/login", &format!("who=1001&pin={pin}")).await, 303);
    assert_eq!(sent_pins(&emulator, ANNA).await.len(), 1, "refused PINs are not sent later");
    process.stop().await;
    emulator.stop().await;
}

#[tokio::test]
async fn earlier_conversations_block_the_journal_until_discarded() {
    let server = RedisServer::start(&[]);
    let (storage, emulator) = (storage_with_redis(StorageKind::RedisAndSqlite, &server).await, start_emulator().await);
    let database = storage.database.url();
    let discard = ["state", "discard", "--store", &database];
    // Everything begins in the SQLite file.
    let process = AppProcess::start(&storage, &emulator, &[("STATE_URL", &database)]);
    emulator.says(ANNA, "/language").await;
    emulator.receives(ANNA, "Which language").await;
    process.stop().await;
    let yes = [&discard[..], &["--yes"]].concat();
    operator::run(&[], &yes).await.fails_with(&["never worked with a Redis"]);
    // Then conversations move to Redis.
    let process = AppProcess::start(&storage, &emulator, SINGLE_INSTANCE);
    process.wait_for_log("people will have to wait while Redis is away").await;
    emulator.says(BORIS, "/me").await;
    emulator.receives(BORIS, "Your Telegram ID: 1002").await;
    process.stop().await;
    operator::run(&[], &discard).await.fails_with(&["open conversations", "0 parked turns", "--yes"]);
    operator::run(&[("STATE_URL", &storage.state)], &["state", "discard", "--yes"])
        .await
        .fails_with(&["names a Redis"]);
    let done = operator::run(&[], &yes).await.success();
    assert!(done.stdout.contains("Removed, of bot 123456789"), "{}", done.stdout);
    let process = AppProcess::start(&storage, &emulator, SINGLE_INSTANCE);
    emulator.says(BORIS, "/help").await;
    emulator.receives(BORIS, "I'm your team").await;
    assert_eq!(process.count_log_lines("people will have to wait").await, 0);
    process.stop().await;
    emulator.stop().await;
}
