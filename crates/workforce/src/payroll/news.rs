//! What people are told of their pay: what somebody else wrote, changed or removed by hand, and payments.
//!
//! It is written in the commit of the deed, as a [notice](crate::notices). Nobody is told of what they did
//! themselves, and nothing is told of what follows from work: that is said when a shift is closed.

use opora::clock::Millis;
use opora::store::WriteError;

use super::Period;
use crate::domain::Writing;
use crate::notices::{self, Notice, PayNews};

/// Whose pay it is, and who did something to it.
#[derive(Clone, Copy, Debug)]
pub struct About {
    pub user_id: i64,
    pub by: i64,
    pub month: Period,
}

/// Writes down what the person is to be told.
pub async fn tell(db: &Writing<'_, '_>, about: About, what: PayNews, at: Millis) -> Result<(), WriteError> {
    let About { user_id, by, month } = about;
    let told = if user_id == by { Vec::new() } else { vec![(user_id, Notice::Pay { month, what })] };
    notices::write(db, told, at).await
}
