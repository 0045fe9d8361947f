//! A description of the Bot API: its methods and types, and whether a value is of a type.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

/// Fields that are sent although the description does not have them.
const NEWER: &[&str] = &[
    // Of administrators; frankenstein 0.52, which is ahead of Bot API 10.1, cannot read one without it.
    "can_send_welcome_messages",
];

pub struct Description {
    json: Value,
}

impl Description {
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read(path).unwrap_or_else(|error| panic!("BOTAPI_SCHEMA, {}: {error}", path.display()));
        Self::new(serde_json::from_slice(&text).unwrap())
    }

    pub fn new(json: Value) -> Self {
        Self { json }
    }

    pub fn methods(&self) -> impl Iterator<Item = &str> {
        self.json["methods"].as_object().unwrap().keys().map(String::as_str)
    }

    pub fn parameters(&self, method: &str) -> impl Iterator<Item = &str> {
        list(&self.json["methods"][method]["fields"]).iter().map(|field| text(&field["name"]))
    }

    /// Checks the result of a method.
    pub fn check_answer(&self, method: &str, result: &Value, complaints: &mut BTreeSet<String>) {
        let returns = texts(&self.json["methods"][method]["returns"]);
        self.check_any(method, &returns, result, complaints);
    }

    /// Checks a value of a type.
    pub fn check(&self, kind: &str, value: &Value, complaints: &mut BTreeSet<String>) {
        self.check_any(kind, &[kind], value, complaints);
    }

    /// The value must be of one of these types. Where there is only one, it is said what exactly is wrong.
    fn check_any(&self, path: &str, kinds: &[&str], value: &Value, complaints: &mut BTreeSet<String>) {
        if let [kind] = kinds {
            return self.check_one(path, kind, value, complaints);
        }
        let fits = |kind: &&str| {
            let mut complaints = BTreeSet::new();
            self.check_one(path, kind, value, &mut complaints);
            complaints.is_empty()
        };
        if !kinds.iter().any(fits) {
            complaints.insert(format!("{path} is not {}: {value}", kinds.join(" or ")));
        }
    }

    fn check_one(&self, path: &str, kind: &str, value: &Value, complaints: &mut BTreeSet<String>) {
        let fits = match kind {
            "Integer" => value.is_i64(),
            "Float" => value.is_number(),
            "String" => value.is_string(),
            "Boolean" => value.is_boolean(),
            "True" => value == &Value::Bool(true),
            _ => match (kind.strip_prefix("Array of "), value) {
                (Some(of), Value::Array(items)) => {
                    let path = format!("{path}[]");
                    return items.iter().for_each(|item| self.check_one(&path, of, item, complaints));
                }
                (Some(_), _) => false,
                (None, _) => return self.check_named(path, kind, value, complaints),
            },
        };
        if !fits {
            complaints.insert(format!("{path} is not {kind}: {value}"));
        }
    }

    fn check_named(&self, path: &str, kind: &str, value: &Value, complaints: &mut BTreeSet<String>) {
        let described = &self.json["types"][kind];
        assert!(described.is_object(), "{path}: the description has no type {kind}");
        let subtypes = texts(&described["subtypes"]);
        if !subtypes.is_empty() {
            let mut inner = BTreeSet::new();
            self.check_any(path, &subtypes, value, &mut inner);
            if !inner.is_empty() {
                complaints.insert(format!("{path} is not {kind}: {value}"));
            }
            return;
        }
        let Value::Object(object) = value else {
            complaints.insert(format!("{path} is not {kind}: {value}"));
            return;
        };
        let fields = list(&described["fields"]);
        for field in fields {
            let name = text(&field["name"]);
            match object.get(name) {
                Some(inner) => self.check_any(&format!("{path}.{name}"), &texts(&field["types"]), inner, complaints),
                None if field["required"] == true => drop(complaints.insert(format!("{path}.{name} is missing"))),
                None => {}
            }
        }
        let known = |name: &str| NEWER.contains(&name) || fields.iter().any(|field| field["name"] == name);
        let unknown = object.keys().filter(|name| !known(name));
        complaints.extend(unknown.map(|name| format!("{path}.{name} is unknown")));
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn texts(value: &Value) -> Vec<&str> {
    list(value).iter().map(text).collect()
}
