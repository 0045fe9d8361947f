//! A complete bot in this process with the emulator: what people, operators and applications can rely on.

mod albums;
mod buttons;
mod dialogues;
mod downloads;
pub mod effects;
mod errors;
mod fleet;
pub mod form;
mod groups;
mod intake;
mod jobs;
mod language;
mod limits;
pub mod log_capture;
pub mod metrics;
mod observability;
mod operator;
mod outages;
mod posting;
mod refused_messages;
mod standby;
mod stopping;
mod timers;
mod traces;
pub mod webhook;
mod writes;
