//! The pages of pay: a month of all people, a person's month, and exports.
//!
//! Owners see and change everything. Managers see what was earned at sites where they have the permission for finances.
//! All people see their own pay. Only owners change it.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use chrono::NaiveDate;
use serde::Deserialize;

use super::timesheet::Timesheet;
use super::{ActionError, AdjustmentCursor, Money, PayrollMonth, PayrollRefusal, SeenMonth, export};
use crate::application::App;
use crate::notices;
use crate::payroll::Unsettled;
use crate::person::{EARNERS, OWNERS, Person};
use crate::text;
use crate::web::form::{Fields, FormAttempt, form_key, submit, version_only};
use crate::web::{Event, Owner, PageError, PageNumber, Routes, Section, SignedIn, Visitor};

use self::access::{PayAccess, ids};
pub use self::sheet::months;

mod access;
mod person;
mod sheet;

/// The month of all people.
pub const PAYROLL: &str = "/payroll";
/// The visitor's own pay.
pub const OWN: &str = "/earnings";
/// The topic of pages that show pay.
pub const TOPIC: &str = "payroll";

/// The field for the kind of an amount, and its values.
const KIND: &str = "kind";
const BONUS: &str = "bonus";
const DEDUCTION: &str = "deduction";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MonthQuery {
    period: String,
    page: PageNumber,
    /// The cursor of a page of adjustments.
    after: String,
}

impl MonthQuery {
    fn after(&self) -> Result<Option<AdjustmentCursor>, PageError> {
        if self.after.is_empty() { Ok(None) } else { self.after.parse().map(Some).map_err(|_| PageError::NotFound) }
    }
}

pub fn routes() -> Routes {
    Routes::new()
        .get(PAYROLL, show)
        .post("/payroll/close", close)
        .get("/payroll/export.csv", csv)
        .get("/payroll/export.xlsx", xlsx)
        .get("/payroll/timesheet.csv", timesheet_csv)
        .get("/payroll/timesheet.xlsx", timesheet_xlsx)
        .get("/payroll/people/{id}", show_person)
        .post("/payroll/people/{id}/amounts", add)
        .post("/payroll/people/{id}/paid", pay)
        .post("/payroll/amounts/{id}/change", change)
        .post("/payroll/amounts/{id}/remove", remove)
        .post("/payroll/amounts/{id}/restore", restore)
        .post("/payroll/payments/{id}/take-back", take_back)
        .get(OWN, show_own)
}

/// The visitor's own month, for the home page.
pub async fn own_month(app: &App, viewer: &Person) -> Result<Vec<Section>, PageError> {
    if !viewer.may(EARNERS) {
        return Ok(Vec::new());
    }
    month(app, viewer, viewer.id, OWN).await
}

/// A person's month, for the person's page.
pub async fn month_of(app: &App, viewer: &Person, person: &Person) -> Result<Vec<Section>, PageError> {
    if !viewer.may(OWNERS) {
        return Ok(Vec::new());
    }
    month(app, viewer, person.id, &format!("{PAYROLL}/people/{}", person.id)).await
}

async fn month(app: &App, viewer: &Person, user_id: i64, path: &str) -> Result<Vec<Section>, PageError> {
    let (language, period) = (viewer.language, PayrollMonth::containing(app.payroll.today().await?));
    let entry = app.payroll.entry_of(user_id, period).await?;
    let title = format!("{}: {}", text!(language, "payroll-nav"), period.shown(language));
    Ok(vec![Section { title, body: sheet::month(entry.as_ref(), path, language) }])
}

/// `GET /payroll`: everything for owners; for managers what was earned at their sites.
async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(query): Query<MonthQuery>,
) -> Result<Response, PageError> {
    let access = PayAccess::for_person(&app, &visitor.person).await?;
    let (period, current) = selected_month(&app, &query.period).await?;
    sheet_page(&app, &visitor, &access, (period, current), query.page, FormAttempt::default()).await
}

/// `POST /payroll/close`.
async fn close(
    State(app): State<App>,
    Owner(visitor): Owner,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (period, seen_month) = (period_of(&typed)?, seen_of(&typed)?);
    let act = async |_| app.payroll.close_period_as_seen(visitor.person.id, period, seen_month).await;
    match submit(&visitor, typed, version_only, act).await? {
        Ok(()) => {
            publish_change(&app);
            Ok(Redirect::to(&format!("{PAYROLL}?period={period}")).into_response())
        }
        Err(attempt) => {
            let (current, path) =
                (PayrollMonth::containing(app.payroll.today().await?), visitor.visit.path().to_owned());
            let attempt = attempt.at(path, Fields::new());
            sheet_page(&app, &visitor, &PayAccess::All, (period, current), PageNumber::FIRST, attempt).await
        }
    }
}

/// `GET /payroll/export.csv`.
async fn csv(
    State(app): State<App>,
    Owner(visitor): Owner,
    Query(query): Query<MonthQuery>,
) -> Result<Response, PageError> {
    let (period, _) = selected_month(&app, &query.period).await?;
    let sheet = app.payroll.all_of_period(period).await?;
    Ok(file(period, "csv", export::CSV_TYPE, export::csv(&sheet, visitor.language()).into_bytes()))
}

/// `GET /payroll/export.xlsx`.
async fn xlsx(
    State(app): State<App>,
    Owner(visitor): Owner,
    Query(query): Query<MonthQuery>,
) -> Result<Response, PageError> {
    let (period, _) = selected_month(&app, &query.period).await?;
    let (sheet, language) = (app.payroll.all_of_period(period).await?, visitor.language());
    // Compressing thousands of rows would block the runtime.
    let written = tokio::task::spawn_blocking(move || export::xlsx(&sheet, language)).await;
    let bytes = written.map_err(anyhow::Error::from)?.map_err(anyhow::Error::from)?;
    Ok(file(period, "xlsx", export::XLSX_TYPE, bytes))
}

/// `GET /payroll/timesheet.csv`: hours by day and site; for managers at their sites.
async fn timesheet_csv(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(query): Query<MonthQuery>,
) -> Result<Response, PageError> {
    let timesheet = timesheet(&app, &visitor, &query).await?;
    let bytes = timesheet.csv(visitor.language()).into_bytes();
    Ok(named_file("timesheet", timesheet.period, "csv", export::CSV_TYPE, bytes))
}

/// `GET /payroll/timesheet.xlsx`.
async fn timesheet_xlsx(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(query): Query<MonthQuery>,
) -> Result<Response, PageError> {
    let (timesheet, language) = (timesheet(&app, &visitor, &query).await?, visitor.language());
    let period = timesheet.period;
    // Compressing thousands of rows would block the runtime.
    let written = tokio::task::spawn_blocking(move || timesheet.xlsx(language)).await;
    let bytes = written.map_err(anyhow::Error::from)?.map_err(anyhow::Error::from)?;
    Ok(named_file("timesheet", period, "xlsx", export::XLSX_TYPE, bytes))
}

async fn timesheet(app: &App, visitor: &Visitor, query: &MonthQuery) -> Result<Timesheet, PageError> {
    let access = PayAccess::for_person(app, &visitor.person).await?;
    let (period, _) = selected_month(app, &query.period).await?;
    let sites = match &access {
        PayAccess::All => None,
        PayAccess::Sites(sites) => Some(ids(sites)),
    };
    Ok(Timesheet::of_month(app, period, sites.as_deref()).await?)
}

/// `GET /payroll/people/<id>`: for owners and for the person; for managers what was earned at their sites.
async fn show_person(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Query(query): Query<MonthQuery>,
) -> Result<Response, PageError> {
    let months = selected_month(&app, &query.period).await?;
    person_page(&app, &visitor, id, months, query.after()?, FormAttempt::default()).await
}

/// `GET /earnings`.
async fn show_own(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(query): Query<MonthQuery>,
) -> Result<Response, PageError> {
    let months = selected_month(&app, &query.period).await?;
    person_page(&app, &visitor, visitor.person.id, months, query.after()?, FormAttempt::default()).await
}

/// `POST /payroll/people/<id>/amounts`.
async fn add(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (by, reason, day) = (visitor.person.id, field(&typed, "reason"), posting_day(&app, period_of(&typed)?).await?);
    let (amount, once) = (signed_amount_of(&typed), form_key(&visitor, &typed));
    let act = async |_| app.payroll.add_manual_once(by, id, day, amount?, &reason, once).await;
    change_month_of(&app, &visitor, id, typed, act).await
}

/// `POST /payroll/amounts/<id>/change`.
async fn change(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (by, reason, amount) = (visitor.person.id, field(&typed, "reason"), signed_amount_of(&typed));
    let act = async |version| app.payroll.change(by, id, version, amount?, &reason).await;
    change_month_of(&app, &visitor, user_of(&typed)?, typed, act).await
}

/// `POST /payroll/amounts/<id>/remove`.
async fn remove(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (by, reason) = (visitor.person.id, field(&typed, "reason"));
    let act = async |version| app.payroll.remove(by, id, version, &reason).await;
    change_month_of(&app, &visitor, user_of(&typed)?, typed, act).await
}

/// `POST /payroll/amounts/<id>/restore`.
async fn restore(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let by = visitor.person.id;
    let act = async |_| app.payroll.restore(by, id).await;
    change_month_of(&app, &visitor, user_of(&typed)?, typed, act).await
}

/// `POST /payroll/people/<id>/paid`.
async fn pay(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (by, period, amount) = (visitor.person.id, period_of(&typed)?, amount_of(&typed, "amount"));
    let is_advance = typed.contains_key("is_advance");
    let act = async |version| app.payroll.mark_paid(by, period, id, amount?, version, is_advance).await;
    change_month_of(&app, &visitor, id, typed, act).await
}

/// `POST /payroll/payments/<id>/take-back`.
async fn take_back(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let by = visitor.person.id;
    let act = async |_| app.payroll.take_back(by, id).await;
    change_month_of(&app, &visitor, user_of(&typed)?, typed, act).await
}

/// Runs a change of a person's month and redirects there. A refused form is shown again.
async fn change_month_of(
    app: &App,
    visitor: &Visitor,
    user_id: i64,
    typed: Fields,
    act: impl AsyncFnOnce(i64) -> Result<(), ActionError>,
) -> Result<Response, PageError> {
    let period = period_of(&typed)?;
    match submit(visitor, typed, version_only, act).await? {
        Ok(()) => {
            publish_change(app);
            app.events.publish(Event::to_person(TOPIC, user_id));
            notices::send_soon(app);
            Ok(Redirect::to(&format!("/payroll/people/{user_id}?period={period}")).into_response())
        }
        Err(attempt) => {
            let current = PayrollMonth::containing(app.payroll.today().await?);
            person_page(app, visitor, user_id, (period, current), None, attempt).await
        }
    }
}

async fn sheet_page(
    app: &App,
    visitor: &Visitor,
    access: &PayAccess,
    (period, current): (PayrollMonth, PayrollMonth),
    page: PageNumber,
    attempt: FormAttempt,
) -> Result<Response, PageError> {
    let sheet = match access {
        PayAccess::All => app.payroll.of_period(period, page.index()).await?,
        PayAccess::Sites(sites) => app.payroll.at_sites(&ids(sites), period, page.index()).await?,
    };
    let is_closable = access.is_all() && period < current && !sheet.month.is_closed();
    let unsettled = if is_closable { Some(Unsettled::in_month(app, period).await?) } else { None };
    let last = app.payroll.last_month(period, current, None).await?;
    let number = page.number();
    let shown = sheet::SheetPage { sheet: &sheet, access, current, last, number, unsettled: unsettled.as_ref() };
    let drawn = sheet::page(visitor, shown, &attempt);
    Ok((attempt.status(), drawn).into_response())
}

async fn person_page(
    app: &App,
    visitor: &Visitor,
    id: i64,
    (period, current): (PayrollMonth, PayrollMonth),
    after: Option<AdjustmentCursor>,
    attempt: FormAttempt,
) -> Result<Response, PageError> {
    let is_own = id == visitor.person.id;
    let access = if is_own { PayAccess::All } else { PayAccess::for_person(app, &visitor.person).await? };
    let person = if is_own { Some(visitor.person.clone()) } else { app.people.by_id(id).await? };
    let person: Person = person.ok_or(PageError::NotFound)?;
    let earnings = match &access {
        PayAccess::All => app.payroll.of_person_after(id, period, after.as_ref()).await?,
        PayAccess::Sites(sites) => access::earnings(app, sites, id, period, after.as_ref()).await?,
    };
    let authors = earnings.changes.iter().map(|change| change.by).chain(earnings.payments.iter().map(|paid| paid.by));
    let names = app.people.names(authors.collect::<std::collections::BTreeSet<_>>()).await?;
    let (payable, is_first) = (current.last_payable(), after.is_none());
    let last = app.payroll.last_month(period, payable, Some(id)).await?;
    let (person, earnings, names, access, attempt) = (&person, &earnings, &names, &access, &attempt);
    let page = person::PersonPage { visitor, person, earnings, names, payable, last, is_first, access, attempt };
    Ok((attempt.status(), page.draw()).into_response())
}

fn field(typed: &Fields, name: &str) -> String {
    typed.get(name).cloned().unwrap_or_default()
}

fn amount_of(typed: &Fields, name: &str) -> Result<Money, PayrollRefusal> {
    field(typed, name).parse().map_err(|_| PayrollRefusal::BadAmount)
}

/// A bonus or a deduction, as the choice says. A minus sign does not turn a bonus into a deduction.
fn signed_amount_of(typed: &Fields) -> Result<Money, PayrollRefusal> {
    match (amount_of(typed, "amount")?, field(typed, KIND).as_str()) {
        (amount, DEDUCTION) => Ok(amount.as_deduction()),
        (amount, BONUS) if !amount.is_negative() => Ok(amount),
        _ => Err(PayrollRefusal::BadAmount),
    }
}

/// The month that the form names.
fn period_of(typed: &Fields) -> Result<PayrollMonth, PageError> {
    field(typed, "period").parse().map_err(|_| PageError::BadRequest)
}

/// What the owner saw of the month; required in order to close it.
fn seen_of(typed: &Fields) -> Result<SeenMonth, PageError> {
    let number = |name| field(typed, name).parse::<i64>().map_err(|_| PageError::BadRequest);
    Ok(SeenMonth { total: Money::from_kopecks(number("total")?), version: number("version")? })
}

fn user_of(typed: &Fields) -> Result<i64, PageError> {
    field(typed, "user").parse().map_err(|_| PageError::BadRequest)
}

/// The requested month, or the current one; and the current one.
async fn selected_month(app: &App, query: &str) -> Result<(PayrollMonth, PayrollMonth), PageError> {
    let current = PayrollMonth::containing(app.payroll.today().await?);
    if query.is_empty() {
        return Ok((current, current));
    }
    Ok((query.parse().map_err(|_| PageError::NotFound)?, current))
}

/// Today, moved into the month.
async fn posting_day(app: &App, period: PayrollMonth) -> Result<NaiveDate, PageError> {
    Ok(app.payroll.today().await?.clamp(period.first_day(), period.last_day()))
}

fn publish_change(app: &App) {
    app.events.publish(Event::to_roles(TOPIC, OWNERS));
}

fn file(period: PayrollMonth, ending: &str, kind: &'static str, bytes: Vec<u8>) -> Response {
    named_file("payroll", period, ending, kind, bytes)
}

fn named_file(name: &str, period: PayrollMonth, ending: &str, kind: &'static str, bytes: Vec<u8>) -> Response {
    let name = format!("attachment; filename=\"{name}-{period}.{ending}\"");
    ([(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, name)], bytes).into_response()
}
