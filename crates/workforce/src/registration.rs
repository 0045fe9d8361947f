//! Registration: a newcomer gives a name, a phone number and documents, and somebody in charge decides.
//!
//! What is given waits in the dialogue for a day. When all of it is there, one step makes a person of it: the files are
//! fetched and kept, and then person and documents are written in one commit. Whatever fails, nothing but the draft
//! remains, and the person may try again. The front doors are [`Registrations`] and [`crate::files::Files`].
//!
//! What becomes of a person afterwards is not here.

use std::time::Duration;

use futures_util::future::BoxFuture;
use opora::bot::Bot;
use opora::clock::Millis;
use opora::dialogue::{Child, Script};
use opora::store::{BoxError, WriteError};
use opora::turn::Turn;
use sea_orm::DbErr;
use serde_json::Value;

pub use self::documents::{Document, DocumentKind, DocumentStatus};
pub use self::draft::{Draft, Picture};
pub use self::registrations::{Decided, NotDecided, Registrations, Waiting};
use self::states::Registration;
use crate::application::App;
use crate::domain::{Domain, Writing};
use crate::key;
use crate::person::{OWNERS, Person, Status};
use crate::rooms::{Job, MenuItem, Room, Welcome};
use crate::web::{Card, NavItem, Oops, Routes, Section};

mod answers;
pub mod cleanup;
pub mod command;
mod deciding;
mod documents;
mod draft;
pub mod keeping;
mod leaving;
mod pages;
mod questions;
mod registrations;
pub mod repair;
mod saving;
mod standing;
mod states;
mod tables;

const CLEANUP_EVERY: Duration = Duration::from_secs(60 * 60);
const NEWS_EVERY: Duration = Duration::from_secs(60);
/// A person waits for the outcome: better to be asked to try again than to hear nothing for a minute.
const ATTEMPTS: u32 = 5;

/// The room.
#[derive(Debug)]
pub struct Registering;

impl Room for Registering {
    fn name(&self) -> &'static str {
        "registration"
    }

    fn dialogues(&self, script: Script) -> Script {
        script.dialogue(states::dialogue()).dialogue(deciding::dialogue())
    }

    fn work(&self, app: &App, bot: Bot) -> Bot {
        let (keeper, discarder) = (app.clone(), app.clone());
        bot.attempts(keeping::KEEP, ATTEMPTS)
            .effect(keeping::KEEP, move |asked| keeping::keep(keeper.clone(), asked))
            .effect(keeping::DISCARD, move |asked| keeping::discard(discarder.clone(), asked))
    }

    fn menu(&self) -> Vec<MenuItem> {
        vec![MenuItem { caption: key!("registration-waiting-button"), data: deciding::WAITING, roles: OWNERS }]
    }

    fn welcome(&self) -> Option<Welcome> {
        Some(welcome)
    }

    fn routes(&self) -> Routes {
        pages::routes()
    }

    fn nav(&self) -> Vec<NavItem> {
        vec![NavItem { caption: pages::CAPTION, path: pages::QUEUE, roles: OWNERS, needs: None }]
    }

    fn standing<'a>(
        &'a self,
        db: &'a Writing<'_, '_>,
        person: &'a Person,
    ) -> BoxFuture<'a, Result<Option<Status>, DbErr>> {
        Box::pin(async move { Ok(Some(standing::standing(db, person).await?)) })
    }

    fn home<'a>(&'a self, app: &'a App, viewer: &'a Person) -> BoxFuture<'a, Result<Vec<Card>, Oops>> {
        Box::pin(pages::count(app, viewer))
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
        Box::pin(leaving::export(domain, person.id))
    }

    fn forget<'a>(
        &'a self,
        db: &'a Writing<'_, '_>,
        person: &'a Person,
        _: Millis,
    ) -> BoxFuture<'a, Result<Vec<String>, WriteError>> {
        Box::pin(leaving::forget(db, person.id))
    }

    fn discard_drafts<'a>(&'a self, app: &'a App, states: &'a [Value]) -> BoxFuture<'a, anyhow::Result<()>> {
        Box::pin(keeping::discard_now(app, leaving::drafts(states)))
    }

    fn owned_files<'a>(&'a self, domain: &'a Domain, names: &'a [String]) -> BoxFuture<'a, Result<Vec<String>, DbErr>> {
        Box::pin(keeping::owned(domain, names))
    }

    fn count_files<'a>(&'a self, domain: &'a Domain) -> BoxFuture<'a, Result<u64, DbErr>> {
        Box::pin(keeping::count(domain))
    }

    fn jobs(&self) -> Vec<Job> {
        vec![
            Job { name: "file-cleanup", every: CLEANUP_EVERY, run: |app| Box::pin(cleanup::hourly(app)) },
            Job { name: registrations::NEWS, every: NEWS_EVERY, run: |app| Box::pin(registrations::tell_all(app)) },
        ]
    }
}

/// Where `/start` leads: into a new registration, or back into one that was begun.
fn welcome(turn: &mut Turn, person: Option<Person>) -> BoxFuture<'_, Result<Option<Child>, BoxError>> {
    Box::pin(async move {
        if person.as_ref().is_some_and(|person| person.status != Status::Rejected) {
            return Ok(None);
        }
        if let Some(draft) = turn.draft::<Registration>().map(Registration::into_draft).filter(Draft::is_begun) {
            return Ok(Some(Child::at(&states::taken_up(draft))));
        }
        if let Some(person) = person {
            deciding::say_why_rejected(turn, &person).await?;
        }
        let username = turn.person().and_then(|person| person.username);
        Ok(Some(Child::at(&Registration::Language { draft: Draft { username, ..Draft::default() } })))
    })
}
