//! Buttons under messages, and keyboards in place of the person's own.

use frankenstein::types::ReplyMarkup;
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};

use super::say::SayError;
use super::tag::Tag;
use super::text::MAX_CALLBACK_BYTES;

/// A button under a message, or a key of a [`Keyboard`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    text: String,
    does: Does,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Does {
    Data { data: String, tagged: bool, repeatable: bool },
    Url(String),
    Text,
    Contact,
    Location,
}

impl Button {
    /// A button that belongs to the turn that says it: used up by one press, and stale once the dialogue has moved on.
    pub fn new(text: impl Into<String>, data: impl Into<String>) -> Self {
        Self { text: text.into(), does: Does::Data { data: data.into(), tagged: true, repeatable: false } }
    }

    /// A button without a tag: it is judged by the dialogue's state alone, whenever it is pressed.
    pub fn raw(text: impl Into<String>, data: impl Into<String>) -> Self {
        Self { text: text.into(), does: Does::Data { data: data.into(), tagged: false, repeatable: false } }
    }

    /// A button that opens an address.
    pub fn url(text: impl Into<String>, url: impl Into<String>) -> Self {
        Self { text: text.into(), does: Does::Url(url.into()) }
    }

    /// A key that sends its text; for keyboards.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), does: Does::Text }
    }

    /// A key that shares the person's phone number; for keyboards in private chats.
    pub fn contact(text: impl Into<String>) -> Self {
        Self { text: text.into(), does: Does::Contact }
    }

    /// A key that shares the person's position; for keyboards in private chats.
    pub fn location(text: impl Into<String>) -> Self {
        Self { text: text.into(), does: Does::Location }
    }

    /// One press does not use the button up.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        if let Does::Data { repeatable, .. } = &mut self.does {
            *repeatable = true;
        }
        self
    }
}

/// A keyboard in place of the person's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

    /// Goes away after one key.
    #[must_use]
    pub fn one_time(mut self) -> Self {
        self.one_time = true;
        self
    }

    /// Stays when the person's own keyboard is hidden.
    #[must_use]
    pub fn persistent(mut self) -> Self {
        self.persistent = true;
        self
    }

    /// What the empty field of entry shows.
    #[must_use]
    pub fn placeholder(mut self, text: impl Into<String>) -> Self {
        self.placeholder = Some(text.into());
        self
    }
}

/// What goes into `reply_markup`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Markup {
    #[default]
    None,
    Inline(Vec<Vec<Button>>),
    Keyboard(Keyboard),
    RemoveKeyboard,
    ForceReply,
    Given(Box<ReplyMarkup>),
}

impl Markup {
    pub fn inline<Row: IntoIterator<Item = Button>>(rows: impl IntoIterator<Item = Row>) -> Self {
        Self::Inline(rows.into_iter().map(|row| row.into_iter().collect()).collect())
    }

    /// Takes the tags off: nobody's turn says this.
    pub fn untag(&mut self) {
        let Self::Inline(rows) = self else { return };
        for button in rows.iter_mut().flatten() {
            if let Does::Data { tagged, .. } = &mut button.does {
                *tagged = false;
            }
        }
    }

    /// What the parameters hold, checked; none if there is nothing.
    pub fn tagged(&self, tag: Tag) -> Result<Option<Tagged<'_>>, SayError> {
        let tagged = match self {
            Self::None => return Ok(None),
            Self::Inline(_) => Tagged { markup: self, once: tag.put(""), repeatable: tag.put_repeatable("") },
            _ => Tagged { markup: self, once: String::new(), repeatable: String::new() },
        };
        tagged.check()?;
        Ok(Some(tagged))
    }
}

/// A markup with the tags of its buttons.
#[derive(Debug)]
pub(super) struct Tagged<'a> {
    markup: &'a Markup,
    once: String,
    repeatable: String,
}

impl Tagged<'_> {
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
            Markup::Given(given) => return if has_texts(given) { Ok(()) } else { Err(SayError::EmptyButton) },
            _ => return Ok(()),
        };
        for button in rows.iter().flatten() {
            if button.text.is_empty() {
                return Err(SayError::EmptyButton);
            }
            let fits = matches!(button.does, Does::Data { .. } | Does::Url(_)) == inline;
            if !fits {
                return Err(SayError::WrongButton(button.text.clone()));
            }
            if let Does::Data { data, tagged, repeatable } = &button.does {
                let bytes = self.prefix(*tagged, *repeatable).len() + data.len();
                if bytes > MAX_CALLBACK_BYTES || bytes == 0 {
                    return Err(SayError::ButtonData { button: button.text.clone(), bytes });
                }
            }
        }
        Ok(())
    }
}

/// Whether every button of a given keyboard has a text.
fn has_texts(given: &ReplyMarkup) -> bool {
    match given {
        ReplyMarkup::InlineKeyboardMarkup(markup) => {
            markup.inline_keyboard.iter().flatten().all(|button| !button.text.is_empty())
        }
        ReplyMarkup::ReplyKeyboardMarkup(markup) => {
            markup.keyboard.iter().flatten().all(|button| !button.text.is_empty())
        }
        _ => true,
    }
}

impl Serialize for Tagged<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Markup::Given(markup) = self.markup {
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
            Markup::None | Markup::Given(_) => {}
        }
        map.end()
    }
}

struct Rows<'a> {
    rows: &'a [Vec<Button>],
    tagged: &'a Tagged<'a>,
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
    tagged: &'a Tagged<'a>,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.row.iter().map(|button| One { button, tagged: self.tagged }))
    }
}

struct One<'a> {
    button: &'a Button,
    tagged: &'a Tagged<'a>,
}

impl Serialize for One<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("text", &self.button.text)?;
        match &self.button.does {
            Does::Data { data, tagged, repeatable } => {
                let prefix = self.tagged.prefix(*tagged, *repeatable);
                map.serialize_entry("callback_data", &format_args!("{prefix}{data}"))?;
            }
            Does::Url(url) => map.serialize_entry("url", url)?,
            Does::Text => {}
            Does::Contact => map.serialize_entry("request_contact", &true)?,
            Does::Location => map.serialize_entry("request_location", &true)?,
        }
        map.end()
    }
}
