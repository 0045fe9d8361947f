//! `opora` as its users meet it: the real program, and its chat page in a real browser. One binary, a module for each
//! concern.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop where it is")]

mod application;
mod chat_page;
mod fixtures;
mod front;
mod kit;
mod notices;
mod onboarding;
mod operator;
mod overview;
mod payroll;
mod people;
mod process;
mod registration;
mod settings;
mod shifts;
mod sites;
mod web;
