//! The form key of a sent form: a double click creates one record.
//!
//! A form for something new carries the id of the request that rendered it. The key is a hash of that id and all sent
//! values, so a form that is filled in again after going back counts again.

use super::Fields;
use crate::domain::FormKey;
use crate::web::guards::Visitor;
use crate::web::{csrf, secrets};

/// The field with the request id.
pub const FIELD: &str = "once";

/// The key that the form's commit stores. A form without the field is not ours, and may be sent again.
pub fn form_key(visitor: &Visitor, typed: &Fields) -> FormKey {
    let number = typed.get(FIELD).filter(|number| !number.is_empty());
    if number.is_none() {
        return FormKey::default();
    }
    let person = visitor.person.id.to_string();
    let sent = typed.iter().filter(|(name, _)| *name != csrf::FIELD).flat_map(|(name, value)| [name, value]);
    let parts: Vec<&str> =
        [person.as_str(), visitor.visit.path()].into_iter().chain(sent.map(String::as_str)).collect();
    FormKey::new(secrets::hash(&parts))
}
