//! The only reader of the environment in this crate.

use std::io::IsTerminal;

use anyhow::{Context, bail};
use tracing_subscriber::EnvFilter;

use crate::domain::Address;

/// Logs to standard error, from `info` up unless `RUST_LOG` says otherwise.
pub fn start_log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours).init();
}

/// Where conversations are kept, and which variable says so: `STATE_URL`, else `REDIS_URL`, else `opora.db` in
/// `DATA_DIR`, else in `data`.
pub fn state_address() -> anyhow::Result<(String, &'static str)> {
    if let Some(address) = variable("STATE_URL")? {
        return Ok((address, "STATE_URL"));
    }
    if let Some(address) = variable("REDIS_URL")? {
        return Ok((state_database(&address), "REDIS_URL"));
    }
    embedded()
}

/// The embedded file, for conversations and the domain alike.
fn embedded() -> anyhow::Result<String> {
    let data = variable("DATA_DIR")?.unwrap_or_else(|| "data".to_owned());
    Ok((format!("sqlite:{}/opora.db", data.trim_end_matches('/')), "DATA_DIR"))
}

/// Database 1 of a Redis whose address names none: 0 is where caches are.
fn state_database(address: &str) -> String {
    let (plain, settings) = address.split_at(address.find('?').unwrap_or(address.len()));
    let begins = plain.find("://").map_or(0, |scheme| scheme + 3);
    match plain[begins..].find('/') {
        Some(slash) if begins + slash + 1 < plain.len() => address.to_owned(),
        _ => format!("{}/1{settings}", plain.trim_end_matches('/')),
    }
}

/// Where the domain's tables are: as `given`, else `DATABASE_URL`, else `opora.db` in `DATA_DIR`, else in `data`.
pub fn database_address(given: Option<String>) -> anyhow::Result<Address> {
    let address = match given {
        Some(address) => address,
        None => variable("DATABASE_URL")?.map_or_else(embedded, Ok)?,
    };
    // It may hold a password: it is not repeated.
    Address::parse(&address).context("the address of the database is neither sqlite:<path> nor postgres://…")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_lie_in_database_1_unless_the_address_names_one() {
        for (address, meant) in [
            ("redis://host", "redis://host/1"),
            ("redis://:pw@host:7000/", "redis://:pw@host:7000/1"),
            ("redis://host/0", "redis://host/0"),
            ("rediss://host:1?ca=/etc/ca.pem", "rediss://host:1/1?ca=/etc/ca.pem"),
            ("redis://host/2?prefix=shop", "redis://host/2?prefix=shop"),
        ] {
            assert_eq!(state_database(address), meant);
        }
    }
}
