//! Telegram bots that never forget.

// The derive names this crate by its name, also within it.
extern crate self as opora;

pub mod clock;
pub mod dialogue;
pub mod failpoints;
pub mod input;
pub mod key;
pub mod outbox;
pub mod prelude;
pub mod store;
pub mod telegram;
pub mod testing;
pub mod turn;
pub mod update;

pub use opora_derive::States;
pub mod bot;
pub mod effects;
pub mod engine;
pub mod instance;
pub mod intake;
mod mailbox;
mod schedule;
