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
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ActiveModelTrait, ColumnTrait, DbErr, EntityTrait, QueryFilter, Set};
use serde::Deserialize;

use super::{Opening, view};
use crate::application::App;
use crate::domain::{InTurn, Writing};
use crate::people::{Person, Status};
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
    let words = Say::text(text!(person.language, "web-link-message", url = url.as_str())).no_preview();
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
            // The deletion decides between two browsers that use the link at once.
            let is_taken = take(db, &used.token, now).await?;
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
    let valid = table::Column::ExpiresAt.gt(app.clock.now().0);
    let row = table::Entity::find_by_id(hash(token)).filter(valid).one(app.domain.read()).await?;
    let Some(row) = row else { return Ok(None) };
    let person = app.people.by_id(row.user_id).await?;
    Ok(person.filter(|person| person.status == Status::Verified))
}

/// Keeps a link in place of the person's earlier one.
async fn keep(db: &Writing<'_, '_>, user_id: i64, token: &str, until: Millis) -> Result<(), WriteError> {
    forget(db, user_id).await?;
    let row = table::ActiveModel { token_hash: Set(hash(token)), user_id: Set(user_id), expires_at: Set(until.0) };
    row.insert(db).await?;
    Ok(())
}

/// Uses a link up; false if it is over.
async fn take(db: &Writing<'_, '_>, token: &str, now: Millis) -> Result<bool, WriteError> {
    let valid = table::Column::TokenHash.eq(hash(token)).and(table::Column::ExpiresAt.gt(now.0));
    let deleted = table::Entity::delete_many().filter(valid).exec(db).await?;
    Ok(deleted.rows_affected > 0)
}

/// Removes a person's link.
pub async fn forget(db: &Writing<'_, '_>, user_id: i64) -> Result<(), WriteError> {
    table::Entity::delete_many().filter(table::Column::UserId.eq(user_id)).exec(db).await?;
    Ok(())
}

/// Removes what is over.
pub async fn forget_expired(db: &Writing<'_, '_>, now: Millis) -> Result<(), WriteError> {
    table::Entity::delete_many().filter(table::Column::ExpiresAt.lte(now.0)).exec(db).await?;
    Ok(())
}

fn hash(token: &str) -> String {
    secrets::hash(&["sign-in link", token])
}

mod table {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "sign_in_links")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub token_hash: String,
        pub user_id: i64,
        pub expires_at: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
