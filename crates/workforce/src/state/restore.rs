//! `opora restore`: replaces a store by a backup.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use opora::store::{ProcessStatus, Restored, SqliteStore, process_status};

use crate::config;
use crate::terminal::{Consent, output};

#[derive(Debug, Args)]
#[command(
    after_help = "The old data is kept beside it under another name. The bot forgets everything since the backup; updates \
                            of that time that Telegram still holds are delivered again."
)]
pub struct Restore {
    /// A file that `opora backup` made; it is not changed
    #[arg(value_name = "FILE")]
    from: PathBuf,
    /// The store: `sqlite:<path>`; by default STATE_URL, else `sqlite:<DATA_DIR>/opora.db`
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,
    /// The application's configuration file; `opora.toml` in the current directory by default
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
    refuse_running_bot(&address, path).await?;
    let (from_name, name, size) = (from.display(), path.display(), output::size(bytes));
    consent.confirm(&format!("Replace {name} by {from_name} ({size})? The bot forgets everything since then.")).await?;
    let Restored { old_file, was_readable } = SqliteStore::restore(&from, path).await?;
    output::say(&format!("{name} is as it was when {from_name} was made."))?;
    if let Some(old_file) = old_file {
        output::say(&format!("The old data is kept as {}.", old_file.display()))?;
    }
    if !was_readable {
        output::note(
            "The old data could not be read, so versions go back: a button from the lost time may match a later question.",
        );
    }
    Ok(())
}

async fn is_same(one: &Path, other: &Path) -> bool {
    let (one, other) = (tokio::fs::canonicalize(one).await, tokio::fs::canonicalize(other).await);
    matches!((one, other), (Ok(one), Ok(other)) if one == other)
}

/// Fails if a running process leads with this store. Other processes with the file open are found when it is replaced.
async fn refuse_running_bot(address: &str, path: &Path) -> anyhow::Result<()> {
    if !tokio::fs::metadata(path).await.is_ok_and(|found| found.is_file() && found.len() > 0) {
        return Ok(());
    }
    // A store that cannot be opened is not in use by a bot.
    let Ok(store) = opora::store::open_existing(address).await else { return Ok(()) };
    let mut leader = None;
    for bot in store.operator().bots().await.unwrap_or_default() {
        let holder = store.lease(bot).await.ok().flatten().map(|lease| lease.holder);
        leader =
            leader.or(holder.filter(|holder| process_status(holder) == ProcessStatus::Running).map(|by| (bot, by)));
    }
    store.close().await?;
    match leader {
        Some((bot, by)) => {
            bail!("process {} on {} runs bot {bot} with this store: stop it first", by.pid, by.host)
        }
        None => Ok(()),
    }
}
