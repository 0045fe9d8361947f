//! How aiogram's states are laid out in a Redis that an aiogram bot and this one work on.
//!
//! The same options as those of `DefaultKeyBuilder`, `FSMStrategy` and `RedisStorage`, in Rust or behind the `?` of an
//! address. Nothing here asks Redis.

use std::time::Duration;

use super::{KeyBuilder, KeyError, Part, StorageKey, Strategy};
use crate::key::DialogueKey;
use crate::store::{StoreError, StoreResult};

/// Where aiogram's states lie, and how long they live.
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
pub struct AiogramLayout {
    /// How keys are named.
    pub keys: KeyBuilder,
    /// Who shares a state.
    pub strategy: Strategy,
    /// How long a state lives after it was written; without it, one that an aiogram bot has limited stays so.
    pub state_ttl: Option<Duration>,
    /// The same for data.
    pub data_ttl: Option<Duration>,
}

impl AiogramLayout {
    /// As aiogram's own defaults: `fsm:chat:user:state`, without an end.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The first part of all keys.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.keys.prefix = prefix.into();
        self
    }

    /// What stands between the parts of a key.
    #[must_use]
    pub fn separator(mut self, separator: impl Into<String>) -> Self {
        self.keys.separator = separator.into();
        self
    }

    /// The bot's id is a part of the keys.
    #[must_use]
    pub fn with_bot_id(mut self) -> Self {
        self.keys.with_bot_id = true;
        self
    }

    /// The business connection is a part of the keys, where there is one.
    #[must_use]
    pub fn with_business_connection_id(mut self) -> Self {
        self.keys.with_business_connection_id = true;
        self
    }

    /// The destiny is a part of the keys; here it is always `default`.
    #[must_use]
    pub fn with_destiny(mut self) -> Self {
        self.keys.with_destiny = true;
        self
    }

    /// Who shares a state.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// How long a state lives after it was written, in whole seconds.
    #[must_use]
    pub fn state_ttl(mut self, ttl: Duration) -> Self {
        self.state_ttl = Some(ttl);
        self
    }

    /// How long data lives after it was written, in whole seconds.
    #[must_use]
    pub fn data_ttl(mut self, ttl: Duration) -> Self {
        self.data_ttl = Some(ttl);
        self
    }

    /// The conversation that a person's inputs belong to: all that share one key of aiogram's are one, in one order.
    ///
    /// Under [`Strategy::Chat`] its user is the chat, as aiogram has it; under [`Strategy::GlobalUser`] its chat is the
    /// person's private one.
    #[must_use]
    pub fn conversation_of(&self, key: DialogueKey) -> DialogueKey {
        let StorageKey { bot, chat, user, thread, business, .. } = self.strategy.storage_key(&key);
        let business = if self.keys.with_business_connection_id { business } else { Box::default() };
        DialogueKey { bot, chat, user, thread, business }
    }

    /// The names of a conversation's keys: state, data and lock.
    pub fn names(&self, key: &DialogueKey) -> Result<[String; 3], KeyError> {
        let key = self.strategy.storage_key(key);
        let [state, data, lock] = [Part::State, Part::Data, Part::Lock].map(|part| self.keys.build(&key, part));
        Ok([state?, data?, lock?])
    }

    /// Reads what stands behind the `?` of an address: `layout=aiogram` and its options. Gives the address without
    /// them; none if it names no layout.
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

    /// Sets an option of an address; false if it is none of aiogram's.
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

/// `%3A` and the like.
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

/// The address itself may hold a password and is not repeated.
fn bad(why: &str) -> StoreError {
    StoreError::Unavailable(format!("the address of aiogram's Redis cannot be used: {why}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_all_options_and_keeps_the_rest() {
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
    fn a_bad_option_is_refused_without_repeating_the_address() {
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
    fn those_who_share_a_key_are_one_conversation() {
        let group = |user, thread| DialogueKey { bot: 1, chat: -100, user, thread, business: "b".into() };
        for strategy in Strategy::all() {
            let layout = AiogramLayout::new().strategy(strategy);
            for one in [group(5, 9), group(6, 9), group(5, 8), DialogueKey { chat: -200, ..group(5, 9) }] {
                let conversation = layout.conversation_of(one.clone());
                assert_eq!(layout.names(&conversation), layout.names(&one), "{strategy}");
                assert_eq!(layout.conversation_of(conversation.clone()), conversation, "{strategy}");
                let is_shared = layout.names(&one) == layout.names(&group(5, 9));
                assert_eq!(conversation == layout.conversation_of(group(5, 9)), is_shared, "{strategy}");
            }
        }
    }
}
