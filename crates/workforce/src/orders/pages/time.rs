//! The time of an order in forms: a day with two times, by the clock of the business.

use chrono::{NaiveDate, Timelike};
use chrono_tz::Tz;
use maud::{Markup, html};
use opora::clock::Millis;

use crate::orders::fields;
use crate::sites::{Hours, Period, local};
use crate::text;
use crate::texts::{Language, short_day_and_time};
use crate::web::form::{Fields, FilledForm, Reader, time_of};

/// The time of an order without one, when it is moved to a day.
const USUAL: Hours = Hours::new(9 * 60, 18 * 60);
/// The field that mistakes of a time name.
const FIELD: &str = "scheduled_time";

/// The form fields of a time.
pub fn write(window: Option<Period>, zone: Tz) -> Fields {
    let shown = window.map(|window| window.local(zone));
    let pairs = shown.map(|shown| {
        let time = |at: chrono::NaiveDateTime| at.format("%H:%M").to_string();
        [("day", shown.from.date().to_string()), ("starts", time(shown.from)), ("ends", time(shown.to))]
    });
    pairs.into_iter().flatten().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Reads a time; none without a day. A time that is `kept` may be past.
pub fn read(reader: &mut Reader<'_>, now: Millis, zone: Tz, kept: Option<Period>) -> Option<Period> {
    let day = reader.optional_day("day")?;
    let hours = Hours::new(reader.minute("starts"), reader.minute("ends"));
    let window = hours.on(day, zone)?;
    if kept.is_some_and(|kept| write(Some(kept), zone) == write(Some(window), zone)) {
        return kept;
    }
    match fields::scheduled(window, now) {
        Ok(window) => Some(window),
        Err(mistake) => {
            reader.bad.add(FIELD, mistake.key());
            None
        }
    }
}

/// The same time on another day. An order without a time gets the usual hours.
pub fn moved(window: Option<Period>, day: NaiveDate, zone: Tz) -> Option<Period> {
    let Some(window) = window else { return USUAL.on(day, zone) };
    let start = local(window.from, zone).time();
    let minute = i64::from(start.hour() * 60 + start.minute());
    let from = Hours::new(minute, minute).on(day, zone)?.from;
    Some(Period { from, to: Millis(from.0.saturating_add(window.to.0 - window.from.0)) })
}

/// The inputs of a time.
pub fn inputs(form: &FilledForm<'_>) -> Markup {
    let language = form.language;
    html! {
        div.row.fields {
            (form.short("day", &text!(language, "cabinet-day"), "date"))
            (form.short("starts", &text!(language, "orders-from"), "time"))
            (form.short("ends", &text!(language, "orders-to"), "time"))
        }
        (form.error(FIELD))
    }
}

/// The usual hours of a new order.
pub fn usual() -> Fields {
    let hours = [("starts", USUAL.from_minute), ("ends", USUAL.to_minute)];
    hours.map(|(name, minute)| (name.to_owned(), time_of(minute))).into_iter().collect()
}

/// `Nov 18, 14:00–17:00`; a text for no time.
pub fn shown(window: Option<Period>, zone: Tz, language: Language) -> String {
    window.map_or_else(|| text!(language, "orders-no-time"), |window| window.local(zone).shown(language))
}

/// An instant by the clock of the business.
pub fn moment(at: Millis, zone: Tz, language: Language) -> String {
    short_day_and_time(local(at, zone), language)
}

#[cfg(test)]
mod tests {
    use chrono_tz::Europe::Moscow;

    use super::*;

    #[test]
    fn a_moved_order_keeps_its_hours() {
        let monday: NaiveDate = "2026-01-05".parse().unwrap();
        let friday: NaiveDate = "2026-01-09".parse().unwrap();
        let window = Hours::new(600, 780).on(monday, Moscow);
        assert_eq!(moved(window, friday, Moscow), Hours::new(600, 780).on(friday, Moscow));
        assert_eq!(moved(None, friday, Moscow), USUAL.on(friday, Moscow));
    }

    #[test]
    fn a_time_that_stays_may_be_past() {
        let window = Hours::new(600, 780).on("2026-01-05".parse().unwrap(), Moscow);
        let (typed, now) = (write(window, Moscow), Millis(window.unwrap().to.0 + 1));
        let mut reader = Reader::new(&typed);
        assert_eq!(read(&mut reader, now, Moscow, window), window);
        assert!(reader.bad.is_empty());
        assert_eq!(read(&mut reader, now, Moscow, None), None);
        assert!(reader.bad.has(FIELD));
        assert_eq!(read(&mut Reader::new(&Fields::new()), now, Moscow, window), None);
    }
}
