//! A person's page: what is known, what they may do, what staff did, and what rooms add.
//!
//! Nobody blocks themselves or takes away their own power, so there is always somebody left who can undo it. Only a
//! superadmin makes or touches superadmins.

use axum::Form;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use futures_util::future::try_join_all;
use maud::Markup;
use serde::Deserialize;

pub use self::view::facts;
use super::guards::{Owner, Visitor};
use super::live::Event;
use super::oops::Oops;
use super::{OWNERS, Section};
use crate::application::App;
use crate::audit;
use crate::forgetting;
use crate::people::{self, Person, Role, Status};
use crate::registration;
use crate::shifts::{Happened, Update};

mod view;

/// Lines of the audit that a page shows.
const LINES: u64 = 50;

#[derive(Debug, Deserialize)]
pub struct Sure {
    #[serde(default)]
    sure: String,
}

#[derive(Debug, Deserialize)]
pub struct Chosen {
    role: Role,
}

/// Everything on the page.
struct Shown {
    person: Person,
    lines: Vec<audit::Line>,
    names: std::collections::HashMap<i64, String>,
    sections: Vec<Section>,
}

/// `GET /people/<id>`.
pub async fn show(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<i64>) -> Result<Markup, Oops> {
    let person = app.people.by_id(id).await?.ok_or(Oops::NotFound)?;
    let lines = audit::latest(&app.domain, ("user", id), LINES).await?;
    let names = app.people.names(lines.iter().filter_map(|line| line.actor)).await?;
    let rooms = app.rooms.iter().map(|room| room.about_person(&app, &visitor.person, &person));
    let sections = try_join_all(rooms).await?.into_iter().flatten().collect();
    Ok(view::page(&visitor, &Shown { person, lines, names, sections }))
}

/// `POST /people/<id>/block`.
pub async fn block(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<i64>) -> Result<Redirect, Oops> {
    let person = another(&app, &visitor, id).await?;
    if person.status == Status::Blocked {
        return Ok(back(id));
    }
    set_status(&app, &visitor, id, Status::Blocked).await
}

/// `POST /people/<id>/unblock`.
pub async fn unblock(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<i64>) -> Result<Redirect, Oops> {
    let person = another(&app, &visitor, id).await?;
    if person.status != Status::Blocked {
        return Ok(back(id));
    }
    let (by, at) = (Some(visitor.person.id), app.clock.now());
    let unblock = app.domain.write(move |db| {
        Box::pin(async move {
            let status = registration::standing(db, &person).await?;
            people::set_status(db, id, status, by, at).await
        })
    });
    unblock.await?;
    Ok(changed(&app, id))
}

/// `POST /people/<id>/export`: everything that is known, as a file. It is noted, so it is a form and no link.
pub async fn export(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<i64>) -> Result<Response, Oops> {
    let person = somebody(&app, &visitor, id).await?;
    let (by, at) = (Some(visitor.person.id), app.clock.now());
    let told = people::export(&app.domain, &app.rooms, &person, by, at).await?;
    let name = format!("attachment; filename=\"person-{id}.json\"");
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CONTENT_DISPOSITION, name.as_str())];
    let body = serde_json::to_string_pretty(&told).map_err(anyhow::Error::from)?;
    Ok((headers, body).into_response())
}

/// `GET /people/<id>/forget`: what goes and what stays.
pub async fn ask_to_forget(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<i64>) -> Result<Markup, Oops> {
    let person = another(&app, &visitor, id).await?;
    Ok(view::forgetting(&visitor, &person))
}

/// `POST /people/<id>/forget`.
pub async fn forget(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(Sure { sure }): Form<Sure>,
) -> Result<Redirect, Oops> {
    let person = another(&app, &visitor, id).await?;
    if sure != "yes" {
        return Ok(back(id));
    }
    let (by, at) = (Some(visitor.person.id), app.clock.now());
    people::forget(&app.domain, &app.rooms, &app.files, &person, by, at).await?;
    // Where the bot leads, at once; elsewhere, and after a failure, the instance that leads does it.
    if let Err(error) = forgetting::forget_waiting(&app).await {
        tracing::warn!(user = id, error = format!("{error:#}"), "conversations are not forgotten yet; trying again");
    }
    Ok(changed(&app, id))
}

/// Only a number is left.
fn is_forgotten(person: &Person) -> bool {
    person.telegram_id < 0
}

/// `POST /people/<id>/roles/grant`.
pub async fn grant(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(chosen): Form<Chosen>,
) -> Result<Redirect, Oops> {
    let person = somebody(&app, &visitor, id).await?;
    may_give(&visitor, chosen.role)?;
    if person.roles.has(chosen.role) {
        return Ok(back(id));
    }
    let (by, at) = (Some(visitor.person.id), app.clock.now());
    app.domain.write(move |db| Box::pin(people::give_role(db, id, chosen.role, by, at))).await?;
    Ok(changed(&app, id))
}

/// `POST /people/<id>/roles/revoke`.
pub async fn revoke(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(chosen): Form<Chosen>,
) -> Result<Redirect, Oops> {
    let person = somebody(&app, &visitor, id).await?;
    may_give(&visitor, chosen.role)?;
    if id == visitor.person.id && OWNERS.contains(&chosen.role) {
        return Err(Oops::NotPossible);
    }
    if !person.roles.has(chosen.role) {
        return Ok(back(id));
    }
    let (by, at) = (Some(visitor.person.id), app.clock.now());
    app.domain.write(move |db| Box::pin(people::take_role(db, id, chosen.role, by, at))).await?;
    Ok(changed(&app, id))
}

/// Somebody whom this visitor may change.
async fn somebody(app: &App, visitor: &Visitor, id: i64) -> Result<Person, Oops> {
    let person = app.people.by_id(id).await?.ok_or(Oops::NotFound)?;
    if is_forgotten(&person) {
        return Err(Oops::NotPossible);
    }
    if may_change(visitor, &person) { Ok(person) } else { Err(Oops::Forbidden) }
}

/// The same, and not themselves.
async fn another(app: &App, visitor: &Visitor, id: i64) -> Result<Person, Oops> {
    let person = somebody(app, visitor, id).await?;
    if person.id == visitor.person.id { Err(Oops::NotPossible) } else { Ok(person) }
}

fn may_change(visitor: &Visitor, person: &Person) -> bool {
    !person.roles.has(Role::Superadmin) || visitor.person.may(&[Role::Superadmin])
}

fn may_give(visitor: &Visitor, role: Role) -> Result<(), Oops> {
    let is_superadmin = visitor.person.may(&[Role::Superadmin]);
    if role != Role::Superadmin || is_superadmin { Ok(()) } else { Err(Oops::Forbidden) }
}

async fn set_status(app: &App, visitor: &Visitor, id: i64, status: Status) -> Result<Redirect, Oops> {
    let (by, at) = (Some(visitor.person.id), app.clock.now());
    app.domain.write(move |db| Box::pin(people::set_status(db, id, status, by, at))).await?;
    // Their places are free.
    Update::new(Happened::PlanCancelled, id).publish(app);
    Ok(changed(app, id))
}

/// Tells open pages, those of the person among them.
fn changed(app: &App, id: i64) -> Redirect {
    app.events.publish(Event::to_roles("people", OWNERS));
    app.events.publish(Event::to_roles(format!("person:{id}"), OWNERS));
    app.events.publish(Event::to_person("me", id));
    back(id)
}

fn back(id: i64) -> Redirect {
    Redirect::to(&format!("/people/{id}"))
}
