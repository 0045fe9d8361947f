//! What to type into the fields of sites, slots, tasks and contracts.
//!
//! The rules of the records name the fields, and forms mark them with these texts.

use crate::key;
use crate::web::form::FieldError;

/// A field of no known name.
const OTHER: FieldError = FieldError { field: "", key: key!("web-form-bad-field") };

/// Fields with the keys of their texts. A field may have several; the first one is the usual.
pub const FIELD_HELP: [(&str, &str); 20] = [
    ("name", key!("cabinet-bad-name")),
    ("address", key!("cabinet-bad-address")),
    ("position", key!("cabinet-bad-position")),
    ("hours", key!("web-form-bad-time")),
    ("working_days", key!("web-form-bad-choice")),
    ("rate", key!("cabinet-bad-rate")),
    ("max_distance", key!("cabinet-bad-max-distance")),
    ("auto_close", key!("cabinet-bad-auto-close")),
    ("late_threshold", key!("cabinet-bad-late-threshold")),
    ("late_minute", key!("cabinet-bad-late-minute")),
    ("title", key!("cabinet-bad-title")),
    ("day", key!("web-form-bad-day")),
    ("capacity", key!("cabinet-bad-capacity")),
    ("text", key!("cabinet-bad-task-text")),
    ("amount", key!("cabinet-bad-task-amount")),
    ("sites", key!("cabinet-contract-needs-site")),
    ("valid_from", key!("web-form-bad-day")),
    ("valid_until", key!("cabinet-bad-valid-until")),
    ("from", key!("web-form-bad-day")),
    ("to", key!("cabinet-bad-last-day")),
];

/// The field of this name with its text.
pub fn wrong(field: &str) -> FieldError {
    let found = FIELD_HELP.iter().find(|(name, _)| *name == field);
    found.map_or(OTHER, |(field, key)| FieldError { field, key })
}

#[cfg(test)]
mod tests {
    use chrono_tz::Tz;

    use super::*;
    use crate::sites::{AboutContract, AboutSite, AboutSlot, AboutTask, Hours, Position, WorkingDays};

    /// Every field that a rule may name.
    fn named_fields() -> Vec<&'static str> {
        let hours = Hours::new(-1, -1);
        let site = AboutSite {
            position: Some(Position { latitude: 91.0, longitude: 0.0 }),
            hours,
            working_days: WorkingDays(u8::MAX),
            rate_kopecks: -1,
            max_distance_m: 0,
            auto_close_minutes: 0,
            late_threshold_minutes: -1,
            late_minute_kopecks: -1,
            ..AboutSite::usual(Tz::UTC)
        };
        let far = "3000-01-01".parse().unwrap();
        let slot =
            AboutSlot { title: "x".repeat(200), rate_kopecks: Some(-1), capacity: 0, ..AboutSlot::usual(far, hours) };
        let contract = AboutContract {
            rate_kopecks: Some(-1),
            valid_from: Some(far),
            valid_until: Some(far),
            ..AboutContract::active(Vec::new())
        };
        let task = AboutTask { text: String::new(), amount_kopecks: i64::MAX, is_mandatory: false, needs_media: false };
        [site.invalid_fields(), slot.invalid_fields(), contract.invalid_fields(), task.invalid_fields()].concat()
    }

    #[test]
    fn every_field_says_what_to_type() {
        let named = named_fields();
        assert_eq!(named.len(), 21, "every rule is broken: {named:?}");
        for field in named {
            assert_eq!(wrong(field).field, field, "no text says what to type into it");
        }
    }
}
