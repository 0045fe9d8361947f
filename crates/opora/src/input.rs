//! What a dialogue hears, parsed: texts, commands, presses, photos, and what comes from time and from outside.
//!
//! An input is one thing: a caption belongs to its photo, an album is one input, and a text that begins with a command
//! is a command and never a text. Nothing here decides who hears an input; [`Kind`]s only say what they would take.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::store::BoxError;

pub use self::kind::{
    Kind, What, alarm, album, any, any_command, button, command, contact, document, exactly, image, location, media,
    other, outcome, photo, press, returned, text, timer,
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
    /// What became of work that the dialogue has asked for.
    Outcome(Outcome),
    /// A child dialogue has ended.
    Returned(Returned),
    /// The dialogue's life is over.
    Timeout,
    /// A turn of the dialogue has failed for good.
    Failed(Failure),
    /// Anything else: another kind of update, or of message. [`Turn::update`](crate::turn::Turn::update) has it whole.
    Other(Other),
}

/// A command such as `/start@my_bot anna`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The name without the slash, in small letters.
    pub name: String,
    /// What follows it, trimmed; empty if nothing does.
    pub argument: String,
    /// The bot that it is for, where it says so.
    pub mention: Option<String>,
}

/// A press of an inline button.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Press {
    /// The button's data, without the tag that says which turn offered it.
    pub data: String,
    /// What follows the prefix that [`button`] was made with; otherwise the whole data.
    pub rest: String,
    /// The message under which the button is.
    pub message_id: Option<i64>,
    /// The callback query's id. It is answered for you.
    pub id: String,
}

/// A timer that fired.
#[derive(Clone, Debug)]
pub struct Timer {
    /// The name that it was set under.
    pub name: Box<str>,
    /// What it was given, as JSON.
    pub body: Box<RawValue>,
}

/// An alarm that went off.
#[derive(Clone, Debug)]
pub struct Alarm {
    /// The name that it was set under.
    pub name: Box<str>,
    /// What follows the prefix that [`alarm`] was made with; otherwise the whole name.
    pub rest: String,
    /// What it was given, as JSON.
    pub body: Box<RawValue>,
}

/// What became of an effect.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Which work it was.
    pub kind: Box<str>,
    /// What was asked for, as JSON: which of several wishes it is that failed.
    pub asked: Box<RawValue>,
    /// What it brought, as JSON; or why it failed for good.
    pub result: Result<Box<RawValue>, String>,
}

/// The end of a child dialogue.
#[derive(Clone, Debug)]
pub struct Returned {
    /// The child's name.
    pub dialogue: Box<str>,
    /// What it gave back, as JSON; none if it gave nothing, as when it was left by Back.
    pub value: Option<Box<RawValue>>,
}

/// A turn of a dialogue has failed for good; for [`Dialogue::failed`](crate::dialogue::Dialogue::failed).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What the handler said, or how it ended. It is for logs: people should not read it.
    pub reason: String,
}

/// Anything that has no kind of its own here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The update's kind, as `edited_message`; or the message's, as `dice`. `service` for messages of Telegram's own.
    pub kind: Box<str>,
    /// The person sent it as a message.
    pub said: bool,
}

impl Timer {
    /// What the timer was given.
    pub fn body<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.body.get())
    }
}

impl Alarm {
    /// What the alarm was given.
    pub fn body<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.body.get())
    }
}

impl Outcome {
    /// What was asked for.
    pub fn asked<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.asked.get())
    }

    /// What the effect brought; an error if it failed or brought something else.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, BoxError> {
        match &self.result {
            Ok(value) => Ok(serde_json::from_str(value.get())?),
            Err(reason) => Err(reason.as_str().into()),
        }
    }
}

impl Returned {
    /// What the child gave back; none if it gave nothing.
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
            Self::Timeout => "timeout",
            Self::Failed(_) => "failed",
            Self::Other(_) => "other",
        }
    }

    /// A person did this just now: not time, not an effect, not Telegram.
    #[must_use]
    pub fn is_by_person(&self) -> bool {
        match self {
            Self::Timer(_)
            | Self::Alarm(_)
            | Self::Outcome(_)
            | Self::Returned(_)
            | Self::Timeout
            | Self::Failed(_) => false,
            Self::Other(other) => other.said,
            _ => true,
        }
    }
}
