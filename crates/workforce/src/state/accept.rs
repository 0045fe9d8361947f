//! `opora state accept`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use opora::store::{DecidedStore, OpenError, PostgresLoss, PostgresStore, RedisLoss, RedisStore, StoreError};

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

/// What is not as it was, by the bot's own notes and by what two stores know of each other.
#[derive(Default)]
struct Missing {
    losses: Vec<RedisLoss>,
    /// Bots whose tables belong to another Redis.
    strangers: Vec<i64>,
    database: Option<PostgresLoss>,
}

pub async fn run(store: &Address, arguments: Accept) -> anyhow::Result<()> {
    let (state, _) = store.named()?;
    let is_redis = state.starts_with("redis://") || state.starts_with("rediss://");
    let tables = if is_redis { tables(store, &arguments)? } else { Some(Tables::at(state.clone())?) };
    if !is_redis && !tables.as_ref().is_some_and(Tables::are_on_a_server) {
        bail!("only a server can come back with less than it had: --store or STATE_URL names another store");
    }
    // All is looked at before anything is changed.
    let missing = if is_redis {
        look_at_redis(&state, tables.as_ref(), &arguments.data).await?
    } else {
        let loss = PostgresStore::loss(&state, &arguments.data).await;
        Missing {
            database: loss.context("cannot compare this database with what was seen of it")?,
            ..Missing::default()
        }
    };
    if missing.is_nothing() {
        return output::say("Nothing is missing: there is nothing to accept.");
    }
    tell(&missing, tables.as_ref())?;
    if !arguments.yes {
        return output::say(
            "Nothing was changed. Bring the right data back, or accept the loss with --yes; end the bot before.",
        );
    }
    accept(&state, tables, missing, &arguments.data).await?;
    output::say("All is accepted: start the bot.")
}

/// Looks at a Redis, and at the tables beside it.
async fn look_at_redis(redis: &str, tables: Option<&Tables>, data: &Path) -> anyhow::Result<Missing> {
    let mut missing = Missing::default();
    if let Some(tables) = tables.filter(|tables| tables.are_on_a_server()) {
        missing.database = match PostgresStore::loss(&tables.url, data).await {
            // Nobody has watched it from this directory.
            Err(StoreError::Unsupported(_)) => None,
            loss => loss.with_context(|| format!("cannot compare {} with what was seen of it", tables.shown))?,
        };
    }
    if let Some(tables) = tables {
        missing.strangers = match DecidedStore::strangers(redis, &tables.url).await {
            // An older copy has older tables: the start brings them up to date, and then it shows whose they are.
            Err(OpenError::Store(StoreError::Unsupported(_))) if missing.database.is_some() => Vec::new(),
            found => found.with_context(|| format!("cannot compare this Redis with {}", tables.shown))?,
        };
    }
    let is_strange = !missing.strangers.is_empty() || missing.database.is_some();
    missing.losses = losses(redis, data, is_strange).await?;
    Ok(missing)
}

async fn accept(state: &str, tables: Option<Tables>, missing: Missing, data: &Path) -> anyhow::Result<()> {
    if !missing.losses.is_empty() {
        RedisStore::accept_losses(state, data).await.context("cannot accept what is missing")?;
        output::say("In Redis this is accepted. Versions go on above all that were seen.")?;
    }
    let Some(tables) = tables else { return Ok(()) };
    if missing.database.is_some() {
        PostgresStore::accept_loss(&tables.url, data).await.context("cannot accept what is missing")?;
        output::say(&format!("{} is accepted as it is.", capital(&tables.shown.to_string())))?;
    }
    if !missing.strangers.is_empty() {
        let adopted = DecidedStore::adopt_strangers(state, &tables.url).await;
        adopted.with_context(|| format!("Redis is in order, but {} is not: run this again", tables.shown))?;
        output::say(&format!(
            "{} belongs to this Redis now. With the bot's start, the last turn of each conversation that wrote there comes \
             back to Redis.",
            capital(&tables.shown.to_string())
        ))?;
    }
    Ok(())
}

impl Missing {
    fn is_nothing(&self) -> bool {
        self.losses.is_empty() && self.strangers.is_empty() && self.database.is_none()
    }
}

impl Tables {
    fn at(url: String) -> anyhow::Result<Self> {
        // It may hold a password: it is not repeated.
        let shown = domain::Address::parse(&url);
        let shown = shown.context("the address of the database is neither sqlite:<path> nor postgres://…")?;
        Ok(Self { url, shown })
    }

    fn are_on_a_server(&self) -> bool {
        matches!(self.shown, domain::Address::Postgres(_))
    }
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
    Tables::at(url).map(Some)
}

/// What is missing by the bot's own notes. If the database says that the Redis is another one, there may be none.
async fn losses(redis: &str, data: &Path, is_strange: bool) -> anyhow::Result<Vec<RedisLoss>> {
    match RedisStore::losses(redis, data).await {
        Err(StoreError::Unsupported(_)) if is_strange => Ok(Vec::new()),
        losses => losses.context("cannot compare this Redis with what was seen of it"),
    }
}

fn tell(missing: &Missing, tables: Option<&Tables>) -> anyhow::Result<()> {
    for loss in &missing.losses {
        output::say(&format!("{}.", capital(&loss.to_string())))?;
    }
    if let Some(loss) = &missing.database {
        output::say(&format!("{}.", capital(&loss.to_string())))?;
    }
    if let Some(tables) = tables.filter(|_| !missing.strangers.is_empty()) {
        let bots: Vec<_> = missing.strangers.iter().map(i64::to_string).collect();
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
