//! A whole bot in this process, against the emulator: what people, operators and applications can rely on.

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
pub mod journal;
mod language;
mod limits;
pub mod numbers;
mod operator;
mod outages;
mod posting;
mod refused;
mod sight;
mod standby;
mod stopping;
mod time;
mod traces;
pub mod webhook;
mod writes;
