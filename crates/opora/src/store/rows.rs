//! The rows and values that a store keeps.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{DomainWrites, Outgoing};
use crate::clock::Millis;
use crate::key::ConversationKey;

/// The version of a conversation. It rises by one with every turn and never restarts, not even when a dialogue ends and
/// another one begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(pub i64);

impl Version {
    pub(crate) fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

/// A position in the inbox. Later positions are larger, also after restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub i64);

/// A position in the outbox. Later positions are larger, also after restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OutboxId(pub i64);

/// The id of an effect in one store. The idempotency key of the effect is in its body, and stays the same when a
/// journal is replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectId(pub i64);

/// The id of a timer. Setting a timer again gives it a new id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TimerId(pub i64);

/// The idempotency key of an update: its id and its identity, because Telegram's ids may restart lower.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Mark {
    /// The bot that received it.
    pub bot: i64,
    /// Telegram's `update_id`.
    pub update_id: i64,
    /// Kind, message id and date, or the callback's id.
    pub identity: Box<str>,
}

/// Where an input came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An update of Telegram's.
    Update(Mark),
    /// The outcome of an effect.
    Outcome(EffectId),
}

/// An input on its way into the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// Its conversation.
    pub key: ConversationKey,
    /// Where it came from.
    pub origin: Origin,
    /// The update as Telegram sent it, or an outcome, as JSON. Shared, because it is large and used in two places.
    pub body: Arc<str>,
    /// When it arrived.
    pub at: Millis,
}

/// An input in the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxRow {
    /// Its place.
    pub seq: Seq,
    /// The input itself.
    pub incoming: Incoming,
}

/// The result of receiving one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// It was stored in the inbox.
    New(Seq),
    /// It waits already or was processed: nothing to do.
    Known,
}

/// The result of `open`.
#[derive(Clone, Debug, PartialEq)]
pub enum Opened {
    /// An earlier turn processed the input.
    AlreadyProcessed,
    /// The conversation.
    At {
        /// Its version. A conversation never seen starts at the version floor.
        version: Version,
        /// Its state; none if nothing is open.
        stored: Option<StoredState>,
    },
}

/// The stored state of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredState {
    /// The conversation as JSON; only [`crate::dialogue`] reads it.
    pub value: Box<str>,
    /// The state of each of its dialogues, the one in the foreground first; for lists and counts.
    pub states: Vec<StateName>,
    /// When it expires, unless a turn extends it.
    pub expires_at: Option<Millis>,
}

/// A dialogue and its state, by their stable names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StateName {
    /// The dialogue's name.
    pub dialogue: Box<str>,
    /// The state's name.
    pub state: Box<str>,
}

/// `dialogue:state`.
impl std::fmt::Display for StateName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.dialogue, self.state)
    }
}

/// What a turn does to the state. The version rises in every case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateChange {
    /// Leaves it as it is.
    Keep,
    /// Writes a new one.
    Set(StoredState),
    /// Ends the conversation: nothing is open any more.
    Clear,
}

/// An input that a turn has processed, as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputRef {
    /// An update from the inbox. Its mark is stored.
    Update {
        /// Its row.
        seq: Seq,
        /// Its idempotency key.
        mark: Mark,
    },
    /// A direct update. Its mark is stored. If it was stored in the inbox meanwhile, it leaves the inbox.
    DirectUpdate(Mark),
    /// An outcome from the inbox.
    Outcome(Seq),
    /// A timer that fired.
    Timer(TimerId),
    /// A parked turn that was run again.
    Parked(super::ParkedId),
}

/// Everything that a turn changes.
#[derive(Debug, Serialize, Deserialize)]
pub struct Commit {
    /// Whose turn it was.
    pub key: ConversationKey,
    /// The version that it started from. The commit is refused if there is a later one.
    pub from: Version,
    /// The inputs that it processed. The commit is refused if any of them was processed before.
    pub processed: Vec<InputRef>,
    /// The change of the state.
    pub state: StateChange,
    /// Messages to send, in order.
    pub outgoing: Vec<Outgoing>,
    /// Timers to set and to cancel, in order.
    pub timers: Vec<TimerChange>,
    /// Effects to run.
    pub effects: Vec<Effect>,
    /// The transition record.
    pub transition: Option<Transition>,
    /// The application's writes. They are code and are not serialized.
    #[serde(skip)]
    pub writes: Option<DomainWrites>,
    /// The time of the turn.
    pub at: Millis,
}

impl Commit {
    /// A commit that changes nothing but the version.
    #[must_use]
    pub fn new(key: ConversationKey, from: Version, at: Millis) -> Self {
        Self {
            key,
            from,
            processed: Vec::new(),
            state: StateChange::Keep,
            outgoing: Vec::new(),
            timers: Vec::new(),
            effects: Vec::new(),
            transition: None,
            writes: None,
            at,
        }
    }

    /// The version after the commit.
    pub(super) fn to(&self) -> Version {
        Version(self.from.0.saturating_add(1))
    }
}

/// The result of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// The conversation's version now.
    pub version: Version,
    /// The outbox rows of `outgoing`, in its order.
    pub outbox: Vec<OutboxId>,
    /// The effects of `effects`, in its order.
    pub effects: Vec<EffectId>,
}

/// A change to a conversation's timers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerChange {
    /// Sets a timer, and replaces one of the same name.
    Set {
        /// Its name, unique in the conversation.
        name: Box<str>,
        /// When it fires.
        due_at: Millis,
        /// What the handler gets, as JSON.
        body: Box<str>,
    },
    /// Cancels a timer, if there is one of that name.
    Cancel(Box<str>),
}

impl TimerChange {
    /// The timer's name.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Set { name, .. } | Self::Cancel(name) => name,
        }
    }
}

/// A timer in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimerRow {
    /// Its id.
    pub id: TimerId,
    /// Whose it is.
    pub key: ConversationKey,
    /// Its name.
    pub name: Box<str>,
    /// When it fires.
    pub due_at: Millis,
    /// What the handler gets, as JSON.
    pub body: Box<str>,
}

/// An effect that a turn asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// The name under which the effect is registered.
    pub kind: Box<str>,
    /// Its parameters, as JSON.
    pub body: Box<str>,
}

/// An effect in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectRow {
    /// Its id.
    pub id: EffectId,
    /// The conversation that asked for it.
    pub key: ConversationKey,
    /// The effect.
    pub effect: Effect,
    /// When it was asked for.
    pub at: Millis,
}

/// A change of state, for the transition record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// The state before; none if no dialogue was open.
    pub from: Option<StateName>,
    /// The state after; none if no dialogue is open.
    pub to: Option<StateName>,
    /// The kind of input that caused it.
    pub by: Box<str>,
    /// How long the handler took.
    pub took_us: i64,
}
