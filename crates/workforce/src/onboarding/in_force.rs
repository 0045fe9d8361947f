//! Which questionnaire is asked now.
//!
//! It is the owner's file, else the built-in one. Every one that was ever in force is in the database, so a file that has
//! mistakes changes nothing, also over restarts: the last good one stays. What is noted there never changes, so it is kept
//! in memory too.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sea_orm::DbErr;

use super::file::{self, Mistakes};
use super::questionnaire::Questionnaire;
use super::{Onboarding, records};
use crate::domain::NotWritten;

/// What this process knows.
#[derive(Debug, Default)]
pub(super) struct Known {
    questionnaires: Mutex<HashMap<i64, Arc<Questionnaire>>>,
    /// What was last complained about, so that it is told once.
    complaint: Mutex<String>,
}

/// Why there is no questionnaire.
#[derive(Debug, thiserror::Error)]
pub enum NoQuestionnaire {
    #[error(transparent)]
    Database(#[from] DbErr),
    #[error("the questionnaire could not be noted: {0}")]
    NotNoted(#[from] NotWritten),
    #[error("the questionnaire cannot be written as JSON: {0}")]
    NotJson(#[from] serde_json::Error),
}

impl Onboarding {
    /// The questionnaire that whoever begins now is asked, by its number.
    pub(super) async fn in_force(&self) -> Result<(i64, Arc<Questionnaire>), NoQuestionnaire> {
        let wanted = self.wanted().await;
        let last = self.last().await?;
        let wanted = match (wanted, last) {
            (Some(wanted), Some((id, last))) if wanted == *last => return Ok((id, last)),
            (None, Some(last)) => return Ok(last),
            (Some(wanted), _) => wanted,
            (None, None) => Questionnaire::built_in(),
        };
        let (body, at) = (serde_json::to_string(&wanted)?, self.clock.now());
        self.domain.write(move |db| Box::pin(records::note_questionnaire(db, body, at))).await?;
        let noted = self.last().await?;
        let (id, _) = noted.ok_or_else(|| DbErr::RecordNotFound("the questionnaire that was just noted".into()))?;
        tracing::info!(
            questionnaire = id,
            questions = wanted.questions.len(),
            "a questionnaire is in force from now on"
        );
        Ok((id, Arc::new(wanted)))
    }

    /// A questionnaire by its number.
    pub(super) async fn questionnaire(&self, id: i64) -> Result<Arc<Questionnaire>, DbErr> {
        if let Some(known) = self.known.find(id) {
            return Ok(known);
        }
        self.load([id].into_iter()).await?;
        self.known.find(id).ok_or_else(|| DbErr::RecordNotFound(format!("questionnaire {id}")))
    }

    /// Reads those that are not known yet, in one question.
    pub(super) async fn load(&self, ids: impl Iterator<Item = i64>) -> Result<(), DbErr> {
        let missing: Vec<_> = ids.filter(|id| self.known.find(*id).is_none()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        for row in records::questionnaires(self.domain.read(), missing).await? {
            self.known.put(row.id, parsed(&row.body)?);
        }
        Ok(())
    }

    /// What the owner wants; none if nobody can tell because of mistakes, which are told once.
    async fn wanted(&self) -> Option<Questionnaire> {
        let read = match tokio::fs::read_to_string(&self.file).await {
            Ok(text) => file::read(&text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Questionnaire::built_in()),
            Err(error) => Err(Mistakes(vec![format!("it cannot be read: {error}")])),
        };
        let complaint = read.as_ref().err().map(ToString::to_string).unwrap_or_default();
        if self.known.is_new(&complaint) && !complaint.is_empty() {
            let file = self.file.display();
            tracing::warn!(%file, mistakes = complaint, "the questionnaire has mistakes; the last good one stays in force");
        }
        read.ok()
    }

    async fn last(&self) -> Result<Option<(i64, Arc<Questionnaire>)>, DbErr> {
        let Some(row) = records::last_questionnaire(self.domain.read()).await? else { return Ok(None) };
        let last = match self.known.find(row.id) {
            Some(known) => known,
            None => self.known.put(row.id, parsed(&row.body)?),
        };
        Ok(Some((row.id, last)))
    }
}

impl Known {
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
