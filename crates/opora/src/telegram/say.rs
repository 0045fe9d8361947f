//! Messages.
//!
//! A builder only holds values. They are checked (lengths, kinds of buttons) when the turn makes a row of the outbox of
//! them, before the commit.

use frankenstein::ParseMode;
use frankenstein::types::ReplyMarkup;
use serde::Serialize;

use self::content::Content;
use super::album::AlbumItem;
use super::button::{Button, Keyboard, Markup};
use super::file::FileRef;
use super::params::Params;
use super::tag::Tag;
use super::text::{self, MAX_ALBUM, MAX_CALLBACK_BYTES, MAX_CAPTION_UNITS, MAX_TEXT_UNITS};
use crate::key::ConversationKey;
use crate::store::{IfUnsure, Outgoing, OutgoingExtras};

mod content;

/// Where a message goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The chat.
    pub chat: i64,
    /// The topic of a forum; 0 outside of topics.
    pub thread: i64,
    /// The business connection; empty without one.
    pub business: Box<str>,
}

impl Destination {
    /// A chat, outside of topics.
    #[must_use]
    pub fn chat(chat: i64) -> Self {
        Self { chat, thread: 0, business: Box::default() }
    }
}

impl From<&ConversationKey> for Destination {
    fn from(key: &ConversationKey) -> Self {
        Self { chat: key.chat, thread: key.thread, business: key.business.clone() }
    }
}

/// Anything that can be sent: it becomes a row of the outbox.
pub trait IntoOutgoing {
    /// The row for this destination. Buttons get the tag.
    fn into_outgoing(self, destination: &Destination, tag: &Tag) -> Result<Outgoing, SayError>;
}

/// Why a message cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SayError {
    /// There is no text.
    #[error("a message needs a text")]
    Empty,
    /// The text is too long for Telegram.
    #[error("the text is longer than {max} UTF-16 units")]
    TooLong {
        /// Telegram's limit.
        max: usize,
    },
    /// A button's data does not fit.
    #[error("the data of button `{button}` has {bytes} bytes with its tag; 1 to {MAX_CALLBACK_BYTES} fit")]
    ButtonData {
        /// The button's text.
        button: String,
        /// The data's length with the tag.
        bytes: usize,
    },
    /// A button has no text. Spaces are allowed: calendars have such buttons between their days.
    #[error("a button needs a text; a space will do")]
    EmptyButton,
    /// An inline button in a keyboard, or the other way round.
    #[error("button `{0}` is of a kind that cannot stand there")]
    WrongButton(String),
    /// An album has too few media, or too many.
    #[error("an album has 2 to {MAX_ALBUM} media, not {0}")]
    Album(usize),
    /// The parameters cannot be written as JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
}

/// A message.
#[derive(Clone, PartialEq)]
#[must_use]
pub struct Say {
    content: Content,
    /// The text or caption.
    text: String,
    mode: Option<ParseMode>,
    markup: Markup,
    reply_to: Option<i64>,
    silent: bool,
    protected: bool,
    no_preview: bool,
    extras: OutgoingExtras,
}

/// Leaves out the content of a secret message.
impl std::fmt::Debug for Say {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Say");
        if !self.extras.secret {
            shown.field("content", &self.content).field("text", &self.text).field("markup", &self.markup);
        }
        shown.field("label", &self.extras.label).field("secret", &self.extras.secret).finish_non_exhaustive()
    }
}

/// Constructors of messages with a file. The parameter for the file has the name of the constructor.
macro_rules! media {
    ($($(#[$about:meta])* $name:ident by $method:literal;)*) => {
        $($(#[$about])* pub fn $name(file: FileRef) -> Self {
            Self::new(Content::Media($method, stringify!($name), file), String::new())
        })*
    };
}

/// Settings that messages and edits share.
macro_rules! text_settings {
    () => {
        /// The text is Telegram's HTML; escape what people wrote with [`html::escape`](super::text::html::escape).
        pub fn html(mut self) -> Self {
            self.mode = Some(ParseMode::Html);
            self
        }

        /// The text is MarkdownV2; escape what people wrote with
        /// [`markdown::escape`](super::text::markdown::escape).
        pub fn markdown(mut self) -> Self {
            self.mode = Some(ParseMode::MarkdownV2);
            self
        }

        /// Sets rows of inline buttons. An edit without them removes the buttons.
        pub fn buttons<Row: IntoIterator<Item = Button>>(mut self, rows: impl IntoIterator<Item = Row>) -> Self {
            self.markup = Markup::inline(rows);
            self
        }

        /// Disables the preview of links.
        pub fn no_preview(mut self) -> Self {
            self.no_preview = true;
            self
        }
    };
}
pub(super) use text_settings;

impl Say {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Content::Text, text.into())
    }

    media! {
        /// A photo.
        photo by "sendPhoto";
        /// Any file.
        document by "sendDocument";
        /// A video.
        video by "sendVideo";
        /// A video in a circle. It has no caption.
        video_note by "sendVideoNote";
        /// Music.
        audio by "sendAudio";
        /// A voice message.
        voice by "sendVoice";
        /// A moving picture without sound.
        animation by "sendAnimation";
        /// A sticker.
        sticker by "sendSticker";
    }

    /// Two to ten media as an album. A label names the first of them.
    pub fn album(items: impl IntoIterator<Item = AlbumItem>) -> Self {
        Self::new(Content::Album(items.into_iter().collect()), String::new())
    }

    /// A position.
    pub fn location(latitude: f64, longitude: f64) -> Self {
        Self::new(Content::Location { latitude, longitude }, String::new())
    }

    /// A phone number with a name.
    pub fn contact(phone: impl Into<String>, first_name: impl Into<String>) -> Self {
        Self::new(Content::Contact { phone: phone.into(), first_name: first_name.into() }, String::new())
    }

    /// Sets the caption of a photo, video or file.
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.text = caption.into();
        self
    }

    text_settings!();

    /// Shows a reply keyboard.
    pub fn keyboard(mut self, keyboard: Keyboard) -> Self {
        self.markup = Markup::Keyboard(keyboard);
        self
    }

    /// Removes the reply keyboard.
    pub fn remove_keyboard(mut self) -> Self {
        self.markup = Markup::RemoveKeyboard;
        self
    }

    /// Opens the input field as if the person had chosen to reply.
    pub fn force_reply(mut self) -> Self {
        self.markup = Markup::ForceReply;
        self
    }

    /// Sets any markup. Its buttons get no tag.
    pub fn markup(mut self, markup: ReplyMarkup) -> Self {
        self.markup = Markup::Custom(Box::new(markup));
        self
    }

    /// Makes it a reply. It is sent even if the other message is gone.
    pub fn reply_to(mut self, message_id: i64) -> Self {
        self.reply_to = Some(message_id);
        self
    }

    /// Sends without a sound.
    pub fn silent(mut self) -> Self {
        self.silent = true;
        self
    }

    /// Forbids forwarding and saving.
    pub fn protected(mut self) -> Self {
        self.protected = true;
        self
    }

    /// Sets a label, by which [`super::Edit`] and [`super::Delete`] find the sent message.
    pub fn label(mut self, label: impl Into<Box<str>>) -> Self {
        self.extras.label = Some(label.into());
        self
    }

    /// Drops the message if it is unknown whether it was sent, instead of sending it again.
    pub fn drop_if_unsure(mut self) -> Self {
        self.extras.if_unsure = IfUnsure::Drop;
        self
    }

    /// Lets messages to other chats go first: for reminders and news. In its chat it keeps its place.
    pub fn low_priority(mut self) -> Self {
        self.extras.low_priority = true;
        self
    }

    /// Marks the content as secret, such as a PIN. The store deletes the text once it is sent or has failed, and no log
    /// contains it. The operator still sees that it failed, for whom and why.
    pub fn secret(mut self) -> Self {
        self.extras.secret = true;
        self
    }

    /// Removes the tags of its buttons, for messages outside of turns.
    pub(crate) fn untagged(mut self) -> Self {
        self.markup.untag();
        self
    }

    fn new(content: Content, text: String) -> Self {
        Self {
            content,
            text,
            mode: None,
            markup: Markup::None,
            reply_to: None,
            silent: false,
            protected: false,
            no_preview: false,
            extras: OutgoingExtras::default(),
        }
    }

    fn check(&self) -> Result<(), SayError> {
        let is_text = matches!(self.content, Content::Text);
        if is_text && self.text.trim_ascii().is_empty() {
            return Err(SayError::Empty);
        }
        let max = if is_text { MAX_TEXT_UNITS } else { MAX_CAPTION_UNITS };
        check_length(&self.text, self.mode, max)
    }
}

impl From<&str> for Say {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Say {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl IntoOutgoing for &str {
    fn into_outgoing(self, destination: &Destination, tag: &Tag) -> Result<Outgoing, SayError> {
        Say::text(self).into_outgoing(destination, tag)
    }
}

impl IntoOutgoing for String {
    fn into_outgoing(self, destination: &Destination, tag: &Tag) -> Result<Outgoing, SayError> {
        Say::text(self).into_outgoing(destination, tag)
    }
}

impl IntoOutgoing for Say {
    fn into_outgoing(self, destination: &Destination, tag: &Tag) -> Result<Outgoing, SayError> {
        self.check()?;
        let markup = self.markup.tagged(*tag)?;
        let mut uploads = Vec::new();
        let params = Params::to(destination, self.text.len());
        let (params, method) = self.content.write(params, &self.text, self.mode, &mut uploads)?;
        let params = params
            .put_some("link_preview_options", self.no_preview.then_some(&NO_PREVIEW))
            .put_if("disable_notification", self.silent)
            .put_if("protect_content", self.protected)
            .put_some("reply_parameters", self.reply_to.map(Reply::to).as_ref())
            .put_some("reply_markup", markup.as_ref());
        let call = params.call(Some(destination.chat), method, Vec::new())?;
        Ok(call.with(OutgoingExtras { uploads, ..self.extras }))
    }
}

#[derive(Serialize)]
struct Reply {
    message_id: i64,
    allow_sending_without_reply: bool,
}

impl Reply {
    fn to(message_id: i64) -> Self {
        Self { message_id, allow_sending_without_reply: true }
    }
}

#[derive(Serialize)]
pub(super) struct LinkPreview {
    is_disabled: bool,
}

pub(super) const NO_PREVIEW: LinkPreview = LinkPreview { is_disabled: true };

pub(super) fn check_length(text: &str, mode: Option<ParseMode>, max: usize) -> Result<(), SayError> {
    if text::is_over(text, mode, max) { Err(SayError::TooLong { max }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
