//! Direct updates, and how long marks are kept.

use std::time::Duration;

use opora::clock::Millis;
use opora::store::{
    CleaningLimits, Commit, Incoming, InputRef, Mark, Opened, Origin, Receipt, RedisCode, Store, StoreError, Version,
};

use super::{BOT, Fixture, at_state, person};

fn mark(update_id: i64) -> Mark {
    Mark { bot: BOT, update_id, identity: format!("message:{update_id}").into() }
}

fn update(user: i64, update_id: i64) -> Incoming {
    Incoming { key: person(user), origin: Origin::Update(mark(update_id)), body: "{}".into(), at: Millis(1) }
}

fn direct_update(user: i64, from: i64, update_id: i64) -> Commit {
    let mut commit = Commit::new(person(user), Version(from), Millis(1));
    (commit.processed, commit.state) = (vec![InputRef::DirectUpdate(mark(update_id))], at_state("asked"));
    commit
}

#[tokio::test]
async fn a_direct_update_is_processed_once() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    fixture.store.commit(fixture.epoch, direct_update(1, 0, 1)).await.unwrap();
    assert_eq!(fixture.store.open(&person(1), Some(&mark(1))).await.unwrap(), Opened::AlreadyProcessed);
    let again = fixture.store.commit(fixture.epoch, direct_update(1, 1, 1)).await;
    assert!(matches!(again, Err(StoreError::AlreadyProcessed)), "{again:?}");
    assert_eq!(fixture.store.receive(fixture.epoch, vec![update(1, 1)]).await.unwrap(), [Receipt::Known]);
}

#[tokio::test]
async fn a_direct_update_that_was_also_stored_leaves_the_inbox() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    fixture.store.receive(fixture.epoch, vec![update(1, 1), update(1, 2)]).await.unwrap();
    fixture.store.commit(fixture.epoch, direct_update(1, 0, 1)).await.unwrap();
    let left = fixture.store.waiting(BOT, Default::default(), 10).await.unwrap();
    assert_eq!(left.iter().map(|row| &row.incoming.origin).collect::<Vec<_>>(), [&Origin::Update(mark(2))]);
    assert_eq!(fixture.store.waiting_for(&person(1), Default::default(), 10).await.unwrap(), left);
    assert_eq!(fixture.store.receive(fixture.epoch, vec![update(1, 1)]).await.unwrap(), [Receipt::Known]);
}

#[tokio::test]
async fn a_reused_inbox_position_is_not_confused() {
    for code in [RedisCode::Functions, RedisCode::Scripts] {
        let fixture = Fixture::new(code).await;
        fixture.store.deliver(vec![update(1, 1)]).await.unwrap();
        let [old] = &fixture.store.waiting_for(&person(1), Default::default(), 9).await.unwrap()[..] else {
            panic!("one waits")
        };
        // The server loses the last moments. Deliveries are not counted, so no instance is refused.
        for partition in 0..16 {
            let name = |thing: &str| format!("{{opora:{partition}}}:{BOT}:{thing}");
            fixture.server.command(&["DEL", &name("inbox"), &name("queue"), &name("waits")]);
            fixture.server.command(&["HDEL", &name("room"), "last"]);
        }
        fixture.store.deliver(vec![update(1, 2)]).await.unwrap();
        let new = fixture.store.waiting_for(&person(1), Default::default(), 9).await.unwrap();
        assert_eq!(new.iter().map(|row| row.seq).collect::<Vec<_>>(), [old.seq], "the place is given again");
        let mut late = Commit::new(person(1), Version(0), Millis(1));
        (late.processed, late.state) = (vec![InputRef::Update { seq: old.seq, mark: mark(1) }], at_state("asked"));
        let refused = fixture.store.commit(fixture.epoch, late).await;
        assert!(matches!(refused, Err(StoreError::AlreadyProcessed)), "{refused:?}");
        assert_eq!(fixture.store.waiting_for(&person(1), Default::default(), 9).await.unwrap(), new, "it waits still");
        let mut right = Commit::new(person(1), Version(0), Millis(1));
        (right.processed, right.state) = (vec![InputRef::Update { seq: old.seq, mark: mark(2) }], at_state("asked"));
        fixture.store.commit(fixture.epoch, right).await.unwrap();
        assert_eq!(fixture.store.waiting(BOT, Default::default(), 9).await.unwrap(), []);
    }
}

#[tokio::test]
async fn marks_expire_without_cleaning() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    fixture.store.commit(fixture.epoch, direct_update(1, 0, 1)).await.unwrap();
    let expiring = expiring(&fixture);
    assert_eq!(expiring.len(), 1, "only marks expire, not {expiring:?}");
    let hours = hours_left(&fixture);
    assert!((72..=96).contains(&hours), "{hours} h");
}

#[tokio::test]
async fn marks_live_as_long_as_their_retention() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    let hours = |hours: u64| Duration::from_secs(hours * 3_600);
    for (update_id, live) in [(1, 400), (2, 30), (3, 200)] {
        let bounds = CleaningLimits {
            marks_before: Millis(0),
            records_before: Millis(0),
            max_parked: 9,
            mark_ttl: Some(hours(live)),
        };
        fixture.store.clean(fixture.epoch, bounds).await.unwrap();
        if update_id > 1 {
            let hours = hours_left(&fixture);
            assert!((live..=live + 1).contains(&hours), "existing marks: {hours} h of {live}");
        }
        fixture.store.commit(fixture.epoch, direct_update(1, update_id - 1, update_id)).await.unwrap();
        let left = hours_left(&fixture);
        assert!((live..=live + 1).contains(&left), "{left} h of {live}");
    }
}

/// The hours after which marks expire.
fn hours_left(fixture: &Fixture) -> u64 {
    let (_, left_ms) = expiring(fixture).into_iter().find(|(name, _)| name.ends_with(":marks")).expect("marks expire");
    u64::try_from(left_ms / 3_600_000).unwrap()
}

/// The keys with an expiry, and their remaining milliseconds.
fn expiring(fixture: &Fixture) -> Vec<(String, i64)> {
    let mut expiring = Vec::new();
    for partition in 0..16 {
        let redis::Value::Array(keys) = fixture.server.command(&["KEYS", &format!("{{opora:{partition}}}:*")]) else {
            panic!("keys are a list")
        };
        for key in keys {
            let redis::Value::BulkString(name) = key else { panic!("a key is a text") };
            let name = String::from_utf8(name).unwrap();
            if let redis::Value::Int(left_ms @ 0..) = fixture.server.command(&["PTTL", &name]) {
                expiring.push((name, left_ms));
            }
        }
    }
    expiring
}
