//! What may still be posted into a month, as reported by other rooms.

use chrono::NaiveDate;
use sea_orm::DbErr;

use super::PayrollMonth;
use crate::application::App;

/// Open matters that may still be posted into some days.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsettled {
    /// Open shifts with their days, in order.
    pub shifts: Vec<(NaiveDate, i64)>,
    /// The number of undecided cancellations.
    pub cancellations: usize,
}

impl Unsettled {
    pub const fn is_any(&self) -> bool {
        !self.shifts.is_empty() || self.cancellations > 0
    }

    /// The open matters of all rooms in a month.
    pub async fn in_month(app: &App, period: PayrollMonth) -> Result<Self, DbErr> {
        let mut all = Self::default();
        for room in app.rooms.iter() {
            let of_room = room.unsettled(app, period.first_day(), period.last_day()).await?;
            all.shifts.extend(of_room.shifts);
            all.cancellations += of_room.cancellations;
        }
        all.shifts.sort_unstable();
        Ok(all)
    }
}
