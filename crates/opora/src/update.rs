//! Updates as Telegram sends them, each read alone.
//!
//! Reading has two steps. The *route* needs only a few numbers: whose conversation it is and what recognises the update
//! when it comes again; it succeeds for kinds that nobody knows yet. The *content* is read by the turn; what cannot be
//! read there is parked and holds nobody up.

use std::borrow::Cow;
use std::fmt;

use frankenstein::types::{CallbackQuery, MaybeInaccessibleMessage, Message};
use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::key::DialogueKey;
use crate::store::Mark;
use crate::store::hash::hash_of;

/// An update, read.
#[derive(Clone, Debug)]
pub struct Update {
    /// Telegram's `update_id`.
    pub id: i64,
    /// Its kind by Telegram's name, such as `message` or `callback_query`.
    pub kind: Box<str>,
    /// What it holds.
    pub content: Content,
}

/// What an update holds.
#[derive(Clone, Debug)]
pub enum Content {
    /// A message of any kind: new, edited, of a channel or of a business account.
    Message(Box<Message>),
    /// A press of an inline button.
    Callback(Box<CallbackQuery>),
    /// Anything else, as it came.
    Other(Box<RawValue>),
}

/// Who sent an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The user's id.
    pub id: i64,
    /// The first name as the person has set it; escape it before it goes into markup.
    pub first_name: String,
    /// The last name.
    pub last_name: Option<String>,
    /// The name behind the @.
    pub username: Option<String>,
    /// The language of the person's app, such as `ru`.
    pub language: Option<String>,
}

/// Why an update cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It is not an object with an `update_id`.
    #[error("this is not an update: {0}")]
    NotAnUpdate(#[source] serde_json::Error),
    /// Its content has another shape than is known.
    #[error("the content of a {kind} cannot be read: {source}")]
    Content {
        /// The update's kind.
        kind: String,
        /// What the reader stumbled on.
        #[source]
        source: serde_json::Error,
    },
}

impl Update {
    /// Reads an update whole.
    pub fn read(raw: &str) -> Result<Self, Unreadable> {
        let Envelope { update_id, kind, content } = serde_json::from_str(raw).map_err(Unreadable::NotAnUpdate)?;
        let fail = |source| Unreadable::Content { kind: kind.clone().into_owned(), source };
        let text = content.map_or("null", RawValue::get);
        let is_read = !matches!(content_of(&kind), Shape::Other);
        if is_read && is_deeper_than(text, DEPTH_MOST) {
            let why = format!("it is nested more than {DEPTH_MOST} levels deep");
            return Err(fail(serde::de::Error::custom(why)));
        }
        let content = match content_of(&kind) {
            Shape::Message => Content::Message(serde_json::from_str(text).map_err(fail)?),
            Shape::Callback => Content::Callback(serde_json::from_str(text).map_err(fail)?),
            Shape::Other => Content::Other(content.map_or_else(|| RawValue::NULL.to_owned(), ToOwned::to_owned)),
        };
        Ok(Self { id: update_id, kind: kind.into(), content })
    }

    /// The message, or the one under the pressed button while it can be seen.
    #[must_use]
    pub fn message(&self) -> Option<&Message> {
        match &self.content {
            Content::Message(message) => Some(message),
            Content::Callback(query) => match query.message.as_ref()? {
                MaybeInaccessibleMessage::Message(message) => Some(message),
                MaybeInaccessibleMessage::InaccessibleMessage(_) => None,
            },
            Content::Other(_) => None,
        }
    }

    /// The album that a new message belongs to; an edited item is no part of one any more.
    #[must_use]
    pub fn media_group(&self) -> Option<&str> {
        match &self.content {
            Content::Message(message) if !self.kind.starts_with("edited_") => message.media_group_id.as_deref(),
            _ => None,
        }
    }

    /// Who sent it.
    #[must_use]
    pub fn person(&self) -> Option<Person> {
        let user = match &self.content {
            Content::Message(message) => message.from.as_deref()?,
            Content::Callback(query) => &query.from,
            Content::Other(raw) => return person_of(raw),
        };
        Some(Person {
            id: i64::try_from(user.id).ok()?,
            first_name: user.first_name.clone(),
            last_name: user.last_name.clone(),
            username: user.username.clone(),
            language: user.language_code.clone(),
        })
    }
}

/// How an update's content is read.
enum Shape {
    Message,
    Callback,
    Other,
}

fn content_of(kind: &str) -> Shape {
    match kind {
        "message"
        | "edited_message"
        | "channel_post"
        | "edited_channel_post"
        | "business_message"
        | "edited_business_message"
        | "guest_message" => Shape::Message,
        "callback_query" => Shape::Callback,
        _ => Shape::Other,
    }
}

/// Telegram nests less; and a message within a message within a message takes so much of the stack that thirty of them
/// end a process that is not optimized.
const DEPTH_MOST: usize = 18;

/// Whether lists and objects lie deeper within one another in a JSON text.
fn is_deeper_than(text: &str, most: usize) -> bool {
    let mut depth = 0_usize;
    let mut is_text = false;
    let mut is_escaped = false;
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'[' | b'{' => {
                depth += 1;
                if depth > most {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// The album that a raw update belongs to; most are told apart without reading them.
pub(crate) fn media_group(raw: &str) -> Option<String> {
    if !raw.contains("\"media_group_id\"") {
        return None;
    }
    Update::read(raw).ok()?.media_group().map(ToOwned::to_owned)
}

/// The id of a press, read from as little of it as can be.
pub(crate) fn callback_id(raw: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Query {
        id: String,
    }
    let Envelope { kind, content, .. } = serde_json::from_str(raw).ok()?;
    let content = content.filter(|_| kind == "callback_query")?;
    serde_json::from_str::<Query>(content.get()).ok().map(|query| query.id)
}

fn person_of(raw: &RawValue) -> Option<Person> {
    #[derive(Deserialize)]
    struct From {
        #[serde(alias = "user")]
        from: User,
    }
    #[derive(Deserialize)]
    struct User {
        id: i64,
        first_name: String,
        last_name: Option<String>,
        username: Option<String>,
        language_code: Option<String>,
    }
    let From { from } = serde_json::from_str(raw.get()).ok()?;
    let User { id, first_name, last_name, username, language_code } = from;
    Some(Person { id, first_name, last_name, username, language: language_code })
}

/// Where an update goes, and what recognises it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The conversation that it belongs to.
    pub key: DialogueKey,
    /// What recognises it.
    pub mark: Mark,
}

impl Route {
    /// Finds the way of an update of this bot's without reading its content.
    pub fn of(raw: &str, bot: i64) -> Result<Self, Unreadable> {
        let Envelope { update_id, kind, content } = serde_json::from_str(raw).map_err(Unreadable::NotAnUpdate)?;
        let text = content.map_or("null", RawValue::get);
        // Content of another shape gets no conversation of its own; the turn that reads it will park it.
        let ids: Ids = serde_json::from_str(text).unwrap_or_default();
        let identity = ids.identity(&kind).unwrap_or_else(|| format!("{kind}:#{:016x}", hash_of(text.as_bytes())));
        Ok(Self { key: ids.key(bot), mark: Mark { bot, update_id, identity: identity.into() } })
    }
}

/// The numbers that say whose an update is; everything is optional because kinds differ.
#[derive(Debug, Default, Deserialize)]
struct Ids<'a> {
    #[serde(borrow)]
    id: Option<Id<'a>>,
    #[serde(borrow)]
    poll_id: Option<Cow<'a, str>>,
    message_id: Option<i64>,
    date: Option<i64>,
    edit_date: Option<i64>,
    chat: Option<Object>,
    from: Option<Object>,
    user: Option<Object>,
    message_thread_id: Option<i64>,
    #[serde(default)]
    is_topic_message: bool,
    #[serde(borrow)]
    business_connection_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<Box<Ids<'a>>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Id<'a> {
    Number(i64),
    #[serde(borrow)]
    Text(Cow<'a, str>),
}

#[derive(Debug, Deserialize)]
struct Object {
    id: i64,
}

impl Ids<'_> {
    fn key(&self, bot: i64) -> DialogueKey {
        // Of a press, the message under the button says where.
        let place = self.message.as_deref().unwrap_or(self);
        let user = self.from.as_ref().or(self.user.as_ref()).map_or(0, |user| user.id);
        let chat = place.chat.as_ref().map_or(user, |chat| chat.id);
        let thread = place.message_thread_id.filter(|_| place.is_topic_message).unwrap_or(0);
        let business = place.business_connection_id.as_deref().unwrap_or_default().into();
        DialogueKey { bot, chat, user, thread, business }
    }

    fn identity(&self, kind: &str) -> Option<String> {
        if let (Some(chat), Some(message)) = (&self.chat, self.message_id) {
            let date = self.edit_date.or(self.date).unwrap_or(0);
            return Some(format!("{kind}:{}:{message}:{date}", chat.id));
        }
        match &self.id {
            Some(Id::Number(id)) => Some(format!("{kind}:{id}")),
            Some(Id::Text(id)) => Some(format!("{kind}:{id}")),
            None => {
                self.poll_id.as_ref().zip(self.user.as_ref()).map(|(poll, user)| format!("{kind}:{poll}:{}", user.id))
            }
        }
    }
}

/// An update's id and its one other field.
struct Envelope<'a> {
    update_id: i64,
    kind: Cow<'a, str>,
    content: Option<&'a RawValue>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Envelope<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Envelope<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an update")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Envelope<'de>, A::Error> {
                let mut update_id = None;
                let mut kind = None;
                let mut content = None;
                while let Some(Name(name)) = map.next_key::<Name<'de>>()? {
                    if name == "update_id" {
                        update_id = Some(map.next_value()?);
                    } else if kind.is_none() {
                        content = Some(map.next_value::<&RawValue>()?);
                        kind = Some(name);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                let update_id = update_id.ok_or_else(|| serde::de::Error::missing_field("update_id"))?;
                Ok(Envelope { update_id, kind: kind.unwrap_or(Cow::Borrowed("empty")), content })
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// A field's name, borrowed where it can be.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = r#"{"update_id":7,"message":{"message_id":3,"date":1700000000,"text":"hi",
        "chat":{"id":-100500,"type":"supergroup","title":"G"},"from":{"id":4503599627370495,"is_bot":false,"first_name":"A"},
        "message_thread_id":9,"is_topic_message":true}}"#;
    const PRESS: &str = r#"{"update_id":8,"callback_query":{"id":"99","from":{"id":5,"is_bot":false,"first_name":"B"},
        "chat_instance":"1","data":"x","message":{"message_id":3,"date":0,"chat":{"id":5,"type":"private"}}}}"#;

    #[test]
    fn a_message_is_routed_by_chat_person_and_topic() {
        let route = Route::of(MESSAGE, 1).unwrap();
        assert_eq!(route.key.to_string(), "1:-100500:4503599627370495:9");
        assert_eq!((route.mark.update_id, &*route.mark.identity), (7, "message:-100500:3:1700000000"));
        let update = Update::read(MESSAGE).unwrap();
        assert_eq!(update.person().unwrap().id, 4_503_599_627_370_495);
    }

    #[test]
    fn a_press_is_routed_to_the_chat_of_its_message_even_when_that_is_too_old_to_be_seen() {
        let route = Route::of(PRESS, 1).unwrap();
        assert_eq!((route.key, &*route.mark.identity), (DialogueKey::private(1, 5), "callback_query:99"));
        assert!(matches!(Update::read(PRESS).unwrap().content, Content::Callback(_)));
    }

    #[test]
    fn depth_is_counted_outside_of_texts() {
        assert!(!is_deeper_than(r#"{"a":[1,[2]],"b":["[[[{{{\"[["]}"#, 3));
        assert!(is_deeper_than(r#"{"a":[1,[2]]}"#, 2));
        assert!(is_deeper_than(r#"{"a":"\\","b":[[]]}"#, 2));
    }

    #[test]
    fn an_edited_item_of_an_album_is_no_album() {
        let item = r#"{"message_id":3,"date":1,"chat":{"id":5,"type":"private"},"media_group_id":"g"}"#;
        assert_eq!(media_group(&format!(r#"{{"update_id":1,"message":{item}}}"#)).as_deref(), Some("g"));
        assert_eq!(media_group(&format!(r#"{{"update_id":2,"edited_message":{item}}}"#)), None);
    }

    #[test]
    fn an_unknown_kind_has_a_route_and_content_as_it_came() {
        let raw = r#"{"update_id":9,"telepathy":{"thought":"?"}}"#;
        assert!(Route::of(raw, 1).unwrap().mark.identity.starts_with("telepathy:#"));
        assert!(matches!(Update::read(raw).unwrap().content, Content::Other(_)));
    }

    #[test]
    fn content_of_another_shape_still_has_a_route_and_says_what_is_wrong() {
        let raw = r#"{"message":{"message_id":"three"},"update_id":10}"#;
        assert_eq!(Route::of(raw, 1).unwrap().mark.update_id, 10);
        assert!(Update::read(raw).unwrap_err().to_string().starts_with("the content of a message cannot be read"));
        assert!(Route::of("[]", 1).is_err());
        assert!(Route::of("{}", 1).is_err());
    }
}
