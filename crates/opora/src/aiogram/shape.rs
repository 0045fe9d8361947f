//! Between a conversation here and a record of aiogram's.
//!
//! aiogram knows one state and one dictionary for a key. The dialogue in the foreground is that state; what else a
//! conversation has (what Back goes to, buttons used up, dialogues beside) is kept here only, and as long as aiogram's
//! record is the one that was written with it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Data, Record, Translate, Untranslated, Value};
use crate::dialogue::{Conversation, WrittenState};
use crate::store::{BoxError, Place, Stored, Version};

/// The dialogue of states that belong to no group, as aiogram names it.
const NO_GROUP: &str = "@";

/// A record as operators see it who know no dialogues.
#[derive(Serialize, Deserialize)]
struct Shown<'a> {
    #[serde(borrow)]
    aiogram: ShownRecord<'a>,
}

#[derive(Serialize, Deserialize)]
struct ShownRecord<'a> {
    state: Box<str>,
    /// The data, or a text of it where it is not JSON proper.
    #[serde(borrow)]
    data: &'a RawValue,
}

/// The conversation that a record means which aiogram has written; none if nothing is open. The same state with other
/// data is still the same entry, with its history and its buttons; another state is entered anew, by the turn `entry`.
pub(crate) fn adopted(
    before: Option<&Stored>,
    record: &Record,
    by: &dyn Translate,
    entry: Version,
) -> Result<Option<Stored>, BoxError> {
    let written = match by.translate(record) {
        Ok(written) => written,
        Err(Untranslated::NotMapped(state)) if state.is_empty() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // What was here before is only a help: if it cannot be read, it is not needed.
    let before = before.and_then(|stored| serde_json::from_str::<Conversation>(&stored.value).ok());
    let Some(mut talk) = before else { return Ok(Some(written.stored(entry, None)?)) };
    let front = talk.front.clone();
    match talk.top_mut(&front) {
        Some(frame) if frame.place() == written.place => {
            if frame.schema != written.schema {
                frame.history.clear();
            }
            frame.schema = written.schema;
            frame.state = written.state;
            Ok(Some(talk.to_stored()?))
        }
        _ => {
            let mut fresh = written.conversation(entry, None);
            fresh.language = talk.language;
            fresh.albums = talk.albums;
            fresh.is_language_chosen = talk.is_language_chosen;
            Ok(Some(fresh.to_stored()?))
        }
    }
}

/// The record that a conversation makes of the data that is there.
pub(crate) fn record_of(stored: Option<&Stored>, by: &dyn Translate, there: &Data) -> Result<Record, BoxError> {
    let talk = stored.map(|stored| serde_json::from_str::<Conversation>(&stored.value)).transpose()?;
    let frame = talk.as_ref().and_then(|talk| talk.top(&talk.front));
    let Some(frame) = frame else {
        return Ok(Record { state: Box::default(), data: by.remains(there).unwrap_or_default() });
    };
    let written = WrittenState { place: frame.place(), schema: frame.schema, state: frame.state.clone() };
    Ok(by.record(&written, there)?)
}

/// A record as it is shown where nobody knows what it means.
pub(crate) fn shown(record: &Record) -> Result<Stored, BoxError> {
    let (group, state) = record.state.split_once(':').unwrap_or((NO_GROUP, &record.state));
    let place = Place { dialogue: group.into(), state: state.into() };
    let json = Value::Dict(record.data.clone()).to_json("data");
    let data = match json {
        Ok(json) => RawValue::from_string(json)?,
        Err(_) => serde_json::value::to_raw_value(&record.data.to_string())?,
    };
    let value = serde_json::to_string(&Shown { aiogram: ShownRecord { state: record.state.clone(), data: &data } })?;
    Ok(Stored { value: value.into(), places: vec![place], expires_at: None })
}

/// The record of a conversation that was shown so; none if it was not.
pub(crate) fn shown_record(stored: &Stored) -> Option<Record> {
    let Shown { aiogram } = serde_json::from_str(&stored.value).ok()?;
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
    fn the_same_state_keeps_its_entry_and_another_is_entered_anew() {
        let first = adopted(None, &record("Order:phone", r#"{"name": "A"}"#), &mapping(), Version(3)).unwrap().unwrap();
        assert!(first.value.contains(r#""entry":3"#), "{}", first.value);
        let mut talk: Conversation = serde_json::from_str(&first.value).unwrap();
        talk.language = "ru".into();
        talk.slots[0].use_up("yes");
        let before = talk.to_stored().unwrap();
        let other_data = record("Order:phone", r#"{"name": "B"}"#);
        let same = adopted(Some(&before), &other_data, &mapping(), Version(9)).unwrap().unwrap();
        for part in [r#""entry":3"#, r#""name":"B""#, r#""used":["yes"]"#, r#""language":"ru""#] {
            assert!(same.value.contains(part), "{part} in {}", same.value);
        }
        let other = adopted(Some(&before), &record("Order:name", "{}"), &mapping(), Version(9)).unwrap().unwrap();
        assert!(other.value.contains(r#""entry":9"#) && !other.value.contains("yes"), "{}", other.value);
        assert!(other.value.contains(r#""language":"ru""#), "{}", other.value);
    }

    #[test]
    fn no_state_is_nothing_open_and_an_unknown_one_is_an_error() {
        assert_eq!(adopted(None, &record("", r#"{"only": 1}"#), &mapping(), Version(1)).unwrap(), None);
        let error = adopted(None, &record("Survey:age", "{}"), &mapping(), Version(1)).unwrap_err();
        assert_eq!(error.to_string(), "the state `Survey:age` is not mapped");
    }

    #[test]
    fn a_conversation_becomes_the_record_of_its_foreground_and_other_fields_stay_in_place() {
        let there = record("", r#"{"a": NaN, "name": "A", "z": [1]}"#).data;
        let stored = WrittenState::of(&Order::Phone { name: "B".into() }).unwrap().stored(Version(1), None).unwrap();
        let made = record_of(Some(&stored), &mapping(), &there).unwrap();
        assert_eq!(
            (&*made.state, made.data.to_string()),
            ("Order:phone", r#"{"a": NaN, "name": "B", "z": [1]}"#.into())
        );
        assert_eq!(record_of(None, &mapping(), &there).unwrap(), Record::default());
        let keeps = mapping().end(|data| {
            data.remove("name");
        });
        assert_eq!(record_of(None, &keeps, &there).unwrap(), record("", r#"{"a": NaN, "z": [1]}"#));
    }

    #[test]
    fn a_record_that_was_shown_is_read_back() {
        for (state, data) in
            [("Order:phone", r#"{"name": "A", "big": 123456789012345678901234567890}"#), ("x", r#"{"n": NaN}"#)]
        {
            let stored = shown(&record(state, data)).unwrap();
            serde_json::from_str::<serde_json::Value>(&stored.value).unwrap();
            assert_eq!(shown_record(&stored), Some(record(state, data)));
        }
        assert_eq!(shown(&record("Order:phone", "{}")).unwrap().places[0].to_string(), "Order:phone");
        assert_eq!(shown_record(&WrittenState::of(&Order::Name).unwrap().stored(Version(1), None).unwrap()), None);
    }
}
