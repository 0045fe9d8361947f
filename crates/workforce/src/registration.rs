//! Registration: a newcomer gives a name, a phone number and documents, and an owner decides.
//!
//! The answers wait in the dialogue for a day. At the end the files are downloaded and stored, and then person and
//! documents are written in one commit. If anything fails, only the draft remains, and the person may try again. The
//! public functions are [`Registrations`] and [`crate::files::Files`].
//!
//! What happens to a person afterwards is not handled here.

use futures_util::future::BoxFuture;
use opora::bot::Bot;
use opora::clock::Millis;
use opora::dialogue::{Child, Script};
use opora::store::{BoxError, WriteError};
use opora::turn::Turn;
use sea_orm::DbErr;
use serde_json::Value;

pub use self::applicants::{Applicant, add as add_applicant};
pub use self::documents::{Document, DocumentKind, DocumentStatus};
pub use self::draft::{Draft, GivenConsent, Picture};
pub use self::questions::kind_name;
pub use self::registrations::{
    Approval, Decision, DecisionError, PendingRegistration, Registrations, TellDecision, give_contract,
};
use self::states::Registration;
pub use self::validity::{ExpiringDocument, NotedDate, Validity, ValidityRefusal};
use crate::application::App;
use crate::domain::{Domain, Transaction};
use crate::jobs::Jobs;
use crate::key;
use crate::person::{OWNERS, Person, Status};
use crate::rooms::{MenuItem, MenuPart, Room, Welcome};
use crate::web::ui::Icon;
use crate::web::{NavItem, PageError, Routes, Section};

mod announcing;
mod answers;
mod applicants;
pub mod cleanup;
pub mod command;
pub mod consent;
mod contract_dialogue;
mod deciding;
mod documents;
mod draft;
pub mod expiry;
pub mod file_effects;
mod pages;
mod personal_data;
mod questions;
mod registrations;
pub mod repair;
pub mod retention;
mod saving;
mod states;
mod tables;
mod unblocking;
mod validity;

/// Attempts to store the files. The person waits meanwhile, so an early "try again" beats a minute of silence.
const STORE_ATTEMPTS: u32 = 5;

/// The room.
#[derive(Debug)]
pub struct RegistrationRoom;

impl Room for RegistrationRoom {
    fn name(&self) -> &'static str {
        "registration"
    }

    fn dialogues(&self, script: Script) -> Script {
        script.dialogue(states::dialogue()).dialogue(deciding::dialogue())
    }

    fn effects(&self, app: &App, bot: Bot) -> Bot {
        let (keeper, discarder) = (app.clone(), app.clone());
        bot.effect_attempts(file_effects::STORE, STORE_ATTEMPTS)
            .effect(file_effects::STORE, move |request| file_effects::store(keeper.clone(), request))
            .effect(file_effects::DISCARD, move |request| file_effects::discard(discarder.clone(), request))
    }

    fn menu(&self) -> Vec<MenuItem> {
        vec![MenuItem { caption: key!("registration-waiting-button"), data: deciding::WAITING, roles: OWNERS }]
    }

    /// The button counts the registrations that wait.
    fn menu_now<'a>(
        &'a self,
        app: &'a App,
        person: &'a Person,
        _: Millis,
    ) -> BoxFuture<'a, Result<MenuPart, BoxError>> {
        Box::pin(async move {
            let mut part = MenuPart::default();
            for item in self.menu().iter().filter(|item| person.may(item.roles)) {
                let waiting = Registrations::of_app(app).count().await?;
                part.buttons.push(item.button(person.language).counting(waiting));
            }
            Ok(part)
        })
    }

    fn welcome(&self) -> Option<Welcome> {
        Some(welcome)
    }

    fn routes(&self) -> Routes {
        pages::routes()
    }

    fn nav(&self) -> Vec<NavItem> {
        vec![
            NavItem::new(pages::CAPTION, pages::QUEUE, Icon::Inbox, OWNERS)
                .under("/people")
                .with_badge("registrations people"),
        ]
    }

    fn nav_badges<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
    ) -> BoxFuture<'a, Result<Vec<(&'static str, u64)>, DbErr>> {
        Box::pin(async move {
            if !viewer.may(OWNERS) {
                return Ok(Vec::new());
            }
            Ok(vec![(pages::QUEUE, Registrations::of_app(app).count().await?)])
        })
    }

    fn status_after_unblock<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        person: &'a Person,
    ) -> BoxFuture<'a, Result<Option<Status>, DbErr>> {
        Box::pin(async move { Ok(Some(unblocking::status_after_unblock(db, person).await?)) })
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
        Box::pin(personal_data::export(domain, person.id))
    }

    fn forget<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        person: &'a Person,
        _: Millis,
    ) -> BoxFuture<'a, Result<Vec<String>, WriteError>> {
        Box::pin(personal_data::forget(db, person.id))
    }

    fn discard_drafts<'a>(&'a self, app: &'a App, states: &'a [Value]) -> BoxFuture<'a, anyhow::Result<()>> {
        Box::pin(file_effects::discard_now(app, personal_data::drafts(states)))
    }

    fn owned_files<'a>(&'a self, domain: &'a Domain, names: &'a [String]) -> BoxFuture<'a, Result<Vec<String>, DbErr>> {
        Box::pin(file_effects::owned(domain, names))
    }

    fn count_files<'a>(&'a self, domain: &'a Domain) -> BoxFuture<'a, Result<u64, DbErr>> {
        Box::pin(file_effects::count(domain))
    }

    fn jobs(&self, jobs: Jobs) -> Jobs {
        // A start with another database shall be noticed at once.
        jobs.scheduled(cleanup::CleanFiles {}, "0 * * * *", cleanup::hourly)
            .also_at_start()
            .scheduled(expiry::TellExpiring {}, "0 9 * * *", expiry::tell_expiring)
            .scheduled(retention::Retain {}, "0 * * * *", retention::run)
            .worker(announcing::tell_decider)
            .worker(registrations::tell_decision)
    }
}

/// Where `/start` leads: to a new registration, or back to an unfinished one.
fn welcome(turn: &mut Turn, person: Option<Person>) -> BoxFuture<'_, Result<Option<Child>, BoxError>> {
    Box::pin(async move {
        if person.as_ref().is_some_and(|person| person.status != Status::Rejected) {
            return Ok(None);
        }
        if let Some(draft) = turn.draft::<Registration>().map(Registration::into_draft).filter(Draft::is_begun) {
            return Ok(Some(Child::at(&states::resumed(draft))));
        }
        if let Some(person) = person {
            deciding::say_why_rejected(turn, &person).await?;
        }
        let username = turn.person().and_then(|person| person.username);
        Ok(Some(Child::at(&Registration::Language { draft: Draft { username, ..Draft::default() } })))
    })
}
