//! Parses form fields, and formats values for forms.

use chrono::NaiveDate;

use super::Fields;
use crate::domain::{days, user_text};
use crate::money::Money;

/// Parses fields, and collects the names of invalid ones.
#[derive(Debug)]
pub struct Reader<'a> {
    fields: &'a Fields,
    pub bad: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    pub fn new(fields: &'a Fields) -> Self {
        Self { fields, bad: Vec::new() }
    }

    /// The cleaned text of a field.
    pub fn clean_text(&self, name: &str) -> String {
        self.fields.get(name).map(|text| user_text::line(text)).unwrap_or_default()
    }

    pub fn tick(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// A field parsed by `read`.
    pub fn read<T: Default>(&mut self, name: &'static str, read: impl FnOnce(&str) -> Option<T>) -> T {
        let text = self.clean_text(name);
        read(&text).unwrap_or_else(|| {
            self.bad.push(name);
            T::default()
        })
    }

    /// A day within the accepted years.
    pub fn day(&mut self, name: &'static str) -> NaiveDate {
        self.read(name, days::day_of)
    }

    /// Like [`Self::day`]; none for an empty field.
    pub fn optional_day(&mut self, name: &'static str) -> Option<NaiveDate> {
        if self.clean_text(name).is_empty() { None } else { Some(self.day(name)) }
    }

    pub fn number(&mut self, name: &'static str) -> i64 {
        self.read(name, |text| text.parse().ok())
    }

    /// A signed amount, in kopecks.
    pub fn money(&mut self, name: &'static str) -> i64 {
        self.read(name, |text| text.parse::<Money>().ok().map(Money::kopecks))
    }

    /// Like [`Self::money`]; none for an empty field.
    pub fn optional_money(&mut self, name: &'static str) -> Option<i64> {
        if self.clean_text(name).is_empty() { None } else { Some(self.money(name)) }
    }

    /// A time of day, in minutes since midnight.
    pub fn minute(&mut self, name: &'static str) -> i64 {
        self.read(name, minute_of)
    }
}

/// Parses `09:30` into minutes since midnight.
fn minute_of(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.get(..2)?.parse().ok()?);
    ((0..24).contains(&hours) && (0..60).contains(&minutes)).then_some(hours * 60 + minutes)
}

/// Formats minutes since midnight as `09:30`.
pub fn time_of(minute: i64) -> String {
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

/// Fields with their values.
pub fn fields<const N: usize>(pairs: [(&str, String); N]) -> Fields {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// An amount for a form field; empty for none.
pub fn money_field(kopecks: Option<i64>) -> String {
    kopecks.map(|kopecks| Money::from_kopecks(kopecks).to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parsed_and_formatted() {
        assert_eq!((minute_of("09:30"), minute_of("23:59:00"), time_of(570)), (Some(570), Some(1439), "09:30".into()));
        for odd in ["", "24:00", "9", "09:60", "-1:00", "aa:bb"] {
            assert_eq!(minute_of(odd), None, "{odd}");
        }
    }

    #[test]
    fn invalid_fields_are_named_and_a_sign_stays() {
        let fields = fields([("amount", "-33,50".into()), ("count", "many".into()), ("rate", String::new())]);
        let mut reader = Reader::new(&fields);
        assert_eq!((reader.money("amount"), reader.number("count"), reader.optional_money("rate")), (-3350, 0, None));
        assert_eq!(reader.bad, ["count"]);
    }
}
