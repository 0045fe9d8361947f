//! The only reader of the environment in this crate.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Logs to standard error, from `info` up unless `RUST_LOG` says otherwise.
pub fn start_log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours).init();
}
