//! Seeded bugs, to test that the audit finds them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use opora::clock::Millis;
use opora::key::ConversationKey;
use opora::store::{
    Answer, Commit, Committed, EffectId, EffectRow, Epoch, InboxRow, Incoming, InputRef, Opened, Origin, OutboxId,
    OutboxRow, Outgoing, ParkResult, ParkedTurn, Receipt, Seq, Settled, StateChange, Store, StoreError, StoreResult,
    StoredState, Transition, Upload, Version,
};
use opora::telegram::{Api, ApiAnswer, ApiError, Download, Telegram};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::bots::signature;
use super::stage::BOT;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bug {
    /// Updates are acknowledged before they are stored.
    ConfirmsBeforeStoring,
    /// An update that is delivered again counts as new.
    ForgetsMarks,
    /// The inbox is read in reverse order.
    ReversesTheInbox,
    /// A turn stores the state of another person in the same state.
    MixesKeys,
    /// Writes are accepted after the end of the lease.
    IgnoresTheLease,
    /// Like `IgnoresTheLease`, and an overtaken turn commits too.
    IgnoresTheVersion,
    /// The application's writes are committed before their turn, separately.
    WritesSeparately,
    ForgetsOutbox,
    SendsTwice,
    ForgetsSentLog,
    /// An effect that runs again has another key.
    ChangesEffectKeys,
}

impl Bug {
    /// The client with this bug, if the bug is in a client.
    pub fn client(self, telegram: Telegram) -> Option<Arc<dyn Api>> {
        match self {
            Self::ConfirmsBeforeStoring => Some(Arc::new(EarlyConfirmingClient(telegram))),
            Self::SendsTwice => Some(Arc::new(DoubleSendingClient(telegram))),
            _ => None,
        }
    }
}

pub fn remove_sent_logs(state_url: &str) {
    let database = Path::new(state_url.trim_start_matches("sqlite:"));
    for file in std::fs::read_dir(database.parent().unwrap()).unwrap().map(|file| file.unwrap().path()) {
        if file.file_name().is_some_and(|name| name.to_string_lossy().contains("-sent-")) {
            std::fs::remove_file(file).unwrap();
        }
    }
}

/// A client that acknowledges a batch as soon as it has it.
#[derive(Debug)]
struct EarlyConfirmingClient(Telegram);

#[derive(Debug)]
struct DoubleSendingClient(Telegram);

impl std::fmt::Debug for BuggyStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BuggyStore").field("bug", &self.bug).finish_non_exhaustive()
    }
}

impl Api for EarlyConfirmingClient {
    fn call<'a>(&'a self, method: &'a str, body: &'a str, uploads: &'a [Upload]) -> ApiAnswer<'a> {
        self.0.call(method, body, uploads)
    }

    fn long_call<'a>(&'a self, method: &'a str, body: &'a str, patience: Duration) -> ApiAnswer<'a> {
        Box::pin(async move {
            let answer = self.0.long_call(method, body, patience).await?;
            let updates: Vec<Value> = serde_json::from_str(answer.get()).unwrap();
            if let Some(last) = updates.iter().filter_map(|update| update["update_id"].as_i64()).max() {
                let confirmation = json!({"offset": last + 1, "timeout": 0, "limit": 1}).to_string();
                self.0.call("getUpdates", &confirmation, &[]).await?;
            }
            Ok(answer)
        })
    }

    fn download<'a>(&'a self, file_path: &'a str, from_byte: u64) -> BoxFuture<'a, Result<Download, ApiError>> {
        self.0.download(file_path, from_byte)
    }
}

impl Api for DoubleSendingClient {
    fn call<'a>(&'a self, method: &'a str, body: &'a str, uploads: &'a [Upload]) -> ApiAnswer<'a> {
        Box::pin(async move {
            if method == "sendMessage" {
                self.0.call(method, body, uploads).await?;
            }
            self.0.call(method, body, uploads).await
        })
    }

    fn long_call<'a>(&'a self, method: &'a str, body: &'a str, patience: Duration) -> ApiAnswer<'a> {
        self.0.long_call(method, body, patience)
    }

    fn download<'a>(&'a self, file_path: &'a str, from_byte: u64) -> BoxFuture<'a, Result<Download, ApiError>> {
        self.0.download(file_path, from_byte)
    }
}

pub struct BuggyStore {
    pub inner: Arc<dyn Store>,
    pub bug: Bug,
}

impl BuggyStore {
    fn ignores_the_lease(&self) -> bool {
        matches!(self.bug, Bug::IgnoresTheLease | Bug::IgnoresTheVersion)
    }

    /// Calls the store, and again with the current epoch if the first call is fenced.
    async fn ask<'a, T>(&'a self, epoch: Epoch, ask: impl Fn(Epoch) -> Answer<'a, T>) -> StoreResult<T> {
        match ask(epoch).await {
            Err(StoreError::Fenced { .. }) if self.ignores_the_lease() => ask(self.epoch(epoch).await?).await,
            answer => answer,
        }
    }

    /// The state of another person in the same state, if there is one.
    fn mixed(&self, key: &ConversationKey, state: StateChange) -> StateChange {
        /// The last conversation in each state, with its stored state.
        type Last = HashMap<Box<str>, (ConversationKey, StoredState)>;
        static LAST: Mutex<Option<Last>> = Mutex::new(None);
        let StateChange::Set(own) = &state else { return state };
        let Some(place) = own.states.first() else { return state };
        let mut last = LAST.lock();
        let last = last.get_or_insert_default();
        match last.get(&place.state) {
            Some((whose, theirs)) if whose != key => StateChange::Set(theirs.clone()),
            _ => {
                last.insert(place.state.clone(), (key.clone(), own.clone()));
                state
            }
        }
    }

    async fn epoch(&self, epoch: Epoch) -> StoreResult<Epoch> {
        Ok(self.inner.lease(BOT).await?.map_or(epoch, |lease| lease.epoch))
    }

    /// Commits again with the current epoch and, if the bug wants it, from the current version.
    async fn insist(&self, epoch: Epoch, parts: Parts) -> StoreResult<Committed> {
        loop {
            let again = parts.clone();
            let version = match self.inner.open(&parts.key, None).await? {
                Opened::At { version, .. } if self.bug == Bug::IgnoresTheVersion => version,
                _ => parts.from,
            };
            let commit = Commit {
                processed: again.processed,
                state: again.state,
                outgoing: again.outgoing,
                transition: again.transition,
                writes: Some(signature(parts.key.user)),
                ..Commit::new(again.key, version, again.at)
            };
            match self.inner.commit(self.epoch(epoch).await?, commit).await {
                Err(StoreError::Overtaken(_)) if self.bug == Bug::IgnoresTheVersion => {}
                Err(StoreError::Fenced { .. }) => {}
                answer => return answer,
            }
        }
    }
}

/// The parts of a registration's commit.
#[derive(Clone)]
struct Parts {
    key: ConversationKey,
    from: Version,
    processed: Vec<InputRef>,
    state: StateChange,
    outgoing: Vec<Outgoing>,
    transition: Option<Transition>,
    at: Millis,
}

impl From<&Commit> for Parts {
    fn from(commit: &Commit) -> Self {
        Self {
            key: commit.key.clone(),
            from: commit.from,
            processed: commit.processed.clone(),
            state: commit.state.clone(),
            outgoing: commit.outgoing.clone(),
            transition: commit.transition.clone(),
            at: commit.at,
        }
    }
}

// By its path, because its methods are named like those of `Store`.
impl opora::store::StoreLayer for BuggyStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn describe(&self) -> String {
        format!("{}, with a bug: {:?}", self.inner.describe(), self.bug)
    }

    fn renew(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        Box::pin(self.ask(epoch, move |epoch| self.inner.renew(bot, epoch)))
    }

    fn receive(&self, epoch: Epoch, mut batch: Vec<Incoming>) -> Answer<'_, Vec<Receipt>> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        if self.bug == Bug::ForgetsMarks {
            for incoming in &mut batch {
                if let Origin::Update(mark) = &mut incoming.origin {
                    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
                    mark.identity = format!("{} {} {number}", mark.identity, std::process::id()).into();
                }
            }
        }
        Box::pin(self.ask(epoch, move |epoch| self.inner.receive(epoch, batch.clone())))
    }

    fn waiting(&self, bot: i64, after: Seq, limit: usize) -> Answer<'_, Vec<InboxRow>> {
        Box::pin(async move {
            let mut rows = self.inner.waiting(bot, after, limit).await?;
            if self.bug == Bug::ReversesTheInbox {
                reverse(&mut rows);
            }
            Ok(rows)
        })
    }

    fn commit(&self, epoch: Epoch, mut commit: Commit) -> Answer<'_, Committed> {
        if self.bug == Bug::MixesKeys {
            commit.state = self.mixed(&commit.key, commit.state);
        }
        Box::pin(async move {
            let parts = Parts::from(&commit);
            match self.inner.commit(epoch, commit).await {
                Err(StoreError::Fenced { .. }) if self.ignores_the_lease() => self.insist(epoch, parts).await,
                Err(StoreError::Overtaken(_)) if self.bug == Bug::IgnoresTheVersion => self.insist(epoch, parts).await,
                answer => answer,
            }
        })
    }

    fn park(
        &self,
        epoch: Epoch,
        taken: Vec<InputRef>,
        parked: ParkedTurn,
        outgoing: Vec<Outgoing>,
    ) -> Answer<'_, ParkResult> {
        Box::pin(self.ask(epoch, move |epoch| self.inner.park(epoch, taken.clone(), parked.clone(), outgoing.clone())))
    }

    fn unsent(&self, bot: i64, after: OutboxId, limit: usize) -> Answer<'_, Vec<OutboxRow>> {
        if self.bug == Bug::ForgetsOutbox {
            return Box::pin(async { Ok(Vec::new()) });
        }
        self.inner.unsent(bot, after, limit)
    }

    fn effects(&self, bot: i64, after: EffectId, limit: usize) -> Answer<'_, Vec<EffectRow>> {
        Box::pin(async move {
            let mut rows = self.inner.effects(bot, after, limit).await?;
            if self.bug == Bug::ChangesEffectKeys {
                for row in &mut rows {
                    let mut body: Value = serde_json::from_str(&row.effect.body).unwrap();
                    body["key"] = format!("{}-{}", std::process::id(), row.id.0).into();
                    row.effect.body = body.to_string().into();
                }
            }
            Ok(rows)
        })
    }

    fn sending(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        Box::pin(self.ask(epoch, move |epoch| self.inner.sending(epoch, ids.clone())))
    }

    fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()> {
        Box::pin(self.ask(epoch, move |epoch| self.inner.settle(epoch, settled.clone(), at)))
    }
}

/// Reverses the contents of each conversation's rows. Their numbers stay, because a bot processes the lowest number
/// first, in whatever order a store returns them.
fn reverse(rows: &mut [InboxRow]) {
    let mut places: HashMap<ConversationKey, Vec<usize>> = HashMap::new();
    for (place, row) in rows.iter().enumerate() {
        places.entry(row.incoming.key.clone()).or_default().push(place);
    }
    for places in places.values() {
        let said: Vec<_> = places.iter().rev().map(|place| rows[*place].incoming.body.clone()).collect();
        for (place, body) in places.iter().zip(said) {
            rows[*place].incoming.body = body;
        }
    }
}
