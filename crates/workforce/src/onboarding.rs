//! Onboarding: a questionnaire with consent, then questions to whoever is in charge.
//!
//! The front door is [`Onboarding`]. Every answer is in the database with the turn that took it; a dialogue's state only
//! says where its person is. A session keeps the questionnaire that it began with.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use opora::clock::{Clock, Millis};
use opora::dialogue::Script;
use opora::store::WriteError;
use opora::telegram::{Button, Say};
use opora::turn::Turn;
use sea_orm::DbErr;
use serde_json::Value;

pub use self::chat::ChatStates;
pub use self::dialogue::{OnboardingStates, Place};
use self::in_force::Known;
pub use self::records::Status;
use crate::application::App;
use crate::domain::{Domain, Writing};
use crate::key;
use crate::person::{OWNERS, Person, QUESTIONED};
use crate::rooms::{Job, MenuItem, Room};
use crate::text;
use crate::texts::Language;
use crate::web::{Event, Oops, Section};

mod asking;
mod chat;
pub mod command;
mod dialogue;
pub mod file;
mod in_force;
mod leaving;
mod pages;
pub mod questionnaire;
mod records;
mod tables;

/// The data of the button that begins the questionnaire, or goes on with it.
const BEGIN: &str = "onboarding:begin";
/// The owner's own questionnaire in the data directory.
const FILE: &str = "questionnaire.toml";
/// How soon a changed file is looked at, if nobody begins before.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// The front door. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Onboarding {
    domain: Domain,
    clock: Clock,
    file: PathBuf,
    known: Arc<Known>,
}

/// A person's way through a questionnaire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub status: Status,
    pub began_at: Millis,
    /// When it was completed or declined.
    pub ended_at: Option<Millis>,
    /// How many questions there are.
    pub questions: usize,
    /// In the order of the questions.
    pub answers: Vec<Answer>,
}

/// A question as it was asked, and its answer, in a language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub question: String,
    /// None if it was skipped.
    pub answer: Option<String>,
    pub answered_at: Millis,
}

/// The room, for the register.
#[derive(Debug)]
pub struct OnboardingRoom;

impl Onboarding {
    pub fn new(domain: Domain, clock: Clock, data_dir: &std::path::Path) -> Self {
        Self { domain, clock, file: data_dir.join(FILE), known: Arc::default() }
    }

    /// All sessions of a person, the newest first, with the questions as they were asked.
    pub async fn answers_of(&self, user_id: i64, language: Language) -> Result<Vec<Session>, DbErr> {
        let sessions = records::sessions(self.domain.read(), user_id).await?;
        let answers = records::answers(self.domain.read(), sessions.iter().map(|session| session.id)).await?;
        self.load(sessions.iter().map(|session| session.questionnaire_id)).await?;
        let mut told = Vec::with_capacity(sessions.len());
        for session in sessions.into_iter().rev() {
            let questionnaire = self.questionnaire(session.questionnaire_id).await?;
            let of_it: Vec<_> = answers.iter().filter(|answer| answer.session_id == session.id).cloned().collect();
            told.push(Session {
                status: session.status.parse().map_err(DbErr::Custom)?,
                began_at: Millis(session.began_at),
                ended_at: session.ended_at.map(Millis),
                questions: questionnaire.questions.len(),
                answers: asking::told(&questionnaire, &of_it, language),
            });
        }
        Ok(told)
    }

    /// Offers the questionnaire to somebody within a turn, as after an approval; nothing if it is not for this person.
    pub fn offer(turn: &mut Turn, person: &Person) {
        if let Some(invitation) = Self::invitation(person) {
            turn.say_to(person.telegram_id, invitation);
        }
    }

    /// The words and the button of an offer, where there is no turn to make it; none if it is not for this person.
    pub fn invitation(person: &Person) -> Option<Say> {
        let (words, button) = (text!(person.language, "onboarding-offer"), begin_button(person.language));
        person.may(QUESTIONED).then(|| Say::text(words).buttons([[button]]))
    }
}

/// Tells open pages of a person that there is something new once the turn has committed.
fn tell_pages(turn: &mut Turn, user_id: i64) {
    Event::to_roles(format!("person:{user_id}"), OWNERS).after(turn);
}

/// It works whenever it is pressed.
fn begin_button(language: Language) -> Button {
    Button::raw(text!(language, "onboarding-begin-button"), BEGIN)
}

async fn look(app: App) -> anyhow::Result<()> {
    app.onboarding.in_force().await?;
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

    fn about_person<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
        person: &'a Person,
    ) -> BoxFuture<'a, Result<Vec<Section>, Oops>> {
        Box::pin(pages::section(app, viewer, person))
    }

    fn export<'a>(&'a self, domain: &'a Domain, person: &'a Person) -> BoxFuture<'a, anyhow::Result<Value>> {
        Box::pin(leaving::export(domain, person))
    }

    fn forget<'a>(
        &'a self,
        db: &'a Writing<'_, '_>,
        person: &'a Person,
        _: Millis,
    ) -> BoxFuture<'a, Result<Vec<String>, WriteError>> {
        Box::pin(async move {
            leaving::forget(db, person.id).await?;
            Ok(Vec::new())
        })
    }

    fn jobs(&self) -> Vec<Job> {
        // What was good once must be noted before it is broken.
        vec![Job { name: "questionnaire", every: LOOK_EVERY, run: |app| Box::pin(look(app)) }]
    }
}
