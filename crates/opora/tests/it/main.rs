//! The library as its users meet it. One binary, a module for each concern.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop where it is")]

mod aiogram;
mod conformance;
mod crash;
mod decided;
mod deliveries;
mod failpoints;
mod journal;
mod noted;
mod postgres_store;
mod redis_store;
mod runtime;
mod stage;
mod telegram;
mod tls;
mod witness;
