//! Pages that join rooms: today, the calendar, everyone's own schedule, charts; and the business as a whole.

mod business_in_browser;
pub mod business_pages;
mod calendar_in_browser;
mod calendar_pages;
mod calendar_sums;
mod days;
mod own_schedule;
pub mod owners_week;
