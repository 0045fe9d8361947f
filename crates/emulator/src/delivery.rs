//! How updates reach a bot: it asks for them, or they are posted to it.

pub mod polling;
pub mod webhook;
