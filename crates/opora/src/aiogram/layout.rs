//! The layout of aiogram's states in a Redis that an aiogram bot and this one share.
//!
//! It has the options of `DefaultKeyBuilder`, `FSMStrategy` and `RedisStorage`, in Rust or as the query of an address.
//! Nothing here connects to Redis.

use std::time::Duration;

use super::{KeyBuilder, KeyError, Part, StorageKey, Strategy};
use crate::key::ConversationKey;
use crate::store::{StoreError, StoreResult};

/// The keys of aiogram's states, and their expiry.
///
/// ```
/// use std::time::Duration;
/// use opora::aiogram::{AiogramLayout, Strategy};
///
/// let layout = AiogramLayout::new().with_bot_id().strategy(Strategy::UserInTopic);
/// let layout = layout.state_ttl(Duration::from_secs(86_400));
/// assert_eq!(layout.keys.prefix, "fsm");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct AiogramLayout {
    /// The options of the keys.
    pub keys: KeyBuilder,
    /// Who shares a state.
    pub strategy: Strategy,
    /// When a state expires after a write. If none, the expiry that an aiogram bot has set stays.
    pub state_ttl: Option<Duration>,
    /// When data expires after a write.
    pub data_ttl: Option<Duration>,
}

impl AiogramLayout {
    /// aiogram's defaults: `fsm:chat:user:state`, without expiry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the first part of all keys.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.keys.prefix = prefix.into();
        self
    }

    /// Sets the separator of the parts.
    pub fn separator(mut self, separator: impl Into<String>) -> Self {
        self.keys.separator = separator.into();
        self
    }

    /// Makes the bot's id a part of the keys.
    pub fn with_bot_id(mut self) -> Self {
        self.keys.with_bot_id = true;
        self
    }

    /// Makes the business connection a part of the keys, if there is one.
    pub fn with_business_connection_id(mut self) -> Self {
        self.keys.with_business_connection_id = true;
        self
    }

    /// Makes the destiny a part of the keys. Here it is always `default`.
    pub fn with_destiny(mut self) -> Self {
        self.keys.with_destiny = true;
        self
    }

    /// Sets who shares a state.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Sets when a state expires after a write, in whole seconds.
    pub fn state_ttl(mut self, ttl: Duration) -> Self {
        self.state_ttl = Some(ttl);
        self
    }

    /// Sets when data expires after a write, in whole seconds.
    pub fn data_ttl(mut self, ttl: Duration) -> Self {
        self.data_ttl = Some(ttl);
        self
    }

    /// The conversation of a person's inputs. All people who share a key of aiogram share a conversation.
    ///
    /// Under [`Strategy::Chat`] its user is the chat, as aiogram has it; under [`Strategy::GlobalUser`] its chat is the
    /// person's private one.
    #[must_use]
    pub fn conversation_of(&self, key: ConversationKey) -> ConversationKey {
        let StorageKey { bot, chat, user, thread, business, .. } = self.strategy.storage_key(&key);
        let business = if self.keys.with_business_connection_id { business } else { Box::default() };
        ConversationKey { bot, chat, user, thread, business }
    }

    /// The keys of a conversation: state, data and lock.
    pub fn names(&self, key: &ConversationKey) -> Result<[String; 3], KeyError> {
        let key = self.strategy.storage_key(key);
        let [state, data, lock] = [Part::State, Part::Data, Part::Lock].map(|part| self.keys.build(&key, part));
        Ok([state?, data?, lock?])
    }

    /// Parses the query of an address: `layout=aiogram` and its options. Returns the address without them. None if it
    /// has no layout.
    pub(crate) fn of_address(address: &str) -> StoreResult<Option<(String, Self)>> {
        let Some((plain, query)) = address.split_once('?') else { return Ok(None) };
        let settings: Vec<(&str, &str)> =
            query.split('&').map(|one| one.split_once('=').unwrap_or((one, ""))).collect();
        match settings.iter().find(|(name, _)| *name == "layout") {
            None => return Ok(None),
            Some((_, "aiogram")) => {}
            Some(_) => return Err(bad("`layout` is `aiogram` or is left out")),
        }
        let mut layout = Self::new();
        let mut rest = Vec::new();
        for (name, value) in settings {
            if !layout.set(name, &decoded(value)?)? {
                rest.push(format!("{name}={value}"));
            }
        }
        let rest = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
        Ok(Some((format!("{plain}{rest}"), layout)))
    }

    /// Sets an option of an address. False if it is not an option of aiogram.
    fn set(&mut self, name: &str, value: &str) -> StoreResult<bool> {
        match name {
            "layout" => {}
            "aiogram_prefix" => self.keys.prefix = value.to_owned(),
            "separator" => self.keys.separator = value.to_owned(),
            "with_bot_id" => self.keys.with_bot_id = flag(value)?,
            "with_business_connection_id" => self.keys.with_business_connection_id = flag(value)?,
            "with_destiny" => self.keys.with_destiny = flag(value)?,
            "strategy" => self.strategy = value.parse().map_err(|error| bad(&format!("{error}")))?,
            "state_ttl" => self.state_ttl = Some(seconds(value)?),
            "data_ttl" => self.data_ttl = Some(seconds(value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn flag(value: &str) -> StoreResult<bool> {
    match value {
        "1" | "true" | "yes" => Ok(true),
        "0" | "false" | "no" => Ok(false),
        _ => Err(bad("a `with_…` is 1 or 0")),
    }
}

fn seconds(value: &str) -> StoreResult<Duration> {
    let seconds = value.parse::<u32>().ok().filter(|seconds| *seconds > 0);
    seconds.map(|seconds| Duration::from_secs(seconds.into())).ok_or_else(|| bad("a `…_ttl` is a number of seconds"))
}

/// Decodes percent-encoding.
fn decoded(value: &str) -> StoreResult<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = rest.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        bytes.push(
            digits.and_then(|two| u8::from_str_radix(two, 16).ok()).ok_or_else(|| bad("a `%` needs two digits"))?,
        );
        rest = &rest[2..];
    }
    String::from_utf8(bytes).map_err(|_| bad("an option is not UTF-8"))
}

/// An error without the address, which may contain a password.
fn bad(why: &str) -> StoreError {
    StoreError::Unavailable(format!("the address of aiogram's Redis cannot be used: {why}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_sets_all_options_and_keeps_the_rest() {
        let address = "redis://:s3cret@h/2?layout=aiogram&aiogram_prefix=shop%3Afsm&separator=%2F&with_bot_id=1\
            &with_business_connection_id=yes&with_destiny=true&strategy=chat_topic&state_ttl=60&data_ttl=90&prefix=own";
        let (plain, layout) = AiogramLayout::of_address(address).unwrap().unwrap();
        assert_eq!(plain, "redis://:s3cret@h/2?prefix=own");
        let expected = AiogramLayout::new().prefix("shop:fsm").separator("/").with_bot_id();
        let expected = expected.with_business_connection_id().with_destiny().strategy(Strategy::ChatTopic);
        assert_eq!(layout, expected.state_ttl(Duration::from_secs(60)).data_ttl(Duration::from_secs(90)));
        assert_eq!(AiogramLayout::of_address("redis://h?prefix=own").unwrap(), None);
        let (plain, layout) = AiogramLayout::of_address("redis://h?layout=aiogram").unwrap().unwrap();
        assert_eq!((&*plain, layout), ("redis://h", AiogramLayout::new()));
    }

    #[test]
    fn an_error_does_not_contain_the_address() {
        for option in [
            "layout=django",
            "with_bot_id=maybe",
            "strategy=x",
            "state_ttl=0",
            "data_ttl=a",
            "separator=%2",
            "separator=%ff",
        ] {
            let address = format!("redis://:s3cret@h?layout=aiogram&{option}").replace("aiogram&layout=", "");
            let error = AiogramLayout::of_address(&address).unwrap_err().to_string();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn people_who_share_a_key_share_a_conversation() {
        let group = |user, thread| ConversationKey { bot: 1, chat: -100, user, thread, business: "b".into() };
        for strategy in Strategy::all() {
            let layout = AiogramLayout::new().strategy(strategy);
            for one in [group(5, 9), group(6, 9), group(5, 8), ConversationKey { chat: -200, ..group(5, 9) }] {
                let conversation = layout.conversation_of(one.clone());
                assert_eq!(layout.names(&conversation), layout.names(&one), "{strategy}");
                assert_eq!(layout.conversation_of(conversation.clone()), conversation, "{strategy}");
                let is_shared = layout.names(&one) == layout.names(&group(5, 9));
                assert_eq!(conversation == layout.conversation_of(group(5, 9)), is_shared, "{strategy}");
            }
        }
    }
}
