//! `opora state tidy`: removes what other versions of the program left on a server.

use clap::Args;

use super::confirm::Consent;
use super::{Desk, output};

#[derive(Debug, Args)]
pub struct Tidy {
    #[command(flatten)]
    consent: Consent,
}

pub async fn run(desk: &Desk<'_>, arguments: Tidy) -> anyhow::Result<()> {
    let old = desk.store.operator().tidy(true).await?;
    if old.is_empty() {
        return output::say("There is nothing to tidy up.");
    }
    let question = format!("Remove {}, which other versions of this program left on the server?", old.join(", "));
    arguments.consent.to(&question).await?;
    let removed = desk.store.operator().tidy(false).await?;
    output::say(&format!("Removed {}. A bot of that version that still runs makes its own again.", removed.join(", ")))
}
