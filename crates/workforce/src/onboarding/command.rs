//! `opora onboarding`: tools for editing the questionnaire.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};

use super::file;

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check a questionnaire and list every mistake
    Check { file: PathBuf },
    /// Print the built-in questionnaire, to start from
    Example,
}

/// `opora onboarding`.
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        Command::Check { file } => check(file).await,
        Command::Example => {
            print!("{}", file::BUILT_IN);
            Ok(())
        }
    }
}

async fn check(path: PathBuf) -> anyhow::Result<()> {
    let name = path.display();
    let text = tokio::fs::read_to_string(&path).await.with_context(|| format!("cannot read {name}"))?;
    match file::read(&text) {
        Ok(questionnaire) => println!("{name} is valid: {} questions", questionnaire.questions.len()),
        Err(mistakes) => {
            for mistake in &mistakes.0 {
                eprintln!("- {mistake}");
            }
            bail!("{name} has {} mistakes and would not be used", mistakes.0.len());
        }
    }
    Ok(())
}
