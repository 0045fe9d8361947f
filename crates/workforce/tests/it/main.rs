//! Integration tests of the `opora` program: the application in process, as a process, and in a real browser. One
//! binary, with a module for each room or subject.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop where it is")]

mod application;
mod background;
mod chat_page;
mod fixtures;
mod front;
mod kit;
mod notices;
mod onboarding;
mod operator;
mod orders;
mod overview;
mod payroll;
mod people;
mod process;
mod registration;
mod scenarios;
mod settings;
mod shifts;
mod sites;
mod web;
