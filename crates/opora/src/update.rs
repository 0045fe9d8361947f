//! Updates as Telegram sends them. Each one is read on its own.
//!
//! Reading has two steps. The *route* needs only a few numbers: the conversation, and the mark that recognises a second
//! delivery. It also works for unknown kinds of updates. The turn reads the *content*; an update whose content cannot
//! be read is parked and delays no other.

use std::borrow::Cow;
use std::fmt;

use frankenstein::types::{CallbackQuery, MaybeInaccessibleMessage, Message};
use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::key::ConversationKey;
use crate::store::Mark;
use crate::store::hash::hash_of;

/// An update from Telegram.
#[derive(Clone, Debug)]
pub struct Update {
    /// Telegram's `update_id`.
    pub id: i64,
    /// Telegram's name for its kind, such as `message` or `callback_query`.
    pub kind: Box<str>,
    /// The message, press or other object.
    pub content: Content,
}

/// The content of an update.
#[derive(Clone, Debug)]
pub enum Content {
    /// A message: new or edited, also of a channel or a business account.
    Message(Box<Message>),
    /// A press of an inline button.
    Callback(Box<CallbackQuery>),
    /// Anything else, as raw JSON.
    Other(Box<RawValue>),
}

/// The sender of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The user's id.
    pub id: i64,
    /// The first name as the person typed it. Escape it before you use it in markup.
    pub first_name: String,
    /// The last name.
    pub last_name: Option<String>,
    /// The name after the `@`.
    pub username: Option<String>,
    /// The language of the person's Telegram app, such as `ru`.
    pub language: Option<String>,
}

/// Why an update cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The JSON is not an object with an `update_id`.
    #[error("this is not an update: {0}")]
    NotAnUpdate(#[source] serde_json::Error),
    /// The content has an unknown shape.
    #[error("the content of a {kind} cannot be read: {source}")]
    Content {
        /// The update's kind.
        kind: String,
        /// The JSON error.
        #[source]
        source: serde_json::Error,
    },
}

impl Update {
    /// Reads an update and its content.
    pub fn read(raw: &str) -> Result<Self, Unreadable> {
        let Envelope { update_id, kind, content } = serde_json::from_str(raw).map_err(Unreadable::NotAnUpdate)?;
        let fail = |source| Unreadable::Content { kind: kind.clone().into_owned(), source };
        let text = content.map_or("null", RawValue::get);
        let shape = shape_of(&kind);
        if !matches!(shape, Shape::Other) && is_deeper_than(text, MAX_DEPTH) {
            let reason = format!("it is nested more than {MAX_DEPTH} levels deep");
            return Err(fail(serde::de::Error::custom(reason)));
        }
        let content = match shape {
            Shape::Message => Content::Message(serde_json::from_str(text).map_err(fail)?),
            Shape::Callback => Content::Callback(serde_json::from_str(text).map_err(fail)?),
            Shape::Other => Content::Other(content.map_or_else(|| RawValue::NULL.to_owned(), ToOwned::to_owned)),
        };
        Ok(Self { id: update_id, kind: kind.into(), content })
    }

    /// The message, or the message of the pressed button if Telegram still shows it.
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

    /// The album of a new message. An edited message is not part of an album any more.
    #[must_use]
    pub fn media_group(&self) -> Option<&str> {
        match &self.content {
            Content::Message(message) if !self.kind.starts_with("edited_") => message.media_group_id.as_deref(),
            _ => None,
        }
    }

    /// The sender.
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

/// The shape of an update's content.
enum Shape {
    Message,
    Callback,
    Other,
}

fn shape_of(kind: &str) -> Shape {
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

/// The deepest JSON that is read. Telegram nests less, and in an unoptimized build thirty nested messages overflow the
/// stack.
const MAX_DEPTH: usize = 18;

/// Whether a JSON text nests lists and objects deeper than `limit`.
fn is_deeper_than(text: &str, limit: usize) -> bool {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut is_escaped = false;
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// The album of a raw update. Most updates are ruled out without parsing.
pub(crate) fn media_group(raw: &str) -> Option<String> {
    if !raw.contains("\"media_group_id\"") {
        return None;
    }
    Update::read(raw).ok()?.media_group().map(ToOwned::to_owned)
}

/// The callback id of a press. It works even if the rest of the update cannot be read.
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

/// The conversation and the mark of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The conversation of the update.
    pub key: ConversationKey,
    /// Recognises the update when Telegram delivers it again.
    pub mark: Mark,
}

impl Route {
    /// Finds the route of an update without reading its content.
    pub fn parse(raw: &str, bot: i64) -> Result<Self, Unreadable> {
        let Envelope { update_id, kind, content } = serde_json::from_str(raw).map_err(Unreadable::NotAnUpdate)?;
        let text = content.map_or("null", RawValue::get);
        // Content of an unknown shape gets an empty key. Its turn will park it.
        let ids: Ids = serde_json::from_str(text).unwrap_or_default();
        let identity = ids.identity(&kind).unwrap_or_else(|| format!("{kind}:#{:016x}", hash_of(text.as_bytes())));
        Ok(Self { key: ids.key(bot), mark: Mark { bot, update_id, identity: identity.into() } })
    }
}

/// The ids in an update's content. All are optional, because kinds of updates differ.
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
    fn key(&self, bot: i64) -> ConversationKey {
        // A press has its chat and thread in the message of the button.
        let message = self.message.as_deref().unwrap_or(self);
        let user = self.from.as_ref().or(self.user.as_ref()).map_or(0, |user| user.id);
        let chat = message.chat.as_ref().map_or(user, |chat| chat.id);
        let thread = message.message_thread_id.filter(|_| message.is_topic_message).unwrap_or(0);
        let business = message.business_connection_id.as_deref().unwrap_or_default().into();
        ConversationKey { bot, chat, user, thread, business }
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

/// The id of an update and its only other field.
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

/// A field's name, borrowed if possible.
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
        let route = Route::parse(MESSAGE, 1).unwrap();
        assert_eq!(route.key.to_string(), "1:-100500:4503599627370495:9");
        assert_eq!((route.mark.update_id, &*route.mark.identity), (7, "message:-100500:3:1700000000"));
        let update = Update::read(MESSAGE).unwrap();
        assert_eq!(update.person().unwrap().id, 4_503_599_627_370_495);
    }

    #[test]
    fn a_press_on_an_old_message_is_routed_to_its_chat() {
        let route = Route::parse(PRESS, 1).unwrap();
        assert_eq!((route.key, &*route.mark.identity), (ConversationKey::private(1, 5), "callback_query:99"));
        assert!(matches!(Update::read(PRESS).unwrap().content, Content::Callback(_)));
    }

    #[test]
    fn depth_is_counted_outside_of_strings() {
        assert!(!is_deeper_than(r#"{"a":[1,[2]],"b":["[[[{{{\"[["]}"#, 3));
        assert!(is_deeper_than(r#"{"a":[1,[2]]}"#, 2));
        assert!(is_deeper_than(r#"{"a":"\\","b":[[]]}"#, 2));
    }

    #[test]
    fn an_edited_album_item_is_not_part_of_an_album() {
        let item = r#"{"message_id":3,"date":1,"chat":{"id":5,"type":"private"},"media_group_id":"g"}"#;
        assert_eq!(media_group(&format!(r#"{{"update_id":1,"message":{item}}}"#)).as_deref(), Some("g"));
        assert_eq!(media_group(&format!(r#"{{"update_id":2,"edited_message":{item}}}"#)), None);
    }

    #[test]
    fn an_unknown_kind_has_a_route_and_raw_content() {
        let raw = r#"{"update_id":9,"telepathy":{"thought":"?"}}"#;
        assert!(Route::parse(raw, 1).unwrap().mark.identity.starts_with("telepathy:#"));
        assert!(matches!(Update::read(raw).unwrap().content, Content::Other(_)));
    }

    #[test]
    fn content_of_an_unknown_shape_still_has_a_route() {
        let raw = r#"{"message":{"message_id":"three"},"update_id":10}"#;
        assert_eq!(Route::parse(raw, 1).unwrap().mark.update_id, 10);
        assert!(Update::read(raw).unwrap_err().to_string().starts_with("the content of a message cannot be read"));
        assert!(Route::parse("[]", 1).is_err());
        assert!(Route::parse("{}", 1).is_err());
    }
}
