//! `opora settings`: lists and changes settings.

use anyhow::Context;
use clap::{Args, Subcommand};
use opora::clock::Clock;

use super::{Settings, set};
use crate::config::DatabaseFlags;
use crate::domain::Domain;

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    database: DatabaseFlags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List all settings with their values
    List,
    /// Print the value of a setting
    Get { name: String },
    /// Change a setting; takes effect at once
    Set { name: String, value: String },
}

/// `opora settings`.
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let domain = Domain::open_for_command(&arguments.database.address()?).await?;
    let done = run_command(&domain, arguments.command).await;
    domain.close().await?;
    done
}

async fn run_command(domain: &Domain, command: Command) -> anyhow::Result<()> {
    let settings = Settings::new(domain.clone());
    match command {
        Command::List => {
            for (name, value) in settings.all().await? {
                println!("{name:<34} {}", value.replace('\n', " "));
            }
        }
        Command::Get { name } => println!("{}", value(&settings, &name).await?),
        Command::Set { name, value: text } => {
            let (at, changed) = (Clock::machine().now(), name.clone());
            domain.write(move |db| Box::pin(async move { set(db, &changed, &text, None, at).await })).await?;
            println!("{name} is {} now", value(&settings, &name).await?);
        }
    }
    Ok(())
}

async fn value(settings: &Settings, name: &str) -> anyhow::Result<String> {
    let found = settings.all().await?.into_iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| value).with_context(|| format!("there is no setting `{name}`; `opora settings list`"))
}
