//! Where a turn becomes durable.
//!
//! A turn changes several things: the conversation's state, the mark that its update was taken, the messages to send,
//! timers, effects, the record of a transition, and whatever the application wrote. They commit together or not at all.
//! A store offers `open` and `commit`, not get and set: get-then-set loses updates.
//!
//! Every write of an instance carries the epoch of its lease and is refused once another instance has taken over.
//! Nothing here talks to Telegram, and nothing here retries: the runtime decides, by the kind of [`StoreError`].

use futures_util::StreamExt;
use futures_util::future::BoxFuture;

use crate::clock::Millis;
use crate::key::DialogueKey;

#[cfg(feature = "redis")]
pub use self::database::SqlDatabase;
#[cfg(feature = "redis")]
pub use self::decided::DecidedStore;
pub use self::fleet::{Delivered, News};
#[cfg(feature = "redis")]
pub use self::journal::Journal;
pub use self::layer::StoreLayer;
pub use self::lease::{Epoch, Holder, Lease, LeaseAnswer};
pub use self::memory::MemoryStore;
pub use self::open::{OpenError, open, open_existing, open_with_database, with_data};
pub use self::operator::{
    Bounds, Cleaned, ConversationRow, FailedRow, Filter, OperatorStore, Parked, ParkedId, PlaceCount, SetAside,
    Statistics, TransitionRow,
};
#[cfg(feature = "postgres")]
pub use self::postgres::{PostgresLoss, PostgresStore};
#[cfg(feature = "aiogram")]
pub use self::redis::AiogramStore;
#[cfg(feature = "aiogram")]
pub(crate) use self::redis::{Address as RedisAddress, Wire as RedisWire};
#[cfg(feature = "redis")]
pub use self::redis::{RedisCode, RedisLoss, RedisServer, RedisStore};
pub use self::rows::{
    Commit, Committed, Effect, EffectId, EffectRow, IfUnsure, InboxRow, Incoming, Mark, Opened, Origin, OutboxId,
    OutboxRow, Outgoing, Place, Receipt, Seq, Settled, Settlement, StateChange, Stored, Taken, TimerChange, TimerId,
    TimerRow, Transition, Upload, Version,
};
pub use self::settings::{setting, with_setting, without_setting};
pub use self::sql::failure::is_passing;
pub use self::sqlite::{Restored, SqliteStore};
pub(crate) use self::state_cache::StateCache;
pub use self::writes::{Database, DomainWrites, Refusal, WriteError};

#[cfg(feature = "redis")]
mod database;
#[cfg(feature = "redis")]
mod decided;
mod fleet;
pub(crate) mod hash;
#[cfg(feature = "redis")]
mod journal;
mod layer;
mod lease;
mod memory;
mod open;
mod operator;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod rows;
mod sent_log;
mod settings;
mod sql;
mod sqlite;
mod state_cache;
mod tls;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod witness;
mod writes;

/// What went wrong in a store, split by what the caller does next.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another turn committed first: open again and run again.
    #[error("another turn of {0} committed first")]
    Overtaken(DialogueKey),
    /// The input was taken by an earlier turn: drop it.
    #[error("this input was taken already")]
    AlreadyTaken,
    /// Another instance has the lease: stop working.
    #[error("the lease of epoch {mine:?} is over; {holder}")]
    Fenced {
        /// The epoch that the refused write carried.
        mine: Epoch,
        /// Who has the lease now, in words.
        holder: String,
    },
    /// The store has lost what it had kept: stop working, until an operator has decided what to do.
    #[error("{what}")]
    Lost {
        /// What was expected, what was found, and what can be done about it.
        what: String,
    },
    /// The application's own writes said no; nothing of the turn was kept.
    #[error("refused: {0}")]
    Refused(Refusal),
    /// The application's own writes failed; nothing of the turn was kept: the turn fails.
    #[error("the application's writes failed: {0}")]
    WritesFailed(#[source] BoxError),
    /// What is stored cannot be read: set it aside.
    #[error("what is stored for {key} cannot be read")]
    Unreadable {
        /// Whose state it is.
        key: DialogueKey,
        /// What the reader stumbled on.
        #[source]
        source: BoxError,
    },
    /// The store did not answer, or its disk is full: wait and try again.
    #[error("the store did not answer: {0}")]
    Unavailable(#[source] BoxError),
    /// Another program holds the lock of the conversation: ask again soon. Only [`Store::open_for_turn`] answers this.
    #[error("another program holds the lock {lock} of the conversation")]
    Locked {
        /// The name of the lock, for the log.
        lock: String,
    },
    /// The store is unreachable, and there is no local copy of the conversation: wait, and tell its person. Only
    /// [`Store::open_for_turn`] and [`Store::open`] answer this.
    #[error("the store is unreachable and has no local copy of {key}: the conversation waits")]
    NoCopy {
        /// The conversation that has to wait.
        key: DialogueKey,
        /// Names the message to the person, so that it is sent once.
        notice: String,
    },
    /// The store cannot do this at all.
    #[error("{0}")]
    Unsupported(&'static str),
}

impl StoreError {
    /// Whether it passes by itself: the same call may succeed later.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Locked { .. } | Self::NoCopy { .. })
    }

    /// Whether nothing may be written any more under this lease.
    #[must_use]
    pub fn ends_the_lease(&self) -> bool {
        matches!(self, Self::Fenced { .. } | Self::Lost { .. })
    }

    /// As whoever claims a lease answers it: another one got there first, so the lease is asked for again.
    fn of_a_claim(self) -> Self {
        match self {
            Self::Fenced { .. } => Self::Unavailable("another instance was faster".into()),
            other => other,
        }
    }
}

/// Any error, where its kind no longer matters.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The answer of a store.
pub type StoreResult<T> = Result<T, StoreError>;

/// The future of a store's answer.
pub type Answer<'a, T> = BoxFuture<'a, StoreResult<T>>;

/// Why a store with the default [`Store::deliver`] takes updates of one instance only.
const ONLY_LEADER_DELIVERS: &str = "this store takes updates only from the instance that holds the lease";

/// Keeps conversations, and what waits before and after their turns: what the runtime needs of a store.
///
/// A new store writes the methods without a body, and those of [`OperatorStore`]. The last section, "Optional", is for
/// stores that offer more; its defaults fit every other store. [`crate::store_conformance!`] tests an implementation.
/// [`StoreLayer`] puts a layer before another store.
pub trait Store: Send + Sync + std::fmt::Debug + 'static {
    /// What is kept where, and what a restart loses, for the log.
    fn describe(&self) -> String;
    /// The methods for an operator's tools. The runtime does not call them.
    fn operator(&self) -> &dyn OperatorStore;
    /// Finishes what was begun and closes files and connections.
    fn close(&self) -> Answer<'_, ()>;

    // The lease.

    /// Asks for the lease of a bot. `seen` is the lease as this instance has watched it unrenewed for its whole time,
    /// or whose holder it knows to be gone: that one, and no newer one, may be taken over.
    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer>;
    /// Says that the holder lives.
    fn renew(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()>;
    /// Gives the lease back at once.
    fn release(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()>;
    /// Who holds the lease, if anyone.
    fn lease(&self, bot: i64) -> Answer<'_, Option<Lease>>;

    // Before the turn.

    /// Puts a batch into the inbox in one durable step; what was received or taken before is recognised by its mark.
    /// Answers come in the order of the batch.
    fn receive(&self, epoch: Epoch, batch: Vec<Incoming>) -> Answer<'_, Vec<Receipt>>;
    /// Inbox rows after a sequence number, in order; a bot's start reads them all by this.
    fn waiting(&self, bot: i64, after: Seq, limit: usize) -> Answer<'_, Vec<InboxRow>>;
    /// Inbox rows of one conversation after a sequence number, in order.
    fn waiting_for<'a>(&'a self, key: &'a DialogueKey, after: Seq, limit: usize) -> Answer<'a, Vec<InboxRow>>;

    // The turn.

    /// The state of a conversation and its version; with a mark also whether that input was taken already.
    fn open<'a>(&'a self, key: &'a DialogueKey, mark: Option<&'a Mark>) -> Answer<'a, Opened>;
    /// Makes a turn durable, or leaves nothing of it.
    fn commit(&self, epoch: Epoch, commit: Commit) -> Answer<'_, Committed>;
    /// Sets an input aside for the operator: it leaves the inbox (or the timers) and counts as taken. In the same step
    /// `outgoing` enters the outbox, said by the conversation of `parked` at its time.
    fn park(&self, epoch: Epoch, taken: Vec<Taken>, parked: Parked, outgoing: Vec<Outgoing>) -> Answer<'_, SetAside>;
    /// Parked turns, oldest first.
    fn parked(&self, bot: Option<i64>, limit: usize) -> Answer<'_, Vec<Parked>>;
    /// Parked turns that the operator wants to run again.
    fn parked_to_retry(&self, bot: i64, limit: usize) -> Answer<'_, Vec<Parked>>;
    /// Forgets a parked turn.
    fn drop_parked(&self, id: ParkedId) -> Answer<'_, bool>;
    /// Runs the application's writes outside of a turn, in the same order and with the same atomicity.
    fn write(&self, writes: DomainWrites) -> Answer<'_, ()>;

    // After the turn.

    /// Outbox rows not yet sent after an id, in order.
    fn unsent(&self, bot: i64, after: OutboxId, limit: usize) -> Answer<'_, Vec<OutboxRow>>;
    /// Says durably that these are about to be sent; only for rows that must not be sent twice.
    fn sending(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()>;
    /// Takes back what [`Store::sending`] has said of these: they surely were not sent, and wait to be tried again.
    fn not_sent(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()>;
    /// Says what became of sends; labels are as young as `at`.
    fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()>;
    /// Puts messages into the outbox outside of a turn: broadcasts, notices of a restart. They are said at `at`. A
    /// repeated `once` adds nothing.
    fn post<'a>(
        &'a self,
        epoch: Epoch,
        once: &'a str,
        outgoing: Vec<(DialogueKey, Outgoing)>,
        at: Millis,
    ) -> Answer<'a, Vec<OutboxId>>;
    /// The message that was last sent to a chat under a label.
    fn labelled<'a>(&'a self, bot: i64, chat: i64, label: &'a str) -> Answer<'a, Option<i64>>;
    /// Effects not yet carried out after an id, in order.
    fn effects(&self, bot: i64, after: EffectId, limit: usize) -> Answer<'_, Vec<EffectRow>>;
    /// Replaces an effect by its outcome in the inbox, in one step; [`Receipt::Known`] if it was replaced before.
    fn finish_effect<'a>(&'a self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> Answer<'a, Receipt>;

    // Time.

    /// Timers that are due, earliest first.
    fn due_timers(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<TimerRow>>;
    /// Conversations whose life is over, earliest first.
    fn expired(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<DialogueKey>>;
    /// The earliest timer or end of life, so that the schedule need not poll every second.
    fn next_due(&self, bot: i64) -> Answer<'_, Option<Millis>>;
    /// Removes what is beyond its bounds, a limited number of rows each time; [`Cleaned::nothing`] means that it is
    /// clean.
    fn clean(&self, epoch: Epoch, bounds: Bounds) -> Answer<'_, Cleaned>;

    // The whole.

    /// Conversations by key, in the order of their keys, after one.
    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<&'a DialogueKey>,
        limit: usize,
    ) -> Answer<'a, Vec<ConversationRow>>;
    /// Forgets a person: ends the conversations that the person has with a bot, in private and in groups, and removes their
    /// inputs, messages, timers, effects, records and parked turns, and what was said to the person's chat. What keeps an
    /// update from being applied twice stays, and so does the version of each conversation. The running instance notices by
    /// the version. Answers how much there was; a repetition finds nothing. Conversations of user 0, which belong to no
    /// person, are left alone.
    fn forget(&self, bot: i64, user: i64, now: Millis) -> Answer<'_, u64>;
    /// Numbers for a page and for metrics.
    fn statistics(&self, bot: Option<i64>) -> Answer<'_, Statistics>;

    // Optional: a store that can do more than the defaults writes these.

    /// How many inputs wait, counted up to a limit. Written by stores that can count without reading the rows.
    fn backlog(&self, bot: i64, limit: usize) -> Answer<'_, usize> {
        Box::pin(async move { Ok(self.waiting(bot, Seq(i64::MIN), limit).await?.len()) })
    }

    // Optional, for instances that work together.

    /// Whether instances on several machines can work with it at once.
    fn supports_multiple_instances(&self) -> bool {
        false
    }
    /// Why only the instance that holds the lease can deliver updates; none if every instance can, by [`Store::deliver`].
    fn why_only_leader_delivers(&self) -> Option<&'static str> {
        Some(ONLY_LEADER_DELIVERS)
    }
    /// Puts updates into the inbox in one durable step, as [`Store::receive`] does, but from any instance, whether it holds
    /// the lease or not. If one call was answered before another began, its updates come first, whichever instances made
    /// the calls. Answers come in the order of the batch.
    fn deliver(&self, batch: Vec<Incoming>) -> Answer<'_, Vec<Delivered>> {
        let _ = batch;
        Box::pin(async { Err(StoreError::Unsupported(ONLY_LEADER_DELIVERS)) })
    }
    /// Tells listening instances that something of these conversations was delivered. It is not kept: the leader looks
    /// through the inbox from time to time anyway.
    fn announce(&self, bot: i64, keys: Vec<DialogueKey>) -> Answer<'_, ()> {
        let _ = (bot, keys);
        Box::pin(async { Ok(()) })
    }
    /// Listens to what other instances announce from now on; a store without announcements is silent.
    fn listen(&self, bot: i64) -> Answer<'_, News> {
        let _ = bot;
        Box::pin(async { Ok(futures_util::stream::pending().boxed()) })
    }

    // Optional, for a store that shares its conversations with other programs.

    /// Whether other programs change conversations here, too: then no state may be cached between turns.
    fn is_shared_with_other_programs(&self) -> bool {
        false
    }
    /// Why no bot can work with this store as it was opened; none if one can.
    fn why_unusable_for_bots(&self) -> Option<&'static str> {
        None
    }
    /// The conversation to which the inputs of a key belong: the key itself, unless several keys share one state.
    fn conversation_of(&self, key: DialogueKey) -> DialogueKey {
        key
    }
    /// As [`Store::open`], for a turn: other programs cannot change the conversation until the turn commits or
    /// [`Store::abandon_turn`] is called.
    fn open_for_turn<'a>(
        &'a self,
        epoch: Epoch,
        key: &'a DialogueKey,
        mark: Option<&'a Mark>,
        now: Millis,
    ) -> Answer<'a, Opened> {
        let _ = (epoch, now);
        self.open(key, mark)
    }
    /// Ends a turn that was [opened](Store::open_for_turn) and does not commit.
    fn abandon_turn<'a>(&'a self, epoch: Epoch, key: &'a DialogueKey) -> Answer<'a, ()> {
        let _ = (epoch, key);
        Box::pin(async { Ok(()) })
    }

    // Optional, for a store that waits for a disk or a server, or that can move to another place.

    /// Logs at once which of these rows were sent; [`Store::settle`] follows and makes it final. A store whose settling
    /// waits for a disk or a server keeps this where a killed process cannot lose it, so that the next holder of the lease
    /// does not send them again.
    fn log_sent<'a>(&'a self, epoch: Epoch, settled: &'a [Settled]) -> Answer<'a, ()> {
        let _ = (epoch, settled);
        Box::pin(async { Ok(()) })
    }
    /// Waits until the leader has to finish what is under way and claim its lease again, because the store goes on in
    /// another place.
    fn lease_reclaim_requested(&self, bot: i64) -> Answer<'_, ()> {
        let _ = bot;
        Box::pin(std::future::pending())
    }
}
