//! Forms that count once: whoever clicks twice makes one thing.
//!
//! A form that makes something new carries the number of the request that drew it. What is kept is a hash over that number
//! and everything else that was sent, so a page that is gone back to and filled in anew counts again.

use super::Fields;
use crate::domain::Once;
use crate::web::guards::Visitor;
use crate::web::{csrf, secrets};

/// The field with the number.
pub const FIELD: &str = "once";

/// What the commit of a form is to keep. A form without a number was not drawn by our pages, and may be sent again.
pub fn once(visitor: &Visitor, typed: &Fields) -> Once {
    let number = typed.get(FIELD).filter(|number| !number.is_empty());
    if number.is_none() {
        return Once::default();
    }
    let person = visitor.person.id.to_string();
    let sent = typed.iter().filter(|(name, _)| *name != csrf::FIELD).flat_map(|(name, value)| [name, value]);
    let words: Vec<&str> =
        [person.as_str(), visitor.visit.path()].into_iter().chain(sent.map(String::as_str)).collect();
    Once::by(secrets::hash(&words))
}
