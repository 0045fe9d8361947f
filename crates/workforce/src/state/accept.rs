//! `opora state accept`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use opora::store::{DecidedStore, RedisLoss, RedisStore, StoreError};

use super::open::Address;
use super::output;
use crate::config;
use crate::domain;

/// The file of the application's tables in a data directory, where nothing else is said of them.
const EMBEDDED: &str = "opora.db";

#[derive(Debug, Args)]
pub struct Accept {
    /// The bot's data directory: what the bot keeps there says what is missing
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The application's database beside this Redis: `sqlite:<path>` or `postgres://…`; without it DATABASE_URL, else
    /// `opora.db` in the data directory, if that is there
    #[arg(long, value_name = "ADDRESS")]
    database: Option<String>,
    /// Accept it; otherwise nothing is changed
    #[arg(long)]
    yes: bool,
}

/// The tables that turns write to.
struct Tables {
    url: String,
    shown: domain::Address,
}

pub async fn run(store: &Address, arguments: Accept) -> anyhow::Result<()> {
    let (redis, _) = store.named()?;
    if !redis.starts_with("redis://") && !redis.starts_with("rediss://") {
        bail!("only a Redis can come back with less than it had: --store or STATE_URL names another store");
    }
    let tables = tables(store, &arguments)?;
    // Both are looked at before either is changed.
    let strangers = match &tables {
        Some(tables) => {
            let found = DecidedStore::strangers(&redis, &tables.url).await;
            found.with_context(|| format!("cannot compare this Redis with {}", tables.shown))?
        }
        None => Vec::new(),
    };
    let losses = losses(&redis, &arguments.data, !strangers.is_empty()).await?;
    if losses.is_empty() && strangers.is_empty() {
        return output::say("Nothing is missing: there is nothing to accept.");
    }
    tell(&losses, tables.as_ref().filter(|_| !strangers.is_empty()), &strangers)?;
    if !arguments.yes {
        return output::say(
            "Nothing was changed. Restore the data of this Redis, or accept the loss with --yes; end the bot before.",
        );
    }
    if !losses.is_empty() {
        let accepted = RedisStore::accept_losses(&redis, &arguments.data).await;
        accepted.context("cannot accept what is missing")?;
        output::say("In Redis this is accepted. Versions go on above all that were seen.")?;
    }
    if let Some(tables) = tables.filter(|_| !strangers.is_empty()) {
        let adopted = DecidedStore::adopt_strangers(&redis, &tables.url).await;
        adopted.with_context(|| format!("Redis is in order, but {} is not: run this again", tables.shown))?;
        output::say(&format!(
            "{} belongs to this Redis now. With the bot's start, the last turn of each conversation that wrote there comes \
             back to Redis.",
            capital(&tables.shown.to_string())
        ))?;
    }
    output::say("All is accepted: start the bot.")
}

/// Where the tables are: as the command line says, else as the application finds them.
fn tables(store: &Address, arguments: &Accept) -> anyhow::Result<Option<Tables>> {
    let said = match &arguments.database {
        Some(address) => Some(address.clone()),
        None => config::database_url(store.config.clone())?,
    };
    let embedded = arguments.data.join(EMBEDDED);
    let url = match said {
        Some(url) => url,
        None if embedded.is_file() => format!("sqlite:{}", embedded.display()),
        None => return Ok(None),
    };
    // It may hold a password: it is not repeated.
    let shown = domain::Address::parse(&url);
    let shown = shown.context("the address of the database is neither sqlite:<path> nor postgres://…")?;
    Ok(Some(Tables { url, shown }))
}

/// What is missing by the bot's own notes. If the database says that the Redis is another one, there may be none.
async fn losses(redis: &str, data: &Path, is_strange: bool) -> anyhow::Result<Vec<RedisLoss>> {
    match RedisStore::losses(redis, data).await {
        Err(StoreError::Unsupported(_)) if is_strange => Ok(Vec::new()),
        losses => losses.context("cannot compare this Redis with what was seen of it"),
    }
}

fn tell(losses: &[RedisLoss], tables: Option<&Tables>, strangers: &[i64]) -> anyhow::Result<()> {
    for loss in losses {
        output::say(&format!("{}.", capital(&loss.to_string())))?;
    }
    if let Some(tables) = tables {
        let bots: Vec<_> = strangers.iter().map(i64::to_string).collect();
        output::say(&format!(
            "{} knows another Redis, or this one before it was emptied, for bot {}.",
            capital(&tables.shown.to_string()),
            bots.join(", ")
        ))?;
    }
    Ok(())
}

fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}
