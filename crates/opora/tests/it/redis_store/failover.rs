//! A master that became a replica, while the connection still leads to it.

use opora::store::{RedisCode, RedisStore, StoreError, StoreResult, Version};
use opora_testkit::proxy::Proxy;
use opora_testkit::redis_server::RedisServer;

use super::{Fixture, at_state, claim, turn};
use crate::stage::until;

/// No master runs there: a replica of it keeps its data and reports its role to readers.
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
        let proxy = Proxy::in_front_of(old.port()).await;
        let url = format!("redis://127.0.0.1:{}/0", proxy.port);
        let store = RedisStore::open_with(&url, code).await.unwrap();
        let epoch = claim(&store, "first").await;
        turn(&store, epoch, 1, at_state("asked")).await.unwrap();
        new.command(&["REPLICAOF", "127.0.0.1", &old.port().to_string()]);
        until("the two are in step", async || {
            let redis::Value::BulkString(info) = new.command(&["INFO", "replication"]) else { panic!("a text") };
            String::from_utf8(info).unwrap().contains("master_link_status:up")
        })
        .await;
        new.command(&MASTER);
        old.command(&NOWHERE);
        proxy.set_server(new.port());
        refused_by_a_replica(turn(&store, epoch, 1, at_state("asked")).await);
        let found = turn(&store, epoch, 1, at_state("asked")).await.unwrap();
        assert_eq!(found.version, Version(2), "the refused turn has left nothing");
    }
}

#[tokio::test]
async fn a_former_replica_is_written_to_again() {
    for code in [RedisCode::Functions, RedisCode::Scripts] {
        let fixture = Fixture::new(code).await;
        fixture.turn(1, at_state("asked")).await.unwrap();
        fixture.server.command(&NOWHERE);
        for _ in 0..3 {
            refused_by_a_replica(fixture.turn(1, at_state("asked")).await);
        }
        fixture.server.command(&MASTER);
        assert_eq!(fixture.turn(1, at_state("asked")).await.unwrap().version, Version(2));
    }
}
