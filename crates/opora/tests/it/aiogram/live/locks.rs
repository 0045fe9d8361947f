//! aiogram's locks, also after the end of a process.

use std::time::Duration;

use opora::aiogram::{AiogramLayout, AiogramStore};
use opora::store::{StateChange, Store, StoreError};
use opora_testkit::redis_server::RedisServer;
use tokio::time::Instant;

use super::keys::{Fixture, NOW, anna, claim, set};
use super::two_bots::{PRIVATE, TwoBots, mapping};
use crate::runtime::log_capture::LogCapture;
use crate::stage::{Stage, until};

const LOCK: &str = "fsm:5:5:lock";

impl Fixture {
    fn lock(&self) -> Option<String> {
        redis::from_redis_value(self.redis.command(&["GET", LOCK])).unwrap()
    }
}

#[tokio::test]
async fn a_turn_holds_the_lock_until_it_commits_or_is_dropped() {
    let fixture = Fixture::new(AiogramLayout::new()).await;
    assert_eq!(fixture.lock(), None);
    let (version, _) = fixture.enters().await;
    assert!(fixture.lock().unwrap().starts_with("opora:opora:123456789:"));
    let left: i64 = redis::from_redis_value(fixture.redis.command(&["PTTL", LOCK])).unwrap();
    assert!((1_000..=6_000).contains(&left), "{left} ms");
    assert_eq!(fixture.enters().await.0, version, "its own lock does not block it");
    fixture.commits(version, set(1, version)).await.unwrap();
    assert_eq!(fixture.lock(), None);
    fixture.enters().await;
    Store::abandon_turn(&fixture.store, fixture.epoch, &anna()).await.unwrap();
    assert_eq!(fixture.lock(), None);
}

#[tokio::test]
async fn the_lock_of_another_bot_is_awaited_and_not_released() {
    let fixture = Fixture::new(AiogramLayout::new()).await;
    let began = Instant::now();
    fixture.redis.command(&["SET", LOCK, "theirs", "PX", "300"]);
    let (version, _) = fixture.enters().await;
    assert!(began.elapsed() >= Duration::from_millis(250));
    // It took too long, and aiogram has the lock now.
    fixture.redis.command(&["SET", LOCK, "theirs", "PX", "60000"]);
    fixture.commits(version, set(1, version)).await.unwrap_err();
    Store::abandon_turn(&fixture.store, fixture.epoch, &anna()).await.unwrap();
    assert_eq!(fixture.lock().as_deref(), Some("theirs"));
}

#[tokio::test]
async fn a_turn_that_lost_its_lock_runs_again() {
    let fixture = Fixture::new(AiogramLayout::new()).await;
    let (version, _) = fixture.enters().await;
    fixture.commits(version, set(1, version)).await.unwrap();
    let (before, (version, _)) = (fixture.has(), fixture.enters().await);
    // aiogram has read the keys, and will write without reading again.
    fixture.redis.command(&["DEL", LOCK]);
    fixture.redis.command(&["SET", LOCK, "theirs", "PX", "60000"]);
    let refused = fixture.commits(version, set(2, version)).await.unwrap_err();
    assert!(matches!(refused, StoreError::Overtaken(_)), "{refused}");
    assert_eq!((fixture.has(), fixture.lock().as_deref()), (before, Some("theirs")));
    fixture.redis.command(&["DEL", LOCK]);
    let (version, _) = fixture.enters().await;
    // An expired lock that was not taken by aiogram does no harm.
    fixture.redis.command(&["DEL", LOCK]);
    fixture.commits(version, set(2, version)).await.unwrap();
}

#[tokio::test]
async fn a_new_leader_takes_over_locks_at_once() {
    let mut fixture = Fixture::new(AiogramLayout::new()).await;
    let (version, _) = fixture.enters().await;
    // It is killed here; another instance claims the lease.
    let (gone, old_epoch) = (fixture.store.clone(), fixture.epoch);
    fixture.store = AiogramStore::open_with(&fixture.redis.url(), AiogramLayout::new(), mapping()).await.unwrap();
    fixture.epoch = claim(&fixture.store, "second").await;
    let began = Instant::now();
    assert_eq!(fixture.enters().await.0, version);
    assert!(began.elapsed() < Duration::from_secs(5), "it would have run out after six");
    // If it was only paused, all its writes are refused.
    assert!(matches!(Store::open_for_turn(&gone, old_epoch, &anna(), None, NOW).await, Err(StoreError::Fenced { .. })));
    let late = opora::store::Commit { state: StateChange::Clear, ..opora::store::Commit::new(anna(), version, NOW) };
    assert!(matches!(Store::commit(&gone, old_epoch, late).await, Err(StoreError::Fenced { .. })));
    fixture.commits(version, set(1, version)).await.unwrap();
}

// On one thread, because the log is captured there.
#[tokio::test]
async fn a_lock_held_for_long_is_no_outage() {
    let log = LogCapture::begin();
    let (stage, redis) = (Stage::new().await, RedisServer::start(&[]));
    let mut both = TwoBots::begin(&stage, &redis, &AiogramLayout::new()).await;
    redis.command(&["SET", LOCK, "theirs", "PX", "60000"]);
    let wait_is_logged = async {
        until("the log names the lock", async || log.has(&["another bot holds", LOCK])).await;
        redis.command(&["DEL", LOCK]);
    };
    tokio::join!(both.opora(PRIVATE, "/start", "started"), wait_is_logged);
    assert!(!log.has(&["the store is unavailable"]), "{:?}", log.lines());
    both.ends().await;
}
