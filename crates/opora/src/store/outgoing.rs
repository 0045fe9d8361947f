//! Messages that wait for the courier, and the results of their sends.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::OutboxId;
use crate::clock::Millis;
use crate::key::ConversationKey;

/// A call of the Bot API that waits for the courier.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outgoing {
    /// The target chat: order and limits apply per chat. A call without a chat has neither.
    pub chat: Option<i64>,
    /// The method's name.
    pub method: Box<str>,
    /// Its parameters as a JSON object.
    pub body: Box<str>,
    /// Its other fields.
    #[serde(flatten)]
    pub extras: OutgoingExtras,
}

/// Parameters of a secret call are left out.
impl std::fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { chat, method, body, extras } = self;
        let body = if extras.secret { Self::NO_BODY } else { body };
        f.debug_struct("Outgoing")
            .field("chat", chat)
            .field("method", method)
            .field("body", &body)
            .field("extras", extras)
            .finish()
    }
}

impl Outgoing {
    /// The body that a store keeps for a secret call that has failed.
    pub const NO_BODY: &str = "{}";

    /// A call without files and labels, which is sent again if it is unknown whether it was sent.
    pub fn new(chat: Option<i64>, method: impl Into<Box<str>>, body: impl Into<Box<str>>) -> Self {
        Self { chat, method: method.into(), body: body.into(), extras: OutgoingExtras::default() }
    }

    /// The call with these fields.
    #[must_use]
    pub fn with(self, extras: OutgoingExtras) -> Self {
        Self { extras, ..self }
    }

    /// The call as it may be kept after a failure.
    #[must_use]
    pub(super) fn after_failure(mut self) -> Self {
        if self.extras.secret {
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

/// The rarely used fields of a call. Most rows omit them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutgoingExtras {
    /// Files to send along; `body` refers to them as `attach://name`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uploads: Vec<Upload>,
    /// What to do if it is unknown whether it was sent.
    #[serde(skip_serializing_if = "IfUnsure::is_default")]
    pub if_unsure: IfUnsure,
    /// Stores the id of the sent message under this label, see [`super::Store::labelled`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Box<str>>,
    /// Takes the message id from the last message sent under this label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edits_label: Option<Box<str>>,
    /// Its parameters are secret: after it was sent or has failed no store keeps them, and no log shows them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// It is sent when no other message can be sent. In a chat it keeps its place.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub low_priority: bool,
}

impl OutgoingExtras {
    /// The fields as JSON; none if none of them is used.
    pub(super) fn json(&self) -> serde_json::Result<Option<String>> {
        (*self != Self::default()).then(|| serde_json::to_string(self)).transpose()
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
