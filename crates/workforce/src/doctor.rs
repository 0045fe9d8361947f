//! `opora doctor`: looks at everything that `opora run` needs, and says what to do.
//!
//! It changes nothing and stops nobody, so it can be asked beside a running bot. What it cannot look at, it says.

use anyhow::bail;
use clap::Args;
use serde::Serialize;

use crate::config::{self, Config, Flags, Mistakes};
use crate::state::output;

mod places;
mod telegram;

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    flags: Flags,
    /// Print JSON: an array of objects
    #[arg(long)]
    json: bool,
}

/// What was looked at, and how it is.
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
    /// The product runs, and somebody should know this.
    Note,
    Trouble,
}

/// `opora doctor`.
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let findings = match config::load(&arguments.flags) {
        Ok(config) => look_at_everything(&config).await,
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
        1 => bail!("one thing has to be mended"),
        number => bail!("{number} things have to be mended"),
    }
}

async fn look_at_everything(config: &Config) -> Vec<Finding> {
    let version = Finding::ok("version", format!("opora {}", env!("CARGO_PKG_VERSION")));
    // None waits for another: a server that does not answer takes its time.
    let (telegram, clock, database, store, redis, files, modes, disk, web) = tokio::join!(
        telegram::look(config),
        telegram::look_at_clock(config),
        places::look_at_database(config),
        places::look_at_store(config),
        places::look_at_redis(config),
        places::look_at_files(config),
        places::look_at_modes(config),
        places::look_at_disk(config),
        places::look_at_port(config),
    );
    let first = [version].into_iter().chain(telegram).chain([clock, database]);
    first.chain(store).chain(redis).chain([files, modes, disk, web]).collect()
}

/// A configuration that cannot be read is a finding for each of its mistakes.
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
