//! Calls other than sending and editing a message.

use std::path::PathBuf;

use frankenstein::types::ChatAction;
use serde::{Deserialize, Serialize};

use super::edit::Target;
use super::params::Params;
use super::say::{Destination, IntoOutgoing, SayError};
use super::tag::Tag;
use super::text::MAX_CALLBACK_ANSWER_CHARS;
use crate::store::{IfUnsure, Outgoing, OutgoingExtras, Upload};

/// Deletes a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete(Target);

impl Delete {
    /// Deletes the message with this id, or the last one with this label. It may be gone already.
    pub fn message(target: impl Into<Target>) -> Self {
        Self(target.into())
    }
}

impl IntoOutgoing for Delete {
    fn into_outgoing(self, destination: &Destination, _: &Tag) -> Result<Outgoing, SayError> {
        // `deleteMessage` has no business connection.
        let (params, edits_label) = self.0.write(Params::new(64).put("chat_id", &destination.chat));
        let call = params.call(Some(destination.chat), "deleteMessage", Vec::new())?;
        Ok(call.with(OutgoingExtras { edits_label, ..OutgoingExtras::default() }))
    }
}

/// "typing…" and the like, shown for five seconds or until the next message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action(pub ChatAction);

impl Action {
    /// "typing…".
    #[must_use]
    pub fn typing() -> Self {
        Self(ChatAction::Typing)
    }
}

impl IntoOutgoing for Action {
    fn into_outgoing(self, destination: &Destination, _: &Tag) -> Result<Outgoing, SayError> {
        Params::to(destination, 32).put("action", &self.0).call(Some(destination.chat), "sendChatAction", Vec::new())
    }
}

/// The answer to a pressed button. It stops the button's spinner, and is sent at once, outside of order and limits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct AnswerCallback {
    query: String,
    text: Option<String>,
    alert: bool,
}

impl AnswerCallback {
    /// Answers this callback query without a text.
    pub fn new(query: impl Into<String>) -> Self {
        Self { query: query.into(), text: None, alert: false }
    }

    /// Shows a text at the top of the screen.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Shows the text in a window that must be closed.
    pub fn alert(mut self) -> Self {
        self.alert = true;
        self
    }
}

impl IntoOutgoing for AnswerCallback {
    fn into_outgoing(self, _: &Destination, _: &Tag) -> Result<Outgoing, SayError> {
        let is_too_long =
            |text: &String| text.len() > MAX_CALLBACK_ANSWER_CHARS && text.chars().count() > MAX_CALLBACK_ANSWER_CHARS;
        if self.text.as_ref().is_some_and(is_too_long) {
            return Err(SayError::TooLong { max: MAX_CALLBACK_ANSWER_CHARS });
        }
        let params = Params::new(64).put("callback_query_id", &self.query).put_some("text", self.text.as_ref());
        params.put_if("show_alert", self.alert).call(None, "answerCallbackQuery", Vec::new())
    }
}

/// Any method of the Bot API.
///
/// ```
/// use frankenstein::methods::SendDiceParams;
/// use opora::telegram::Raw;
///
/// let dice = Raw::new("sendDice", &SendDiceParams::builder().chat_id(7).build());
/// # assert!(dice.is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Raw(Outgoing);

impl Raw {
    /// A method with its parameters, such as frankenstein's types. With a numeric `chat_id` it is sent in the order of
    /// that chat; without one it is sent at once, outside of order and limits.
    pub fn new(method: impl Into<Box<str>>, parameters: &impl Serialize) -> Result<Self, SayError> {
        #[derive(Deserialize)]
        struct Chat {
            chat_id: Option<serde_json::Value>,
        }
        let not_json = |error: serde_json::Error| SayError::NotJson(error.to_string());
        let body = serde_json::to_string(parameters).map_err(not_json)?;
        let Chat { chat_id } = serde_json::from_str(&body).map_err(not_json)?;
        Ok(Self(Outgoing::new(chat_id.and_then(|id| id.as_i64()), method, body)))
    }

    /// Adds a file on disk. The parameters refer to it as `attach://name`.
    pub fn upload(mut self, name: impl Into<Box<str>>, path: impl Into<PathBuf>) -> Self {
        let name = name.into();
        let path = path.into();
        let file_name = path.file_name().map_or_else(|| name.clone(), |name| name.to_string_lossy().into());
        self.0.extras.uploads.push(Upload { name, file_name, path });
        self
    }

    /// Sets the label of the sent message.
    pub fn label(mut self, label: impl Into<Box<str>>) -> Self {
        self.0.extras.label = Some(label.into());
        self
    }

    /// Drops the call if it is unknown whether it was sent, instead of sending it again.
    pub fn drop_if_unsure(mut self) -> Self {
        self.0.extras.if_unsure = IfUnsure::Drop;
        self
    }
}

impl IntoOutgoing for Raw {
    fn into_outgoing(self, _: &Destination, _: &Tag) -> Result<Outgoing, SayError> {
        Ok(self.0)
    }
}
