//! Updates whose turns did not wait for the inbox, and how long marks are kept.

use std::time::Duration;

use opora::clock::Millis;
use opora::store::{
    Bounds, Commit, Incoming, Mark, Opened, Origin, Receipt, RedisCode, Store, StoreError, Taken, Version,
};

use super::{BOT, Bench, at_state, person};

fn mark(update_id: i64) -> Mark {
    Mark { bot: BOT, update_id, identity: format!("message:{update_id}").into() }
}

fn update(user: i64, update_id: i64) -> Incoming {
    Incoming { key: person(user), origin: Origin::Update(mark(update_id)), body: "{}".into(), at: Millis(1) }
}

fn fresh(user: i64, from: i64, update_id: i64) -> Commit {
    let mut commit = Commit::new(person(user), Version(from), Millis(1));
    (commit.takes, commit.state) = (vec![Taken::Fresh(mark(update_id))], at_state("asked"));
    commit
}

#[tokio::test]
async fn a_fresh_update_is_taken_once() {
    let bench = Bench::new(RedisCode::Functions).await;
    bench.store.commit(bench.epoch, fresh(1, 0, 1)).await.unwrap();
    assert_eq!(bench.store.open(&person(1), Some(&mark(1))).await.unwrap(), Opened::AlreadyTaken);
    let again = bench.store.commit(bench.epoch, fresh(1, 1, 1)).await;
    assert!(matches!(again, Err(StoreError::AlreadyTaken)), "{again:?}");
    assert_eq!(bench.store.receive(bench.epoch, vec![update(1, 1)]).await.unwrap(), [Receipt::Known]);
}

#[tokio::test]
async fn a_fresh_update_that_came_to_the_inbox_meanwhile_leaves_it() {
    let bench = Bench::new(RedisCode::Functions).await;
    bench.store.receive(bench.epoch, vec![update(1, 1), update(1, 2)]).await.unwrap();
    bench.store.commit(bench.epoch, fresh(1, 0, 1)).await.unwrap();
    let left = bench.store.waiting(BOT, Default::default(), 10).await.unwrap();
    assert_eq!(left.iter().map(|row| &row.incoming.origin).collect::<Vec<_>>(), [&Origin::Update(mark(2))]);
    assert_eq!(bench.store.waiting_for(&person(1), Default::default(), 10).await.unwrap(), left);
    assert_eq!(bench.store.receive(bench.epoch, vec![update(1, 1)]).await.unwrap(), [Receipt::Known]);
}

#[tokio::test]
async fn a_place_that_was_given_again_after_a_loss_is_not_taken_for_the_one_who_had_it() {
    for code in [RedisCode::Functions, RedisCode::Scripts] {
        let bench = Bench::new(code).await;
        bench.store.deliver(vec![update(1, 1)]).await.unwrap();
        let [old] = &bench.store.waiting_for(&person(1), Default::default(), 9).await.unwrap()[..] else {
            panic!("one waits")
        };
        // The server comes back from a moment before; deliveries are not counted, so nobody is refused for that.
        for partition in 0..16 {
            let name = |thing: &str| format!("{{opora:{partition}}}:{BOT}:{thing}");
            bench.server.say(&["DEL", &name("inbox"), &name("queue"), &name("waits")]);
            bench.server.say(&["HDEL", &name("room"), "last"]);
        }
        bench.store.deliver(vec![update(1, 2)]).await.unwrap();
        let new = bench.store.waiting_for(&person(1), Default::default(), 9).await.unwrap();
        assert_eq!(new.iter().map(|row| row.seq).collect::<Vec<_>>(), [old.seq], "the place is given again");
        let mut late = Commit::new(person(1), Version(0), Millis(1));
        (late.takes, late.state) = (vec![Taken::Update { seq: old.seq, mark: mark(1) }], at_state("asked"));
        let refused = bench.store.commit(bench.epoch, late).await;
        assert!(matches!(refused, Err(StoreError::AlreadyTaken)), "{refused:?}");
        assert_eq!(bench.store.waiting_for(&person(1), Default::default(), 9).await.unwrap(), new, "it waits still");
        let mut right = Commit::new(person(1), Version(0), Millis(1));
        (right.takes, right.state) = (vec![Taken::Update { seq: old.seq, mark: mark(2) }], at_state("asked"));
        bench.store.commit(bench.epoch, right).await.unwrap();
        assert_eq!(bench.store.waiting(BOT, Default::default(), 9).await.unwrap(), []);
    }
}

#[tokio::test]
async fn marks_go_by_themselves_when_nobody_cleans() {
    let bench = Bench::new(RedisCode::Functions).await;
    bench.store.commit(bench.epoch, fresh(1, 0, 1)).await.unwrap();
    let expiring = expiring(&bench);
    assert_eq!(expiring.len(), 1, "only marks expire, not {expiring:?}");
    let hours = hours_left(&bench);
    assert!((72..=96).contains(&hours), "{hours} h");
}

#[tokio::test]
async fn marks_are_kept_for_as_long_as_the_retention_says() {
    let bench = Bench::new(RedisCode::Functions).await;
    let hours = |hours: u64| Duration::from_secs(hours * 3_600);
    for (update_id, live) in [(1, 400), (2, 30), (3, 200)] {
        let bounds = Bounds {
            marks_before: Millis(0),
            records_before: Millis(0),
            parked_most: 9,
            marks_live: Some(hours(live)),
        };
        bench.store.clean(bench.epoch, bounds).await.unwrap();
        if update_id > 1 {
            let told = hours_left(&bench);
            assert!((live..=live + 1).contains(&told), "those that are there: {told} h of {live}");
        }
        bench.store.commit(bench.epoch, fresh(1, update_id - 1, update_id)).await.unwrap();
        let left = hours_left(&bench);
        assert!((live..=live + 1).contains(&left), "{left} h of {live}");
    }
}

/// After how many hours marks go by themselves.
fn hours_left(bench: &Bench) -> u64 {
    let (_, left_ms) = expiring(bench).into_iter().find(|(name, _)| name.ends_with(":marks")).expect("marks expire");
    u64::try_from(left_ms / 3_600_000).unwrap()
}

/// The keys that go by themselves, and after how many milliseconds.
fn expiring(bench: &Bench) -> Vec<(String, i64)> {
    let mut expiring = Vec::new();
    for partition in 0..16 {
        let redis::Value::Array(keys) = bench.server.say(&["KEYS", &format!("{{opora:{partition}}}:*")]) else {
            panic!("keys are a list")
        };
        for key in keys {
            let redis::Value::BulkString(name) = key else { panic!("a key is a text") };
            let name = String::from_utf8(name).unwrap();
            if let redis::Value::Int(left_ms @ 0..) = bench.server.say(&["PTTL", &name]) {
                expiring.push((name, left_ms));
            }
        }
    }
    expiring
}
