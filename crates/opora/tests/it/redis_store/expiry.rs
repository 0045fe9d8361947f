//! The long expiry, against a bot that never comes back.

use std::time::{Duration, Instant};

use opora::clock::Millis;
use opora::store::{Bounds, RedisCode, RedisStore, StateChange, Store, Version};
use opora_testkit::redis_server::RedisServer;

use super::{BOT, Bench, at_state, claim, person, turn, version};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Nothing is that old.
const BOUNDS: Bounds = Bounds { marks_before: Millis(0), records_before: Millis(0), parked_most: 10, marks_live: None };

/// All keys, with how long each has left; none for ever.
fn keys(server: &RedisServer) -> Vec<(String, Option<i64>)> {
    let redis::Value::Array(names) = server.say(&["KEYS", "*"]) else { panic!("keys are a list") };
    let name = |name: redis::Value| redis::from_redis_value::<String>(name).unwrap();
    let left = |name: &str| match server.say(&["PTTL", name]) {
        redis::Value::Int(left_ms @ 0..) => Some(left_ms),
        _ => None,
    };
    names.into_iter().map(name).map(|name| (name.clone(), left(&name))).collect()
}

/// Those that hold something of somebody's, but for marks, which go much sooner.
fn of_people(server: &RedisServer) -> Vec<(String, Option<i64>)> {
    let is_of_people = |name: &str| name.contains(&format!("}}:{BOT}:")) && !name.ends_with(":room");
    keys(server).into_iter().filter(|(name, _)| is_of_people(name) && !name.ends_with(":marks")).collect()
}

async fn talked(bench: &Bench) {
    for user in 1..=40 {
        bench.turn(user, at_state("asked")).await.unwrap();
        bench.turn(user, at_state("told")).await.unwrap();
    }
}

#[tokio::test]
async fn what_a_bot_leaves_behind_goes_a_long_time_after_its_last_cleaning() {
    let bench = Bench::new(RedisCode::Functions).await;
    talked(&bench).await;
    assert!(of_people(&bench.server).iter().all(|(_, left_ms)| left_ms.is_none()));
    bench.store.clean(bench.epoch, BOUNDS).await.unwrap();
    let kept = of_people(&bench.server);
    assert!(kept.len() > 16, "{kept:?}");
    for (name, left_ms) in kept {
        let days = left_ms.unwrap_or_default() as f64 / DAY_MS as f64;
        assert!((399.9..=400.0).contains(&days), "{name} has {days} days");
    }
    let for_ever = keys(&bench.server).into_iter().filter(|(_, left_ms)| left_ms.is_none()).map(|(name, _)| name);
    let is_apart =
        |name: &String| [":room", ":generation", ":layout", ":epochs", ":bots"].iter().any(|end| name.ends_with(end));
    assert!(for_ever.filter(|name| !name.contains(":lease:")).all(|name| is_apart(&name)));
}

#[tokio::test]
async fn an_orderly_stop_puts_it_off_too_and_a_setting_says_how_long() {
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
async fn when_conversations_have_gone_their_versions_do_not_come_again() {
    let mut bench = Bench::new(RedisCode::Functions).await;
    talked(&bench).await;
    bench.store.clean(bench.epoch, BOUNDS).await.unwrap();
    for (name, _) in of_people(&bench.server) {
        bench.server.say(&["PEXPIRE", &name, "1"]);
    }
    let began = Instant::now();
    while !of_people(&bench.server).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(5), "keys live on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    bench.epoch = claim(&bench.store, "years later").await;
    for user in 1..=40 {
        assert!(version(&bench.store, user).await.unwrap() > Version(1_000_000), "{}", person(user));
        bench.turn(user, at_state("asked")).await.unwrap();
    }
    let highest = version(&bench.store, 1).await.unwrap();
    bench.store.clean(bench.epoch, BOUNDS).await.unwrap();
    bench.epoch = claim(&bench.store, "again").await;
    assert_eq!(version(&bench.store, 1).await.unwrap(), highest, "nothing has gone since");
}

#[tokio::test]
async fn a_room_that_was_cleaned_empty_counts_on_where_it_was() {
    let mut bench = Bench::new(RedisCode::Functions).await;
    bench.turn(1, at_state("asked")).await.unwrap();
    bench.store.clean(bench.epoch, BOUNDS).await.unwrap();
    bench.turn(1, StateChange::Clear).await.unwrap();
    let all_old = Bounds { records_before: Millis(i64::MAX / 4), ..BOUNDS };
    while !bench.store.clean(bench.epoch, all_old).await.unwrap().nothing() {}
    bench.epoch = claim(&bench.store, "later").await;
    assert_eq!(version(&bench.store, 1).await.unwrap(), Version(2), "the floor is what was reached");
}
