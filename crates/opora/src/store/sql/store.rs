//! The store on either SQL database: passes each call to a writer or to the readers.
//!
//! SQLite and PostgreSQL put a layer in front of this store for what they do differently.

use std::path::Path;

use futures_util::future::BoxFuture;

use super::columns::ReadConnections;
use super::failure::unavailable;
use super::jobs;
use super::opens::{ConversationLookup, OpenQueue};
use super::operation::{CleaningTarget, ExclusiveOperation, Import, Operation, Post};
use super::reads::Reads;
use super::writers::Writers;
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::sent_log::LogFiles;
use crate::store::{
    Answer, Cleaned, CleaningLimits, Commit, Committed, ConversationRow, Database, Delivered, DomainWrites, EffectId,
    EffectRow, Enqueued, Epoch, FailedRow, Filter, Holder, InboxRow, Incoming, InputRef, JobCount, JobFilter, JobId,
    JobLimits, JobPoll, JobRequest, JobRow, JobStart, JobUpdate, Lease, LeaseAnswer, Mark, NewJob, Opened,
    OperatorStore, OutboxId, OutboxRow, Outgoing, ParkResult, ParkedId, ParkedTurn, Receipt, Seq, Settled, Statistics,
    Store, StoreError, StoreResult, Tick, TimerRow, TransitionRow, WriteError,
};

/// Stores everything in tables named `opora_…`. `P` are the read connections.
#[derive(Debug)]
pub(in crate::store) struct SqlStore<P> {
    /// Says where data is stored, for the log.
    about: String,
    writers: Writers,
    opens: OpenQueue,
    pub(in crate::store) reads: Reads<P>,
    /// The files of the sent log, if there is a place for them.
    pub(in crate::store) log: Option<LogFiles>,
}

impl<P: ReadConnections> SqlStore<P> {
    pub(in crate::store) fn start(
        about: String,
        writers: Writers,
        lookup: impl ConversationLookup,
        reads: Reads<P>,
        log: Option<LogFiles>,
    ) -> Self {
        Self { about, writers, opens: OpenQueue::start(lookup), reads, log }
    }

    /// Parks a turn, and runs writes in the same transaction.
    pub(in crate::store) async fn park_with(
        &self,
        epoch: Epoch,
        processed: Vec<InputRef>,
        parked: ParkedTurn,
        outgoing: Vec<Outgoing>,
        writes: Option<DomainWrites>,
    ) -> StoreResult<ParkResult> {
        let parked = Box::new(parked);
        self.writers.with_turns(Operation::Park { epoch, processed, parked, outgoing, writes }).await
    }

    /// Replaces a conversation, with exactly the version of the row.
    pub(in crate::store) async fn import_exactly(&self, row: Box<ConversationRow>) -> StoreResult<()> {
        let import = ExclusiveOperation::Import(Import { row, replace: true, is_exact: true });
        self.writers.exclusive::<bool>(import).await.map(drop)
    }

    /// Changes jobs, under a lease if one is given.
    async fn change_jobs<T: Send + 'static>(
        &self,
        lease: Option<(i64, Epoch)>,
        run: impl for<'c> FnOnce(&'c mut Database<'_>) -> BoxFuture<'c, Result<T, WriteError>> + Send + 'static,
    ) -> StoreResult<T> {
        let (writes, answer) = jobs::returning(run);
        self.writers.with_turns::<()>(Operation::Write { lease, writes: Some(writes) }).await?;
        answer.await.map_err(unavailable)
    }

    async fn end_attempts(
        &self,
        lease: (i64, Epoch),
        updates: Vec<JobUpdate>,
        writes: Option<DomainWrites>,
    ) -> StoreResult<Vec<bool>> {
        let count = updates.len();
        let answer = self.change_jobs(Some(lease), move |database| Box::pin(jobs::update(database, updates, writes)));
        jobs::updated(answer.await, count)
    }

    /// Stores the results of sends. If all are in the sent log, this may wait a moment for other writes.
    pub(in crate::store) async fn settle_or_wait(
        &self,
        epoch: Epoch,
        settled: Vec<Settled>,
        at: Millis,
        is_logged: bool,
    ) -> StoreResult<()> {
        self.writers.with_turns(Operation::Settle { epoch, settled, at, is_logged }).await
    }
}

impl<P: ReadConnections + std::fmt::Debug + Send + 'static> Store for SqlStore<P> {
    fn describe(&self) -> String {
        self.about.clone()
    }

    fn operator(&self) -> &dyn OperatorStore {
        self
    }

    answers! { self;
        renew(bot: i64, epoch: Epoch) -> () => self.writers.on_control(Operation::Renew { bot, epoch });
        release(bot: i64, epoch: Epoch) -> () => self.writers.exclusive(ExclusiveOperation::Release { bot, epoch });
        lease(bot: i64) -> Option<Lease> => self.reads.lease(bot);
        receive(epoch: Epoch, batch: Vec<Incoming>) -> Vec<Receipt> =>
            self.writers.with_turns(Operation::Receive { epoch, batch });
        deliver(batch: Vec<Incoming>) -> Vec<Delivered> => self.writers.with_turns(Operation::Deliver { batch });
        backlog(bot: i64, limit: usize) -> usize => self.reads.backlog(bot, limit);
        waiting(bot: i64, after: Seq, limit: usize) -> Vec<InboxRow> => self.reads.waiting(bot, after, limit);
        waiting_for(key: &'a ConversationKey, after: Seq, limit: usize) -> Vec<InboxRow> =>
            self.reads.waiting_for(key, after, limit);
        open(key: &'a ConversationKey, mark: Option<&'a Mark>) -> Opened => self.opens.open(key, mark);
        park(epoch: Epoch, processed: Vec<InputRef>, parked: ParkedTurn, outgoing: Vec<Outgoing>) -> ParkResult =>
            self.park_with(epoch, processed, parked, outgoing, None);
        write(writes: DomainWrites) -> () => self.writers.with_turns(Operation::Write { lease: None, writes: Some(writes) });
        unsent(bot: i64, after: OutboxId, limit: usize) -> Vec<OutboxRow> => self.reads.unsent(bot, after, limit);
        sending(epoch: Epoch, ids: Vec<OutboxId>) -> () =>
            self.writers.on_control(Operation::Sending { epoch, ids, may_be_sent: true });
        not_sent(epoch: Epoch, ids: Vec<OutboxId>) -> () =>
            self.writers.on_control(Operation::Sending { epoch, ids, may_be_sent: false });
        settle(epoch: Epoch, settled: Vec<Settled>, at: Millis) -> () => self.settle_or_wait(epoch, settled, at, false);
        labelled(bot: i64, chat: i64, label: &'a str) -> Option<i64> => self.reads.labelled(bot, chat, label);
        effects(bot: i64, after: EffectId, limit: usize) -> Vec<EffectRow> => self.reads.effects(bot, after, limit);
        finish_effect(epoch: Epoch, effect: EffectId, outcome: Incoming) -> Receipt =>
            self.writers.with_turns(Operation::FinishEffect { epoch, effect, outcome: Box::new(outcome) });
        due_timers(bot: i64, now: Millis, limit: usize) -> Vec<TimerRow> => self.reads.due_timers(bot, now, limit);
        expired(bot: i64, now: Millis, limit: usize) -> Vec<ConversationKey> => self.reads.expired(bot, now, limit);
        next_due(bot: i64) -> Option<Millis> => self.reads.next_due(bot);
        enqueue_jobs(bot: i64, jobs: Vec<NewJob>, now: Millis) -> Vec<Enqueued> => self.change_jobs(None, move |database| Box::pin(jobs::enqueue(database, bot, jobs, now)));
        start_jobs(bot: i64, epoch: Epoch, start: JobStart) -> Vec<JobRow> =>
            self.change_jobs(Some((bot, epoch)), move |database| Box::pin(jobs::start(database, (bot, epoch), start)));
        update_jobs(bot: i64, epoch: Epoch, updates: Vec<JobUpdate>, writes: Option<DomainWrites>) -> Vec<bool> =>
            self.end_attempts((bot, epoch), updates, writes);
        running_jobs(bot: i64, after: JobId, limit: usize) -> Vec<JobRow> => self.reads.running_jobs(bot, after, limit);
        poll_jobs(bot: i64) -> JobPoll => self.reads.poll_jobs(bot);
        prune_jobs(bot: i64, epoch: Epoch, limits: JobLimits) -> u64 => self.change_jobs(Some((bot, epoch)), move |database| Box::pin(jobs::prune(database, bot, limits)));
        job_ticks(bot: i64) -> Vec<(Box<str>, Millis)> => self.reads.job_ticks(bot);
        tick_jobs(bot: i64, epoch: Epoch, tick: Tick, jobs: Vec<NewJob>) -> bool =>
            self.change_jobs(Some((bot, epoch)), move |database| Box::pin(jobs::tick(database, bot, tick, jobs)));
        job_counts(bot: i64, finished_since: Option<Millis>) -> Vec<JobCount> => self.reads.job_counts(bot, finished_since);
        list(filter: &'a Filter, after: Option<&'a ConversationKey>, limit: usize) -> Vec<ConversationRow> =>
            self.reads.list(filter, after, limit);
        forget(bot: i64, user: i64, now: Millis) -> u64 =>
            self.writers.exclusive(ExclusiveOperation::Forget { bot, user, now });
        statistics(bot: Option<i64>) -> Statistics => self.reads.statistics(bot);
        parked(bot: Option<i64>, limit: usize) -> Vec<ParkedTurn> => self.reads.parked(bot, limit);
        parked_to_retry(bot: i64, limit: usize) -> Vec<ParkedTurn> => self.reads.parked_to_retry(bot, limit);
        drop_parked(id: ParkedId) -> bool => self.writers.exclusive(ExclusiveOperation::DropParked { id });
    }

    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer> {
        Box::pin(async move {
            // A read is enough if the lease is held. Writers are stopped only if a lease may be granted.
            let current = self.reads.lease(bot).await?;
            if let Some(current) = current.filter(|current| !current.is_unchanged(seen)) {
                return Ok(LeaseAnswer::Held(Box::new(current)));
            }
            let holder = Box::new(holder.clone());
            let seen = seen.cloned().map(Box::new);
            self.writers.exclusive(ExclusiveOperation::Claim { bot, holder, seen }).await
        })
    }

    fn has_jobs_in_sql(&self) -> bool {
        true
    }

    fn why_only_leader_delivers(&self) -> Option<&'static str> {
        None
    }

    fn commit(&self, epoch: Epoch, commit: Commit) -> Answer<'_, Committed> {
        Box::pin(async move {
            let key = commit.key.to_string();
            let commit = Box::new(commit);
            self.writers.with_turns(Operation::Commit { epoch, key, commit }).await
        })
    }

    fn post<'a>(
        &'a self,
        epoch: Epoch,
        once: &'a str,
        outgoing: Vec<(ConversationKey, Outgoing)>,
        at: Millis,
    ) -> Answer<'a, Vec<OutboxId>> {
        // An empty post only checks that posts are accepted: it need not wait for turns.
        let is_empty = outgoing.is_empty();
        let post = Operation::Post { epoch, post: Post { once: once.to_owned(), outgoing, at } };
        Box::pin(async move {
            if is_empty { self.writers.on_control(post).await } else { self.writers.with_turns(post).await }
        })
    }

    fn clean(&self, epoch: Epoch, limits: CleaningLimits) -> Answer<'_, Cleaned> {
        Box::pin(async move {
            let mut cleaned = Cleaned::default();
            for old in CleaningTarget::ALL {
                cleaned += self.writers.exclusive::<Cleaned>(ExclusiveOperation::Clean { epoch, limits, old }).await?;
            }
            Ok(cleaned)
        })
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            // Readers first: the last connection to close an SQLite file cleans up.
            self.opens.close().await;
            self.reads.0.close().await;
            self.writers.close().await
        })
    }
}

impl<P: ReadConnections + std::fmt::Debug + Send + 'static> OperatorStore for SqlStore<P> {
    answers! { self;
        clear_lease(bot: i64) -> () => self.writers.exclusive(ExclusiveOperation::ClearLease { bot });
        reset(key: &'a ConversationKey, now: Millis) -> bool =>
            self.writers.exclusive(ExclusiveOperation::Reset { key: key.clone(), now });
        import(row: &'a ConversationRow, replace: bool) -> bool =>
            self.writers.exclusive(ExclusiveOperation::Import(Import { row: Box::new(row.clone()), replace, is_exact: false }));
        bots() -> Vec<i64> => self.reads.bots();
        failed(bot: i64, after: Option<(Millis, OutboxId)>, limit: usize) -> Vec<FailedRow> =>
            self.reads.failed_after(bot, after, limit);
        parked_by_id(id: ParkedId) -> Option<ParkedTurn> => self.reads.parked_by_id(id);
        retry_parked(id: ParkedId) -> bool => self.writers.exclusive(ExclusiveOperation::RetryParked { id });
        transitions(bot: i64, after: i64, limit: usize) -> Vec<TransitionRow> =>
            self.reads.transitions(bot, after, limit);
        transitions_of(key: &'a ConversationKey, after: i64, limit: usize) -> Vec<TransitionRow> =>
            self.reads.transitions_of(key, after, limit);
        jobs(filter: &'a JobFilter, before: Option<JobId>, limit: usize) -> Vec<JobRow> =>
            self.reads.jobs(filter, before, limit);
        request_jobs(bot: i64, request: JobRequest, now: Millis) -> u64 => self.change_jobs(None, move |database| Box::pin(jobs::request(database, bot, request, now)));
        paused_queues(bot: i64) -> Vec<Box<str>> => self.reads.paused_queues(bot);
        backup(_to: &'a Path) -> () => async { Err(StoreError::Unsupported(NO_BACKUP)) };
    }
}

const NO_BACKUP: &str = "use PostgreSQL's own tools: pg_dump copies a database consistently while the bot runs";
