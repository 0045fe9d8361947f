//! Refusals of this room.

use opora::store::{Refusal, WriteError};

use crate::domain::{self, RefusalReason};
use crate::key;
use crate::text;
use crate::texts::Language;
use crate::web::form::{FieldError, PageRefusal, PageRefusalKind};

/// Why a rule said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayrollRefusal {
    /// The amount is zero or too large.
    BadAmount,
    BadReason,
    BadDay,
    /// The row has changed since it was loaded.
    Stale,
    /// The row does not exist any more.
    Gone,
    /// The adjustment follows from a shift or an order and cannot be changed by hand.
    NotManual,
    NotOver,
    /// The month is closed.
    Closed,
    /// The month is open.
    NotClosed,
    /// The person has nothing in this month. Only an advance is possible, while the month is open.
    NothingThere,
    /// More than is due, without a confirmation that it is an advance.
    MoreThanDue,
    /// The month is too far ahead for an advance.
    TooFarAhead,
    /// The month is more than a year ahead.
    OverAYearAhead,
}

/// The error of an action that runs outside a turn.
pub type ActionError = domain::ActionError<PayrollRefusal>;

impl PayrollRefusal {
    const ALL: [Self; 13] = [
        Self::BadAmount,
        Self::BadReason,
        Self::BadDay,
        Self::Stale,
        Self::Gone,
        Self::NotManual,
        Self::NotOver,
        Self::Closed,
        Self::NotClosed,
        Self::NothingThere,
        Self::MoreThanDue,
        Self::TooFarAhead,
        Self::OverAYearAhead,
    ];

    /// The name inside a commit error.
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
            Self::NotClosed => "not closed",
            Self::NothingThere => "nothing there",
            Self::MoreThanDue => "more than due",
            Self::TooFarAhead => "too far ahead",
            Self::OverAYearAhead => "over a year ahead",
        }
    }

    pub fn refuse(self) -> WriteError {
        Refusal::because(self.name())
    }

    /// The text that people read.
    pub fn text(self, language: Language) -> String {
        match self {
            Self::BadAmount => text!(language, "payroll-bad-amount"),
            Self::BadReason => text!(language, "payroll-bad-reason", most = super::MAX_REASON_LENGTH),
            Self::BadDay => text!(language, "payroll-bad-day"),
            Self::Stale => text!(language, "payroll-stale"),
            Self::Gone => text!(language, "payroll-gone"),
            Self::NotManual => text!(language, "payroll-not-manual"),
            Self::NotOver => text!(language, "payroll-not-over"),
            Self::Closed => text!(language, "payroll-is-closed"),
            Self::NotClosed => text!(language, "payroll-is-open"),
            Self::NothingThere => text!(language, "payroll-nothing-to-pay"),
            Self::MoreThanDue => text!(language, "payroll-more-than-due"),
            Self::TooFarAhead => text!(language, "payroll-too-far-ahead"),
            Self::OverAYearAhead => text!(language, "payroll-over-a-year-ahead"),
        }
    }
}

impl PageRefusal for PayrollRefusal {
    fn text(self, language: Language) -> String {
        self.text(language)
    }

    fn refusal_kind(self) -> PageRefusalKind {
        match self {
            Self::Stale => PageRefusalKind::Stale,
            Self::Gone => PageRefusalKind::Gone,
            Self::MoreThanDue => PageRefusalKind::Unconfirmed,
            Self::Closed | Self::NotClosed | Self::NotOver | Self::TooFarAhead | Self::OverAYearAhead => {
                PageRefusalKind::Conflict
            }
            _ => PageRefusalKind::Mistake,
        }
    }

    fn field_error(self) -> Option<FieldError> {
        match self {
            Self::BadAmount => Some(FieldError { field: "amount", key: key!("payroll-bad-amount") }),
            Self::BadReason => Some(FieldError { field: "reason", key: key!("payroll-bad-reason-field") }),
            _ => None,
        }
    }
}

impl RefusalReason for PayrollRefusal {
    fn parse(refusal: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.name() == refusal)
    }
}
