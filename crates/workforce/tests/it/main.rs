//! `opora` as its users meet it: the real program, and its chat page in a real browser. One binary, a module for each
//! concern.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop where it is")]

mod browser;
mod chromedriver;
mod demo;
mod dialogue;
mod environment;
mod hostile;
mod inspector;
mod keeping;
mod operator;
mod page;
mod preferences;
mod returning;
mod running;
mod two_people;
