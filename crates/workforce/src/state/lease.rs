//! `opora state lease`: shows and clears the leases of bots.

use anyhow::bail;
use clap::{Args, Subcommand};
use opora::clock::Millis;
use opora::store::{Epoch, Lease, ProcessStatus, process_status};
use serde::Serialize;

use super::CommandContext;
use crate::terminal::{Consent, output};

#[derive(Debug, Args)]
pub struct LeaseArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// Only of this bot
    #[arg(long, value_name = "ID", global = true)]
    bot: Option<i64>,
    /// Print JSON: an array of objects
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// End a lease whose holder cannot; if that process still runs, its next write is refused and it stops
    Clear(Consent),
}

#[derive(Serialize)]
struct HeldLease {
    bot: i64,
    host: String,
    pid: u32,
    since_ms: Millis,
    epoch: Epoch,
    ttl_ms: i64,
    renewals: i64,
    /// `running`, `gone`, or `out_of_sight` for a process on another machine.
    process: &'static str,
}

pub async fn run(context: &CommandContext<'_>, arguments: LeaseArgs) -> anyhow::Result<()> {
    let held = held(context, arguments.bot).await?;
    match arguments.command {
        Some(Command::Clear(consent)) => clear(context, &held, consent).await,
        None => output::list(&held, arguments.json, "No leases are held.", |held| table(held, context.now)),
    }
}

async fn held(context: &CommandContext<'_>, bot: Option<i64>) -> anyhow::Result<Vec<HeldLease>> {
    let bots = match bot {
        Some(bot) => vec![bot],
        None => context.store.operator().bots().await?,
    };
    let mut held = Vec::new();
    for bot in bots {
        held.extend(context.store.lease(bot).await?.map(|lease| HeldLease::new(bot, lease)));
    }
    Ok(held)
}

async fn clear(context: &CommandContext<'_>, held: &[HeldLease], consent: Consent) -> anyhow::Result<()> {
    let lease = match held {
        [] => bail!("no lease is held: there is nothing to clear"),
        [only] => only,
        _ => bail!("several bots have a lease here: --bot says which one to clear"),
    };
    let HeldLease { bot, pid, host, .. } = lease;
    let about = lease.process_in_words();
    consent.confirm(&format!("Clear the lease of bot {bot}, held by process {pid} on {host} ({about})?")).await?;
    context.store.operator().clear_lease(*bot).await?;
    output::say(&format!("The lease of bot {bot} is cleared."))
}

fn table(held: &[HeldLease], now: Millis) -> String {
    let row = |lease: &HeldLease| {
        [
            lease.bot.to_string(),
            lease.host.clone(),
            lease.pid.to_string(),
            output::time(lease.since_ms, now),
            lease.epoch.0.to_string(),
            lease.process_in_words().to_owned(),
        ]
    };
    let rows: Vec<_> = held.iter().map(row).collect();
    output::columns(["BOT", "HOST", "PID", "SINCE", "EPOCH", "PROCESS"], &rows)
}

impl HeldLease {
    fn new(bot: i64, lease: Lease) -> Self {
        let process = match process_status(&lease.holder) {
            ProcessStatus::Running => "running",
            ProcessStatus::Gone => "gone",
            ProcessStatus::Unknown => "out_of_sight",
        };
        let Lease { epoch, holder, renewals } = lease;
        let (since_ms, ttl_ms) = (holder.since, holder.ttl_ms);
        Self { bot, host: holder.host, pid: holder.pid, since_ms, epoch, ttl_ms, renewals, process }
    }

    fn process_in_words(&self) -> &'static str {
        match self.process {
            "running" => "running",
            "gone" => "gone",
            _ => "cannot be seen from here",
        }
    }
}
