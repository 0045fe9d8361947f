//! Removes old files without an owner: hourly, and by `opora cleanup`.
//!
//! Nothing is removed if files and database do not belong together, see [`installation`].
//!
//! A file has an owner while a room knows it, or while it is registered in [`pending_files`]. Before an old file is
//! removed, its registration is released, so that no later commit can write a row for the missing file.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use opora::clock::Millis;
use sea_orm::DbErr;

use crate::application::App;
use crate::domain::Domain;
use crate::files::installation::{self, Installation, InstallationStatus, Mismatch};
use crate::files::{self, FileEntry, Files, pending_files};
use crate::jobs::{self, scheduled_job};
use crate::rooms::Rooms;

/// Maximum age of a file without an owner.
const ORPHAN_MAX_AGE: Duration = Duration::from_secs(48 * 60 * 60);
/// Maximum age of an incomplete file, or of a download that was not picked up.
const TEMPORARY_MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Files that one request to a bucket removes.
const BATCH_SIZE: usize = 500;
/// Listing and emptying a large bucket takes many requests.
const TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// What cleanup and repair work on.
#[derive(Clone, Debug)]
pub struct CleanupContext {
    pub domain: Domain,
    /// The rooms that may own files.
    pub rooms: Rooms,
    pub files: Files,
    pub downloads: PathBuf,
}

/// What was found and done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub is_dry_run: bool,
    /// Files that rooms know.
    pub known: u64,
    pub deleted: Vec<(String, Duration)>,
    /// Files without an owner that are too young.
    pub kept: Vec<(String, Duration)>,
    pub errors: Vec<(String, String)>,
}

impl CleanupContext {
    pub fn of_app(app: &App) -> Self {
        let (domain, rooms, files) = (app.domain.clone(), app.rooms.clone(), app.files.clone());
        Self { domain, rooms, files, downloads: app.data_dir.join("downloads") }
    }

    pub fn installation(&self) -> Installation<'_> {
        Installation { domain: &self.domain, rooms: &self.rooms, files: &self.files }
    }
}

scheduled_job! { pub CleanFiles = "file-cleanup" in jobs::DEFAULT, within TIMEOUT }

/// The hourly job.
pub async fn hourly(app: App) -> anyhow::Result<()> {
    let report = match clean(&CleanupContext::of_app(&app), app.clock.now(), false).await {
        Ok(report) => report,
        Err(error) => {
            let mismatch = error.downcast::<Mismatch>()?;
            installation::log_mismatch(mismatch);
            return Ok(());
        }
    };
    let (deleted, kept, errors) = (report.deleted.len(), report.kept.len(), report.errors.len());
    tracing::debug!(known = report.known, deleted, kept, errors, "files without an owner are cleaned up");
    for (name, error) in report.errors {
        tracing::warn!(%name, %error, "a file without an owner cannot be removed");
    }
    Ok(())
}

/// Removes old files without an owner; a dry run only reports them. Fails with [`Mismatch`].
pub async fn clean(context: &CleanupContext, now: Millis, is_dry_run: bool) -> anyhow::Result<Report> {
    let installation = context.installation();
    let status = if is_dry_run { installation.check().await? } else { installation.check_and_mark().await? };
    if let InstallationStatus::Mismatch(mismatch) = status {
        return Err(mismatch.into());
    }
    // Files first: a file that is stored after this listing is young.
    let found = context.files.all().await?;
    let orphans = without_owner(context, found, now).await?;
    let known = context.rooms.count_files(&context.domain).await?;
    let mut report = Report { is_dry_run, known, ..Report::default() };
    let (old, young): (Vec<_>, Vec<_>) = orphans.into_iter().partition(|file| age(file, now) > ORPHAN_MAX_AGE);
    report.kept.extend(young.iter().map(|file| (file.name.clone(), age(file, now))));
    for batch in old.chunks(BATCH_SIZE) {
        report.remove(context, batch, now).await?;
    }
    for folder in context.files.incoming().into_iter().chain([context.downloads.clone()]) {
        for file in files::list(folder.clone()).await? {
            let path = folder.join(&file.name);
            report.judge(file, now, TEMPORARY_MAX_AGE, files::remove(&path)).await;
        }
    }
    Ok(report)
}

impl Report {
    /// Removes old files without an owner.
    async fn remove(&mut self, context: &CleanupContext, files: &[FileEntry], now: Millis) -> anyhow::Result<()> {
        let names: Vec<_> = files.iter().map(|file| file.name.clone()).collect();
        // A commit may have given one of them an owner just before the release.
        let mut owned = HashSet::new();
        if !self.is_dry_run {
            pending_files::release(&context.domain, names.clone()).await?;
            owned.extend(context.rooms.owned_files(&context.domain, &names).await?);
        }
        let files: Vec<_> = files.iter().filter(|file| !owned.contains(&file.name)).collect();
        let names = files.iter().map(|file| file.name.clone()).collect();
        if self.is_dry_run || context.files.remove(names).await.is_ok() {
            self.deleted.extend(files.iter().map(|file| (file.name.clone(), age(file, now))));
            return Ok(());
        }
        // One by one, so that the report names those that cannot be removed.
        for file in files {
            let name = file.name.clone();
            self.judge(file.clone(), now, ORPHAN_MAX_AGE, context.files.remove(vec![name])).await;
        }
        Ok(())
    }

    async fn judge(
        &mut self,
        file: FileEntry,
        now: Millis,
        max_age: Duration,
        remove: impl Future<Output = io::Result<()>>,
    ) {
        let age = age(&file, now);
        if age <= max_age {
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
                writeln!(f, "{word} {name} (age {})", format_age(*age))?;
            }
        }
        for (name, error) in &self.errors {
            writeln!(f, "error {name}: {error}")?;
        }
        let (gone, kept, errors) = (self.deleted.len(), self.kept.len(), self.errors.len());
        write!(f, "{deleted}: {gone}, kept: {kept}, errors: {errors}")
    }
}

/// Files that no room knows and no recent registration names.
async fn without_owner(context: &CleanupContext, found: Vec<FileEntry>, now: Millis) -> Result<Vec<FileEntry>, DbErr> {
    let names: Vec<_> = found.iter().map(|file| file.name.clone()).collect();
    let mut owned = pending_files::since(&context.domain, now.minus(ORPHAN_MAX_AGE)).await?;
    owned.extend(context.rooms.owned_files(&context.domain, &names).await?);
    Ok(found.into_iter().filter(|file| !owned.contains(&file.name)).collect())
}

fn age(file: &FileEntry, now: Millis) -> Duration {
    now.since(file.changed_at)
}

/// In hours, or in days from 48 hours on.
fn format_age(age: Duration) -> String {
    let hours = age.as_secs() / 3600;
    if hours < 48 { format!("{hours} h") } else { format!("{} days", hours / 24) }
}
