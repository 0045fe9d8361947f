//! Background jobs: repeated, killed and taken over; by the calendar; by the command line and on the operator's page.

mod at_each_write;
mod by_calendar;
mod command;
mod interrupted;
mod operators_page;
mod reminders_at_once;
mod repeated;
mod work;
