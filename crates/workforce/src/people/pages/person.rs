//! A person's page: what is known, what they may do, what staff did, and what rooms add.
//!
//! What an owner may do to whom is decided by [`Deed`], before the commit and again within it.

use axum::Form;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use futures_util::future::{BoxFuture, try_join_all};
use maud::Markup;
use opora::store::WriteError;
use serde::Deserialize;

pub use self::view::facts;
use crate::application::App;
use crate::audit;
use crate::domain::{NotWritten, Writing};
use crate::people::{self, Deed, Hindrance};
use crate::person::{OWNERS, Person, Role, Status};
use crate::rooms::Rooms;
use crate::web::{Event, Oops, Owner, Section, Visitor};

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
    let (by, at) = (Some(visitor.person.id), app.clock.now());
    let is_changed = change(&app, &visitor, id, Deed::Block, move |db, person| {
        Box::pin(people::set_status(db, person.id, Status::Blocked, by, at))
    });
    if !is_changed.await? {
        return Ok(back(id));
    }
    Rooms::all().iter().for_each(|room| room.after_block(&app, id));
    Ok(changed(&app, id))
}

/// `POST /people/<id>/unblock`.
pub async fn unblock(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<i64>) -> Result<Redirect, Oops> {
    let (by, at) = (Some(visitor.person.id), app.clock.now());
    let is_changed = change(&app, &visitor, id, Deed::Unblock, move |db, person| {
        Box::pin(async move {
            let status = unblocked(db, &person).await?;
            people::set_status(db, person.id, status, by, at).await
        })
    });
    Ok(if is_changed.await? { changed(&app, id) } else { back(id) })
}

/// `POST /people/<id>/export`: everything that is known, as a file. It is noted, so it is a form and no link.
pub async fn export(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<i64>) -> Result<Response, Oops> {
    let person = target(&app, &visitor, id, Deed::Export).await?;
    let (by, at) = (Some(visitor.person.id), app.clock.now());
    let told = people::export(&app.domain, &app.rooms, &person, by, at).await.map_err(refused)?;
    let name = format!("attachment; filename=\"person-{id}.json\"");
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CONTENT_DISPOSITION, name.as_str())];
    let body = serde_json::to_string_pretty(&told).map_err(anyhow::Error::from)?;
    Ok((headers, body).into_response())
}

/// `GET /people/<id>/forget`: what goes and what stays.
pub async fn ask_to_forget(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<i64>) -> Result<Markup, Oops> {
    let person = target(&app, &visitor, id, Deed::Forget).await?;
    Ok(view::forgetting(&visitor, &person))
}

/// `POST /people/<id>/forget`.
pub async fn forget(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(Sure { sure }): Form<Sure>,
) -> Result<Redirect, Oops> {
    let person = target(&app, &visitor, id, Deed::Forget).await?;
    if sure != "yes" {
        return Ok(back(id));
    }
    let (by, at) = (Some(visitor.person.id), app.clock.now());
    people::forget(&app.domain, &app.rooms, &app.files, &person, by, at).await.map_err(refused)?;
    people::forgetting::soon(&app);
    Ok(changed(&app, id))
}

/// `POST /people/<id>/roles/grant`.
pub async fn grant(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(Chosen { role }): Form<Chosen>,
) -> Result<Redirect, Oops> {
    let (by, at) = (Some(visitor.person.id), app.clock.now());
    let is_changed = change(&app, &visitor, id, Deed::Grant(role), move |db, person| {
        Box::pin(people::give_role(db, person.id, role, by, at))
    });
    Ok(if is_changed.await? { changed(&app, id) } else { back(id) })
}

/// `POST /people/<id>/roles/revoke`.
pub async fn revoke(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(Chosen { role }): Form<Chosen>,
) -> Result<Redirect, Oops> {
    let (by, at) = (Some(visitor.person.id), app.clock.now());
    let is_changed = change(&app, &visitor, id, Deed::Revoke(role), move |db, person| {
        Box::pin(people::take_role(db, person.id, role, by, at))
    });
    Ok(if is_changed.await? { changed(&app, id) } else { back(id) })
}

/// The person, if this visitor may do this to them as things stand now. The commit checks it once more.
async fn target(app: &App, visitor: &Visitor, id: i64, deed: Deed) -> Result<Person, Oops> {
    let person = app.people.by_id(id).await?.ok_or(Oops::NotFound)?;
    match deed.check(&visitor.person, &person) {
        Ok(()) => Ok(person),
        Err(Hindrance::NotAllowed) => Err(Oops::Forbidden),
        Err(Hindrance::NotPossible) => Err(Oops::NotPossible),
    }
}

/// Changes a person in a commit that checks actor and person first; answers whether there was something to change.
async fn change<F>(app: &App, visitor: &Visitor, id: i64, deed: Deed, run: F) -> Result<bool, Oops>
where
    F: for<'w> FnOnce(&'w Writing<'_, '_>, Person) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
{
    target(app, visitor, id, deed).await?;
    let actor = visitor.person.id;
    let write = app.domain.write_and_get(move |db| {
        Box::pin(async move {
            let Some(person) = people::hold(db, deed, actor, id).await? else { return Ok(false) };
            run(db, person).await?;
            Ok(true)
        })
    });
    Ok(write.await?)
}

/// Where a person stands without the block, as the room says that let them in.
async fn unblocked(db: &Writing<'_, '_>, person: &Person) -> Result<Status, WriteError> {
    for room in Rooms::all().iter() {
        if let Some(status) = room.standing(db, person).await? {
            return Ok(status);
        }
    }
    Ok(Status::Rejected)
}

/// A refusal of the commit as a page; what failed goes to the log.
fn refused(error: anyhow::Error) -> Oops {
    error.downcast::<NotWritten>().map_or_else(Oops::from, Oops::from)
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
