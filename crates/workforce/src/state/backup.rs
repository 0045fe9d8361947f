//! `opora backup`: a consistent copy while the bot runs.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use opora::clock::Stopwatch;

use super::open;
use crate::terminal::output;

#[derive(Debug, Args)]
pub struct Backup {
    /// The new file; an existing one is never overwritten
    #[arg(value_name = "FILE")]
    to: PathBuf,
    #[command(flatten)]
    store: open::Address,
}

pub async fn run(arguments: Backup) -> anyhow::Result<()> {
    let to = arguments.to;
    if tokio::fs::symlink_metadata(&to).await.is_ok() {
        bail!("{} exists already: a backup overwrites nothing", to.display());
    }
    let store = arguments.store.open().await?;
    let stopwatch = Stopwatch::start();
    let copied = store.operator().backup(&to).await.with_context(|| format!("cannot copy to {}", to.display()));
    let elapsed = stopwatch.elapsed();
    store.close().await?;
    copied?;
    let bytes = tokio::fs::metadata(&to).await?.len();
    output::say(&format!("Copied to {}: {} in {}.", to.display(), output::size(bytes), output::took(elapsed)))
}
