//! One-time sign-in links that the bot sends for `/cabinet`.
//!
//! A link works once, for five minutes, and replaces the person's earlier one. Opening it only shows whose account it
//! opens; the button there uses it, so a link preview signs no one in. Limits of PINs do not apply, so a stranger
//! cannot lock a person out.

use std::time::Duration;

use axum::Form;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use opora::clock::Millis;
use opora::prelude::{BoxError, Button, Say, Turn};
use opora::store::WriteError;
use sea_orm::DbErr;
use serde::Deserialize;

use super::tokens::{self, Purpose};
use super::{NewSession, view};
use crate::application::App;
use crate::domain::{Transaction, WriteInTurn};
use crate::person::{Person, Status};
use crate::text;
use crate::web::page_error::PageError;
use crate::web::secrets;
use crate::web::visit::Visit;

const TTL: Duration = Duration::from_secs(300);

/// The form that uses a link.
#[derive(Deserialize)]
pub struct LinkForm {
    token: String,
}

/// Sends a link that signs this person in.
pub fn offer(turn: &mut Turn, app: &App, person: &Person) -> Result<(), BoxError> {
    let token = secrets::token()?;
    let url = format!("{}/sign-in/{token}", app.public_url);
    let message = Say::text(text!(person.language, "web-link-message", url = url.as_str())).no_preview().secret();
    // Telegram refuses buttons with links to hosts without a public name.
    let button = [[Button::url(text!(person.language, "web-link-button"), url)]];
    turn.say(if app.public_url.starts_with("https://") { message.buttons(button) } else { message });
    let user_id = person.id;
    let until = app.clock.now().plus(TTL);
    turn.write(move |db| Box::pin(async move { store(db, user_id, &token, until).await }));
    Ok(())
}

/// `GET /sign-in/<token>`: whose account a link opens.
pub async fn show(State(app): State<App>, visit: Visit, Path(token): Path<String>) -> Result<Response, PageError> {
    match owner(&app, &token).await? {
        Some(person) if visit.person().is_some_and(|visitor| visitor.id == person.id) => {
            Ok(Redirect::to("/").into_response())
        }
        Some(person) => Ok(view::confirm(&visit, &person, &token).into_response()),
        None => Ok(expired(&visit)),
    }
}

/// `POST /auth/link`.
pub async fn log_in(
    State(app): State<App>,
    visit: Visit,
    headers: HeaderMap,
    Form(used): Form<LinkForm>,
) -> Result<Response, PageError> {
    let Some(person) = owner(&app, &used.token).await? else { return Ok(expired(&visit)) };
    let new_session = NewSession::new(&app, &visit, &headers, &person).await?;
    let (begin, now) = (new_session.clone(), app.clock.now());
    let write = app.domain.write_and_get(move |db| {
        Box::pin(async move {
            let is_taken = tokens::consume(db, Purpose::Link, &used.token, now).await?;
            if is_taken {
                begin.commit(db).await?;
            }
            Ok(is_taken)
        })
    });
    if !write.await? {
        return Ok(expired(&visit));
    }
    Ok(new_session.answer(&app, &visit, &person, ""))
}

fn expired(visit: &Visit) -> Response {
    let notice = text!(visit.language(), "web-link-over");
    (StatusCode::GONE, view::ask(visit, "", Some(&notice))).into_response()
}

/// The verified person of a valid link.
async fn owner(app: &App, token: &str) -> Result<Option<Person>, DbErr> {
    let Some(user_id) = tokens::owner(app, Purpose::Link, token).await? else { return Ok(None) };
    let person = app.people.by_id(user_id).await?;
    Ok(person.filter(|person| person.status == Status::Verified))
}

/// Stores a link in place of the person's earlier one.
async fn store(db: &Transaction<'_, '_>, user_id: i64, token: &str, until: Millis) -> Result<(), WriteError> {
    tokens::remove(db, Purpose::Link, user_id, None).await?;
    tokens::store(db, Purpose::Link, user_id, token, until).await
}
