//! `opora people`: people and roles on the command line. It also creates the first owner.

use anyhow::Context;
use clap::{Args, Subcommand};
use opora::clock::Clock;

use super::{Grant, People, Person, Role, export, forget, grant, revoke, set_test};
use crate::config::StorageFlags;
use crate::domain::{Domain, user_text};
use crate::files::Files;
use crate::rooms::Rooms;
use crate::terminal::{Consent, output};
use crate::texts::Language;

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    storage: StorageFlags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Give a role to a Telegram account; an unknown account is added as a person
    Grant(GrantArguments),
    /// Take a role away
    Revoke(RevokeArguments),
    /// List people with their roles
    List,
    /// Print everything that is known about a person as JSON, for the person; documents are listed
    Export {
        /// The account's Telegram id
        telegram_id: i64,
    },
    /// Forget a person: name, contacts, documents, answers. Work and pay stay, under a number
    Forget {
        /// The account's Telegram id
        telegram_id: i64,
        #[command(flatten)]
        consent: Consent,
    },
}

#[derive(Debug, Args)]
struct GrantArguments {
    /// The account's Telegram id; the bot's /me tells it
    telegram_id: i64,
    role: Role,
    /// Name of a person who is not known yet
    #[arg(long, default_value = "")]
    name: String,
    /// Language of a person who is not known yet
    #[arg(long, default_value = "ru")]
    language: Language,
    /// Make this account a test user, who signs in with any PIN while the setting enable_test_users is true; `--test
    /// false` undoes it
    #[arg(long, num_args = 0..=1, default_missing_value = "true")]
    test: Option<bool>,
}

#[derive(Debug, Args)]
struct RevokeArguments {
    telegram_id: i64,
    role: Role,
}

/// `opora people`.
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let storage = arguments.storage.read()?;
    let domain = Domain::open_for_command(&storage.database).await?;
    let done = match arguments.command {
        Command::Export { telegram_id } => exported(&domain, telegram_id).await,
        Command::Forget { telegram_id, consent } => {
            forgotten(&domain, &Files::at(&storage.files), telegram_id, consent).await
        }
        Command::Grant(given) => granted(&domain, given).await,
        Command::Revoke(taken) => revoked(&domain, taken).await,
        Command::List => list(&domain).await,
    };
    domain.close().await?;
    done
}

async fn granted(domain: &Domain, given: GrantArguments) -> anyhow::Result<()> {
    let GrantArguments { telegram_id, role, name, language, test } = given;
    let name = user_text::line(&name);
    let full_name = if name.is_empty() { telegram_id.to_string() } else { name };
    let (at, given) = (Clock::machine().now(), Grant { telegram_id, full_name, role, language, by: None });
    let granting = domain.write(move |db| {
        Box::pin(async move {
            grant(db, given, at).await?;
            match test {
                Some(is_test) => set_test(db, telegram_id, is_test, at).await,
                None => Ok(()),
            }
        })
    });
    granting.await?;
    println!("{telegram_id} is {role} now");
    match test {
        Some(true) => println!("{telegram_id} is a test user: any PIN signs in while enable_test_users is true"),
        Some(false) => println!("{telegram_id} is no test user"),
        None => {}
    }
    Ok(())
}

async fn revoked(domain: &Domain, taken: RevokeArguments) -> anyhow::Result<()> {
    let RevokeArguments { telegram_id, role } = taken;
    let at = Clock::machine().now();
    domain.write(move |db| Box::pin(revoke(db, telegram_id, role, at))).await?;
    println!("{telegram_id} is not {role} any more");
    Ok(())
}

async fn exported(domain: &Domain, telegram_id: i64) -> anyhow::Result<()> {
    let person = known(domain, telegram_id).await?;
    let data = export(domain, &Rooms::all(), &person, None, Clock::machine().now()).await?;
    output::json(&data)
}

async fn forgotten(domain: &Domain, files: &Files, telegram_id: i64, consent: Consent) -> anyhow::Result<()> {
    let person = known(domain, telegram_id).await?;
    consent.confirm(&format!("Forget {} ({telegram_id})? This cannot be undone.", person.full_name)).await?;
    forget(domain, &Rooms::all(), files, &person, None, Clock::machine().now()).await?;
    println!("{telegram_id} is forgotten; what was worked and paid stays under the number {}", person.id);
    Ok(())
}

async fn known(domain: &Domain, telegram_id: i64) -> anyhow::Result<Person> {
    let found = People::new(domain.clone()).by_telegram(telegram_id).await?;
    found.with_context(|| format!("no person has the Telegram id {telegram_id}"))
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
