//! Reading JSON into a type and telling what the type did not take.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Fields that the emulator sends and frankenstein 0.52 does not know, each with the reason it is sent all the same.
const UNKNOWN: &[(&str, &str)] = &[];

/// The typed value; panics if the type would lose or change a field.
pub fn read_back<T: DeserializeOwned + Serialize>(what: &str, sent: &Value) -> T {
    let typed: T =
        serde_json::from_value(sent.clone()).unwrap_or_else(|error| panic!("{what} cannot be read: {error}\n{sent:#}"));
    let read = serde_json::to_value(&typed).unwrap();
    let mut lost = Vec::new();
    compare(what, sent, &read, &mut lost);
    assert!(lost.is_empty(), "{}\n{sent:#}", lost.join("\n"));
    typed
}

fn compare(path: &str, sent: &Value, read: &Value, lost: &mut Vec<String>) {
    match (sent, read) {
        (Value::Object(sent), Value::Object(read)) => {
            for (name, value) in sent.iter().filter(|(name, _)| !is_unknown(name)) {
                match read.get(name) {
                    Some(read) => compare(&format!("{path}.{name}"), value, read, lost),
                    None => lost.push(format!("{path}.{name} is passed over: {value}")),
                }
            }
            // A null says no more than a field that is not there.
            let added = read.iter().filter(|(name, value)| !value.is_null() && !sent.contains_key(*name));
            lost.extend(added.map(|(name, value)| format!("{path}.{name} was not sent: {value}")));
        }
        (Value::Array(sent), Value::Array(read)) if sent.len() == read.len() => {
            for (at, (sent, read)) in sent.iter().zip(read).enumerate() {
                compare(&format!("{path}[{at}]"), sent, read, lost);
            }
        }
        // 55 and 55.0 are one number in JSON.
        (Value::Number(sent), Value::Number(read)) if sent.as_f64() == read.as_f64() => {}
        _ if sent == read => {}
        _ => lost.push(format!("{path}: {sent} reads as {read}")),
    }
}

fn is_unknown(name: &str) -> bool {
    UNKNOWN.iter().any(|(unknown, _)| *unknown == name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_that_a_type_loses_changes_or_invents_is_told() {
        let told = |sent: Value, read: Value| {
            let mut lost = Vec::new();
            compare("it", &sent, &read, &mut lost);
            lost
        };
        assert!(told(json!({"a": [1, {"b": 2}]}), json!({"a": [1.0, {"b": 2}]})).is_empty());
        assert_eq!(told(json!({"a": {"b": 1}}), json!({"a": {}})), ["it.a.b is passed over: 1"]);
        assert_eq!(told(json!({"a": "x"}), json!({"a": "y"})), [r#"it.a: "x" reads as "y""#]);
        assert_eq!(told(json!({}), json!({"a": 1, "b": null})), ["it.a was not sent: 1"]);
        assert_eq!(told(json!([1]), json!([])), ["it: [1] reads as []"]);
    }
}
