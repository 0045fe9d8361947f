//! Tests of the library through its public interface. One binary, with a module for each subject.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop where it is")]

mod aiogram;
mod conformance;
mod crash;
mod decisions;
mod failpoints;
mod journal;
mod lost_redis;
mod postgres_store;
mod redis_store;
mod runtime;
mod sent_log;
mod stage;
mod telegram;
mod tls;
mod two_instances;
