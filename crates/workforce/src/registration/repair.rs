//! Finds and repairs people who wait without documents.
//!
//! The tables admit no registered person without documents. It can still happen to people who were imported from an
//! older bot, or if files were lost or renamed. A deleted person may register again; a person whom other rooms know is
//! never deleted. With files of another database, or without a storage, nothing is done.

use std::collections::{HashMap, HashSet};
use std::fmt;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::{ActiveModelTrait, ColumnTrait, EntityTrait, QueryFilter, QueryOrder, Set};
use serde_json::Value;

use super::cleanup::CleanupContext;
use super::tables::document;
use super::{Document, DocumentKind, DocumentStatus, RegistrationRoom};
use crate::domain::Transaction;
use crate::files::installation::InstallationStatus;
use crate::files::{FileEntry, generated_name};
use crate::people::{self, People};
use crate::person::{Person, Status};
use crate::rooms::Room;

/// Databases limit the number of bound values in a statement.
const PEOPLE_PER_QUERY: usize = 500;

/// What to do with the people who are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairMode {
    /// Only list them.
    List,
    /// Delete them, so that they may register again.
    Delete,
    /// Link them to files that still exist; people without files stay as they are.
    Relink,
}

/// A person who waits, and what is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenRegistration {
    pub user_id: i64,
    pub telegram_id: i64,
    pub defect: Defect,
    pub outcome: Outcome,
}

/// What is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defect {
    NoDocuments,
    /// Documents without a file.
    Lost(Vec<Document>),
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Listed,
    Deleted,
    /// Other rooms know this person.
    NotDeleted,
    Relinked,
    /// Some files are missing.
    NotRelinked,
}

impl fmt::Display for BrokenRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "person {} (Telegram {}): ", self.user_id, self.telegram_id)?;
        match &self.defect {
            Defect::NoDocuments => f.write_str("no documents")?,
            Defect::Lost(lost) => write!(f, "{} documents without a file", lost.len())?,
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

/// Finds all people who wait without documents, and repairs them.
pub async fn repair(context: &CleanupContext, mode: RepairMode, at: Millis) -> anyhow::Result<Vec<BrokenRegistration>> {
    check_storage(context, mode).await?;
    let files = context.files.all().await?;
    let waiting = People::new(context.domain.clone()).with_status(Status::Pending).await?;
    let mut broken = Vec::new();
    for (person, defect) in find(context, waiting, &files).await? {
        let outcome = match (mode, &defect) {
            (RepairMode::List, _) => Outcome::Listed,
            (RepairMode::Delete, _) if is_known_elsewhere(context, &person).await? => Outcome::NotDeleted,
            (RepairMode::Delete, _) => {
                let id = person.id;
                context.domain.write(move |db| Box::pin(people::delete_pending(db, id, at))).await?;
                Outcome::Deleted
            }
            (RepairMode::Relink, _) if relink(context, &person, &defect, &files, at).await? => Outcome::Relinked,
            (RepairMode::Relink, _) => Outcome::NotRelinked,
        };
        broken.push(BrokenRegistration { user_id: person.id, telegram_id: person.telegram_id, defect, outcome });
    }
    Ok(broken)
}

/// Checks the storage: in a wrong one all files would be missing.
async fn check_storage(context: &CleanupContext, mode: RepairMode) -> anyhow::Result<()> {
    match context.installation().check().await? {
        InstallationStatus::Marked => Ok(()),
        InstallationStatus::Mismatch(mismatch) => Err(mismatch.into()),
        InstallationStatus::Unmarked { .. } if mode == RepairMode::List => Ok(()),
        InstallationStatus::Unmarked { is_empty: true } => anyhow::bail!(
            "there is no storage of files yet: check DATA_DIR and FILES_URL. The first start makes one, and so does \
             `opora cleanup --adopt`. Nothing was changed"
        ),
        InstallationStatus::Unmarked { is_empty: false } => context.installation().adopt().await,
    }
}

/// People without documents, and people whose pending documents have no files.
async fn find(
    context: &CleanupContext,
    waiting: Vec<Person>,
    files: &[FileEntry],
) -> anyhow::Result<Vec<(Person, Defect)>> {
    let mut of_person: HashMap<i64, Vec<Document>> = HashMap::new();
    for people in waiting.chunks(PEOPLE_PER_QUERY) {
        let owned = document::Column::UserId.is_in(people.iter().map(|person| person.id));
        let rows = document::Entity::find().filter(owned).order_by_asc(document::Column::Kind);
        for row in rows.all(context.domain.read()).await? {
            let document = Document::try_from(row)?;
            of_person.entry(document.user_id).or_default().push(document);
        }
    }
    let names: HashSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let mut broken = Vec::new();
    for person in waiting {
        let own = of_person.remove(&person.id).unwrap_or_default();
        let is_without = own.is_empty();
        // Rejected documents need no files.
        let pending: Vec<_> = own.into_iter().filter(|one| one.status == DocumentStatus::Pending).collect();
        let lost: Vec<_> = pending.into_iter().filter(|one| !names.contains(one.id.as_str())).collect();
        let defect = match (is_without, lost.is_empty()) {
            (true, _) => Defect::NoDocuments,
            (_, false) => Defect::Lost(lost),
            _ => continue,
        };
        broken.push((person, defect));
    }
    Ok(broken)
}

/// Whether another room has data of this person (contracts, shifts, pay), which would be deleted, too.
async fn is_known_elsewhere(context: &CleanupContext, person: &Person) -> anyhow::Result<bool> {
    for room in context.rooms.iter().filter(|room| room.name() != RegistrationRoom.name()) {
        if has_content(&room.export(&context.domain, person).await?) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn has_content(part: &Value) -> bool {
    match part {
        Value::Null => false,
        Value::Array(parts) => parts.iter().any(has_content),
        Value::Object(parts) => parts.values().any(has_content),
        _ => true,
    }
}

/// Existing rows get the file with the same content. Without rows, files named by Telegram id and kind are adopted.
async fn relink(
    context: &CleanupContext,
    person: &Person,
    defect: &Defect,
    files: &[FileEntry],
    at: Millis,
) -> anyhow::Result<bool> {
    let lost = match defect {
        Defect::NoDocuments => return adopt(context, person, files, at).await,
        Defect::Lost(lost) => lost,
    };
    let mut found = Vec::new();
    for document in lost {
        let Some(file) = same_content(context, document, files).await? else { return Ok(false) };
        found.push((document.id.clone(), file));
    }
    for (id, file) in found {
        context.files.copy_image(&file.name, id).await?;
    }
    Ok(true)
}

async fn same_content(
    context: &CleanupContext,
    document: &Document,
    files: &[FileEntry],
) -> anyhow::Result<Option<FileEntry>> {
    for file in files {
        if context.files.hash(file.name.clone()).await?.as_deref() == Some(&document.sha256) {
            return Ok(Some(file.clone()));
        }
    }
    Ok(None)
}

/// Makes documents of files that an older bot left: `<telegram id>_<kind>_….jpg`.
async fn adopt(context: &CleanupContext, person: &Person, files: &[FileEntry], at: Millis) -> anyhow::Result<bool> {
    let names: Vec<_> = files.iter().map(|file| file.name.clone()).collect();
    let owned = context.rooms.owned_files(&context.domain, &names).await?;
    let of_kind = |kind: DocumentKind| {
        let start = format!("{}_{}", person.telegram_id, kind.name());
        let has_kind = |name: &str| name.strip_prefix(&start).is_some_and(|rest| rest.starts_with(['_', '.']));
        files.iter().find(|file| has_kind(&file.name) && !owned.contains(&file.name)).map(|file| (kind, file))
    };
    let main = [DocumentKind::Passport, DocumentKind::DrivingLicence].into_iter().find_map(of_kind);
    let (Some(main), Some(selfie)) = (main, of_kind(DocumentKind::Selfie)) else { return Ok(false) };
    let (mut rows, mut adopted) = (Vec::new(), Vec::new());
    for (kind, file) in [main, selfie] {
        let id = generated_name()?;
        let copied = context.files.copy_image(&file.name, id.clone()).await?;
        rows.push(document::ActiveModel {
            id: Set(id),
            user_id: Set(Some(person.id)),
            kind: Set(kind.name().to_owned()),
            media_type: Set(copied.media_type.name().to_owned()),
            size_bytes: Set(i64::try_from(copied.size_bytes)?),
            sha256: Set(copied.sha256),
            status: Set("pending".to_owned()),
            reason: Set(None),
            telegram_file: Set(None),
            is_photo: Set(false),
            valid_until: Set(None),
            expiry_told_days: Set(None),
            created_at: Set(at.0),
        });
        adopted.push(file.name.clone());
    }
    let user_id = person.id;
    context.domain.write(move |db| Box::pin(write(db, user_id, rows, at))).await?;
    context.files.remove(adopted).await?;
    Ok(true)
}

async fn write(
    db: &Transaction<'_, '_>,
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
