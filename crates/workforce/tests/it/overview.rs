//! Pages that join rooms: today, the calendar, everyone's own schedule, charts; and the business as a whole.

mod calendar_page;
mod calendar_sums;
mod days;
mod own_schedule;
pub mod owners_week;
pub mod running_a_business;
mod running_page;
