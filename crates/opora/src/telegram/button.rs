//! Inline buttons under messages, and reply keyboards.

use frankenstein::types::ReplyMarkup;
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};

use super::say::SayError;
use super::tag::Tag;
use super::text::MAX_CALLBACK_BYTES;

/// A button under a message, or a key of a [`Keyboard`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Button {
    text: String,
    action: ButtonAction,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ButtonAction {
    Data { data: String, tagged: bool, repeatable: bool },
    Url(String),
    Text,
    Contact,
    Location,
}

impl Button {
    /// A button with a tag: it works for one press, and only until the dialogue goes to another state.
    pub fn new(text: impl Into<String>, data: impl Into<String>) -> Self {
        Self { text: text.into(), action: ButtonAction::Data { data: data.into(), tagged: true, repeatable: false } }
    }

    /// A button without a tag: it works at any time, if a handler takes its data then.
    pub fn raw(text: impl Into<String>, data: impl Into<String>) -> Self {
        Self { text: text.into(), action: ButtonAction::Data { data: data.into(), tagged: false, repeatable: false } }
    }

    /// A button that opens a URL.
    pub fn url(text: impl Into<String>, url: impl Into<String>) -> Self {
        Self { text: text.into(), action: ButtonAction::Url(url.into()) }
    }

    /// A key that sends its text; for keyboards.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), action: ButtonAction::Text }
    }

    /// A key that shares the person's phone number; for keyboards in private chats.
    pub fn contact(text: impl Into<String>) -> Self {
        Self { text: text.into(), action: ButtonAction::Contact }
    }

    /// A key that shares the person's position; for keyboards in private chats.
    pub fn location(text: impl Into<String>) -> Self {
        Self { text: text.into(), action: ButtonAction::Location }
    }

    /// The button works for more than one press.
    pub fn repeatable(mut self) -> Self {
        if let ButtonAction::Data { repeatable, .. } = &mut self.action {
            *repeatable = true;
        }
        self
    }
}

/// A reply keyboard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Keyboard {
    rows: Vec<Vec<Button>>,
    one_time: bool,
    persistent: bool,
    placeholder: Option<String>,
}

impl Keyboard {
    /// Rows of keys: [`Button::text`], [`Button::contact`], [`Button::location`].
    pub fn new<Row: IntoIterator<Item = Button>>(rows: impl IntoIterator<Item = Row>) -> Self {
        Self { rows: rows.into_iter().map(|row| row.into_iter().collect()).collect(), ..Self::default() }
    }

    /// Hides the keyboard after one key.
    pub fn one_time(mut self) -> Self {
        self.one_time = true;
        self
    }

    /// Keeps the keyboard visible when the regular keyboard is hidden.
    pub fn persistent(mut self) -> Self {
        self.persistent = true;
        self
    }

    /// Sets the placeholder of the input field.
    pub fn placeholder(mut self, text: impl Into<String>) -> Self {
        self.placeholder = Some(text.into());
        self
    }
}

/// The value of `reply_markup`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Markup {
    #[default]
    None,
    Inline(Vec<Vec<Button>>),
    Keyboard(Keyboard),
    RemoveKeyboard,
    ForceReply,
    Custom(Box<ReplyMarkup>),
}

impl Markup {
    pub fn inline<Row: IntoIterator<Item = Button>>(rows: impl IntoIterator<Item = Row>) -> Self {
        Self::Inline(rows.into_iter().map(|row| row.into_iter().collect()).collect())
    }

    /// Removes the tags, for messages that no turn sends.
    pub fn untag(&mut self) {
        let Self::Inline(rows) = self else { return };
        for button in rows.iter_mut().flatten() {
            if let ButtonAction::Data { tagged, .. } = &mut button.action {
                *tagged = false;
            }
        }
    }

    /// The checked markup with its tags. None if there is no markup.
    pub fn tagged(&self, tag: Tag) -> Result<Option<TaggedMarkup<'_>>, SayError> {
        let tagged = match self {
            Self::None => return Ok(None),
            Self::Inline(_) => TaggedMarkup { markup: self, once: tag.apply(""), repeatable: tag.apply_repeatable("") },
            _ => TaggedMarkup { markup: self, once: String::new(), repeatable: String::new() },
        };
        tagged.check()?;
        Ok(Some(tagged))
    }
}

/// A markup with the tags of its buttons.
#[derive(Debug)]
pub(super) struct TaggedMarkup<'a> {
    markup: &'a Markup,
    once: String,
    repeatable: String,
}

impl TaggedMarkup<'_> {
    fn prefix(&self, tagged: bool, repeatable: bool) -> &str {
        match (tagged, repeatable) {
            (false, _) => "",
            (true, false) => &self.once,
            (true, true) => &self.repeatable,
        }
    }

    fn check(&self) -> Result<(), SayError> {
        let (rows, inline) = match self.markup {
            Markup::Inline(rows) => (rows, true),
            Markup::Keyboard(keyboard) => (&keyboard.rows, false),
            Markup::Custom(markup) => return if has_texts(markup) { Ok(()) } else { Err(SayError::EmptyButton) },
            _ => return Ok(()),
        };
        for button in rows.iter().flatten() {
            if button.text.is_empty() {
                return Err(SayError::EmptyButton);
            }
            let is_inline_button = matches!(button.action, ButtonAction::Data { .. } | ButtonAction::Url(_));
            if is_inline_button != inline {
                return Err(SayError::WrongButton(button.text.clone()));
            }
            if let ButtonAction::Data { data, tagged, repeatable } = &button.action {
                let bytes = self.prefix(*tagged, *repeatable).len() + data.len();
                if bytes > MAX_CALLBACK_BYTES || bytes == 0 {
                    return Err(SayError::ButtonData { button: button.text.clone(), bytes });
                }
            }
        }
        Ok(())
    }
}

/// Whether every button has a text.
fn has_texts(markup: &ReplyMarkup) -> bool {
    match markup {
        ReplyMarkup::InlineKeyboardMarkup(markup) => {
            markup.inline_keyboard.iter().flatten().all(|button| !button.text.is_empty())
        }
        ReplyMarkup::ReplyKeyboardMarkup(markup) => {
            markup.keyboard.iter().flatten().all(|button| !button.text.is_empty())
        }
        _ => true,
    }
}

impl Serialize for TaggedMarkup<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Markup::Custom(markup) = self.markup {
            return markup.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        match self.markup {
            Markup::Inline(rows) => map.serialize_entry("inline_keyboard", &Rows { rows, tagged: self })?,
            Markup::Keyboard(keyboard) => {
                map.serialize_entry("keyboard", &Rows { rows: &keyboard.rows, tagged: self })?;
                map.serialize_entry("resize_keyboard", &true)?;
                if keyboard.one_time {
                    map.serialize_entry("one_time_keyboard", &true)?;
                }
                if keyboard.persistent {
                    map.serialize_entry("is_persistent", &true)?;
                }
                if let Some(placeholder) = &keyboard.placeholder {
                    map.serialize_entry("input_field_placeholder", placeholder)?;
                }
            }
            Markup::RemoveKeyboard => map.serialize_entry("remove_keyboard", &true)?,
            Markup::ForceReply => map.serialize_entry("force_reply", &true)?,
            Markup::None | Markup::Custom(_) => {}
        }
        map.end()
    }
}

struct Rows<'a> {
    rows: &'a [Vec<Button>],
    tagged: &'a TaggedMarkup<'a>,
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.rows.len()))?;
        for row in self.rows {
            list.serialize_element(&Row { row, tagged: self.tagged })?;
        }
        list.end()
    }
}

struct Row<'a> {
    row: &'a [Button],
    tagged: &'a TaggedMarkup<'a>,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.row.iter().map(|button| ButtonParameter { button, tagged: self.tagged }))
    }
}

struct ButtonParameter<'a> {
    button: &'a Button,
    tagged: &'a TaggedMarkup<'a>,
}

impl Serialize for ButtonParameter<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("text", &self.button.text)?;
        match &self.button.action {
            ButtonAction::Data { data, tagged, repeatable } => {
                let prefix = self.tagged.prefix(*tagged, *repeatable);
                map.serialize_entry("callback_data", &format_args!("{prefix}{data}"))?;
            }
            ButtonAction::Url(url) => map.serialize_entry("url", url)?,
            ButtonAction::Text => {}
            ButtonAction::Contact => map.serialize_entry("request_contact", &true)?,
            ButtonAction::Location => map.serialize_entry("request_location", &true)?,
        }
        map.end()
    }
}
