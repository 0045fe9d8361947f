//! Files that belong to nobody are removed once they are old: hourly, and by `opora cleanup`.
//!
//! Nothing is done where files and database do not belong together, see [`installation`].
//!
//! A file belongs to somebody while a room knows it, or while it is being kept and its row has not been written yet. Before
//! an old file is removed, the commit that might still want it is refused for good: no row is ever written whose file is
//! gone.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use opora::clock::Millis;
use sea_orm::DbErr;

use crate::application::App;
use crate::domain::Domain;
use crate::files::installation::{self, Apart, Bond, Installation};
use crate::files::{self, Files, Found, under_way};
use crate::rooms::Rooms;

/// How old a file without an owner gets.
const ORPHAN_LIFE: Duration = Duration::from_secs(48 * 60 * 60);
/// How old a file gets that is not whole, or that nobody has fetched from the downloads.
const TEMPORARY_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// Where to look.
#[derive(Clone, Debug)]
pub struct Grounds {
    pub domain: Domain,
    /// Whose files they may be.
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
    /// Without an owner, and too young.
    pub kept: Vec<(String, Duration)>,
    pub errors: Vec<(String, String)>,
}

impl Grounds {
    pub fn of_app(app: &App) -> Self {
        let (domain, rooms, files) = (app.domain.clone(), app.rooms.clone(), app.files.clone());
        Self { domain, rooms, files, downloads: app.data_dir.join("downloads") }
    }

    pub fn installation(&self) -> Installation<'_> {
        Installation { domain: &self.domain, rooms: &self.rooms, files: &self.files }
    }
}

/// The job.
pub async fn hourly(app: App) -> anyhow::Result<()> {
    let report = match clean(&Grounds::of_app(&app), app.clock.now(), false).await {
        Ok(report) => report,
        Err(error) => {
            let why = error.downcast::<Apart>()?;
            installation::alarm(why);
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

/// Looks at every file; removes what is old and nobody's, unless it only looks. Refuses by [`Apart`].
pub async fn clean(grounds: &Grounds, now: Millis, is_dry_run: bool) -> anyhow::Result<Report> {
    let installation = grounds.installation();
    let bond = if is_dry_run { installation.look().await? } else { installation.settle().await? };
    if let Bond::Apart(why) = bond {
        return Err(why.into());
    }
    // Files first: what is written after this list was made is young.
    let found = grounds.files.all().await?;
    let orphans = without_owner(grounds, found, now).await?;
    let known = grounds.rooms.count_files(&grounds.domain).await?;
    let mut report = Report { is_dry_run, known, ..Report::default() };
    let old: Vec<_> =
        orphans.iter().filter(|file| age(file, now) > ORPHAN_LIFE).map(|file| file.name.clone()).collect();
    // What was written in the very last moment before its commit is refused has an owner now.
    let mut taken = HashSet::new();
    if !is_dry_run && !old.is_empty() {
        under_way::release(&grounds.domain, old.clone()).await?;
        taken.extend(grounds.rooms.owned_files(&grounds.domain, &old).await?);
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

/// What no room knows, and no commit that is young enough to come.
async fn without_owner(grounds: &Grounds, found: Vec<Found>, now: Millis) -> Result<Vec<Found>, DbErr> {
    let names: Vec<_> = found.iter().map(|file| file.name.clone()).collect();
    let mut owned = under_way::since(&grounds.domain, now.minus(ORPHAN_LIFE)).await?;
    owned.extend(grounds.rooms.owned_files(&grounds.domain, &names).await?);
    Ok(found.into_iter().filter(|file| !owned.contains(&file.name)).collect())
}

fn age(file: &Found, now: Millis) -> Duration {
    now.since(file.changed_at)
}

/// In hours, or in days where they are many.
fn aged(age: Duration) -> String {
    let hours = age.as_secs() / 3600;
    if hours < 48 { format!("{hours} h") } else { format!("{} days", hours / 24) }
}
