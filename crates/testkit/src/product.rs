//! The product as a process, and what tests and benches do with it.
//!
//! Everything here reaches the program by its command line, HTTP and SQL: nothing depends on the application's crate.

pub mod attack;
pub mod crowd;
pub mod demo;
pub mod large_firm;
pub mod newcomer;
