//! The dialogue map: the file that tells this tool, which knows no bot's types, what aiogram's states mean.
//!
//! ```json
//! {
//!   "dialogues": {"create_order": {"version": 1, "tag": "at", "rename_all": "snake_case"}},
//!   "states": {
//!     "CreateOrderStates:client_name": {"dialogue": "create_order", "state": "client_name", "fields": {}},
//!     "CreateOrderStates:client_phone": {
//!       "dialogue": "create_order", "state": "client_phone",
//!       "fields": {"name": "client_name"}, "optional": ["note"], "values": {"attempts": 0}
//!     }
//!   }
//! }
//! ```
//!
//! A dialogue repeats `#[states(..)]` and `#[serde(..)]` of its enum. A state takes `fields` from the data, each by its
//! name in the data; without `fields` it takes all of the data by the same names. Empty `fields` make a state without
//! fields.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use opora::aiogram::{Data, DataError, Record, Translate, TranslateError};
use opora::dialogue::WrittenState;
use opora::store::StateName;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

/// What aiogram's states mean.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DialogueMap {
    #[serde(default)]
    dialogues: BTreeMap<String, StateFormat>,
    states: BTreeMap<String, Target>,
}

/// How a dialogue's states are serialized.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct StateFormat {
    version: Option<u32>,
    tag: Option<String>,
    content: Option<String>,
    rename_all: Option<RenameAll>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RenameAll {
    SnakeCase,
}

/// The state that an aiogram state becomes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    dialogue: String,
    state: String,
    /// The variant's name for serde, if the dialogue's format does not tell.
    variant: Option<String>,
    /// Names of the state's fields, and their names in the data.
    fields: Option<BTreeMap<String, String>>,
    /// Fields that may be missing in the data.
    #[serde(default)]
    optional: Vec<String>,
    /// Values of fields that the data does not have.
    #[serde(default)]
    values: BTreeMap<String, Box<RawValue>>,
}

/// Names and values in JSON.
struct Object(Vec<(String, Box<RawValue>)>);

impl DialogueMap {
    pub async fn read(file: &Path) -> anyhow::Result<Self> {
        let text = tokio::fs::read(file).await.with_context(|| format!("cannot read {}", file.display()))?;
        let map: Self =
            serde_json::from_slice(&text).with_context(|| format!("{} is not a dialogue map", file.display()))?;
        map.check().with_context(|| format!("{} cannot be used", file.display()))?;
        Ok(map)
    }

    fn check(&self) -> anyhow::Result<()> {
        if let Some((name, _)) =
            self.dialogues.iter().find(|(_, format)| format.content.is_some() && format.tag.is_none())
        {
            bail!("the dialogue {name} has `content` but no `tag`");
        }
        for (name, target) in &self.states {
            let known = target.fields.iter().flat_map(BTreeMap::keys);
            let unknown = target.optional.iter().find(|field| !known.clone().any(|known| known == *field));
            if let Some(field) = unknown {
                bail!("{name}: the optional field {field} is not one of its fields");
            }
        }
        Ok(())
    }
}

impl Translate for DialogueMap {
    fn translate(&self, record: &Record) -> Result<WrittenState, TranslateError> {
        let target = self.states.get(&*record.state).ok_or_else(|| TranslateError::NotMapped(record.state.clone()))?;
        let format = self.dialogues.get(&target.dialogue).cloned().unwrap_or_default();
        let state = target.fields(&record.data).and_then(|fields| format.write(target, fields));
        let state = state.map_err(|error| TranslateError::InvalidData { state: record.state.clone(), error })?;
        let name = StateName { dialogue: (*target.dialogue).into(), state: (*target.state).into() };
        Ok(WrittenState { name, schema: format.version.unwrap_or(1), state })
    }
}

impl Target {
    fn fields(&self, data: &Data) -> Result<Vec<(String, Box<RawValue>)>, DataError> {
        let mut taken = BTreeMap::new();
        match &self.fields {
            Some(fields) => {
                for (field, name) in fields {
                    match data.get(name) {
                        Some(value) => drop(taken.insert(field.clone(), raw(value.to_json(name)?)?)),
                        None if self.optional.contains(field) => {}
                        None => return Err(DataError::Missing((**name).into())),
                    }
                }
            }
            None => {
                for (name, value) in data.iter() {
                    let json = value.to_json(&name.to_string())?;
                    let name = name.decode().ok_or_else(|| other("a field has half a character in its name"))?;
                    taken.insert(name, raw(json)?);
                }
            }
        }
        taken.extend(self.values.clone());
        Ok(taken.into_iter().collect())
    }

    /// Whether the state has no fields at all.
    fn has_no_fields(&self) -> bool {
        self.values.is_empty() && self.fields.as_ref().is_some_and(BTreeMap::is_empty)
    }
}

impl StateFormat {
    fn write(&self, target: &Target, fields: Vec<(String, Box<RawValue>)>) -> Result<Box<RawValue>, DataError> {
        let variant = to_raw(&self.variant(target))?;
        let object = match (&self.tag, &self.content) {
            (None, _) if target.has_no_fields() => return Ok(variant),
            (None, _) => Object(vec![(self.variant(target), to_raw(&Object(fields))?)]),
            (Some(tag), Some(content)) => {
                let content =
                    (!target.has_no_fields()).then(|| Ok::<_, DataError>((content.clone(), to_raw(&Object(fields))?)));
                Object([(tag.clone(), variant)].into_iter().chain(content.transpose()?).collect())
            }
            (Some(tag), None) => {
                if fields.iter().any(|(name, _)| name == tag) {
                    return Err(other("a field has the name of the tag"));
                }
                Object([(tag.clone(), variant)].into_iter().chain(fields).collect())
            }
        };
        to_raw(&object)
    }

    fn variant(&self, target: &Target) -> String {
        match (&target.variant, self.rename_all) {
            (Some(variant), _) => variant.clone(),
            (None, Some(RenameAll::SnakeCase)) => target.state.clone(),
            (None, None) => camel_case(&target.state),
        }
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// A variant's usual name: `client_phone` becomes `ClientPhone`.
fn camel_case(state: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
    };
    state.split('_').map(word).collect()
}

fn raw(json: String) -> Result<Box<RawValue>, DataError> {
    RawValue::from_string(json).map_err(|error| DataError::Other(error.into()))
}

fn to_raw(value: &impl Serialize) -> Result<Box<RawValue>, DataError> {
    serde_json::value::to_raw_value(value).map_err(|error| DataError::Other(error.into()))
}

fn other(why: &str) -> DataError {
    DataError::Other(why.into())
}

#[cfg(test)]
mod tests {
    use opora::prelude::*;

    use super::*;

    fn state(map: &str, name: &str, data: &str) -> Result<String, String> {
        let map: DialogueMap = serde_json::from_str(map).map_err(|error| error.to_string())?;
        map.check().map_err(|error| error.to_string())?;
        let record = Record { state: name.into(), data: Data::parse(data.as_bytes()).unwrap() };
        map.translate(&record).map(|state| state.state.get().to_owned()).map_err(|error| error.to_string())
    }

    #[derive(Debug, Serialize, Deserialize, PartialEq)]
    enum Plain {
        ClientName,
        ClientPhone { name: String, big: u128 },
    }

    #[derive(Debug, Serialize, Deserialize, PartialEq)]
    #[serde(tag = "at", rename_all = "snake_case")]
    enum Tagged {
        ClientName,
        ClientPhone { name: String, note: Option<String> },
    }

    #[test]
    fn serde_reads_externally_tagged_states() {
        let map = r#"{"states": {
            "A:name": {"dialogue": "order", "state": "client_name", "fields": {}},
            "A:phone": {"dialogue": "order", "state": "client_phone"}}}"#;
        let read = |name, data| serde_json::from_str::<Plain>(&state(map, name, data).unwrap()).unwrap();
        assert_eq!(read("A:name", r#"{"rest": NaN}"#), Plain::ClientName);
        let phone = read("A:phone", r#"{"name": "\u0410", "big": 36893488147419103232}"#);
        assert_eq!(phone, Plain::ClientPhone { name: "А".into(), big: 1 << 65 });
    }

    #[test]
    fn serde_reads_internally_tagged_states() {
        let map = r#"{"dialogues": {"order": {"tag": "at", "rename_all": "snake_case"}}, "states": {
            "A:name": {"dialogue": "order", "state": "client_name"},
            "A:phone": {"dialogue": "order", "state": "client_phone",
                        "fields": {"name": "client", "note": "n"}, "optional": ["note"]}}}"#;
        let read = |name, data| serde_json::from_str::<Tagged>(&state(map, name, data).unwrap()).unwrap();
        assert_eq!(read("A:name", r#"{"rest": 1}"#), Tagged::ClientName);
        assert_eq!(read("A:phone", r#"{"client": "A"}"#), Tagged::ClientPhone { name: "A".into(), note: None });
        assert_eq!(state(map, "A:phone", "{}").unwrap_err(), "in the state `A:phone`: there is no `client`");
        assert!(state(map, "A:name", r#"{"at": 1}"#).unwrap_err().contains("name of the tag"));
        assert!(state(map, "A:name", r#"{"x": [NaN]}"#).unwrap_err().contains("`x` is NaN"));
    }

    #[test]
    fn adjacent_tags_variants_and_values_are_written() {
        let map = r#"{"dialogues": {"order": {"tag": "t", "content": "c"}}, "states": {
            "A:x": {"dialogue": "order", "state": "x", "variant": "Own", "fields": {}, "values": {"n": 0}}}}"#;
        assert_eq!(state(map, "A:x", "{}").unwrap(), r#"{"t":"Own","c":{"n":0}}"#);
    }

    #[test]
    fn a_map_with_a_mistake_is_refused() {
        for bad in [
            r#"{"states": {"A:x": {"dialogue": "order"}}}"#,
            r#"{"states": {"A:x": {"dialogue": "order", "state": "x", "field": {}}}}"#,
            r#"{"states": {"A:x": {"dialogue": "order", "state": "x", "optional": ["y"]}}}"#,
            r#"{"dialogues": {"order": {"content": "c"}}, "states": {}}"#,
        ] {
            assert!(state(bad, "A:x", "{}").is_err(), "{bad}");
        }
    }
}
