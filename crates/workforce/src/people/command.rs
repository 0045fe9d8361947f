//! `opora people`: who has which role, from the command line. This is how the first owner comes to be.

use clap::{Args, Subcommand};
use opora::clock::Clock;

use super::{Grant, People, Role, grant, revoke};
use crate::config::DatabaseFlags;
use crate::domain::Domain;
use crate::texts::Language;

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    database: DatabaseFlags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Give a role to a Telegram account; one that is not known yet becomes known by it
    Grant(Given),
    /// Take a role away
    Revoke(Taken),
    /// List people with their roles
    List,
}

#[derive(Debug, Args)]
struct Given {
    /// The number of the account; the bot's /me tells it
    telegram_id: i64,
    role: Role,
    /// The name of somebody who is not known yet
    #[arg(long, default_value = "")]
    name: String,
    /// The language of somebody who is not known yet
    #[arg(long, default_value = "ru")]
    language: Language,
}

#[derive(Debug, Args)]
struct Taken {
    telegram_id: i64,
    role: Role,
}

/// `opora people`.
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let domain = Domain::beside(&arguments.database.address()?).await?;
    let done = match arguments.command {
        Command::Grant(given) => granted(&domain, given).await,
        Command::Revoke(taken) => revoked(&domain, taken).await,
        Command::List => list(&domain).await,
    };
    domain.close().await?;
    done
}

async fn granted(domain: &Domain, given: Given) -> anyhow::Result<()> {
    let Given { telegram_id, role, name, language } = given;
    let full_name = if name.is_empty() { telegram_id.to_string() } else { name };
    let (at, given) = (Clock::machine().now(), Grant { telegram_id, full_name, role, language, by: None });
    domain.write(move |db| Box::pin(grant(db, given, at))).await?;
    println!("{telegram_id} is {role} now");
    Ok(())
}

async fn revoked(domain: &Domain, taken: Taken) -> anyhow::Result<()> {
    let Taken { telegram_id, role } = taken;
    let at = Clock::machine().now();
    domain.write(move |db| Box::pin(revoke(db, telegram_id, role, at))).await?;
    println!("{telegram_id} is not {role} any more");
    Ok(())
}

async fn list(domain: &Domain) -> anyhow::Result<()> {
    let people = People::new(domain.clone()).all().await?;
    for person in &people {
        let roles: Vec<_> = person.roles.iter().map(Role::name).collect();
        println!(
            "{:>12}  {:<10} {:<30} {}",
            person.telegram_id,
            person.status.name(),
            person.full_name,
            roles.join(", ")
        );
    }
    println!("{} people", people.len());
    Ok(())
}
