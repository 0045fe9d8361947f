//! `opora state parked`: turns that failed for good.

use anyhow::bail;
use clap::{Args, Subcommand};
use futures_util::future::try_join_all;
use opora::clock::Millis;
use opora::key::DialogueKey;
use opora::store::{self, ParkedId};
use serde::Serialize;
use serde_json::Value;

use super::confirm::Consent;
use super::{Desk, find, output};

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
        /// Its number, as `list` prints it
        #[arg(value_name = "ID")]
        id: i64,
        /// Print JSON: one object
        #[arg(long)]
        json: bool,
        /// Print the input alone, in one line: of a state that was set aside, what `opora state import` reads
        #[arg(long, conflicts_with = "json")]
        body: bool,
    },
    /// Let the bot run parked turns again
    Retry(Which),
    /// Forget parked turns
    Drop {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        consent: Consent,
    },
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// Its number, as `list` prints it
    #[arg(value_name = "ID")]
    id: Option<i64>,
    /// All that are parked
    #[arg(long)]
    all: bool,
}

/// A parked turn without its input.
#[derive(Serialize)]
pub struct ParkedView {
    id: ParkedId,
    key: DialogueKey,
    kind: String,
    reason: String,
    attempts: u32,
    at_ms: Millis,
    retry: bool,
}

/// A parked turn with its input.
#[derive(Serialize)]
struct Whole {
    #[serde(flatten)]
    view: ParkedView,
    body: Value,
}

impl From<&store::Parked> for ParkedView {
    fn from(parked: &store::Parked) -> Self {
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

pub async fn run(desk: &Desk<'_>, arguments: Parked) -> anyhow::Result<()> {
    match arguments.command {
        Command::List(of) => list(desk, &of).await,
        Command::Show { id, body: true, .. } => output::exact(&one(desk, id).await?.body),
        Command::Show { id, json, .. } => show(desk, id, json).await,
        Command::Retry(which) => retry(desk, &which).await,
        Command::Drop { which, consent } => drop(desk, &which, consent).await,
    }
}

/// Parked turns in columns.
pub fn table(parked: &[ParkedView], now: Millis) -> String {
    let row = |turn: &ParkedView| {
        let (id, attempts) = (turn.id.0.to_string(), turn.attempts.to_string());
        let (age, retry) = (output::age(turn.at_ms, now), if turn.retry { "yes" } else { "no" });
        [id, turn.key.to_string(), turn.kind.clone(), attempts, age, retry.to_owned(), output::short(&turn.reason)]
    };
    let rows: Vec<_> = parked.iter().map(row).collect();
    output::columns(["ID", "KEY", "KIND", "ATTEMPTS", "AGE", "RETRY", "REASON"], &rows)
}

async fn list(desk: &Desk<'_>, of: &find::Listing) -> anyhow::Result<()> {
    let parked = desk.store.parked(of.bot, usize::MAX).await?;
    let parked: Vec<_> = parked.iter().map(ParkedView::from).collect();
    output::list(&parked, of.json, "Nothing is parked.", |parked| table(parked, desk.now))
}

async fn show(desk: &Desk<'_>, id: i64, json: bool) -> anyhow::Result<()> {
    let parked = one(desk, id).await?;
    let body = serde_json::from_str(&parked.body).unwrap_or_else(|_| Value::String(parked.body.clone()));
    let view = ParkedView::from(&parked);
    if json {
        return output::json(&Whole { view, body });
    }
    let retry = if view.retry { "yes, as soon as the bot looks" } else { "no" };
    output::say(&format!(
        "Parked turn   {}\nConversation  {}\nKind          {}\nParked        {}\nAttempts      {}\nRuns again    {retry}\n\
         Reason        {}\n\nInput\n{body:#}",
        id,
        view.key,
        view.kind,
        output::time(view.at_ms, desk.now),
        view.attempts,
        view.reason,
    ))
}

async fn retry(desk: &Desk<'_>, which: &Which) -> anyhow::Result<()> {
    let chosen = chosen(desk, which).await?;
    let marked = try_join_all(chosen.iter().map(|parked| desk.store.operator().retry_parked(parked.id))).await?;
    output::say(&format!("{} will run again as soon as the bot looks.", turns(&marked)))
}

async fn drop(desk: &Desk<'_>, which: &Which, consent: Consent) -> anyhow::Result<()> {
    let chosen = chosen(desk, which).await?;
    let question = match chosen.as_slice() {
        [] => return output::say("Nothing is parked."),
        [only] => format!("Drop the parked turn {} of {} ({})?", only.id.0, only.key, only.kind),
        several => format!("Drop all {} parked turns?", several.len()),
    };
    consent.to(&question).await?;
    let dropped = try_join_all(chosen.iter().map(|parked| desk.store.drop_parked(parked.id))).await?;
    output::say(&format!("{} dropped.", turns(&dropped)))
}

/// How many were still there.
fn turns(done: &[bool]) -> String {
    let done = done.iter().filter(|was_there| **was_there).count();
    output::counted(u64::try_from(done).unwrap_or(u64::MAX), "parked turn")
}

async fn chosen(desk: &Desk<'_>, which: &Which) -> anyhow::Result<Vec<store::Parked>> {
    match which.id {
        Some(id) => Ok(vec![one(desk, id).await?]),
        None => Ok(desk.store.parked(None, usize::MAX).await?),
    }
}

async fn one(desk: &Desk<'_>, id: i64) -> anyhow::Result<store::Parked> {
    match desk.store.operator().parked_one(ParkedId(id)).await? {
        Some(found) => Ok(found),
        None => bail!("there is no parked turn {id}"),
    }
}
