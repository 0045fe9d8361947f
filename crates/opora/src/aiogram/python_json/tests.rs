//! JSON of Python is kept unchanged, and invalid JSON is refused.

use proptest::prelude::*;

use super::*;

/// Output of `json.dumps` with its default settings.
const WRITTEN: &[&str] = &[
    "{}",
    "[]",
    "null",
    r#"{"a": 1, "b": [true, false, null], "c": {"d": {}}}"#,
    r#"{"big": 123456789012345678901234567890, "less": -9223372036854775809}"#,
    r#"[0.1, 1e+16, 1e-05, -0.0, 1.7976931348623157e+308, NaN, Infinity, -Infinity]"#,
    r#"{"name": "\u0410\u043d\u043d\u0430", "heart": "\ud83d\ude00", "half": "\ud83d", "turned": "\ude00\ud83d"}"#,
    r#""\"\\/\b\f\n\r\t\u0000\u001f\u007f ~""#,
    r#"{"1": "a", "1": "b"}"#,
];

#[test]
fn pythons_output_is_written_back_byte_for_byte() {
    for written in WRITTEN {
        assert_eq!(Value::parse(written.as_bytes()).unwrap().to_string(), *written);
    }
}

#[test]
fn other_formatting_becomes_pythons() {
    for (other, pythons) in [
        ("{\"a\":1,\"b\":[1,2]}", "{\"a\": 1, \"b\": [1, 2]}"),
        ("\"\u{430}\u{1f600}\u{7f}\"", r#""\u0430\ud83d\ude00\u007f""#),
        (r#""\u0041\/\u00e9\uD83D\uDE00\u000a""#, r#""A/\u00e9\ud83d\ude00\n""#),
        (" \n[ 1 ,\t2 ]\r", "[1, 2]"),
    ] {
        assert_eq!(Value::parse(other.as_bytes()).unwrap().to_string(), pythons);
    }
}

#[test]
fn invalid_json_is_refused_with_its_position() {
    for (bad, at) in [
        ("", 0),
        ("{", 1),
        ("{\"a\"}", 4),
        ("{\"a\": 1,}", 8),
        ("[1 2]", 3),
        ("[1] x", 4),
        ("01", 2),
        ("1.", 2),
        ("-", 1),
        ("1e", 2),
        ("'a'", 0),
        ("\"a", 2),
        ("\"\n\"", 1),
        ("\"\\x\"", 2),
        ("\"\\u12g4\"", 2),
        ("nul", 0),
        ("+1", 0),
    ] {
        assert_eq!(Value::parse(bad.as_bytes()).unwrap_err().at, at, "{bad}");
    }
    assert_eq!(Value::parse(b"\"\xff\"").unwrap_err().at, 1);
    assert!(Data::parse(b"[]").is_err());
}

#[test]
fn only_too_deep_nesting_is_refused() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(Value::parse(nested(500).as_bytes()).unwrap().to_string(), nested(500));
    assert_eq!(Value::parse(nested(100_000).as_bytes()).unwrap_err().message, "nested too deep");
    let data = Data::parse(format!("{{\"deep\": {}}}", nested(200)).as_bytes()).unwrap();
    assert!(matches!(data.read::<serde_json::Value>("deep"), Err(DataError::NotJson { .. })));
}

#[test]
fn values_are_read_as_types() {
    let data =
        Data::parse(br#"{"n": 7, "s": "\u0410", "twice": 1, "twice": 2, "nan": [NaN], "half": "\ud83d"}"#).unwrap();
    assert_eq!(data.read::<u8>("n").unwrap(), 7);
    assert_eq!(data.read::<String>("s").unwrap(), "А");
    assert_eq!(data.read::<u8>("twice").unwrap(), 2);
    assert_eq!(data.read::<Option<u8>>("gone").unwrap(), None);
    assert!(matches!(data.read::<u8>("gone"), Err(DataError::Missing(_))));
    assert!(matches!(data.read::<u8>("s"), Err(DataError::WrongType { .. })));
    assert!(matches!(data.read::<Vec<f64>>("nan"), Err(DataError::NotJson { .. })));
    assert!(matches!(data.read::<String>("half"), Err(DataError::NotJson { .. })));
    assert!(data.read_all::<serde_json::Value>().is_err());
}

#[test]
fn a_change_leaves_the_rest_unchanged() {
    let mut data = Data::parse(br#"{"score": NaN, "name": "\u0410", "big": 36893488147419103232}"#).unwrap();
    data.set("name", "Ёж 🦔").unwrap();
    data.set("phone", &Some("+7")).unwrap();
    assert!(data.remove("big") && !data.remove("big"));
    assert_eq!(data.to_string(), r#"{"score": NaN, "name": "\u0401\u0436 \ud83e\udd94", "phone": "+7"}"#);
}

fn any_value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i128>().prop_map(|number| number.to_string()),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(|number| format!("{number:?}")),
        Just("NaN".to_owned()),
        Just("-Infinity".to_owned()),
    ];
    let half = prop::collection::vec(any::<u16>(), 0..6).prop_map(|units| {
        let mut escaped = String::new();
        for unit in units {
            match char::from_u32(unit.into()) {
                Some(character) => text::push_escaped(&mut escaped, character),
                None => text::push_escaped_unit(&mut escaped, unit),
            }
        }
        Text::from_escaped(escaped)
    });
    let text = prop_oneof![any::<String>().prop_map(|text| Text::new(&text)), half];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(|digits| Value::Number(Number(digits.into()))),
        text.clone().prop_map(Value::Text),
    ];
    leaf.prop_recursive(5, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::List),
            prop::collection::vec((text.clone(), inner), 0..8).prop_map(|entries| Value::Dict(Data { entries })),
        ]
    })
}

proptest! {
    #[test]
    fn every_value_is_parsed_back(value in any_value()) {
        let written = value.to_string();
        prop_assert!(written.is_ascii());
        let read = Value::parse(written.as_bytes()).unwrap();
        prop_assert_eq!(&read, &value);
        prop_assert_eq!(read.to_string(), written);
    }

    #[test]
    fn every_text_is_decoded_back(text in any::<String>()) {
        prop_assert_eq!(Text::new(&text).decode(), Some(text));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(value) = Value::parse(&bytes) {
            prop_assert_eq!(Value::parse(value.to_string().as_bytes()), Ok(value));
        }
    }
}
