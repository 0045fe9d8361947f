//! What staff did, as whoever looks reads it.
//!
//! The sentence of an action is found by its name; what the line knows besides is put in by name. A test finds actions
//! without a sentence. What no sentence is there for, such as a line of a newer version, is told as it was written.

use std::borrow::Cow;

use fluent_templates::fluent_bundle::FluentValue;
use serde_json::Value;

use super::Line;
use crate::person::{Permission, Role, role_name, status_name};
use crate::texts::{Language, Values};

/// The key of the sentence of an action: `audit-role-granted` of `role granted`.
pub fn key(action: &str) -> String {
    format!("audit-{}", action.replace(' ', "-"))
}

/// A line as a sentence.
pub fn in_words(line: &Line, language: Language) -> String {
    let details = line.detail.as_object().into_iter().flatten();
    let values: Values<'_> =
        details.map(|(name, value)| (Cow::Owned(name.clone()), told(name, value, language))).collect();
    language.find_text(&key(&line.action), &values).unwrap_or_else(|| line.action.clone())
}

/// What a manager may do, as people call it.
fn permissions(value: &Value, language: Language) -> String {
    let names = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    let words: Vec<String> = names
        .map(|name| name.parse::<Permission>().map_or_else(|_| name.to_owned(), |one| one.words(language)))
        .collect();
    if words.is_empty() { "–".to_owned() } else { words.join(", ") }
}

/// A detail as people say it: roles and states have names.
fn told(name: &str, value: &Value, language: Language) -> FluentValue<'static> {
    let plain = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match name {
        "role" => plain.parse::<Role>().map_or(plain, |role| role_name(role, language)).into(),
        "allowed" | "before" => permissions(value, language).into(),
        "status" => plain.parse().map_or(plain, |status| status_name(status, language)).into(),
        _ => value.as_i64().map_or_else(|| plain.into(), FluentValue::from),
    }
}
