//! The currency of the business: its symbol, and where the symbol stands.
//!
//! All amounts are of one currency, and nothing is converted: another currency changes texts only. The process keeps
//! the currency that texts use; [`crate::settings::keep_currency`] follows the owner's setting.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Language;

/// A currency of hundredths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Currency {
    #[default]
    Rub,
    Byn,
    Kzt,
    Kgs,
    Uzs,
    Amd,
    Azn,
    Gel,
    Uah,
    Try,
    Eur,
    Usd,
    Gbp,
}

/// The position in [`Currency::ALL`] of the currency that texts use.
static CURRENT: AtomicUsize = AtomicUsize::new(0);

impl Currency {
    pub const ALL: [Self; 13] = [
        Self::Rub,
        Self::Byn,
        Self::Kzt,
        Self::Kgs,
        Self::Uzs,
        Self::Amd,
        Self::Azn,
        Self::Gel,
        Self::Uah,
        Self::Try,
        Self::Eur,
        Self::Usd,
        Self::Gbp,
    ];

    /// The currency that texts of this process use.
    pub fn current() -> Self {
        Self::ALL.get(CURRENT.load(Ordering::Relaxed)).copied().unwrap_or_default()
    }

    /// Changes the currency of all texts of this process.
    pub fn make_current(self) {
        let place = Self::ALL.iter().position(|one| *one == self).unwrap_or_default();
        CURRENT.store(place, Ordering::Relaxed);
    }

    /// The code of ISO 4217.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Rub => "RUB",
            Self::Byn => "BYN",
            Self::Kzt => "KZT",
            Self::Kgs => "KGS",
            Self::Uzs => "UZS",
            Self::Amd => "AMD",
            Self::Azn => "AZN",
            Self::Gel => "GEL",
            Self::Uah => "UAH",
            Self::Try => "TRY",
            Self::Eur => "EUR",
            Self::Usd => "USD",
            Self::Gbp => "GBP",
        }
    }

    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Rub => "₽",
            Self::Byn => "Br",
            Self::Kzt => "₸",
            Self::Kgs => "KGS",
            Self::Uzs => "UZS",
            Self::Amd => "֏",
            Self::Azn => "₼",
            Self::Gel => "₾",
            Self::Uah => "₴",
            Self::Try => "₺",
            Self::Eur => "€",
            Self::Usd => "$",
            Self::Gbp => "£",
        }
    }

    /// The digits of an amount with the symbol: `1 234 €`, in English `€1,234`.
    pub fn with_digits(self, digits: &str, language: Language) -> String {
        match (language, self) {
            (Language::En, Self::Eur | Self::Usd | Self::Gbp) => format!("{}{digits}", self.symbol()),
            // A non-breaking space keeps an amount on one line.
            _ => format!("{digits}\u{a0}{}", self.symbol()),
        }
    }
}

impl FromStr for Currency {
    type Err = String;

    fn from_str(code: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|one| one.code().eq_ignore_ascii_case(code));
        found.ok_or_else(|| format!("no currency `{code}`"))
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_currency_is_found_by_its_code() {
        for currency in Currency::ALL {
            assert_eq!(currency.code().parse(), Ok(currency));
            assert_eq!(currency.code().to_lowercase().parse(), Ok(currency));
        }
        for odd in ["", "RU", "₽", "XXX"] {
            assert!(odd.parse::<Currency>().is_err(), "{odd}");
        }
    }
}
