//! The pages of pay: a month of everybody, a person's month, and the files that leave the product.
//!
//! Owners see and change everything. Managers see what was earned at the sites where they were permitted to see finances;
//! everybody sees their own. Neither changes anything.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use chrono::NaiveDate;
use serde::Deserialize;

use super::{LineMark, Money, NotDone, Period, Seen, Why, export};
use crate::application::App;
use crate::notices;
use crate::payroll::Unsettled;
use crate::person::{EARNERS, OWNERS, Person};
use crate::text;
use crate::web::form::{Attempt, Fields, carry_out, once, seen};
use crate::web::{Event, Oops, Owner, PageNumber, Routes, Section, SignedIn, Visitor};

pub use self::sheet::months;
use self::sight::{Sight, ids};

mod person;
mod sheet;
mod sight;

/// Everybody's month.
pub const PAYROLL: &str = "/payroll";
/// One's own.
pub const OWN: &str = "/earnings";
/// What pages that show pay are told of.
pub const TOPIC: &str = "payroll";

/// The field that says which way an amount goes, and what it may say.
const KIND: &str = "kind";
const BONUS: &str = "bonus";
const DEDUCTION: &str = "deduction";

/// Which month somebody looks at.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wanted {
    period: String,
    page: PageNumber,
    /// Where another page of a person's amounts ended.
    after: String,
}

impl Wanted {
    fn after(&self) -> Result<Option<LineMark>, Oops> {
        if self.after.is_empty() { Ok(None) } else { self.after.parse().map(Some).map_err(|_| Oops::NotFound) }
    }
}

pub fn routes() -> Routes {
    Routes::new()
        .get(PAYROLL, show)
        .post("/payroll/close", close)
        .get("/payroll/export.csv", csv)
        .get("/payroll/export.xlsx", xlsx)
        .get("/payroll/people/{id}", show_person)
        .post("/payroll/people/{id}/amounts", add)
        .post("/payroll/people/{id}/paid", pay)
        .post("/payroll/amounts/{id}/change", change)
        .post("/payroll/amounts/{id}/remove", remove)
        .post("/payroll/amounts/{id}/restore", restore)
        .post("/payroll/payments/{id}/take-back", take_back)
        .get(OWN, show_own)
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

/// `GET /payroll`: for owners, and for managers what was earned where they see finances.
async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Oops> {
    let sight = Sight::of(&app, &visitor.person).await?;
    let (period, current) = chosen(&app, &wanted.period).await?;
    sheet_page(&app, &visitor, &sight, (period, current), wanted.page, Attempt::default()).await
}

/// `POST /payroll/close`.
async fn close(State(app): State<App>, Owner(visitor): Owner, Form(typed): Form<Fields>) -> Result<Response, Oops> {
    let (period, seen_month) = (period_of(&typed)?, seen_of(&typed)?);
    let act = async |_| app.payroll.close_period_as_seen(visitor.person.id, period, seen_month).await;
    match carry_out(&visitor, typed, seen, act).await? {
        Ok(()) => {
            tell(&app);
            Ok(Redirect::to(&format!("{PAYROLL}?period={period}")).into_response())
        }
        Err(attempt) => {
            let (current, path) = (Period::of(app.payroll.today().await?), visitor.visit.path().to_owned());
            let attempt = attempt.at(path, Fields::new());
            sheet_page(&app, &visitor, &Sight::All, (period, current), PageNumber::FIRST, attempt).await
        }
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

/// `GET /payroll/people/<id>`: for owners, for the person, and for managers what was earned at their sites.
async fn show_person(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Oops> {
    let months = chosen(&app, &wanted.period).await?;
    person_page(&app, &visitor, id, months, wanted.after()?, Attempt::default()).await
}

/// `GET /earnings`.
async fn show_own(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Oops> {
    let months = chosen(&app, &wanted.period).await?;
    person_page(&app, &visitor, visitor.person.id, months, wanted.after()?, Attempt::default()).await
}

/// `POST /payroll/people/<id>/amounts`.
async fn add(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let (by, reason, day) = (visitor.person.id, word(&typed, "reason"), day_in(&app, period_of(&typed)?).await?);
    let (amount, once) = (signed_amount_of(&typed), once(&visitor, &typed));
    let act = async |_| app.payroll.add_manual_once(by, id, day, amount?, &reason, once).await;
    try_on(&app, &visitor, id, typed, act).await
}

/// `POST /payroll/amounts/<id>/change`.
async fn change(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let (by, reason, amount) = (visitor.person.id, word(&typed, "reason"), signed_amount_of(&typed));
    let act = async |version| app.payroll.change(by, id, version, amount?, &reason).await;
    try_on(&app, &visitor, user_of(&typed)?, typed, act).await
}

/// `POST /payroll/amounts/<id>/remove`.
async fn remove(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let (by, reason) = (visitor.person.id, word(&typed, "reason"));
    let act = async |version| app.payroll.remove(by, id, version, &reason).await;
    try_on(&app, &visitor, user_of(&typed)?, typed, act).await
}

/// `POST /payroll/amounts/<id>/restore`.
async fn restore(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let by = visitor.person.id;
    let act = async |_| app.payroll.restore(by, id).await;
    try_on(&app, &visitor, user_of(&typed)?, typed, act).await
}

/// `POST /payroll/people/<id>/paid`.
async fn pay(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let (by, period, amount) = (visitor.person.id, period_of(&typed)?, amount_of(&typed, "amount"));
    let is_advance = typed.contains_key("is_advance");
    let act = async |version| app.payroll.mark_paid(by, period, id, amount?, version, is_advance).await;
    try_on(&app, &visitor, id, typed, act).await
}

/// `POST /payroll/payments/<id>/take-back`.
async fn take_back(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let by = visitor.person.id;
    let act = async |_| app.payroll.take_back(by, id).await;
    try_on(&app, &visitor, user_of(&typed)?, typed, act).await
}

/// Does something to a person's month, and leads back there; what was refused is told there, beside what was typed.
async fn try_on(
    app: &App,
    visitor: &Visitor,
    user_id: i64,
    typed: Fields,
    act: impl AsyncFnOnce(i64) -> Result<(), NotDone>,
) -> Result<Response, Oops> {
    let period = period_of(&typed)?;
    match carry_out(visitor, typed, seen, act).await? {
        Ok(()) => {
            tell(app);
            app.events.publish(Event::to_person(TOPIC, user_id));
            notices::soon(app);
            Ok(Redirect::to(&format!("/payroll/people/{user_id}?period={period}")).into_response())
        }
        Err(attempt) => {
            let current = Period::of(app.payroll.today().await?);
            person_page(app, visitor, user_id, (period, current), None, attempt).await
        }
    }
}

async fn sheet_page(
    app: &App,
    visitor: &Visitor,
    sight: &Sight,
    (period, current): (Period, Period),
    page: PageNumber,
    attempt: Attempt,
) -> Result<Response, Oops> {
    let sheet = match sight {
        Sight::All => app.payroll.of_period(period, page.index()).await?,
        Sight::Sites(sites) => app.payroll.at_sites(&ids(sites), period, page.index()).await?,
    };
    let is_closable = sight.is_all() && period < current && !sheet.month.is_closed();
    let unsettled = if is_closable { Some(Unsettled::of(app, period).await?) } else { None };
    let last = app.payroll.last_month(period, current, None).await?;
    let number = page.number();
    let shown = sheet::Shown { sheet: &sheet, sight, current, last, number, unsettled: unsettled.as_ref() };
    let drawn = sheet::page(visitor, shown, &attempt);
    Ok((attempt.status(), drawn).into_response())
}

async fn person_page(
    app: &App,
    visitor: &Visitor,
    id: i64,
    (period, current): (Period, Period),
    after: Option<LineMark>,
    attempt: Attempt,
) -> Result<Response, Oops> {
    let is_own = id == visitor.person.id;
    let sight = if is_own { Sight::All } else { Sight::of(app, &visitor.person).await? };
    let person = if is_own { Some(visitor.person.clone()) } else { app.people.by_id(id).await? };
    let person: Person = person.ok_or(Oops::NotFound)?;
    let earnings = match &sight {
        Sight::All => app.payroll.of_person_after(id, period, after.as_ref()).await?,
        Sight::Sites(sites) => sight::earnings(app, sites, id, period, after.as_ref()).await?,
    };
    let authors = earnings.changes.iter().map(|change| change.by).chain(earnings.payments.iter().map(|paid| paid.by));
    let names = app.people.names(authors.collect::<std::collections::BTreeSet<_>>()).await?;
    let (payable, is_first) = (current.last_payable(), after.is_none());
    let last = app.payroll.last_month(period, payable, Some(id)).await?;
    let shown = person::Shown { visitor, person: &person, earnings: &earnings, names: &names, payable, last, is_first };
    let drawn = person::page(shown, &sight, &attempt);
    Ok((attempt.status(), drawn).into_response())
}

fn word(typed: &Fields, name: &str) -> String {
    typed.get(name).cloned().unwrap_or_default()
}

fn amount_of(typed: &Fields, name: &str) -> Result<Money, Why> {
    word(typed, name).parse().map_err(|_| Why::BadAmount)
}

/// A bonus or a deduction. The choice says which it is; a minus that was typed as well makes no bonus of a deduction.
fn signed_amount_of(typed: &Fields) -> Result<Money, Why> {
    match (amount_of(typed, "amount")?, word(typed, KIND).as_str()) {
        (amount, DEDUCTION) => Ok(amount.taken_away()),
        (amount, BONUS) if !amount.is_negative() => Ok(amount),
        _ => Err(Why::BadAmount),
    }
}

/// The month and the person that a form is about; it says them itself.
fn period_of(typed: &Fields) -> Result<Period, Oops> {
    word(typed, "period").parse().map_err(|_| Oops::BadRequest)
}

/// What was seen of a month; nobody closes one unseen.
fn seen_of(typed: &Fields) -> Result<Seen, Oops> {
    let number = |name| word(typed, name).parse::<i64>().map_err(|_| Oops::BadRequest);
    Ok(Seen { total: Money::from_kopecks(number("total")?), version: number("version")? })
}

fn user_of(typed: &Fields) -> Result<i64, Oops> {
    word(typed, "user").parse().map_err(|_| Oops::BadRequest)
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
