//! Fixtures that several rooms use: the application in this process, `opora run` as a process, and real browsers.
//!
//! `docs/testing.md` says which one a test needs.

pub use opora_testkit::product::demo;
pub use opora_testkit::queries;

pub mod app_process;
pub mod browser;
pub mod cabinet;
pub mod chat;
pub mod chromedriver;
pub mod firm;
pub mod interleaving_store;
pub mod page;
pub mod s3_server;
pub mod sql;
pub mod stored_data;
