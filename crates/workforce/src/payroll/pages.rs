//! The pages of pay: a month of everybody, a person's month, and the files that leave the product.
//!
//! Owners see and change everything; everybody else sees their own and changes nothing.

use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Form, Router};
use chrono::NaiveDate;
use maud::Markup;
use serde::Deserialize;

use super::{EARNERS, Money, NotDone, Period, Why, export};
use crate::application::App;
use crate::people::Person;
use crate::text;
use crate::web::{Event, OWNERS, Oops, Owner, Section, SignedIn, Visitor};

pub use self::sheet::months;

mod person;
mod sheet;

/// Everybody's month.
pub const PAYROLL: &str = "/payroll";
/// One's own.
pub const OWN: &str = "/earnings";
/// What pages that show pay are told of.
pub const TOPIC: &str = "payroll";

/// Which month somebody looks at.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wanted {
    period: String,
    /// Counted from one.
    page: u64,
}

#[derive(Debug, Deserialize)]
struct NewAmount {
    period: Period,
    kind: String,
    amount: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
struct Edited {
    period: Period,
    user: i64,
    version: i64,
    #[serde(default)]
    amount: String,
    #[serde(default)]
    reason: String,
}

#[derive(Debug, Deserialize)]
struct PaidForm {
    period: Period,
    version: i64,
    amount: String,
    /// It is meant to be more than is due.
    #[serde(default)]
    is_advance: String,
}

#[derive(Debug, Deserialize)]
struct Place {
    period: Period,
    #[serde(default)]
    user: i64,
}

/// What was tried and did not go, with what was typed: nothing that somebody wrote is lost.
#[derive(Clone, Debug, Default)]
pub struct Attempt {
    /// The row that it was about; none for a new one.
    id: Option<i64>,
    amount: String,
    reason: String,
    /// What was to be marked as paid.
    paying: Option<String>,
    why: Option<Why>,
}

pub fn routes() -> Router<App> {
    Router::new()
        .route(PAYROLL, get(show))
        .route("/payroll/close", post(close))
        .route("/payroll/export.csv", get(csv))
        .route("/payroll/export.xlsx", get(xlsx))
        .route("/payroll/people/{id}", get(show_person))
        .route("/payroll/people/{id}/amounts", post(add))
        .route("/payroll/people/{id}/paid", post(pay))
        .route("/payroll/amounts/{id}/change", post(change))
        .route("/payroll/amounts/{id}/remove", post(remove))
        .route("/payroll/amounts/{id}/restore", post(restore))
        .route("/payroll/payments/{id}/take-back", post(take_back))
        .route(OWN, get(show_own))
}

/// The front page of whoever earns something here: their own month.
pub async fn own_month(app: &App, viewer: &Person) -> Result<Vec<Section>, Oops> {
    if !viewer.may(EARNERS) {
        return Ok(Vec::new());
    }
    month(app, viewer, viewer.id, OWN).await
}

/// A person's month, on their page.
pub async fn month_of(app: &App, viewer: &Person, person: &Person) -> Result<Vec<Section>, Oops> {
    if !viewer.may(OWNERS) {
        return Ok(Vec::new());
    }
    month(app, viewer, person.id, &format!("{PAYROLL}/people/{}", person.id)).await
}

async fn month(app: &App, viewer: &Person, user_id: i64, path: &str) -> Result<Vec<Section>, Oops> {
    let (language, period) = (viewer.language, Period::of(app.payroll.today().await?));
    let entry = app.payroll.entry_of(user_id, period).await?;
    let title = format!("{}: {}", text!(language, "payroll-nav"), period.shown(language));
    Ok(vec![Section { title, body: sheet::month(entry.as_ref(), path, language) }])
}

/// `GET /payroll`.
async fn show(State(app): State<App>, Owner(visitor): Owner, Query(wanted): Query<Wanted>) -> Result<Response, Oops> {
    let (period, current) = chosen(&app, &wanted.period).await?;
    sheet_page(&app, &visitor, period, current, wanted.page, None).await
}

/// `POST /payroll/close`.
async fn close(State(app): State<App>, Owner(visitor): Owner, Form(place): Form<Place>) -> Result<Response, Oops> {
    let period = place.period;
    match app.payroll.close_period(visitor.person.id, period).await {
        Ok(()) => {
            tell(&app);
            Ok(Redirect::to(&format!("{PAYROLL}?period={period}")).into_response())
        }
        Err(NotDone::Refused(why)) => {
            let current = Period::of(app.payroll.today().await?);
            sheet_page(&app, &visitor, period, current, 1, Some(why)).await
        }
        Err(NotDone::Failed(error)) => Err(error.into()),
    }
}

/// `GET /payroll/export.csv`.
async fn csv(State(app): State<App>, Owner(visitor): Owner, Query(wanted): Query<Wanted>) -> Result<Response, Oops> {
    let (period, _) = chosen(&app, &wanted.period).await?;
    let sheet = app.payroll.all_of_period(period).await?;
    Ok(file(period, "csv", export::CSV_TYPE, export::csv(&sheet, visitor.language()).into_bytes()))
}

/// `GET /payroll/export.xlsx`.
async fn xlsx(State(app): State<App>, Owner(visitor): Owner, Query(wanted): Query<Wanted>) -> Result<Response, Oops> {
    let (period, _) = chosen(&app, &wanted.period).await?;
    let (sheet, language) = (app.payroll.all_of_period(period).await?, visitor.language());
    // Thousands of rows are made small meanwhile: nobody waits for that on the runtime.
    let written = tokio::task::spawn_blocking(move || export::xlsx(&sheet, language)).await;
    let bytes = written.map_err(anyhow::Error::from)?.map_err(anyhow::Error::from)?;
    Ok(file(period, "xlsx", export::XLSX_TYPE, bytes))
}

/// `GET /payroll/people/<id>`: for owners, and for the person.
async fn show_person(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Oops> {
    if id != visitor.person.id && !visitor.person.may(OWNERS) {
        return Err(Oops::Forbidden);
    }
    let (period, _) = chosen(&app, &wanted.period).await?;
    person_page(&app, &visitor, id, period, Attempt::default()).await
}

/// `GET /earnings`.
async fn show_own(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Oops> {
    let (period, _) = chosen(&app, &wanted.period).await?;
    person_page(&app, &visitor, visitor.person.id, period, Attempt::default()).await
}

/// `POST /payroll/people/<id>/amounts`.
async fn add(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(new): Form<NewAmount>,
) -> Result<Response, Oops> {
    let attempt = Attempt { amount: new.amount.clone(), reason: new.reason.clone(), ..Attempt::default() };
    // The choice says which it is; a minus that was typed as well makes no bonus of a deduction.
    let amount = match (new.amount.parse::<Money>(), new.kind.as_str()) {
        (Ok(amount), "deduction") => Some(amount.taken_away()),
        (Ok(amount), "bonus") if !amount.is_negative() => Some(amount),
        _ => None,
    };
    let done = match amount {
        Some(amount) => {
            let day = day_in(&app, new.period).await?;
            app.payroll.add_manual(visitor.person.id, id, day, amount, &new.reason).await
        }
        None => Err(Why::BadAmount.into()),
    };
    answer(&app, &visitor, id, new.period, attempt, done).await
}

/// `POST /payroll/amounts/<id>/change`.
async fn change(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(edited): Form<Edited>,
) -> Result<Response, Oops> {
    let done = match edited.amount.parse::<Money>() {
        Ok(amount) => app.payroll.change(visitor.person.id, id, edited.version, amount, &edited.reason).await,
        Err(_) => Err(Why::BadAmount.into()),
    };
    let attempt = Attempt { id: Some(id), amount: edited.amount, reason: edited.reason, ..Attempt::default() };
    answer(&app, &visitor, edited.user, edited.period, attempt, done).await
}

/// `POST /payroll/amounts/<id>/remove`.
async fn remove(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(edited): Form<Edited>,
) -> Result<Response, Oops> {
    let done = app.payroll.remove(visitor.person.id, id, edited.version, &edited.reason).await;
    answer(&app, &visitor, edited.user, edited.period, Attempt::default(), done).await
}

/// `POST /payroll/amounts/<id>/restore`.
async fn restore(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(place): Form<Place>,
) -> Result<Response, Oops> {
    let done = app.payroll.restore(visitor.person.id, id).await;
    answer(&app, &visitor, place.user, place.period, Attempt::default(), done).await
}

/// `POST /payroll/people/<id>/paid`.
async fn pay(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(paid): Form<PaidForm>,
) -> Result<Response, Oops> {
    let done = match paid.amount.parse::<Money>() {
        Ok(amount) => {
            let is_advance = !paid.is_advance.is_empty();
            app.payroll.mark_paid(visitor.person.id, paid.period, id, amount, paid.version, is_advance).await
        }
        Err(_) => Err(Why::BadAmount.into()),
    };
    let attempt = Attempt { paying: Some(paid.amount), ..Attempt::default() };
    answer(&app, &visitor, id, paid.period, attempt, done).await
}

/// `POST /payroll/payments/<id>/take-back`.
async fn take_back(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(place): Form<Place>,
) -> Result<Response, Oops> {
    let done = app.payroll.take_back(visitor.person.id, id).await;
    answer(&app, &visitor, place.user, place.period, Attempt::default(), done).await
}

/// Back to the person's month; what was refused is told there, beside what was typed.
async fn answer(
    app: &App,
    visitor: &Visitor,
    user_id: i64,
    period: Period,
    attempt: Attempt,
    done: Result<(), NotDone>,
) -> Result<Response, Oops> {
    match done {
        Ok(()) => {
            tell(app);
            app.events.publish(Event::to_person(TOPIC, user_id));
            Ok(Redirect::to(&format!("/payroll/people/{user_id}?period={period}")).into_response())
        }
        Err(NotDone::Refused(why)) => {
            person_page(app, visitor, user_id, period, Attempt { why: Some(why), ..attempt }).await
        }
        Err(NotDone::Failed(error)) => Err(error.into()),
    }
}

async fn sheet_page(
    app: &App,
    visitor: &Visitor,
    period: Period,
    current: Period,
    page: u64,
    why: Option<Why>,
) -> Result<Response, Oops> {
    let number = page.max(1);
    let sheet = app.payroll.of_period(period, number - 1).await?;
    let drawn = sheet::page(visitor, &sheet, current, number, why);
    Ok((status(why), drawn).into_response())
}

async fn person_page(
    app: &App,
    visitor: &Visitor,
    id: i64,
    period: Period,
    attempt: Attempt,
) -> Result<Response, Oops> {
    let person = if id == visitor.person.id { Some(visitor.person.clone()) } else { app.people.by_id(id).await? };
    let person: Person = person.ok_or(Oops::NotFound)?;
    let earnings = app.payroll.of_person(id, period).await?;
    let authors = earnings.changes.iter().map(|change| change.by).chain(earnings.payments.iter().map(|paid| paid.by));
    let names = app.people.names(authors.collect::<std::collections::BTreeSet<_>>()).await?;
    let why = attempt.why;
    let drawn: Markup = person::page(visitor, &person, &earnings, &names, &attempt);
    Ok((status(why), drawn).into_response())
}

fn status(why: Option<Why>) -> StatusCode {
    match why {
        None => StatusCode::OK,
        Some(Why::Stale | Why::Closed | Why::Gone | Why::NotOver | Why::MoreThanDue) => StatusCode::CONFLICT,
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

/// The month that is asked for, else that of today; and that of today.
async fn chosen(app: &App, wanted: &str) -> Result<(Period, Period), Oops> {
    let current = Period::of(app.payroll.today().await?);
    if wanted.is_empty() {
        return Ok((current, current));
    }
    Ok((wanted.parse().map_err(|_| Oops::NotFound)?, current))
}

/// The day in a month on which something is written today.
async fn day_in(app: &App, period: Period) -> Result<NaiveDate, Oops> {
    Ok(app.payroll.today().await?.clamp(period.first_day(), period.last_day()))
}

fn tell(app: &App) {
    app.events.publish(Event::to_roles(TOPIC, OWNERS));
}

fn file(period: Period, ending: &str, kind: &'static str, bytes: Vec<u8>) -> Response {
    let name = format!("attachment; filename=\"payroll-{period}.{ending}\"");
    ([(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, name)], bytes).into_response()
}
