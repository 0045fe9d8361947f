//! `opora state reset`.

use anyhow::bail;
use clap::Args;
use opora::key::DialogueKey;

use super::confirm::Consent;
use super::{Desk, find, output};

#[derive(Debug, Args)]
pub struct Reset {
    /// The conversation's key, as `list` prints it
    #[arg(value_name = "KEY")]
    key: DialogueKey,
    #[command(flatten)]
    consent: Consent,
}

pub async fn run(desk: &Desk<'_>, arguments: Reset) -> anyhow::Result<()> {
    let key = arguments.key;
    let stored = find::by_key(desk.store, &key).await?.and_then(|row| row.stored);
    let Some(stored) = stored else {
        bail!("nothing is open in {key}: there is nothing to reset");
    };
    let place = output::places(&stored.places);
    arguments.consent.to(&format!("Reset the conversation {key} ({place})?")).await?;
    if !desk.store.operator().reset(&key, desk.now).await? {
        bail!("{key} has ended in the meantime");
    }
    output::say(&format!("The conversation {key} is reset."))
}
