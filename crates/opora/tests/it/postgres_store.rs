//! Properties of the PostgreSQL store beyond the conformance suite. Tests that harm their server start one of their
//! own.

use opora::clock::Millis;
use opora::key::ConversationKey;
use opora::store::{
    Commit, Committed, Epoch, LeaseAnswer, Mark, Opened, Outgoing, PostgresStore, StateChange, StateName, Store,
    StoreResult, StoredState, Version,
};
use opora::testing::holder;
use opora_testkit::postgres_server::{PostgresSchema, PostgresServer};

mod bot;
mod cleaning;
mod concurrency;
mod faults;
mod imports;
mod lost_data;
mod opening;
mod statistics;
mod writes;

const BOT: i64 = 7_000_000_001;
const NOW: Millis = Millis(1_000_000);

/// A store with the lease.
struct Fixture<S> {
    store: PostgresStore,
    epoch: Epoch,
    // Dropped last.
    server: S,
}

impl Fixture<PostgresSchema> {
    /// In a schema of its own.
    async fn new() -> Self {
        let space = PostgresSchema::new().await;
        let store = PostgresStore::open(&space.url).await.unwrap();
        Self { epoch: claim(&store, "first").await, store, server: space }
    }
}

impl Fixture<PostgresServer> {
    /// On a server of its own.
    async fn on(server: PostgresServer) -> Self {
        let store = PostgresStore::open(&server.url()).await.unwrap();
        Self { epoch: claim(&store, "first").await, store, server }
    }
}

impl<S> Fixture<S> {
    async fn turn(&self, user: i64) -> StoreResult<Committed> {
        let version = version(&self.store, &person(user)).await?;
        self.store.commit(self.epoch, talk(person(user), version)).await
    }
}

async fn claim(store: &PostgresStore, token: &str) -> Epoch {
    let seen = store.lease(BOT).await.unwrap();
    match store.claim(BOT, &holder(token), seen.as_ref()).await.unwrap() {
        LeaseAnswer::Granted(epoch) => epoch,
        LeaseAnswer::Held(lease) => panic!("{lease:?} holds it"),
    }
}

async fn version(store: &PostgresStore, key: &ConversationKey) -> StoreResult<Version> {
    match store.open(key, None).await? {
        Opened::At { version, .. } => Ok(version),
        Opened::AlreadyProcessed => panic!("opened without a mark"),
    }
}

fn person(user: i64) -> ConversationKey {
    ConversationKey::private(BOT, user)
}

fn mark(update_id: i64) -> Mark {
    Mark { bot: BOT, update_id, identity: "message:1".into() }
}

fn at_state(state: &str) -> StoredState {
    let place = StateName { dialogue: "closing".into(), state: state.into() };
    StoredState { value: format!(r#"{{"at":"{state}"}}"#).into(), states: vec![place], expires_at: None }
}

/// A message to a chat.
pub fn message(chat: i64, text: &str) -> Outgoing {
    Outgoing::new(Some(chat), "sendMessage", serde_json::json!({"chat_id": chat, "text": text}).to_string())
}

/// A turn with one message, which stays in one state.
fn talk(key: ConversationKey, from: Version) -> Commit {
    let outgoing = vec![message(key.chat, "said")];
    Commit { outgoing, state: StateChange::Set(at_state("talking")), ..Commit::new(key, from, NOW) }
}
