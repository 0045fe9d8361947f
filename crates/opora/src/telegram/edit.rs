//! Edits of sent messages.

use frankenstein::ParseMode;

use super::button::{Button, Markup};
use super::params::Params;
use super::say::{Destination, IntoOutgoing, NO_PREVIEW, SayError, check_length, text_settings};
use super::tag::Tag;
use super::text::{MAX_CAPTION_UNITS, MAX_TEXT_UNITS};
use crate::store::{Outgoing, OutgoingExtras};

/// The message to edit or delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The message with this id.
    Message(i64),
    /// The last message that was sent to this chat with this label.
    Label(Box<str>),
}

impl From<i64> for Target {
    fn from(message_id: i64) -> Self {
        Self::Message(message_id)
    }
}

impl From<i32> for Target {
    fn from(message_id: i32) -> Self {
        Self::Message(message_id.into())
    }
}

impl From<&str> for Target {
    fn from(label: &str) -> Self {
        Self::Label(label.into())
    }
}

impl Target {
    /// Writes the message id into the parameters, or returns the label, which the courier looks up.
    pub(super) fn write(self, params: Params) -> (Params, Option<Box<str>>) {
        match self {
            Self::Message(id) => (params.put("message_id", &id), None),
            Self::Label(label) => (params, Some(label)),
        }
    }
}

/// An edit of a message.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Edit {
    target: Target,
    part: EditedPart,
    text: String,
    mode: Option<ParseMode>,
    markup: Markup,
    no_preview: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EditedPart {
    Text,
    Caption,
    Markup,
}

impl Edit {
    /// Sets a new text.
    pub fn text(target: impl Into<Target>, text: impl Into<String>) -> Self {
        Self::new(target.into(), EditedPart::Text, text.into())
    }

    /// Sets a new caption.
    pub fn caption(target: impl Into<Target>, caption: impl Into<String>) -> Self {
        Self::new(target.into(), EditedPart::Caption, caption.into())
    }

    /// Sets new buttons, or removes them, and keeps the content.
    pub fn markup(target: impl Into<Target>) -> Self {
        Self::new(target.into(), EditedPart::Markup, String::new())
    }

    text_settings!();

    fn new(target: Target, part: EditedPart, text: String) -> Self {
        Self { target, part, text, mode: None, markup: Markup::None, no_preview: false }
    }
}

impl IntoOutgoing for Edit {
    fn into_outgoing(self, destination: &Destination, tag: &Tag) -> Result<Outgoing, SayError> {
        let (method, field, max) = match self.part {
            EditedPart::Text if self.text.trim_ascii().is_empty() => return Err(SayError::Empty),
            EditedPart::Text => ("editMessageText", Some("text"), MAX_TEXT_UNITS),
            EditedPart::Caption => ("editMessageCaption", Some("caption"), MAX_CAPTION_UNITS),
            EditedPart::Markup => ("editMessageReplyMarkup", None, 0),
        };
        check_length(&self.text, self.mode, max)?;
        let markup = self.markup.tagged(*tag)?;
        let (mut params, edits_label) = self.target.write(Params::within(destination, self.text.len()));
        if let Some(field) = field {
            params = params.put(field, &self.text).put_some("parse_mode", self.mode.as_ref());
        }
        let params = params
            .put_some("link_preview_options", self.no_preview.then_some(&NO_PREVIEW))
            .put_some("reply_markup", markup.as_ref());
        let call = params.call(Some(destination.chat), method, Vec::new())?;
        Ok(call.with(OutgoingExtras { edits_label, ..OutgoingExtras::default() }))
    }
}
