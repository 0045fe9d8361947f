//! The only reader of environment variables in tests and benches.
//!
//! `cargo xtask test` sets the servers, programs and folders; `cargo xtask soak` sets the counts. Tests set [`CHILD`]
//! for their child processes.

use std::path::PathBuf;
use std::time::Duration;

/// The variable that marks a process as the child of a test.
pub const CHILD: &str = "OPORA_TEST_CHILD";

/// What this process has to do as the child of a test. None if it is not a child.
pub fn child() -> Option<String> {
    std::env::var(CHILD).ok()
}

/// How often a bot is killed at each failpoint. None outside of `cargo xtask soak`.
pub fn soak_kills() -> Option<usize> {
    std::env::var("OPORA_SOAK_KILLS").ok().and_then(|kills| kills.parse().ok())
}

/// How many people talk to a bot while it is killed. None outside of `cargo xtask soak`.
pub fn soak_people() -> Option<usize> {
    std::env::var("OPORA_SOAK_PEOPLE").ok().and_then(|people| people.parse().ok())
}

/// How long jobs run while their bot is killed. None outside of `cargo xtask soak --minutes`.
pub fn soak_duration() -> Option<Duration> {
    let minutes: u64 = std::env::var("OPORA_SOAK_MINUTES").ok()?.parse().ok()?;
    Some(Duration::from_secs(60 * minutes))
}

/// A Redis that tests share. Without it each test starts its own.
pub fn redis_url() -> Option<String> {
    std::env::var("TEST_REDIS_URL").ok().filter(|url| !url.is_empty())
}

/// A PostgreSQL that tests share. Without it each test starts its own.
pub fn database_url() -> Option<String> {
    std::env::var("TEST_DATABASE_URL").ok().filter(|url| !url.is_empty())
}

/// Whether to write the stores' fixtures instead of comparing them. Set by `cargo xtask fixtures`.
pub fn writes_fixtures() -> bool {
    std::env::var_os("OPORA_WRITE_FIXTURES").is_some()
}

/// An existing folder for screenshots of every page and step. Set by `cargo xtask screenshots`. Without it only
/// failures are kept.
pub fn screenshots() -> Option<PathBuf> {
    std::env::var_os("OPORA_SCREENSHOTS").map(PathBuf::from)
}

/// The program of a Redis 6.2.
pub fn old_redis() -> PathBuf {
    required_path("OPORA_TEST_OLD_REDIS")
}

/// A Python with aiogram and its Redis client, python-telegram-bot, and a spreadsheet reader.
pub fn python() -> PathBuf {
    required_path("OPORA_TEST_PYTHON")
}

/// A Python with moto, a server that speaks S3.
pub fn moto_python() -> PathBuf {
    required_path("OPORA_TEST_MOTO")
}

/// A `node_modules` with grammY, Telegraf and axe-core.
pub fn node_path() -> PathBuf {
    required_path("OPORA_TEST_NODE_PATH")
}

/// The built bot of `bench/bots/teloxide-walk`.
pub fn teloxide_bot() -> PathBuf {
    required_path("OPORA_TEST_TELOXIDE")
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

/// A path that only `cargo xtask test` prepares.
fn required_path(name: &str) -> PathBuf {
    let value = std::env::var_os(name);
    value.unwrap_or_else(|| panic!("{name} is not set: run the tests by `cargo xtask test`, which prepares it")).into()
}

/// The program that a variable names, or else the one from a system package.
fn program(name: &str, default_path: &str) -> PathBuf {
    let path = std::env::var_os(name).map_or_else(|| PathBuf::from(default_path), PathBuf::from);
    assert!(
        path.is_file(),
        "{name} is not set and there is no {default_path}: run the tests by `cargo xtask test`, which provides it"
    );
    path
}
