//! Asks before something is destroyed.

use std::io::{BufRead, IsTerminal, Write};

use anyhow::{Context, bail};
use clap::Args;

#[derive(Clone, Copy, Debug, Args)]
pub struct Consent {
    /// Do not ask; needed without a terminal
    #[arg(long)]
    yes: bool,
}

impl Consent {
    /// Continues only after a yes, on the command line or at the terminal.
    pub async fn confirm(self, question: &str) -> anyhow::Result<()> {
        if self.yes {
            return Ok(());
        }
        if !std::io::stdin().is_terminal() {
            bail!("{question} There is no terminal to ask on: --yes confirms it. Nothing was changed");
        }
        let question = question.replace(char::is_control, "\u{fffd}");
        // Reading a terminal blocks; the store goes on meanwhile.
        let answer = tokio::task::spawn_blocking(move || ask(&question)).await?.context("cannot ask")?;
        if !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
            bail!("nothing was changed");
        }
        Ok(())
    }
}

fn ask(question: &str) -> std::io::Result<String> {
    let mut terminal = std::io::stderr().lock();
    write!(terminal, "{question} [y/N] ")?;
    terminal.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(answer)
}
