//! Queries for pay: months of all people, one person's pay, and sums over days.

use std::collections::HashMap;

use opora::clock::Millis;
use sea_orm::sea_query::Expr;

pub use self::days::{DayPay, PersonTotals};
pub use self::lines::{AdjustmentCursor, page as page_of_lines};
pub use self::persons::{base_of_shift, credit_before, export, line};
use super::tables::{change, entry, payment};
use super::{Basis, Kind, Money, PaidHours, PayrollMonth};

mod days;
mod lines;
mod months;
mod persons;

/// How many people a page of a month has.
pub const PAGE_SIZE: u64 = 50;

/// The sums of a person in a month.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub user_id: i64,
    pub hours: PaidHours,
    pub earned: Money,
    pub bonus: Money,
    pub deduction: Money,
    pub total: Money,
    pub paid: Money,
    /// What was overpaid in all earlier months together; it counts as paid.
    pub credit: Money,
    /// Raised by every change. For a total: the sum of all versions.
    pub version: i64,
}

/// A month, and whether it is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonthStatus {
    pub period: PayrollMonth,
    /// When it was closed, and by whom.
    pub closed: Option<(Millis, i64)>,
}

/// A month with a page of its people, highest total first.
#[derive(Clone, Debug)]
pub struct PayrollSheet {
    pub month: MonthStatus,
    pub entries: Vec<Entry>,
    /// The number of people on all pages.
    pub people: u64,
    /// The total of all people.
    pub sum: Entry,
    /// The names of the people on this page, by id.
    pub names: HashMap<i64, String>,
}

/// What an owner saw of a month in order to close it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenMonth {
    pub total: Money,
    /// The sum of the versions of all entries. Every change raises it, even if the total stays the same.
    pub version: i64,
}

/// An adjustment: one amount with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adjustment {
    pub id: i64,
    pub user_id: i64,
    pub period: String,
    pub day: String,
    pub kind: Kind,
    pub amount: Money,
    pub basis: Basis,
    pub reason: Option<String>,
    pub shift_id: Option<i64>,
    pub created_at: Millis,
    pub created_by: Option<i64>,
    pub is_removed: bool,
    /// Raised by every change and every correction.
    pub version: i64,
    /// The amount after corrections, if there are any.
    pub corrected: Option<Money>,
}

/// A marked payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    pub id: i64,
    pub amount: Money,
    pub at: Millis,
    pub by: i64,
    pub is_taken_back: bool,
}

/// One change of an adjustment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdjustmentChange {
    pub adjustment_id: i64,
    pub at: Millis,
    pub by: i64,
    /// `added`, `changed`, `removed` or `restored`.
    pub deed: String,
    pub amount: Money,
    pub reason: String,
}

/// A person's month.
#[derive(Clone, Debug)]
pub struct Earnings {
    pub month: MonthStatus,
    /// None if the person has nothing in the month.
    pub entry: Option<Entry>,
    /// A page of adjustments, newest day first.
    pub lines: Vec<Adjustment>,
    /// The cursor of the next page, if there is one.
    pub next_page: Option<AdjustmentCursor>,
    pub payments: Vec<Payment>,
    pub changes: Vec<AdjustmentChange>,
}

impl PayrollSheet {
    /// What the owner sees, to detect later changes.
    pub fn seen(&self) -> SeenMonth {
        SeenMonth { total: self.sum.total, version: self.sum.version }
    }
}

impl Entry {
    /// What is still to be paid.
    pub fn due(&self) -> Money {
        self.total - self.paid - self.credit
    }
}

impl Earnings {
    /// What is still to be paid.
    pub fn due(&self) -> Money {
        self.entry.as_ref().map_or(Money::ZERO, Entry::due)
    }

    /// What was overpaid before.
    pub fn credit(&self) -> Money {
        self.entry.as_ref().map_or(Money::ZERO, |entry| entry.credit)
    }
}

impl MonthStatus {
    pub const fn is_closed(&self) -> bool {
        self.closed.is_some()
    }
}

/// A sum as BIGINT: PostgreSQL widens sums of integers, and the sum of no rows is NULL.
pub(super) fn bigint_sum(column: &str) -> Expr {
    Expr::cust(format!("CAST(COALESCE(SUM({column}), 0) AS BIGINT)"))
}

impl From<entry::Model> for Entry {
    fn from(row: entry::Model) -> Self {
        Self {
            user_id: row.user_id,
            hours: PaidHours::from_hundredths(row.hours_hundredths),
            earned: Money::from_kopecks(row.earned_kopecks),
            bonus: Money::from_kopecks(row.bonus_kopecks),
            deduction: Money::from_kopecks(row.deduction_kopecks),
            total: Money::from_kopecks(row.total_kopecks),
            paid: Money::from_kopecks(row.paid_kopecks),
            credit: Money::ZERO,
            version: row.version,
        }
    }
}

impl From<payment::Model> for Payment {
    fn from(row: payment::Model) -> Self {
        Self {
            id: row.id,
            amount: Money::from_kopecks(row.amount_kopecks),
            at: Millis(row.paid_at),
            by: row.paid_by,
            is_taken_back: row.taken_back_at.is_some(),
        }
    }
}

impl From<change::Model> for AdjustmentChange {
    fn from(row: change::Model) -> Self {
        Self {
            adjustment_id: row.adjustment_id,
            at: Millis(row.at),
            by: row.by_id,
            deed: row.deed,
            amount: Money::from_kopecks(row.amount_kopecks),
            reason: row.reason,
        }
    }
}
