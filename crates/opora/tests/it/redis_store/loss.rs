//! A server that loses data, ends, or does not answer.

use std::time::{Duration, Instant};

use opora::clock::Millis;
use opora::store::{
    CleaningLimits, Commit, OutboxId, RedisCode, RedisStore, Settled, Settlement, Store, StoreError, StoreResult,
    Version,
};

use super::{BOT, Fixture, at_state, claim, fenced, person, turn, version};

/// Polls until the server answers again.
async fn until_answered(fixture: &Fixture) {
    let began = Instant::now();
    while fixture.store.lease(super::BOT).await.is_err() {
        assert!(began.elapsed() < Duration::from_secs(10), "Redis is there and is not found");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_lost_library_is_loaded_again() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    fixture.server.command(&["FUNCTION", "FLUSH"]);
    assert_eq!(fixture.turn(1, at_state("asked")).await.unwrap().version, Version(1));
    assert_eq!(fixture.turn(1, at_state("asked")).await.unwrap().version, Version(2));
}

#[tokio::test]
async fn a_lost_script_is_loaded_again() {
    let fixture = Fixture::new(RedisCode::Scripts).await;
    fixture.server.command(&["SCRIPT", "FLUSH"]);
    assert_eq!(fixture.turn(1, at_state("asked")).await.unwrap().version, Version(1));
    assert_eq!(
        fixture.server.command(&["FUNCTION", "LIST"]),
        redis::Value::Array(Vec::new()),
        "no function was loaded"
    );
}

#[tokio::test]
async fn a_killed_server_loses_nothing() {
    for code in [RedisCode::Functions, RedisCode::Scripts] {
        let mut fixture = Fixture::new(code).await;
        fixture.turn(1, at_state("asked")).await.unwrap();
        fixture.server.kill();
        let away = fixture.turn(1, at_state("asked")).await;
        assert!(matches!(away, Err(StoreError::Unavailable(_))), "{away:?}");
        fixture.server.start_again();
        until_answered(&fixture).await;
        assert_eq!(fixture.turn(1, at_state("asked")).await.unwrap().version, Version(2));
    }
}

#[tokio::test]
async fn a_lost_answer_is_an_error() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    fixture.server.command(&["CLIENT", "PAUSE", "6000", "ALL"]);
    let began = Instant::now();
    let lost = fixture.turn(1, at_state("asked")).await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    until_answered(&fixture).await;
    fixture.turn(1, at_state("asked")).await.unwrap();
}

#[tokio::test]
async fn an_emptied_redis_is_not_written_to() {
    for code in [RedisCode::Functions, RedisCode::Scripts] {
        let fixture = Fixture::new(code).await;
        fixture.turn(1, at_state("asked")).await.unwrap();
        fixture.server.command(&["FLUSHALL"]);
        let lost = fixture.turn(1, at_state("asked")).await;
        assert!(matches!(&lost, Err(StoreError::Lost { what }) if what.contains("empty")), "{lost:?}");
        fenced(fixture.turn(1, at_state("asked")).await);
        assert_eq!(version(&fixture.store, 1).await.unwrap(), Version(0));
        assert_eq!(fixture.server.command(&["DBSIZE"]), redis::Value::Int(0));
    }
}

#[tokio::test]
async fn a_full_server_refuses_turns_and_still_frees_memory() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    let ids = two_messages(&fixture).await.unwrap();
    fixture.server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    let full = fixture.turn(1, at_state("asked")).await;
    assert!(matches!(full, Err(StoreError::Unavailable(_))), "{full:?}");
    let settled = |id: OutboxId| vec![Settled { id, outcome: Settlement::Sent { labelled: None } }];
    fixture.store.settle(fixture.epoch, settled(ids[0]), Millis(2)).await.unwrap();
    // The lease is kept, and the next instance gets it: otherwise nothing could be settled or cleaned.
    fixture.store.renew(BOT, fixture.epoch).await.unwrap();
    fixture.store.release(BOT, fixture.epoch).await.unwrap();
    let next = RedisStore::open(&fixture.server.url()).await.unwrap();
    let epoch = claim(&next, "next").await;
    next.settle(epoch, settled(ids[1]), Millis(3)).await.unwrap();
    let bounds = CleaningLimits { marks_before: Millis(9), records_before: Millis(9), max_parked: 9, mark_ttl: None };
    next.clean(epoch, bounds).await.unwrap();
    next.renew(BOT, epoch).await.unwrap();
    let full = turn(&next, epoch, 1, at_state("asked")).await;
    assert!(matches!(full, Err(StoreError::Unavailable(_))), "{full:?}");
    fixture.server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(turn(&next, epoch, 1, at_state("asked")).await.unwrap().version, Version(2));
    assert_eq!(next.statistics(None).await.unwrap().outbox, 0);
}

async fn two_messages(fixture: &Fixture) -> StoreResult<Vec<OutboxId>> {
    let mut commit = Commit::new(person(1), Version(0), Millis(1));
    commit.outgoing = vec![super::statistics::message(1), super::statistics::message(1)];
    Ok(fixture.store.commit(fixture.epoch, commit).await?.outbox)
}
