//! The calendar: slots and their people by week or month, for one site or all.
//!
//! Everything works with forms. With the page's script, a slot can also be dragged to another day, and a click on a day
//! fills the form.

use std::collections::{BTreeSet, HashMap, HashSet};

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use chrono::{Datelike, Days, NaiveDate};
use serde::Deserialize;

use crate::application::App;
use crate::domain;
use crate::key;
use crate::person::Permission;
use crate::settings::TIME_ZONE;
use crate::shifts::{Plan, Shifts};
use crate::sites::pages::{Access, read_hours, tasks};
use crate::sites::{AboutSlot, ActionError, Hours, Period, Site, Sites, Slot, local, monday_of};
use crate::web::form::{
    FieldErrors, Fields, FormAttempt, Reader, fields, money_field, submit, time_of, version_of, version_only,
};
use crate::web::{DayParam, PageError, SignedIn, Visitor};

mod days;
mod expected;
mod grid;
mod slot;
mod view;
mod warnings;

use self::days::{Day, Limits};
use self::slot::{OtherPersonRefusal, answer as slot_answer, page as slot_page, path as slot_path};
pub use self::slot::{add_person, cancel, show as show_slot};
use self::warnings::Warning;

/// A month is shown as whole weeks.
const WEEKS_OF_MONTH: u64 = 6;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CalendarQuery {
    site: String,
    /// `week` or `month`.
    view: String,
    day: DayParam,
    /// Any text opens the form for a new slot.
    new: String,
    /// How many slots were just created.
    made: String,
}

/// The data of the calendar.
struct CalendarPage {
    access: Access,
    sites: Vec<Site>,
    site: Option<i64>,
    is_month: bool,
    /// The requested day.
    day: NaiveDate,
    today: NaiveDate,
    first: NaiveDate,
    last: NaiveDate,
    /// Days with slots: the slots themselves, or their totals.
    by_day: HashMap<NaiveDate, Day>,
    /// The people who planned the shown slots.
    coming: HashMap<i64, Vec<i64>>,
    names: HashMap<i64, String>,
    warnings: HashMap<i64, Vec<Warning>>,
    /// Deleted slots of the selected site.
    deleted: Vec<Slot>,
    is_new: bool,
    made: Option<u64>,
}

impl CalendarPage {
    fn has_sums(&self) -> bool {
        self.by_day.values().any(|day| matches!(day, Day::Sums { .. }))
    }
}

/// `GET /calendar`.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(query): Query<CalendarQuery>,
) -> Result<Response, PageError> {
    page(&app, &visitor, &query, FormAttempt::default()).await
}

/// `POST /calendar/slots`.
pub async fn create(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (site, query) = (number(&typed, "site")?, at(&typed, "day"));
    let api = Sites::of_app(&app);
    let act = async |about| api.create_slot(&visitor.person, site, about).await.map(|_| None);
    answer(&app, &visitor, &query, submit(&visitor, typed, read_slot, act).await?).await
}

/// `POST /calendar/slots/<id>`.
pub async fn edit(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (api, version) = (Sites::of_app(&app), version_of(&typed));
    let act = async |about| as_other_person(api.edit_slot(&visitor.person, id, version, about).await);
    slot_answer(&app, &visitor, id, submit(&visitor, typed, read_slot, act).await?).await
}

/// `POST /calendar/slots/<id>/move`: moves a slot to another day.
pub async fn move_to_day(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let api = Sites::of_app(&app);
    let slot = api.slot(id).await?.ok_or(PageError::NotFound)?;
    let (day, version) = (DayParam::from_field(&typed, "day").day()?, version_of(&typed));
    let about = AboutSlot { day, ..slot.about };
    let whole = write_slot(&about);
    let act = async |_| as_other_person(api.edit_slot(&visitor.person, id, version, about).await);
    match submit(&visitor, typed, version_only, act).await? {
        Ok(()) => Ok(back(slot.site_id, day)),
        Err(attempt) => slot_page(&app, &visitor, id, attempt.at(slot_path(id), whole)).await,
    }
}

/// `POST /calendar/slots/<id>/tasks`: creates a task of this slot.
pub async fn create_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let slot = Sites::of_app(&app).slot(id).await?.ok_or(PageError::NotFound)?;
    let result = tasks::create(&app, &visitor, slot.site_id, Some(id), typed).await?;
    slot_answer(&app, &visitor, id, result).await
}

/// `POST /calendar/slots/<id>/tasks/<task>`.
pub async fn edit_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, task)): Path<(i64, i64)>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    slot_answer(&app, &visitor, id, tasks::edit(&app, &visitor, task, typed).await?).await
}

/// `POST /calendar/slots/<id>/tasks/<task>/delete`.
pub async fn delete_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, task)): Path<(i64, i64)>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    slot_answer(&app, &visitor, id, tasks::delete(&app, &visitor, task, typed).await?).await
}

/// `POST /calendar/slots/<id>/tasks/<task>/restore`.
pub async fn restore_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, task)): Path<(i64, i64)>,
) -> Result<Response, PageError> {
    slot_answer(&app, &visitor, id, tasks::restore(&app, &visitor, task).await?).await
}

/// `POST /calendar/slots/<id>/delete`.
pub async fn delete(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let api = Sites::of_app(&app);
    let act = async |version| api.delete_slot(&visitor.person, id, version).await;
    slot_answer(&app, &visitor, id, submit(&visitor, typed, version_only, act).await?).await
}

/// `POST /calendar/slots/<id>/restore`.
pub async fn restore(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, PageError> {
    let api = Sites::of_app(&app);
    let act = async |_| api.restore_slot(&visitor.person, id).await;
    slot_answer(&app, &visitor, id, submit(&visitor, Fields::new(), version_only, act).await?).await
}

/// `POST /calendar/copy-week`.
pub async fn copy_week(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (site, query) = (number(&typed, "site")?, at(&typed, "to"));
    let api = Sites::of_app(&app);
    let act = async |(from, to)| api.copy_week(&visitor.person, site, monday_of(from), monday_of(to)).await.map(Some);
    answer(&app, &visitor, &query, submit(&visitor, typed, read_days, act).await?).await
}

/// `POST /calendar/fill`: creates a slot on every working day.
pub async fn fill(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (site, query) = (number(&typed, "site")?, at(&typed, "from"));
    let api = Sites::of_app(&app);
    let read = |typed: &Fields| {
        let days = read_days(typed)?;
        let like = typed.clone().into_iter().chain([("day".to_owned(), days.0.to_string())]).collect();
        Ok::<_, FieldErrors>((days, read_slot(&like)?))
    };
    let act = async |(days, like)| api.fill(&visitor.person, site, days, like).await.map(Some);
    answer(&app, &visitor, &query, submit(&visitor, typed, read, act).await?).await
}

/// A refusal to move a slot concerns the people who planned it.
fn as_other_person(result: Result<(), ActionError>) -> Result<(), domain::ActionError<OtherPersonRefusal>> {
    result.map_err(|error| error.map_refusal(OtherPersonRefusal))
}

/// Redirects to the calendar, with the number of created slots if there is one; or shows the refused form again.
async fn answer(
    app: &App,
    visitor: &Visitor,
    query: &CalendarQuery,
    result: Result<Option<u64>, FormAttempt>,
) -> Result<Response, PageError> {
    match result {
        Ok(made) => {
            let parameter = made.map(|count| format!("&made={count}")).unwrap_or_default();
            Ok(Redirect::to(&format!("/calendar?site={}&day={}{parameter}", query.site, query.day)).into_response())
        }
        Err(attempt) => page(app, visitor, query, attempt).await,
    }
}

fn back(site: i64, day: NaiveDate) -> Response {
    Redirect::to(&format!("/calendar?site={site}&day={day}")).into_response()
}

/// The query for the calendar after a form. An invalid day is marked in the form, and today is shown.
fn at(typed: &Fields, name: &str) -> CalendarQuery {
    let day = DayParam::from_field(typed, name).or_empty();
    CalendarQuery { site: typed.get("site").cloned().unwrap_or_default(), day, ..CalendarQuery::default() }
}

async fn page(
    app: &App,
    visitor: &Visitor,
    query: &CalendarQuery,
    attempt: FormAttempt,
) -> Result<Response, PageError> {
    let shown = shown(app, visitor, query).await?;
    Ok((attempt.status(), view::calendar(visitor, &shown, &attempt)).into_response())
}

async fn shown(app: &App, visitor: &Visitor, query: &CalendarQuery) -> Result<CalendarPage, PageError> {
    let access = Access::for_person(app, &visitor.person).await?;
    if !access.may_somewhere(Permission::View) {
        return Err(PageError::Forbidden);
    }
    let (sites, zone) = (access.sites(app).await?, app.settings.get(&TIME_ZONE).await?);
    let today = local(app.clock.now(), zone).date();
    let day = query.day.day_or(today)?;
    let is_month = query.view == "month";
    let first = if is_month { monday_of(day.with_day(1).unwrap_or(day)) } else { monday_of(day) };
    let days = if is_month { WEEKS_OF_MONTH * 7 } else { 7 };
    let site = query.site.parse().ok().filter(|id| sites.iter().any(|site| site.id == *id));
    let ids: Vec<i64> = sites.iter().map(|one| one.id).filter(|id| site.is_none_or(|site| site == *id)).collect();
    // One more day at either end, because sites have their own time zones.
    let before = first.checked_sub_days(Days::new(1)).unwrap_or(first);
    let period = Period::of_days(before, days + 2, zone).ok_or(PageError::NotFound)?;
    let (api, limits) = (Sites::of_app(app), Limits::new(is_month, site.is_some()));
    let counted = api.days(&ids, period).await?;
    let slots = api.slots_on(&ids, period, &limits.read(&counted)).await?;
    let plans = Shifts::of_app(app).plans_around(&ids, &slots).await?;
    let (mut warnings, now) = (warnings::warnings_by_slot(&slots, &sites, &plans), app.clock.now());
    let work = api.workplaces(&expected::people(&plans, now)).await?;
    expected::warn_without_contract(&plans, &work, now, &mut warnings);
    let last = first.checked_add_days(Days::new(days.saturating_sub(1))).unwrap_or(first);
    let by_day = limits.arrange(counted, &(first..=last), slots, &warnings);
    let coming = coming(&by_day, &plans);
    let names = app.people.names(coming.values().flatten().copied().collect::<BTreeSet<_>>()).await?;
    let deleted = match site.filter(|site| access.may(Permission::Schedule, *site)) {
        Some(site) => api.deleted_slots(site).await?,
        None => Vec::new(),
    };
    let (is_new, made) = (!query.new.is_empty(), query.made.parse().ok());
    Ok(CalendarPage {
        access,
        sites,
        site,
        is_month,
        day,
        today,
        first,
        last,
        by_day,
        coming,
        names,
        warnings,
        deleted,
        is_new,
        made,
    })
}

/// The people who planned the shown slots, by slot.
fn coming(by_day: &HashMap<NaiveDate, Day>, plans: &[Plan]) -> HashMap<i64, Vec<i64>> {
    let drawn = by_day.values().filter_map(|day| match day {
        Day::Slots(slots) => Some(slots),
        Day::Sums { .. } => None,
    });
    let drawn: HashSet<i64> = drawn.flatten().map(|slot| slot.id).collect();
    let mut coming: HashMap<i64, Vec<i64>> = HashMap::new();
    for plan in plans.iter().filter(|plan| drawn.contains(&plan.slot_id)) {
        coming.entry(plan.slot_id).or_default().push(plan.user_id);
    }
    coming
}

/// The form fields of a slot.
fn write_slot(about: &AboutSlot) -> Fields {
    let mut typed = fields([
        ("title", about.title.clone()),
        ("day", about.day.to_string()),
        ("starts", time_of(about.hours.from_minute)),
        ("ends", time_of(about.hours.to_minute)),
        ("rate", money_field(about.rate_kopecks)),
        ("capacity", about.capacity.to_string()),
    ]);
    let ticks = [("penalises_lateness", about.penalises_lateness), ("ignores_site_tasks", about.ignores_site_tasks)];
    for (name, _) in ticks.iter().filter(|(_, is_ticked)| *is_ticked) {
        typed.insert((*name).to_owned(), "on".to_owned());
    }
    typed
}

/// What to type into the fields of a slot.
const SLOT_HELP: [(&str, &str); 4] = [
    ("title", key!("cabinet-bad-title")),
    ("day", key!("web-form-bad-day")),
    ("rate", key!("cabinet-bad-rate")),
    ("capacity", key!("cabinet-bad-capacity")),
];

fn read_slot(typed: &Fields) -> Result<AboutSlot, FieldErrors> {
    let mut reader = Reader::new(typed);
    let about = AboutSlot {
        title: reader.clean_text("title"),
        day: reader.day("day"),
        hours: read_hours(&mut reader, "starts", "ends"),
        rate_kopecks: reader.optional_money("rate"),
        capacity: reader.number("capacity"),
        penalises_lateness: reader.tick("penalises_lateness"),
        ignores_site_tasks: reader.tick("ignores_site_tasks"),
    };
    let invalid = about.invalid_fields();
    reader.finish(about, &invalid, &SLOT_HELP)
}

/// The default values of a new slot.
fn usual(site: Option<&Site>, day: NaiveDate) -> AboutSlot {
    AboutSlot::usual(day, site.map_or(Hours::new(9 * 60, 18 * 60), |site| site.about.hours))
}

fn number(typed: &Fields, name: &str) -> Result<i64, PageError> {
    typed.get(name).and_then(|text| text.parse().ok()).ok_or(PageError::BadRequest)
}

/// Reads the first and the last day.
fn read_days(typed: &Fields) -> Result<(NaiveDate, NaiveDate), FieldErrors> {
    let mut reader = Reader::new(typed);
    let days = (reader.day("from"), reader.day("to"));
    reader.bad.or(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_survives_its_form() {
        let mut about = usual(None, NaiveDate::from_ymd_opt(2026, 1, 31).unwrap());
        assert_eq!(read_slot(&write_slot(&about)), Ok(about.clone()));
        about.rate_kopecks = Some(30_050);
        about.penalises_lateness = false;
        about.hours = Hours::new(22 * 60, 6 * 60);
        assert_eq!(read_slot(&write_slot(&about)), Ok(about));
        assert_eq!(read_slot(&Fields::new()).unwrap_err().names(), ["day", "starts", "ends", "capacity"]);
    }
}
