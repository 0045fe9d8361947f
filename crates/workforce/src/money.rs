//! Money, paid hours and payroll months: exact, and rounded once, at the end.
//!
//! An amount is whole kopecks, in the database and between rooms. Calculations use decimals, and only
//! [`Money::rounded`] converts them back. Nothing uses floating point, and no sign is dropped.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Neg, Sub};
use std::str::FromStr;

use rust_decimal::prelude::ToPrimitive;
use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Serialize};

pub use self::kind::{Kind, earned_kinds_sql};
pub use self::kopecks::Kopecks;
pub use self::paid_time::{PaidTimeRules, PayStart, Rounding, RoundingDirection, RoundingStep};
pub use self::period::{PayrollMonth, day_of};
use crate::texts::{Currency, Language};

mod kind;
mod kopecks;
mod paid_time;
mod period;

/// One billion roubles; a larger amount is a typing error.
const MAX_KOPECKS: i64 = 100_000_000_000;
/// The length of `.00` and `,00`.
const DECIMALS_LENGTH: usize = 3;
/// A year; a longer shift comes from a wrong clock.
const MAX_WORKED_SECONDS: i64 = 366 * 24 * 3600;

/// A signed amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(i64);

/// Paid time in hundredths of an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PaidHours(i64);

/// The text is not an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an amount of money")]
pub struct InvalidAmount;

impl Money {
    pub const ZERO: Self = Self(0);

    pub const fn from_kopecks(kopecks: i64) -> Self {
        Self(kopecks)
    }

    pub const fn from_roubles(roubles: i64) -> Self {
        Self(roubles.saturating_mul(100))
    }

    pub const fn kopecks(self) -> i64 {
        self.0
    }

    /// The amount in roubles, for calculations.
    pub fn decimal(self) -> Decimal {
        Decimal::new(self.0, 2)
    }

    /// Rounds half a kopeck away from zero.
    pub fn rounded(exact: Decimal) -> Self {
        let limit = if exact.is_sign_negative() { i64::MIN } else { i64::MAX };
        let kopecks = exact.checked_mul(Decimal::ONE_HUNDRED).map(half_up);
        Self(kopecks.and_then(|kopecks| kopecks.to_i64()).unwrap_or(limit))
    }

    /// The amount multiplied by a count.
    pub fn times(self, count: i64) -> Self {
        Self(self.0.saturating_mul(count))
    }

    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }

    pub const fn is_positive(self) -> bool {
        self.0 > 0
    }

    /// The negative amount, whichever sign it has.
    pub const fn as_deduction(self) -> Self {
        if self.0 > 0 { Self(-self.0) } else { self }
    }

    /// As people read it: `−1 234,50 ₽`. A whole amount has no decimals: `500 ₽`.
    pub fn shown(self, language: Language) -> String {
        self.shown_in(Currency::current(), language)
    }

    /// Like [`Money::shown`], in a certain currency.
    pub fn shown_in(self, currency: Currency, language: Language) -> String {
        self.written(currency, language, self.0 % 100 != 0)
    }

    /// Like [`Money::shown`], always with two decimals: for columns in which other amounts have some.
    pub fn shown_with_decimals(self, language: Language) -> String {
        self.written(Currency::current(), language, true)
    }

    fn written(self, currency: Currency, language: Language, has_decimals: bool) -> String {
        let sign = if self.0 < 0 { "−" } else { "" };
        let mut digits = grouped(self.0.unsigned_abs(), language);
        if !has_decimals {
            digits.truncate(digits.len() - DECIMALS_LENGTH);
        }
        format!("{sign}{}", currency.with_digits(&digits, language))
    }

    /// As people type it into a field: `-33`, `1234,50`. Parsing accepts it in every language.
    pub fn typed(self, language: Language) -> String {
        let (sign, kopecks) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        let point = if language == Language::Ru { ',' } else { '.' };
        match kopecks % 100 {
            0 => format!("{sign}{}", kopecks / 100),
            part => format!("{sign}{}{point}{part:02}", kopecks / 100),
        }
    }

    /// The amount as text, with a plus sign if it is positive.
    pub fn signed(self, language: Language) -> String {
        if self.0 > 0 { format!("+{}", self.shown(language)) } else { self.shown(language) }
    }
}

impl PaidHours {
    /// The hours of a number of seconds, rounded half up.
    pub fn worked(seconds: i64) -> Self {
        let hours = Decimal::from(seconds.clamp(0, MAX_WORKED_SECONDS)) / Decimal::from(3600);
        Self(half_up(hours * Decimal::ONE_HUNDRED).to_i64().unwrap_or_default())
    }

    pub const fn from_hundredths(hundredths: i64) -> Self {
        Self(hundredths)
    }

    pub const fn hundredths(self) -> i64 {
        self.0
    }

    pub fn decimal(self) -> Decimal {
        Decimal::new(self.0, 2)
    }

    /// The pay at an hourly rate.
    pub fn at(self, rate: Money) -> Money {
        self.decimal().checked_mul(rate.decimal()).map_or(Money::ZERO, Money::rounded)
    }

    /// As people read it: `7,50`.
    pub fn shown(self, language: Language) -> String {
        let sign = if self.0 < 0 { "−" } else { "" };
        format!("{sign}{}", grouped(self.0.unsigned_abs(), language))
    }
}

fn half_up(exact: Decimal) -> Decimal {
    exact.round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero)
}

/// Two decimals, with separators between thousands.
fn grouped(hundredths: u64, language: Language) -> String {
    // Non-breaking spaces keep an amount on one line.
    let (point, comma) = match language {
        Language::Ru => (',', '\u{a0}'),
        Language::En => ('.', ','),
    };
    let whole = (hundredths / 100).to_string();
    let mut text = String::with_capacity(whole.len() * 2 + 3);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            text.push(comma);
        }
        text.push(digit);
    }
    format!("{text}{point}{:02}", hundredths % 100)
}

impl FromStr for Money {
    type Err = InvalidAmount;

    /// Parses typed amounts: `-33`, `−33,50`, `+1 234.5`.
    fn from_str(typed: &str) -> Result<Self, InvalidAmount> {
        let plain: String = typed.chars().filter(|c| !c.is_whitespace()).collect();
        let (sign, digits) = match plain.strip_prefix(['-', '−', '–']) {
            Some(rest) => (-1, rest),
            None => (1, plain.strip_prefix('+').unwrap_or(&plain)),
        };
        let Kopecks(kopecks) = digits.parse().map_err(|()| InvalidAmount)?;
        if kopecks > MAX_KOPECKS { Err(InvalidAmount) } else { Ok(Self(sign * kopecks)) }
    }
}

/// For machines and forms: `-33.50`.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Kopecks(self.0).fmt(f)
    }
}

impl From<Kopecks> for Money {
    fn from(Kopecks(kopecks): Kopecks) -> Self {
        Self(kopecks)
    }
}

/// For machines: `7.50`.
impl fmt::Display for PaidHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Kopecks(self.0).fmt(f)
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Money {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Money {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_hundredth_and_half_a_kopeck_are_rounded_up() {
        assert_eq!(PaidHours::worked(18), PaidHours(1));
        assert_eq!(PaidHours::worked(17), PaidHours(0));
        assert_eq!(PaidHours::worked(-5), PaidHours(0));
        assert_eq!(PaidHours(5).at("10.10".parse().unwrap()), Money(51));
        let share = Money(699_999).decimal() * Decimal::new(40, 2);
        assert_eq!(Money::rounded(share), Money(280_000));
        assert_eq!(Money::rounded(Decimal::new(-5, 3)), Money(-1));
        assert_eq!(Money::rounded(Decimal::MAX), Money(i64::MAX));
    }

    #[test]
    fn amounts_are_parsed_with_their_sign() {
        for (typed, kopecks) in [("-33", -3300), ("−33,5", -3350), ("+1 234.50", 123_450), ("0", 0), ("–0,01", -1)]
        {
            let read: Money = typed.parse().unwrap();
            assert_eq!(read, Money(kopecks), "{typed}");
            assert_eq!(read.to_string().parse(), Ok(read));
        }
        for typed in ["", "-", "--1", "+-1", "1.234", "=1+1", "1e9", "10000000000", "NaN"] {
            assert_eq!(typed.parse::<Money>(), Err(InvalidAmount), "{typed}");
        }
    }

    #[test]
    fn amounts_are_formatted_by_language() {
        let amount = Money(-123_456_705);
        assert_eq!(amount.shown(Language::Ru), "−1\u{a0}234\u{a0}567,05\u{a0}₽");
        assert_eq!(amount.shown(Language::En), "−1,234,567.05\u{a0}₽");
        assert_eq!(Money(777).signed(Language::En), "+7.77\u{a0}₽");
        assert_eq!(Money(0).signed(Language::En), "0\u{a0}₽");
        assert_eq!(Money(100_000).shown(Language::Ru), "1\u{a0}000\u{a0}₽");
        assert_eq!(Money(100_000).shown_with_decimals(Language::Ru), "1\u{a0}000,00\u{a0}₽");
        assert_eq!(PaidHours(750).shown(Language::Ru), "7,50");
    }

    #[test]
    fn a_currency_has_its_symbol_and_its_place() {
        let shown = |code: &str, language| Money(-123_450).shown_in(code.parse().unwrap(), language);
        assert_eq!(shown("KZT", Language::Ru), "−1\u{a0}234,50\u{a0}₸");
        assert_eq!(shown("BYN", Language::En), "−1,234.50\u{a0}Br");
        assert_eq!(shown("USD", Language::En), "−$1,234.50");
        assert_eq!(shown("USD", Language::Ru), "−1\u{a0}234,50\u{a0}$");
        assert_eq!(shown("EUR", Language::En), "−€1,234.50");
    }
}
