//! The pages of pay: a month of all people, a person's month, and exports.
//!
//! Owners see and change everything. Managers see what was earned at sites where they have the permission for finances.
//! All people see their own pay. Only owners change it.

use std::collections::HashMap;

use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use maud::html;
use serde::Deserialize;

use self::access::{PayAccess, ids};
pub use self::sheet::months;
use super::{AdjustmentCursor, PayrollMonth};
use crate::application::App;
use crate::payroll::Unsettled;
use crate::person::{EARNERS, OWNERS, Person};
use crate::text;
use crate::web::form::FormAttempt;
use crate::web::{PageError, PageNumber, Routes, Section, SignedIn, Visitor};

mod access;
mod changes;
mod files;
mod month_end;
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
        .post("/payroll/close", month_end::close)
        .post("/payroll/reopen", month_end::reopen)
        .get("/payroll/export.csv", files::csv)
        .get("/payroll/export.xlsx", files::xlsx)
        .get("/payroll/timesheet.csv", files::timesheet_csv)
        .get("/payroll/timesheet.xlsx", files::timesheet_xlsx)
        .get("/payroll/people/{id}", show_person)
        .post("/payroll/people/{id}/amounts", changes::add)
        .post("/payroll/people/{id}/paid", changes::pay)
        .post("/payroll/amounts/{id}/change", changes::change)
        .post("/payroll/amounts/{id}/remove", changes::remove)
        .post("/payroll/amounts/{id}/restore", changes::restore)
        .post("/payroll/payments/{id}/take-back", changes::take_back)
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
    let ends = if access.is_all() { month_end::history(app, period).await? } else { Vec::new() };
    let authors = ends.iter().filter_map(|line| line.actor);
    let names = if ends.is_empty() { HashMap::new() } else { app.people.names(authors).await? };
    let unsettled = if is_closable { Some(Unsettled::in_month(app, period).await?) } else { None };
    let last = app.payroll.last_month(period, current, None).await?;
    let number = page.number();
    let unsettled = unsettled.as_ref();
    let end = month_end::MonthEnd { sheet: &sheet, current, unsettled, ends: &ends, names: &names, attempt: &attempt };
    let shown = sheet::SheetPage { sheet: &sheet, access, last, number };
    let end = if access.is_all() {
        end.draw(visitor)
    } else {
        html! {}
    };
    let drawn = sheet::page(visitor, shown, &end, &attempt);
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

/// The requested month, or the current one; and the current one.
async fn selected_month(app: &App, query: &str) -> Result<(PayrollMonth, PayrollMonth), PageError> {
    let current = PayrollMonth::containing(app.payroll.today().await?);
    if query.is_empty() {
        return Ok((current, current));
    }
    Ok((query.parse().map_err(|_| PageError::NotFound)?, current))
}
