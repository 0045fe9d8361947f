//! Notices about pay.

use serde::{Deserialize, Serialize};

use crate::money::{Money, PayrollMonth};
use crate::text;
use crate::texts::Language;

/// A change of a person's pay in a month. Amounts are signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "was", rename_all = "snake_case")]
pub enum PayChange {
    /// A bonus, or a deduction if the amount is negative.
    Added {
        amount: Money,
        reason: String,
    },
    /// In a closed month the difference goes into another month.
    Changed {
        before: Money,
        amount: Money,
        reason: String,
        into: Option<PayrollMonth>,
    },
    /// The reason is that of the removed adjustment.
    Removed {
        amount: Money,
        reason: String,
        into: Option<PayrollMonth>,
    },
    Restored {
        amount: Money,
        reason: String,
    },
    Paid {
        amount: Money,
    },
    /// A payment was marked by mistake.
    TakenBack {
        amount: Money,
    },
}

impl PayChange {
    /// The text that the person reads.
    pub fn text(&self, month: PayrollMonth, language: Language) -> String {
        let (month, signed) = (month.shown(language), |amount: &Money| amount.signed(language));
        match self {
            Self::Added { amount, reason } if amount.is_negative() => {
                let (amount, reason) = ((-*amount).shown(language), reason.clone());
                text!(language, "payroll-news-deduction", month = month, amount = amount, reason = reason)
            }
            Self::Added { amount, reason } => {
                let (amount, reason) = (signed(amount), reason.clone());
                text!(language, "payroll-news-bonus", month = month, amount = amount, reason = reason)
            }
            Self::Changed { before, amount, reason, into } => {
                let (before, now, reason) = (signed(before), signed(amount), reason.clone());
                let text =
                    text!(language, "payroll-news-changed", month = month, before = before, now = now, reason = reason);
                elsewhere(text, *into, language)
            }
            Self::Removed { amount, reason, into } => {
                let (amount, reason) = (signed(amount), reason.clone());
                let text = text!(language, "payroll-news-removed", month = month, amount = amount, reason = reason);
                elsewhere(text, *into, language)
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

/// Adds the month into which a change of a closed month goes.
fn elsewhere(text: String, into: Option<PayrollMonth>, language: Language) -> String {
    let Some(month) = into else { return text };
    format!("{text}\n{}", text!(language, "payroll-news-into", month = month.shown(language)))
}
