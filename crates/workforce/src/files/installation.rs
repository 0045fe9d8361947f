//! Which database and which storage of files belong together.
//!
//! Both bear one random mark since the first start. What no room knows is nobody's and goes when it is old, so with a wrong
//! database, for which one missing setting is enough, everything would go. Therefore nothing is removed, and nobody is said to
//! have lost a file, before the marks have been compared.

use std::time::Duration;

use opora::store::WriteError;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ConnectionTrait, DbErr, EntityTrait, QuerySelect, Set};

use super::{Files, Found, generated_name, under_way};
use crate::application::App;
use crate::domain::{Domain, Writing};
use crate::rooms::Rooms;

/// The one row.
const ROW: i64 = 1;
/// How long a start waits for a storage that does not answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A database and a storage.
#[derive(Clone, Copy, Debug)]
pub struct Installation<'a> {
    pub domain: &'a Domain,
    /// Who knows which file is whose.
    pub rooms: &'a Rooms,
    pub files: &'a Files,
}

/// How the two stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bond {
    /// They belong together.
    Marked,
    /// Nothing speaks against marking them.
    Unmarked {
        /// There is no file yet, and perhaps no storage.
        is_empty: bool,
    },
    Apart(Apart),
}

/// Why they do not belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Apart {
    #[error("the files belong to another database: the marks differ. {}", ADVICE)]
    Differ,
    #[error("the files belong to another database: this one bears no mark. {}", ADVICE)]
    DatabaseUnmarked,
    #[error("the database knows none of the {there} files that are there. {}", ADVICE)]
    Unknown { there: usize },
    #[error("the database knows {known} files, and none is there; is the disk mounted? {}", ADVICE)]
    NothingThere { known: u64 },
}

const ADVICE: &str = "Nothing was changed. Look at DATABASE_URL, DATA_DIR and FILES_URL; if they are right, \
                      `opora cleanup --adopt` makes the files this database's";

impl<'a> Installation<'a> {
    pub fn of_app(app: &'a App) -> Self {
        Self { domain: &app.domain, rooms: &app.rooms, files: &app.files }
    }

    /// Compares the marks, and changes nothing.
    pub async fn look(self) -> anyhow::Result<Bond> {
        let (own, stored) = (read(self.domain.read()).await?, self.files.mark().await?);
        if let (Some(own), Some(stored)) = (&own, &stored) {
            return Ok(if own == stored { Bond::Marked } else { Bond::Apart(Apart::Differ) });
        }
        let there = self.files.all().await?;
        let known = self.rooms.count_files(self.domain).await?;
        let knows_some = !self.known_among(&there).await?.is_empty();
        Ok(judge(stored.is_some(), there.len(), knows_some, known))
    }

    /// The same, and marks both where nothing speaks against it.
    pub async fn settle(self) -> anyhow::Result<Bond> {
        let bond = self.look().await?;
        if !matches!(bond, Bond::Unmarked { .. }) {
            return Ok(bond);
        }
        self.adopt().await?;
        Ok(Bond::Marked)
    }

    /// Marks both, whatever the storage bore before.
    pub async fn adopt(self) -> anyhow::Result<()> {
        let new = generated_name()?;
        // The database decides where two do it at once.
        let mark = self.domain.write_and_get(move |db| Box::pin(mark(db, new))).await?;
        self.files.set_mark(mark).await?;
        Ok(())
    }

    /// Which of these files the database knows, rows that are still to be written included.
    pub async fn known_among(self, there: &[Found]) -> Result<Vec<String>, DbErr> {
        let names: Vec<_> = there.iter().map(|file| file.name.clone()).collect();
        let mut known = self.rooms.owned_files(self.domain, &names).await?;
        known.extend(under_way::among(self.domain, &names).await?);
        Ok(known)
    }
}

/// What a start does. Whatever comes of it, the product runs: nothing is removed before the job has looked again.
pub async fn begin(app: &App) {
    let settled = tokio::time::timeout(PATIENCE, Installation::of_app(app).settle()).await;
    match settled.unwrap_or_else(|_| Err(anyhow::anyhow!("the storage does not answer in time"))) {
        Ok(Bond::Apart(why)) => alarm(why),
        Ok(_) => {}
        Err(error) => {
            tracing::warn!(error = format!("{error:#}"), "the marks of files and database could not be compared yet");
        }
    }
}

/// Whoever watches the log has to do something.
pub fn alarm(why: Apart) {
    tracing::error!(%why, "ALARM: files and database do not belong together; no file is removed");
}

fn judge(is_stored: bool, there: usize, knows_some: bool, known: u64) -> Bond {
    let is_empty = there == 0;
    match (is_empty, known) {
        (true, 0) => Bond::Unmarked { is_empty },
        // Who has lost their own mark may have lost more: only the operator knows.
        _ if is_stored => Bond::Apart(Apart::DatabaseUnmarked),
        (true, known) => Bond::Apart(Apart::NothingThere { known }),
        _ if knows_some => Bond::Unmarked { is_empty },
        _ => Bond::Apart(Apart::Unknown { there }),
    }
}

/// Writes a mark where there is none; answers the one that is there.
async fn mark(db: &Writing<'_, '_>, new: String) -> Result<String, WriteError> {
    let row = table::ActiveModel { id: Set(ROW), mark: Set(new.clone()) };
    let once = OnConflict::column(table::Column::Id).do_nothing().to_owned();
    table::Entity::insert(row).on_conflict(once).exec_without_returning(db).await?;
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
    fn only_what_is_empty_or_known_is_marked() {
        for is_stored in [false, true] {
            assert_eq!(judge(is_stored, 0, false, 0), Bond::Unmarked { is_empty: true });
        }
        assert_eq!(judge(false, 5, true, 9), Bond::Unmarked { is_empty: false });
        assert_eq!(judge(false, 5, false, 0), Bond::Apart(Apart::Unknown { there: 5 }));
        assert_eq!(judge(false, 5, false, 7), Bond::Apart(Apart::Unknown { there: 5 }));
        assert_eq!(judge(false, 0, false, 7), Bond::Apart(Apart::NothingThere { known: 7 }));
        assert_eq!(judge(true, 5, false, 0), Bond::Apart(Apart::DatabaseUnmarked));
        assert_eq!(judge(true, 5, true, 5), Bond::Apart(Apart::DatabaseUnmarked), "an older copy of the database");
    }
}
