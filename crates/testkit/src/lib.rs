//! Shared parts of this workspace's tests and benches: servers, a proxy, an emulator, the product as a process, waits.
//!
//! Every server and process ends with its test. Nothing here depends on the library or the application. Helpers that
//! need the library's types are in `opora::testing`. See `docs/testing.md`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop where it is")]

pub mod aiogram_storage;
pub mod documents;
pub mod emitted_metrics;
pub mod environment;
mod flushes;
pub mod pictures;
mod postgres_copies;
pub mod postgres_server;
pub mod product;
pub mod proxy;
pub mod queries;
pub mod redis_server;
pub mod server_process;
pub mod stage;
pub mod waiting;
