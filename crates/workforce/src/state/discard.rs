//! `opora state discard`: removes the conversations that a database kept before the bot moved to Redis.

use anyhow::{Context, bail};
use clap::Args;
use opora::store::Journal;

use super::CommandContext;
use super::open::Address;
use crate::terminal::{Consent, output};

#[derive(Debug, Args)]
pub struct Discard {
    #[command(flatten)]
    consent: Consent,
}

pub async fn run(context: &CommandContext<'_>, store: &Address, arguments: Discard) -> anyhow::Result<()> {
    let (address, named_by) = store.named()?;
    if address.starts_with("redis") {
        bail!("this is for the database of the tables, which {named_by} does not name: it names a Redis");
    }
    let counts = context.store.statistics(None).await?;
    let question = format!(
        "Remove {} open conversations and all that have ended, {} inputs, {} messages, {} that could not be sent, {} parked turns, \
         {} timers and {} effects from this database, for good? The bot has its conversations in Redis; the tables of the \
         application stay.",
        counts.active, counts.inbox, counts.outbox, counts.failed, counts.parked, counts.timers, counts.effects
    );
    arguments.consent.confirm(&question).await?;
    let bots = Journal::discard_conversations(&address).await.context("nothing was removed")?;
    if bots.is_empty() {
        return output::say("There is nothing to remove.");
    }
    let bots: Vec<_> = bots.iter().map(i64::to_string).collect();
    output::say(&format!(
        "Removed, of bot {}. From its next start on the database can have a journal.",
        bots.join(", ")
    ))
}
