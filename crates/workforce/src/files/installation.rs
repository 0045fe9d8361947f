//! Checks that a database and a file storage belong together.
//!
//! Both hold the same random mark since the first start. Old files without an owner are removed, so with a wrong
//! database (one missing setting is enough) everything would be removed. Therefore nothing is removed, and no file is
//! reported as lost, before the marks have been compared.

use std::time::Duration;

use opora::store::WriteError;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ConnectionTrait, DbErr, EntityTrait, QuerySelect, Set};

use super::{FileEntry, Files, generated_name, pending_files};
use crate::application::App;
use crate::domain::{Domain, Transaction};
use crate::rooms::Rooms;

/// The id of the only row.
const ROW: i64 = 1;
/// How long a start waits for the storage.
const STORAGE_TIMEOUT: Duration = Duration::from_secs(5);

/// A database and a file storage.
#[derive(Clone, Copy, Debug)]
pub struct Installation<'a> {
    pub domain: &'a Domain,
    /// The rooms, which know the owners of files.
    pub rooms: &'a Rooms,
    pub files: &'a Files,
}

/// Whether a database and a storage belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallationStatus {
    /// They belong together.
    Marked,
    /// They have no marks, and may be marked.
    Unmarked {
        /// There are no files yet, and perhaps no storage.
        is_empty: bool,
    },
    Mismatch(Mismatch),
}

/// Why they do not belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    #[error("the files belong to another database: the marks differ. {}", ADVICE)]
    Differ,
    #[error("the files belong to another database: this one bears no mark. {}", ADVICE)]
    DatabaseUnmarked,
    #[error("the database knows none of the {there} files that are there. {}", ADVICE)]
    Unknown { there: usize },
    #[error("the database knows {known} files, and none is there; is the disk mounted? {}", ADVICE)]
    NothingThere { known: u64 },
}

const ADVICE: &str = "Nothing was changed. Check DATABASE_URL, DATA_DIR and FILES_URL; if they are right, \
                      `opora cleanup --adopt` makes the files this database's";

impl<'a> Installation<'a> {
    pub fn of_app(app: &'a App) -> Self {
        Self { domain: &app.domain, rooms: &app.rooms, files: &app.files }
    }

    /// Compares the marks, and changes nothing.
    pub async fn check(self) -> anyhow::Result<InstallationStatus> {
        let (own, stored) = (read(self.domain.read()).await?, self.files.mark().await?);
        if let (Some(own), Some(stored)) = (&own, &stored) {
            return Ok(if own == stored {
                InstallationStatus::Marked
            } else {
                InstallationStatus::Mismatch(Mismatch::Differ)
            });
        }
        let files = self.files.all().await?;
        let known = self.rooms.count_files(self.domain).await?;
        let has_known_files = !self.known_files(&files).await?.is_empty();
        Ok(judge(stored.is_some(), files.len(), has_known_files, known))
    }

    /// Like [`Self::check`], and marks both if they may be marked.
    pub async fn check_and_mark(self) -> anyhow::Result<InstallationStatus> {
        let status = self.check().await?;
        if !matches!(status, InstallationStatus::Unmarked { .. }) {
            return Ok(status);
        }
        self.adopt().await?;
        Ok(InstallationStatus::Marked)
    }

    /// Gives the database and the storage the same mark, also if the storage has another one.
    pub async fn adopt(self) -> anyhow::Result<()> {
        let new = generated_name()?;
        // If two processes do this at once, the database decides.
        let mark = self.domain.write_and_get(move |db| Box::pin(mark(db, new))).await?;
        self.files.set_mark(mark).await?;
        Ok(())
    }

    /// Which of these files the database knows, pending ones included.
    pub async fn known_files(self, there: &[FileEntry]) -> Result<Vec<String>, DbErr> {
        let names: Vec<_> = there.iter().map(|file| file.name.clone()).collect();
        let mut known = self.rooms.owned_files(self.domain, &names).await?;
        known.extend(pending_files::registered(self.domain, &names).await?);
        Ok(known)
    }
}

/// Runs at a start. The product runs whatever the result: nothing is removed before the job has checked again.
pub async fn begin(app: &App) {
    let settled = tokio::time::timeout(STORAGE_TIMEOUT, Installation::of_app(app).check_and_mark()).await;
    match settled.unwrap_or_else(|_| Err(anyhow::anyhow!("the storage did not answer in time"))) {
        Ok(InstallationStatus::Mismatch(mismatch)) => log_mismatch(mismatch),
        Ok(_) => {}
        Err(error) => {
            tracing::warn!(error = format!("{error:#}"), "the marks of files and database could not be compared yet");
        }
    }
}

/// Logs a mismatch as an error: the operator has to act.
pub fn log_mismatch(mismatch: Mismatch) {
    tracing::error!(why = %mismatch, "ALARM: files and database do not belong together; no file is removed");
}

fn judge(is_stored: bool, there: usize, knows_some: bool, known: u64) -> InstallationStatus {
    let is_empty = there == 0;
    match (is_empty, known) {
        (true, 0) => InstallationStatus::Unmarked { is_empty },
        // A database that lost its mark may have lost more: only the operator knows.
        _ if is_stored => InstallationStatus::Mismatch(Mismatch::DatabaseUnmarked),
        (true, known) => InstallationStatus::Mismatch(Mismatch::NothingThere { known }),
        _ if knows_some => InstallationStatus::Unmarked { is_empty },
        _ => InstallationStatus::Mismatch(Mismatch::Unknown { there }),
    }
}

/// Stores a mark unless there is one; returns the stored one.
async fn mark(db: &Transaction<'_, '_>, new: String) -> Result<String, WriteError> {
    let row = table::ActiveModel { id: Set(ROW), mark: Set(new.clone()) };
    let unless_there = OnConflict::column(table::Column::Id).do_nothing().to_owned();
    table::Entity::insert(row).on_conflict(unless_there).exec_without_returning(db).await?;
    Ok(read(db).await?.unwrap_or(new))
}

async fn read(db: &impl ConnectionTrait) -> Result<Option<String>, DbErr> {
    table::Entity::find_by_id(ROW).select_only().column(table::Column::Mark).into_tuple().one(db).await
}

mod table {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "installation")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: i64,
        pub mark: String,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_empty_or_known_storages_are_marked() {
        for is_stored in [false, true] {
            assert_eq!(judge(is_stored, 0, false, 0), InstallationStatus::Unmarked { is_empty: true });
        }
        assert_eq!(judge(false, 5, true, 9), InstallationStatus::Unmarked { is_empty: false });
        assert_eq!(judge(false, 5, false, 0), InstallationStatus::Mismatch(Mismatch::Unknown { there: 5 }));
        assert_eq!(judge(false, 5, false, 7), InstallationStatus::Mismatch(Mismatch::Unknown { there: 5 }));
        assert_eq!(judge(false, 0, false, 7), InstallationStatus::Mismatch(Mismatch::NothingThere { known: 7 }));
        assert_eq!(judge(true, 5, false, 0), InstallationStatus::Mismatch(Mismatch::DatabaseUnmarked));
        assert_eq!(
            judge(true, 5, true, 5),
            InstallationStatus::Mismatch(Mismatch::DatabaseUnmarked),
            "an older copy of the database"
        );
    }
}
