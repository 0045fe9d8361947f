//! Parameters that are JSON objects or arrays, read into structs, with Telegram's error messages.
//!
//! As in Telegram, an object cannot be given as an array of its values, a number may be a string and a string a number,
//! and `null` means absent. Errors name fields and never types of this program.

use std::fmt;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{self, DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A value and its position in the parameter.
#[derive(Clone, Copy, Debug)]
pub struct Json<'a> {
    /// The field of the value, or of the array that it is in.
    name: &'a str,
    place: Place,
    value: &'a Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Parameter,
    Field,
    Item,
}

/// An object or, as a shorthand, its text alone.
#[derive(Debug)]
pub enum TextOr<T> {
    Text(String),
    Full(T),
}

/// Why a value could not be read.
#[derive(Debug)]
pub struct InvalidValue {
    text: String,
    /// Whether the text already names the position of the value.
    placed: bool,
}

impl InvalidValue {
    fn placed(text: String) -> Self {
        Self { text, placed: true }
    }
}

impl<'a> Json<'a> {
    pub fn parameter(name: &'a str, value: &'a Value) -> Self {
        Self { name, place: Place::Parameter, value }
    }

    /// The error for a value that is not of this kind.
    fn invalid(&self, kind: &str) -> InvalidValue {
        let name = self.name;
        match (self.place, kind, item_of(name)) {
            (Place::Parameter, "Array", Some(item)) => InvalidValue::placed(format!("Expected an Array of {item}")),
            (Place::Parameter, "Object", None) => {
                InvalidValue::placed(format!("Object expected as {}", in_words(name)))
            }
            (Place::Parameter | Place::Item, "Object", Some(_)) => self.within(de::Error::custom("expected an Object")),
            (Place::Item, _, _) => InvalidValue::placed(format!("Field \"{name}\" must be an Array of {kind}s")),
            _ => de::Error::custom(format_args!("Field \"{name}\" must be of type {kind}")),
        }
    }

    /// Adds to an error which kind of object it is in.
    fn within(&self, error: InvalidValue) -> InvalidValue {
        match item_of(self.name) {
            Some(item) if self.place != Place::Field && !error.placed => {
                InvalidValue::placed(format!("Can't parse {item}: {}", error.text))
            }
            _ => error,
        }
    }

    fn object<'de, V: Visitor<'de>>(
        self,
        fields: &'a Map<String, Value>,
        visitor: V,
    ) -> Result<V::Value, InvalidValue> {
        visitor.visit_map(Fields { left: fields.iter(), value: None }).map_err(|error| self.within(error))
    }

    fn number<T: std::str::FromStr>(&self) -> Result<T, InvalidValue> {
        let number = match self.value {
            Value::Number(number) => number.to_string().parse().ok(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| self.invalid("Number"))
    }
}

/// What Telegram calls the items of an array in an error.
fn item_of(name: &str) -> Option<&'static str> {
    match name {
        "inline_keyboard" => Some("inline keyboard button"),
        "keyboard" => Some("keyboard button"),
        "commands" => Some("BotCommand"),
        "options" => Some("InputPollOption"),
        "media" => Some("InputMedia"),
        "reaction" => Some("ReactionType"),
        _ if name.ends_with("entities") => Some("MessageEntity"),
        _ => None,
    }
}

/// The name of a parameter as Telegram writes it in an error.
pub fn in_words(name: &str) -> String {
    name.replace('_', " ")
}

macro_rules! numbers {
    ($($method:ident $visit:ident),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidValue> {
            visitor.$visit(self.number()?)
        }
    )*};
}

impl<'de> Deserializer<'de> for Json<'_> {
    type Error = InvalidValue;

    numbers! {
        deserialize_i8 visit_i8, deserialize_i16 visit_i16, deserialize_i32 visit_i32, deserialize_i64 visit_i64,
        deserialize_u8 visit_u8, deserialize_u16 visit_u16, deserialize_u32 visit_u32, deserialize_u64 visit_u64,
        deserialize_f32 visit_f32, deserialize_f64 visit_f64
    }

    /// For values that may be an object or something simpler. An array is refused: serde would read an object from it.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidValue> {
        match self.value {
            Value::Object(fields) => self.object(fields, visitor),
            Value::Array(_) if self.place != Place::Field => Err(self.invalid("Object")),
            Value::Array(items) => visitor.visit_seq(Items { name: self.name, left: items.iter() }),
            Value::String(text) => visitor.visit_str(text),
            plain => plain.clone().deserialize_any(visitor).map_err(|_| self.invalid("Object")),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidValue> {
        visitor.visit_bool(self.value.as_bool().ok_or_else(|| self.invalid("Boolean"))?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidValue> {
        match self.value {
            Value::String(text) => visitor.visit_str(text),
            Value::Number(number) => visitor.visit_string(number.to_string()),
            _ => Err(self.invalid("String")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidValue> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidValue> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidValue> {
        let items = self.value.as_array().ok_or_else(|| self.invalid("Array"))?;
        visitor.visit_seq(Items { name: self.name, left: items.iter() })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidValue> {
        let fields = self.value.as_object().ok_or_else(|| self.invalid("Object"))?;
        self.object(fields, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InvalidValue> {
        self.deserialize_map(visitor)
    }

    /// For values that are kept as raw JSON, which only serde_json can read.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, InvalidValue> {
        self.value.clone().deserialize_newtype_struct(name, visitor).map_err(|_| self.invalid("Object"))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InvalidValue> {
        let text = self.value.as_str().ok_or_else(|| self.invalid("String"))?;
        let text: StrDeserializer<'_, InvalidValue> = text.into_deserializer();
        text.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidValue> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct identifier
    }
}

struct Fields<'a> {
    left: serde_json::map::Iter<'a>,
    value: Option<Json<'a>>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = InvalidValue;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, InvalidValue> {
        let Some((name, value)) = self.left.next() else { return Ok(None) };
        self.value = Some(Json { name, place: Place::Field, value });
        let name: StrDeserializer<'_, InvalidValue> = name.as_str().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, InvalidValue> {
        let value = self.value.take().ok_or_else(|| de::Error::custom("value asked for before its name"))?;
        seed.deserialize(value)
    }
}

struct Items<'a> {
    name: &'a str,
    left: std::slice::Iter<'a, Value>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = InvalidValue;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, InvalidValue> {
        let Some(value) = self.left.next() else { return Ok(None) };
        let item = Json { name: self.name, place: Place::Item, value };
        seed.deserialize(item).map(Some).map_err(|error| item.within(error))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for TextOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = TextOr<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an Object")
            }
            fn visit_str<E>(self, text: &str) -> Result<TextOr<T>, E> {
                Ok(TextOr::Text(text.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<TextOr<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(fields)).map(TextOr::Full)
            }
        }
        deserializer.deserialize_any(Either(std::marker::PhantomData))
    }
}

impl fmt::Display for InvalidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for InvalidValue {}

impl de::Error for InvalidValue {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { text: message.to_string(), placed: false }
    }

    fn invalid_type(_: de::Unexpected<'_>, expected: &dyn Expected) -> Self {
        // Happens only for types that serde reads in two steps, such as an object with a type tag.
        Self::custom(match expected.to_string().as_str() {
            "a string" => "expected a String",
            "a boolean" => "expected a Boolean",
            "i32" | "i64" | "u32" | "u64" | "f64" => "expected a Number",
            _ => "expected an Object",
        })
    }

    fn missing_field(field: &'static str) -> Self {
        Self::custom(format_args!("Can't find field \"{field}\""))
    }

    fn unknown_variant(variant: &str, _: &'static [&'static str]) -> Self {
        Self::custom(format_args!("unsupported type \"{variant}\" specified"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::super::Parameters;
    use super::*;

    #[allow(dead_code, reason = "some are only there to be refused")]
    #[derive(Debug, Deserialize)]
    struct Sample {
        reply_markup: Option<Markup>,
        commands: Option<Vec<Command>>,
        options: Option<Vec<TextOr<Command>>>,
        allowed_updates: Option<Vec<String>>,
    }

    #[allow(dead_code, reason = "some are only there to be refused")]
    #[derive(Debug, Deserialize)]
    struct Markup {
        inline_keyboard: Option<Vec<Vec<Command>>>,
        selective: Option<bool>,
    }

    #[derive(Debug, Deserialize)]
    struct Command {
        text: String,
        size: Option<i32>,
        web_app: Option<Box<RawValue>>,
    }

    fn read(name: &str, json: &str) -> Result<Sample, String> {
        let mut parameters = Parameters::default();
        parameters.add_text(name, json);
        parameters.read().map_err(|error| error.description.into_owned())
    }

    #[test]
    fn errors_name_no_types_of_this_program() {
        let nine = format!("[{}]", ["null"; 9].join(","));
        let expected_markup = "object expected as reply markup";
        let button = "can't parse inline keyboard button:";
        for (name, json, expected) in [
            ("reply_markup", "[]", expected_markup.to_owned()),
            ("reply_markup", &nine, expected_markup.to_owned()),
            ("reply_markup", "5", expected_markup.to_owned()),
            ("reply_markup", "null", expected_markup.to_owned()),
            ("reply_markup", "{", "can't parse reply keyboard markup JSON object".to_owned()),
            (
                "reply_markup",
                r#"{"inline_keyboard":"x"}"#,
                r#"field "inline_keyboard" must be of type Array"#.to_owned(),
            ),
            (
                "reply_markup",
                r#"{"inline_keyboard":[{}]}"#,
                r#"field "inline_keyboard" must be an Array of Arrays"#.to_owned(),
            ),
            ("reply_markup", r#"{"inline_keyboard":[[["x"]]]}"#, format!("{button} expected an Object")),
            ("reply_markup", r#"{"inline_keyboard":[[{}]]}"#, format!(r#"{button} Can't find field "text""#)),
            (
                "reply_markup",
                r#"{"inline_keyboard":[[{"text":[]}]]}"#,
                format!(r#"{button} Field "text" must be of type String"#),
            ),
            ("reply_markup", r#"{"selective":"yes"}"#, r#"field "selective" must be of type Boolean"#.to_owned()),
            ("commands", "{}", "expected an Array of BotCommand".to_owned()),
            ("commands", "[null]", "can't parse BotCommand: expected an Object".to_owned()),
            ("options", "[[]]", "can't parse InputPollOption: expected an Object".to_owned()),
            ("options", "[7]", "can't parse InputPollOption: expected an Object".to_owned()),
            (
                "options",
                r#"[{"text":"x","size":"y"}]"#,
                r#"can't parse InputPollOption: Field "size" must be of type Number"#.to_owned(),
            ),
            ("allowed_updates", "[{}]", r#"field "allowed_updates" must be an Array of Strings"#.to_owned()),
            ("allowed_updates", "x", "can't parse allowed updates JSON object".to_owned()),
        ] {
            assert_eq!(read(name, json).err(), Some(format!("Bad Request: {expected}")), "{name}={json}");
        }
    }

    #[test]
    fn numbers_may_be_strings_and_null_means_absent() {
        let read = read("commands", r#"[{"text":5,"size":"-7","web_app":{"url":"u"}},{"text":"x","size":null}]"#);
        let commands = read.ok().and_then(|sample| sample.commands).unwrap_or_default();
        let read: Vec<_> = commands.iter().map(|it| (&*it.text, it.size)).collect();
        assert_eq!(read, [("5", Some(-7)), ("x", None)]);
        assert_eq!(commands[0].web_app.as_ref().map(|raw| raw.get()), Some(r#"{"url":"u"}"#));
    }

    #[test]
    fn a_text_stands_for_an_object() {
        let options = read("options", r#"["a",{"text":"b"}]"#).ok().and_then(|sample| sample.options);
        let texts = options.unwrap_or_default().into_iter().map(|option| match option {
            TextOr::Text(text) => text,
            TextOr::Full(full) => full.text,
        });
        assert_eq!(texts.collect::<Vec<_>>(), ["a", "b"]);
    }
}
