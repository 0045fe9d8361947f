//! Small elements that many pages show. Dates are written by [`crate::texts`].

use chrono::{DateTime, Utc};
use maud::{Markup, html};
use opora::clock::Millis;

use super::ui::{Tone, badge};
use crate::person::{Role, Status, role_name, status_name};
use crate::texts::{Language, day_and_time};

/// A point in time. The page's script shows it on the viewer's clock, and without the script it is in UTC.
pub fn moment(at: Millis, language: Language) -> Markup {
    let at: DateTime<Utc> = DateTime::from_timestamp_millis(at.0).unwrap_or_default();
    let shown = format!("{} UTC", day_and_time(at.naive_utc(), language));
    html! { time datetime=(at.format("%Y-%m-%dT%H:%M:%SZ")) { (shown) } }
}

/// A role as a chip.
pub fn role_label(role: Role, language: Language) -> Markup {
    html! { span.chip { (role_name(role, language)) } }
}

/// A status as a badge.
pub fn status_label(status: Status, language: Language) -> Markup {
    let tone = match status {
        Status::Verified => Tone::Good,
        Status::Pending => Tone::Wait,
        Status::Rejected | Status::Blocked => Tone::Bad,
    };
    badge(tone, &status_name(status, language))
}
