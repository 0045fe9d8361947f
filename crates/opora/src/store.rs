//! Makes a turn durable.
//!
//! A turn changes the conversation's state, the mark of its update, outgoing messages, timers, effects, the transition
//! record, and the application's tables. They commit together or not at all. A store offers `open` and `commit`, not
//! get and set: get-then-set loses updates.
//!
//! Every write of an instance carries the epoch of its lease. It is refused after a takeover. Nothing here talks to
//! Telegram, and nothing here retries: the runtime decides by the kind of [`StoreError`].

use futures_util::StreamExt;
use futures_util::future::BoxFuture;

use crate::clock::Millis;
use crate::key::ConversationKey;

#[cfg(feature = "redis")]
pub use self::database::SqlDatabase;
#[cfg(feature = "redis")]
pub use self::decisions::DecisionStore;
pub use self::delivery::{AnnouncedConversations, Delivered};
pub use self::error::{BoxError, StoreError, StoreResult};
pub(crate) use self::generations::Generations;
pub(crate) use self::job_rows::storable;
pub use self::job_rows::{
    Enqueued, JobCount, JobFailure, JobFilter, JobId, JobLimits, JobPoll, JobRequest, JobRow, JobStart, JobState,
    JobUpdate, NewJob, Tick, Unique,
};
#[cfg(feature = "redis")]
pub use self::journal::Journal;
pub use self::layer::StoreLayer;
pub use self::lease::{Epoch, Holder, Lease, LeaseAnswer};
pub use self::lease_holder::{ProcessStatus, describe_holder, process_status};
pub use self::memory::MemoryStore;
pub use self::open::{OpenError, open, open_existing, open_with_database, with_data_folder};
pub use self::operator::{
    Cleaned, CleaningLimits, ConversationRow, FailedRow, Filter, OperatorStore, ParkResult, ParkedId, ParkedTurn,
    StateCount, Statistics, TransitionRow,
};
pub use self::outgoing::{IfUnsure, OutboxRow, Outgoing, OutgoingExtras, Settled, Settlement, Upload};
#[cfg(feature = "postgres")]
pub use self::postgres::{PostgresLoss, PostgresStore};
#[cfg(feature = "aiogram")]
pub use self::redis::AiogramStore;
#[cfg(feature = "aiogram")]
pub(crate) use self::redis::{Address as RedisAddress, Connection as RedisConnection};
#[cfg(feature = "redis")]
pub use self::redis::{RedisCode, RedisLoss, RedisServerInfo, RedisStore};
pub use self::rows::{
    Commit, Committed, Effect, EffectId, EffectRow, InboxRow, Incoming, InputRef, Mark, Opened, Origin, OutboxId,
    Receipt, Seq, StateChange, StateName, StoredState, TimerChange, TimerId, TimerRow, Transition, Version,
};
pub use self::settings::{setting, with_setting, without_setting};
pub use self::sql::failure::is_transient;
pub(crate) use self::sql::jobs::{BatchFailed, Finish, finish};
pub use self::sqlite::{Restored, SqliteStore};
pub(crate) use self::state_cache::StateCache;
pub use self::writes::{Database, DomainWrites, Refusal, WriteError};

/// Methods of a store, one a line: what each takes and answers, and the future of the answer.
macro_rules! answers {
    ($store:ident; $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty => $future:expr;)*) => {
        $(fn $name<'a>(&'a $store, $($argument: $type),*) -> crate::store::Answer<'a, $answer> {
            Box::pin($future)
        })*
    };
}

#[cfg(feature = "redis")]
mod database;
#[cfg(feature = "redis")]
mod decisions;
mod delivery;
pub(crate) mod enqueued_jobs;
mod error;
mod generations;
pub(crate) mod hash;
mod job_rows;
#[cfg(feature = "redis")]
mod journal;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod last_seen;
mod layer;
mod lease;
pub(crate) mod lease_holder;
mod memory;
mod open;
mod operator;
mod outgoing;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
pub(crate) mod requester;
mod rows;
mod sent_log;
mod settings;
mod sql;
mod sqlite;
mod state_cache;
mod tls;
mod writes;

/// The future of a store call.
pub type Answer<'a, T> = BoxFuture<'a, StoreResult<T>>;

/// Why a store with the default [`Store::deliver`] accepts updates from the leader only.
const ONLY_LEADER_DELIVERS: &str = "this store accepts updates only from the leader";

/// Stores conversations, and what waits before and after their turns: what the runtime needs of a store.
///
/// A new store implements the methods without a body, and those of [`OperatorStore`]. The defaults of the last
/// sections, "Optional", fit most stores. [`crate::store_conformance!`] tests an implementation. [`StoreLayer`] puts a
/// layer in front of another store.
pub trait Store: Send + Sync + std::fmt::Debug + 'static {
    /// Says where data is stored and what a restart loses, for the log.
    fn describe(&self) -> String;
    /// The methods for an operator's tools. The runtime does not call them.
    fn operator(&self) -> &dyn OperatorStore;
    /// Finishes running operations and closes files and connections.
    fn close(&self) -> Answer<'_, ()>;

    // The lease.

    /// Claims the lease of a bot. `seen` is a lease that may be taken over: this instance has watched it unrenewed for
    /// its whole time, or knows that its holder is gone. A newer lease is not taken over.
    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer>;
    /// Renews the lease.
    fn renew(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()>;
    /// Releases the lease.
    fn release(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()>;
    /// The lease, if an instance holds it.
    fn lease(&self, bot: i64) -> Answer<'_, Option<Lease>>;

    // Before the turn.

    /// Stores a batch in the inbox in one durable step. Inputs whose mark is known are skipped. The receipts are in the
    /// order of the batch.
    fn receive(&self, epoch: Epoch, batch: Vec<Incoming>) -> Answer<'_, Vec<Receipt>>;
    /// Inbox rows after a sequence number, in order. A starting bot reads them all.
    fn waiting(&self, bot: i64, after: Seq, limit: usize) -> Answer<'_, Vec<InboxRow>>;
    /// Inbox rows of one conversation after a sequence number, in order.
    fn waiting_for<'a>(&'a self, key: &'a ConversationKey, after: Seq, limit: usize) -> Answer<'a, Vec<InboxRow>>;

    // The turn.

    /// The state and version of a conversation. With a mark, also whether that input was processed already.
    fn open<'a>(&'a self, key: &'a ConversationKey, mark: Option<&'a Mark>) -> Answer<'a, Opened>;
    /// Makes a turn durable, or stores nothing of it.
    fn commit(&self, epoch: Epoch, commit: Commit) -> Answer<'_, Committed>;
    /// Parks a turn for the operator. Its inputs leave the inbox or the timers and count as processed. In the same step
    /// `outgoing` enters the outbox, from the conversation and at the time of `parked`.
    fn park(
        &self,
        epoch: Epoch,
        processed: Vec<InputRef>,
        parked: ParkedTurn,
        outgoing: Vec<Outgoing>,
    ) -> Answer<'_, ParkResult>;
    /// Parked turns, oldest first.
    fn parked(&self, bot: Option<i64>, limit: usize) -> Answer<'_, Vec<ParkedTurn>>;
    /// Parked turns that the operator has asked to run again.
    fn parked_to_retry(&self, bot: i64, limit: usize) -> Answer<'_, Vec<ParkedTurn>>;
    /// Deletes a parked turn; false if there is none.
    fn drop_parked(&self, id: ParkedId) -> Answer<'_, bool>;
    /// Runs the application's writes outside a turn, with the same order and atomicity.
    fn write(&self, writes: DomainWrites) -> Answer<'_, ()>;

    // After the turn.

    /// Unsent outbox rows after an id, in order.
    fn unsent(&self, bot: i64, after: OutboxId, limit: usize) -> Answer<'_, Vec<OutboxRow>>;
    /// Marks rows as about to be sent, durably. Only for rows that must not be sent twice.
    fn sending(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()>;
    /// Undoes [`Store::sending`]: these rows were certainly not sent, and wait for another attempt.
    fn not_sent(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()>;
    /// Stores the results of sends. `at` is the time of their labels.
    fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()>;
    /// Puts messages into the outbox outside a turn: broadcasts, restart notices. `at` is their time. A repeated `once`
    /// adds nothing.
    fn post<'a>(
        &'a self,
        epoch: Epoch,
        once: &'a str,
        outgoing: Vec<(ConversationKey, Outgoing)>,
        at: Millis,
    ) -> Answer<'a, Vec<OutboxId>>;
    /// The id of the last message sent to a chat under a label.
    fn labelled<'a>(&'a self, bot: i64, chat: i64, label: &'a str) -> Answer<'a, Option<i64>>;
    /// Unfinished effects after an id, in order.
    fn effects(&self, bot: i64, after: EffectId, limit: usize) -> Answer<'_, Vec<EffectRow>>;
    /// Replaces an effect by its outcome in the inbox, in one step; [`Receipt::Known`] if that happened before.
    fn finish_effect<'a>(&'a self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> Answer<'a, Receipt>;

    // Time.

    /// Due timers, earliest first.
    fn due_timers(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<TimerRow>>;
    /// Expired conversations, earliest first.
    fn expired(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<ConversationKey>>;
    /// The time of the earliest timer or expiry, so that the schedule need not poll.
    fn next_due(&self, bot: i64) -> Answer<'_, Option<Millis>>;
    /// Removes rows beyond their retention, a limited number per call. [`Cleaned::is_empty`] means that nothing is left
    /// to remove.
    fn clean(&self, epoch: Epoch, limits: CleaningLimits) -> Answer<'_, Cleaned>;

    // Background jobs.

    /// Whether jobs are in an SQL database, so that a turn's writes and the application's writes can add them. In other
    /// stores a turn adds a job by an effect.
    fn has_jobs_in_sql(&self) -> bool {
        false
    }
    /// Adds jobs of a bot, from any instance. A job that repeats another one, by [`Unique`], is not added. The answers
    /// are in the order of the jobs.
    fn enqueue_jobs(&self, bot: i64, jobs: Vec<NewJob>, now: Millis) -> Answer<'_, Vec<Enqueued>>;
    /// Begins an attempt of due jobs in these queues, at most so many of each: the lowest priority number first, then
    /// the earliest. A paused queue has none.
    fn start_jobs(&self, bot: i64, epoch: Epoch, start: JobStart) -> Answer<'_, Vec<JobRow>>;
    /// Ends attempts. An update of an attempt that does not run any more changes nothing and is answered `false`. With
    /// `writes`, which commit with the updates under the lease, nothing happens unless all of them apply.
    fn update_jobs(
        &self,
        bot: i64,
        epoch: Epoch,
        updates: Vec<JobUpdate>,
        writes: Option<DomainWrites>,
    ) -> Answer<'_, Vec<bool>>;
    /// Running jobs, also those whose attempt began under an earlier lease.
    fn running_jobs(&self, bot: i64, after: JobId, limit: usize) -> Answer<'_, Vec<JobRow>>;
    /// Which queues have jobs to start, when the next job is due, and which running ones are to be cancelled.
    fn poll_jobs(&self, bot: i64) -> Answer<'_, JobPoll>;
    /// Removes old finished jobs and results, a limited number per call. Returns how many; 0 means that nothing is left
    /// to remove.
    fn prune_jobs(&self, bot: i64, epoch: Epoch, limits: JobLimits) -> Answer<'_, u64>;
    /// The tick of each schedule that was noted last.
    fn job_ticks(&self, bot: i64) -> Answer<'_, Vec<(Box<str>, Millis)>>;
    /// Adds the jobs of a schedule's tick and notes the tick, in one step. False if another tick was noted meanwhile.
    fn tick_jobs(&self, bot: i64, epoch: Epoch, tick: Tick, jobs: Vec<NewJob>) -> Answer<'_, bool>;
    /// Jobs by queue, name and state, in this order. With a time the finished ones too, at least those that have
    /// finished since then, and how many these are.
    fn job_counts(&self, bot: i64, finished_since: Option<Millis>) -> Answer<'_, Vec<JobCount>>;

    // All conversations.

    /// Conversations in the order of their keys, after a key.
    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<&'a ConversationKey>,
        limit: usize,
    ) -> Answer<'a, Vec<ConversationRow>>;
    /// Forgets a person: ends the person's conversations with a bot, in private and in groups. Removes their inputs,
    /// messages, timers, effects, records and parked turns, and messages to the person's chat. Marks and versions stay,
    /// so that nothing is processed twice and a running turn is overtaken. Returns the number of rows removed; a
    /// repetition removes none. System conversations (user 0) are left alone.
    fn forget(&self, bot: i64, user: i64, now: Millis) -> Answer<'_, u64>;
    /// Numbers for a page and for metrics.
    fn statistics(&self, bot: Option<i64>) -> Answer<'_, Statistics>;

    // Optional.

    /// The number of waiting inputs, counted up to a limit. Override it if the store can count without reading rows.
    fn backlog(&self, bot: i64, limit: usize) -> Answer<'_, usize> {
        Box::pin(async move { Ok(self.waiting(bot, Seq(i64::MIN), limit).await?.len()) })
    }

    // Optional, for several instances.

    /// Whether instances on several machines can use the store at once.
    fn supports_multiple_instances(&self) -> bool {
        false
    }
    /// Why only the leader can deliver updates; none if every instance can, by [`Store::deliver`].
    fn why_only_leader_delivers(&self) -> Option<&'static str> {
        Some(ONLY_LEADER_DELIVERS)
    }
    /// Stores updates in the inbox like [`Store::receive`], but from any instance, with or without the lease. If one
    /// call returned before another began, its updates come first, whichever instances made the calls. The results are
    /// in the order of the batch.
    fn deliver(&self, batch: Vec<Incoming>) -> Answer<'_, Vec<Delivered>> {
        let _ = batch;
        Box::pin(async { Err(StoreError::Unsupported(ONLY_LEADER_DELIVERS)) })
    }
    /// Tells listening instances that updates of these conversations were delivered. Announcements are not stored: the
    /// leader also reads the inbox from time to time.
    fn announce(&self, bot: i64, keys: Vec<ConversationKey>) -> Answer<'_, ()> {
        let _ = (bot, keys);
        Box::pin(async { Ok(()) })
    }
    /// The announcements of other instances from now on. Without announcements the stream stays silent.
    fn listen(&self, bot: i64) -> Answer<'_, AnnouncedConversations> {
        let _ = bot;
        Box::pin(async { Ok(futures_util::stream::pending().boxed()) })
    }

    // Optional, for conversations that are shared with other programs.

    /// Whether other programs change conversations here too. Then no state may be cached between turns.
    fn is_shared_with_other_programs(&self) -> bool {
        false
    }
    /// Why no bot can run on this store as it was opened; none if one can.
    fn why_unusable_for_bots(&self) -> Option<&'static str> {
        None
    }
    /// The conversation that inputs of a key belong to: the key itself, unless several keys share one state.
    fn conversation_of(&self, key: ConversationKey) -> ConversationKey {
        key
    }
    /// Like [`Store::open`], for a turn: other programs cannot change the conversation until the turn commits or
    /// [`Store::abandon_turn`] is called.
    fn open_for_turn<'a>(
        &'a self,
        epoch: Epoch,
        key: &'a ConversationKey,
        mark: Option<&'a Mark>,
        now: Millis,
    ) -> Answer<'a, Opened> {
        let _ = (epoch, now);
        self.open(key, mark)
    }
    /// Ends a turn that was [opened](Store::open_for_turn) and does not commit.
    fn abandon_turn<'a>(&'a self, epoch: Epoch, key: &'a ConversationKey) -> Answer<'a, ()> {
        let _ = (epoch, key);
        Box::pin(async { Ok(()) })
    }

    // Optional, for a store that waits for a disk or a server, or that can move.

    /// Logs at once which of these rows were sent; [`Store::settle`] follows. A store whose settling waits for a disk
    /// or a server writes this to a local file. If the process is killed, the next leader does not send them again.
    fn log_sent<'a>(&'a self, epoch: Epoch, settled: &'a [Settled]) -> Answer<'a, ()> {
        let _ = (epoch, settled);
        Box::pin(async { Ok(()) })
    }
    /// Waits until the leader has to finish running work and claim its lease again, because the store moved.
    fn lease_reclaim_requested(&self, bot: i64) -> Answer<'_, ()> {
        let _ = bot;
        Box::pin(std::future::pending())
    }
}
