//! `opora state tidy`: removes leftovers of other versions from a server.

use clap::Args;

use super::CommandContext;
use crate::terminal::{Consent, output};

#[derive(Debug, Args)]
pub struct Tidy {
    #[command(flatten)]
    consent: Consent,
}

pub async fn run(context: &CommandContext<'_>, arguments: Tidy) -> anyhow::Result<()> {
    let old = context.store.operator().tidy(true).await?;
    if old.is_empty() {
        return output::say("There is nothing to tidy up.");
    }
    let question = format!("Remove {}, which other versions of this program left on the server?", old.join(", "));
    arguments.consent.confirm(&question).await?;
    let removed = context.store.operator().tidy(false).await?;
    output::say(&format!("Removed {}. A running bot of that version will create its own again.", removed.join(", ")))
}
