//! `opora cleanup` and `opora repair registrations`.

use clap::{Args, Subcommand};
use opora::clock::Clock;

use super::cleanup::{self, Grounds};
use super::repair::{self, Broken, Mend};
use crate::config::{Storage, StorageFlags};
use crate::domain::Domain;
use crate::files::Files;
use crate::files::installation::Bond;
use crate::rooms::Rooms;
use crate::state::Consent;

#[derive(Debug, Args)]
pub struct Cleanup {
    #[command(flatten)]
    storage: StorageFlags,
    /// Only say what would be deleted
    #[arg(long)]
    dry_run: bool,
    /// Make the files this database's, whatever they were marked as; removes nothing
    #[arg(long, conflicts_with = "dry_run")]
    adopt: bool,
    #[command(flatten)]
    consent: Consent,
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
    /// Delete them: they may register again. Who has contracts, shifts or pay is only listed
    #[arg(long, conflicts_with = "relink")]
    delete: bool,
    /// Give them the files that are still there
    #[arg(long)]
    relink: bool,
    #[command(flatten)]
    consent: Consent,
}

/// `opora cleanup`.
pub async fn cleanup(arguments: Cleanup) -> anyhow::Result<()> {
    let storage = arguments.storage.read()?;
    let grounds = open(&storage).await?;
    let done = if arguments.adopt {
        adopt(&grounds, &storage, arguments.consent).await
    } else {
        clean(&grounds, arguments.dry_run).await
    };
    grounds.domain.close().await?;
    done
}

async fn clean(grounds: &Grounds, is_dry_run: bool) -> anyhow::Result<()> {
    let report = cleanup::clean(grounds, Clock::machine().now(), is_dry_run).await?;
    println!("{report}");
    anyhow::ensure!(report.errors.is_empty(), "{} files cannot be removed", report.errors.len());
    Ok(())
}

async fn adopt(grounds: &Grounds, storage: &Storage, consent: Consent) -> anyhow::Result<()> {
    let (installation, Storage { database, files, .. }) = (grounds.installation(), storage);
    if installation.look().await? == Bond::Marked {
        println!("the files in {files} are those of {database} already");
        return Ok(());
    }
    let there = grounds.files.all().await?;
    let (count, known) = (there.len(), installation.known_among(&there).await?.len());
    let question = format!(
        "{files} has {count} files, and {database} knows {known} of them. Make them its own? \
         What it does not know is removed once it is 48 hours old."
    );
    consent.to(&question).await?;
    installation.adopt().await?;
    println!("the files in {files} are those of {database} now");
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
    let grounds = open(&arguments.storage.read()?).await?;
    let broken = mended(&grounds, mend, arguments.consent).await;
    grounds.domain.close().await?;
    let broken = broken?;
    tell(&broken);
    println!("{} people wait without documents or files", broken.len());
    Ok(())
}

/// Asks before anybody is deleted, with everybody's number before it.
async fn mended(grounds: &Grounds, mend: Mend, consent: Consent) -> anyhow::Result<Vec<Broken>> {
    let now = || Clock::machine().now();
    if mend == Mend::Delete {
        let broken = repair::repair(grounds, Mend::List, now()).await?;
        if broken.is_empty() {
            return Ok(broken);
        }
        tell(&broken);
        let question = format!("Delete {} people with all that is theirs? This cannot be undone.", broken.len());
        consent.to(&question).await?;
    }
    repair::repair(grounds, mend, now()).await
}

fn tell(broken: &[Broken]) {
    for one in broken {
        println!("{one}");
    }
}

async fn open(storage: &Storage) -> anyhow::Result<Grounds> {
    let files = Files::at(&storage.files);
    let domain = Domain::beside_existing(&storage.database).await?;
    Ok(Grounds { domain, rooms: Rooms::all(), files, downloads: storage.data_dir.join("downloads") })
}
