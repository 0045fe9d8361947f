//! `opora restore`: a backup in the place of a store.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use opora::instance::{self, Sighting};
use opora::store::{Restored, SqliteStore};

use super::confirm::Consent;
use super::output;
use crate::config;

#[derive(Debug, Args)]
#[command(
    after_help = "What was there is kept beside it under another name. What was said since the backup is gone for the bot; \
                        updates of that time that Telegram still holds come again."
)]
pub struct Restore {
    /// A file that `opora backup` made; it stays as it is
    #[arg(value_name = "FILE")]
    from: PathBuf,
    /// The store: `sqlite:<path>`; without it STATE_URL, else `sqlite:<DATA_DIR>/opora.db`
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,
    /// The configuration file of the application; `opora.toml` in the current directory unless given
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    consent: Consent,
}

pub async fn run(arguments: Restore) -> anyhow::Result<()> {
    let Restore { from, to, config, consent } = arguments;
    let address = match to {
        Some(address) => address,
        None => config::state_address(config)?.0,
    };
    let Some(path) = address.strip_prefix("sqlite:").filter(|path| !path.is_empty()) else {
        bail!("a backup is an SQLite file: a Redis and a PostgreSQL are restored by their own tools");
    };
    let path = Path::new(path.strip_prefix("//").unwrap_or(path));
    let bytes = tokio::fs::metadata(&from).await.with_context(|| format!("cannot read {}", from.display()))?.len();
    if is_same(&from, path).await {
        bail!("{} is the store itself, not a backup of it", from.display());
    }
    nobody_works_on(&address, path).await?;
    let (from_name, name, size) = (from.display(), path.display(), output::size(bytes));
    consent
        .to(&format!("Put {from_name} ({size}) in the place of {name}? The bot forgets what was said since then."))
        .await?;
    let Restored { kept, was_readable } = SqliteStore::restore(&from, path).await?;
    output::say(&format!("{name} is as it was when {from_name} was made."))?;
    if let Some(kept) = kept {
        output::say(&format!("What was there is kept as {}.", kept.display()))?;
    }
    if !was_readable {
        output::note(
            "What was there could not be read, so versions go back: a button of the lost time may fit a later question.",
        );
    }
    Ok(())
}

async fn is_same(one: &Path, other: &Path) -> bool {
    let (one, other) = (tokio::fs::canonicalize(one).await, tokio::fs::canonicalize(other).await);
    matches!((one, other), (Ok(one), Ok(other)) if one == other)
}

/// Names the process that has to be stopped first. Whoever else has the file open is found when it is to be replaced.
async fn nobody_works_on(address: &str, path: &Path) -> anyhow::Result<()> {
    if !tokio::fs::metadata(path).await.is_ok_and(|found| found.is_file() && found.len() > 0) {
        return Ok(());
    }
    // One that cannot be opened is no bot's that works.
    let Ok(store) = opora::store::open_existing(address).await else { return Ok(()) };
    let mut working = None;
    for bot in store.operator().bots().await.unwrap_or_default() {
        let holder = store.lease(bot).await.ok().flatten().map(|lease| lease.holder);
        working =
            working.or(holder.filter(|holder| instance::look_for(holder) == Sighting::Running).map(|by| (bot, by)));
    }
    store.close().await?;
    match working {
        Some((bot, by)) => {
            bail!("process {} on {} works for bot {bot} with this store: stop it first", by.pid, by.host)
        }
        None => Ok(()),
    }
}
