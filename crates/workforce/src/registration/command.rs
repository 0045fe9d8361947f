//! `opora cleanup` and `opora repair registrations`.

use clap::{Args, Subcommand};
use opora::clock::Clock;

use super::cleanup::{self, Grounds};
use super::repair::{self, Mend};
use crate::config::StorageFlags;
use crate::domain::Domain;
use crate::files::Files;
use crate::rooms::Rooms;

#[derive(Debug, Args)]
pub struct Cleanup {
    #[command(flatten)]
    storage: StorageFlags,
    /// Only say what would be deleted
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Args)]
pub struct Repair {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// People who wait without documents; without a flag they are only listed
    Registrations(Registrations),
}

#[derive(Debug, Args)]
struct Registrations {
    #[command(flatten)]
    storage: StorageFlags,
    /// Delete them: they may register again
    #[arg(long, conflicts_with = "relink")]
    delete: bool,
    /// Give them the files that are still there
    #[arg(long)]
    relink: bool,
}

/// `opora cleanup`.
pub async fn cleanup(arguments: Cleanup) -> anyhow::Result<()> {
    let grounds = open(arguments.storage).await?;
    let report = cleanup::clean(&grounds, Clock::machine().now(), arguments.dry_run).await;
    grounds.domain.close().await?;
    let report = report?;
    println!("{report}");
    anyhow::ensure!(report.errors.is_empty(), "{} files cannot be removed", report.errors.len());
    Ok(())
}

/// `opora repair`.
pub async fn repair(arguments: Repair) -> anyhow::Result<()> {
    let What::Registrations(arguments) = arguments.what;
    let mend = match (arguments.delete, arguments.relink) {
        (true, _) => Mend::Delete,
        (_, true) => Mend::Relink,
        _ => Mend::List,
    };
    let grounds = open(arguments.storage).await?;
    let broken = repair::repair(&grounds, mend, Clock::machine().now()).await;
    grounds.domain.close().await?;
    let broken = broken?;
    for one in &broken {
        println!("{one}");
    }
    println!("{} people wait without documents or files", broken.len());
    Ok(())
}

async fn open(storage: StorageFlags) -> anyhow::Result<Grounds> {
    let storage = storage.read()?;
    let files = Files::at(&storage.files);
    let domain = Domain::beside(&storage.database).await?;
    Ok(Grounds { domain, rooms: Rooms::all(), files, downloads: storage.data_dir.join("downloads") })
}
