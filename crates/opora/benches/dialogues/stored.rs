//! Conversations in a store, and turns on them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream;
use opora::clock::Millis;
use opora::key::DialogueKey;
use opora::store::{
    Commit, Epoch, Holder, IfUnsure, LeaseAnswer, Mark, Opened, Outgoing, Place, Settled, Settlement, StateChange,
    Store, Stored, Taken, Transition, Version,
};
use opora::testing::holder;

const BOT: i64 = 7;
const NOW: Millis = Millis(1_800_000_000_000);
/// How many are written at once when the store is filled.
const FILLING: usize = 4_000;
/// How many turns are under way at once.
const AT_ONCE: usize = 200;

/// A store that is filled for a measurement.
pub(crate) struct Stock {
    pub(crate) store: Arc<dyn Store>,
    address: String,
    epoch: Epoch,
    count: i64,
    updates: i64,
}

impl Stock {
    /// Takes the lease of a store that nobody holds.
    pub(crate) async fn claim(address: &str) -> Self {
        let store = opora::store::open(address).await.unwrap();
        let holder = Holder { ttl_ms: 3_600_000, ..holder("bench") };
        match store.claim(BOT, &holder, None).await.unwrap() {
            LeaseAnswer::Granted(epoch) => Self { store, address: address.to_owned(), epoch, count: 0, updates: 0 },
            LeaseAnswer::Held(lease) => panic!("the store is not empty: {lease:?}"),
        }
    }

    /// Opens it anew: connections that have filled a store have grown by it.
    pub(crate) async fn restarted(self) -> Self {
        self.store.release(BOT, self.epoch).await.unwrap();
        self.store.close().await.unwrap();
        Self { count: self.count, ..Self::claim(&self.address).await }
    }

    /// Brings the number of stored conversations to `count`, as turns do that say nothing.
    pub(crate) async fn fill(&mut self, count: i64) -> Duration {
        let began = Instant::now();
        let begin = |user| {
            let mut commit = Commit::new(DialogueKey::private(BOT, user), Version::default(), NOW);
            commit.state = state(user);
            self.store.commit(self.epoch, commit)
        };
        let mut filling = stream::iter(self.count..count).map(begin).buffer_unordered(FILLING);
        while let Some(done) = filling.next().await {
            done.unwrap();
        }
        drop(filling);
        self.count = count;
        began.elapsed()
    }

    /// People at random, nobody twice.
    pub(crate) fn some_people(&self, most: usize) -> Vec<i64> {
        let mut people = std::collections::HashSet::new();
        while people.len() < most.min(self.count as usize) {
            people.insert(fastrand::i64(0..self.count));
        }
        people.into_iter().collect()
    }

    /// Turns whose conversations are read from the store; the versions that they led to.
    pub(crate) async fn cold_turns(&mut self, people: &[i64]) -> Vec<(i64, Version)> {
        let numbered = people.iter().copied().zip(self.next_updates(people.len()));
        let turn = |(user, update)| {
            let this = &*self;
            async move {
                let (key, mark) = (DialogueKey::private(BOT, user), mark(update));
                match this.store.open(&key, Some(&mark)).await.unwrap() {
                    Opened::At { version, stored: Some(_) } => this.turn(user, key, mark, version).await,
                    other => panic!("a conversation is missing: {other:?}"),
                }
            }
        };
        stream::iter(numbered).map(turn).buffer_unordered(AT_ONCE).collect().await
    }

    /// Turns that go on from versions that are known.
    pub(crate) async fn warm_turns(&mut self, people: &[(i64, Version)]) -> Vec<(i64, Version)> {
        let numbered = people.iter().copied().zip(self.next_updates(people.len()));
        let turn = |((user, version), update)| {
            let this = &*self;
            async move { this.turn(user, DialogueKey::private(BOT, user), mark(update), version).await }
        };
        stream::iter(numbered).map(turn).buffer_unordered(AT_ONCE).collect().await
    }

    async fn turn(&self, user: i64, key: DialogueKey, mark: Mark, from: Version) -> (i64, Version) {
        let mut commit = Commit::new(key, from, NOW);
        commit.takes = vec![Taken::Fresh(mark)];
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

/// A state as the registration of the examples has it in its last step.
fn state(user: i64) -> StateChange {
    let value = format!(
        r#"{{"slots":[{{"name":"","stack":[{{"dialogue":"registration","schema":0,"state":{{"at":"selfie","name":"Person {user}","phone":"+7900{user:07}","passport":"AgACAgIAAxkBAAIBPASSPORT{user:010}"}},"entry":5}}]}}]}}"#
    );
    let expires_at = Some(Millis(NOW.0 + 86_400_000 + user % 60_000));
    StateChange::Set(Stored { value: value.into(), places: vec![place()], expires_at })
}

fn place() -> Place {
    Place { dialogue: "registration".into(), state: "selfie".into() }
}

fn message(user: i64) -> Outgoing {
    Outgoing {
        chat: Some(user),
        method: "sendMessage".into(),
        body: format!(r#"{{"chat_id":{user},"text":"Send a photo of your passport"}}"#).into(),
        uploads: Vec::new(),
        if_unsure: IfUnsure::Resend,
        label: None,
        edits_label: None,
        secret: false,
    }
}

fn mark(update_id: i64) -> Mark {
    Mark { bot: BOT, update_id, identity: format!("message:{update_id}:1800000000").into() }
}
