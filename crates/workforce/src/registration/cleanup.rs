//! Files that belong to nobody are removed once they are old: hourly, and by `opora cleanup`.
//!
//! A file belongs to somebody while a document names it, or while a registration keeps it and has not been written yet.
//! Before an old file of a registration is removed, its registration is refused for good: no document is ever written
//! whose file is gone.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use opora::clock::Millis;
use sea_orm::{ColumnTrait, DbErr, EntityTrait, PaginatorTrait, QueryFilter, QuerySelect};

use super::keeping;
use super::tables::{document, under_way};
use crate::application::App;
use crate::domain::Domain;
use crate::files::{self, Files, Found};

/// How old a file without an owner gets.
const ORPHAN_LIFE: Duration = Duration::from_secs(48 * 60 * 60);
/// How old a file gets that is not whole, or that nobody has fetched from the downloads.
const TEMPORARY_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// Where to look.
#[derive(Clone, Debug)]
pub struct Grounds {
    pub domain: Domain,
    pub files: Files,
    pub downloads: PathBuf,
}

/// What was found and done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub is_dry_run: bool,
    /// Files that documents name.
    pub known: u64,
    pub deleted: Vec<(String, Duration)>,
    /// Without an owner, and too young.
    pub kept: Vec<(String, Duration)>,
    pub errors: Vec<(String, String)>,
}

impl Grounds {
    pub fn of_app(app: &App) -> Self {
        Self { domain: app.domain.clone(), files: app.files.clone(), downloads: app.data_dir.join("downloads") }
    }
}

/// The job.
pub async fn hourly(app: App) -> anyhow::Result<()> {
    let report = clean(&Grounds::of_app(&app), app.clock.now(), false).await?;
    let (deleted, kept, errors) = (report.deleted.len(), report.kept.len(), report.errors.len());
    tracing::info!(known = report.known, deleted, kept, errors, "files without an owner are cleaned up");
    for (name, error) in report.errors {
        tracing::warn!(%name, %error, "a file without an owner cannot be removed");
    }
    Ok(())
}

/// Looks at every file; removes what is old and nobody's, unless it only looks.
pub async fn clean(grounds: &Grounds, now: Millis, is_dry_run: bool) -> anyhow::Result<Report> {
    // Files first: what is written after this list was made is young.
    let found = grounds.files.all().await?;
    let orphans = without_owner(&grounds.domain, found, now).await?;
    let mut report = Report { is_dry_run, known: known(&grounds.domain).await?, ..Report::default() };
    let old: Vec<_> =
        orphans.iter().filter(|file| age(file, now) > ORPHAN_LIFE).map(|file| file.name.clone()).collect();
    // Whoever was written in the very last moment before its registration is refused has an owner now.
    let mut taken = HashSet::new();
    if !is_dry_run && !old.is_empty() {
        keeping::release(&grounds.domain, old.clone()).await?;
        taken.extend(keeping::owned(&grounds.domain, &old).await?);
    }
    for file in orphans.into_iter().filter(|file| !taken.contains(&file.name)) {
        let name = file.name.clone();
        report.judge(file, now, ORPHAN_LIFE, grounds.files.remove(vec![name])).await;
    }
    for folder in grounds.files.incoming().into_iter().chain([grounds.downloads.clone()]) {
        for file in files::list(folder.clone()).await? {
            let path = folder.join(&file.name);
            report.judge(file, now, TEMPORARY_LIFE, files::remove(&path)).await;
        }
    }
    Ok(report)
}

impl Report {
    async fn judge(&mut self, file: Found, now: Millis, life: Duration, remove: impl Future<Output = io::Result<()>>) {
        let age = age(&file, now);
        if age <= life {
            self.kept.push((file.name, age));
            return;
        }
        let removed = if self.is_dry_run { Ok(()) } else { remove.await };
        match removed {
            Ok(()) => self.deleted.push((file.name, age)),
            Err(error) => self.errors.push((file.name, error.to_string())),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "files known to the database: {}", self.known)?;
        let deleted = if self.is_dry_run { "would delete" } else { "deleted" };
        for (word, files) in [(deleted, &self.deleted), ("kept", &self.kept)] {
            for (name, age) in files {
                writeln!(f, "{word} {name} (age {})", aged(*age))?;
            }
        }
        for (name, error) in &self.errors {
            writeln!(f, "error {name}: {error}")?;
        }
        let (gone, kept, errors) = (self.deleted.len(), self.kept.len(), self.errors.len());
        write!(f, "{deleted}: {gone}, kept: {kept}, errors: {errors}")
    }
}

/// What no document names, and no registration that is young enough to be written.
async fn without_owner(domain: &Domain, found: Vec<Found>, now: Millis) -> Result<Vec<Found>, DbErr> {
    let names: Vec<_> = found.iter().map(|file| file.name.clone()).collect();
    let since = under_way::Column::Since.gte(now.minus(ORPHAN_LIFE).0);
    let kept = under_way::Entity::find().select_only().column(under_way::Column::Id).filter(since);
    let mut owned: HashSet<String> = kept.into_tuple().all(domain.read()).await?.into_iter().collect();
    owned.extend(keeping::owned(domain, &names).await?);
    Ok(found.into_iter().filter(|file| !owned.contains(&file.name)).collect())
}

async fn known(domain: &Domain) -> Result<u64, DbErr> {
    document::Entity::find().count(domain.read()).await
}

fn age(file: &Found, now: Millis) -> Duration {
    now.since(file.changed_at)
}

/// In hours, or in days where they are many.
fn aged(age: Duration) -> String {
    let hours = age.as_secs() / 3600;
    if hours < 48 { format!("{hours} h") } else { format!("{} days", hours / 24) }
}
