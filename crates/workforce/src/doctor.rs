//! `opora doctor`: checks everything that `opora run` needs, and says what to do.
//!
//! It changes nothing and stops nothing, so it can run beside a bot. It reports what it cannot check.

use anyhow::bail;
use clap::Args;
use serde::Serialize;

use crate::config::{self, Config, Flags, Mistakes};
use crate::terminal::output;

mod listeners;
mod storage;
mod telegram;

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    flags: Flags,
    /// Print JSON: an array of objects
    #[arg(long)]
    json: bool,
}

/// A checked subject and its health.
#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    health: Health,
    found: String,
    /// What to do.
    advice: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Health {
    Ok,
    /// The product runs, but the operator should know.
    Note,
    Trouble,
}

/// `opora doctor`.
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let findings = match config::load(&arguments.flags) {
        Ok(config) => check_everything(&config).await,
        Err(wrong) => mistakes(wrong),
    };
    if arguments.json {
        output::json(&findings)?;
    } else {
        let lines: Vec<_> = findings.iter().map(Finding::in_words).collect();
        output::say(&lines.join("\n"))?;
    }
    match findings.iter().filter(|finding| finding.health == Health::Trouble).count() {
        0 => Ok(()),
        1 => bail!("one problem has to be fixed"),
        number => bail!("{number} problems have to be fixed"),
    }
}

async fn check_everything(config: &Config) -> Vec<Finding> {
    let version = Finding::ok("version", format!("opora {}", env!("CARGO_PKG_VERSION")));
    // At the same time: a server that does not answer takes its time.
    let (telegram, clock, database, store, redis, files, modes, disk, web, metrics) = tokio::join!(
        telegram::check(config),
        telegram::check_clock(config),
        storage::check_database(config),
        storage::check_store(config),
        storage::check_redis(config),
        storage::check_files(config),
        storage::check_modes(config),
        storage::check_disk(config),
        listeners::check_pages(config),
        listeners::check_metrics(config),
    );
    let first = [version].into_iter().chain(telegram).chain([clock, database]);
    first.chain(store).chain(redis).chain([files, modes, disk, web, metrics]).collect()
}

/// A finding for each mistake of an invalid configuration.
fn mistakes(Mistakes(mistakes): Mistakes) -> Vec<Finding> {
    let advice = "see deploy/opora.toml for what can be set";
    mistakes.into_iter().map(|mistake| Finding::trouble("configuration", mistake, advice)).collect()
}

impl Finding {
    fn ok(what: &'static str, found: impl Into<String>) -> Self {
        Self { what, health: Health::Ok, found: found.into(), advice: None }
    }

    fn note(what: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what, health: Health::Note, found: found.into(), advice: Some(advice.into()) }
    }

    fn trouble(what: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what, health: Health::Trouble, found: found.into(), advice: Some(advice.into()) }
    }

    fn in_words(&self) -> String {
        let health = match self.health {
            Health::Ok => "ok",
            Health::Note => "note",
            Health::Trouble => "TROUBLE",
        };
        let advice = self.advice.as_ref().map(|advice| format!("\n{:24}{advice}", "")).unwrap_or_default();
        format!("{health:<9}{:<15}{}{advice}", self.what, self.found)
    }
}
