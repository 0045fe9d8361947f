//! Bugs on purpose, to see that the checks find them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use opora::clock::Millis;
use opora::key::DialogueKey;
use opora::store::{
    Answer, Commit, Committed, ConversationRow, DomainWrites, EffectId, EffectRow, Epoch, Filter, Holder, InboxRow,
    Incoming, Lease, LeaseAnswer, Mark, Opened, Origin, OutboxId, OutboxRow, Outgoing, Parked, ParkedId, Receipt, Seq,
    Settled, Statistics, Store, StoreError, StoreResult, Taken, TimerRow, Transition, TransitionRow, Upload, Version,
};
use opora::telegram::{Api, ApiAnswer, ApiError, Download, Telegram};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::bots::signature;
use super::stage::BOT;

/// What is wrong with a bot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bug {
    /// Updates are acknowledged before they are stored.
    ConfirmsBeforeStoring,
    /// An update that comes again is taken for a new one.
    ForgetsMarks,
    /// Writes of an instance whose lease is over are taken.
    IgnoresTheLease,
    /// The same, and a turn that another one has overtaken commits all the same.
    IgnoresTheVersion,
}

/// A client that confirms a batch the moment it has it.
#[derive(Debug)]
pub struct Eager(pub Telegram);

impl std::fmt::Debug for Spoilt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spoilt").field("bug", &self.bug).finish_non_exhaustive()
    }
}

impl Api for Eager {
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

/// A store with a bug before it.
pub struct Spoilt {
    pub inner: Arc<dyn Store>,
    pub bug: Bug,
}

impl Spoilt {
    fn ignores_the_lease(&self) -> bool {
        matches!(self.bug, Bug::IgnoresTheLease | Bug::IgnoresTheVersion)
    }

    /// Asks, and once more as whoever has the lease now.
    async fn ask<'a, T>(&'a self, epoch: Epoch, ask: impl Fn(Epoch) -> Answer<'a, T>) -> StoreResult<T> {
        match ask(epoch).await {
            Err(StoreError::Fenced { .. }) if self.ignores_the_lease() => ask(self.epoch(epoch).await?).await,
            answer => answer,
        }
    }

    async fn epoch(&self, epoch: Epoch) -> StoreResult<Epoch> {
        Ok(self.inner.lease(BOT).await?.map_or(epoch, |lease| lease.epoch))
    }

    /// Commits once more, by whatever lease and, if need be, from whatever version there is.
    async fn insist(&self, epoch: Epoch, parts: Parts) -> StoreResult<Committed> {
        loop {
            let again = parts.clone();
            let version = match self.inner.open(&parts.key, None).await? {
                Opened::At { version, .. } if self.bug == Bug::IgnoresTheVersion => version,
                _ => parts.from,
            };
            let commit = Commit {
                takes: again.takes,
                state: again.state,
                outgoing: again.outgoing,
                transition: again.transition,
                writes: Some(signature()),
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

/// What a registration commits.
#[derive(Clone)]
struct Parts {
    key: DialogueKey,
    from: Version,
    takes: Vec<Taken>,
    state: opora::store::StateChange,
    outgoing: Vec<Outgoing>,
    transition: Option<Transition>,
    at: Millis,
}

impl From<&Commit> for Parts {
    fn from(commit: &Commit) -> Self {
        Self {
            key: commit.key.clone(),
            from: commit.from,
            takes: commit.takes.clone(),
            state: commit.state.clone(),
            outgoing: commit.outgoing.clone(),
            transition: commit.transition.clone(),
            at: commit.at,
        }
    }
}

impl Store for Spoilt {
    fn describe(&self) -> String {
        format!("{}, with a bug: {:?}", self.inner.describe(), self.bug)
    }

    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer> {
        self.inner.claim(bot, holder, seen)
    }

    fn renew(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        Box::pin(self.ask(epoch, move |epoch| self.inner.renew(bot, epoch)))
    }

    fn release(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        self.inner.release(bot, epoch)
    }

    fn lease(&self, bot: i64) -> Answer<'_, Option<Lease>> {
        self.inner.lease(bot)
    }

    fn clear_lease(&self, bot: i64) -> Answer<'_, ()> {
        self.inner.clear_lease(bot)
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
        self.inner.waiting(bot, after, limit)
    }

    fn waiting_for<'a>(&'a self, key: &'a DialogueKey, after: Seq, limit: usize) -> Answer<'a, Vec<InboxRow>> {
        self.inner.waiting_for(key, after, limit)
    }

    fn open<'a>(&'a self, key: &'a DialogueKey, mark: Option<&'a Mark>) -> Answer<'a, Opened> {
        self.inner.open(key, mark)
    }

    fn commit(&self, epoch: Epoch, commit: Commit) -> Answer<'_, Committed> {
        Box::pin(async move {
            let parts = Parts::from(&commit);
            match self.inner.commit(epoch, commit).await {
                Err(StoreError::Fenced { .. }) if self.ignores_the_lease() => self.insist(epoch, parts).await,
                Err(StoreError::Overtaken(_)) if self.bug == Bug::IgnoresTheVersion => self.insist(epoch, parts).await,
                answer => answer,
            }
        })
    }

    fn park<'a>(&'a self, epoch: Epoch, key: &'a DialogueKey, taken: Vec<Taken>, parked: Parked) -> Answer<'a, ()> {
        Box::pin(self.ask(epoch, move |epoch| self.inner.park(epoch, key, taken.clone(), parked.clone())))
    }

    fn write(&self, writes: DomainWrites) -> Answer<'_, ()> {
        self.inner.write(writes)
    }

    fn unsent(&self, bot: i64, after: OutboxId, limit: usize) -> Answer<'_, Vec<OutboxRow>> {
        self.inner.unsent(bot, after, limit)
    }

    fn sending(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        Box::pin(self.ask(epoch, move |epoch| self.inner.sending(epoch, ids.clone())))
    }

    fn settle(&self, epoch: Epoch, settled: Vec<Settled>) -> Answer<'_, ()> {
        Box::pin(self.ask(epoch, move |epoch| self.inner.settle(epoch, settled.clone())))
    }

    fn post<'a>(
        &'a self,
        epoch: Epoch,
        once: &'a str,
        outgoing: Vec<(DialogueKey, Outgoing)>,
    ) -> Answer<'a, Vec<OutboxId>> {
        self.inner.post(epoch, once, outgoing)
    }

    fn labelled<'a>(&'a self, bot: i64, chat: i64, label: &'a str) -> Answer<'a, Option<i64>> {
        self.inner.labelled(bot, chat, label)
    }

    fn effects(&self, bot: i64, after: EffectId, limit: usize) -> Answer<'_, Vec<EffectRow>> {
        self.inner.effects(bot, after, limit)
    }

    fn finish_effect<'a>(&'a self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> Answer<'a, Receipt> {
        self.inner.finish_effect(epoch, effect, outcome)
    }

    fn due_timers(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<TimerRow>> {
        self.inner.due_timers(bot, now, limit)
    }

    fn expired(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<DialogueKey>> {
        self.inner.expired(bot, now, limit)
    }

    fn next_due(&self, bot: i64) -> Answer<'_, Option<Millis>> {
        self.inner.next_due(bot)
    }

    fn clean(&self, epoch: Epoch, marks_before: Millis, records_before: Millis) -> Answer<'_, u64> {
        self.inner.clean(epoch, marks_before, records_before)
    }

    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<&'a DialogueKey>,
        limit: usize,
    ) -> Answer<'a, Vec<ConversationRow>> {
        self.inner.list(filter, after, limit)
    }

    fn reset<'a>(&'a self, key: &'a DialogueKey, now: Millis) -> Answer<'a, bool> {
        self.inner.reset(key, now)
    }

    fn import<'a>(&'a self, row: &'a ConversationRow, replace: bool) -> Answer<'a, bool> {
        self.inner.import(row, replace)
    }

    fn statistics(&self, bot: Option<i64>) -> Answer<'_, Statistics> {
        self.inner.statistics(bot)
    }

    fn bots(&self) -> Answer<'_, Vec<i64>> {
        self.inner.bots()
    }

    fn parked(&self, bot: Option<i64>, limit: usize) -> Answer<'_, Vec<Parked>> {
        self.inner.parked(bot, limit)
    }

    fn retry_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        self.inner.retry_parked(id)
    }

    fn parked_to_retry(&self, bot: i64, limit: usize) -> Answer<'_, Vec<Parked>> {
        self.inner.parked_to_retry(bot, limit)
    }

    fn drop_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        self.inner.drop_parked(id)
    }

    fn transitions(&self, bot: i64, after: i64, limit: usize) -> Answer<'_, Vec<TransitionRow>> {
        self.inner.transitions(bot, after, limit)
    }

    fn backup<'a>(&'a self, to: &'a Path) -> Answer<'a, ()> {
        self.inner.backup(to)
    }

    fn close(&self) -> Answer<'_, ()> {
        self.inner.close()
    }
}
