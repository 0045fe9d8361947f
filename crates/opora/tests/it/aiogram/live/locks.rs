//! Whose turn it is, also after a process is gone.

use std::time::Duration;

use opora::aiogram::{AiogramLayout, AiogramStore};
use opora::store::{StateChange, Store, StoreError};
use opora_testkit::redis_server::RedisServer;
use tokio::time::Instant;

use super::both::{Both, PRIVATE, mapping};
use super::keys::{Bench, NOW, anna, claim, set};
use crate::runtime::journal::Journal;
use crate::stage::{Stage, until};

const LOCK: &str = "fsm:5:5:lock";

impl Bench {
    fn lock(&self) -> Option<String> {
        redis::from_redis_value(self.redis.say(&["GET", LOCK])).unwrap()
    }
}

#[tokio::test]
async fn a_turn_holds_the_lock_until_it_commits_or_is_left() {
    let bench = Bench::new(AiogramLayout::new()).await;
    assert_eq!(bench.lock(), None);
    let (version, _) = bench.enters().await;
    assert!(bench.lock().unwrap().starts_with("opora:opora:123456789:"));
    let left: i64 = redis::from_redis_value(bench.redis.say(&["PTTL", LOCK])).unwrap();
    assert!((1_000..=6_000).contains(&left), "{left} ms");
    assert_eq!(bench.enters().await.0, version, "its own lock keeps nobody out");
    bench.commits(version, set(1, version)).await.unwrap();
    assert_eq!(bench.lock(), None);
    bench.enters().await;
    Store::abandon_turn(&bench.store, bench.epoch, &anna()).await.unwrap();
    assert_eq!(bench.lock(), None);
}

#[tokio::test]
async fn somebody_elses_lock_is_waited_for_and_never_released() {
    let bench = Bench::new(AiogramLayout::new()).await;
    let began = Instant::now();
    bench.redis.say(&["SET", LOCK, "theirs", "PX", "300"]);
    let (version, _) = bench.enters().await;
    assert!(began.elapsed() >= Duration::from_millis(250));
    // It took too long, and they have it now.
    bench.redis.say(&["SET", LOCK, "theirs", "PX", "60000"]);
    bench.commits(version, set(1, version)).await.unwrap_err();
    Store::abandon_turn(&bench.store, bench.epoch, &anna()).await.unwrap();
    assert_eq!(bench.lock().as_deref(), Some("theirs"));
}

#[tokio::test]
async fn a_turn_that_lost_its_lock_to_somebody_else_is_overtaken_and_runs_again() {
    let bench = Bench::new(AiogramLayout::new()).await;
    let (version, _) = bench.enters().await;
    bench.commits(version, set(1, version)).await.unwrap();
    let (before, (version, _)) = (bench.has(), bench.enters().await);
    // They have read the keys, and will write without looking again.
    bench.redis.say(&["DEL", LOCK]);
    bench.redis.say(&["SET", LOCK, "theirs", "PX", "60000"]);
    let refused = bench.commits(version, set(2, version)).await.unwrap_err();
    assert!(matches!(refused, StoreError::Overtaken(_)), "{refused}");
    assert_eq!((bench.has(), bench.lock().as_deref()), (before, Some("theirs")));
    bench.redis.say(&["DEL", LOCK]);
    let (version, _) = bench.enters().await;
    // One that ran out and that nobody else has taken is no harm.
    bench.redis.say(&["DEL", LOCK]);
    bench.commits(version, set(2, version)).await.unwrap();
}

#[tokio::test]
async fn the_next_instance_takes_the_lock_of_one_that_is_gone_at_once() {
    let mut bench = Bench::new(AiogramLayout::new()).await;
    let (version, _) = bench.enters().await;
    // It is killed here; another one claims the lease.
    let (gone, old_epoch) = (bench.store.clone(), bench.epoch);
    bench.store = AiogramStore::open_with(&bench.redis.url(), AiogramLayout::new(), mapping()).await.unwrap();
    bench.epoch = claim(&bench.store, "second").await;
    let began = Instant::now();
    assert_eq!(bench.enters().await.0, version);
    assert!(began.elapsed() < Duration::from_secs(5), "it would have run out after six");
    // The one that was only paused is refused whatever it does.
    assert!(matches!(Store::open_for_turn(&gone, old_epoch, &anna(), None, NOW).await, Err(StoreError::Fenced { .. })));
    let late = opora::store::Commit { state: StateChange::Clear, ..opora::store::Commit::new(anna(), version, NOW) };
    assert!(matches!(Store::commit(&gone, old_epoch, late).await, Err(StoreError::Fenced { .. })));
    bench.commits(version, set(1, version)).await.unwrap();
}

// On one thread, as its log is heard there.
#[tokio::test]
async fn a_lock_that_is_held_for_long_is_waited_for_and_is_no_outage() {
    let log = Journal::begin();
    let (stage, redis) = (Stage::new().await, RedisServer::start(&[]));
    let mut both = Both::begin(&stage, &redis, &AiogramLayout::new()).await;
    redis.say(&["SET", LOCK, "theirs", "PX", "60000"]);
    let told = async {
        until("it is told who is waited for", async || log.has(&["another bot holds", LOCK])).await;
        redis.say(&["DEL", LOCK]);
    };
    tokio::join!(both.opora(PRIVATE, "/start", "started"), told);
    assert!(!log.has(&["the store is away"]), "{:?}", log.lines());
    both.ends().await;
}
