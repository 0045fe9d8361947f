//! People who wait without documents: found, and mended.
//!
//! The tables let nobody in who came by registration and has none. What can still happen: people of an older bot, who
//! were brought along, and files that were lost or renamed beside their rows. Somebody who is deleted may register again.

use std::fmt;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::{ActiveModelTrait, ColumnTrait, EntityTrait, QueryFilter, QueryOrder, Set};

use super::cleanup::Grounds;
use super::tables::document;
use super::{Document, DocumentKind};
use crate::domain::Writing;
use crate::files::{Found, generated_name};
use crate::people::{self, People, Person, Status};

/// What to do with those who are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mend {
    /// Nothing: only say who they are.
    List,
    /// Forget them: they may register again.
    Delete,
    /// Give them the files that are still there; who has none stays as they are.
    Relink,
}

/// Somebody who waits, and what is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub user_id: i64,
    pub telegram_id: i64,
    /// Rows without a file; if there are none, there are no rows either.
    pub lost: Vec<Document>,
    pub outcome: Outcome,
}

/// What became of somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Listed,
    Deleted,
    Relinked,
    /// Not all files are there.
    NotRelinked,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "person {} (Telegram {}): ", self.user_id, self.telegram_id)?;
        match self.lost.len() {
            0 => f.write_str("no documents")?,
            count => write!(f, "{count} documents without a file")?,
        }
        f.write_str(match self.outcome {
            Outcome::Listed => "",
            Outcome::Deleted => "; deleted",
            Outcome::Relinked => "; files relinked",
            Outcome::NotRelinked => "; no files that fit",
        })
    }
}

/// Finds everybody who waits without documents, and mends what is to be mended.
pub async fn repair(grounds: &Grounds, mend: Mend, at: Millis) -> anyhow::Result<Vec<Broken>> {
    let files = grounds.files.all().await?;
    let waiting = People::new(grounds.domain.clone()).with_status(Status::Pending).await?;
    let mut broken = Vec::new();
    for (person, lost) in find(grounds, waiting, &files).await? {
        let outcome = match mend {
            Mend::List => Outcome::Listed,
            Mend::Delete => {
                let id = person.id;
                grounds.domain.write(move |db| Box::pin(people::delete_waiting(db, id, at))).await?;
                Outcome::Deleted
            }
            Mend::Relink if relink(grounds, &person, &lost, &files, at).await? => Outcome::Relinked,
            Mend::Relink => Outcome::NotRelinked,
        };
        broken.push(Broken { user_id: person.id, telegram_id: person.telegram_id, lost, outcome });
    }
    Ok(broken)
}

/// Those who have no documents, and those whose documents have no files.
async fn find(
    grounds: &Grounds,
    waiting: Vec<Person>,
    files: &[Found],
) -> anyhow::Result<Vec<(Person, Vec<Document>)>> {
    let pending = document::Entity::find().filter(document::Column::Status.eq("pending"));
    let owned = pending.filter(document::Column::UserId.is_not_null()).order_by_asc(document::Column::Kind);
    let rows = owned.all(grounds.domain.read()).await?;
    let mut broken = Vec::new();
    for person in waiting {
        let own: Vec<_> = rows.iter().filter(|row| row.user_id == Some(person.id)).collect();
        let is_without = own.is_empty();
        let lost = own.into_iter().filter(|row| files.iter().all(|file| file.name != row.id)).cloned();
        let lost: Vec<_> = lost.map(Document::try_from).collect::<Result<_, _>>()?;
        if is_without || !lost.is_empty() {
            broken.push((person, lost));
        }
    }
    Ok(broken)
}

/// Rows get the file with the same content; who has no rows, files that bear the account's number and a kind.
async fn relink(
    grounds: &Grounds,
    person: &Person,
    lost: &[Document],
    files: &[Found],
    at: Millis,
) -> anyhow::Result<bool> {
    if lost.is_empty() {
        return adopt(grounds, person, files, at).await;
    }
    let mut found = Vec::new();
    for document in lost {
        let Some(file) = same_content(grounds, document, files).await? else { return Ok(false) };
        found.push((document.id.clone(), file));
    }
    for (id, file) in found {
        grounds.files.copy_image(&file.name, id).await?;
    }
    Ok(true)
}

async fn same_content(grounds: &Grounds, document: &Document, files: &[Found]) -> anyhow::Result<Option<Found>> {
    for file in files {
        if grounds.files.hash(file.name.clone()).await?.as_deref() == Some(&document.sha256) {
            return Ok(Some(file.clone()));
        }
    }
    Ok(None)
}

/// Makes documents of files that an older bot left: `<telegram id>_<kind>_….jpg`.
async fn adopt(grounds: &Grounds, person: &Person, files: &[Found], at: Millis) -> anyhow::Result<bool> {
    let names: Vec<_> = files.iter().map(|file| file.name.clone()).collect();
    let owned = grounds.rooms.owned_files(&grounds.domain, &names).await?;
    let of_kind = |kind: DocumentKind| {
        let start = format!("{}_{}", person.telegram_id, kind.name());
        let is_it = |name: &str| name.strip_prefix(&start).is_some_and(|rest| rest.starts_with(['_', '.']));
        files.iter().find(|file| is_it(&file.name) && !owned.contains(&file.name)).map(|file| (kind, file))
    };
    let main = [DocumentKind::Passport, DocumentKind::DrivingLicence].into_iter().find_map(of_kind);
    let (Some(main), Some(selfie)) = (main, of_kind(DocumentKind::Selfie)) else { return Ok(false) };
    let (mut rows, mut adopted) = (Vec::new(), Vec::new());
    for (kind, file) in [main, selfie] {
        let id = generated_name()?;
        let kept = grounds.files.copy_image(&file.name, id.clone()).await?;
        rows.push(document::ActiveModel {
            id: Set(id),
            user_id: Set(Some(person.id)),
            kind: Set(kind.name().to_owned()),
            media_type: Set(kept.media_type.name().to_owned()),
            size_bytes: Set(i64::try_from(kept.size_bytes)?),
            sha256: Set(kept.sha256),
            status: Set("pending".to_owned()),
            reason: Set(None),
            telegram_file: Set(None),
            is_photo: Set(false),
            created_at: Set(at.0),
        });
        adopted.push(file.name.clone());
    }
    let user_id = person.id;
    grounds.domain.write(move |db| Box::pin(write(db, user_id, rows, at))).await?;
    grounds.files.remove(adopted).await?;
    Ok(true)
}

async fn write(
    db: &Writing<'_, '_>,
    user_id: i64,
    rows: Vec<document::ActiveModel>,
    at: Millis,
) -> Result<(), WriteError> {
    let mut ids = Vec::with_capacity(rows.len());
    for row in rows {
        ids.push(row.insert(db).await?.id);
    }
    let [main, selfie] = ids.try_into().map_err(|_| opora::store::Refusal::because("two documents are needed"))?;
    people::set_documents(db, user_id, main, selfie, at).await
}
