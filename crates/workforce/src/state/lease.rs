//! `opora state lease`: which process works for a bot, and how to end its right to.

use anyhow::bail;
use clap::{Args, Subcommand};
use opora::clock::Millis;
use opora::instance::{self, Sighting};
use opora::store::{Epoch, Lease};
use serde::Serialize;

use super::confirm::Consent;
use super::{Desk, output};

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
    /// End a lease whose holder cannot; if it still runs, its next write is refused and it stops
    Clear(Consent),
}

#[derive(Serialize)]
struct Held {
    bot: i64,
    host: String,
    pid: u32,
    since_ms: Millis,
    epoch: Epoch,
    ttl_ms: i64,
    renewals: i64,
    /// `running`, `gone`, or `out_of_sight` where it runs elsewhere.
    process: &'static str,
}

pub async fn run(desk: &Desk<'_>, arguments: LeaseArgs) -> anyhow::Result<()> {
    let held = held(desk, arguments.bot).await?;
    match arguments.command {
        Some(Command::Clear(consent)) => clear(desk, &held, consent).await,
        None => output::list(&held, arguments.json, "Nobody holds a lease.", |held| table(held, desk.now)),
    }
}

async fn held(desk: &Desk<'_>, bot: Option<i64>) -> anyhow::Result<Vec<Held>> {
    let bots = match bot {
        Some(bot) => vec![bot],
        None => desk.store.operator().bots().await?,
    };
    let mut held = Vec::new();
    for bot in bots {
        held.extend(desk.store.lease(bot).await?.map(|lease| Held::new(bot, lease)));
    }
    Ok(held)
}

async fn clear(desk: &Desk<'_>, held: &[Held], consent: Consent) -> anyhow::Result<()> {
    let lease = match held {
        [] => bail!("nobody holds a lease: there is nothing to clear"),
        [only] => only,
        _ => bail!("several bots have a lease here: --bot says which one to clear"),
    };
    let Held { bot, pid, host, .. } = lease;
    let about = lease.process_in_words();
    consent.to(&format!("Clear the lease of bot {bot}, held by process {pid} on {host} ({about})?")).await?;
    desk.store.operator().clear_lease(*bot).await?;
    output::say(&format!("The lease of bot {bot} is cleared."))
}

fn table(held: &[Held], now: Millis) -> String {
    let row = |lease: &Held| {
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

impl Held {
    fn new(bot: i64, lease: Lease) -> Self {
        let process = match instance::look_for(&lease.holder) {
            Sighting::Running => "running",
            Sighting::Gone => "gone",
            Sighting::OutOfSight => "out_of_sight",
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
