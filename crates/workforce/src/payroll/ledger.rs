//! Reading pay: what there is to read. Months of everybody, a person's pay, and sums over days are each read by a part.

use std::collections::HashMap;

use opora::clock::Millis;
use sea_orm::sea_query::Expr;

pub use self::days::{DayOfMonth, Reported};
pub use self::lines::{LineMark, page as page_of_lines};
pub use self::persons::{credit_before, export, line};
use super::tables::{change, entry, payment};
use super::{Basis, Hours, Kind, Money, Period};

mod days;
mod lines;
mod months;
mod persons;

/// How many people a page of a month has.
pub const PAGE: u64 = 50;

/// A person's sums of a month.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub user_id: i64,
    pub hours: Hours,
    pub earned: Money,
    pub bonus: Money,
    pub deduction: Money,
    pub total: Money,
    pub paid: Money,
    /// What was paid beyond what was due in all months before, together; it counts as paid here.
    pub credit: Money,
    /// Raised by every change; of a sum, those of all its entries together.
    pub version: i64,
}

/// A month.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Month {
    pub period: Period,
    /// When it was closed, and by whom.
    pub closed: Option<(Millis, i64)>,
}

/// A month with a page of its people, those with the most first.
#[derive(Clone, Debug)]
pub struct Sheet {
    pub month: Month,
    pub entries: Vec<Entry>,
    /// How many people there are on all pages.
    pub people: u64,
    /// Their sums.
    pub sum: Entry,
    /// By id; of those on this page.
    pub names: HashMap<i64, String>,
}

/// What somebody has seen of a month who closes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub total: Money,
    /// Those of all its entries together. Every change raises one, also where the total stays.
    pub version: i64,
}

/// An amount and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
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
    /// Raised by every change, and by every correction.
    pub version: i64,
    /// What corrections have made of it, if there are any.
    pub corrected: Option<Money>,
}

/// A mark that somebody was paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    pub id: i64,
    pub amount: Money,
    pub at: Millis,
    pub by: i64,
    pub is_taken_back: bool,
}

/// One change of an amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub adjustment_id: i64,
    pub at: Millis,
    pub by: i64,
    /// `added`, `changed`, `removed` or `restored`.
    pub deed: String,
    pub amount: Money,
    pub reason: String,
}

/// All that there is of a person's month.
#[derive(Clone, Debug)]
pub struct Earnings {
    pub month: Month,
    /// None if there is nothing in it.
    pub entry: Option<Entry>,
    /// A page of them, the newest day first.
    pub lines: Vec<Line>,
    /// Where the next page begins, if there is one.
    pub further: Option<LineMark>,
    pub payments: Vec<Payment>,
    pub changes: Vec<Changed>,
}

impl Sheet {
    /// By which a change since then is noticed.
    pub fn seen(&self) -> Seen {
        Seen { total: self.sum.total, version: self.sum.version }
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

    /// What was paid too much before.
    pub fn credit(&self) -> Money {
        self.entry.as_ref().map_or(Money::ZERO, |entry| entry.credit)
    }
}

impl Month {
    pub const fn is_closed(&self) -> bool {
        self.closed.is_some()
    }
}

/// PostgreSQL sums whole numbers up to something wider; nothing sums up to NULL.
pub(super) fn whole_sum(column: &str) -> Expr {
    Expr::cust(format!("CAST(COALESCE(SUM({column}), 0) AS BIGINT)"))
}

impl From<entry::Model> for Entry {
    fn from(row: entry::Model) -> Self {
        Self {
            user_id: row.user_id,
            hours: Hours::from_hundredths(row.hours_hundredths),
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

impl From<change::Model> for Changed {
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
