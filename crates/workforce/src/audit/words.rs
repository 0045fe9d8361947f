//! Lines of the audit log as text.
//!
//! The text is found by the name of the action and filled with the details of the line. A test finds actions without a
//! text. A line without a text, such as one from a newer version, is shown as it was written.

use std::borrow::Cow;

use fluent_templates::fluent_bundle::FluentValue;
use serde_json::Value;

use super::Line;
use crate::money::PayrollMonth;
use crate::person::{Permission, Role, role_name, status_name};
use crate::texts::{Language, Values};

/// The text key of an action: `audit-role-granted` for `role granted`.
pub fn key(action: &str) -> String {
    format!("audit-{}", action.replace(' ', "-"))
}

/// A line as text.
pub fn in_words(line: &Line, language: Language) -> String {
    let details = line.detail.as_object().into_iter().flatten();
    let values: Values<'_> =
        details.map(|(name, value)| (Cow::Owned(name.clone()), argument_value(name, value, language))).collect();
    language.find_text(&key(&line.action), &values).unwrap_or_else(|| line.action.clone())
}

/// Permissions as text.
fn permissions(value: &Value, language: Language) -> String {
    let names = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    let names_of_permissions: Vec<String> = names
        .map(|name| name.parse::<Permission>().map_or_else(|_| name.to_owned(), |one| one.text(language)))
        .collect();
    if names_of_permissions.is_empty() { "–".to_owned() } else { names_of_permissions.join(", ") }
}

/// A detail as text: roles, statuses, months and permissions have names.
fn argument_value(name: &str, value: &Value, language: Language) -> FluentValue<'static> {
    let plain = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match name {
        "role" => plain.parse::<Role>().map_or(plain, |role| role_name(role, language)).into(),
        "allowed" | "before" => permissions(value, language).into(),
        "period" => plain.parse::<PayrollMonth>().map_or(plain, |month| month.shown(language)).into(),
        "status" => plain.parse().map_or(plain, |status| status_name(status, language)).into(),
        _ => value.as_i64().map_or_else(|| plain.into(), FluentValue::from),
    }
}
