//! Conversations in memory, for tests and for trying out.
//!
//! It keeps every promise of [`Store`] except that data survives the process. Old marks, records, labels and parked
//! turns are also bounded by number. It cannot run the application's SQL and makes no backups.

use std::path::Path;

use parking_lot::Mutex;

use self::data::{BotData, MemoryData};
use super::{
    Answer, Cleaned, CleaningLimits, Commit, Committed, ConversationRow, Delivered, DomainWrites, EffectId, EffectRow,
    Enqueued, Epoch, FailedRow, Filter, Holder, InboxRow, Incoming, InputRef, JobCount, JobFilter, JobId, JobLimits,
    JobPoll, JobRequest, JobRow, JobStart, JobUpdate, Lease, LeaseAnswer, Mark, NewJob, Opened, OperatorStore,
    OutboxId, OutboxRow, Outgoing, ParkResult, ParkedId, ParkedTurn, Receipt, Seq, Settled, Statistics, Store,
    StoreError, StoreResult, Tick, TimerRow, TransitionRow,
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
mod jobs;
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

    /// Runs a step under the lock.
    async fn step<T>(&self, step: impl FnOnce(&mut MemoryData) -> StoreResult<T>) -> StoreResult<T> {
        step(&mut self.data.lock())
    }

    /// Runs a read that cannot fail, under the lock.
    async fn read<T>(&self, read: impl FnOnce(&MemoryData) -> T) -> StoreResult<T> {
        Ok(read(&self.data.lock()))
    }
}

impl Store for MemoryStore {
    fn describe(&self) -> String {
        "in the memory of this process: a restart loses everything".to_owned()
    }

    fn operator(&self) -> &dyn OperatorStore {
        self
    }

    answers! { self;
        claim(bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> LeaseAnswer =>
            self.step(move |data| Ok(data.leases.claim(bot, holder, seen)));
        renew(bot: i64, epoch: Epoch) -> () => self.step(move |data| data.leases.renew(bot, epoch));
        release(bot: i64, epoch: Epoch) -> () => self.step(move |data| data.leases.release(bot, epoch));
        lease(bot: i64) -> Option<Lease> => self.read(move |data| data.leases.get(bot).cloned());
        receive(epoch: Epoch, batch: Vec<Incoming>) -> Vec<Receipt> =>
            self.step(move |data| data.receive(epoch, batch));
        deliver(batch: Vec<Incoming>) -> Vec<Delivered> => self.step(move |data| Ok(data.deliver(batch)));
        backlog(bot: i64, limit: usize) -> usize =>
            self.read(move |data| data.read(bot, |rows| rows.inbox.len().min(limit)));
        waiting(bot: i64, after: Seq, limit: usize) -> Vec<InboxRow> =>
            self.read(move |data| data.read(bot, |rows| rows.inbox.after(after, limit)));
        waiting_for(key: &'a ConversationKey, after: Seq, limit: usize) -> Vec<InboxRow> =>
            self.read(move |data| data.read(key.bot, |rows| rows.inbox.of_key_after(key, after, limit)));
        open(key: &'a ConversationKey, mark: Option<&'a Mark>) -> Opened => self.read(move |data| data.open(key, mark));
        park(epoch: Epoch, processed: Vec<InputRef>, parked: ParkedTurn, outgoing: Vec<Outgoing>) -> ParkResult =>
            self.step(move |data| data.park(epoch, processed, parked, outgoing));
        write(_writes: DomainWrites) -> () => self.step(|_| Err(StoreError::Unsupported(NO_WRITES)));
        unsent(bot: i64, after: OutboxId, limit: usize) -> Vec<OutboxRow> =>
            self.read(move |data| data.read(bot, |rows| rows.outbox.after(after, limit)));
        sending(epoch: Epoch, ids: Vec<OutboxId>) -> () =>
            self.step(move |data| data.write(epoch).map(|rows| rows.outbox.sending(&ids)));
        not_sent(epoch: Epoch, ids: Vec<OutboxId>) -> () =>
            self.step(move |data| data.write(epoch).map(|rows| rows.outbox.not_sent(&ids)));
        settle(epoch: Epoch, settled: Vec<Settled>, at: Millis) -> () =>
            self.step(move |data| data.write(epoch).map(|rows| rows.settle(settled, at)));
        post(epoch: Epoch, once: &'a str, outgoing: Vec<(ConversationKey, Outgoing)>, at: Millis) -> Vec<OutboxId> =>
            self.step(move |data| data.post(epoch, once, outgoing, at));
        labelled(bot: i64, chat: i64, label: &'a str) -> Option<i64> =>
            self.read(move |data| data.read(bot, |rows| rows.outbox.labelled(chat, label)));
        effects(bot: i64, after: EffectId, limit: usize) -> Vec<EffectRow> =>
            self.read(move |data| data.effects_after(bot, after, limit));
        finish_effect(epoch: Epoch, effect: EffectId, outcome: Incoming) -> Receipt =>
            self.step(move |data| data.finish_effect(epoch, effect, outcome));
        due_timers(bot: i64, now: Millis, limit: usize) -> Vec<TimerRow> =>
            self.read(move |data| data.read(bot, |rows| rows.timers.due(now, limit)));
        expired(bot: i64, now: Millis, limit: usize) -> Vec<ConversationKey> =>
            self.read(move |data| data.read(bot, |rows| rows.conversations.expired(now, limit)));
        next_due(bot: i64) -> Option<Millis> => self.read(move |data| data.read(bot, BotData::next_due));
        clean(epoch: Epoch, limits: CleaningLimits) -> Cleaned =>
            self.step(move |data| Ok(data.write(epoch)?.clean(limits)));
        enqueue_jobs(bot: i64, jobs: Vec<NewJob>, now: Millis) -> Vec<Enqueued> => self.step(move |data| Ok(data.enqueue_jobs(bot, jobs, now)));
        start_jobs(bot: i64, epoch: Epoch, start: JobStart) -> Vec<JobRow> =>
            self.step(move |data| data.start_jobs((bot, epoch), start));
        update_jobs(bot: i64, epoch: Epoch, updates: Vec<JobUpdate>, writes: Option<DomainWrites>) -> Vec<bool> =>
            self.step(move |data| data.update_jobs((bot, epoch), updates, writes.is_some()));
        running_jobs(bot: i64, after: JobId, limit: usize) -> Vec<JobRow> =>
            self.read(move |data| data.running_jobs(bot, after, limit));
        poll_jobs(bot: i64) -> JobPoll => self.read(move |data| data.poll_jobs(bot));
        prune_jobs(bot: i64, epoch: Epoch, limits: JobLimits) -> u64 => self.step(move |data| data.prune_jobs((bot, epoch), limits));
        job_ticks(bot: i64) -> Vec<(Box<str>, Millis)> => self.read(move |data| data.job_ticks(bot));
        tick_jobs(bot: i64, epoch: Epoch, tick: Tick, jobs: Vec<NewJob>) -> bool =>
            self.step(move |data| data.tick_jobs((bot, epoch), tick, jobs));
        job_counts(bot: i64, finished_since: Option<Millis>) -> Vec<JobCount> => self.read(move |data| data.job_counts(bot, finished_since));
        list(filter: &'a Filter, after: Option<&'a ConversationKey>, limit: usize) -> Vec<ConversationRow> =>
            self.read(move |data| data.list(filter, after, limit));
        forget(bot: i64, user: i64, now: Millis) -> u64 =>
            self.step(move |data| Ok(data.by_bot.get_mut(&bot).map_or(0, |rows| rows.forget_person(user, now))));
        statistics(bot: Option<i64>) -> Statistics => self.read(move |data| data.statistics(bot));
        parked(bot: Option<i64>, limit: usize) -> Vec<ParkedTurn> =>
            self.read(move |data| data.parked(bot, limit, |_| true));
        parked_to_retry(bot: i64, limit: usize) -> Vec<ParkedTurn> =>
            self.read(move |data| data.parked(Some(bot), limit, |parked| parked.retry));
        drop_parked(id: ParkedId) -> bool =>
            self.step(move |data| Ok(data.by_bot.values_mut().any(|rows| rows.parked.remove(&id).is_some())));
        close() -> () => self.step(|_| Ok(()));
    }

    fn why_only_leader_delivers(&self) -> Option<&'static str> {
        None
    }

    fn commit(&self, epoch: Epoch, commit: Commit) -> Answer<'_, Committed> {
        Box::pin(async move {
            failpoints::hit(failpoints::STORE_IN_COMMIT).await;
            self.data.lock().commit(epoch, commit)
        })
    }
}

impl OperatorStore for MemoryStore {
    answers! { self;
        reset(key: &'a ConversationKey, now: Millis) -> bool =>
            self.step(move |data| Ok(data.by_bot.get_mut(&key.bot).is_some_and(|rows| rows.conversations.reset(key, now))));
        import(row: &'a ConversationRow, replace: bool) -> bool =>
            self.step(move |data| Ok(data.by_bot.entry(row.key.bot).or_default().conversations.import(row, replace)));
        bots() -> Vec<i64> => self.read(MemoryData::bots);
        failed(bot: i64, after: Option<(Millis, OutboxId)>, limit: usize) -> Vec<FailedRow> =>
            self.read(move |data| data.read(bot, |rows| rows.outbox.failed_after(after, limit)));
        parked_by_id(id: ParkedId) -> Option<ParkedTurn> =>
            self.read(move |data| data.by_bot.values().find_map(|rows| rows.parked.get(&id)).cloned());
        retry_parked(id: ParkedId) -> bool => self.step(move |data| Ok(data.retry_parked(id)));
        transitions(bot: i64, after: i64, limit: usize) -> Vec<TransitionRow> =>
            self.read(move |data| data.transitions_after(bot, after, limit));
        transitions_of(key: &'a ConversationKey, after: i64, limit: usize) -> Vec<TransitionRow> =>
            self.read(move |data| data.transitions_of(key, after, limit));
        jobs(filter: &'a JobFilter, before: Option<JobId>, limit: usize) -> Vec<JobRow> =>
            self.read(move |data| data.jobs(filter, before, limit));
        request_jobs(bot: i64, request: JobRequest, now: Millis) -> u64 => self.step(move |data| Ok(data.request_jobs(bot, request, now)));
        paused_queues(bot: i64) -> Vec<Box<str>> => self.read(move |data| data.paused_queues(bot));
        backup(_to: &'a Path) -> () => self.step(|_| Err(StoreError::Unsupported(NO_BACKUP)));
    }

    fn clear_lease(&self, bot: i64) -> Answer<'_, ()> {
        Box::pin(async move {
            self.data.lock().leases.clear(bot);
            Ok(())
        })
    }
}
