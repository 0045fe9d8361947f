//! The pages of registrations: the queue, decisions, and documents, for owners only.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;
use serde::Deserialize;

use super::{Approval, DecisionError, ExpiringDocument, NotedDate, PendingRegistration, Registrations, consent};
use crate::application::App;
use crate::domain::days::day_of;
use crate::files::MediaType;
use crate::person::{OWNERS, Person, Status};
use crate::sites::{Site, Sites, is_price};
use crate::web::form::{FieldErrors, Fields, FormAttempt, Reader, Submitted, submit};
use crate::web::{self, Event, Owner, PageError, Routes, Section, ShownFile, Visitor};
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

/// The field of the document on the page, which the decision is about.
const MARK: &str = "mark";
const RATE: &str = "rate";
const VALID_UNTIL: &str = "valid_until";
/// The field of the date that the owner saw.
const SEEN: &str = "seen";

/// The person about whom this owner has just decided.
#[derive(Debug, Default, Deserialize)]
struct Decided {
    decided: Option<i64>,
}

/// What the owner has just done, for the top of the page.
#[derive(Debug)]
pub struct JustDecided {
    pub person: Person,
    /// The names of the sites where the person works now.
    pub sites: Vec<String>,
}

/// The data of the queue.
#[derive(Debug)]
pub struct Queue {
    pub waiting: Vec<PendingRegistration>,
    pub count: u64,
    /// Sites for a contract.
    pub sites: Vec<Site>,
    pub just_decided: Option<JustDecided>,
    pub notice: Option<String>,
    /// A form that was refused, with what was typed.
    pub attempt: FormAttempt,
    /// Documents of members that are expired or expire soon.
    pub expiring: Vec<ExpiringDocument>,
}

pub fn routes() -> Routes {
    Routes::new()
        .get(QUEUE, show)
        .post("/registrations/{id}/approve", approve)
        .post("/registrations/{id}/reject", reject)
        .get("/documents/{id}", document)
        .post("/documents/{id}/validity", note_validity)
        .get("/documents/{id}/file", file)
}

/// The documents of a person, or that there are none.
pub async fn section(app: &App, viewer: &Person, person: &Person) -> Result<Vec<Section>, PageError> {
    if !viewer.may(OWNERS) {
        return Ok(Vec::new());
    }
    let registrations = Registrations::of_app(app);
    let (documents, today) = tokio::try_join!(registrations.documents_of(person.id), registrations.today())?;
    let consents = consent::of_person(app.domain.read(), person.id).await?;
    let title = text!(viewer.language, "registration-documents");
    let body = html! {
        (view::documents(&documents, today, viewer.language))
        (view::consents(&consents, viewer.language))
    };
    Ok(vec![Section { title, body }])
}

/// Events for open pages when a registration arrives or is decided.
pub fn events() -> [Event; 2] {
    [Event::to_roles(TOPIC, OWNERS), Event::to_roles("people", OWNERS)]
}

/// `GET /registrations`.
async fn show(
    State(app): State<App>,
    Owner(visitor): Owner,
    Query(Decided { decided }): Query<Decided>,
) -> Result<Response, PageError> {
    let just_decided = match decided {
        Some(id) => just_decided(&app, id).await?,
        None => None,
    };
    let shown = Shown { just_decided, ..Shown::default() };
    queue(&app, &visitor, StatusCode::OK, shown).await
}

/// `POST /registrations/<id>/approve`: the decision, and a contract if sites are ticked.
async fn approve(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let approval = match read_approval(&typed) {
        Ok(approval) => approval,
        Err(bad) => {
            let notice = text!(visitor.language(), "web-form-look-again");
            return again(&app, &visitor, StatusCode::UNPROCESSABLE_ENTITY, notice, (typed, bad)).await;
        }
    };
    let mark = typed.get(MARK).cloned().unwrap_or_default();
    let decided = Registrations::of_app(&app).approve_with(visitor.person.id, id, &mark, approval).await;
    answer(&app, &visitor, id, typed, decided).await
}

/// `POST /registrations/<id>/reject`.
async fn reject(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let field = |name: &str| typed.get(name).cloned().unwrap_or_default();
    let decided = Registrations::of_app(&app).reject(visitor.person.id, id, &field(MARK), &field("reason")).await;
    answer(&app, &visitor, id, typed, decided).await
}

/// Reads an approval. Each site has a checkbox named by its id; the commit checks that the sites exist.
fn read_approval(typed: &Fields) -> Result<Approval, FieldErrors> {
    let mut reader = Reader::new(typed);
    let sites = typed.keys().filter_map(|name| name.strip_prefix("site")?.parse().ok()).collect();
    let rate_kopecks = reader.optional_money(RATE);
    let valid_until = reader.optional_day(VALID_UNTIL);
    if !rate_kopecks.is_none_or(is_price) {
        reader.bad.add(RATE, key!("web-form-bad-money"));
    }
    reader.bad.or(Approval { sites, rate_kopecks, valid_until })
}

async fn answer(
    app: &App,
    visitor: &Visitor,
    id: i64,
    typed: Fields,
    decided: Result<(), DecisionError>,
) -> Result<Response, PageError> {
    let language = visitor.language();
    let (status, notice) = match decided {
        Ok(()) => {
            for event in events() {
                app.events.publish(event);
            }
            app.events.publish(Event::to_roles(format!("person:{id}"), OWNERS));
            return Ok(Redirect::to(&format!("{QUEUE}?decided={id}")).into_response());
        }
        Err(DecisionError::NotWaiting(decided)) => {
            (StatusCode::CONFLICT, super::deciding::verdict_text(decided, language))
        }
        Err(DecisionError::Changed) => (StatusCode::CONFLICT, text!(language, "registration-changed")),
        Err(DecisionError::BadReason) => {
            let max_units = super::answers::MAX_REASON_UNITS;
            (StatusCode::UNPROCESSABLE_ENTITY, text!(language, "registration-reason-bad", most = max_units))
        }
        Err(DecisionError::Contract(why)) => (StatusCode::CONFLICT, why.text(language)),
        Err(DecisionError::NotAllowed) => return Err(PageError::Forbidden),
        Err(DecisionError::Failed(error)) => return Err(error.into()),
    };
    again(app, visitor, status, notice, (typed, FieldErrors::default())).await
}

/// The queue after a refusal, with what was typed.
async fn again(
    app: &App,
    visitor: &Visitor,
    status: StatusCode,
    notice: String,
    (typed, bad): (Fields, FieldErrors),
) -> Result<Response, PageError> {
    let mut attempt = FormAttempt::default();
    attempt.bad = bad;
    let attempt = attempt.at(visitor.visit.path(), typed);
    queue(app, visitor, status, Shown { notice: Some(notice), attempt, ..Shown::default() }).await
}

/// What a page shows beside the queue itself.
#[derive(Debug, Default)]
struct Shown {
    just_decided: Option<JustDecided>,
    notice: Option<String>,
    attempt: FormAttempt,
}

async fn queue(app: &App, visitor: &Visitor, status: StatusCode, shown: Shown) -> Result<Response, PageError> {
    let (registrations, sites) = (Registrations::of_app(app), Sites::of_app(app));
    let (waiting, count, sites) =
        tokio::try_join!(registrations.waiting(MAX_SHOWN), registrations.count(), sites.list())?;
    let expiring = registrations.expiring(registrations.today().await?).await?;
    let Shown { just_decided, notice, attempt } = shown;
    let queue = Queue { waiting, count, sites, just_decided, notice, attempt, expiring };
    Ok((status, view::queue(visitor, &queue)).into_response())
}

/// A person who is decided, with the sites of the contracts; none for a person who waits or is gone.
async fn just_decided(app: &App, id: i64) -> Result<Option<JustDecided>, PageError> {
    let person = app.people.by_id(id).await?;
    let Some(person) = person.filter(|person| matches!(person.status, Status::Verified | Status::Rejected)) else {
        return Ok(None);
    };
    let sites = Sites::of_app(app).sites_of_worker(id).await?;
    let sites = sites.into_iter().map(|site| site.about.name).collect();
    Ok(Some(JustDecided { person, sites }))
}

/// `GET /documents/<id>`: a document with its facts.
async fn document(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<String>,
) -> Result<Response, PageError> {
    document_page(&app, &visitor, &id, FormAttempt::default()).await
}

/// `POST /documents/<id>/validity`: until when the document is valid.
async fn note_validity(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<String>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let registrations = Registrations::of_app(&app);
    registrations.document(&id).await?.ok_or(PageError::NotFound)?;
    let read = |typed: &Fields| {
        let mut reader = Reader::new(typed);
        let wanted = reader.optional_day(VALID_UNTIL);
        let seen = typed.get(SEEN).and_then(|day| day_of(day));
        reader.bad.or(NotedDate { document_id: id.clone(), seen, wanted })
    };
    let act = async |noted| registrations.note_validity(&visitor.person, noted).await;
    match submit(&visitor, typed, read, act).await? {
        Submitted::Done(()) => {
            let done = text!(visitor.language(), "registration-validity-saved");
            Ok(visitor.redirect(format!("/documents/{id}")).with_toast(done).into_response())
        }
        Submitted::Refused(attempt) => document_page(&app, &visitor, &id, attempt).await,
    }
}

async fn document_page(app: &App, visitor: &Visitor, id: &str, attempt: FormAttempt) -> Result<Response, PageError> {
    let registrations = Registrations::of_app(app);
    let document = registrations.document(id).await?.ok_or(PageError::NotFound)?;
    let person = app.people.by_id(document.user_id).await?.ok_or(PageError::NotFound)?;
    let (others, today) = tokio::try_join!(registrations.documents_of(person.id), registrations.today())?;
    let others = others.into_iter().filter(|other| other.id != document.id).collect();
    let status = attempt.status();
    let shown = document_view::DocumentPage { document, person, others, today, attempt };
    Ok((status, document_view::page(visitor, &shown)).into_response())
}

/// `GET /documents/<id>/file`: the file itself. No browser and no proxy caches it.
async fn file(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<String>) -> Result<Response, PageError> {
    let document = Registrations::of_app(&app).document(&id).await?.ok_or(PageError::NotFound)?;
    let media_type = MediaType::of_name(&document.media_type);
    web::file(&visitor, ShownFile { name: document.id, media_type, size_bytes: document.size_bytes }, None).await
}
