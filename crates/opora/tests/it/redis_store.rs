//! Properties of the Redis store beyond the conformance suite. Each test has a Redis of its own, because it harms it.

use opora::clock::Millis;
use opora::key::ConversationKey;
use opora::store::{
    Commit, Committed, Epoch, LeaseAnswer, Opened, RedisCode, RedisStore, StateChange, StateName, Store, StoreError,
    StoreResult, StoredState, Version,
};
use opora::testing::holder;
use opora_testkit::redis_server::RedisServer;

mod batching;
mod bot;
mod cluster;
mod deploy;
mod expiry;
mod failover;
mod fences;
mod group_migration;
mod loss;
mod lost_deliveries;
mod marks;
mod opening;
mod standby;
mod statistics;

const BOT: i64 = 7_000_000_001;

/// A store in a Redis of its own, with the lease.
struct Fixture {
    store: RedisStore,
    epoch: Epoch,
    // Dropped last.
    server: RedisServer,
}

impl Fixture {
    async fn new(code: RedisCode) -> Self {
        Self::on(RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]), code).await
    }

    async fn on(server: RedisServer, code: RedisCode) -> Self {
        let store = RedisStore::open_with(&server.url(), code).await.unwrap();
        let epoch = claim(&store, "first").await;
        Self { store, epoch, server }
    }

    async fn turn(&self, user: i64, state: StateChange) -> StoreResult<Committed> {
        turn(&self.store, self.epoch, user, state).await
    }
}

async fn claim(store: &RedisStore, token: &str) -> Epoch {
    let seen = store.lease(BOT).await.unwrap();
    match store.claim(BOT, &holder(token), seen.as_ref()).await.unwrap() {
        LeaseAnswer::Granted(epoch) => epoch,
        LeaseAnswer::Held(lease) => panic!("{lease:?} holds it"),
    }
}

/// A turn from the current version.
async fn turn(store: &RedisStore, epoch: Epoch, user: i64, state: StateChange) -> StoreResult<Committed> {
    let mut commit = Commit::new(person(user), version(store, user).await?, Millis(1_000));
    commit.state = state;
    store.commit(epoch, commit).await
}

async fn version(store: &RedisStore, user: i64) -> StoreResult<Version> {
    match store.open(&person(user), None).await? {
        Opened::At { version, .. } => Ok(version),
        Opened::AlreadyProcessed => panic!("opened without a mark"),
    }
}

fn person(user: i64) -> ConversationKey {
    ConversationKey::private(BOT, user)
}

fn at_state(state: &str) -> StateChange {
    let place = StateName { dialogue: "survey".into(), state: state.into() };
    StateChange::Set(StoredState { value: "{}".into(), states: vec![place], expires_at: None })
}

/// An instance on some machine.
#[track_caller]
fn fenced<T: std::fmt::Debug>(answer: StoreResult<T>) {
    assert!(matches!(answer, Err(StoreError::Fenced { .. })), "should be fenced: {answer:?}");
}
