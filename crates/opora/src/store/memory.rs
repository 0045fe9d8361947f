//! Conversations in memory, for tests and for trying out.
//!
//! It keeps every promise of [`Store`] except that data survives the process. Old marks, records, labels and parked
//! turns are also bounded by number. It cannot run the application's SQL and makes no backups.

use std::path::Path;

use parking_lot::Mutex;

use self::data::MemoryData;
use super::{
    Answer, Cleaned, CleaningLimits, Commit, Committed, ConversationRow, Delivered, DomainWrites, EffectId, EffectRow,
    Epoch, FailedRow, Filter, Holder, InboxRow, Incoming, InputRef, Lease, LeaseAnswer, Mark, Opened, OperatorStore,
    OutboxId, OutboxRow, Outgoing, ParkResult, ParkedId, ParkedTurn, Receipt, Seq, Settled, Statistics, Store,
    StoreError, StoreResult, TimerRow, TransitionRow,
};
use crate::clock::Millis;
use crate::failpoints;
use crate::key::ConversationKey;

mod age;
mod clean;
mod commit;
mod conversations;
mod data;
mod forget;
mod inbox;
mod leases;
mod operator;
mod outbox;
mod timers;

const NO_WRITES: &str = "the memory store has no database: application writes need the SQLite store";
const NO_BACKUP: &str = "the memory store has no backups";

/// Stores everything in memory. Instances can share it by an `Arc`.
#[derive(Debug, Default)]
pub struct MemoryStore {
    // Held for one step, never over an await.
    data: Mutex<MemoryData>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs a step under the lock when the future is polled.
    fn step<'a, T: Send>(&'a self, step: impl FnOnce(&mut MemoryData) -> StoreResult<T> + Send + 'a) -> Answer<'a, T> {
        Box::pin(async move { step(&mut self.data.lock()) })
    }

    /// Runs a read that cannot fail, under the lock when the future is polled.
    fn read<'a, T: Send>(&'a self, read: impl FnOnce(&MemoryData) -> T + Send + 'a) -> Answer<'a, T> {
        Box::pin(async move { Ok(read(&self.data.lock())) })
    }
}

impl Store for MemoryStore {
    fn describe(&self) -> String {
        "in the memory of this process: a restart loses everything".to_owned()
    }

    fn operator(&self) -> &dyn OperatorStore {
        self
    }

    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer> {
        self.step(move |data| Ok(data.leases.claim(bot, holder, seen)))
    }

    fn renew(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        self.step(move |data| data.leases.renew(bot, epoch))
    }

    fn release(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        self.step(move |data| data.leases.release(bot, epoch))
    }

    fn lease(&self, bot: i64) -> Answer<'_, Option<Lease>> {
        self.read(move |data| data.leases.get(bot).cloned())
    }

    fn receive(&self, epoch: Epoch, batch: Vec<Incoming>) -> Answer<'_, Vec<Receipt>> {
        self.step(move |data| data.receive(epoch, batch))
    }

    fn why_only_leader_delivers(&self) -> Option<&'static str> {
        None
    }

    fn deliver(&self, batch: Vec<Incoming>) -> Answer<'_, Vec<Delivered>> {
        self.step(move |data| Ok(data.deliver(batch)))
    }

    fn backlog(&self, bot: i64, limit: usize) -> Answer<'_, usize> {
        self.read(move |data| data.read(bot, |rows| rows.inbox.len().min(limit)))
    }

    fn waiting(&self, bot: i64, after: Seq, limit: usize) -> Answer<'_, Vec<InboxRow>> {
        self.read(move |data| data.read(bot, |rows| rows.inbox.after(after, limit)))
    }

    fn waiting_for<'a>(&'a self, key: &'a ConversationKey, after: Seq, limit: usize) -> Answer<'a, Vec<InboxRow>> {
        self.read(move |data| data.read(key.bot, |rows| rows.inbox.of_key_after(key, after, limit)))
    }

    fn open<'a>(&'a self, key: &'a ConversationKey, mark: Option<&'a Mark>) -> Answer<'a, Opened> {
        self.read(move |data| data.open(key, mark))
    }

    fn commit(&self, epoch: Epoch, commit: Commit) -> Answer<'_, Committed> {
        Box::pin(async move {
            failpoints::hit(failpoints::STORE_IN_COMMIT).await;
            self.data.lock().commit(epoch, commit)
        })
    }

    fn park(
        &self,
        epoch: Epoch,
        processed: Vec<InputRef>,
        parked: ParkedTurn,
        outgoing: Vec<Outgoing>,
    ) -> Answer<'_, ParkResult> {
        self.step(move |data| data.park(epoch, processed, parked, outgoing))
    }

    fn write(&self, _writes: DomainWrites) -> Answer<'_, ()> {
        self.step(|_| Err(StoreError::Unsupported(NO_WRITES)))
    }

    fn unsent(&self, bot: i64, after: OutboxId, limit: usize) -> Answer<'_, Vec<OutboxRow>> {
        self.read(move |data| data.read(bot, |rows| rows.outbox.after(after, limit)))
    }

    fn sending(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        self.step(move |data| {
            data.write(epoch)?.outbox.sending(&ids);
            Ok(())
        })
    }

    fn not_sent(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        self.step(move |data| {
            data.write(epoch)?.outbox.not_sent(&ids);
            Ok(())
        })
    }

    fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()> {
        self.step(move |data| {
            let rows = data.write(epoch)?;
            settled.into_iter().for_each(|settled| rows.outbox.settle(settled, at));
            rows.trim();
            Ok(())
        })
    }

    fn post<'a>(
        &'a self,
        epoch: Epoch,
        once: &'a str,
        outgoing: Vec<(ConversationKey, Outgoing)>,
        at: Millis,
    ) -> Answer<'a, Vec<OutboxId>> {
        self.step(move |data| data.post(epoch, once, outgoing, at))
    }

    fn labelled<'a>(&'a self, bot: i64, chat: i64, label: &'a str) -> Answer<'a, Option<i64>> {
        self.read(move |data| data.read(bot, |rows| rows.outbox.labelled(chat, label)))
    }

    fn effects(&self, bot: i64, after: EffectId, limit: usize) -> Answer<'_, Vec<EffectRow>> {
        self.read(move |data| data.effects_after(bot, after, limit))
    }

    fn finish_effect<'a>(&'a self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> Answer<'a, Receipt> {
        self.step(move |data| data.finish_effect(epoch, effect, outcome))
    }

    fn due_timers(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<TimerRow>> {
        self.read(move |data| data.read(bot, |rows| rows.timers.due(now, limit)))
    }

    fn expired(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<ConversationKey>> {
        self.read(move |data| data.read(bot, |rows| rows.conversations.expired(now, limit)))
    }

    fn next_due(&self, bot: i64) -> Answer<'_, Option<Millis>> {
        self.read(move |data| {
            data.read(bot, |rows| rows.timers.earliest().into_iter().chain(rows.conversations.earliest_expiry()).min())
        })
    }

    fn clean(&self, epoch: Epoch, limits: CleaningLimits) -> Answer<'_, Cleaned> {
        self.step(move |data| Ok(data.write(epoch)?.clean(limits)))
    }

    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<&'a ConversationKey>,
        limit: usize,
    ) -> Answer<'a, Vec<ConversationRow>> {
        self.read(move |data| data.list(filter, after, limit))
    }

    fn forget(&self, bot: i64, user: i64, now: Millis) -> Answer<'_, u64> {
        self.step(move |data| Ok(data.by_bot.get_mut(&bot).map_or(0, |rows| rows.forget_person(user, now))))
    }

    fn statistics(&self, bot: Option<i64>) -> Answer<'_, Statistics> {
        self.read(move |data| data.statistics(bot))
    }

    fn parked(&self, bot: Option<i64>, limit: usize) -> Answer<'_, Vec<ParkedTurn>> {
        self.read(move |data| data.parked(bot, limit, |_| true))
    }

    fn parked_to_retry(&self, bot: i64, limit: usize) -> Answer<'_, Vec<ParkedTurn>> {
        self.read(move |data| data.parked(Some(bot), limit, |parked| parked.retry))
    }

    fn drop_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        self.step(move |data| Ok(data.by_bot.values_mut().any(|rows| rows.parked.remove(&id).is_some())))
    }

    fn close(&self) -> Answer<'_, ()> {
        self.step(|_| Ok(()))
    }
}

impl OperatorStore for MemoryStore {
    fn clear_lease(&self, bot: i64) -> Answer<'_, ()> {
        self.step(move |data| {
            data.leases.clear(bot);
            Ok(())
        })
    }

    fn reset<'a>(&'a self, key: &'a ConversationKey, now: Millis) -> Answer<'a, bool> {
        self.step(move |data| Ok(data.by_bot.get_mut(&key.bot).is_some_and(|rows| rows.conversations.reset(key, now))))
    }

    fn import<'a>(&'a self, row: &'a ConversationRow, replace: bool) -> Answer<'a, bool> {
        self.step(move |data| Ok(data.by_bot.entry(row.key.bot).or_default().conversations.import(row, replace)))
    }

    fn bots(&self) -> Answer<'_, Vec<i64>> {
        self.read(MemoryData::bots)
    }

    fn failed(&self, bot: i64, after: Option<(Millis, OutboxId)>, limit: usize) -> Answer<'_, Vec<FailedRow>> {
        self.read(move |data| data.read(bot, |rows| rows.outbox.failed_after(after, limit)))
    }

    fn parked_by_id(&self, id: ParkedId) -> Answer<'_, Option<ParkedTurn>> {
        self.read(move |data| data.by_bot.values().find_map(|rows| rows.parked.get(&id)).cloned())
    }

    fn retry_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        self.step(move |data| Ok(data.retry_parked(id)))
    }

    fn transitions(&self, bot: i64, after: i64, limit: usize) -> Answer<'_, Vec<TransitionRow>> {
        self.read(move |data| data.transitions_after(bot, after, limit))
    }

    fn transitions_of<'a>(
        &'a self,
        key: &'a ConversationKey,
        after: i64,
        limit: usize,
    ) -> Answer<'a, Vec<TransitionRow>> {
        self.read(move |data| data.transitions_of(key, after, limit))
    }

    fn backup<'a>(&'a self, _to: &'a Path) -> Answer<'a, ()> {
        self.step(|_| Err(StoreError::Unsupported(NO_BACKUP)))
    }
}
