//! The product as a process, for tests and benches.
//!
//! Everything here reaches the program by its command line, HTTP and SQL. Nothing depends on the application's crate.

pub mod attack;
pub mod crowd;
pub mod demo;
pub mod large_firm;
pub mod newcomer;
