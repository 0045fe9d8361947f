//! A server that forgets, ends, or does not answer.

use std::time::{Duration, Instant};

use opora::clock::Millis;
use opora::store::{
    Bounds, Commit, OutboxId, RedisCode, RedisStore, Settled, Settlement, Store, StoreError, StoreResult, Version,
};

use super::{BOT, Bench, at_state, claim, fenced, person, turn, version};

/// Polls until the server is there again.
async fn until_answered(bench: &Bench) {
    let began = Instant::now();
    while bench.store.lease(super::BOT).await.is_err() {
        assert!(began.elapsed() < Duration::from_secs(10), "Redis is there and is not found");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_lost_library_is_loaded_again() {
    let bench = Bench::new(RedisCode::Functions).await;
    bench.server.say(&["FUNCTION", "FLUSH"]);
    assert_eq!(bench.turn(1, at_state("asked")).await.unwrap().version, Version(1));
    assert_eq!(bench.turn(1, at_state("asked")).await.unwrap().version, Version(2));
}

#[tokio::test]
async fn a_lost_script_is_loaded_again() {
    let bench = Bench::new(RedisCode::Scripts).await;
    bench.server.say(&["SCRIPT", "FLUSH"]);
    assert_eq!(bench.turn(1, at_state("asked")).await.unwrap().version, Version(1));
    assert_eq!(bench.server.say(&["FUNCTION", "LIST"]), redis::Value::Array(Vec::new()), "no function was loaded");
}

#[tokio::test]
async fn a_server_that_was_killed_loses_nothing_and_is_found_again() {
    for code in [RedisCode::Functions, RedisCode::Scripts] {
        let mut bench = Bench::new(code).await;
        bench.turn(1, at_state("asked")).await.unwrap();
        bench.server.kill();
        let away = bench.turn(1, at_state("asked")).await;
        assert!(matches!(away, Err(StoreError::Unavailable(_))), "{away:?}");
        bench.server.start_again();
        until_answered(&bench).await;
        assert_eq!(bench.turn(1, at_state("asked")).await.unwrap().version, Version(2));
    }
}

#[tokio::test]
async fn a_lost_answer_is_told_and_nobody_waits_for_ever() {
    let bench = Bench::new(RedisCode::Functions).await;
    bench.server.say(&["CLIENT", "PAUSE", "6000", "ALL"]);
    let began = Instant::now();
    let lost = bench.turn(1, at_state("asked")).await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    until_answered(&bench).await;
    bench.turn(1, at_state("asked")).await.unwrap();
}

#[tokio::test]
async fn an_emptied_redis_is_written_to_by_nobody_who_knew_it_full() {
    for code in [RedisCode::Functions, RedisCode::Scripts] {
        let bench = Bench::new(code).await;
        bench.turn(1, at_state("asked")).await.unwrap();
        bench.server.say(&["FLUSHALL"]);
        let lost = bench.turn(1, at_state("asked")).await;
        assert!(matches!(&lost, Err(StoreError::Lost { what }) if what.contains("empty")), "{lost:?}");
        fenced(bench.turn(1, at_state("asked")).await);
        assert_eq!(version(&bench.store, 1).await.unwrap(), Version(0));
        assert_eq!(bench.server.say(&["DBSIZE"]), redis::Value::Int(0));
    }
}

#[tokio::test]
async fn a_full_server_refuses_a_turn_whole_and_still_takes_what_frees_memory() {
    let bench = Bench::new(RedisCode::Functions).await;
    let ids = two_messages(&bench).await.unwrap();
    bench.server.say(&["CONFIG", "SET", "maxmemory", "1"]);
    let full = bench.turn(1, at_state("asked")).await;
    assert!(matches!(full, Err(StoreError::Unavailable(_))), "{full:?}");
    let settled = |id: OutboxId| vec![Settled { id, outcome: Settlement::Sent { labelled: None } }];
    bench.store.settle(bench.epoch, settled(ids[0]), Millis(2)).await.unwrap();
    // Nobody loses the lease, and the next one has it: without it nothing could be settled or cleaned.
    bench.store.renew(BOT, bench.epoch).await.unwrap();
    bench.store.release(BOT, bench.epoch).await.unwrap();
    let next = RedisStore::open(&bench.server.url()).await.unwrap();
    let epoch = claim(&next, "next").await;
    next.settle(epoch, settled(ids[1]), Millis(3)).await.unwrap();
    let bounds = Bounds { marks_before: Millis(9), records_before: Millis(9), parked_most: 9, marks_live: None };
    next.clean(epoch, bounds).await.unwrap();
    next.renew(BOT, epoch).await.unwrap();
    let full = turn(&next, epoch, 1, at_state("asked")).await;
    assert!(matches!(full, Err(StoreError::Unavailable(_))), "{full:?}");
    bench.server.say(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(turn(&next, epoch, 1, at_state("asked")).await.unwrap().version, Version(2));
    assert_eq!(next.statistics(None).await.unwrap().outbox, 0);
}

async fn two_messages(bench: &Bench) -> StoreResult<Vec<OutboxId>> {
    let mut commit = Commit::new(person(1), Version(0), Millis(1));
    commit.outgoing = vec![super::counting::message(1), super::counting::message(1)];
    Ok(bench.store.commit(bench.epoch, commit).await?.outbox)
}
