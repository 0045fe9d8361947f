//! Chooses and opens the store of a command.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use opora::store::{OpenError, Store};

use crate::config;

#[derive(Debug, Args)]
pub struct Address {
    /// The store: `sqlite:<path>`, `postgres://…` or `redis://…`; by default STATE_URL, else REDIS_URL, else
    /// `sqlite:<DATA_DIR>/opora.db`. An address with a password belongs in STATE_URL: other users can see a command
    /// line
    #[arg(long, value_name = "ADDRESS", global = true)]
    store: Option<String>,
    /// The application's configuration file; `opora.toml` in the current directory by default
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
}

/// Advice for a server that cannot be used.
const ADVICE: &str = "Check its host, port, database, user and password, and whether the server runs";

impl Address {
    /// The address, and the setting or flag that names it.
    pub fn named(&self) -> anyhow::Result<(String, &'static str)> {
        match &self.store {
            Some(address) => Ok((address.clone(), "--store")),
            None => config::state_address(self.config.clone()),
        }
    }

    /// Opens an existing store.
    pub async fn open(&self) -> anyhow::Result<Arc<dyn Store>> {
        let (address, named_by) = self.named()?;
        if address.starts_with("memory:") {
            bail!("a memory store lives inside the bot's process: no other process can read it");
        }
        if let Some(path) = address.strip_prefix("sqlite:") {
            must_exist(Path::new(path.strip_prefix("//").unwrap_or(path))).await?;
        }
        opora::store::open_existing(&address).await.map_err(|error| {
            let is_server = !address.starts_with("sqlite:") && matches!(error, OpenError::CannotOpen(_));
            let advice = if is_server { format!(". {ADVICE}") } else { String::new() };
            anyhow!("cannot open the store that {named_by} names: {error}{advice}")
        })
    }
}

/// Fails for a mistyped path.
async fn must_exist(path: &Path) -> anyhow::Result<()> {
    match tokio::fs::metadata(path).await {
        Ok(found) if found.is_dir() => bail!("{} is a directory, not a store", path.display()),
        Ok(found) if found.len() == 0 => bail!("{} is an empty file, not a store", path.display()),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!("there is no store at {}; --store or STATE_URL names another", path.display())
        }
        Err(error) => Err(error).with_context(|| format!("cannot access {}", path.display())),
    }
}
