//! The fields of an order, checked one by one: each mistake has its own text.
//!
//! Pages and dialogues check each field as it is given, by these functions. A draft is checked again in the commit.

use opora::clock::Millis;

use crate::domain::user_text;
use crate::key;
use crate::person::contact;
use crate::sites::Period;
use crate::texts::Language;

pub const MIN_DESCRIPTION: usize = 10;
pub const MAX_DESCRIPTION: usize = 2000;
pub const MIN_CLIENT_NAME: usize = 5;
pub const MAX_CLIENT_NAME: usize = 100;
pub const MIN_ADDRESS: usize = 10;
pub const MAX_ADDRESS: usize = 500;
pub const MAX_NOTES: usize = 1000;
pub const MAX_EQUIPMENT: usize = 100;
pub const MAX_REASON: usize = 300;
pub const MAX_MESSAGE: usize = 1000;
/// How late a time may be given that is just past, and how far ahead an order is planned.
const LATE_MS: i64 = 5 * 60 * 1000;
const AHEAD_MS: i64 = 2 * 366 * 24 * 60 * 60 * 1000;

/// A mistake in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldMistake {
    EquipmentEmpty,
    EquipmentLong,
    DescriptionShort,
    DescriptionLong,
    ClientNameShort,
    ClientNameLong,
    AddressShort,
    AddressLong,
    AddressWithoutDigit,
    PhoneBad,
    PhoneForeign,
    NotesLong,
    TimePast,
    TimeFar,
    ReasonBad,
    MessageBad,
}

impl FieldMistake {
    pub const ALL: [Self; 16] = [
        Self::EquipmentEmpty,
        Self::EquipmentLong,
        Self::DescriptionShort,
        Self::DescriptionLong,
        Self::ClientNameShort,
        Self::ClientNameLong,
        Self::AddressShort,
        Self::AddressLong,
        Self::AddressWithoutDigit,
        Self::PhoneBad,
        Self::PhoneForeign,
        Self::NotesLong,
        Self::TimePast,
        Self::TimeFar,
        Self::ReasonBad,
        Self::MessageBad,
    ];

    /// The text key; also the name inside a commit error.
    pub const fn key(self) -> &'static str {
        match self {
            Self::EquipmentEmpty => key!("orders-bad-equipment-empty"),
            Self::EquipmentLong => key!("orders-bad-equipment-long"),
            Self::DescriptionShort => key!("orders-bad-description-short"),
            Self::DescriptionLong => key!("orders-bad-description-long"),
            Self::ClientNameShort => key!("orders-bad-name-short"),
            Self::ClientNameLong => key!("orders-bad-name-long"),
            Self::AddressShort => key!("orders-bad-address-short"),
            Self::AddressLong => key!("orders-bad-address-long"),
            Self::AddressWithoutDigit => key!("orders-bad-address-digit"),
            Self::PhoneBad => key!("orders-bad-phone"),
            Self::PhoneForeign => key!("orders-bad-phone-foreign"),
            Self::NotesLong => key!("orders-bad-notes-long"),
            Self::TimePast => key!("orders-bad-time-past"),
            Self::TimeFar => key!("orders-bad-time-far"),
            Self::ReasonBad => key!("orders-bad-reason"),
            Self::MessageBad => key!("orders-bad-message"),
        }
    }

    /// The name of the field in forms and drafts.
    pub const fn field(self) -> &'static str {
        match self {
            Self::EquipmentEmpty | Self::EquipmentLong => "equipment_type",
            Self::DescriptionShort | Self::DescriptionLong => "description",
            Self::ClientNameShort | Self::ClientNameLong => "client_name",
            Self::AddressShort | Self::AddressLong | Self::AddressWithoutDigit => "client_address",
            Self::PhoneBad | Self::PhoneForeign => "client_phone",
            Self::NotesLong => "notes",
            Self::TimePast | Self::TimeFar => "scheduled_time",
            Self::ReasonBad => "reason",
            Self::MessageBad => "message",
        }
    }

    /// The text that people read.
    pub fn text(self, language: Language) -> String {
        language.text(self.key())
    }
}

/// What kind of equipment it is.
pub fn equipment_type(text: &str) -> Result<String, FieldMistake> {
    bounded(user_text::line(text), 1, MAX_EQUIPMENT, (FieldMistake::EquipmentEmpty, FieldMistake::EquipmentLong))
}

/// What is wrong with it.
pub fn description(text: &str) -> Result<String, FieldMistake> {
    let mistakes = (FieldMistake::DescriptionShort, FieldMistake::DescriptionLong);
    bounded(user_text::lines(text), MIN_DESCRIPTION, MAX_DESCRIPTION, mistakes)
}

pub fn client_name(text: &str) -> Result<String, FieldMistake> {
    let mistakes = (FieldMistake::ClientNameShort, FieldMistake::ClientNameLong);
    bounded(user_text::line(text), MIN_CLIENT_NAME, MAX_CLIENT_NAME, mistakes)
}

pub fn address(text: &str) -> Result<String, FieldMistake> {
    let mistakes = (FieldMistake::AddressShort, FieldMistake::AddressLong);
    let address = bounded(user_text::line(text), MIN_ADDRESS, MAX_ADDRESS, mistakes)?;
    if address.chars().any(char::is_numeric) { Ok(address) } else { Err(FieldMistake::AddressWithoutDigit) }
}

/// A Russian phone number, as `+7` and ten digits.
pub fn phone(text: &str) -> Result<String, FieldMistake> {
    let phone = contact::phone(text).ok_or(FieldMistake::PhoneBad)?;
    match phone.strip_prefix("+7") {
        Some(rest) if rest.len() == 10 => Ok(phone),
        Some(_) => Err(FieldMistake::PhoneBad),
        None => Err(FieldMistake::PhoneForeign),
    }
}

/// Notes, if there are any.
pub fn notes(text: &str) -> Result<Option<String>, FieldMistake> {
    let notes = user_text::lines(text);
    if notes.chars().count() > MAX_NOTES {
        return Err(FieldMistake::NotesLong);
    }
    Ok(Some(notes).filter(|notes| !notes.is_empty()))
}

/// A window in which the master comes.
pub fn scheduled(window: Period, now: Millis) -> Result<Period, FieldMistake> {
    if window.to.0 <= window.from.0 || window.from.0 < now.0.saturating_sub(LATE_MS) {
        return Err(FieldMistake::TimePast);
    }
    if window.to.0 > now.0.saturating_add(AHEAD_MS) { Err(FieldMistake::TimeFar) } else { Ok(window) }
}

/// Why a person did something.
pub fn reason(text: &str) -> Result<String, FieldMistake> {
    bounded(user_text::line(text), 1, MAX_REASON, (FieldMistake::ReasonBad, FieldMistake::ReasonBad))
}

/// A message between a client and a master.
pub fn message(text: &str) -> Result<String, FieldMistake> {
    bounded(user_text::lines(text), 1, MAX_MESSAGE, (FieldMistake::MessageBad, FieldMistake::MessageBad))
}

fn bounded(
    text: String,
    least: usize,
    most: usize,
    (short, long): (FieldMistake, FieldMistake),
) -> Result<String, FieldMistake> {
    match text.chars().count() {
        length if length < least => Err(short),
        length if length > most => Err(long),
        _ => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_limits_and_each_mistake_its_own_text() {
        assert_eq!(equipment_type("  "), Err(FieldMistake::EquipmentEmpty));
        assert_eq!(equipment_type(" Washing \n machine "), Ok("Washing machine".into()));
        assert_eq!(description("too short"), Err(FieldMistake::DescriptionShort));
        assert_eq!(description("It leaks a lot").as_deref(), Ok("It leaks a lot"));
        assert_eq!(description(&"x".repeat(MAX_DESCRIPTION + 1)), Err(FieldMistake::DescriptionLong));
        assert_eq!(client_name("Анна"), Err(FieldMistake::ClientNameShort));
        assert_eq!(client_name("Анна П").as_deref(), Ok("Анна П"));
        assert_eq!(address("Main St 1"), Err(FieldMistake::AddressShort));
        assert_eq!(address("Main Street, the yellow house"), Err(FieldMistake::AddressWithoutDigit));
        assert_eq!(address(&"1".repeat(MAX_ADDRESS + 1)), Err(FieldMistake::AddressLong));
        assert_eq!(notes(" \n"), Ok(None));
        let texts: std::collections::BTreeSet<_> = FieldMistake::ALL.iter().map(|one| one.text(Language::Ru)).collect();
        assert_eq!(texts.len(), FieldMistake::ALL.len());
    }

    #[test]
    fn phones_are_normalised_and_foreign_ones_refused() {
        for typed in ["8 (999) 123-45-67", "+7 999 123 45 67", "9991234567", "79991234567"] {
            assert_eq!(phone(typed).as_deref(), Ok("+79991234567"), "{typed}");
        }
        assert_eq!(phone("+49 30 901820"), Err(FieldMistake::PhoneForeign));
        for typed in ["", "112", "call me", "+7 999 123"] {
            assert!(phone(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn a_time_is_neither_past_nor_too_far_ahead() {
        let window = |from: i64, to: i64| Period { from: Millis(from), to: Millis(to) };
        let now = Millis(10_000_000);
        assert!(scheduled(window(10_000_000, 20_000_000), now).is_ok());
        assert_eq!(scheduled(window(9_000_000, 20_000_000), now), Err(FieldMistake::TimePast));
        assert_eq!(scheduled(window(20_000_000, 20_000_000), now), Err(FieldMistake::TimePast));
        assert_eq!(scheduled(window(i64::MAX - 1, i64::MAX), now), Err(FieldMistake::TimeFar));
    }
}
