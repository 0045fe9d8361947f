//! What may still be posted into a month, as other rooms know it.

use chrono::NaiveDate;
use sea_orm::DbErr;

use super::Period;
use crate::application::App;

/// What may still be posted into some days.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsettled {
    /// Shifts that are still open, with the day that each belongs to; the first comes first.
    pub shifts: Vec<(NaiveDate, i64)>,
    /// How many reasons of those who did not come wait to be judged.
    pub cancellations: usize,
}

impl Unsettled {
    /// What all rooms know of a month.
    pub async fn of(app: &App, period: Period) -> Result<Self, DbErr> {
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
