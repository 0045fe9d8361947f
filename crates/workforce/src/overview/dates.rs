//! Hours as people read them. Days are written by [`crate::texts`].

use crate::sites::Hours;
use crate::text;
use crate::texts::Language;
use crate::web::form::time_of;
pub use crate::web::{day, day_range, long_day, short_day};

/// `09:00–18:00`; hours from midnight to midnight are the whole day.
pub fn hours(hours: Hours, language: Language) -> String {
    if hours == Hours::new(0, 0) {
        return text!(language, "cabinet-around-the-clock");
    }
    format!("{}–{}", time_of(hours.from_minute), time_of(hours.to_minute))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn midnight_to_midnight_is_around_the_clock() {
        assert_eq!(hours(Hours::new(0, 0), Language::En), "around the clock");
        assert_eq!(hours(Hours::new(0, 0), Language::Ru), "круглосуточно");
        assert_eq!(hours(Hours::new(540, 540), Language::En), "09:00–09:00");
    }
}
