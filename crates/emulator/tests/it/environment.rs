//! The only reader of the environment in these tests. `cargo xtask test` sets all of it.

use std::path::PathBuf;

/// A Python with aiogram and python-telegram-bot.
pub fn python() -> PathBuf {
    path("OPORA_TEST_PYTHON")
}

/// A `node_modules` with grammY and Telegraf.
pub fn node_path() -> PathBuf {
    path("OPORA_TEST_NODE_PATH")
}

/// The bot of `bench/bots/teloxide-walk`, built.
pub fn teloxide() -> PathBuf {
    path("OPORA_TEST_TELOXIDE")
}

/// A machine-readable description of the Bot API; optional.
pub fn botapi_schema() -> Option<PathBuf> {
    std::env::var_os("BOTAPI_SCHEMA").map(PathBuf::from)
}

fn path(name: &str) -> PathBuf {
    let value = std::env::var_os(name);
    value.unwrap_or_else(|| panic!("{name} is not set: run the tests by `cargo xtask test`, which prepares it")).into()
}
