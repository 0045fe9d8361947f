//! `opora state import --from aiogram`: imports the conversations of an aiogram bot from its Redis.
//!
//! A file says what its states mean. The source is only read. Everything that is left out is listed, and is a failure
//! unless `--allow-missing`; the rest is imported all the same.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use opora::aiogram::{ImportOptions, ImportReport, KeyBuilder, Layout, Storage, Strategy, import};
use opora::clock::{Clock, Stopwatch};
use serde::Serialize;

use super::PROGRESS_EVERY;
use super::dialogue_map::DialogueMap;
use crate::config;
use crate::state::CommandContext;
use crate::terminal::output;

#[derive(Debug, Args)]
#[command(next_help_heading = "With --from aiogram")]
pub struct Aiogram {
    /// Its Redis: `redis://[:password@]host[:port][/database]`; by default REDIS_URL
    #[arg(long, value_name = "ADDRESS")]
    redis: Option<String>,
    /// The bot's id: the number before the colon in its token
    #[arg(long, value_name = "ID")]
    bot: Option<i64>,
    /// The JSON file that says what aiogram's states mean
    #[arg(long, value_name = "FILE")]
    dialogue_map: Option<PathBuf>,
    /// The key builder's prefix; `fsm` by default
    #[arg(long)]
    prefix: Option<String>,
    /// The key builder's separator; `:` by default
    #[arg(long)]
    separator: Option<String>,
    /// The key builder has with_bot_id
    #[arg(long)]
    with_bot_id: bool,
    /// The key builder has with_business_connection_id
    #[arg(long)]
    with_business_connection_id: bool,
    /// The key builder has with_destiny
    #[arg(long)]
    with_destiny: bool,
    /// The dispatcher's strategy: user-in-chat (default), chat, global-user, user-in-topic or chat-topic
    #[arg(long)]
    strategy: Option<Strategy>,
    /// Conversations that are left out are no failure
    #[arg(long)]
    allow_missing: bool,
    /// Print the report as JSON: one object
    #[arg(long)]
    json: bool,
}

/// The printed report.
#[derive(Serialize)]
struct PrintedReport<'a> {
    #[serde(flatten)]
    report: &'a ImportReport,
    dry_run: bool,
    took_ms: u128,
}

impl Aiogram {
    /// Whether any flag is given that only applies to aiogram.
    pub fn is_given(&self) -> bool {
        let texts = [&self.redis, &self.prefix, &self.separator];
        let flags =
            [self.with_bot_id, self.with_business_connection_id, self.with_destiny, self.allow_missing, self.json];
        texts.iter().any(|text| text.is_some())
            || flags.contains(&true)
            || (self.bot.is_some() || self.dialogue_map.is_some() || self.strategy.is_some())
    }

    fn layout(&self) -> anyhow::Result<Layout> {
        let bot = self.bot.context("--bot is missing: the number before the colon in the bot's token")?;
        let usual = KeyBuilder::default();
        let keys = KeyBuilder {
            prefix: self.prefix.clone().unwrap_or(usual.prefix),
            separator: self.separator.clone().unwrap_or(usual.separator),
            with_bot_id: self.with_bot_id,
            with_business_connection_id: self.with_business_connection_id,
            with_destiny: self.with_destiny,
        };
        Ok(Layout { keys, strategy: self.strategy.unwrap_or_default(), bot })
    }
}

pub async fn run(context: &CommandContext<'_>, arguments: Aiogram, options: ImportOptions) -> anyhow::Result<()> {
    let layout = arguments.layout()?;
    let file =
        arguments.dialogue_map.as_ref().context("--dialogue-map is missing: it says what aiogram's states mean")?;
    let map = DialogueMap::read(file).await?;
    let address = arguments.redis.clone().map_or_else(|| config::redis_address(context.config.clone()), Ok)?;
    let from = Storage::open(&address, layout).await.context("cannot open aiogram's Redis")?;
    output::note(&format!("Reading from the Redis at {from}."));
    let (began, mut shown) = (Stopwatch::start(), Stopwatch::start());
    let progress = |report: &ImportReport| {
        if shown.elapsed() >= PROGRESS_EVERY {
            output::note(&format!("{} found, {} imported so far", report.found, report.imported));
            shown = Stopwatch::start();
        }
    };
    let report = import(&from, &map, context.store, options, &Clock::machine(), progress).await;
    let report = report.context("the import stopped; it can be repeated")?;
    print_report(&report, options.dry_run, began.elapsed(), arguments.json)?;
    let missing = missing(&report);
    if missing > 0 && !arguments.allow_missing {
        bail!("{} left out (--allow-missing accepts that)", output::counted(missing, "conversation"));
    }
    Ok(())
}

fn missing(report: &ImportReport) -> u64 {
    report.found - report.imported - report.already_there
}

fn print_report(report: &ImportReport, dry_run: bool, took: Duration, is_json: bool) -> anyhow::Result<()> {
    if is_json {
        return output::json(&PrintedReport { report, dry_run, took_ms: took.as_millis() });
    }
    for left_out in &report.left_out {
        output::note(&format!("{}: {}", left_out.key, left_out.reason));
    }
    for (state, number) in &report.unmapped {
        let state = if state.is_empty() { "no state, only data".to_owned() } else { format!("the state {state}") };
        output::note(&format!("without a mapping: {} in {state}", output::counted(*number, "conversation")));
    }
    if report.of_other_bots > 0 {
        output::note(&format!("skipped: {} of other bots", output::counted(report.of_other_bots, "conversation")));
    }
    if report.locks > 0 {
        output::note(
            "locks were held: an aiogram bot is running. Stop it and import again, or its latest writes are missing",
        );
    }
    output::note(&summary(report, dry_run, took));
    Ok(())
}

fn summary(report: &ImportReport, dry_run: bool, took: Duration) -> String {
    let verb = if dry_run { "would be imported" } else { "imported" };
    let mut text = format!("{} found, {} {verb}", output::counted(report.found, "conversation"), report.imported);
    if report.already_there > 0 {
        text +=
            &format!(", {} left as they are because they are open (--replace overwrites them)", report.already_there);
    }
    let unmapped: u64 = report.unmapped.values().sum();
    if unmapped > 0 {
        text += &format!(", {unmapped} without a mapping");
    }
    if !report.left_out.is_empty() {
        text += &format!(", {} that could not be imported", report.left_out.len());
    }
    format!("{text}; took {}.", output::took(took))
}
