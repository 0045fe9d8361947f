//! One-time sign-in links that the bot gives for `/cabinet`.
//!
//! A link works once, for five minutes, and replaces the person's earlier one. Opening it only shows whose account it
//! opens: the button there uses it up, so a preview of the link signs nobody in. Limits on PINs do not count here, so a
//! stranger cannot lock a person out.

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
use super::{Opening, view};
use crate::application::App;
use crate::domain::{InTurn, Writing};
use crate::person::{Person, Status};
use crate::text;
use crate::web::oops::Oops;
use crate::web::secrets;
use crate::web::visit::Visit;

const LIFE: Duration = Duration::from_secs(300);

/// The form that uses a link.
#[derive(Deserialize)]
pub struct Used {
    token: String,
}

/// Says a link that signs this person in.
pub fn offer(turn: &mut Turn, app: &App, person: &Person) -> Result<(), BoxError> {
    let token = secrets::token()?;
    let url = format!("{}/sign-in/{token}", app.public_url);
    let words = Say::text(text!(person.language, "web-link-message", url = url.as_str())).no_preview().secret();
    // Telegram refuses buttons that lead to machines without a public name.
    let button = [[Button::url(text!(person.language, "web-link-button"), url)]];
    turn.say(if app.public_url.starts_with("https://") { words.buttons(button) } else { words });
    let user_id = person.id;
    let until = app.clock.now().plus(LIFE);
    turn.write(move |db| Box::pin(async move { keep(db, user_id, &token, until).await }));
    Ok(())
}

/// `GET /sign-in/<token>`: whose account a link opens.
pub async fn show(State(app): State<App>, visit: Visit, Path(token): Path<String>) -> Result<Response, Oops> {
    match owner(&app, &token).await? {
        Some(person) if visit.person().is_some_and(|visitor| visitor.id == person.id) => {
            Ok(Redirect::to("/").into_response())
        }
        Some(person) => Ok(view::confirm(&visit, &person, &token).into_response()),
        None => Ok(over(&visit)),
    }
}

/// `POST /auth/link`.
pub async fn log_in(
    State(app): State<App>,
    visit: Visit,
    headers: HeaderMap,
    Form(used): Form<Used>,
) -> Result<Response, Oops> {
    let Some(person) = owner(&app, &used.token).await? else { return Ok(over(&visit)) };
    let opening = Opening::new(&app, &visit, &headers, &person).await?;
    let (begin, now) = (opening.clone(), app.clock.now());
    let took = app.domain.write_and_get(move |db| {
        Box::pin(async move {
            let is_taken = tokens::take(db, Purpose::Link, &used.token, now).await?;
            if is_taken {
                begin.commit(db).await?;
            }
            Ok(is_taken)
        })
    });
    if !took.await? {
        return Ok(over(&visit));
    }
    Ok(opening.answer(&app, &visit, &person, ""))
}

fn over(visit: &Visit) -> Response {
    let notice = text!(visit.language(), "web-link-over");
    (StatusCode::GONE, view::ask(visit, "", Some(&notice))).into_response()
}

/// The verified person whom a link that is not over signs in.
async fn owner(app: &App, token: &str) -> Result<Option<Person>, DbErr> {
    let Some(user_id) = tokens::owner(app, Purpose::Link, token).await? else { return Ok(None) };
    let person = app.people.by_id(user_id).await?;
    Ok(person.filter(|person| person.status == Status::Verified))
}

/// Keeps a link in place of the person's earlier one.
async fn keep(db: &Writing<'_, '_>, user_id: i64, token: &str, until: Millis) -> Result<(), WriteError> {
    tokens::remove(db, Purpose::Link, user_id, None).await?;
    tokens::keep(db, Purpose::Link, user_id, token, until).await
}
