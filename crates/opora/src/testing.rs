//! What a user of this library tests with, and a store of one's own is tested by.
//!
//! Nothing here runs in production; all of it is in every build, so that an application's tests need no feature.

pub mod chat;
pub mod conformance;
pub mod faulty;
pub mod golden;
