//! Malformed updates: parsing never panics, and the id of the update stays known.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Input;
use crate::update::{self, Route, Update};

/// Valid updates, one of each shape that is parsed.
fn updates() -> Vec<Value> {
    let anna = json!({"id": 4_503_599_627_370_495_i64, "is_bot": false, "first_name": "Anna", "last_name": "К",
        "username": "anna", "language_code": "ru", "is_premium": true});
    let private = json!({"id": 4_503_599_627_370_495_i64, "type": "private", "first_name": "Anna"});
    let group = json!({"id": -1_002_345_678_901_i64, "type": "supergroup", "title": "G", "is_forum": true});
    let file = json!({"file_id": "f", "file_unique_id": "u", "file_size": 1000, "file_name": "a.pdf",
        "mime_type": "application/pdf", "width": 90, "height": 60, "duration": 7, "length": 240});
    let message = |more: Value| {
        let mut message = json!({"message_id": 3, "date": 1_700_000_000, "chat": private, "from": anna});
        merge(&mut message, more);
        message
    };
    let text = message(
        json!({"text": "/start@my_bot anna", "entities": [{"type": "bot_command", "offset": 0, "length": 13}]}),
    );
    let forwarded = json!({"type": "hidden_user", "sender_user_name": "B", "date": 1});
    let contents = vec![
        ("message", text.clone()),
        (
            "message",
            message(json!({"text": "hi", "reply_to_message": text, "chat": group, "message_thread_id": 9,
            "is_topic_message": true, "forward_origin": forwarded})),
        ),
        ("message", message(json!({"photo": [file, file], "caption": "c", "media_group_id": "g"}))),
        ("message", message(json!({"document": file, "animation": file}))),
        ("message", message(json!({"voice": file}))),
        ("message", message(json!({"video_note": file}))),
        ("message", message(json!({"contact": {"phone_number": "+7", "first_name": "A", "user_id": 5}}))),
        ("message", message(json!({"location": {"latitude": 1.5, "longitude": -2.5, "horizontal_accuracy": 9.0}}))),
        ("message", message(json!({"dice": {"emoji": "🎲", "value": 3}}))),
        ("edited_message", message(json!({"text": "hi", "edit_date": 1_700_000_001}))),
        ("business_message", message(json!({"text": "hi", "business_connection_id": "b"}))),
        ("callback_query", json!({"id": "99", "from": anna, "chat_instance": "1", "data": "~k.7+~x", "message": text})),
        (
            "callback_query",
            json!({"id": "99", "from": anna, "chat_instance": "1", "data": "x",
            "message": {"message_id": 3, "date": 0, "chat": private}}),
        ),
        (
            "my_chat_member",
            json!({"chat": group, "from": anna, "date": 1, "old_chat_member": {"status": "left", "user": anna},
            "new_chat_member": {"status": "member", "user": anna}}),
        ),
        ("poll_answer", json!({"poll_id": "7", "user": anna, "option_ids": [0]})),
        ("inline_query", json!({"id": "8", "from": anna, "query": "q", "offset": ""})),
        ("telepathy", json!({"thought": [1, 2, 3]})),
    ];
    let update = |(kind, content): (&str, Value)| json!({"update_id": 4_503_599_627_370_000_i64, kind: content});
    contents.into_iter().map(update).collect()
}

fn merge(into: &mut Value, more: Value) {
    if let (Some(into), Value::Object(more)) = (into.as_object_mut(), more) {
        into.extend(more);
    }
}

/// An unexpected value.
fn unexpected() -> impl Strategy<Value = Value> {
    let numbers = prop_oneof![
        any::<i64>().prop_map(|number| json!(number)),
        any::<u64>().prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        Just(json!(u64::MAX)),
        Just(json!(i64::MIN)),
        Just(json!(1e300)),
    ];
    let texts = prop_oneof![
        any::<String>(),
        Just(String::new()),
        Just("/".to_owned()),
        Just("/start@".to_owned()),
        Just("~~".to_owned()),
        Just("~zzzzzzzzzzzzzzzz.zzzzzzzzzzzzzzzz+~".to_owned()),
        Just("\0\u{202e}\u{feff}😀".to_owned()),
        (1..100_000_usize).prop_map(|length| "я".repeat(length)),
    ];
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        numbers,
        texts.prop_map(Value::String),
        Just(json!([])),
        Just(json!({})),
        Just(json!([{"id": 1}, [null]])),
        (1..200_usize, 0..3_usize).prop_map(|(depth, kind)| nested(depth, kind)),
    ]
}

/// Lists or messages, nested this deep.
fn nested(depth: usize, kind: usize) -> Value {
    let message = |field: &str, inner: Value| json!({"message_id": 1, "date": 1, "chat": {"id": 1, "type": "private"}, field: inner});
    (0..depth).fold(Value::Null, |inner, _| match kind {
        0 => json!([inner]),
        1 => message("reply_to_message", inner),
        _ => message("message", inner),
    })
}

/// The JSON pointers to all values inside of a value.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (name, value) in inner {
        let pointer = format!("{at}/{name}");
        pointers(value, &pointer, found);
        found.push(pointer);
    }
}

/// Removes or replaces the value at one of the pointers.
fn damage(update: &mut Value, which: usize, instead: Option<Value>) {
    let mut found = Vec::new();
    pointers(update, "", &mut found);
    if found.is_empty() {
        return;
    }
    let place = &found[which % found.len()];
    let (parent, name) = place.rsplit_once('/').unwrap();
    match (update.pointer_mut(parent).unwrap(), instead) {
        (Value::Object(fields), Some(instead)) => drop(fields.insert(name.to_owned(), instead)),
        (Value::Object(fields), None) => drop(fields.remove(name)),
        (Value::Array(items), Some(instead)) => items[name.parse::<usize>().unwrap()] = instead,
        (Value::Array(items), None) => drop(items.remove(name.parse().unwrap())),
        _ => unreachable!("only these hold something"),
    }
}

/// Parses everything of an update that is ever parsed.
fn read(raw: &str) {
    let _ = (update::media_group(raw), update::callback_id(raw));
    if let Ok(update) = Update::read(raw) {
        let _ =
            (Input::from_update(&update), update.person(), update.message().is_some(), update.media_group().is_some());
        let _ = Input::from_album(&[Arc::new(update)], true);
    }
}

#[test]
fn undamaged_updates_are_valid() {
    for update in updates() {
        let raw = update.to_string();
        assert!(Update::read(&raw).is_ok(), "{:?}: {raw}", Update::read(&raw));
    }
}

#[test]
fn deeply_nested_messages_do_not_panic() {
    for (field, kind) in [("message", 1), ("callback_query", 1), ("message", 2), ("telepathy", 0)] {
        for depth in [1, 20, 60, 120, 5_000] {
            let raw = json!({"update_id": 7, field: nested(depth.min(120), kind)}).to_string();
            // Deeper than a `Value` can be built and dropped.
            let raw = if depth > 120 {
                raw.replace("null", &format!("{}{}", "[".repeat(depth), "]".repeat(depth)))
            } else {
                raw
            };
            read(&raw);
            assert_eq!(Route::parse(&raw, 1).unwrap().mark.update_id, 7);
        }
    }
}

proptest! {
    #[test]
    fn a_damaged_update_does_not_panic_and_keeps_its_id(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<usize>(), prop::option::of(unexpected())), 1..5),
    ) {
        let all = updates();
        let mut update = which.get(&all).clone();
        for (place, instead) in changes {
            damage(&mut update, place, instead);
        }
        let raw = update.to_string();
        read(&raw);
        let route = Route::parse(&raw, 1);
        match update["update_id"].as_i64() {
            Some(id) => prop_assert_eq!(route.unwrap().mark.update_id, id),
            None => prop_assert!(route.is_err()),
        }
    }

    #[test]
    fn broken_json_does_not_panic(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        cut in any::<bool>(),
        instead in any::<String>(),
    ) {
        let all = updates();
        let raw = which.get(&all).to_string();
        let bounds: Vec<usize> = raw.char_indices().map(|(index, _)| index).collect();
        let (before, after) = raw.split_at(*at.get(&bounds));
        let raw = if cut { format!("{before}{instead}") } else { format!("{before}{instead}{after}") };
        read(&raw);
        let _ = Route::parse(&raw, 1);
    }
}
