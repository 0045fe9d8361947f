//! Parsed inputs of a dialogue: texts, commands, presses, photos, timers, outcomes.
//!
//! An input is one thing: a caption belongs to its photo, an album is one input, and a text that begins with a command
//! is a command and never a text. A [`Kind`] says which inputs a handler takes; the script chooses the handler.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::store::BoxError;

pub(crate) use self::kind::{InputPattern, only};
pub use self::kind::{
    Kind, alarm, album, any, any_button, any_command, button, command, contact, document, exactly, image, location,
    media, other, outcome, photo, returned, text, timer,
};
pub use self::media::{Album, Contact, Document, Image, Item, Location, Media, Photo};

#[cfg(test)]
mod decoding;
mod kind;
mod media;
mod read;

/// One input of a dialogue.
#[derive(Clone, Debug)]
pub enum Input {
    /// A text that is no command.
    Text(String),
    /// A command, known or not.
    Command(Command),
    /// An inline button was pressed.
    Press(Press),
    /// A photo, in its largest size.
    Photo(Photo),
    /// A file.
    Document(Document),
    /// A video, a voice message, a sticker and the like.
    Media(Media),
    /// A contact.
    Contact(Contact),
    /// A position or a venue.
    Location(Location),
    /// Several photos, videos or files sent together.
    Album(Album),
    /// A timer that the dialogue has set.
    Timer(Timer),
    /// An alarm of the conversation.
    Alarm(Alarm),
    /// The outcome of an effect that the dialogue has asked for.
    Outcome(Outcome),
    /// A child dialogue has ended.
    Returned(Returned),
    /// The dialogue has expired.
    Expired,
    /// A turn of the dialogue has failed for good.
    Failed(Failure),
    /// Another kind of update or message. [`Turn::update`](crate::turn::Turn::update) has all of it.
    Other(Other),
}

/// A command such as `/start@my_bot anna`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The name without the slash, in lower case.
    pub name: String,
    /// The text after the name, trimmed.
    pub argument: String,
    /// The bot that is named after an `@`.
    pub mention: Option<String>,
}

/// A press of an inline button.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Press {
    /// The button's data, without its tag.
    pub data: String,
    /// The data after the prefix of [`button`]; otherwise the whole data.
    pub rest: String,
    /// The message that the button belongs to.
    pub message_id: Option<i64>,
    /// The id of the callback query. The library answers it.
    pub id: String,
}

/// A timer that fired.
#[derive(Clone, Debug)]
pub struct Timer {
    /// Its name.
    pub name: Box<str>,
    /// Its body, as JSON.
    pub body: Box<RawValue>,
}

/// An alarm that went off.
#[derive(Clone, Debug)]
pub struct Alarm {
    /// Its name.
    pub name: Box<str>,
    /// The name after the prefix of [`alarm`]; otherwise the whole name.
    pub rest: String,
    /// Its body, as JSON.
    pub body: Box<RawValue>,
}

/// The outcome of an effect.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The kind of effect.
    pub kind: Box<str>,
    /// The body of the effect that was asked for, as JSON.
    pub request: Box<RawValue>,
    /// Its result, as JSON; or why it failed for good.
    pub result: Result<Box<RawValue>, String>,
}

/// The end of a child dialogue.
#[derive(Clone, Debug)]
pub struct Returned {
    /// The child's name.
    pub dialogue: Box<str>,
    /// Its return value, as JSON. None if it set none, or if it was left by Back.
    pub value: Option<Box<RawValue>>,
}

/// A turn that has failed for good, for [`Dialogue::on_failed_turn`](crate::dialogue::Dialogue::on_failed_turn).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The error of the handler. It is for logs: do not show it to people.
    pub reason: String,
}

/// An update or message that has no variant of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The kind of update, such as `edited_message`, or of message, such as `dice`. `service` for service messages.
    pub kind: Box<str>,
    /// Whether a person sent it as a message.
    pub is_by_person: bool,
}

impl Timer {
    /// The timer's body.
    pub fn body<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.body.get())
    }
}

impl Alarm {
    /// The alarm's body.
    pub fn body<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.body.get())
    }
}

impl Outcome {
    /// The body of the effect that was asked for.
    pub fn request<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.request.get())
    }

    /// The result of the effect. An error if it failed, or if the result has another type.
    pub fn result<T: DeserializeOwned>(&self) -> Result<T, BoxError> {
        match &self.result {
            Ok(value) => Ok(serde_json::from_str(value.get())?),
            Err(reason) => Err(reason.as_str().into()),
        }
    }
}

impl Returned {
    /// The child's return value. None if it set none.
    pub fn value<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        self.value.as_deref().map(|value| serde_json::from_str(value.get())).transpose()
    }
}

impl Input {
    /// The kind's name, for logs and records.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Command(_) => "command",
            Self::Press(_) => "press",
            Self::Photo(_) => "photo",
            Self::Document(_) => "document",
            Self::Media(_) => "media",
            Self::Contact(_) => "contact",
            Self::Location(_) => "location",
            Self::Album(_) => "album",
            Self::Timer(_) => "timer",
            Self::Alarm(_) => "alarm",
            Self::Outcome(_) => "outcome",
            Self::Returned(_) => "returned",
            Self::Expired => "timeout",
            Self::Failed(_) => "failed",
            Self::Other(_) => "other",
        }
    }

    /// Whether a person did this, and not a timer, an effect or Telegram itself.
    #[must_use]
    pub fn is_by_person(&self) -> bool {
        match self {
            Self::Timer(_)
            | Self::Alarm(_)
            | Self::Outcome(_)
            | Self::Returned(_)
            | Self::Expired
            | Self::Failed(_) => false,
            Self::Other(other) => other.is_by_person,
            _ => true,
        }
    }
}
