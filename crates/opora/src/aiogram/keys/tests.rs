//! Keys are built as aiogram builds them, and parsed in one way or not at all.

use proptest::prelude::*;
use proptest::strategy::Strategy as _;

use super::{DEFAULT_DESTINY, KeyBuilder, KeyError, Part, StorageKey, Strategy};

fn key(chat: i64, user: i64) -> StorageKey {
    StorageKey { bot: 42, chat, user, thread: 0, business: Box::default(), destiny: DEFAULT_DESTINY.into() }
}

fn all_options() -> KeyBuilder {
    KeyBuilder { with_bot_id: true, with_business_connection_id: true, with_destiny: true, ..KeyBuilder::default() }
}

#[test]
fn keys_are_built_as_aiogram_builds_them() {
    let whole = StorageKey { thread: 9, business: "conn".into(), destiny: "menu".into(), ..key(-100, 7) };
    assert_eq!(KeyBuilder::default().build(&key(5, 5), Part::State).unwrap(), "fsm:5:5:state");
    assert_eq!(all_options().build(&whole, Part::Data).unwrap(), "fsm:42:conn:-100:9:7:menu:data");
    assert_eq!(all_options().build(&key(5, 5), Part::Lock).unwrap(), "fsm:42:5:5:default:lock");
    let refused = KeyBuilder::default().build(&whole, Part::Data);
    assert_eq!(refused, Err(KeyError::DestinyNotInKey("menu".into())));
}

#[test]
fn other_keys_are_refused() {
    let builder = KeyBuilder::default();
    for name in [
        "fsm:5:5",
        "fsm:5:state",
        "fsm:5:5:6:state",
        "fsm:x:5:state",
        "fsm:05:5:state",
        "fsm:+5:5:data",
        "",
        "fsm:5:5:states",
    ] {
        assert_eq!(builder.parse(name, Strategy::UserInChat, 1), Err(KeyError::NoMatch), "{name}");
    }
    assert_eq!(builder.parse("fsm:5:6:state", Strategy::GlobalUser, 1), Err(KeyError::NoMatch));
    let long = format!("fsm:{}:state", "1:".repeat(2_000));
    assert_eq!(all_options().parse(&long, Strategy::UserInTopic, 1), Err(KeyError::NoMatch));
}

#[test]
fn an_ambiguous_key_is_reported() {
    let builder = KeyBuilder { with_business_connection_id: true, ..KeyBuilder::default() };
    let read = |name, strategy| builder.parse(name, strategy, 42);
    assert!(matches!(read("fsm:a:1:2:3:state", Strategy::UserInTopic), Err(KeyError::Ambiguous(..))));
    let only = read("fsm:a:1:2:3:state", Strategy::UserInChat);
    assert_eq!(only, Ok((StorageKey { business: "a:1".into(), ..key(2, 3) }, Part::State)));
    let only = read("fsm:1:2:3:state", Strategy::UserInChat);
    assert_eq!(only, Ok((StorageKey { business: "1".into(), ..key(2, 3) }, Part::State)));
    let only = read("fsm:1:2:3:state", Strategy::UserInTopic);
    assert_eq!(only, Ok((StorageKey { thread: 2, ..key(1, 3) }, Part::State)));
    let nothing_between = KeyBuilder { separator: String::new(), ..KeyBuilder::default() };
    assert!(matches!(nothing_between.parse("fsm123state", Strategy::UserInChat, 1), Err(KeyError::Ambiguous(..))));
    assert!(nothing_between.parse("fsm55data", Strategy::UserInChat, 1).is_ok());
}

#[test]
fn destinies_and_connections_may_contain_the_separator() {
    let whole = StorageKey { business: "a:b".into(), destiny: "aiogd:stack:".into(), ..key(5, 7) };
    let name = all_options().build(&whole, Part::State).unwrap();
    assert_eq!(all_options().parse(&name, Strategy::UserInChat, 1), Ok((whole, Part::State)));
}

#[test]
fn the_pattern_is_escaped() {
    let builder = KeyBuilder { prefix: "f*[s]?\\m".into(), ..KeyBuilder::default() };
    assert_eq!(builder.pattern(), "f\\*\\[s\\]\\?\\\\m:*");
}

fn any_builder() -> impl proptest::strategy::Strategy<Value = KeyBuilder> {
    let separators = prop_oneof![Just(":"), Just("/"), Just("-"), Just("::"), Just(""), Just("1")];
    ("[a-z:]{0,5}", separators, any::<[bool; 3]>()).prop_map(|(prefix, separator, [bot, business, destiny])| {
        KeyBuilder {
            prefix,
            separator: separator.to_owned(),
            with_bot_id: bot,
            with_business_connection_id: business,
            with_destiny: destiny,
        }
    })
}

proptest! {
    #[test]
    fn every_key_is_parsed_back_or_ambiguous(
        builder in any_builder(),
        which in 0..5_usize,
        (bot, chat, user, thread) in (1..99_999_i64, any::<i64>(), 0..99_999_i64, 0..99_i64),
        (business, destiny) in ("([a-z:][a-z0-9:]{0,6})?", "([a-z:][a-z0-9:]{0,6})?"),
    ) {
        let strategy = Strategy::all().nth(which).unwrap();
        let dialogue = crate::key::ConversationKey { bot, chat, user, thread, business: business.into() };
        let mut key = strategy.storage_key(&dialogue);
        if builder.with_destiny {
            key.destiny = destiny.into();
        }
        if !builder.with_business_connection_id {
            key.business = Box::default();
        }
        for part in Part::ALL {
            let name = builder.build(&key, part).unwrap();
            match builder.parse(&name, strategy, bot) {
                Ok(read) => prop_assert_eq!(read, (key.clone(), part)),
                Err(KeyError::Ambiguous(..)) => {}
                Err(other) => prop_assert!(false, "{}: {}", name, other),
            }
        }
    }

    #[test]
    fn a_parsed_key_builds_the_same_name(name in "fsm(:[-a-z0-9]{0,4}){0,7}:(state|data)", which in 0..5_usize) {
        let strategy = Strategy::all().nth(which).unwrap();
        if let Ok((key, part)) = all_options().parse(&name, strategy, 1) {
            prop_assert_eq!(all_options().build(&key, part), Ok(name));
        }
    }
}
