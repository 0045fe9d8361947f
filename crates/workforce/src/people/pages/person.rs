//! A person's page: personal data, roles, the audit, and sections of rooms.
//!
//! [`OwnerAction`] decides what an owner may do, before the commit and again within it.

use axum::Form;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::future::{BoxFuture, try_join_all};
use maud::Markup;
use opora::store::WriteError;
use serde::Deserialize;

pub use self::view::facts;
use crate::application::App;
use crate::audit;
use crate::domain::{NotWritten, Transaction};
use crate::people::{self, OwnerAction, OwnerActionRefusal, blocking};
use crate::person::{OWNERS, Person, Role, Status};
use crate::rooms::Rooms;
use crate::text;
use crate::web::ui::PageRedirect;
use crate::web::{Event, Owner, PageError, Section, Visitor};

mod block_view;
mod view;

/// Audit lines on a page.
const AUDIT_LINES: u64 = 50;

#[derive(Debug, Deserialize)]
pub struct ForgetForm {
    #[serde(default)]
    sure: String,
}

#[derive(Debug, Deserialize)]
pub struct UnblockForm {
    /// Whether the work that the block gave back is restored.
    restores: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct RoleForm {
    role: Role,
}

/// The data of the page.
struct PersonPage {
    person: Person,
    lines: Vec<audit::Line>,
    names: std::collections::HashMap<i64, String>,
    sections: Vec<Section>,
    /// The id of the person's selfie.
    photo: Option<String>,
    /// Whether people are in Telegram. The demo's people are not, and a link could lead to a stranger.
    is_telegram: bool,
}

impl PersonPage {
    /// The person's chat in Telegram, if the person has a username.
    fn telegram_link(&self) -> Option<String> {
        let name = self.person.username.as_ref().filter(|_| self.is_telegram)?;
        Some(format!("https://t.me/{name}"))
    }
}

/// `GET /people/<id>`.
pub async fn show(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<i64>) -> Result<Markup, PageError> {
    let person = app.people.by_id(id).await?.ok_or(PageError::NotFound)?;
    let lines = audit::latest(&app.domain, ("user", id), AUDIT_LINES).await?;
    let names = app.people.names(lines.iter().filter_map(|line| line.actor)).await?;
    let rooms = app.rooms.iter().map(|room| room.person_sections(&app, &visitor.person, &person));
    let sections = try_join_all(rooms).await?.into_iter().flatten().collect();
    let photo = app.people.photo_of(id).await?;
    let is_telegram = app.bot_link().is_some_and(|link| link.starts_with("https://t.me/"));
    Ok(view::page(&visitor, &PersonPage { person, lines, names, sections, photo, is_telegram }))
}

/// `GET /people/<id>/block`: says what a block does, and asks.
pub async fn ask_to_block(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
) -> Result<Markup, PageError> {
    let person = target(&app, &visitor, id, OwnerAction::Block).await?;
    if person.status == Status::Blocked {
        return Err(PageError::NotPossible);
    }
    let work = blocking::pending_work(&app, id, visitor.language()).await?;
    Ok(block_view::block(&visitor, &person, &work))
}

/// `GET /people/<id>/unblock`: says what can be restored, and asks.
pub async fn ask_to_unblock(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
) -> Result<Markup, PageError> {
    let person = target(&app, &visitor, id, OwnerAction::Unblock).await?;
    if person.status != Status::Blocked {
        return Err(PageError::NotPossible);
    }
    let given_back = blocking::given_back(&app, id, visitor.language()).await?;
    Ok(block_view::unblock(&visitor, &person, &given_back))
}

/// `POST /people/<id>/block`.
pub async fn block(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
) -> Result<PageRedirect, PageError> {
    let (by, at) = (Some(visitor.person.id), app.clock.now());
    let given_back = change(&app, &visitor, id, OwnerAction::Block, move |db, person| {
        Box::pin(async move { blocking::block(db, person.id, by, at).await })
    });
    let Some(count) = given_back.await? else { return Ok(back(&visitor, id)) };
    Rooms::all().iter().for_each(|room| room.after_block(&app, id));
    announce(&app, id);
    let name = name_of(&app, id).await?;
    Ok(back(&visitor, id).with_toast(text!(visitor.language(), "web-block-done", name = name, count = count)))
}

/// `POST /people/<id>/unblock`.
pub async fn unblock(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(UnblockForm { restores }): Form<UnblockForm>,
) -> Result<PageRedirect, PageError> {
    let (by, at, restores) = (Some(visitor.person.id), app.clock.now(), restores.is_some());
    let restored = change(&app, &visitor, id, OwnerAction::Unblock, move |db, person| {
        Box::pin(async move { blocking::unblock(db, &person, restores, by, at).await })
    });
    let Some(count) = restored.await? else { return Ok(back(&visitor, id)) };
    Rooms::all().iter().for_each(|room| room.after_block(&app, id));
    announce(&app, id);
    let name = name_of(&app, id).await?;
    Ok(back(&visitor, id).with_toast(text!(visitor.language(), "web-unblock-done", name = name, count = count)))
}

/// `POST /people/<id>/export`: all personal data as a file. The export is audited, so it is a form and no link.
pub async fn export(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<i64>) -> Result<Response, PageError> {
    let person = target(&app, &visitor, id, OwnerAction::Export).await?;
    let (by, at) = (Some(visitor.person.id), app.clock.now());
    let data = people::export(&app.domain, &app.rooms, &person, by, at).await.map_err(page_error)?;
    let name = format!("attachment; filename=\"person-{id}.json\"");
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CONTENT_DISPOSITION, name.as_str())];
    let body = serde_json::to_string_pretty(&data).map_err(anyhow::Error::from)?;
    Ok((headers, body).into_response())
}

/// `GET /people/<id>/forget`: explains what is deleted and what stays.
pub async fn ask_to_forget(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
) -> Result<Markup, PageError> {
    let person = target(&app, &visitor, id, OwnerAction::Forget).await?;
    Ok(view::forgetting(&visitor, &person))
}

/// `POST /people/<id>/forget`.
pub async fn forget(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(ForgetForm { sure }): Form<ForgetForm>,
) -> Result<PageRedirect, PageError> {
    let person = target(&app, &visitor, id, OwnerAction::Forget).await?;
    if sure != "yes" {
        return Ok(back(&visitor, id));
    }
    let (by, at) = (Some(visitor.person.id), app.clock.now());
    people::forget(&app.domain, &app.rooms, &app.files, &person, by, at).await.map_err(page_error)?;
    people::forgetting::start_now(&app);
    announce(&app, id);
    Ok(back(&visitor, id).with_toast(text!(visitor.language(), "web-forget-done")))
}

/// `POST /people/<id>/roles/grant`.
pub async fn grant(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(RoleForm { role }): Form<RoleForm>,
) -> Result<PageRedirect, PageError> {
    let (by, at) = (Some(visitor.person.id), app.clock.now());
    let is_changed = change(&app, &visitor, id, OwnerAction::Grant(role), move |db, person| {
        Box::pin(people::give_role(db, person.id, role, by, at))
    });
    let back = back(&visitor, id);
    if is_changed.await?.is_none() {
        return Ok(back);
    }
    announce(&app, id);
    Ok(back.with_toast(text!(visitor.language(), "web-person-saved")))
}

/// `POST /people/<id>/roles/revoke`.
pub async fn revoke(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(RoleForm { role }): Form<RoleForm>,
) -> Result<PageRedirect, PageError> {
    let (by, at) = (Some(visitor.person.id), app.clock.now());
    let is_changed = change(&app, &visitor, id, OwnerAction::Revoke(role), move |db, person| {
        Box::pin(people::take_role(db, person.id, role, by, at))
    });
    let back = back(&visitor, id);
    if is_changed.await?.is_none() {
        return Ok(back);
    }
    announce(&app, id);
    Ok(back.with_toast(text!(visitor.language(), "web-person-saved")))
}

/// The person, if the visitor may do this to them now. The commit checks it again.
pub async fn target(app: &App, visitor: &Visitor, id: i64, action: OwnerAction) -> Result<Person, PageError> {
    let person = app.people.by_id(id).await?.ok_or(PageError::NotFound)?;
    match action.check(&visitor.person, &person) {
        Ok(()) => Ok(person),
        Err(OwnerActionRefusal::NotAllowed) => Err(PageError::Forbidden),
        Err(OwnerActionRefusal::NotPossible) => Err(PageError::NotPossible),
    }
}

/// Changes a person in a commit that checks actor and person first; returns none if there was nothing to change.
async fn change<T, F>(
    app: &App,
    visitor: &Visitor,
    id: i64,
    action: OwnerAction,
    run: F,
) -> Result<Option<T>, PageError>
where
    T: Send + 'static,
    F: for<'w> FnOnce(&'w Transaction<'_, '_>, Person) -> BoxFuture<'w, Result<T, WriteError>> + Send + 'static,
{
    target(app, visitor, id, action).await?;
    let actor = visitor.person.id;
    let write = app.domain.write_and_get(move |db| {
        Box::pin(async move {
            let Some(person) = people::lock_and_check(db, action, actor, id).await? else { return Ok(None) };
            run(db, person).await.map(Some)
        })
    });
    Ok(write.await?)
}

/// A refusal of the commit becomes its page; a failure is logged.
fn page_error(error: anyhow::Error) -> PageError {
    error.downcast::<NotWritten>().map_or_else(PageError::from, PageError::from)
}

/// Tells open pages of staff and of the person.
pub fn announce(app: &App, id: i64) {
    app.events.publish(Event::to_roles("people", OWNERS));
    app.events.publish(Event::to_roles(format!("person:{id}"), OWNERS));
    app.events.publish(Event::to_person("me", id));
}

fn back(visitor: &Visitor, id: i64) -> PageRedirect {
    visitor.redirect(format!("/people/{id}"))
}

async fn name_of(app: &App, id: i64) -> Result<String, PageError> {
    Ok(app.people.names([id]).await?.remove(&id).unwrap_or_default())
}
