//! What a store keeps, row by row.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::DomainWrites;
use crate::clock::Millis;
use crate::key::DialogueKey;

/// Rises by one with every turn of a conversation and never restarts, not even when a dialogue ends and begins anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(pub i64);

impl Version {
    pub(crate) fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

/// A place in the inbox. Later means larger, also over restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub i64);

/// A place in the outbox. Later means larger, also over restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OutboxId(pub i64);

/// An effect in one store. The key under which it is carried out is another: it lies in its body, and stays the same also
/// where the effect goes from a journal into its Redis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectId(pub i64);

/// A timer that was set; setting it again makes a new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TimerId(pub i64);

/// What tells an update from another: its id and its identity, because Telegram's ids may restart lower.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// An effect that was carried out, or failed for good.
    Outcome(EffectId),
}

/// An input on its way into the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The conversation that it belongs to.
    pub key: DialogueKey,
    /// Where it came from.
    pub origin: Origin,
    /// The update as Telegram sent it, or an outcome, as JSON; shared, for it is large and goes two ways.
    pub body: Arc<str>,
    /// When it came.
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

/// What became of one input of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// It is in the inbox now.
    New(Seq),
    /// It waits already, or was taken: nothing to do.
    Known,
}

/// What `open` found.
#[derive(Clone, Debug, PartialEq)]
pub enum Opened {
    /// The input was taken by an earlier turn.
    AlreadyTaken,
    /// The conversation as it stands.
    At {
        /// Its version; of one never seen, a version from which it can start.
        version: Version,
        /// Its state; none if nothing is open.
        stored: Option<Stored>,
    },
}

/// A conversation's state as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// The conversation as JSON; only [`crate::dialogue`] reads it.
    pub value: Box<str>,
    /// Where each of its dialogues stands, the one in the foreground first; for lists and counts.
    pub places: Vec<Place>,
    /// When its life is over, unless a turn extends it.
    pub expires_at: Option<Millis>,
}

/// A dialogue and its state, by their stable names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The dialogue's name.
    pub dialogue: Box<str>,
    /// The state's name.
    pub state: Box<str>,
}

/// `dialogue:state`.
impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.dialogue, self.state)
    }
}

/// What a turn does to the state. The version rises in each case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateChange {
    /// Leaves it as it is.
    Keep,
    /// Writes a new one.
    Set(Stored),
    /// Ends the conversation: nothing is open any more.
    Clear,
}

/// What a turn used up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    /// An update from the inbox; its mark is kept.
    Update {
        /// Its row.
        seq: Seq,
        /// What recognises it when it is delivered again.
        mark: Mark,
    },
    /// An update whose turn did not wait for the inbox; its mark is kept. If it has come there meanwhile, it leaves.
    Fresh(Mark),
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
    pub key: DialogueKey,
    /// The version that it started from; the commit is refused if there is a later one.
    pub from: Version,
    /// What it used up; if any of these was taken before, the commit is refused.
    pub takes: Vec<Taken>,
    /// What becomes of the state.
    pub state: StateChange,
    /// Messages to send, in order.
    pub outgoing: Vec<Outgoing>,
    /// Timers to set and to cancel, in order.
    pub timers: Vec<TimerChange>,
    /// Work to be done outside.
    pub effects: Vec<Effect>,
    /// The change of state, for the records.
    pub transition: Option<Transition>,
    /// The application's own writes; they are code, and nowhere stored.
    #[serde(skip)]
    pub writes: Option<DomainWrites>,
    /// When the turn was.
    pub at: Millis,
}

impl Commit {
    /// A commit that changes nothing but the version.
    #[must_use]
    pub fn new(key: DialogueKey, from: Version, at: Millis) -> Self {
        Self {
            key,
            from,
            takes: Vec::new(),
            state: StateChange::Keep,
            outgoing: Vec::new(),
            timers: Vec::new(),
            effects: Vec::new(),
            transition: None,
            writes: None,
            at,
        }
    }

    /// The version that it leads to.
    pub(super) fn to(&self) -> Version {
        Version(self.from.0.saturating_add(1))
    }
}

/// What a commit answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// The conversation's version now.
    pub version: Version,
    /// The outbox rows of `outgoing`, in its order.
    pub outbox: Vec<OutboxId>,
    /// The effects of `effects`, in its order.
    pub effects: Vec<EffectId>,
}

/// A call of the Bot API that waits for the courier.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Outgoing {
    /// The chat that it goes to: the unit of order and of limits. None stands outside of both.
    pub chat: Option<i64>,
    /// The method's name.
    pub method: Box<str>,
    /// Its parameters as a JSON object.
    pub body: Box<str>,
    /// Files to send along; `body` refers to them as `attach://name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uploads: Vec<Upload>,
    /// What to do when nobody can say whether it was sent.
    #[serde(default, skip_serializing_if = "IfUnsure::is_default")]
    pub if_unsure: IfUnsure,
    /// Remembers the sent message under this name, see [`super::Store::labelled`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Box<str>>,
    /// Takes the message id from the message that was last sent under this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edits_label: Option<Box<str>>,
    /// Its parameters are a secret: once it is sent or has failed, no store keeps them, and they are in no log.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
}

/// Parameters of a secret call are left out.
impl std::fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { chat, method, body, uploads, if_unsure, label, edits_label, secret } = self;
        let body = if *secret { Self::NO_BODY } else { body };
        f.debug_struct("Outgoing")
            .field("chat", chat)
            .field("method", method)
            .field("body", &body)
            .field("uploads", uploads)
            .field("if_unsure", if_unsure)
            .field("label", label)
            .field("edits_label", edits_label)
            .field("secret", secret)
            .finish()
    }
}

impl Outgoing {
    /// What a store keeps in place of the parameters of a secret call that has failed.
    pub const NO_BODY: &str = "{}";

    /// The call as it may be kept after it has failed.
    #[must_use]
    pub(super) fn after_failure(mut self) -> Self {
        if self.secret {
            self.body = Self::NO_BODY.into();
        }
        self
    }

    /// Sends it to another chat.
    pub(super) fn redirect(&mut self, to: i64) {
        self.chat = Some(to);
        // A body that is no JSON object names no chat.
        if let Ok(serde_json::Value::Object(mut body)) = serde_json::from_str(&self.body)
            && let Some(chat) = body.get_mut("chat_id")
        {
            *chat = to.into();
            self.body = serde_json::Value::Object(body).to_string().into();
        }
    }
}

/// A file that is sent along.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    /// The name in `attach://name`.
    pub name: Box<str>,
    /// The name that the receiver sees.
    pub file_name: Box<str>,
    /// Where it lies; it must stay there until the message is sent.
    pub path: PathBuf,
}

/// What to do when a connection broke after the request was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IfUnsure {
    /// Send again: the person may see it twice.
    #[default]
    Resend,
    /// Do not, and record it as failed: the person may not see it.
    Drop,
}

impl IfUnsure {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A call in the outbox.
#[derive(Clone, Debug, PartialEq)]
pub struct OutboxRow {
    /// Its place.
    pub id: OutboxId,
    /// The conversation that said it.
    pub key: DialogueKey,
    /// The call.
    pub outgoing: Outgoing,
    /// It was about to be sent when an instance ended, and may have been. Set only for [`IfUnsure::Drop`].
    pub was_sending: bool,
    /// When it was said.
    pub at: Millis,
}

/// A row of the outbox and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The row.
    pub id: OutboxId,
    /// What became of it.
    pub outcome: Settlement,
}

/// What became of a send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// It was sent.
    Sent {
        /// The chat, its label and the message's id, to be remembered.
        labelled: Option<(i64, Box<str>, i64)>,
    },
    /// It cannot be sent; the row is kept as failed with the reason.
    Failed(Box<str>),
    /// The group became a supergroup: this row, and all later ones to `from`, go to the new chat.
    Moved {
        /// The old chat.
        from: i64,
        /// The new chat.
        to: i64,
    },
}

/// A change to a conversation's timers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerChange {
    /// Sets a timer, in place of one of the same name.
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
    /// This setting of it.
    pub id: TimerId,
    /// Whose it is.
    pub key: DialogueKey,
    /// Its name.
    pub name: Box<str>,
    /// When it fires.
    pub due_at: Millis,
    /// What the handler gets, as JSON.
    pub body: Box<str>,
}

/// Work outside that a turn asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// Which work: the name under which it is registered.
    pub kind: Box<str>,
    /// What it needs, as JSON.
    pub body: Box<str>,
}

/// An effect in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectRow {
    /// Its id.
    pub id: EffectId,
    /// Who asked for it.
    pub key: DialogueKey,
    /// The work.
    pub effect: Effect,
    /// When it was asked for.
    pub at: Millis,
}

/// A change of state, for the records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// Where the dialogue stood; none if nothing was open.
    pub from: Option<Place>,
    /// Where it stands now; none if nothing is open.
    pub to: Option<Place>,
    /// The kind of input that moved it.
    pub by: Box<str>,
    /// How long the handler took.
    pub took_us: i64,
}
