//! Payroll: what people earned and why, by month, and what they were paid.
//!
//! Rooms post [rows](Row) in the commit of what earned them ([`Payroll::post`]). Sums by person and month are kept beside
//! the rows and always agree with them. A closed month stays as it is, which the database itself sees to: whatever comes
//! later goes into the next one that is open.
//!
//! It does not move money: a payment is a mark that somebody was paid.

use opora::clock::{Clock, Millis};
use opora::store::WriteError;

pub use self::kind::Kind;
pub use self::money::{Hours, Money, NotMoney};
pub use self::period::Period;
pub use self::rules::{
    Basis, LatenessFacts, MaterialsExceedTotal, OrderFacts, Row, Shares, ShiftFacts, Source, TaskFacts, adjustments_of,
    minutes_late, order_share, rate_of, task_row,
};
use crate::domain::{Domain, Writing};
use crate::people::People;
use crate::rooms::Room;

mod kind;
mod money;
mod period;
mod posting;
mod rules;
mod tables;

/// The room.
#[derive(Debug)]
pub struct PayrollRoom;

impl Room for PayrollRoom {
    fn name(&self) -> &'static str {
        "payroll"
    }
}

/// The front door.
#[derive(Clone, Debug)]
pub struct Payroll {
    domain: Domain,
    people: People,
    clock: Clock,
}

impl Payroll {
    pub fn new(domain: Domain, clock: Clock) -> Self {
        Self { people: People::new(domain.clone()), domain, clock }
    }

    /// Writes rows down within a commit; those that are there already stay as they are.
    pub async fn post(db: &Writing<'_, '_>, rows: Vec<Row>, at: Millis) -> Result<(), WriteError> {
        posting::post(db, rows, at).await
    }
}
