//! How updates reach a bot: by long polling or by webhook.

pub mod polling;
pub mod webhook;
