//! Updates whose turns did not wait for the inbox, and how long marks are kept.

use opora::clock::Millis;
use opora::store::{Commit, Incoming, Mark, Opened, Origin, Receipt, RedisCode, Store, StoreError, Taken, Version};

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
async fn marks_go_by_themselves_when_nobody_cleans() {
    let bench = Bench::new(RedisCode::Functions).await;
    bench.store.commit(bench.epoch, fresh(1, 0, 1)).await.unwrap();
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
    let [(name, left_ms)] = &expiring[..] else { panic!("only marks expire, not {expiring:?}") };
    assert!(name.ends_with(":marks"));
    let hours = left_ms / 3_600_000;
    assert!((72..=96).contains(&hours), "{hours} h");
}
