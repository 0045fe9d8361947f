//! Effects that store and discard files of registrations.
//!
//! Both may be repeated after a crash, with the same result. A file that a document refers to is never removed.

use std::path::PathBuf;

use opora::effects::{EffectError, EffectRequest};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, PaginatorTrait, QueryFilter, QuerySelect};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::DocumentKind;
use super::states::DocumentFile;
use super::tables::document;
use crate::application::App;
use crate::domain::Domain;
use crate::failpoints;
use crate::files::{self, Accepts, StoreFileError, pending_files};

/// Effect: stores downloaded files.
pub const STORE: &str = "registration:keep";
/// Effect: removes files that are not needed.
pub const DISCARD: &str = "registration:discard";

/// The outcome of storing the files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "as", rename_all = "snake_case")]
pub enum StoreOutcome {
    Stored { documents: Vec<StoredDocument> },
    NotAnImage { kind: DocumentKind },
}

/// A stored file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredDocument {
    pub id: String,
    pub kind: DocumentKind,
    pub media_type: String,
    pub size_bytes: i64,
    pub sha256: String,
}

/// Files that are not needed: stored ones by name, downloads by path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discard {
    pub ids: Vec<String>,
    pub paths: Vec<PathBuf>,
}

impl Discard {
    pub fn new(files: &[DocumentFile]) -> Self {
        let (ids, paths) = files.iter().map(|file| (file.id.clone(), file.path.clone())).unzip();
        Self { ids, paths }
    }
}

pub async fn store(app: App, request: EffectRequest) -> Result<Value, EffectError> {
    let files: Vec<DocumentFile> = request.read()?;
    let stored = store_now(&app, request.conversation.user, &files).await?;
    Ok(serde_json::to_value(stored)?)
}

pub async fn discard(app: App, request: EffectRequest) -> Result<Value, EffectError> {
    discard_now(&app, request.read()?).await.map_err(|error| EffectError::Retry(error.into()))?;
    Ok(Value::Null)
}

/// Stores all of them, or none.
pub(super) async fn store_now(app: &App, user: i64, downloads: &[DocumentFile]) -> Result<StoreOutcome, EffectError> {
    let (ids, at) = (downloads.iter().map(|file| file.id.clone()).collect(), app.clock.now());
    pending_files::register(&app.domain, ids, at).await?;
    let mut documents = Vec::with_capacity(downloads.len());
    for file in downloads {
        match app.files.store(file.id.clone(), file.path.clone(), Accepts::Images).await {
            Ok(stored) => {
                tracing::info!(user, kind = file.kind.name(), bytes = stored.size_bytes, "registration: file stored");
                documents.push(StoredDocument {
                    id: file.id.clone(),
                    kind: file.kind,
                    media_type: stored.media_type.name().to_owned(),
                    size_bytes: i64::try_from(stored.size_bytes).unwrap_or(i64::MAX),
                    sha256: stored.sha256,
                });
                failpoints::hit(failpoints::REGISTRATION_AFTER_RENAME).await;
            }
            Err(error) => return give_up(app, user, downloads, file.kind, error).await,
        }
    }
    for file in downloads {
        // If it cannot be removed now, the cleanup finds it later.
        let _ = files::remove(&file.path).await;
    }
    Ok(StoreOutcome::Stored { documents })
}

/// Gives up at once, because a storage that refuses will go on refusing. The person is told and tries again later.
async fn give_up(
    app: &App,
    user: i64,
    downloads: &[DocumentFile],
    kind: DocumentKind,
    error: StoreFileError,
) -> Result<StoreOutcome, EffectError> {
    if let Err(error) = discard_now(app, Discard::new(downloads)).await {
        tracing::warn!(user, error = format!("{error:#}"), "registration: files are left for the cleanup");
    }
    match error {
        StoreFileError::NotAnImage => Ok(StoreOutcome::NotAnImage { kind }),
        StoreFileError::Storage(error) => {
            tracing::error!(user, kind = kind.name(), %error, "registration: a file could not be stored");
            Err(EffectError::Final(format!("a file could not be stored: {error}")))
        }
    }
}

/// Removes files without a document, and their registrations as pending.
pub async fn discard_now(app: &App, discarded: Discard) -> anyhow::Result<()> {
    for path in discarded.paths {
        files::remove(&path).await?;
    }
    pending_files::discard(app, discarded.ids).await
}

/// Which of these names are documents.
pub async fn owned(domain: &Domain, names: &[String]) -> Result<Vec<String>, DbErr> {
    let of_these = document::Column::Id.is_in(names.iter().map(String::as_str));
    let found = document::Entity::find().select_only().column(document::Column::Id).filter(of_these);
    found.into_tuple().all(domain.read()).await
}

/// Number of documents.
pub async fn count(domain: &Domain) -> Result<u64, DbErr> {
    document::Entity::find().count(domain.read()).await
}
