//! The library as its users meet it. One binary, a module for each concern.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop where it is")]

mod conformance;
mod crash;
mod environment;
mod failpoints;
mod runtime;
mod stage;
mod telegram;
