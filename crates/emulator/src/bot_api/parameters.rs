//! The parameters of a call, and how a typed struct is read from them.
//!
//! A parameter comes from the query, a form, a multipart part or a JSON body. Like Telegram, this module treats all of
//! them as text and parses structured ones as JSON. A method declares its parameters with a struct that implements
//! `Deserialize`; parameters that are not among its fields can be reported as unknown.

mod json;

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use self::json::{InvalidValue, Json};
use super::error::ApiError;

pub use self::json::TextOr;

/// More than twice the parameters of any method.
const MAX_PARAMETERS: usize = 100;

/// Parameters by name, in the order they came. The last of several with one name wins.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    entries: Vec<Entry>,
    too_many: bool,
}

#[derive(Clone, Debug)]
struct Entry {
    name: Box<str>,
    value: Box<str>,
    /// Not a JSON string in a JSON body: shown as JSON in the inspector.
    raw: bool,
}

impl Parameters {
    pub fn add_text(&mut self, name: &str, value: impl Into<Box<str>>) {
        self.put(Entry { name: name.into(), value: value.into(), raw: false });
    }

    /// Adds every member of a JSON object.
    pub fn add_json(&mut self, body: &[u8]) -> Result<(), ApiError> {
        struct Members<'a>(&'a mut Parameters);
        impl<'de> Visitor<'de> for Members<'_> {
            type Value = ();
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
                while let Some(name) = map.next_key::<String>()? {
                    let value = map.next_value::<&RawValue>()?.get();
                    if value.starts_with('"') {
                        let text: String = serde_json::from_str(value).map_err(de::Error::custom)?;
                        self.0.add_text(&name, text);
                    } else if value != "null" {
                        self.0.put(Entry { name: name.into(), value: value.into(), raw: true });
                    }
                }
                Ok(())
            }
        }
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let mut reader = serde_json::Deserializer::from_slice(body);
        de::Deserializer::deserialize_map(&mut reader, Members(self))
            .and_then(|()| reader.end())
            .map_err(|_| ApiError::bad_request("can't parse JSON object"))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.entries.iter().find(|entry| &*entry.name == name).map(|entry| &*entry.value)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| &*entry.name)
    }

    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| &*entry.value)
    }

    /// The length of all names and values.
    pub fn bytes(&self) -> usize {
        self.entries.iter().map(|entry| entry.name.len() + entry.value.len()).sum()
    }

    /// Cuts values and names that are too long for the log.
    pub fn shorten(&mut self, most: usize) {
        for text in self.entries.iter_mut().flat_map(|entry| [&mut entry.name, &mut entry.value]) {
            if text.len() > most {
                let mut short = String::from(std::mem::take(text));
                super::call::shorten(&mut short, most);
                *text = short.into();
            }
        }
    }

    /// Removes a parameter and returns its value.
    pub fn take(&mut self, name: &str) -> Option<Box<str>> {
        let at = self.entries.iter().position(|entry| &*entry.name == name)?;
        Some(self.entries.remove(at).value)
    }

    /// Reads the struct `T`, each field from the parameter of its name.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        T::deserialize(Fields { parameters: self }).map_err(|error| ApiError::bad_request(error.0))
    }

    /// For the inspector: an object with structured values as JSON and the rest as text.
    pub fn to_json(&self) -> serde_json::Value {
        let shown = |entry: &Entry| {
            let structured = entry.raw || entry.value.starts_with(['{', '[']);
            let json = structured.then(|| serde_json::from_str(&entry.value).ok()).flatten();
            (entry.name.to_string(), json.unwrap_or_else(|| entry.value.to_string().into()))
        };
        self.entries.iter().map(shown).collect::<serde_json::Map<_, _>>().into()
    }

    /// Refuses a call with more parameters than any method has.
    pub fn check(&self) -> Result<(), ApiError> {
        if self.too_many { Err(ApiError::bad_request("too many parameters")) } else { Ok(()) }
    }

    fn put(&mut self, entry: Entry) {
        match self.entries.iter().position(|known| known.name == entry.name) {
            Some(place) => self.entries[place] = entry,
            // Each new parameter is compared with all others, so their number must stay small.
            None if self.entries.len() >= MAX_PARAMETERS => self.too_many = true,
            None => self.entries.push(entry),
        }
    }
}

/// The names of the fields of `T`, to report unknown parameters and to compare with a schema.
pub fn names_of<T: DeserializeOwned>() -> &'static [&'static str] {
    struct Probe<'a>(&'a mut &'static [&'static str]);
    impl<'de> de::Deserializer<'de> for Probe<'_> {
        type Error = Malformed;
        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Malformed> {
            Err(Malformed(String::new()))
        }
        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Malformed> {
            *self.0 = fields;
            Err(Malformed(String::new()))
        }
        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
            unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }
    let mut names: &'static [&'static str] = &[];
    // The probe always fails. Before that, serde passes it the names.
    let _ = T::deserialize(Probe(&mut names));
    names
}

/// `reply_markup`, an object in nearly every call. If it is well-formed, it is read directly from its text. Otherwise
/// it is read a second time, more slowly, for Telegram's error message.
#[derive(Debug)]
pub struct QuickMarkup<T>(pub T);

impl<'de, T: DeserializeOwned> de::Deserialize<'de> for QuickMarkup<T> {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text<T>(std::marker::PhantomData<T>);
        impl<T: DeserializeOwned> Visitor<'_> for Text<T> {
            type Value = T;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an Object")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
                // Serde also reads an object from an array; Telegram does not.
                let quick = text.starts_with('{').then(|| serde_json::from_str(text).ok()).flatten();
                quick.map_or_else(|| T::deserialize(Field { name: "reply_markup", text }).map_err(E::custom), Ok)
            }
        }
        deserializer.deserialize_str(Text(std::marker::PhantomData)).map(Self)
    }
}

/// A parameter that Telegram knows and the emulator ignores.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ignored;

impl<'de> de::Deserialize<'de> for Ignored {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Anything;
        impl Visitor<'_> for Anything {
            type Value = Ignored;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_str<E>(self, _: &str) -> Result<Ignored, E> {
                Ok(Ignored)
            }
        }
        deserializer.deserialize_str(Anything)
    }
}

/// Why a parameter could not be read, as Telegram words it.
#[derive(Debug)]
pub struct Malformed(String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

impl de::Error for Malformed {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }

    fn missing_field(field: &'static str) -> Self {
        Self(match field {
            "chat_id" | "from_chat_id" => format!("{field} is empty"),
            "text" => "message text is empty".to_owned(),
            "message_id" => "message identifier is not specified".to_owned(),
            _ => format!("parameter \"{field}\" is required"),
        })
    }
}

/// The whole call as a struct.
struct Fields<'a> {
    parameters: &'a Parameters,
}

impl<'de> de::Deserializer<'de> for Fields<'de> {
    type Error = Malformed;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        visitor.visit_unit()
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        visitor.visit_map(FieldAccess { parameters: self.parameters, fields: fields.iter(), value: None })
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

struct FieldAccess<'a> {
    parameters: &'a Parameters,
    fields: std::slice::Iter<'static, &'static str>,
    value: Option<(&'static str, &'a str)>,
}

impl<'de> MapAccess<'de> for FieldAccess<'de> {
    type Error = Malformed;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Malformed> {
        for field in self.fields.by_ref() {
            // Telegram treats an empty value like a missing one.
            let Some(value) = self.parameters.get(field).filter(|value| !value.is_empty()) else {
                continue;
            };
            self.value = Some((field, value));
            let name: StrDeserializer<'_, Malformed> = (*field).into_deserializer();
            return seed.deserialize(name).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Malformed> {
        let Some((name, text)) = self.value.take() else {
            return Err(de::Error::custom("value asked for before its name"));
        };
        seed.deserialize(Field { name, text })
    }
}

/// One parameter's text, read as whatever type its field has.
struct Field<'a> {
    name: &'static str,
    text: &'a str,
}

impl<'de> Field<'de> {
    fn number<T: std::str::FromStr>(&self) -> Result<T, Malformed> {
        let number = self.text.trim().parse();
        number.map_err(|_| Malformed(format!("field \"{}\" must be of type Number", self.name)))
    }

    /// Parses the text as JSON and reads the type of the field from it.
    fn json<T>(&self, read: impl FnOnce(Json<'_>) -> Result<T, InvalidValue>) -> Result<T, Malformed> {
        let value = serde_json::from_str(self.text).map_err(|_| self.unparsable())?;
        read(Json::parameter(self.name, &value)).map_err(|error| Malformed(error.to_string()))
    }

    fn unparsable(&self) -> Malformed {
        let what =
            if self.name == "reply_markup" { "reply keyboard markup".to_owned() } else { json::in_words(self.name) };
        Malformed(format!("can't parse {what} JSON object"))
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
            visitor.$visit(self.number()?)
        }
    )*};
}

impl<'de> de::Deserializer<'de> for Field<'de> {
    type Error = Malformed;

    numbers! {
        deserialize_i8 visit_i8, deserialize_i16 visit_i16, deserialize_i32 visit_i32, deserialize_i64 visit_i64,
        deserialize_u8 visit_u8, deserialize_u16 visit_u16, deserialize_u32 visit_u32, deserialize_u64 visit_u64,
        deserialize_f32 visit_f32, deserialize_f64 visit_f64
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        self.json(|json| json.deserialize_any(visitor))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        self.json(|json| json.deserialize_seq(visitor))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        self.json(|json| json.deserialize_map(visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        self.deserialize_map(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        let text = self.text.trim();
        visitor.visit_bool(["true", "yes", "1"].iter().any(|yes| text.eq_ignore_ascii_case(yes)))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        visitor.visit_str(self.text)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        visitor.visit_str(self.text)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Malformed> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        let text: StrDeserializer<'_, Malformed> = self.text.into_deserializer();
        text.deserialize_enum(name, variants, visitor)
    }

    serde::forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Sample {
        chat_id: i64,
        text: String,
        flag: Option<bool>,
        list: Option<Vec<i64>>,
    }

    fn sample(fill: impl FnOnce(&mut Parameters)) -> Result<Sample, String> {
        let mut parameters = Parameters::default();
        fill(&mut parameters);
        parameters.read().map_err(|error| error.description.into_owned())
    }

    #[test]
    fn a_form_and_a_json_body_read_alike() {
        let form = sample(|it| {
            it.add_text("chat_id", "5");
            it.add_text("text", "hi");
            it.add_text("flag", "True");
            it.add_text("list", "[1,2]");
        });
        let json = sample(|it| {
            it.add_json(br#"{"chat_id":"5","text":"hi","flag":true,"list":[1,2],"other":null}"#).unwrap_or_default();
        });
        assert_eq!(form, json);
        assert_eq!(form, Ok(Sample { chat_id: 5, text: "hi".into(), flag: Some(true), list: Some(vec![1, 2]) }));
    }

    #[test]
    fn errors_are_worded_as_by_telegram() {
        let no_text = sample(|it| it.add_text("chat_id", "5"));
        assert_eq!(no_text, Err("Bad Request: message text is empty".into()));
        let bad_number = sample(|it| it.add_text("chat_id", "five"));
        assert_eq!(bad_number, Err("Bad Request: field \"chat_id\" must be of type Number".into()));
        let bad_list = sample(|it| {
            it.add_json(br#"{"chat_id":1,"text":"x","list":"[1,"}"#).unwrap_or_default();
        });
        assert_eq!(bad_list, Err("Bad Request: can't parse list JSON object".into()));
        let not_an_object = Parameters::default().add_json(b"[1]");
        assert_eq!(not_an_object, Err(ApiError::bad_request("can't parse JSON object")));
    }

    #[test]
    fn the_names_of_a_struct_are_found() {
        assert_eq!(names_of::<Sample>(), ["chat_id", "text", "flag", "list"]);
    }
}
