//! The journal as a store: sends each call to Redis or to the journal.
//!
//! A call with an epoch goes to the store that granted it, any other call to the store that holds the bot's lease.
//! Calls to Redis also update the local copies.

use super::local_copies::{LocalCopies, PendingCall};
use super::{Journal, PrimaryStore, Shared};
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::redis::NotReached;
use crate::store::{
    AnnouncedConversations, Answer, Cleaned, CleaningLimits, Commit, Committed, ConversationRow, Delivered,
    DomainWrites, EffectId, EffectRow, Enqueued, Epoch, FailedRow, Holder, InboxRow, Incoming, InputRef, JobCount,
    JobFilter, JobId, JobLimits, JobPoll, JobRequest, JobRow, JobStart, JobUpdate, Lease, LeaseAnswer, Mark, NewJob,
    Opened, OutboxId, OutboxRow, Outgoing, ParkResult, ParkedTurn, Receipt, Seq, Settled, Statistics, Store,
    StoreError, StoreLayer, StoreResult, Tick, TimerRow, TransitionRow,
};

use super::database::is_journal_epoch;

/// Why other instances may not store updates.
const ONE_INSTANCE: &str = "with a journal there is one instance: its webhook is for it alone (Instances::LeaderOnly)";

/// Why an operator's changes are refused while Redis is away.
const NO_CHANGES: &str = "Redis is away, and the journal goes on: conversations are changed when it is back";

/// Why jobs wait.
const NO_JOBS: &str = "Redis is away: its jobs run when it is back";

/// Why a turn that began before the outage is refused.
const ON_JOURNAL: &str = "this instance goes on with the journal";

/// Passes a call on to the store of a bot, or to the operator methods of that store.
macro_rules! by_bot {
    ($($name:ident ( $bot:ident $(, $argument:ident : $type:ty)* ) -> $answer:ty $(, by $operator:ident)?;)*) => {
        $(fn $name<'a>(&'a self, $bot: i64, $($argument: $type),*) -> Answer<'a, $answer> {
            Box::pin(async move { self.0.store_of_bot($bot)?$(.$operator())?.$name($bot, $($argument),*).await })
        })*
    };
}

impl StoreLayer for Journal {
    fn inner(&self) -> &dyn Store {
        self.0.any_store()
    }

    fn describe(&self) -> String {
        let primary = self.0.primary.get().map(|primary| primary.store().describe());
        let primary = primary.unwrap_or_else(|| format!("in the Redis at {}", self.0.place));
        format!("{primary}; while it is away, in the journal {}", self.0.journal.name())
    }

    answers! { self;
        enqueue_jobs(bot: i64, jobs: Vec<NewJob>, now: Millis) -> Vec<Enqueued> =>
            async move { self.0.job_store()?.enqueue_jobs(bot, jobs, now).await };
        start_jobs(bot: i64, epoch: Epoch, start: JobStart) -> Vec<JobRow> =>
            async move { self.0.job_store_under(epoch)?.start_jobs(bot, epoch, start).await };
        update_jobs(bot: i64, epoch: Epoch, updates: Vec<JobUpdate>, writes: Option<DomainWrites>) -> Vec<bool> =>
            async move { self.0.job_store_under(epoch)?.update_jobs(bot, epoch, updates, writes).await };
        running_jobs(bot: i64, after: JobId, limit: usize) -> Vec<JobRow> =>
            async move { self.0.job_store()?.running_jobs(bot, after, limit).await };
        poll_jobs(bot: i64) -> JobPoll => async move { self.0.job_store()?.poll_jobs(bot).await };
        prune_jobs(bot: i64, epoch: Epoch, limits: JobLimits) -> u64 =>
            async move { self.0.job_store_under(epoch)?.prune_jobs(bot, epoch, limits).await };
        job_ticks(bot: i64) -> Vec<(Box<str>, Millis)> => async move { self.0.job_store()?.job_ticks(bot).await };
        tick_jobs(bot: i64, epoch: Epoch, tick: Tick, jobs: Vec<NewJob>) -> bool =>
            async move { self.0.job_store_under(epoch)?.tick_jobs(bot, epoch, tick, jobs).await };
        job_counts(bot: i64, finished_since: Option<Millis>) -> Vec<JobCount> =>
            async move { self.0.job_store()?.job_counts(bot, finished_since).await };
        jobs(filter: &'a JobFilter, before: Option<JobId>, limit: usize) -> Vec<JobRow> =>
            async move { self.0.job_store()?.operator().jobs(filter, before, limit).await };
        request_jobs(bot: i64, request: JobRequest, now: Millis) -> u64 =>
            async move { self.0.job_store()?.operator().request_jobs(bot, request, now).await };
        paused_queues(bot: i64) -> Vec<Box<str>> =>
            async move { self.0.job_store()?.operator().paused_queues(bot).await };
        claim(bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> LeaseAnswer => self.0.claim(bot, holder, seen);
        renew(bot: i64, epoch: Epoch) -> () => self.0.renew(bot, epoch);
        release(bot: i64, epoch: Epoch) -> () => self.0.release(bot, epoch);
        deliver(_batch: Vec<Incoming>) -> Vec<Delivered> => async { Err(StoreError::Unsupported(ONE_INSTANCE)) };
        waiting_for(key: &'a ConversationKey, after: Seq, limit: usize) -> Vec<InboxRow> =>
            async move { self.0.store_of_bot(key.bot)?.waiting_for(key, after, limit).await };
        sending(epoch: Epoch, ids: Vec<OutboxId>) -> () =>
            async move { self.0.store_of_epoch(epoch)?.sending(epoch, ids).await };
        not_sent(epoch: Epoch, ids: Vec<OutboxId>) -> () =>
            async move { self.0.store_of_epoch(epoch)?.not_sent(epoch, ids).await };
        settle(epoch: Epoch, settled: Vec<Settled>, at: Millis) -> () => self.0.settle(epoch, settled, at);
        post(epoch: Epoch, once: &'a str, outgoing: Vec<(ConversationKey, Outgoing)>, at: Millis) -> Vec<OutboxId> =>
            self.0.post(epoch, once, outgoing, at);
        reset(key: &'a ConversationKey, now: Millis) -> bool =>
            async move { self.0.redis_for_operator(key)?.operator().reset(key, now).await };
        import(row: &'a ConversationRow, replace: bool) -> bool =>
            async move { self.0.redis_for_operator(&row.key)?.operator().import(row, replace).await };
        close() -> () => self.0.close();
    }

    fn lease_reclaim_requested<'a>(&'a self, bot: i64) -> Answer<'a, ()> {
        Box::pin(async move {
            let is_on_journal = self.0.is_on_journal(bot);
            // The sender lives as long as this.
            let _ = self.0.away.subscribe().wait_for(|is_away| *is_away != is_on_journal).await;
            Ok(())
        })
    }

    fn receive<'a>(&'a self, epoch: Epoch, batch: Vec<Incoming>) -> Answer<'a, Vec<Receipt>> {
        Box::pin(async move {
            if is_journal_epoch(epoch) {
                self.0.receive_on_journal(epoch, batch).await
            } else {
                self.0.receive_on_redis(epoch, batch).await
            }
        })
    }

    fn supports_multiple_instances(&self) -> bool {
        false
    }

    fn why_only_leader_delivers(&self) -> Option<&'static str> {
        Some(ONE_INSTANCE)
    }

    fn waiting<'a>(&'a self, bot: i64, after: Seq, limit: usize) -> Answer<'a, Vec<InboxRow>> {
        Box::pin(async move {
            let rows = self.0.store_of_bot(bot)?.waiting(bot, after, limit).await?;
            if !self.0.is_on_journal(bot) {
                self.0.copies.inputs_read(&rows);
            }
            Ok(rows)
        })
    }

    fn open<'a>(&'a self, key: &'a ConversationKey, mark: Option<&'a Mark>) -> Answer<'a, Opened> {
        Box::pin(async move {
            if self.0.is_on_journal(key.bot) {
                self.0.open_on_journal(key, mark).await
            } else {
                self.0.open_on_redis(key, mark).await
            }
        })
    }

    fn commit<'a>(&'a self, epoch: Epoch, commit: Commit) -> Answer<'a, Committed> {
        Box::pin(async move {
            if is_journal_epoch(epoch) {
                self.0.commit_on_journal(epoch, commit).await
            } else {
                self.0.commit_on_redis(epoch, commit).await
            }
        })
    }

    fn park<'a>(
        &'a self,
        epoch: Epoch,
        processed: Vec<InputRef>,
        parked: ParkedTurn,
        outgoing: Vec<Outgoing>,
    ) -> Answer<'a, ParkResult> {
        Box::pin(async move {
            if is_journal_epoch(epoch) {
                return self.0.park_on_journal(epoch, processed, parked, outgoing).await;
            }
            self.0.park_on_redis(epoch, processed, parked, outgoing).await
        })
    }

    fn write<'a>(&'a self, writes: DomainWrites) -> Answer<'a, ()> {
        Box::pin(async move {
            match self.0.journal.application_database() {
                Some(database) => database.store().write(writes).await,
                None => self.0.primary()?.store().write(writes).await,
            }
        })
    }

    fn unsent<'a>(&'a self, bot: i64, after: OutboxId, limit: usize) -> Answer<'a, Vec<OutboxRow>> {
        Box::pin(async move {
            let rows = self.0.store_of_bot(bot)?.unsent(bot, after, limit).await?;
            if !self.0.is_on_journal(bot) {
                self.0.copies.outbox_read(&rows);
            }
            Ok(rows)
        })
    }

    fn log_sent<'a>(&'a self, epoch: Epoch, settled: &'a [Settled]) -> Answer<'a, ()> {
        // The sent log is a local file, so it can be written while Redis does not answer.
        match self.0.primary.get() {
            _ if is_journal_epoch(epoch) => self.0.journal.store().log_sent(epoch, settled),
            Some(primary) => primary.store().log_sent(epoch, settled),
            None => Box::pin(async { self.0.primary().map(drop) }),
        }
    }

    fn finish_effect<'a>(&'a self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> Answer<'a, Receipt> {
        Box::pin(async move {
            if is_journal_epoch(epoch) {
                return self.0.store_of_epoch(epoch)?.finish_effect(epoch, effect, outcome).await;
            }
            self.0.finish_effect_on_redis(epoch, effect, outcome).await
        })
    }

    by_bot! {
        labelled(bot, chat: i64, label: &'a str) -> Option<i64>;
        effects(bot, after: EffectId, limit: usize) -> Vec<EffectRow>;
        due_timers(bot, now: Millis, limit: usize) -> Vec<TimerRow>;
        expired(bot, now: Millis, limit: usize) -> Vec<ConversationKey>;
        next_due(bot) -> Option<Millis>;
        parked_to_retry(bot, limit: usize) -> Vec<ParkedTurn>;
        transitions(bot, after: i64, limit: usize) -> Vec<TransitionRow>, by operator;
        failed(bot, after: Option<(Millis, OutboxId)>, limit: usize) -> Vec<FailedRow>, by operator;
        backlog(bot, limit: usize) -> usize;
        announce(bot, keys: Vec<ConversationKey>) -> ();
        listen(bot) -> AnnouncedConversations;
    }

    fn has_jobs_in_sql(&self) -> bool {
        self.0.journal.application_database().is_some()
    }

    fn clean<'a>(&'a self, epoch: Epoch, bounds: CleaningLimits) -> Answer<'a, Cleaned> {
        Box::pin(async move {
            if is_journal_epoch(epoch) {
                return self.0.journal.store().clean(epoch, bounds).await;
            }
            self.0.clean_redis(epoch, bounds).await
        })
    }

    fn statistics<'a>(&'a self, bot: Option<i64>) -> Answer<'a, Statistics> {
        Box::pin(async move {
            match bot {
                Some(one) => self.0.store_of_bot(one)?.statistics(bot).await,
                None => self.0.any_store().statistics(bot).await,
            }
        })
    }

    fn forget<'a>(&'a self, bot: i64, user: i64, now: Millis) -> Answer<'a, u64> {
        Box::pin(async move {
            let private = ConversationKey::private(bot, user);
            let primary = self.0.redis_for_operator(&private)?;
            for key in self.0.primary()?.redis().conversations_of_person(bot, user).await? {
                self.0.copies.forget(&key);
            }
            primary.forget(bot, user, now).await
        })
    }
}

/// Jobs: in the application's database, or in Redis. A journal in a file has none.
impl Shared {
    fn job_store(&self) -> StoreResult<&dyn Store> {
        match self.journal.application_database() {
            Some(database) => Ok(database.store()),
            None => self.primary().map(PrimaryStore::store),
        }
    }

    /// The store that checks this epoch when it changes jobs.
    fn job_store_under(&self, epoch: Epoch) -> StoreResult<&dyn Store> {
        if !is_journal_epoch(epoch) {
            return self.primary().map(PrimaryStore::store);
        }
        match self.journal.application_database() {
            Some(_) => Ok(self.journal.store()),
            None => Err(StoreError::Unavailable(NO_JOBS.into())),
        }
    }
}

/// Calls that go to Redis.
impl Shared {
    /// The store in Redis, for an operator's change of a conversation. Refused while the bot is on the journal: the
    /// replay would not know of a change in the journal, and a change in Redis would become a conflict.
    fn redis_for_operator(&self, key: &ConversationKey) -> StoreResult<&dyn Store> {
        if self.is_on_journal(key.bot) {
            return Err(StoreError::Unavailable(NO_CHANGES.into()));
        }
        self.copies.forget(key);
        self.primary().map(PrimaryStore::store)
    }

    async fn receive_on_redis(&self, epoch: Epoch, batch: Vec<Incoming>) -> StoreResult<Vec<Receipt>> {
        let received = self.primary()?.store().receive(epoch, batch.clone()).await;
        match &received {
            Ok(receipts) => self.copies.received(&batch, receipts),
            Err(error) if may_have_been_applied(error) => {
                batch.iter().for_each(|incoming| self.copies.forget(&incoming.key));
            }
            Err(_) => {}
        }
        received
    }

    async fn finish_effect_on_redis(&self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> StoreResult<Receipt> {
        let primary = self.primary()?;
        let pending_call = self.copies.begin_call(vec![outcome.key.clone()]);
        let finished = primary.store().finish_effect(epoch, effect, outcome.clone()).await;
        match &finished {
            Ok(receipt) => self.copies.received(&[outcome], &[*receipt]),
            Err(error) if may_have_been_applied(error) => self.copies.forget(&outcome.key),
            Err(_) => {}
        }
        pending_call.finish();
        finished
    }

    async fn clean_redis(&self, epoch: Epoch, bounds: CleaningLimits) -> StoreResult<Cleaned> {
        let primary = self.primary()?;
        let bot = primary.redis().bot_of(epoch)?;
        let before = primary.redis().ended_cleaned();
        let cleaned = primary.store().clean(epoch, bounds).await;
        let may_be_cleaned = cleaned.as_ref().is_err_and(may_have_been_applied);
        if may_be_cleaned || primary.redis().ended_cleaned() != before {
            self.copies.forget_ended(bot);
        }
        cleaned
    }

    async fn open_on_redis(&self, key: &ConversationKey, mark: Option<&Mark>) -> StoreResult<Opened> {
        let opened = self.primary()?.store().open(key, mark).await?;
        if let Opened::At { version, stored } = &opened {
            self.copies.put(key, *version, stored.clone());
        }
        Ok(opened)
    }

    /// Begins a call that processes inputs in Redis. Refused if the bot is on the journal.
    fn begin_call(&self, epoch: Epoch, key: &ConversationKey) -> StoreResult<(&PrimaryStore, PendingCall<'_>)> {
        let check_not_on_journal = || match self.is_on_journal(key.bot) {
            true => Err(StoreError::fenced(epoch, ON_JOURNAL)),
            false => Ok(()),
        };
        check_not_on_journal()?;
        let primary = self.primary()?;
        let pending_call = self.copies.begin_call(vec![key.clone()]);
        // Checked again: if the journal takes over after this line, it finds no usable copy.
        check_not_on_journal()?;
        Ok((primary, pending_call))
    }

    async fn commit_on_redis(&self, epoch: Epoch, commit: Commit) -> StoreResult<Committed> {
        let (primary, pending_call) = self.begin_call(epoch, &commit.key)?;
        let key = commit.key.clone();
        let summary = LocalCopies::summarize(&commit);
        let writes = commit.writes.is_some();
        let committed = primary.store().commit(epoch, commit).await;
        match &committed {
            Ok(done) => self.copies.committed(summary, done.version, &done.outbox),
            // A turn with SQL writes may be decided although Redis was not reached. If it is not, nothing has happened.
            Err(StoreError::Unavailable(_))
                if writes && !primary.decision_store().is_some_and(|decisions| decisions.is_uncertain(&key)) => {}
            Err(StoreError::Unavailable(why)) if !writes && why.is::<NotReached>() => {}
            Err(_) => self.copies.forget(&key),
        }
        pending_call.finish();
        committed
    }

    async fn park_on_redis(
        &self,
        epoch: Epoch,
        processed: Vec<InputRef>,
        parked: ParkedTurn,
        outgoing: Vec<Outgoing>,
    ) -> StoreResult<ParkResult> {
        let key = parked.key.clone();
        let (primary, pending_call) = self.begin_call(epoch, &key)?;
        let chats: Vec<_> = outgoing.iter().map(|outgoing| outgoing.chat).collect();
        let result = primary.store().park(epoch, processed.clone(), parked, outgoing).await;
        match &result {
            Ok(done) => {
                self.copies.inputs_processed(&key, &processed);
                self.copies.messages_stored(done.outbox.iter().copied().zip(chats));
            }
            Err(error) if may_have_been_applied(error) => self.copies.forget(&key),
            Err(_) => {}
        }
        pending_call.finish();
        result
    }
}

/// Whether a failed call may have been applied nevertheless.
pub(super) fn may_have_been_applied(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(why) if !why.is::<NotReached>())
}
