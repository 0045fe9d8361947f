//! The files of a month: pay by person, and the timesheet by person, day and site.

use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::super::timesheet::Timesheet;
use super::super::{PayrollMonth, export};
use super::access::{PayAccess, ids};
use super::{MonthQuery, selected_month};
use crate::application::App;
use crate::web::{Owner, PageError, SignedIn, Visitor};

/// `GET /payroll/export.csv`.
pub async fn csv(
    State(app): State<App>,
    Owner(visitor): Owner,
    Query(query): Query<MonthQuery>,
) -> Result<Response, PageError> {
    let (period, _) = selected_month(&app, &query.period).await?;
    let sheet = app.payroll.all_of_period(period).await?;
    Ok(file(period, "csv", export::CSV_TYPE, export::csv(&sheet, visitor.language()).into_bytes()))
}

/// `GET /payroll/export.xlsx`.
pub async fn xlsx(
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
pub async fn timesheet_csv(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(query): Query<MonthQuery>,
) -> Result<Response, PageError> {
    let timesheet = timesheet(&app, &visitor, &query).await?;
    let bytes = timesheet.csv(visitor.language()).into_bytes();
    Ok(named_file("timesheet", timesheet.period, "csv", export::CSV_TYPE, bytes))
}

/// `GET /payroll/timesheet.xlsx`.
pub async fn timesheet_xlsx(
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

fn file(period: PayrollMonth, ending: &str, kind: &'static str, bytes: Vec<u8>) -> Response {
    named_file("payroll", period, ending, kind, bytes)
}

fn named_file(name: &str, period: PayrollMonth, ending: &str, kind: &'static str, bytes: Vec<u8>) -> Response {
    let name = format!("attachment; filename=\"{name}-{period}.{ending}\"");
    ([(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, name)], bytes).into_response()
}
