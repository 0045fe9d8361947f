//! People who wait without documents: found, and mended.
//!
//! The tables let nobody in who came by registration and has none. What can still happen: people of an older bot, who
//! were brought along, and files that were lost or renamed beside their rows. Somebody who is deleted may register again;
//! whom other rooms know is never deleted. With files of another database, or without any storage, nothing is done.

use std::collections::{HashMap, HashSet};
use std::fmt;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::{ActiveModelTrait, ColumnTrait, EntityTrait, QueryFilter, QueryOrder, Set};
use serde_json::Value;

use super::cleanup::Grounds;
use super::tables::document;
use super::{Document, DocumentKind, DocumentStatus, Registering};
use crate::domain::Writing;
use crate::files::installation::Bond;
use crate::files::{Found, generated_name};
use crate::people::{self, People};
use crate::person::{Person, Status};
use crate::rooms::Room;

/// Databases take only so many values at once.
const AT_ONCE: usize = 500;

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
    pub fault: Fault,
    pub outcome: Outcome,
}

/// What is wrong with somebody who waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    NoDocuments,
    /// Documents without a file.
    Lost(Vec<Document>),
}

/// What became of somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Listed,
    Deleted,
    /// There is more of this person than a registration.
    NotDeleted,
    Relinked,
    /// Not all files are there.
    NotRelinked,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "person {} (Telegram {}): ", self.user_id, self.telegram_id)?;
        match &self.fault {
            Fault::NoDocuments => f.write_str("no documents")?,
            Fault::Lost(lost) => write!(f, "{} documents without a file", lost.len())?,
        }
        f.write_str(match self.outcome {
            Outcome::Listed => "",
            Outcome::Deleted => "; deleted",
            Outcome::NotDeleted => "; not deleted",
            Outcome::Relinked => "; files relinked",
            Outcome::NotRelinked => "; no files that fit",
        })
    }
}

/// Finds everybody who waits without documents, and mends what is to be mended.
pub async fn repair(grounds: &Grounds, mend: Mend, at: Millis) -> anyhow::Result<Vec<Broken>> {
    look_at_storage(grounds, mend).await?;
    let files = grounds.files.all().await?;
    let waiting = People::new(grounds.domain.clone()).with_status(Status::Pending).await?;
    let mut broken = Vec::new();
    for (person, fault) in find(grounds, waiting, &files).await? {
        let outcome = match (mend, &fault) {
            (Mend::List, _) => Outcome::Listed,
            (Mend::Delete, _) if is_known_elsewhere(grounds, &person).await? => Outcome::NotDeleted,
            (Mend::Delete, _) => {
                let id = person.id;
                grounds.domain.write(move |db| Box::pin(people::delete_waiting(db, id, at))).await?;
                Outcome::Deleted
            }
            (Mend::Relink, _) if relink(grounds, &person, &fault, &files, at).await? => Outcome::Relinked,
            (Mend::Relink, _) => Outcome::NotRelinked,
        };
        broken.push(Broken { user_id: person.id, telegram_id: person.telegram_id, fault, outcome });
    }
    Ok(broken)
}

/// In a wrong storage everybody's files would be missing.
async fn look_at_storage(grounds: &Grounds, mend: Mend) -> anyhow::Result<()> {
    match grounds.installation().look().await? {
        Bond::Marked => Ok(()),
        Bond::Apart(why) => Err(why.into()),
        Bond::Unmarked { .. } if mend == Mend::List => Ok(()),
        Bond::Unmarked { is_empty: true } => anyhow::bail!(
            "there is no storage of files yet: look at DATA_DIR and FILES_URL. The first start makes one, and so does \
             `opora cleanup --adopt`. Nothing was changed"
        ),
        Bond::Unmarked { is_empty: false } => grounds.installation().adopt().await,
    }
}

/// Those who have no documents, those whose documents have no files, and those whose documents do not wait.
async fn find(grounds: &Grounds, waiting: Vec<Person>, files: &[Found]) -> anyhow::Result<Vec<(Person, Fault)>> {
    let mut of_person: HashMap<i64, Vec<Document>> = HashMap::new();
    for people in waiting.chunks(AT_ONCE) {
        let owned = document::Column::UserId.is_in(people.iter().map(|person| person.id));
        let rows = document::Entity::find().filter(owned).order_by_asc(document::Column::Kind);
        for row in rows.all(grounds.domain.read()).await? {
            let document = Document::try_from(row)?;
            of_person.entry(document.user_id).or_default().push(document);
        }
    }
    let names: HashSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let mut broken = Vec::new();
    for person in waiting {
        let own = of_person.remove(&person.id).unwrap_or_default();
        let is_without = own.is_empty();
        // Of those that were rejected earlier nothing is needed.
        let pending: Vec<_> = own.into_iter().filter(|one| one.status == DocumentStatus::Pending).collect();
        let lost: Vec<_> = pending.into_iter().filter(|one| !names.contains(one.id.as_str())).collect();
        let fault = match (is_without, lost.is_empty()) {
            (true, _) => Fault::NoDocuments,
            (_, false) => Fault::Lost(lost),
            _ => continue,
        };
        broken.push((person, fault));
    }
    Ok(broken)
}

/// Whether any other room has something of this person: contracts, shifts, pay. That would go with the person.
async fn is_known_elsewhere(grounds: &Grounds, person: &Person) -> anyhow::Result<bool> {
    for room in grounds.rooms.iter().filter(|room| room.name() != Registering.name()) {
        if says_something(&room.export(&grounds.domain, person).await?) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn says_something(part: &Value) -> bool {
    match part {
        Value::Null => false,
        Value::Array(parts) => parts.iter().any(says_something),
        Value::Object(parts) => parts.values().any(says_something),
        _ => true,
    }
}

/// Rows get the file with the same content; who has no rows, files that bear the account's number and a kind.
async fn relink(
    grounds: &Grounds,
    person: &Person,
    fault: &Fault,
    files: &[Found],
    at: Millis,
) -> anyhow::Result<bool> {
    let lost = match fault {
        Fault::NoDocuments => return adopt(grounds, person, files, at).await,
        Fault::Lost(lost) => lost,
    };
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
