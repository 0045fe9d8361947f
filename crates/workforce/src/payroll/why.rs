//! Why something was not done to somebody's pay.

use opora::store::{Refusal, WriteError};

use crate::domain::{self, Rule};
use crate::text;
use crate::texts::Language;
use crate::web::form::{Means, Told};

/// A rule said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The amount is zero, or beyond all measure.
    BadAmount,
    BadReason,
    BadDay,
    /// Somebody changed it meanwhile.
    Stale,
    /// It is not there, or not any more.
    Gone,
    /// It follows from a shift or an order, and is not changed by hand.
    NotManual,
    /// The month is not over yet.
    NotOver,
    /// The month is closed, and stays so.
    Closed,
    /// The person has nothing in this month, so that there is nothing to pay but an advance while it is open.
    NothingThere,
    /// More than is due; nobody has said that it is meant so.
    MoreThanDue,
    /// The month is so far ahead that a slip is more likely than an advance.
    TooFarAhead,
    /// An amount of a month that is more than a year ahead.
    OverAYearAhead,
}

/// It was not done.
pub type NotDone = domain::NotDone<Why>;

impl Why {
    const ALL: [Self; 12] = [
        Self::BadAmount,
        Self::BadReason,
        Self::BadDay,
        Self::Stale,
        Self::Gone,
        Self::NotManual,
        Self::NotOver,
        Self::Closed,
        Self::NothingThere,
        Self::MoreThanDue,
        Self::TooFarAhead,
        Self::OverAYearAhead,
    ];

    /// As a refusal of a commit carries it.
    const fn name(self) -> &'static str {
        match self {
            Self::BadAmount => "bad amount",
            Self::BadReason => "bad reason",
            Self::BadDay => "bad day",
            Self::Stale => "stale",
            Self::Gone => "gone",
            Self::NotManual => "not manual",
            Self::NotOver => "not over",
            Self::Closed => "closed",
            Self::NothingThere => "nothing there",
            Self::MoreThanDue => "more than due",
            Self::TooFarAhead => "too far ahead",
            Self::OverAYearAhead => "over a year ahead",
        }
    }

    pub fn refuse(self) -> WriteError {
        Refusal::because(self.name())
    }

    /// For whoever tried.
    pub fn words(self, language: Language) -> String {
        match self {
            Self::BadAmount => text!(language, "payroll-bad-amount"),
            Self::BadReason => text!(language, "payroll-bad-reason", most = super::REASON_MOST),
            Self::BadDay => text!(language, "payroll-bad-day"),
            Self::Stale => text!(language, "payroll-stale"),
            Self::Gone => text!(language, "payroll-gone"),
            Self::NotManual => text!(language, "payroll-not-manual"),
            Self::NotOver => text!(language, "payroll-not-over"),
            Self::Closed => text!(language, "payroll-is-closed"),
            Self::NothingThere => text!(language, "payroll-nothing-to-pay"),
            Self::MoreThanDue => text!(language, "payroll-more-than-due"),
            Self::TooFarAhead => text!(language, "payroll-too-far-ahead"),
            Self::OverAYearAhead => text!(language, "payroll-over-a-year-ahead"),
        }
    }
}

impl Told for Why {
    fn words(self, language: Language) -> String {
        self.words(language)
    }

    fn means(self) -> Means {
        match self {
            Self::Stale => Means::Stale,
            Self::Gone => Means::Gone,
            Self::MoreThanDue => Means::Unconfirmed,
            Self::Closed | Self::NotOver | Self::TooFarAhead | Self::OverAYearAhead => Means::Conflict,
            _ => Means::Mistake,
        }
    }
}

impl Rule for Why {
    fn of(refusal: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.name() == refusal)
    }
}
