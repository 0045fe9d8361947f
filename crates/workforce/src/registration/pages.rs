//! The pages of registrations: the queue, decisions, and documents, for owners only.

use axum::Form;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::Markup;
use serde::Deserialize;

use super::{DecisionError, Registrations};
use crate::application::App;
use crate::files::MediaType;
use crate::person::{OWNERS, Person};
use crate::web::{self, Card, Event, Owner, PageError, Routes, Section, ShownFile, Visitor};
use crate::{key, text};

mod document_view;
mod view;

/// Path of the queue.
pub const QUEUE: &str = "/registrations";
/// Topic of the live parts.
const TOPIC: &str = "registrations";
/// Text key of the navigation item.
pub const CAPTION: &str = key!("registration-nav");

/// Maximum on a page: each has pictures, which are loaded one by one.
const MAX_SHOWN: u64 = 20;

/// The document on the page, which the decision is about.
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

/// The count on the front page.
pub async fn count(app: &App, viewer: &Person) -> Result<Vec<Card>, PageError> {
    if !viewer.may(OWNERS) {
        return Ok(Vec::new());
    }
    let number = Registrations::of_app(app).count().await?;
    let label = text!(viewer.language, "registration-card", count = number);
    Ok(vec![Card { label, number, path: QUEUE.to_owned() }])
}

/// The documents of a person, or that there are none.
pub async fn section(app: &App, viewer: &Person, person: &Person) -> Result<Vec<Section>, PageError> {
    if !viewer.may(OWNERS) {
        return Ok(Vec::new());
    }
    let documents = Registrations::of_app(app).documents_of(person.id).await?;
    let title = text!(viewer.language, "registration-documents");
    Ok(vec![Section { title, body: view::documents(&documents, viewer.language) }])
}

/// Events for open pages when a registration arrives or is decided.
pub fn events() -> [Event; 2] {
    [Event::to_roles(TOPIC, OWNERS), Event::to_roles("people", OWNERS)]
}

/// `GET /registrations`.
async fn show(State(app): State<App>, Owner(visitor): Owner) -> Result<Response, PageError> {
    queue(&app, &visitor, StatusCode::OK, None).await
}

/// `POST /registrations/<id>/approve`.
async fn approve(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(Approval { mark }): Form<Approval>,
) -> Result<Response, PageError> {
    let decided = Registrations::of_app(&app).approve(visitor.person.id, id, &mark).await;
    answer(&app, &visitor, id, decided).await
}

/// `POST /registrations/<id>/reject`.
async fn reject(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(Rejection { mark, reason }): Form<Rejection>,
) -> Result<Response, PageError> {
    let decided = Registrations::of_app(&app).reject(visitor.person.id, id, &mark, &reason).await;
    answer(&app, &visitor, id, decided).await
}

async fn answer(
    app: &App,
    visitor: &Visitor,
    id: i64,
    decided: Result<(), DecisionError>,
) -> Result<Response, PageError> {
    let language = visitor.language();
    let (status, notice) = match decided {
        Ok(()) => {
            for event in events() {
                app.events.publish(event);
            }
            app.events.publish(Event::to_roles(format!("person:{id}"), OWNERS));
            return Ok(Redirect::to(QUEUE).into_response());
        }
        Err(DecisionError::NotWaiting(decided)) => {
            (StatusCode::CONFLICT, super::deciding::verdict_text(decided, language))
        }
        Err(DecisionError::Changed) => (StatusCode::CONFLICT, text!(language, "registration-changed")),
        Err(DecisionError::BadReason) => {
            let max_units = super::answers::MAX_REASON_UNITS;
            (StatusCode::UNPROCESSABLE_ENTITY, text!(language, "registration-reason-bad", most = max_units))
        }
        Err(DecisionError::NotAllowed) => return Err(PageError::Forbidden),
        Err(DecisionError::Failed(error)) => return Err(error.into()),
    };
    queue(app, visitor, status, Some(&notice)).await
}

async fn queue(app: &App, visitor: &Visitor, status: StatusCode, notice: Option<&str>) -> Result<Response, PageError> {
    let registrations = Registrations::of_app(app);
    let (waiting, count) = tokio::try_join!(registrations.waiting(MAX_SHOWN), registrations.count())?;
    Ok((status, view::queue(visitor, &waiting, count, notice)).into_response())
}

/// `GET /documents/<id>`: a document with its facts.
async fn document(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<String>) -> Result<Markup, PageError> {
    let registrations = Registrations::of_app(&app);
    let document = registrations.document(&id).await?.ok_or(PageError::NotFound)?;
    let person = app.people.by_id(document.user_id).await?.ok_or(PageError::NotFound)?;
    let others =
        registrations.documents_of(person.id).await?.into_iter().filter(|other| other.id != document.id).collect();
    Ok(document_view::page(&visitor, &document_view::DocumentPage { document, person, others }))
}

/// `GET /documents/<id>/file`: the file itself. No browser and no proxy caches it.
async fn file(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<String>) -> Result<Response, PageError> {
    let document = Registrations::of_app(&app).document(&id).await?.ok_or(PageError::NotFound)?;
    let media_type = MediaType::of_name(&document.media_type);
    web::file(&visitor, ShownFile { name: document.id, media_type, size_bytes: document.size_bytes }, None).await
}
