//! A store in front of another store: it counts, delays or breaks calls, and passes the rest on.
//!
//! A layer implements only what it does differently. All methods of [`Store`] and [`OperatorStore`] are listed here
//! once.

use std::path::Path;

use super::{
    AnnouncedConversations, Answer, Cleaned, CleaningLimits, Commit, Committed, ConversationRow, Delivered,
    DomainWrites, EffectId, EffectRow, Enqueued, Epoch, FailedRow, Filter, Holder, InboxRow, Incoming, InputRef,
    JobCount, JobFilter, JobId, JobLimits, JobPoll, JobRequest, JobRow, JobStart, JobUpdate, Lease, LeaseAnswer, Mark,
    NewJob, Opened, OperatorStore, OutboxId, OutboxRow, Outgoing, ParkResult, ParkedId, ParkedTurn, Receipt, Seq,
    Settled, Statistics, Store, Tick, TimerRow, TransitionRow,
};
use crate::clock::Millis;
use crate::key::ConversationKey;

/// Defines the layer trait, whose methods pass calls on, and implements both store traits for every layer.
macro_rules! layer {
    (
        values { $($value:ident ( $($value_argument:ident : $value_type:ty)? ) -> $value_answer:ty;)* }
        Store { $($name:ident ( $($argument:ident : $type:ty),* ) -> $answer:ty;)* }
        OperatorStore { $($op:ident ( $($op_argument:ident : $op_type:ty),* ) -> $op_answer:ty;)* }
    ) => {
        /// A store in front of another store. Only [`StoreLayer::inner`] is required; other methods replace those of
        /// the inner store.
        ///
        /// Code that calls a layer imports [`Store`] and not this trait, because their methods have the same names.
        ///
        /// ```
        /// use std::sync::Arc;
        ///
        /// use opora::store::{Answer, Epoch, MemoryStore, Store, StoreError, StoreLayer};
        ///
        /// /// A store whose lease cannot be renewed.
        /// #[derive(Debug)]
        /// struct NeverRenewed(Arc<dyn Store>);
        ///
        /// impl StoreLayer for NeverRenewed {
        ///     fn inner(&self) -> &dyn Store {
        ///         &*self.0
        ///     }
        ///
        ///     fn renew<'a>(&'a self, _bot: i64, _epoch: Epoch) -> Answer<'a, ()> {
        ///         Box::pin(async { Err(StoreError::Unavailable("not renewed".into())) })
        ///     }
        /// }
        ///
        /// let store: Arc<dyn Store> = Arc::new(NeverRenewed(Arc::new(MemoryStore::new())));
        /// assert!(store.describe().contains("memory"));
        /// ```
        pub trait StoreLayer: Send + Sync + std::fmt::Debug + 'static {
            /// The inner store.
            fn inner(&self) -> &dyn Store;

            /// Wraps every call: `method` is its name, `call` runs it.
            fn around<'a, T: Send + 'a>(
                &'a self,
                method: &'static str,
                call: impl FnOnce() -> Answer<'a, T> + Send + 'a,
            ) -> Answer<'a, T> {
                let _ = method;
                call()
            }

            /// Like [`Store::open_for_turn`]: by the inner store if that is shared with other programs, else by this
            /// layer's `open`.
            fn open_for_turn<'a>(
                &'a self,
                epoch: Epoch,
                key: &'a ConversationKey,
                mark: Option<&'a Mark>,
                now: Millis,
            ) -> Answer<'a, Opened> {
                let inner = self.inner();
                if inner.is_shared_with_other_programs() {
                    inner.open_for_turn(epoch, key, mark, now)
                } else {
                    self.open(key, mark)
                }
            }

            $(
                #[doc = concat!("Like [`Store::", stringify!($value), "`], by the inner store.")]
                fn $value(&self, $($value_argument: $value_type)?) -> $value_answer {
                    self.inner().$value($($value_argument)?)
                }
            )*

            $(
                #[doc = concat!("Like [`Store::", stringify!($name), "`], by the inner store.")]
                fn $name<'a>(&'a self, $($argument: $type),*) -> Answer<'a, $answer> {
                    self.inner().$name($($argument),*)
                }
            )*

            $(
                #[doc = concat!("Like [`OperatorStore::", stringify!($op), "`], by the inner store.")]
                fn $op<'a>(&'a self, $($op_argument: $op_type),*) -> Answer<'a, $op_answer> {
                    self.inner().operator().$op($($op_argument),*)
                }
            )*
        }

        impl<L: StoreLayer> Store for L {
            fn operator(&self) -> &dyn OperatorStore {
                self
            }

            fn open_for_turn<'a>(
                &'a self,
                epoch: Epoch,
                key: &'a ConversationKey,
                mark: Option<&'a Mark>,
                now: Millis,
            ) -> Answer<'a, Opened> {
                // A layer that counts or breaks calls sees it as `open`.
                self.around("open", move || StoreLayer::open_for_turn(self, epoch, key, mark, now))
            }

            $(
                fn $value(&self, $($value_argument: $value_type)?) -> $value_answer {
                    StoreLayer::$value(self, $($value_argument)?)
                }
            )*

            $(
                fn $name<'a>(&'a self, $($argument: $type),*) -> Answer<'a, $answer> {
                    self.around(stringify!($name), move || StoreLayer::$name(self, $($argument),*))
                }
            )*
        }

        impl<L: StoreLayer> OperatorStore for L {
            $(
                fn $op<'a>(&'a self, $($op_argument: $op_type),*) -> Answer<'a, $op_answer> {
                    self.around(stringify!($op), move || StoreLayer::$op(self, $($op_argument),*))
                }
            )*
        }
    };
}

layer! {
    values {
        describe() -> String;
        supports_multiple_instances() -> bool;
        why_only_leader_delivers() -> Option<&'static str>;
        is_shared_with_other_programs() -> bool;
        has_jobs_in_sql() -> bool;
        why_unusable_for_bots() -> Option<&'static str>;
        conversation_of(key: ConversationKey) -> ConversationKey;
    }
    Store {
        claim(bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> LeaseAnswer;
        renew(bot: i64, epoch: Epoch) -> ();
        release(bot: i64, epoch: Epoch) -> ();
        lease(bot: i64) -> Option<Lease>;
        lease_reclaim_requested(bot: i64) -> ();
        receive(epoch: Epoch, batch: Vec<Incoming>) -> Vec<Receipt>;
        waiting(bot: i64, after: Seq, limit: usize) -> Vec<InboxRow>;
        waiting_for(key: &'a ConversationKey, after: Seq, limit: usize) -> Vec<InboxRow>;
        deliver(batch: Vec<Incoming>) -> Vec<Delivered>;
        backlog(bot: i64, limit: usize) -> usize;
        announce(bot: i64, keys: Vec<ConversationKey>) -> ();
        listen(bot: i64) -> AnnouncedConversations;
        open(key: &'a ConversationKey, mark: Option<&'a Mark>) -> Opened;
        abandon_turn(epoch: Epoch, key: &'a ConversationKey) -> ();
        commit(epoch: Epoch, commit: Commit) -> Committed;
        park(epoch: Epoch, processed: Vec<InputRef>, parked: ParkedTurn, outgoing: Vec<Outgoing>) -> ParkResult;
        write(writes: DomainWrites) -> ();
        unsent(bot: i64, after: OutboxId, limit: usize) -> Vec<OutboxRow>;
        sending(epoch: Epoch, ids: Vec<OutboxId>) -> ();
        not_sent(epoch: Epoch, ids: Vec<OutboxId>) -> ();
        log_sent(epoch: Epoch, settled: &'a [Settled]) -> ();
        settle(epoch: Epoch, settled: Vec<Settled>, at: Millis) -> ();
        post(epoch: Epoch, once: &'a str, outgoing: Vec<(ConversationKey, Outgoing)>, at: Millis) -> Vec<OutboxId>;
        labelled(bot: i64, chat: i64, label: &'a str) -> Option<i64>;
        effects(bot: i64, after: EffectId, limit: usize) -> Vec<EffectRow>;
        finish_effect(epoch: Epoch, effect: EffectId, outcome: Incoming) -> Receipt;
        due_timers(bot: i64, now: Millis, limit: usize) -> Vec<TimerRow>;
        expired(bot: i64, now: Millis, limit: usize) -> Vec<ConversationKey>;
        next_due(bot: i64) -> Option<Millis>;
        clean(epoch: Epoch, limits: CleaningLimits) -> Cleaned;
        enqueue_jobs(bot: i64, jobs: Vec<NewJob>, now: Millis) -> Vec<Enqueued>;
        start_jobs(bot: i64, epoch: Epoch, start: JobStart) -> Vec<JobRow>;
        update_jobs(bot: i64, epoch: Epoch, updates: Vec<JobUpdate>, writes: Option<DomainWrites>) -> Vec<bool>;
        running_jobs(bot: i64, after: JobId, limit: usize) -> Vec<JobRow>;
        poll_jobs(bot: i64) -> JobPoll;
        prune_jobs(bot: i64, epoch: Epoch, limits: JobLimits) -> u64;
        job_ticks(bot: i64) -> Vec<(Box<str>, Millis)>;
        tick_jobs(bot: i64, epoch: Epoch, tick: Tick, jobs: Vec<NewJob>) -> bool;
        job_counts(bot: i64, finished_since: Option<Millis>) -> Vec<JobCount>;
        list(filter: &'a Filter, after: Option<&'a ConversationKey>, limit: usize) -> Vec<ConversationRow>;
        forget(bot: i64, user: i64, now: Millis) -> u64;
        statistics(bot: Option<i64>) -> Statistics;
        parked(bot: Option<i64>, limit: usize) -> Vec<ParkedTurn>;
        parked_to_retry(bot: i64, limit: usize) -> Vec<ParkedTurn>;
        drop_parked(id: ParkedId) -> bool;
        close() -> ();
    }
    OperatorStore {
        clear_lease(bot: i64) -> ();
        reset(key: &'a ConversationKey, now: Millis) -> bool;
        import(row: &'a ConversationRow, replace: bool) -> bool;
        bots() -> Vec<i64>;
        failed(bot: i64, after: Option<(Millis, OutboxId)>, limit: usize) -> Vec<FailedRow>;
        parked_by_id(id: ParkedId) -> Option<ParkedTurn>;
        retry_parked(id: ParkedId) -> bool;
        transitions(bot: i64, after: i64, limit: usize) -> Vec<TransitionRow>;
        transitions_of(key: &'a ConversationKey, after: i64, limit: usize) -> Vec<TransitionRow>;
        jobs(filter: &'a JobFilter, before: Option<JobId>, limit: usize) -> Vec<JobRow>;
        request_jobs(bot: i64, request: JobRequest, now: Millis) -> u64;
        paused_queues(bot: i64) -> Vec<Box<str>>;
        backup(to: &'a Path) -> ();
        tidy(is_dry_run: bool) -> Vec<String>;
    }
}
