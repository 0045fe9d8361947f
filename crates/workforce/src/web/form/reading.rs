//! Parses form fields, and formats values for forms.

use chrono::NaiveDate;

use super::Fields;
use super::field_errors::FieldErrors;
use crate::domain::{days, user_text};
use crate::key;
use crate::money::Money;
use crate::texts::Language;

/// Parses fields, and collects those that do not fit.
#[derive(Debug)]
pub struct Reader<'a> {
    fields: &'a Fields,
    pub bad: FieldErrors,
}

impl<'a> Reader<'a> {
    pub fn new(fields: &'a Fields) -> Self {
        Self { fields, bad: FieldErrors::default() }
    }

    /// The cleaned text of a field.
    pub fn clean_text(&self, name: &str) -> String {
        self.fields.get(name).map(|text| user_text::line(text)).unwrap_or_default()
    }

    /// The cleaned text of a field with several lines.
    pub fn clean_lines(&self, name: &str) -> String {
        self.fields.get(name).map(|text| user_text::lines(text)).unwrap_or_default()
    }

    pub fn tick(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// A field parsed by `read`. `help` is the key of the text that says what to type.
    pub fn read<T: Default>(
        &mut self,
        name: &'static str,
        help: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> T {
        let text = self.clean_text(name);
        read(&text).unwrap_or_else(|| {
            self.bad.add(name, help);
            T::default()
        })
    }

    /// A day within the accepted years, as a date field sends it or as people type it.
    pub fn day(&mut self, name: &'static str) -> NaiveDate {
        self.read(name, key!("web-form-bad-day"), days::typed_day)
    }

    /// Like [`Self::day`]; none for an empty field.
    pub fn optional_day(&mut self, name: &'static str) -> Option<NaiveDate> {
        if self.clean_text(name).is_empty() { None } else { Some(self.day(name)) }
    }

    pub fn number(&mut self, name: &'static str) -> i64 {
        let is_space = |c: char| c.is_whitespace();
        self.read(name, key!("web-form-bad-number"), |text| text.replace(is_space, "").parse().ok())
    }

    /// A signed amount, in kopecks.
    pub fn money(&mut self, name: &'static str) -> i64 {
        self.read(name, key!("web-form-bad-money"), |text| text.parse::<Money>().ok().map(Money::kopecks))
    }

    /// Like [`Self::money`]; none for an empty field.
    pub fn optional_money(&mut self, name: &'static str) -> Option<i64> {
        if self.clean_text(name).is_empty() { None } else { Some(self.money(name)) }
    }

    /// A time of day, in minutes since midnight.
    pub fn minute(&mut self, name: &'static str) -> i64 {
        self.read(name, key!("web-form-bad-time"), minute_of)
    }

    /// The record, if all its fields fit. `invalid` are the fields that the record's own rules name, and `help` has
    /// their texts.
    pub fn finish<T>(
        mut self,
        record: T,
        invalid: &[&'static str],
        help: &[(&'static str, &'static str)],
    ) -> Result<T, FieldErrors> {
        self.bad.add_named(invalid, help);
        self.bad.or(record)
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

/// An amount for a form field; empty for none. The form shows it as people of its language write it.
pub fn money_field(kopecks: Option<i64>) -> String {
    kopecks.map(|kopecks| Money::from_kopecks(kopecks).to_string()).unwrap_or_default()
}

/// A field's value as people of this language write it: an amount such as `50.00` becomes `50`, or `50,50` in Russian.
/// Everything else stays as it is.
pub fn localised(value: &str, language: Language) -> String {
    match value.parse::<Money>() {
        Ok(amount) if amount.to_string() == value => amount.typed(language),
        _ => value.to_owned(),
    }
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
        assert_eq!(reader.bad.names(), ["count"]);
        assert_eq!(reader.bad.key("count"), Some("web-form-bad-number"));
    }

    #[test]
    fn fields_show_amounts_as_people_write_them() {
        let shown = |kopecks, language| localised(&money_field(Some(kopecks)), language);
        assert_eq!(shown(5000, Language::Ru), "50");
        assert_eq!(shown(-123_450, Language::Ru), "-1234,50");
        assert_eq!(shown(5005, Language::En), "50.05");
        for odd in ["", "many", "5", "50.0", "1.234"] {
            assert_eq!(localised(odd, Language::Ru), odd);
        }
        let typed = fields([("rate", "1 234,50".into()), ("fine", "1234.5".into()), ("day", "31.12.2026".into())]);
        let mut reader = Reader::new(&typed);
        assert_eq!((reader.money("rate"), reader.money("fine")), (123_450, 123_450));
        assert_eq!(reader.day("day").to_string(), "2026-12-31");
    }
}
