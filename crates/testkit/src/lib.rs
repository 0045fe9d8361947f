//! What the tests and benches of this workspace share: servers, a proxy, waits and the environment.
//!
//! Each server ends with its test. Nothing here depends on the library or the application, so that it compiles beside
//! them. `docs/testing.md` says how tests use it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop where it is")]

pub mod aiogram_storage;
pub mod environment;
mod flushes;
pub mod pictures;
pub mod postgres_server;
pub mod proxy;
pub mod redis_server;
pub mod server_process;
pub mod waiting;
