//! What the Redis store promises beyond the conformance suite. Each test has a Redis of its own, for it does it harm.

use opora::clock::Millis;
use opora::key::DialogueKey;
use opora::store::{
    Commit, Committed, Epoch, LeaseAnswer, Opened, Place, RedisCode, RedisStore, StateChange, Store, StoreError,
    StoreResult, Stored, Version,
};
use opora::testing::holder;
use opora_testkit::redis_server::RedisServer;

mod bot;
mod counting;
mod delivered;
mod deploy;
mod expiry;
mod failover;
mod fences;
mod loss;
mod marks;
mod moved;
mod opening;
mod slots;
mod standby;
mod together;

const BOT: i64 = 7_000_000_001;

/// A store in a Redis of its own, with an instance that holds the lease.
struct Bench {
    store: RedisStore,
    epoch: Epoch,
    // Dropped last.
    server: RedisServer,
}

impl Bench {
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

/// A turn from the version that is there.
async fn turn(store: &RedisStore, epoch: Epoch, user: i64, state: StateChange) -> StoreResult<Committed> {
    let mut commit = Commit::new(person(user), version(store, user).await?, Millis(1_000));
    commit.state = state;
    store.commit(epoch, commit).await
}

async fn version(store: &RedisStore, user: i64) -> StoreResult<Version> {
    match store.open(&person(user), None).await? {
        Opened::At { version, .. } => Ok(version),
        Opened::AlreadyTaken => panic!("without a mark nothing is taken"),
    }
}

fn person(user: i64) -> DialogueKey {
    DialogueKey::private(BOT, user)
}

fn at_state(state: &str) -> StateChange {
    let place = Place { dialogue: "survey".into(), state: state.into() };
    StateChange::Set(Stored { value: "{}".into(), places: vec![place], expires_at: None })
}

/// An instance on some machine.
#[track_caller]
fn fenced<T: std::fmt::Debug>(answer: StoreResult<T>) {
    assert!(matches!(answer, Err(StoreError::Fenced { .. })), "should be fenced: {answer:?}");
}
