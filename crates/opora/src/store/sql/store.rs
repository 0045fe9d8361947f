//! The store on either SQL database: passes each call to a writer or to the readers.
//!
//! SQLite and PostgreSQL put a layer in front of this store for what they do differently.

use std::path::Path;

use super::columns::ReadConnections;
use super::opens::{ConversationLookup, OpenQueue};
use super::operation::{CleaningTarget, ExclusiveOperation, Import, Operation, Post};
use super::reads::Reads;
use super::writers::Writers;
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::sent_log::LogFiles;
use crate::store::{
    Answer, Cleaned, CleaningLimits, Commit, Committed, ConversationRow, Delivered, DomainWrites, EffectId, EffectRow,
    Epoch, FailedRow, Filter, Holder, InboxRow, Incoming, InputRef, Lease, LeaseAnswer, Mark, Opened, OperatorStore,
    OutboxId, OutboxRow, Outgoing, ParkResult, ParkedId, ParkedTurn, Receipt, Seq, Settled, Statistics, Store,
    StoreError, StoreResult, TimerRow, TransitionRow,
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

    fn renew(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        Box::pin(self.writers.on_control(Operation::Renew { bot, epoch }))
    }

    fn release(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        Box::pin(self.writers.exclusive(ExclusiveOperation::Release { bot, epoch }))
    }

    fn lease(&self, bot: i64) -> Answer<'_, Option<Lease>> {
        Box::pin(self.reads.lease(bot))
    }

    fn receive(&self, epoch: Epoch, batch: Vec<Incoming>) -> Answer<'_, Vec<Receipt>> {
        Box::pin(self.writers.with_turns(Operation::Receive { epoch, batch }))
    }

    fn why_only_leader_delivers(&self) -> Option<&'static str> {
        None
    }

    fn deliver(&self, batch: Vec<Incoming>) -> Answer<'_, Vec<Delivered>> {
        Box::pin(self.writers.with_turns(Operation::Deliver { batch }))
    }

    fn backlog(&self, bot: i64, limit: usize) -> Answer<'_, usize> {
        Box::pin(self.reads.backlog(bot, limit))
    }

    fn waiting(&self, bot: i64, after: Seq, limit: usize) -> Answer<'_, Vec<InboxRow>> {
        Box::pin(self.reads.waiting(bot, after, limit))
    }

    fn waiting_for<'a>(&'a self, key: &'a ConversationKey, after: Seq, limit: usize) -> Answer<'a, Vec<InboxRow>> {
        Box::pin(self.reads.waiting_for(key, after, limit))
    }

    fn open<'a>(&'a self, key: &'a ConversationKey, mark: Option<&'a Mark>) -> Answer<'a, Opened> {
        Box::pin(self.opens.open(key, mark))
    }

    fn commit(&self, epoch: Epoch, commit: Commit) -> Answer<'_, Committed> {
        Box::pin(async move {
            let key = commit.key.to_string();
            let commit = Box::new(commit);
            self.writers.with_turns(Operation::Commit { epoch, key, commit }).await
        })
    }

    fn park(
        &self,
        epoch: Epoch,
        processed: Vec<InputRef>,
        parked: ParkedTurn,
        outgoing: Vec<Outgoing>,
    ) -> Answer<'_, ParkResult> {
        Box::pin(self.park_with(epoch, processed, parked, outgoing, None))
    }

    fn write(&self, writes: DomainWrites) -> Answer<'_, ()> {
        Box::pin(self.writers.with_turns(Operation::Write { writes: Some(writes) }))
    }

    fn unsent(&self, bot: i64, after: OutboxId, limit: usize) -> Answer<'_, Vec<OutboxRow>> {
        Box::pin(self.reads.unsent(bot, after, limit))
    }

    fn sending(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        Box::pin(self.writers.on_control(Operation::Sending { epoch, ids, may_be_sent: true }))
    }

    fn not_sent(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        Box::pin(self.writers.on_control(Operation::Sending { epoch, ids, may_be_sent: false }))
    }

    fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()> {
        Box::pin(self.settle_or_wait(epoch, settled, at, false))
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

    fn labelled<'a>(&'a self, bot: i64, chat: i64, label: &'a str) -> Answer<'a, Option<i64>> {
        Box::pin(self.reads.labelled(bot, chat, label))
    }

    fn effects(&self, bot: i64, after: EffectId, limit: usize) -> Answer<'_, Vec<EffectRow>> {
        Box::pin(self.reads.effects(bot, after, limit))
    }

    fn finish_effect<'a>(&'a self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> Answer<'a, Receipt> {
        let outcome = Box::new(outcome);
        Box::pin(self.writers.with_turns(Operation::FinishEffect { epoch, effect, outcome }))
    }

    fn due_timers(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<TimerRow>> {
        Box::pin(self.reads.due_timers(bot, now, limit))
    }

    fn expired(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<ConversationKey>> {
        Box::pin(self.reads.expired(bot, now, limit))
    }

    fn next_due(&self, bot: i64) -> Answer<'_, Option<Millis>> {
        Box::pin(self.reads.next_due(bot))
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

    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<&'a ConversationKey>,
        limit: usize,
    ) -> Answer<'a, Vec<ConversationRow>> {
        Box::pin(self.reads.list(filter, after, limit))
    }

    fn forget(&self, bot: i64, user: i64, now: Millis) -> Answer<'_, u64> {
        Box::pin(self.writers.exclusive(ExclusiveOperation::Forget { bot, user, now }))
    }

    fn statistics(&self, bot: Option<i64>) -> Answer<'_, Statistics> {
        Box::pin(self.reads.statistics(bot))
    }

    fn parked(&self, bot: Option<i64>, limit: usize) -> Answer<'_, Vec<ParkedTurn>> {
        Box::pin(self.reads.parked(bot, limit))
    }

    fn parked_to_retry(&self, bot: i64, limit: usize) -> Answer<'_, Vec<ParkedTurn>> {
        Box::pin(self.reads.parked_to_retry(bot, limit))
    }

    fn drop_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        Box::pin(self.writers.exclusive(ExclusiveOperation::DropParked { id }))
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
    fn clear_lease(&self, bot: i64) -> Answer<'_, ()> {
        Box::pin(self.writers.exclusive(ExclusiveOperation::ClearLease { bot }))
    }

    fn reset<'a>(&'a self, key: &'a ConversationKey, now: Millis) -> Answer<'a, bool> {
        let key = key.clone();
        Box::pin(self.writers.exclusive(ExclusiveOperation::Reset { key, now }))
    }

    fn import<'a>(&'a self, row: &'a ConversationRow, replace: bool) -> Answer<'a, bool> {
        let row = Box::new(row.clone());
        Box::pin(self.writers.exclusive(ExclusiveOperation::Import(Import { row, replace, is_exact: false })))
    }

    fn bots(&self) -> Answer<'_, Vec<i64>> {
        Box::pin(self.reads.bots())
    }

    fn failed(&self, bot: i64, after: Option<(Millis, OutboxId)>, limit: usize) -> Answer<'_, Vec<FailedRow>> {
        Box::pin(self.reads.failed_after(bot, after, limit))
    }

    fn parked_by_id(&self, id: ParkedId) -> Answer<'_, Option<ParkedTurn>> {
        Box::pin(self.reads.parked_by_id(id))
    }

    fn retry_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        Box::pin(self.writers.exclusive(ExclusiveOperation::RetryParked { id }))
    }

    fn transitions(&self, bot: i64, after: i64, limit: usize) -> Answer<'_, Vec<TransitionRow>> {
        Box::pin(self.reads.transitions(bot, after, limit))
    }

    fn transitions_of<'a>(
        &'a self,
        key: &'a ConversationKey,
        after: i64,
        limit: usize,
    ) -> Answer<'a, Vec<TransitionRow>> {
        Box::pin(self.reads.transitions_of(key, after, limit))
    }

    fn backup<'a>(&'a self, _to: &'a Path) -> Answer<'a, ()> {
        Box::pin(async { Err(StoreError::Unsupported(NO_BACKUP)) })
    }
}

const NO_BACKUP: &str = "use PostgreSQL's own tools: pg_dump copies a database consistently while the bot runs";
