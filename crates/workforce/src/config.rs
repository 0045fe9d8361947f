//! The only reader of the environment in this crate.

use std::io::IsTerminal;

use anyhow::{Context, bail};
use tracing_subscriber::EnvFilter;

/// Logs to standard error, from `info` up unless `RUST_LOG` says otherwise.
pub fn start_log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours).init();
}

/// Where conversations are kept: `STATE_URL`, else `opora.db` in `DATA_DIR`, else in `data`.
pub fn state_address() -> anyhow::Result<String> {
    if let Some(address) = variable("STATE_URL")? {
        return Ok(address);
    }
    let data = variable("DATA_DIR")?.unwrap_or_else(|| "data".to_owned());
    Ok(format!("sqlite:{}/opora.db", data.trim_end_matches('/')))
}

/// Where an aiogram bot keeps its states: `REDIS_URL`. An address on the command line shows its password to others.
pub fn redis_address() -> anyhow::Result<String> {
    variable("REDIS_URL")?.context("--redis is missing, and so is REDIS_URL: where aiogram's Redis is")
}

/// A variable of the environment; an empty one counts as none.
fn variable(name: &str) -> anyhow::Result<Option<String>> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => bail!("{name} is not UTF-8"),
    }
}
