//! Background jobs: repeated, killed and taken over; by the calendar; by the command line and on the operator's page.

mod by_calendar;
mod command;
mod interrupted;
mod operators_page;
mod repeated;
