//! Work outside of turns: files are put into their place, and taken away again.
//!
//! Both may be done again after a crash, with the same result. A file that a document names is never taken away.

use std::path::PathBuf;

use opora::effects::{Asked, EffectError};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, PaginatorTrait, QueryFilter, QuerySelect};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::DocumentKind;
use super::states::Paper;
use super::tables::document;
use crate::application::App;
use crate::domain::Domain;
use crate::failpoints;
use crate::files::{self, Accepts, NotKept, under_way};

/// Puts downloads into their place.
pub const KEEP: &str = "registration:keep";
/// Takes files away that nobody needs.
pub const DISCARD: &str = "registration:discard";

/// What became of the files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "as", rename_all = "snake_case")]
pub enum Kept {
    Stored { documents: Vec<KeptPaper> },
    NotAnImage { kind: DocumentKind },
}

/// A file in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptPaper {
    pub id: String,
    pub kind: DocumentKind,
    pub media_type: String,
    pub size_bytes: i64,
    pub sha256: String,
}

/// Files that nobody needs: kept ones by their names, downloads by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discard {
    pub ids: Vec<String>,
    pub paths: Vec<PathBuf>,
}

impl Discard {
    pub fn of(papers: &[Paper]) -> Self {
        let (ids, paths) = papers.iter().map(|paper| (paper.id.clone(), paper.path.clone())).unzip();
        Self { ids, paths }
    }
}

pub async fn keep(app: App, asked: Asked) -> Result<Value, EffectError> {
    let papers: Vec<Paper> = asked.read()?;
    let kept = keep_now(&app, asked.dialogue.user, &papers).await?;
    Ok(serde_json::to_value(kept)?)
}

pub async fn discard(app: App, asked: Asked) -> Result<Value, EffectError> {
    discard_now(&app, asked.read()?).await.map_err(|error| EffectError::Retry(error.into()))?;
    Ok(Value::Null)
}

/// All of them, or none.
async fn keep_now(app: &App, user: i64, papers: &[Paper]) -> Result<Kept, EffectError> {
    let (ids, at) = (papers.iter().map(|paper| paper.id.clone()).collect(), app.clock.now());
    under_way::begin(&app.domain, ids, at).await?;
    let mut documents = Vec::with_capacity(papers.len());
    for paper in papers {
        match app.files.keep(paper.id.clone(), paper.path.clone(), Accepts::Images).await {
            Ok(kept) => {
                tracing::info!(user, kind = paper.kind.name(), bytes = kept.size_bytes, "registration: a file is kept");
                documents.push(KeptPaper {
                    id: paper.id.clone(),
                    kind: paper.kind,
                    media_type: kept.media_type.name().to_owned(),
                    size_bytes: i64::try_from(kept.size_bytes).unwrap_or(i64::MAX),
                    sha256: kept.sha256,
                });
                failpoints::hit(failpoints::REGISTRATION_AFTER_RENAME).await;
            }
            Err(error) => return give_up(app, user, papers, paper.kind, error).await,
        }
    }
    for paper in papers {
        // What cannot be removed now is old one day, and the cleanup finds it.
        let _ = files::remove(&paper.path).await;
    }
    Ok(Kept::Stored { documents })
}

/// A storage that refuses will go on to: the person is told at once, and tries again later.
async fn give_up(
    app: &App,
    user: i64,
    papers: &[Paper],
    kind: DocumentKind,
    error: NotKept,
) -> Result<Kept, EffectError> {
    if let Err(error) = discard_now(app, Discard::of(papers)).await {
        tracing::warn!(user, error = format!("{error:#}"), "registration: files are left for the cleanup");
    }
    match error {
        NotKept::NotAnImage => Ok(Kept::NotAnImage { kind }),
        NotKept::Storage(error) => {
            tracing::error!(user, kind = kind.name(), %error, "registration: a file could not be kept");
            Err(EffectError::Final(format!("a file could not be kept: {error}")))
        }
    }
}

/// Removes files that no document names, and the notes that they were under way.
pub async fn discard_now(app: &App, left: Discard) -> anyhow::Result<()> {
    for path in left.paths {
        files::remove(&path).await?;
    }
    under_way::discard(app, left.ids).await
}

/// Which of these names are documents.
pub async fn owned(domain: &Domain, names: &[String]) -> Result<Vec<String>, DbErr> {
    let of_these = document::Column::Id.is_in(names.iter().map(String::as_str));
    let found = document::Entity::find().select_only().column(document::Column::Id).filter(of_these);
    found.into_tuple().all(domain.read()).await
}

/// How many documents there are.
pub async fn count(domain: &Domain) -> Result<u64, DbErr> {
    document::Entity::find().count(domain.read()).await
}
