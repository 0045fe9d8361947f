//! `opora state reset`.

use anyhow::bail;
use clap::Args;
use opora::key::ConversationKey;

use super::{CommandContext, find};
use crate::terminal::{Consent, output};

#[derive(Debug, Args)]
pub struct Reset {
    /// The conversation's key, as `list` prints it
    #[arg(value_name = "KEY")]
    key: ConversationKey,
    #[command(flatten)]
    consent: Consent,
}

pub async fn run(context: &CommandContext<'_>, arguments: Reset) -> anyhow::Result<()> {
    let key = arguments.key;
    let stored = find::by_key(context.store, &key).await?.and_then(|row| row.stored);
    let Some(stored) = stored else {
        bail!("nothing is open in {key}: there is nothing to reset");
    };
    let states = output::states(&stored.states);
    arguments.consent.confirm(&format!("Reset the conversation {key} ({states})?")).await?;
    if !context.store.operator().reset(&key, context.now).await? {
        bail!("{key} has ended in the meantime");
    }
    output::say(&format!("The conversation {key} is reset."))
}
