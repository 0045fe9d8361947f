//! A store filled with conversations, and turns on it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream;
use opora::clock::Millis;
use opora::key::ConversationKey;
use opora::store::{
    Commit, Epoch, Holder, InputRef, LeaseAnswer, Mark, Opened, Outgoing, Settled, Settlement, StateChange, StateName,
    Store, StoredState, Transition, Version,
};
use opora::testing::holder;

const BOT: i64 = 7;
const NOW: Millis = Millis(1_800_000_000_000);
/// How many conversations are inserted at once.
const FILL_AT_ONCE: usize = 4_000;
/// How many turns run at once.
const AT_ONCE: usize = 200;

pub(crate) struct FilledStore {
    pub(crate) store: Arc<dyn Store>,
    address: String,
    epoch: Epoch,
    count: i64,
    updates: i64,
}

impl FilledStore {
    /// Claims the lease of a store that no process uses.
    pub(crate) async fn claim(address: &str) -> Self {
        let store = opora::store::open(address).await.unwrap();
        let holder = Holder { ttl_ms: 3_600_000, ..holder("bench") };
        match store.claim(BOT, &holder, None).await.unwrap() {
            LeaseAnswer::Granted(epoch) => Self { store, address: address.to_owned(), epoch, count: 0, updates: 0 },
            LeaseAnswer::Held(lease) => panic!("the store is not empty: {lease:?}"),
        }
    }

    /// Opens it again: the connections that filled the store have grown.
    pub(crate) async fn restarted(self) -> Self {
        self.store.release(BOT, self.epoch).await.unwrap();
        self.store.close().await.unwrap();
        Self { count: self.count, ..Self::claim(&self.address).await }
    }

    /// Brings the number of stored conversations to `count`, with turns that send nothing.
    pub(crate) async fn fill(&mut self, count: i64) -> Duration {
        let began = Instant::now();
        let begin = |user| {
            let mut commit = Commit::new(ConversationKey::private(BOT, user), Version::default(), NOW);
            commit.state = state(user);
            self.store.commit(self.epoch, commit)
        };
        let mut filling = stream::iter(self.count..count).map(begin).buffer_unordered(FILL_AT_ONCE);
        while let Some(done) = filling.next().await {
            done.unwrap();
        }
        drop(filling);
        self.count = count;
        began.elapsed()
    }

    pub(crate) fn random_people(&self, most: usize) -> Vec<i64> {
        let mut people = std::collections::HashSet::new();
        while people.len() < most.min(self.count as usize) {
            people.insert(fastrand::i64(0..self.count));
        }
        people.into_iter().collect()
    }

    /// Turns that read their conversation from the store. Returns the new versions.
    pub(crate) async fn cold_turns(&mut self, people: &[i64]) -> Vec<(i64, Version)> {
        let numbered = people.iter().copied().zip(self.next_updates(people.len()));
        let turn = |(user, update)| {
            let this = &*self;
            async move {
                let (key, mark) = (ConversationKey::private(BOT, user), mark(update));
                match this.store.open(&key, Some(&mark)).await.unwrap() {
                    Opened::At { version, stored: Some(_) } => this.turn(user, key, mark, version).await,
                    other => panic!("a conversation is missing: {other:?}"),
                }
            }
        };
        stream::iter(numbered).map(turn).buffer_unordered(AT_ONCE).collect().await
    }

    /// Turns from known versions.
    pub(crate) async fn warm_turns(&mut self, people: &[(i64, Version)]) -> Vec<(i64, Version)> {
        let numbered = people.iter().copied().zip(self.next_updates(people.len()));
        let turn = |((user, version), update)| {
            let this = &*self;
            async move { this.turn(user, ConversationKey::private(BOT, user), mark(update), version).await }
        };
        stream::iter(numbered).map(turn).buffer_unordered(AT_ONCE).collect().await
    }

    async fn turn(&self, user: i64, key: ConversationKey, mark: Mark, from: Version) -> (i64, Version) {
        let mut commit = Commit::new(key, from, NOW);
        commit.processed = vec![InputRef::DirectUpdate(mark)];
        commit.state = state(user);
        commit.outgoing = vec![message(user)];
        commit.transition = Some(Transition { from: Some(place()), to: Some(place()), by: "text".into(), took_us: 40 });
        let committed = self.store.commit(self.epoch, commit).await.unwrap();
        let sent = |id| Settled { id, outcome: Settlement::Sent { labelled: None } };
        let settled = committed.outbox.into_iter().map(sent).collect();
        self.store.settle(self.epoch, settled, NOW).await.unwrap();
        (user, committed.version)
    }

    fn next_updates(&mut self, count: usize) -> std::ops::Range<i64> {
        let first = self.updates;
        self.updates += count as i64;
        first..self.updates
    }
}

/// A state like that of the example's registration in its last step.
fn state(user: i64) -> StateChange {
    let value = format!(
        r#"{{"tracks":[{{"name":"","stack":[{{"dialogue":"registration","schema":0,"state":{{"at":"selfie","name":"Person {user}","phone":"+7900{user:07}","passport":"AgACAgIAAxkBAAIBPASSPORT{user:010}"}},"entry":5}}]}}]}}"#
    );
    let expires_at = Some(Millis(NOW.0 + 86_400_000 + user % 60_000));
    StateChange::Set(StoredState { value: value.into(), states: vec![place()], expires_at })
}

fn place() -> StateName {
    StateName { dialogue: "registration".into(), state: "selfie".into() }
}

fn message(user: i64) -> Outgoing {
    Outgoing::new(Some(user), "sendMessage", format!(r#"{{"chat_id":{user},"text":"Send a photo of your passport"}}"#))
}

fn mark(update_id: i64) -> Mark {
    Mark { bot: BOT, update_id, identity: format!("message:{update_id}:1800000000").into() }
}
