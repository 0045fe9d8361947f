//! `opora state accept`.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use opora::store::RedisStore;

use super::output;

#[derive(Debug, Args)]
pub struct Accept {
    /// The bot's data directory: what the bot keeps there says what is missing
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Accept it; otherwise nothing is changed
    #[arg(long)]
    yes: bool,
}

pub async fn run(address: &str, arguments: Accept) -> anyhow::Result<()> {
    if !address.starts_with("redis://") && !address.starts_with("rediss://") {
        bail!("only a Redis can come back with less than it had: --store or STATE_URL names another store");
    }
    let data = &arguments.data;
    let losses = if arguments.yes {
        RedisStore::accept_losses(address, data).await
    } else {
        RedisStore::losses(address, data).await
    };
    let losses = losses.context("cannot compare this Redis with what was seen of it")?;
    if losses.is_empty() {
        return output::say("Nothing is missing: there is nothing to accept.");
    }
    for loss in &losses {
        let what = loss.to_string();
        let mut letters = what.chars();
        let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
        output::say(&format!("{first}{}.", letters.as_str()))?;
    }
    output::say(if arguments.yes {
        "This is accepted: start the bot. Its versions go on above all that were seen."
    } else {
        "Nothing was changed. Restore the data of this Redis, or accept the loss with --yes; end the bot before."
    })
}
