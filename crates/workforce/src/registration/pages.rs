//! The pages of registrations: who waits, deciding, and the documents, which nobody else may see.

use axum::Form;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::Markup;
use serde::Deserialize;

use super::{NotDecided, Registrations};
use crate::application::App;
use crate::files::MediaType;
use crate::person::{OWNERS, Person};
use crate::web::{self, Card, Event, Oops, Owner, Routes, Section, ShownFile, Visitor};
use crate::{key, text};

mod document_view;
mod view;

/// Where those are who wait.
pub const QUEUE: &str = "/registrations";
/// What pages that show it are told of.
const TOPIC: &str = "registrations";
/// The key of its place in the navigation.
pub const CAPTION: &str = key!("registration-nav");

/// How many are drawn at once: each has pictures, which are asked for one by one.
const SHOWN_MOST: u64 = 20;

/// What a decision is on: the document that stood on the page.
#[derive(Debug, Deserialize)]
struct Approval {
    #[serde(default)]
    mark: String,
}

#[derive(Debug, Deserialize)]
struct Rejection {
    #[serde(default)]
    mark: String,
    reason: String,
}

pub fn routes() -> Routes {
    Routes::new()
        .get(QUEUE, show)
        .post("/registrations/{id}/approve", approve)
        .post("/registrations/{id}/reject", reject)
        .get("/documents/{id}", document)
        .get("/documents/{id}/file", file)
}

/// What is counted on the front page.
pub async fn count(app: &App, viewer: &Person) -> Result<Vec<Card>, Oops> {
    if !viewer.may(OWNERS) {
        return Ok(Vec::new());
    }
    let number = Registrations::of_app(app).count().await?;
    let label = text!(viewer.language, "registration-card");
    Ok(vec![Card { label, number, path: QUEUE.to_owned() }])
}

/// The documents of a person, or that there are none.
pub async fn section(app: &App, viewer: &Person, person: &Person) -> Result<Vec<Section>, Oops> {
    if !viewer.may(OWNERS) {
        return Ok(Vec::new());
    }
    let documents = Registrations::of_app(app).of(person.id).await?;
    let title = text!(viewer.language, "registration-documents");
    Ok(vec![Section { title, body: view::documents(&documents, viewer.language) }])
}

/// What changes on open pages when somebody comes or is decided on.
pub fn events() -> [Event; 2] {
    [Event::to_roles(TOPIC, OWNERS), Event::to_roles("people", OWNERS)]
}

/// `GET /registrations`.
async fn show(State(app): State<App>, Owner(visitor): Owner) -> Result<Response, Oops> {
    queue(&app, &visitor, StatusCode::OK, None).await
}

/// `POST /registrations/<id>/approve`.
async fn approve(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(Approval { mark }): Form<Approval>,
) -> Result<Response, Oops> {
    let decided = Registrations::of_app(&app).approve(visitor.person.id, id, &mark).await;
    answer(&app, &visitor, id, decided).await
}

/// `POST /registrations/<id>/reject`.
async fn reject(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(Rejection { mark, reason }): Form<Rejection>,
) -> Result<Response, Oops> {
    let decided = Registrations::of_app(&app).reject(visitor.person.id, id, &mark, &reason).await;
    answer(&app, &visitor, id, decided).await
}

async fn answer(app: &App, visitor: &Visitor, id: i64, decided: Result<(), NotDecided>) -> Result<Response, Oops> {
    let language = visitor.language();
    let (status, notice) = match decided {
        Ok(()) => {
            for event in events() {
                app.events.publish(event);
            }
            app.events.publish(Event::to_roles(format!("person:{id}"), OWNERS));
            return Ok(Redirect::to(QUEUE).into_response());
        }
        Err(NotDecided::NotWaiting(decided)) => {
            (StatusCode::CONFLICT, super::deciding::verdict_words(decided, language))
        }
        Err(NotDecided::Changed) => (StatusCode::CONFLICT, text!(language, "registration-changed")),
        Err(NotDecided::BadReason) => {
            let most = super::answers::REASON_UNITS_MOST;
            (StatusCode::UNPROCESSABLE_ENTITY, text!(language, "registration-reason-bad", most = most))
        }
        Err(NotDecided::NotAllowed) => return Err(Oops::Forbidden),
        Err(NotDecided::Failed(error)) => return Err(error.into()),
    };
    queue(app, visitor, status, Some(&notice)).await
}

async fn queue(app: &App, visitor: &Visitor, status: StatusCode, notice: Option<&str>) -> Result<Response, Oops> {
    let registrations = Registrations::of_app(app);
    let (waiting, count) = tokio::try_join!(registrations.waiting(SHOWN_MOST), registrations.count())?;
    Ok((status, view::queue(visitor, &waiting, count, notice)).into_response())
}

/// `GET /documents/<id>`: a document with what is known of it.
async fn document(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<String>) -> Result<Markup, Oops> {
    let registrations = Registrations::of_app(&app);
    let document = registrations.document(&id).await?.ok_or(Oops::NotFound)?;
    let person = app.people.by_id(document.user_id).await?.ok_or(Oops::NotFound)?;
    let others = registrations.of(person.id).await?.into_iter().filter(|other| other.id != document.id).collect();
    Ok(document_view::page(&visitor, &document_view::Shown { document, person, others }))
}

/// `GET /documents/<id>/file`: the file itself. It is kept by no browser and no proxy.
async fn file(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<String>) -> Result<Response, Oops> {
    let document = Registrations::of_app(&app).document(&id).await?.ok_or(Oops::NotFound)?;
    let media_type = MediaType::of_name(&document.media_type);
    web::file(&visitor, ShownFile { name: document.id, media_type, size_bytes: document.size_bytes }, None).await
}
