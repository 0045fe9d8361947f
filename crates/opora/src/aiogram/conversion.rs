//! Converts between a conversation and a record of aiogram.
//!
//! aiogram has one state and one dictionary per key. The state of the foreground becomes that state. Everything else of
//! a conversation (history, used buttons, other tracks) is stored only by this library, and is used as long as
//! aiogram's record is the one that was written with it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Data, Record, Translate, TranslateError, Value};
use crate::dialogue::{Conversation, WrittenState};
use crate::store::{BoxError, StateName, StoredState, Version};

/// aiogram's name of the group of states without a group.
const NO_GROUP: &str = "@";

/// A record as an operator sees it, without a mapping.
#[derive(Serialize, Deserialize)]
struct UnmappedStored<'a> {
    #[serde(borrow)]
    aiogram: UnmappedRecord<'a>,
}

#[derive(Serialize, Deserialize)]
struct UnmappedRecord<'a> {
    state: Box<str>,
    /// The data, or a string of it if it is not valid JSON.
    #[serde(borrow)]
    data: &'a RawValue,
}

/// The conversation for a record that aiogram has written. None if nothing is open. If the state is the same as before,
/// history and buttons stay valid, even with other data. Another state counts as entered by the turn `entry`.
pub(crate) fn to_stored_state(
    before: Option<&StoredState>,
    record: &Record,
    by: &dyn Translate,
    entry: Version,
) -> Result<Option<StoredState>, BoxError> {
    let written = match by.translate(record) {
        Ok(written) => written,
        Err(TranslateError::NotMapped(state)) if state.is_empty() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // The former conversation is optional: one that cannot be read is ignored.
    let before = before.and_then(|stored| serde_json::from_str::<Conversation>(&stored.value).ok());
    let Some(mut conversation) = before else { return Ok(Some(written.stored(entry, None)?)) };
    let front = conversation.front.clone();
    match conversation.top_mut(&front) {
        Some(frame) if frame.state_name() == written.name => {
            if frame.schema != written.schema {
                frame.history.clear();
            }
            frame.schema = written.schema;
            frame.state = written.state;
            Ok(Some(conversation.to_stored()?))
        }
        _ => {
            let mut new = written.conversation(entry, None);
            new.language = conversation.language;
            new.albums = conversation.albums;
            new.is_language_chosen = conversation.is_language_chosen;
            Ok(Some(new.to_stored()?))
        }
    }
}

/// The record for a conversation, based on the existing data.
pub(crate) fn to_record(stored: Option<&StoredState>, by: &dyn Translate, there: &Data) -> Result<Record, BoxError> {
    let conversation = stored.map(|stored| serde_json::from_str::<Conversation>(&stored.value)).transpose()?;
    let frame = conversation.as_ref().and_then(|conversation| conversation.top(&conversation.front));
    let Some(frame) = frame else {
        return Ok(Record { state: Box::default(), data: by.data_after_end(there).unwrap_or_default() });
    };
    let written = WrittenState { name: frame.state_name(), schema: frame.schema, state: frame.state.clone() };
    Ok(by.record(&written, there)?)
}

/// A record in the form of a stored state, for programs without a mapping.
pub(crate) fn unmapped_stored(record: &Record) -> Result<StoredState, BoxError> {
    let (group, state) = record.state.split_once(':').unwrap_or((NO_GROUP, &record.state));
    let name = StateName { dialogue: group.into(), state: state.into() };
    let json = Value::Dict(record.data.clone()).to_json("data");
    let data = match json {
        Ok(json) => RawValue::from_string(json)?,
        Err(_) => serde_json::value::to_raw_value(&record.data.to_string())?,
    };
    let value = serde_json::to_string(&UnmappedStored {
        aiogram: UnmappedRecord { state: record.state.clone(), data: &data },
    })?;
    Ok(StoredState { value: value.into(), states: vec![name], expires_at: None })
}

/// The record of a stored state of [`unmapped_stored`]. None for other stored states.
pub(crate) fn unmapped_record(stored: &StoredState) -> Option<Record> {
    let UnmappedStored { aiogram } = serde_json::from_str(&stored.value).ok()?;
    let text = serde_json::from_str::<String>(aiogram.data.get());
    let data = text.unwrap_or_else(|_| aiogram.data.get().to_owned());
    Some(Record { state: aiogram.state, data: Data::parse(data.as_bytes()).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aiogram::Mapping;
    use crate::prelude::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
    enum Order {
        Name,
        Phone { name: String },
    }

    fn mapping() -> Mapping<Order> {
        Mapping::new()
            .state("Order:name", |_| Ok(Order::Name))
            .state("Order:phone", |data| Ok(Order::Phone { name: data.read("name")? }))
            .write(|state, data| match state {
                Order::Name => Ok("Order:name"),
                Order::Phone { name } => data.set("name", name).map(|()| "Order:phone"),
            })
    }

    fn record(state: &str, data: &str) -> Record {
        Record { state: state.into(), data: Data::parse(data.as_bytes()).unwrap() }
    }

    #[test]
    fn the_same_state_keeps_its_entry() {
        let first =
            to_stored_state(None, &record("Order:phone", r#"{"name": "A"}"#), &mapping(), Version(3)).unwrap().unwrap();
        assert!(first.value.contains(r#""entry":3"#), "{}", first.value);
        let mut conversation: Conversation = serde_json::from_str(&first.value).unwrap();
        conversation.language = "ru".into();
        conversation.tracks[0].mark_used("yes");
        let before = conversation.to_stored().unwrap();
        let other_data = record("Order:phone", r#"{"name": "B"}"#);
        let same = to_stored_state(Some(&before), &other_data, &mapping(), Version(9)).unwrap().unwrap();
        for part in [r#""entry":3"#, r#""name":"B""#, r#""used":["yes"]"#, r#""language":"ru""#] {
            assert!(same.value.contains(part), "{part} in {}", same.value);
        }
        let other =
            to_stored_state(Some(&before), &record("Order:name", "{}"), &mapping(), Version(9)).unwrap().unwrap();
        assert!(other.value.contains(r#""entry":9"#) && !other.value.contains("yes"), "{}", other.value);
        assert!(other.value.contains(r#""language":"ru""#), "{}", other.value);
    }

    #[test]
    fn an_unknown_state_is_an_error() {
        assert_eq!(to_stored_state(None, &record("", r#"{"only": 1}"#), &mapping(), Version(1)).unwrap(), None);
        let error = to_stored_state(None, &record("Survey:age", "{}"), &mapping(), Version(1)).unwrap_err();
        assert_eq!(error.to_string(), "the state `Survey:age` is not mapped");
    }

    #[test]
    fn a_record_keeps_the_other_fields_in_place() {
        let existing_data = record("", r#"{"a": NaN, "name": "A", "z": [1]}"#).data;
        let stored =
            WrittenState::from_state(&Order::Phone { name: "B".into() }).unwrap().stored(Version(1), None).unwrap();
        let converted = to_record(Some(&stored), &mapping(), &existing_data).unwrap();
        assert_eq!(
            (&*converted.state, converted.data.to_string()),
            ("Order:phone", r#"{"a": NaN, "name": "B", "z": [1]}"#.into())
        );
        assert_eq!(to_record(None, &mapping(), &existing_data).unwrap(), Record::default());
        let keeps = mapping().on_end(|data| {
            data.remove("name");
        });
        assert_eq!(to_record(None, &keeps, &existing_data).unwrap(), record("", r#"{"a": NaN, "z": [1]}"#));
    }

    #[test]
    fn an_unmapped_record_is_read_back() {
        for (state, data) in
            [("Order:phone", r#"{"name": "A", "big": 123456789012345678901234567890}"#), ("x", r#"{"n": NaN}"#)]
        {
            let stored = unmapped_stored(&record(state, data)).unwrap();
            serde_json::from_str::<serde_json::Value>(&stored.value).unwrap();
            assert_eq!(unmapped_record(&stored), Some(record(state, data)));
        }
        assert_eq!(unmapped_stored(&record("Order:phone", "{}")).unwrap().states[0].to_string(), "Order:phone");
        assert_eq!(
            unmapped_record(&WrittenState::from_state(&Order::Name).unwrap().stored(Version(1), None).unwrap()),
            None
        );
    }
}
