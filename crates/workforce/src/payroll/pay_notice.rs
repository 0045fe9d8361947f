//! Notices to people about manual adjustments and payments by others.
//!
//! A [notice](crate::notices) is written in the commit of the change. People get none about their own changes, and none
//! about pay that follows from work: the summary of a closed shift tells that.

use opora::clock::Millis;
use opora::store::WriteError;

use super::PayrollMonth;
use crate::domain::Transaction;
use crate::notices::{self, Notice, PayChange};

/// Whose pay has changed, and who changed it.
#[derive(Clone, Copy, Debug)]
pub struct PayTarget {
    pub user_id: i64,
    pub by: i64,
    pub month: PayrollMonth,
}

/// Writes a notice to the person.
pub async fn write(db: &Transaction<'_, '_>, about: PayTarget, what: PayChange, at: Millis) -> Result<(), WriteError> {
    let PayTarget { user_id, by, month } = about;
    let notices = if user_id == by { Vec::new() } else { vec![(user_id, Notice::Pay { month, what })] };
    notices::write(db, notices, at).await
}
