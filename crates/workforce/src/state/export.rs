//! `opora state export`: conversations as JSON lines.
//!
//! Each conversation is consistent, but they are read page by page, so changes of a running bot may be included or not.
//! `opora backup` copies one moment.

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use opora::store::{Filter, Store};
use tokio::fs::File;
use tokio::io::{AsyncWriteExt, BufWriter};

use super::{CommandContext, find};
use crate::terminal::output;

#[derive(Debug, Args)]
pub struct Export {
    #[command(flatten)]
    filters: find::Filters,
    /// The new file to write, readable by its owner only; `-` is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    to: PathBuf,
}

pub async fn run(context: &CommandContext<'_>, arguments: Export) -> anyhow::Result<()> {
    let filter = arguments.filters.into();
    let to = arguments.to.as_path();
    if to == Path::new("-") {
        let stdout = std::io::stdout().as_fd().try_clone_to_owned()?;
        return match write(context.store, &filter, File::from_std(stdout.into())).await {
            // A reader that has seen enough, such as `head`, is no failure.
            Err(error) if is_broken_pipe(&error) => Ok(()),
            written => written.map(print_count),
        };
    }
    let file = create(to).await?;
    let written = write(context.store, &filter, file).await.with_context(|| format!("cannot write {}", to.display()));
    if written.is_err() {
        // The file was created above; half an export must not be mistaken for a whole one.
        let _ = tokio::fs::remove_file(to).await;
    }
    written.map(print_count)
}

fn print_count(conversations: u64) {
    output::note(&format!("{} exported.", output::counted(conversations, "conversation")));
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

async fn create(to: &Path) -> anyhow::Result<File> {
    // It holds texts of people.
    match tokio::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).await {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{} exists already: an export overwrites nothing", to.display())
        }
        made => made.with_context(|| format!("cannot write {}", to.display())),
    }
}

async fn write(store: &dyn Store, filter: &Filter, to: File) -> anyhow::Result<u64> {
    let (mut to, mut after, mut conversations) = (BufWriter::new(to), None, 0);
    loop {
        let page = store.list(filter, after.as_ref(), find::PAGE).await?;
        for row in &page {
            let mut line = serde_json::to_vec(row)?;
            line.push(b'\n');
            to.write_all(&line).await?;
            conversations += 1;
        }
        if page.len() < find::PAGE {
            break;
        }
        after = page.into_iter().next_back().map(|row| row.key);
    }
    to.flush().await?;
    Ok(conversations)
}
