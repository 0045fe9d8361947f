//! The rows and values that a store keeps.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::DomainWrites;
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

/// A call of the Bot API that waits for the courier.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outgoing {
    /// The target chat: order and limits apply per chat. A call without a chat has neither.
    pub chat: Option<i64>,
    /// The method's name.
    pub method: Box<str>,
    /// Its parameters as a JSON object.
    pub body: Box<str>,
    /// Files to send along; `body` refers to them as `attach://name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uploads: Vec<Upload>,
    /// What to do if it is unknown whether it was sent.
    #[serde(default, skip_serializing_if = "IfUnsure::is_default")]
    pub if_unsure: IfUnsure,
    /// Stores the id of the sent message under this label, see [`super::Store::labelled`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Box<str>>,
    /// Takes the message id from the last message sent under this label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edits_label: Option<Box<str>>,
    /// Its parameters are secret: after it was sent or has failed no store keeps them, and no log shows them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// It is sent when no other message can be sent. In a chat it keeps its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub low_priority: bool,
}

/// Parameters of a secret call are left out.
impl std::fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { chat, method, body, uploads, if_unsure, label, edits_label, secret, low_priority } = self;
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
            .field("low_priority", low_priority)
            .finish()
    }
}

impl Outgoing {
    /// The body that a store keeps for a secret call that has failed.
    pub const NO_BODY: &str = "{}";

    /// A call without files and labels, which is sent again if it is unknown whether it was sent.
    pub fn new(chat: Option<i64>, method: impl Into<Box<str>>, body: impl Into<Box<str>>) -> Self {
        Self {
            chat,
            method: method.into(),
            body: body.into(),
            uploads: Vec::new(),
            if_unsure: IfUnsure::Resend,
            label: None,
            edits_label: None,
            secret: false,
            low_priority: false,
        }
    }

    /// The call as it may be kept after a failure.
    #[must_use]
    pub(super) fn after_failure(mut self) -> Self {
        if self.secret {
            self.body = Self::NO_BODY.into();
        }
        self
    }

    /// Changes the target chat.
    pub(crate) fn redirect(&mut self, to: i64) {
        self.chat = Some(to);
        if let Some(body) = Self::redirected_body(&self.body, to) {
            self.body = body.into();
        }
    }

    /// The body of a call with another chat. None if it names no chat.
    pub(super) fn redirected_body(body: &str, to: i64) -> Option<String> {
        let mut body: serde_json::Map<String, serde_json::Value> = serde_json::from_str(body).ok()?;
        *body.get_mut("chat_id")? = to.into();
        serde_json::to_string(&body).ok()
    }
}

/// The rarely used fields of a call, so that most rows can omit them.
#[derive(Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct OutgoingExtras {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) uploads: Vec<Upload>,
    #[serde(skip_serializing_if = "IfUnsure::is_default")]
    pub(super) if_unsure: IfUnsure,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) edits_label: Option<Box<str>>,
    /// The stores' own code for failed messages reads this field.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) secret: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) low_priority: bool,
}

impl OutgoingExtras {
    /// The fields of a call as JSON; none if the call uses none of them.
    pub(super) fn json(call: &Outgoing) -> serde_json::Result<Option<String>> {
        let Outgoing { uploads, if_unsure, label, edits_label, secret, low_priority, .. } = call.clone();
        let extras = Self { uploads, if_unsure, label, edits_label, secret, low_priority };
        (extras != Self::default()).then(|| serde_json::to_string(&extras)).transpose()
    }
}

/// A file that is uploaded with a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    /// The name in `attach://name`.
    pub name: Box<str>,
    /// The file name that the recipient sees.
    pub file_name: Box<str>,
    /// Its path. The file must stay there until the message is sent.
    pub path: PathBuf,
}

/// What to do when a connection broke after the request was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IfUnsure {
    /// Send it again: the person may see it twice.
    #[default]
    Resend,
    /// Do not send it again, and record it as failed: the person may not see it.
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
    pub key: ConversationKey,
    /// The call.
    pub outgoing: Outgoing,
    /// An instance ended while it was sending this row, so it may have been sent. Set only for [`IfUnsure::Drop`].
    pub was_sending: bool,
    /// When it was said.
    pub at: Millis,
}

/// The result of sending an outbox row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The row.
    pub id: OutboxId,
    /// The result.
    pub outcome: Settlement,
}

/// The result of a send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// It was sent.
    Sent {
        /// The chat, the label and the message id to remember.
        labelled: Option<(i64, Box<str>, i64)>,
    },
    /// It cannot be sent. The row is kept as failed, with the reason.
    Failed(Box<str>),
    /// The group became a supergroup: this row and all later ones to `from` go to the new chat.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirected_call_keeps_its_parameters_in_order() {
        let redirected = |body: &str| Outgoing::redirected_body(body, 7);
        let expected = r#"{"text":"a\u0000b","chat_id":7,"silent":true}"#;
        assert_eq!(redirected(r#"{"text":"a\u0000b","chat_id":-5,"silent":true}"#).as_deref(), Some(expected));
        assert_eq!(redirected(r#"{"text":"x"}"#), None);
        assert_eq!(redirected("not JSON"), None);
    }
}
