//! The current questionnaire.
//!
//! It is the owner's file, else the built-in one. Every questionnaire that was ever used is stored in the database, so
//! a file with mistakes changes nothing, even after a restart: the last good one stays. Stored ones never change, so
//! they are cached in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sea_orm::DbErr;

use super::file::{self, Mistakes};
use super::questionnaire::Questionnaire;
use super::{Onboarding, records};
use crate::domain::NotWritten;

/// Questionnaires in memory.
#[derive(Debug, Default)]
pub(super) struct QuestionnaireCache {
    questionnaires: Mutex<HashMap<i64, Arc<Questionnaire>>>,
    /// The last logged mistakes, so that they are logged once.
    complaint: Mutex<String>,
}

/// Why there is no questionnaire.
#[derive(Debug, thiserror::Error)]
pub enum QuestionnaireError {
    #[error(transparent)]
    Database(#[from] DbErr),
    #[error("the questionnaire could not be stored: {0}")]
    NotStored(#[from] NotWritten),
    #[error("the questionnaire cannot be written as JSON: {0}")]
    NotJson(#[from] serde_json::Error),
}

impl Onboarding {
    /// The questionnaire for people who begin now, with its id.
    pub(super) async fn current(&self) -> Result<(i64, Arc<Questionnaire>), QuestionnaireError> {
        let wanted = self.wanted().await;
        let last = self.last().await?;
        let wanted = match (wanted, last) {
            (Some(wanted), Some((id, last))) if wanted == *last => return Ok((id, last)),
            (None, Some(last)) => return Ok(last),
            (Some(wanted), _) => wanted,
            (None, None) => Questionnaire::built_in(),
        };
        let (body, at) = (serde_json::to_string(&wanted)?, self.clock.now());
        self.domain.write(move |db| Box::pin(records::store_questionnaire(db, body, at))).await?;
        let noted = self.last().await?;
        let (id, _) = noted.ok_or_else(|| DbErr::RecordNotFound("the questionnaire that was just stored".into()))?;
        tracing::info!(questionnaire = id, questions = wanted.questions.len(), "new questionnaire in use");
        Ok((id, Arc::new(wanted)))
    }

    /// A questionnaire by its id.
    pub(super) async fn questionnaire(&self, id: i64) -> Result<Arc<Questionnaire>, DbErr> {
        if let Some(known) = self.cache.find(id) {
            return Ok(known);
        }
        self.load([id].into_iter()).await?;
        self.cache.find(id).ok_or_else(|| DbErr::RecordNotFound(format!("questionnaire {id}")))
    }

    /// Loads questionnaires that are not cached yet, in one query.
    pub(super) async fn load(&self, ids: impl Iterator<Item = i64>) -> Result<(), DbErr> {
        let missing: Vec<_> = ids.filter(|id| self.cache.find(*id).is_none()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        for row in records::questionnaires(self.domain.read(), missing).await? {
            self.cache.put(row.id, parsed(&row.body)?);
        }
        Ok(())
    }

    /// The owner's questionnaire; none if the file has mistakes, which are logged once.
    async fn wanted(&self) -> Option<Questionnaire> {
        let read = match tokio::fs::read_to_string(&self.file).await {
            Ok(text) => file::read(&text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Questionnaire::built_in()),
            Err(error) => Err(Mistakes(vec![format!("it cannot be read: {error}")])),
        };
        let complaint = read.as_ref().err().map(ToString::to_string).unwrap_or_default();
        if self.cache.is_new(&complaint) && !complaint.is_empty() {
            let file = self.file.display();
            tracing::warn!(%file, mistakes = complaint, "the questionnaire has mistakes; the last good one stays in use");
        }
        read.ok()
    }

    async fn last(&self) -> Result<Option<(i64, Arc<Questionnaire>)>, DbErr> {
        let Some(row) = records::last_questionnaire(self.domain.read()).await? else { return Ok(None) };
        let last = match self.cache.find(row.id) {
            Some(known) => known,
            None => self.cache.put(row.id, parsed(&row.body)?),
        };
        Ok(Some((row.id, last)))
    }
}

impl QuestionnaireCache {
    fn find(&self, id: i64) -> Option<Arc<Questionnaire>> {
        self.questionnaires.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    fn put(&self, id: i64, questionnaire: Questionnaire) -> Arc<Questionnaire> {
        let questionnaire = Arc::new(questionnaire);
        let mut all = self.questionnaires.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(id).or_insert(questionnaire))
    }

    fn is_new(&self, complaint: &str) -> bool {
        let mut last = self.complaint.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = *last != complaint;
        complaint.clone_into(&mut last);
        is_new
    }
}

fn parsed(body: &str) -> Result<Questionnaire, DbErr> {
    serde_json::from_str(body).map_err(|error| DbErr::Json(error.to_string()))
}
