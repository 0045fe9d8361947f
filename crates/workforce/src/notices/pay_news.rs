//! What a person is told of their pay.

use serde::{Deserialize, Serialize};

use crate::money::{Money, Period};
use crate::text;
use crate::texts::Language;

/// What was done to somebody's pay of a month. Amounts have their signs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "was", rename_all = "snake_case")]
pub enum PayNews {
    /// A bonus, or with a minus a deduction.
    Added {
        amount: Money,
        reason: String,
    },
    /// Where the month is closed, the difference counts in another one.
    Changed {
        before: Money,
        amount: Money,
        reason: String,
        into: Option<Period>,
    },
    /// The reason is what it was for.
    Removed {
        amount: Money,
        reason: String,
        into: Option<Period>,
    },
    Restored {
        amount: Money,
        reason: String,
    },
    Paid {
        amount: Money,
    },
    /// A payment that was marked by mistake.
    TakenBack {
        amount: Money,
    },
}

impl PayNews {
    /// What the person reads.
    pub fn words(&self, month: Period, language: Language) -> String {
        let (month, signed) = (month.shown(language), |amount: &Money| amount.signed(language));
        match self {
            Self::Added { amount, reason } if amount.is_negative() => {
                let (amount, reason) = (signed(amount), reason.clone());
                text!(language, "payroll-news-deduction", month = month, amount = amount, reason = reason)
            }
            Self::Added { amount, reason } => {
                let (amount, reason) = (signed(amount), reason.clone());
                text!(language, "payroll-news-bonus", month = month, amount = amount, reason = reason)
            }
            Self::Changed { before, amount, reason, into } => {
                let (before, now, reason) = (signed(before), signed(amount), reason.clone());
                let words =
                    text!(language, "payroll-news-changed", month = month, before = before, now = now, reason = reason);
                elsewhere(words, *into, language)
            }
            Self::Removed { amount, reason, into } => {
                let (amount, reason) = (signed(amount), reason.clone());
                let words = text!(language, "payroll-news-removed", month = month, amount = amount, reason = reason);
                elsewhere(words, *into, language)
            }
            Self::Restored { amount, reason } => {
                let (amount, reason) = (signed(amount), reason.clone());
                text!(language, "payroll-news-restored", month = month, amount = amount, reason = reason)
            }
            Self::Paid { amount } => {
                text!(language, "payroll-news-paid", month = month, amount = amount.shown(language))
            }
            Self::TakenBack { amount } => {
                text!(language, "payroll-news-taken-back", month = month, amount = amount.shown(language))
            }
        }
    }
}

/// Says where a change of a closed month counts.
fn elsewhere(words: String, into: Option<Period>, language: Language) -> String {
    let Some(month) = into else { return words };
    format!("{words}\n{}", text!(language, "payroll-news-into", month = month.shown(language)))
}
