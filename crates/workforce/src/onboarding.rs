//! Onboarding: a questionnaire with consent, then questions to managers and owners.
//!
//! The public functions are [`Onboarding`]. Every answer is committed with its turn; a dialogue's state only says which
//! question is open. A session keeps the questionnaire that it began with.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use opora::clock::{Clock, Millis};
use opora::dialogue::Script;
use opora::store::WriteError;
use opora::telegram::{Button, Say};
use opora::turn::Turn;
use sea_orm::DbErr;
use serde_json::Value;

pub use self::chat::ChatStates;
use self::current::QuestionnaireCache;
pub use self::dialogue::{OnboardingStates, QuestionPosition};
pub use self::records::Status;
use crate::application::App;
use crate::domain::{Domain, Transaction};
use crate::jobs::{self, Jobs, scheduled_job};
use crate::key;
use crate::person::{OWNERS, Person, QUESTIONED};
use crate::rooms::{MenuItem, Room};
use crate::text;
use crate::texts::Language;
use crate::web::{Event, PageError, Section};

mod chat;
pub mod command;
mod current;
mod dialogue;
pub mod file;
mod messages;
mod pages;
mod personal_data;
pub mod questionnaire;
mod records;
mod tables;

/// Data of the button that begins or continues the questionnaire.
const BEGIN: &str = "onboarding:begin";
/// The owner's questionnaire in the data directory.
const FILE: &str = "questionnaire.toml";

/// The public functions of the room. Clones share their cache.
#[derive(Clone, Debug)]
pub struct Onboarding {
    domain: Domain,
    clock: Clock,
    file: PathBuf,
    cache: Arc<QuestionnaireCache>,
}

/// One session of a person with a questionnaire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub status: Status,
    pub began_at: Millis,
    /// When it was completed or declined.
    pub ended_at: Option<Millis>,
    /// Number of questions.
    pub questions: usize,
    /// In the order of the questions.
    pub answers: Vec<Answer>,
}

/// A question as it was asked, and its answer, in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub question: String,
    /// None if it was skipped.
    pub answer: Option<String>,
    pub answered_at: Millis,
}

#[derive(Debug)]
pub struct OnboardingRoom;

impl Onboarding {
    pub fn new(domain: Domain, clock: Clock, data_dir: &std::path::Path) -> Self {
        Self { domain, clock, file: data_dir.join(FILE), cache: Arc::default() }
    }

    /// All sessions of a person, the newest first, with the questions as they were asked.
    pub async fn answers_of(&self, user_id: i64, language: Language) -> Result<Vec<Session>, DbErr> {
        let sessions = records::sessions(self.domain.read(), user_id).await?;
        let answers = records::answers(self.domain.read(), sessions.iter().map(|session| session.id)).await?;
        self.load(sessions.iter().map(|session| session.questionnaire_id)).await?;
        let mut listed = Vec::with_capacity(sessions.len());
        for session in sessions.into_iter().rev() {
            let questionnaire = self.questionnaire(session.questionnaire_id).await?;
            let of_it: Vec<_> = answers.iter().filter(|answer| answer.session_id == session.id).cloned().collect();
            listed.push(Session {
                status: session.status.parse().map_err(DbErr::Custom)?,
                began_at: Millis(session.began_at),
                ended_at: session.ended_at.map(Millis),
                questions: questionnaire.questions.len(),
                answers: messages::answers_in_words(&questionnaire, &of_it, language),
            });
        }
        Ok(listed)
    }

    /// Offers the questionnaire within a turn; does nothing if it is not for this person.
    pub fn offer(turn: &mut Turn, person: &Person) {
        if let Some((text, button)) = Self::invitation(person) {
            turn.say_to(person.telegram_id, Say::text(text).buttons([[button]]));
        }
    }

    /// The sentence that offers the questionnaire, and its button; none if it is not for this person.
    pub fn invitation(person: &Person) -> Option<(String, Button)> {
        let offer = || (text!(person.language, "onboarding-offer"), begin_button(person.language));
        person.may(QUESTIONED).then(offer)
    }
}

/// Tells open pages of a person about a change, after the commit.
fn tell_pages(turn: &mut Turn, user_id: i64) {
    Event::to_roles(format!("person:{user_id}"), OWNERS).publish_after(turn);
}

/// A button that works at any time.
fn begin_button(language: Language) -> Button {
    Button::raw(text!(language, "onboarding-begin-button"), BEGIN)
}

scheduled_job! { CheckFile = "questionnaire" in jobs::DEFAULT }

async fn check_file(app: App) -> anyhow::Result<()> {
    app.onboarding.current().await?;
    Ok(())
}

impl Room for OnboardingRoom {
    fn name(&self) -> &'static str {
        "onboarding"
    }

    fn dialogues(&self, script: Script) -> Script {
        script.dialogue(dialogue::dialogue()).dialogue(chat::dialogue())
    }

    fn menu(&self) -> Vec<MenuItem> {
        vec![
            MenuItem { caption: key!("onboarding-begin-button"), data: BEGIN, roles: QUESTIONED },
            MenuItem { caption: key!("chat-open-button"), data: chat::OPEN, roles: QUESTIONED },
        ]
    }

    fn person_sections<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
        person: &'a Person,
    ) -> BoxFuture<'a, Result<Vec<Section>, PageError>> {
        Box::pin(pages::section(app, viewer, person))
    }

    fn export<'a>(&'a self, domain: &'a Domain, person: &'a Person) -> BoxFuture<'a, anyhow::Result<Value>> {
        Box::pin(personal_data::export(domain, person))
    }

    fn forget<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        person: &'a Person,
        _: Millis,
    ) -> BoxFuture<'a, Result<Vec<String>, WriteError>> {
        Box::pin(async move {
            personal_data::forget(db, person.id).await?;
            Ok(Vec::new())
        })
    }

    fn jobs(&self, jobs: Jobs) -> Jobs {
        // A good questionnaire must be stored before the file is broken.
        jobs.scheduled(CheckFile {}, "* * * * *", check_file).also_at_start()
    }
}
