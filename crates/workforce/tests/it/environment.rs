//! The only reader of the environment in these tests. `cargo xtask test` sets all of it.

use std::path::PathBuf;

pub fn chromium() -> PathBuf {
    program("OPORA_TEST_CHROMIUM", "/usr/bin/chromium")
}

pub fn chromedriver() -> PathBuf {
    program("OPORA_TEST_CHROMEDRIVER", "/usr/bin/chromedriver")
}

/// A Python with aiogram and its Redis client, and a reader of spreadsheets.
pub fn python() -> PathBuf {
    let python = std::env::var_os("OPORA_TEST_PYTHON");
    python.expect("OPORA_TEST_PYTHON is not set: run the tests by `cargo xtask test`, which prepares it").into()
}

/// A Python with a server that speaks S3.
pub fn moto() -> PathBuf {
    let moto = std::env::var_os("OPORA_TEST_MOTO");
    moto.expect("OPORA_TEST_MOTO is not set: run the tests by `cargo xtask test`, which prepares it").into()
}

/// A Redis for tests that do it no harm.
pub fn redis_url() -> Option<String> {
    std::env::var("TEST_REDIS_URL").ok().filter(|url| !url.is_empty())
}

/// A PostgreSQL for tests that do it no harm.
pub fn database_url() -> Option<String> {
    std::env::var("TEST_DATABASE_URL").ok().filter(|url| !url.is_empty())
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
