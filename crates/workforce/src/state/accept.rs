//! `opora state accept`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use opora::store::{DecisionStore, OpenError, PostgresLoss, PostgresStore, RedisLoss, RedisStore, StoreError};

use super::open::Address;
use crate::config;
use crate::domain;
use crate::terminal::output;

/// The default file of the application's tables in a data directory.
const SQLITE_FILE: &str = "opora.db";

#[derive(Debug, Args)]
pub struct Accept {
    /// The bot's data directory: its last-seen records tell what is missing
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The application's database beside this Redis: `sqlite:<path>` or `postgres://…`; by default DATABASE_URL, else
    /// `opora.db` in the data directory, if it exists
    #[arg(long, value_name = "ADDRESS")]
    database: Option<String>,
    /// Accept the loss; otherwise nothing is changed
    #[arg(long)]
    yes: bool,
}

/// The database of the application's tables.
struct ApplicationDatabase {
    url: String,
    shown: domain::Address,
}

/// What is missing, by the last-seen records and by what two stores know of each other.
#[derive(Default)]
struct DetectedLosses {
    losses: Vec<RedisLoss>,
    /// Bots whose tables belong to another Redis.
    mismatched_bots: Vec<i64>,
    database: Option<PostgresLoss>,
}

pub async fn run(store: &Address, arguments: Accept) -> anyhow::Result<()> {
    let (state, _) = store.named()?;
    let is_redis = state.starts_with("redis://") || state.starts_with("rediss://");
    let tables = if is_redis { tables(store, &arguments)? } else { Some(ApplicationDatabase::at(state.clone())?) };
    if !is_redis && !tables.as_ref().is_some_and(ApplicationDatabase::is_server) {
        bail!("only a server can come back with less than it had: --store or STATE_URL names another store");
    }
    // Everything is checked before anything is changed.
    let missing = if is_redis {
        check_redis(&state, tables.as_ref(), &arguments.data).await?
    } else {
        let loss = PostgresStore::loss(&state, &arguments.data).await;
        DetectedLosses {
            database: loss.context("cannot compare this database with its last-seen record")?,
            ..DetectedLosses::default()
        }
    };
    if missing.is_empty() {
        return output::say("Nothing is missing: there is nothing to accept.");
    }
    print_losses(&missing, tables.as_ref())?;
    if !arguments.yes {
        return output::say(
            "Nothing was changed. Bring the right data back, or accept the loss with --yes; stop the bot first.",
        );
    }
    accept(&state, tables, missing, &arguments.data).await?;
    output::say("The loss is accepted: start the bot.")
}

/// Checks a Redis, and the tables beside it.
async fn check_redis(redis: &str, tables: Option<&ApplicationDatabase>, data: &Path) -> anyhow::Result<DetectedLosses> {
    let mut missing = DetectedLosses::default();
    if let Some(tables) = tables.filter(|tables| tables.is_server()) {
        missing.database = match PostgresStore::loss(&tables.url, data).await {
            // There is no last-seen record in this directory.
            Err(StoreError::Unsupported(_)) => None,
            loss => loss.with_context(|| format!("cannot compare {} with its last-seen record", tables.shown))?,
        };
    }
    if let Some(tables) = tables {
        missing.mismatched_bots = match DecisionStore::mismatched_bots(redis, &tables.url).await {
            // An older copy has older tables. The next start migrates them, and then it is known whose they are.
            Err(OpenError::Store(StoreError::Unsupported(_))) if missing.database.is_some() => Vec::new(),
            found => found.with_context(|| format!("cannot compare this Redis with {}", tables.shown))?,
        };
    }
    let is_strange = !missing.mismatched_bots.is_empty() || missing.database.is_some();
    missing.losses = losses(redis, data, is_strange).await?;
    Ok(missing)
}

async fn accept(
    state: &str,
    tables: Option<ApplicationDatabase>,
    missing: DetectedLosses,
    data: &Path,
) -> anyhow::Result<()> {
    if !missing.losses.is_empty() {
        RedisStore::accept_losses(state, data).await.context("cannot accept what is missing")?;
        output::say("Accepted in Redis. Versions continue above all that were seen.")?;
    }
    let Some(tables) = tables else { return Ok(()) };
    if missing.database.is_some() {
        PostgresStore::accept_loss(&tables.url, data).await.context("cannot accept what is missing")?;
        output::say(&format!("{} is accepted as it is.", capitalized(&tables.shown.to_string())))?;
    }
    if !missing.mismatched_bots.is_empty() {
        let adopted = DecisionStore::adopt_mismatched_bots(state, &tables.url).await;
        adopted.with_context(|| format!("Redis is in order, but {} is not: run this again", tables.shown))?;
        output::say(&format!(
            "{} belongs to this Redis now. With the bot's start, the last turn of each conversation that wrote there comes \
             back to Redis.",
            capitalized(&tables.shown.to_string())
        ))?;
    }
    Ok(())
}

impl DetectedLosses {
    fn is_empty(&self) -> bool {
        self.losses.is_empty() && self.mismatched_bots.is_empty() && self.database.is_none()
    }
}

impl ApplicationDatabase {
    fn at(url: String) -> anyhow::Result<Self> {
        // The address may hold a password, so the error does not repeat it.
        let shown = domain::Address::parse(&url);
        let shown = shown.context("the address of the database is neither sqlite:<path> nor postgres://…")?;
        Ok(Self { url, shown })
    }

    fn is_server(&self) -> bool {
        matches!(self.shown, domain::Address::Postgres(_))
    }
}

/// The application's database: from the command line, else from the configuration.
fn tables(store: &Address, arguments: &Accept) -> anyhow::Result<Option<ApplicationDatabase>> {
    let named = match &arguments.database {
        Some(address) => Some(address.clone()),
        None => config::database_url(store.config.clone())?,
    };
    let embedded = arguments.data.join(SQLITE_FILE);
    let url = match named {
        Some(url) => url,
        None if embedded.is_file() => format!("sqlite:{}", embedded.display()),
        None => return Ok(None),
    };
    ApplicationDatabase::at(url).map(Some)
}

/// Losses by the last-seen records. There may be none if the database says that the Redis is a different one.
async fn losses(redis: &str, data: &Path, is_strange: bool) -> anyhow::Result<Vec<RedisLoss>> {
    match RedisStore::losses(redis, data).await {
        Err(StoreError::Unsupported(_)) if is_strange => Ok(Vec::new()),
        losses => losses.context("cannot compare this Redis with its last-seen record"),
    }
}

fn print_losses(missing: &DetectedLosses, tables: Option<&ApplicationDatabase>) -> anyhow::Result<()> {
    for loss in &missing.losses {
        output::say(&format!("{}.", capitalized(&loss.to_string())))?;
    }
    if let Some(loss) = &missing.database {
        output::say(&format!("{}.", capitalized(&loss.to_string())))?;
    }
    if let Some(tables) = tables.filter(|_| !missing.mismatched_bots.is_empty()) {
        let bots: Vec<_> = missing.mismatched_bots.iter().map(i64::to_string).collect();
        output::say(&format!(
            "{} knows another Redis, or this one before it was emptied, for bot {}.",
            capitalized(&tables.shown.to_string()),
            bots.join(", ")
        ))?;
    }
    Ok(())
}

fn capitalized(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}
