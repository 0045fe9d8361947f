//! `opora cleanup` and `opora repair registrations`.

use clap::{Args, Subcommand};
use opora::clock::Clock;

use super::cleanup::{self, CleanupContext};
use super::repair::{self, BrokenRegistration, RepairMode};
use crate::config::{Storage, StorageFlags};
use crate::domain::Domain;
use crate::files::Files;
use crate::files::installation::InstallationStatus;
use crate::rooms::Rooms;
use crate::terminal::Consent;

#[derive(Debug, Args)]
pub struct Cleanup {
    #[command(flatten)]
    storage: StorageFlags,
    /// Only list what would be deleted
    #[arg(long)]
    dry_run: bool,
    /// Assign the files to this database, whatever their mark; removes nothing
    #[arg(long, conflicts_with = "dry_run")]
    adopt: bool,
    #[command(flatten)]
    consent: Consent,
}

#[derive(Debug, Args)]
pub struct Repair {
    #[command(subcommand)]
    command: RepairCommand,
}

#[derive(Debug, Subcommand)]
enum RepairCommand {
    /// People who wait for a decision without documents; without a flag they are only listed
    Registrations(Registrations),
}

#[derive(Debug, Args)]
struct Registrations {
    #[command(flatten)]
    storage: StorageFlags,
    /// Delete them, so that they may register again. People with contracts, shifts or pay are only listed
    #[arg(long, conflicts_with = "relink")]
    delete: bool,
    /// Link them to their files that still exist
    #[arg(long)]
    relink: bool,
    #[command(flatten)]
    consent: Consent,
}

/// `opora cleanup`.
pub async fn cleanup(arguments: Cleanup) -> anyhow::Result<()> {
    let storage = arguments.storage.read()?;
    let context = open(&storage).await?;
    let done = if arguments.adopt {
        adopt(&context, &storage, arguments.consent).await
    } else {
        clean(&context, arguments.dry_run).await
    };
    context.domain.close().await?;
    done
}

async fn clean(context: &CleanupContext, is_dry_run: bool) -> anyhow::Result<()> {
    let report = cleanup::clean(context, Clock::machine().now(), is_dry_run).await?;
    println!("{report}");
    anyhow::ensure!(report.errors.is_empty(), "{} files cannot be removed", report.errors.len());
    Ok(())
}

async fn adopt(context: &CleanupContext, storage: &Storage, consent: Consent) -> anyhow::Result<()> {
    let (installation, Storage { database, files, .. }) = (context.installation(), storage);
    if installation.check().await? == InstallationStatus::Marked {
        println!("the files in {files} are those of {database} already");
        return Ok(());
    }
    let stored_files = context.files.all().await?;
    let (count, known) = (stored_files.len(), installation.known_files(&stored_files).await?.len());
    let question = format!(
        "{files} has {count} files, and {database} knows {known} of them. Make them its own? \
         What it does not know is removed once it is 48 hours old."
    );
    consent.confirm(&question).await?;
    installation.adopt().await?;
    println!("the files in {files} are those of {database} now");
    Ok(())
}

/// `opora repair`.
pub async fn repair(arguments: Repair) -> anyhow::Result<()> {
    let RepairCommand::Registrations(arguments) = arguments.command;
    let mode = match (arguments.delete, arguments.relink) {
        (true, _) => RepairMode::Delete,
        (_, true) => RepairMode::Relink,
        _ => RepairMode::List,
    };
    let context = open(&arguments.storage.read()?).await?;
    let broken = repair_with_consent(&context, mode, arguments.consent).await;
    context.domain.close().await?;
    let broken = broken?;
    print(&broken);
    println!("{} people wait without documents or files", broken.len());
    Ok(())
}

/// Lists the people and asks before they are deleted.
async fn repair_with_consent(
    context: &CleanupContext,
    mode: RepairMode,
    consent: Consent,
) -> anyhow::Result<Vec<BrokenRegistration>> {
    let now = || Clock::machine().now();
    if mode == RepairMode::Delete {
        let broken = repair::repair(context, RepairMode::List, now()).await?;
        if broken.is_empty() {
            return Ok(broken);
        }
        print(&broken);
        let question = format!("Delete {} people with all their data? This cannot be undone.", broken.len());
        consent.confirm(&question).await?;
    }
    repair::repair(context, mode, now()).await
}

fn print(broken: &[BrokenRegistration]) {
    for one in broken {
        println!("{one}");
    }
}

async fn open(storage: &Storage) -> anyhow::Result<CleanupContext> {
    let files = Files::at(&storage.files);
    let domain = Domain::open_existing_for_command(&storage.database).await?;
    Ok(CleanupContext { domain, rooms: Rooms::all(), files, downloads: storage.data_dir.join("downloads") })
}
