//! The long expiry of keys, for bots that never come back.

use std::time::{Duration, Instant};

use opora::clock::Millis;
use opora::store::{CleaningLimits, RedisCode, RedisStore, StateChange, Store, Version};
use opora_testkit::redis_server::RedisServer;

use super::{BOT, Fixture, at_state, claim, person, turn, version};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Limits that remove nothing.
const BOUNDS: CleaningLimits =
    CleaningLimits { marks_before: Millis(0), records_before: Millis(0), max_parked: 10, mark_ttl: None };

/// All keys with their remaining time; none without an expiry.
fn keys(server: &RedisServer) -> Vec<(String, Option<i64>)> {
    let redis::Value::Array(names) = server.command(&["KEYS", "*"]) else { panic!("keys are a list") };
    let name = |name: redis::Value| redis::from_redis_value::<String>(name).unwrap();
    let left = |name: &str| match server.command(&["PTTL", name]) {
        redis::Value::Int(left_ms @ 0..) => Some(left_ms),
        _ => None,
    };
    names.into_iter().map(name).map(|name| (name.clone(), left(&name))).collect()
}

/// The keys with data of people, without marks, which expire much sooner.
fn of_people(server: &RedisServer) -> Vec<(String, Option<i64>)> {
    let is_of_people = |name: &str| name.contains(&format!("}}:{BOT}:")) && !name.ends_with(":room");
    keys(server).into_iter().filter(|(name, _)| is_of_people(name) && !name.ends_with(":marks")).collect()
}

async fn have_turns(fixture: &Fixture) {
    for user in 1..=40 {
        fixture.turn(user, at_state("asked")).await.unwrap();
        fixture.turn(user, at_state("told")).await.unwrap();
    }
}

#[tokio::test]
async fn keys_expire_long_after_the_last_cleaning() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    have_turns(&fixture).await;
    assert!(of_people(&fixture.server).iter().all(|(_, left_ms)| left_ms.is_none()));
    fixture.store.clean(fixture.epoch, BOUNDS).await.unwrap();
    let kept = of_people(&fixture.server);
    assert!(kept.len() > 16, "{kept:?}");
    for (name, left_ms) in kept {
        let days = left_ms.unwrap_or_default() as f64 / DAY_MS as f64;
        assert!((399.9..=400.0).contains(&days), "{name} has {days} days");
    }
    let for_ever = keys(&fixture.server).into_iter().filter(|(_, left_ms)| left_ms.is_none()).map(|(name, _)| name);
    let is_apart =
        |name: &String| [":room", ":generation", ":layout", ":epochs", ":bots"].iter().any(|end| name.ends_with(end));
    assert!(for_ever.filter(|name| !name.contains(":lease:")).all(|name| is_apart(&name)));
}

#[tokio::test]
async fn an_orderly_stop_extends_the_expiry() {
    let server = RedisServer::start(&[]);
    let left = async |settings: &str| {
        let store = RedisStore::open(&format!("{}?{settings}", server.url())).await.unwrap();
        let epoch = claim(&store, settings).await;
        turn(&store, epoch, 1, at_state("asked")).await.unwrap();
        store.release(BOT, epoch).await.unwrap();
        of_people(&server).into_iter().map(|(_, left_ms)| left_ms.map(|ms| (ms + 60_000) / DAY_MS)).max().unwrap()
    };
    assert_eq!(left("keep_days=30").await, Some(30));
    assert_eq!(left("keep_days=0").await, None, "for ever, also what had an end");
    assert_eq!(left("").await, Some(400));
}

#[tokio::test]
async fn versions_of_expired_conversations_are_not_reused() {
    let mut fixture = Fixture::new(RedisCode::Functions).await;
    have_turns(&fixture).await;
    fixture.store.clean(fixture.epoch, BOUNDS).await.unwrap();
    for (name, _) in of_people(&fixture.server) {
        fixture.server.command(&["PEXPIRE", &name, "1"]);
    }
    let began = Instant::now();
    while !of_people(&fixture.server).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(5), "keys live on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    fixture.epoch = claim(&fixture.store, "years later").await;
    for user in 1..=40 {
        assert!(version(&fixture.store, user).await.unwrap() > Version(1_000_000), "{}", person(user));
        fixture.turn(user, at_state("asked")).await.unwrap();
    }
    let highest = version(&fixture.store, 1).await.unwrap();
    fixture.store.clean(fixture.epoch, BOUNDS).await.unwrap();
    fixture.epoch = claim(&fixture.store, "again").await;
    assert_eq!(version(&fixture.store, 1).await.unwrap(), highest, "nothing has gone since");
}

#[tokio::test]
async fn an_emptied_partition_keeps_its_version_floor() {
    let mut fixture = Fixture::new(RedisCode::Functions).await;
    fixture.turn(1, at_state("asked")).await.unwrap();
    fixture.store.clean(fixture.epoch, BOUNDS).await.unwrap();
    fixture.turn(1, StateChange::Clear).await.unwrap();
    let all_old = CleaningLimits { records_before: Millis(i64::MAX / 4), ..BOUNDS };
    while !fixture.store.clean(fixture.epoch, all_old).await.unwrap().is_empty() {}
    fixture.epoch = claim(&fixture.store, "later").await;
    assert_eq!(version(&fixture.store, 1).await.unwrap(), Version(2), "the floor is what was reached");
}
