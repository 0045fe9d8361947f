//! What the tests and benches of this workspace share: servers, a proxy, a stage, the product as a process, waits and
//! the environment.
//!
//! Each server and process ends with its test. Nothing here depends on the library or the application, so that it
//! compiles beside them; what needs the library's types is in `opora::testing`. `docs/testing.md` says how tests use it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop where it is")]

pub mod aiogram_storage;
pub mod environment;
mod flushes;
pub mod pictures;
pub mod postgres_server;
pub mod product;
pub mod proxy;
pub mod queries;
pub mod redis_server;
pub mod server_process;
pub mod stage;
pub mod waiting;
