//! The only reader of the environment in tests and benches.
//!
//! `cargo xtask test` sets the servers, programs and folders, `cargo xtask soak` the numbers. Tests set
//! [`CHILD`] for processes of their own.

use std::path::PathBuf;

/// The variable that makes a process the child of a test.
pub const CHILD: &str = "OPORA_TEST_CHILD";

/// What this process is to do as the child of a test; none if it is no child.
pub fn child() -> Option<String> {
    std::env::var(CHILD).ok()
}

/// How often a bot is killed at each failpoint; few times unless told.
pub fn kills() -> Option<usize> {
    std::env::var("OPORA_SOAK_KILLS").ok().and_then(|kills| kills.parse().ok())
}

/// How many people talk to a bot that is being killed; some unless told.
pub fn people() -> Option<usize> {
    std::env::var("OPORA_SOAK_PEOPLE").ok().and_then(|people| people.parse().ok())
}

/// A Redis that tests share. Without it each test starts its own.
pub fn redis_url() -> Option<String> {
    std::env::var("TEST_REDIS_URL").ok().filter(|url| !url.is_empty())
}

/// A PostgreSQL that tests share. Without it each test starts its own.
pub fn database_url() -> Option<String> {
    std::env::var("TEST_DATABASE_URL").ok().filter(|url| !url.is_empty())
}

/// Whether fixtures of the stores are to be written, and not only compared: see `cargo xtask fixtures`.
pub fn writes_fixtures() -> bool {
    std::env::var_os("OPORA_WRITE_FIXTURES").is_some()
}

/// The program of a Redis 6.2.
pub fn old_redis() -> PathBuf {
    prepared("OPORA_TEST_OLD_REDIS")
}

/// A Python with aiogram and its Redis client, python-telegram-bot, and a reader of spreadsheets.
pub fn python() -> PathBuf {
    prepared("OPORA_TEST_PYTHON")
}

/// A Python with a server that speaks S3.
pub fn moto() -> PathBuf {
    prepared("OPORA_TEST_MOTO")
}

/// A `node_modules` with grammY and Telegraf.
pub fn node_path() -> PathBuf {
    prepared("OPORA_TEST_NODE_PATH")
}

/// The bot of `bench/bots/teloxide-walk`, built.
pub fn teloxide() -> PathBuf {
    prepared("OPORA_TEST_TELOXIDE")
}

/// A machine-readable description of the Bot API; optional.
pub fn botapi_schema() -> Option<PathBuf> {
    std::env::var_os("BOTAPI_SCHEMA").map(PathBuf::from)
}

/// The browser of the page tests.
pub fn chromium() -> PathBuf {
    program("OPORA_TEST_CHROMIUM", "/usr/bin/chromium")
}

/// The program that drives the browser.
pub fn chromedriver() -> PathBuf {
    program("OPORA_TEST_CHROMEDRIVER", "/usr/bin/chromedriver")
}

/// What only `cargo xtask test` prepares.
fn prepared(name: &str) -> PathBuf {
    let value = std::env::var_os(name);
    value.unwrap_or_else(|| panic!("{name} is not set: run the tests by `cargo xtask test`, which prepares it")).into()
}

/// The program that a variable names, else the one that a package of the system puts there.
fn program(name: &str, usual: &str) -> PathBuf {
    let path = std::env::var_os(name).map_or_else(|| PathBuf::from(usual), PathBuf::from);
    assert!(
        path.is_file(),
        "{name} is not set and there is no {usual}: run the tests by `cargo xtask test`, which provides it"
    );
    path
}
