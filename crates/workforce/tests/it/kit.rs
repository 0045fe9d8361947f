//! Fixtures that several rooms use: the application in this process, the product as a process, and real browsers.
//!
//! `docs/testing.md` says which one a test needs.

pub use opora_testkit::product::demo;
pub use opora_testkit::queries;

pub mod browser;
pub mod cabinet;
pub mod chat;
pub mod chromedriver;
pub mod firm;
pub mod overtaken;
pub mod page;
pub mod product;
pub mod remains;
pub mod s3_server;
