//! `opora state import`: conversations from JSON lines, as `opora state export` writes them, or of an aiogram bot.
//!
//! A line that cannot be parsed is reported with its number and left out; the others are imported. Importing a file
//! again changes nothing: open conversations stay as they are, unless `--replace`.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use futures_util::future::join_all;
use opora::aiogram::ImportOptions;
use opora::clock::Stopwatch;
use opora::store::{ConversationRow, Opened, Store, StoreError};
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, BufReader};

use super::CommandContext;
use crate::terminal::output;

mod dialogue_map;
mod from_aiogram;

/// Lines that are handed to the store together, which commits them as a group.
const BATCH: usize = 256;
const PROGRESS_EVERY: Duration = Duration::from_secs(1);
/// Versions count turns; a higher one is invalid.
const VERSION_MAX: i64 = 1 << 53;

#[derive(Debug, Args)]
pub struct Import {
    /// The file to read; `-` is standard input, and `aiogram` an aiogram bot's Redis
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// Overwrite open conversations; without it they stay as they are
    #[arg(long)]
    replace: bool,
    /// Check every line and count, but write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    aiogram: from_aiogram::Aiogram,
}

/// A line of the file, counted from one.
struct Line {
    number: u64,
    bytes: Vec<u8>,
}

/// The result of a line.
enum Outcome {
    Imported,
    Kept,
    Bad(String),
}

#[derive(Default)]
struct ImportCounts {
    imported: u64,
    kept: u64,
    bad: u64,
}

pub async fn run(context: &CommandContext<'_>, arguments: Import) -> anyhow::Result<()> {
    if arguments.from == Path::new("aiogram") {
        let options = ImportOptions { replace: arguments.replace, dry_run: arguments.dry_run };
        return from_aiogram::run(context, arguments.aiogram, options).await;
    }
    if arguments.aiogram.is_given() {
        bail!("--redis, --bot, --dialogue-map and related flags belong to `--from aiogram`; a file needs none of them");
    }
    let from = if arguments.from == Path::new("-") {
        File::from_std(std::io::stdin().as_fd().try_clone_to_owned()?.into())
    } else {
        let file = File::open(&arguments.from).await;
        file.with_context(|| format!("cannot read {}", arguments.from.display()))?
    };
    let tally = import_lines(context.store, BufReader::new(from), &arguments).await?;
    output::note(&tally.summary(arguments.dry_run));
    if tally.bad > 0 {
        bail!("{} could not be read", output::counted(tally.bad, "line"));
    }
    Ok(())
}

async fn import_lines(
    store: &dyn Store,
    mut from: BufReader<File>,
    arguments: &Import,
) -> anyhow::Result<ImportCounts> {
    let (mut tally, mut number, mut shown) = (ImportCounts::default(), 0, Stopwatch::start());
    loop {
        let lines = batch(&mut from, &mut number).await.context("cannot read on")?;
        if lines.is_empty() {
            return Ok(tally);
        }
        let numbers: Vec<_> = lines.iter().map(|line| line.number).collect();
        let outcomes = join_all(lines.into_iter().map(|line| import_line(store, line, arguments))).await;
        for (number, outcome) in numbers.into_iter().zip(outcomes) {
            let failed = || format!("the import stopped at line {number}; it can be repeated");
            tally.note(number, outcome.with_context(failed)?);
        }
        if shown.elapsed() >= PROGRESS_EVERY {
            output::note(&format!("{number} lines read"));
            shown = Stopwatch::start();
        }
    }
}

/// The next non-empty lines; none at the end.
async fn batch(from: &mut BufReader<File>, number: &mut u64) -> std::io::Result<Vec<Line>> {
    let mut lines = Vec::new();
    while lines.len() < BATCH {
        // Bytes: an invalid encoding spoils only its own line.
        let mut bytes = Vec::new();
        if from.read_until(b'\n', &mut bytes).await? == 0 {
            break;
        }
        *number += 1;
        if !bytes.trim_ascii().is_empty() {
            lines.push(Line { number: *number, bytes });
        }
    }
    Ok(lines)
}

async fn import_line(store: &dyn Store, line: Line, arguments: &Import) -> Result<Outcome, StoreError> {
    let row = match read(&line.bytes) {
        Ok(row) => row,
        Err(reason) => return Ok(Outcome::Bad(reason)),
    };
    let imported = if arguments.dry_run {
        let is_open = matches!(store.open(&row.key, None).await?, Opened::At { stored: Some(_), .. });
        arguments.replace || !is_open
    } else {
        store.operator().import(&row, arguments.replace).await?
    };
    Ok(if imported { Outcome::Imported } else { Outcome::Kept })
}

fn read(line: &[u8]) -> Result<ConversationRow, String> {
    let row: ConversationRow = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if !(0..=VERSION_MAX).contains(&row.version.0) {
        return Err(format!("version {} is out of range", row.version.0));
    }
    if let Some(stored) = &row.stored {
        let value = serde_json::from_str::<serde::de::IgnoredAny>(&stored.value);
        value.map_err(|error| format!("its value is not JSON: {error}"))?;
    }
    Ok(row)
}

impl ImportCounts {
    fn note(&mut self, number: u64, outcome: Outcome) {
        match outcome {
            Outcome::Imported => self.imported += 1,
            Outcome::Kept => self.kept += 1,
            Outcome::Bad(reason) => {
                self.bad += 1;
                output::note(&format!("line {number}: {reason}"));
            }
        }
    }

    fn summary(&self, is_dry_run: bool) -> String {
        let imported = output::counted(self.imported, "conversation");
        let verb = if is_dry_run { "would be imported" } else { "imported" };
        let kept = match self.kept {
            0 => String::new(),
            kept => format!(", {kept} left as they are because they are open (--replace overwrites them)"),
        };
        let bad = match self.bad {
            0 => String::new(),
            bad => format!(", {} left out", output::counted(bad, "bad line")),
        };
        format!("{imported} {verb}{kept}{bad}.")
    }
}
