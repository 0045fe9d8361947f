//! Conversations in the memory of this process, for tests and for trying out.
//!
//! It keeps every promise of [`Store`] but one: when the process ends, everything is gone. Old marks, records, names and
//! parked turns are dropped by number too, for memory is not a disk. It cannot carry out the
//! application's SQL and makes no backups.

use std::path::Path;

use parking_lot::Mutex;

use self::shelves::Shelves;
use super::{
    Answer, Bounds, Cleaned, Commit, Committed, ConversationRow, Delivered, DomainWrites, EffectId, EffectRow, Epoch,
    FailedRow, Filter, Holder, InboxRow, Incoming, Lease, LeaseAnswer, Mark, Opened, OperatorStore, OutboxId,
    OutboxRow, Outgoing, Parked, ParkedId, Receipt, Seq, SetAside, Settled, Statistics, Store, StoreError, StoreResult,
    Taken, TimerRow, TransitionRow,
};
use crate::clock::Millis;
use crate::failpoints;
use crate::key::DialogueKey;

mod age;
mod clean;
mod commit;
mod conversations;
mod forget;
mod inbox;
mod leases;
mod operator;
mod outbox;
mod shelves;
mod timers;

/// Why application writes are refused here.
const NO_WRITES: &str = "the memory store has no database: application writes need the SQLite store";
/// Why there is no backup.
const NO_BACKUP: &str = "the memory store keeps nothing that a backup could bring back";

/// Keeps everything in memory. Instances that share it share one `Arc` of it.
#[derive(Debug, Default)]
pub struct MemoryStore {
    // Held for the length of one step, never over an await.
    shelves: Mutex<Shelves>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One step under the lock, taken when the answer is first asked for.
    fn step<'a, T: Send>(&'a self, step: impl FnOnce(&mut Shelves) -> StoreResult<T> + Send + 'a) -> Answer<'a, T> {
        Box::pin(async move { step(&mut self.shelves.lock()) })
    }

    /// The same for what cannot fail.
    fn look<'a, T: Send>(&'a self, look: impl FnOnce(&Shelves) -> T + Send + 'a) -> Answer<'a, T> {
        Box::pin(async move { Ok(look(&self.shelves.lock())) })
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
        self.step(move |shelves| Ok(shelves.leases.claim(bot, holder, seen)))
    }

    fn renew(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        self.step(move |shelves| shelves.leases.renew(bot, epoch))
    }

    fn release(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        self.step(move |shelves| shelves.leases.release(bot, epoch))
    }

    fn lease(&self, bot: i64) -> Answer<'_, Option<Lease>> {
        self.look(move |shelves| shelves.leases.of(bot).cloned())
    }

    fn receive(&self, epoch: Epoch, batch: Vec<Incoming>) -> Answer<'_, Vec<Receipt>> {
        self.step(move |shelves| shelves.receive(epoch, batch))
    }

    fn why_only_leader_delivers(&self) -> Option<&'static str> {
        None
    }

    fn deliver(&self, batch: Vec<Incoming>) -> Answer<'_, Vec<Delivered>> {
        self.step(move |shelves| Ok(shelves.deliver(batch)))
    }

    fn backlog(&self, bot: i64, limit: usize) -> Answer<'_, usize> {
        self.look(move |shelves| shelves.read(bot, |room| room.inbox.len().min(limit)))
    }

    fn waiting(&self, bot: i64, after: Seq, limit: usize) -> Answer<'_, Vec<InboxRow>> {
        self.look(move |shelves| shelves.read(bot, |room| room.inbox.after(after, limit)))
    }

    fn waiting_for<'a>(&'a self, key: &'a DialogueKey, after: Seq, limit: usize) -> Answer<'a, Vec<InboxRow>> {
        self.look(move |shelves| shelves.read(key.bot, |room| room.inbox.of_key_after(key, after, limit)))
    }

    fn open<'a>(&'a self, key: &'a DialogueKey, mark: Option<&'a Mark>) -> Answer<'a, Opened> {
        self.look(move |shelves| shelves.open(key, mark))
    }

    fn commit(&self, epoch: Epoch, commit: Commit) -> Answer<'_, Committed> {
        Box::pin(async move {
            failpoints::hit(failpoints::STORE_IN_COMMIT).await;
            self.shelves.lock().commit(epoch, commit)
        })
    }

    fn park(&self, epoch: Epoch, taken: Vec<Taken>, parked: Parked, outgoing: Vec<Outgoing>) -> Answer<'_, SetAside> {
        self.step(move |shelves| shelves.park(epoch, taken, parked, outgoing))
    }

    fn write(&self, _writes: DomainWrites) -> Answer<'_, ()> {
        self.step(|_| Err(StoreError::Unsupported(NO_WRITES)))
    }

    fn unsent(&self, bot: i64, after: OutboxId, limit: usize) -> Answer<'_, Vec<OutboxRow>> {
        self.look(move |shelves| shelves.read(bot, |room| room.outbox.after(after, limit)))
    }

    fn sending(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        self.step(move |shelves| {
            shelves.write(epoch)?.outbox.sending(&ids);
            Ok(())
        })
    }

    fn not_sent(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        self.step(move |shelves| {
            shelves.write(epoch)?.outbox.not_sent(&ids);
            Ok(())
        })
    }

    fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()> {
        self.step(move |shelves| {
            let room = shelves.write(epoch)?;
            settled.into_iter().for_each(|settled| room.outbox.settle(settled, at));
            room.bound();
            Ok(())
        })
    }

    fn post<'a>(
        &'a self,
        epoch: Epoch,
        once: &'a str,
        outgoing: Vec<(DialogueKey, Outgoing)>,
        at: Millis,
    ) -> Answer<'a, Vec<OutboxId>> {
        self.step(move |shelves| shelves.post(epoch, once, outgoing, at))
    }

    fn labelled<'a>(&'a self, bot: i64, chat: i64, label: &'a str) -> Answer<'a, Option<i64>> {
        self.look(move |shelves| shelves.read(bot, |room| room.outbox.labelled(chat, label)))
    }

    fn effects(&self, bot: i64, after: EffectId, limit: usize) -> Answer<'_, Vec<EffectRow>> {
        self.look(move |shelves| shelves.effects_after(bot, after, limit))
    }

    fn finish_effect<'a>(&'a self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> Answer<'a, Receipt> {
        self.step(move |shelves| shelves.finish_effect(epoch, effect, outcome))
    }

    fn due_timers(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<TimerRow>> {
        self.look(move |shelves| shelves.read(bot, |room| room.timers.due(now, limit)))
    }

    fn expired(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<DialogueKey>> {
        self.look(move |shelves| shelves.read(bot, |room| room.conversations.expired(now, limit)))
    }

    fn next_due(&self, bot: i64) -> Answer<'_, Option<Millis>> {
        self.look(move |shelves| {
            shelves.read(bot, |room| room.timers.earliest().into_iter().chain(room.conversations.earliest_end()).min())
        })
    }

    fn clean(&self, epoch: Epoch, bounds: Bounds) -> Answer<'_, Cleaned> {
        self.step(move |shelves| Ok(shelves.write(epoch)?.clean(bounds)))
    }

    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<&'a DialogueKey>,
        limit: usize,
    ) -> Answer<'a, Vec<ConversationRow>> {
        self.look(move |shelves| shelves.list(filter, after, limit))
    }

    fn forget(&self, bot: i64, user: i64, now: Millis) -> Answer<'_, u64> {
        self.step(move |shelves| Ok(shelves.rooms.get_mut(&bot).map_or(0, |room| room.forget_person(user, now))))
    }

    fn statistics(&self, bot: Option<i64>) -> Answer<'_, Statistics> {
        self.look(move |shelves| shelves.statistics(bot))
    }

    fn parked(&self, bot: Option<i64>, limit: usize) -> Answer<'_, Vec<Parked>> {
        self.look(move |shelves| shelves.parked(bot, limit, |_| true))
    }

    fn parked_to_retry(&self, bot: i64, limit: usize) -> Answer<'_, Vec<Parked>> {
        self.look(move |shelves| shelves.parked(Some(bot), limit, |parked| parked.retry))
    }

    fn drop_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        self.step(move |shelves| Ok(shelves.rooms.values_mut().any(|room| room.parked.remove(&id).is_some())))
    }

    fn close(&self) -> Answer<'_, ()> {
        self.step(|_| Ok(()))
    }
}

impl OperatorStore for MemoryStore {
    fn clear_lease(&self, bot: i64) -> Answer<'_, ()> {
        self.step(move |shelves| {
            shelves.leases.clear(bot);
            Ok(())
        })
    }

    fn reset<'a>(&'a self, key: &'a DialogueKey, now: Millis) -> Answer<'a, bool> {
        self.step(move |shelves| {
            Ok(shelves.rooms.get_mut(&key.bot).is_some_and(|room| room.conversations.reset(key, now)))
        })
    }

    fn import<'a>(&'a self, row: &'a ConversationRow, replace: bool) -> Answer<'a, bool> {
        self.step(move |shelves| Ok(shelves.rooms.entry(row.key.bot).or_default().conversations.import(row, replace)))
    }

    fn bots(&self) -> Answer<'_, Vec<i64>> {
        self.look(Shelves::bots)
    }

    fn failed(&self, bot: i64, after: Option<(Millis, OutboxId)>, limit: usize) -> Answer<'_, Vec<FailedRow>> {
        self.look(move |shelves| shelves.read(bot, |room| room.outbox.failed_after(after, limit)))
    }

    fn parked_one(&self, id: ParkedId) -> Answer<'_, Option<Parked>> {
        self.look(move |shelves| shelves.rooms.values().find_map(|room| room.parked.get(&id)).cloned())
    }

    fn retry_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        self.step(move |shelves| Ok(shelves.retry_parked(id)))
    }

    fn transitions(&self, bot: i64, after: i64, limit: usize) -> Answer<'_, Vec<TransitionRow>> {
        self.look(move |shelves| shelves.transitions_after(bot, after, limit))
    }

    fn transitions_of<'a>(&'a self, key: &'a DialogueKey, after: i64, limit: usize) -> Answer<'a, Vec<TransitionRow>> {
        self.look(move |shelves| shelves.transitions_of(key, after, limit))
    }

    fn backup<'a>(&'a self, _to: &'a Path) -> Answer<'a, ()> {
        self.step(|_| Err(StoreError::Unsupported(NO_BACKUP)))
    }
}
