//! A master that is a replica now, while the connection still leads to it.

use opora::store::{RedisCode, RedisStore, StoreError, StoreResult, Version};
use opora_testkit::proxy::Proxy;
use opora_testkit::redis_server::RedisServer;

use super::{Bench, at_state, claim, turn};
use crate::stage::until;

/// Where no master is: a replica of that keeps what it has, and says so to who reads.
const NOWHERE: [&str; 3] = ["REPLICAOF", "127.0.0.1", "1"];
const MASTER: [&str; 3] = ["REPLICAOF", "NO", "ONE"];

#[track_caller]
fn refused_by_a_replica<T: std::fmt::Debug>(answer: StoreResult<T>) {
    let Err(StoreError::Unavailable(why)) = &answer else { panic!("a replica has written: {answer:?}") };
    assert!(why.to_string().contains("replica"), "{why}");
}

#[tokio::test]
async fn after_a_failover_the_new_master_is_found() {
    for code in [RedisCode::Functions, RedisCode::Scripts] {
        let (old, new) = (RedisServer::start(&[]), RedisServer::start(&[]));
        let proxy = Proxy::before(old.port()).await;
        let url = format!("redis://127.0.0.1:{}/0", proxy.port);
        let store = RedisStore::open_with(&url, code).await.unwrap();
        let epoch = claim(&store, "first").await;
        turn(&store, epoch, 1, at_state("asked")).await.unwrap();
        new.say(&["REPLICAOF", "127.0.0.1", &old.port().to_string()]);
        until("the two are in step", async || {
            let redis::Value::BulkString(told) = new.say(&["INFO", "replication"]) else { panic!("a text") };
            String::from_utf8(told).unwrap().contains("master_link_status:up")
        })
        .await;
        new.say(&MASTER);
        old.say(&NOWHERE);
        proxy.lead_to(new.port());
        refused_by_a_replica(turn(&store, epoch, 1, at_state("asked")).await);
        let found = turn(&store, epoch, 1, at_state("asked")).await.unwrap();
        assert_eq!(found.version, Version(2), "the refused turn has left nothing");
    }
}

#[tokio::test]
async fn a_master_that_was_a_replica_for_a_while_is_written_to_again() {
    for code in [RedisCode::Functions, RedisCode::Scripts] {
        let bench = Bench::new(code).await;
        bench.turn(1, at_state("asked")).await.unwrap();
        bench.server.say(&NOWHERE);
        for _ in 0..3 {
            refused_by_a_replica(bench.turn(1, at_state("asked")).await);
        }
        bench.server.say(&MASTER);
        assert_eq!(bench.turn(1, at_state("asked")).await.unwrap().version, Version(2));
    }
}
