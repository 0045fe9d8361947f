//! `opora state parked`: turns that failed for good.

use anyhow::bail;
use clap::{Args, Subcommand};
use futures_util::future::try_join_all;
use opora::clock::Millis;
use opora::key::ConversationKey;
use opora::store::{self, ParkedId};
use serde::Serialize;
use serde_json::Value;

use super::{CommandContext, find};
use crate::terminal::{Consent, output};

#[derive(Debug, Args)]
pub struct Parked {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List parked turns, oldest first
    List(find::Listing),
    /// Show a parked turn with its input and the reason
    Show {
        /// Its id, as `list` prints it
        #[arg(value_name = "ID")]
        id: i64,
        /// Print JSON: one object
        #[arg(long)]
        json: bool,
        /// Print only the input, in one line; for a parked state, in the format that `opora state import` reads
        #[arg(long, conflicts_with = "json")]
        body: bool,
    },
    /// Let the bot retry parked turns
    Retry(Selection),
    /// Drop parked turns
    Drop {
        #[command(flatten)]
        selection: Selection,
        #[command(flatten)]
        consent: Consent,
    },
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Selection {
    /// Its id, as `list` prints it
    #[arg(value_name = "ID")]
    id: Option<i64>,
    /// All parked turns
    #[arg(long)]
    all: bool,
}

/// A parked turn without its input.
#[derive(Serialize)]
pub struct ParkedSummary {
    id: ParkedId,
    key: ConversationKey,
    kind: String,
    reason: String,
    attempts: u32,
    at_ms: Millis,
    retry: bool,
}

/// A parked turn with its input.
#[derive(Serialize)]
struct ParkedWithBody {
    #[serde(flatten)]
    view: ParkedSummary,
    body: Value,
}

impl From<&store::ParkedTurn> for ParkedSummary {
    fn from(parked: &store::ParkedTurn) -> Self {
        Self {
            id: parked.id,
            key: parked.key.clone(),
            kind: parked.kind.clone(),
            reason: parked.reason.clone(),
            attempts: parked.attempts,
            at_ms: parked.at,
            retry: parked.retry,
        }
    }
}

pub async fn run(context: &CommandContext<'_>, arguments: Parked) -> anyhow::Result<()> {
    match arguments.command {
        Command::List(of) => list(context, &of).await,
        Command::Show { id, body: true, .. } => output::exact(&one(context, id).await?.body),
        Command::Show { id, json, .. } => show(context, id, json).await,
        Command::Retry(selection) => retry(context, &selection).await,
        Command::Drop { selection, consent } => drop(context, &selection, consent).await,
    }
}

/// Parked turns in columns.
pub fn table(parked: &[ParkedSummary], now: Millis) -> String {
    let row = |turn: &ParkedSummary| {
        let (id, attempts) = (turn.id.0.to_string(), turn.attempts.to_string());
        let (age, retry) = (output::age(turn.at_ms, now), if turn.retry { "yes" } else { "no" });
        [id, turn.key.to_string(), turn.kind.clone(), attempts, age, retry.to_owned(), output::short(&turn.reason)]
    };
    let rows: Vec<_> = parked.iter().map(row).collect();
    output::columns(["ID", "KEY", "KIND", "ATTEMPTS", "AGE", "RETRY", "REASON"], &rows)
}

async fn list(context: &CommandContext<'_>, of: &find::Listing) -> anyhow::Result<()> {
    let parked = context.store.parked(of.bot, usize::MAX).await?;
    let parked: Vec<_> = parked.iter().map(ParkedSummary::from).collect();
    output::list(&parked, of.json, "Nothing is parked.", |parked| table(parked, context.now))
}

async fn show(context: &CommandContext<'_>, id: i64, json: bool) -> anyhow::Result<()> {
    let parked = one(context, id).await?;
    let body = serde_json::from_str(&parked.body).unwrap_or_else(|_| Value::String(parked.body.clone()));
    let view = ParkedSummary::from(&parked);
    if json {
        return output::json(&ParkedWithBody { view, body });
    }
    let retry = if view.retry { "yes, soon" } else { "no" };
    output::say(&format!(
        "Parked turn   {}\nConversation  {}\nKind          {}\nParked        {}\nAttempts      {}\nRuns again    {retry}\n\
         Reason        {}\n\nInput\n{body:#}",
        id,
        view.key,
        view.kind,
        output::time(view.at_ms, context.now),
        view.attempts,
        view.reason,
    ))
}

async fn retry(context: &CommandContext<'_>, selection: &Selection) -> anyhow::Result<()> {
    let selected = selected(context, selection).await?;
    let marked = try_join_all(selected.iter().map(|parked| context.store.operator().retry_parked(parked.id))).await?;
    output::say(&format!("{} will be retried soon.", turns(&marked)))
}

async fn drop(context: &CommandContext<'_>, selection: &Selection, consent: Consent) -> anyhow::Result<()> {
    let selected = selected(context, selection).await?;
    let question = match selected.as_slice() {
        [] => return output::say("Nothing is parked."),
        [only] => format!("Drop the parked turn {} of {} ({})?", only.id.0, only.key, only.kind),
        several => format!("Drop all {} parked turns?", several.len()),
    };
    consent.confirm(&question).await?;
    let dropped = try_join_all(selected.iter().map(|parked| context.store.drop_parked(parked.id))).await?;
    output::say(&format!("{} dropped.", turns(&dropped)))
}

/// The number of turns that still existed, in words.
fn turns(existed: &[bool]) -> String {
    let count = existed.iter().filter(|was_there| **was_there).count();
    output::counted(u64::try_from(count).unwrap_or(u64::MAX), "parked turn")
}

async fn selected(context: &CommandContext<'_>, selection: &Selection) -> anyhow::Result<Vec<store::ParkedTurn>> {
    match selection.id {
        Some(id) => Ok(vec![one(context, id).await?]),
        None => Ok(context.store.parked(None, usize::MAX).await?),
    }
}

async fn one(context: &CommandContext<'_>, id: i64) -> anyhow::Result<store::ParkedTurn> {
    match context.store.operator().parked_by_id(ParkedId(id)).await? {
        Some(found) => Ok(found),
        None => bail!("there is no parked turn {id}"),
    }
}
