//! The calendar: slots and who has planned to come, by week or month, for all sites or one.
//!
//! Everything works by forms; where a browser runs the page's script, a slot can also be dragged to another day, and a
//! click into a day fills it into the form.

use std::collections::{BTreeSet, HashMap, HashSet};

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use chrono::{Datelike, Days, NaiveDate};
use serde::Deserialize;

use crate::application::App;
use crate::domain;
use crate::person::Permission;
use crate::settings::TIME_ZONE;
use crate::shifts::{Plan, Shifts};
use crate::sites::pages::{Access, read_hours, tasks};
use crate::sites::{AboutSlot, Hours, NotDone, Period, Site, Sites, Slot, local, monday_of};
use crate::web::form::{Attempt, Fields, Reader, carry_out, fields, money_field, seen, time_of, version_of};
use crate::web::{AskedDay, Oops, SignedIn, Visitor};

mod days;
mod expected;
mod grid;
mod slot;
mod view;
mod warnings;

use self::days::{Day, Limits};
use self::slot::{OfAnother, answer as slot_answer, page as slot_page, path as slot_path};
pub use self::slot::{cancel, put, show as show_slot};
use self::warnings::Warning;

/// A month is shown by whole weeks.
const WEEKS_OF_MONTH: u64 = 6;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wanted {
    site: String,
    /// `week` or `month`.
    view: String,
    day: AskedDay,
    /// Whether the form of a new slot is open; any text.
    new: String,
    /// How many slots have just been made at once.
    made: String,
}

/// What is shown.
struct Shown {
    access: Access,
    sites: Vec<Site>,
    site: Option<i64>,
    is_month: bool,
    /// The day that was asked for.
    day: NaiveDate,
    today: NaiveDate,
    first: NaiveDate,
    last: NaiveDate,
    /// The slots of days, or their sums; of a day without any there is nothing.
    by_day: HashMap<NaiveDate, Day>,
    /// Who comes to the slots that are drawn.
    coming: HashMap<i64, Vec<i64>>,
    names: HashMap<i64, String>,
    warnings: HashMap<i64, Vec<Warning>>,
    /// Slots of the chosen site that can be brought back.
    deleted: Vec<Slot>,
    is_new: bool,
    made: Option<u64>,
}

impl Shown {
    fn has_sums(&self) -> bool {
        self.by_day.values().any(|day| matches!(day, Day::Sums { .. }))
    }
}

/// `GET /calendar`.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Oops> {
    page(&app, &visitor, &wanted, Attempt::default()).await
}

/// `POST /calendar/slots`.
pub async fn create(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let (site, wanted) = (number(&typed, "site")?, at(&typed, "day"));
    let doors = Sites::of_app(&app);
    let act = async |about| doors.create_slot(&visitor.person, site, about).await.map(|_| None);
    answer(&app, &visitor, &wanted, carry_out(&visitor, typed, read_slot, act).await?).await
}

/// `POST /calendar/slots/<id>`.
pub async fn edit(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let (doors, version) = (Sites::of_app(&app), version_of(&typed));
    let act = async |about| told_of_others(doors.edit_slot(&visitor.person, id, version, about).await);
    slot_answer(&app, &visitor, id, carry_out(&visitor, typed, read_slot, act).await?).await
}

/// `POST /calendar/slots/<id>/move`: to another day.
pub async fn shift_day(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let doors = Sites::of_app(&app);
    let slot = doors.slot(id).await?.ok_or(Oops::NotFound)?;
    let (day, version) = (AskedDay::of(&typed, "day").day()?, version_of(&typed));
    let about = AboutSlot { day, ..slot.about };
    let whole = write_slot(&about);
    let act = async |_| told_of_others(doors.edit_slot(&visitor.person, id, version, about).await);
    match carry_out(&visitor, typed, seen, act).await? {
        Ok(()) => Ok(back(slot.site_id, day)),
        Err(attempt) => slot_page(&app, &visitor, id, attempt.at(slot_path(id), whole)).await,
    }
}

/// `POST /calendar/slots/<id>/tasks`: a task of this slot alone.
pub async fn create_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let slot = Sites::of_app(&app).slot(id).await?.ok_or(Oops::NotFound)?;
    let went = tasks::create(&app, &visitor, slot.site_id, Some(id), typed).await?;
    slot_answer(&app, &visitor, id, went).await
}

/// `POST /calendar/slots/<id>/tasks/<task>`.
pub async fn edit_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, task)): Path<(i64, i64)>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    slot_answer(&app, &visitor, id, tasks::edit(&app, &visitor, task, typed).await?).await
}

/// `POST /calendar/slots/<id>/tasks/<task>/delete`.
pub async fn delete_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, task)): Path<(i64, i64)>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    slot_answer(&app, &visitor, id, tasks::delete(&app, &visitor, task, typed).await?).await
}

/// `POST /calendar/slots/<id>/tasks/<task>/restore`.
pub async fn restore_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, task)): Path<(i64, i64)>,
) -> Result<Response, Oops> {
    slot_answer(&app, &visitor, id, tasks::restore(&app, &visitor, task).await?).await
}

/// `POST /calendar/slots/<id>/delete`.
pub async fn delete(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let doors = Sites::of_app(&app);
    let act = async |version| doors.delete_slot(&visitor.person, id, version).await;
    slot_answer(&app, &visitor, id, carry_out(&visitor, typed, seen, act).await?).await
}

/// `POST /calendar/slots/<id>/restore`.
pub async fn restore(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, Oops> {
    let doors = Sites::of_app(&app);
    let act = async |_| doors.restore_slot(&visitor.person, id).await;
    slot_answer(&app, &visitor, id, carry_out(&visitor, Fields::new(), seen, act).await?).await
}

/// `POST /calendar/copy-week`.
pub async fn copy_week(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let (site, wanted) = (number(&typed, "site")?, at(&typed, "to"));
    let doors = Sites::of_app(&app);
    let act = async |(from, to)| doors.copy_week(&visitor.person, site, monday_of(from), monday_of(to)).await.map(Some);
    answer(&app, &visitor, &wanted, carry_out(&visitor, typed, read_days, act).await?).await
}

/// `POST /calendar/fill`: a slot on every working day.
pub async fn fill(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let (site, wanted) = (number(&typed, "site")?, at(&typed, "from"));
    let doors = Sites::of_app(&app);
    let read = |typed: &Fields| {
        let days = read_days(typed)?;
        let like = typed.clone().into_iter().chain([("day".to_owned(), days.0.to_string())]).collect();
        Ok((days, read_slot(&like)?))
    };
    let act = async |(days, like)| doors.fill(&visitor.person, site, days, like).await.map(Some);
    answer(&app, &visitor, &wanted, carry_out(&visitor, typed, read, act).await?).await
}

/// What is in the way of a slot that is moved is in the way of those who come to it.
fn told_of_others(went: Result<(), NotDone>) -> Result<(), domain::NotDone<OfAnother>> {
    went.map_err(|error| error.told_as(OfAnother))
}

/// Back to the calendar, with how many slots were made where it was more than one wish; or the same again with what did
/// not go.
async fn answer(
    app: &App,
    visitor: &Visitor,
    wanted: &Wanted,
    went: Result<Option<u64>, Attempt>,
) -> Result<Response, Oops> {
    match went {
        Ok(made) => {
            let made = made.map(|made| format!("&made={made}")).unwrap_or_default();
            Ok(Redirect::to(&format!("/calendar?site={}&day={}{made}", wanted.site, wanted.day)).into_response())
        }
        Err(attempt) => page(app, visitor, wanted, attempt).await,
    }
}

fn back(site: i64, day: NaiveDate) -> Response {
    Redirect::to(&format!("/calendar?site={site}&day={day}")).into_response()
}

/// The part of the calendar that a form is about. A day that is none is marked in the form, and today is shown.
fn at(typed: &Fields, name: &str) -> Wanted {
    let day = AskedDay::of(typed, name).if_good();
    Wanted { site: typed.get("site").cloned().unwrap_or_default(), day, ..Wanted::default() }
}

async fn page(app: &App, visitor: &Visitor, wanted: &Wanted, attempt: Attempt) -> Result<Response, Oops> {
    let shown = shown(app, visitor, wanted).await?;
    Ok((attempt.status(), view::calendar(visitor, &shown, &attempt)).into_response())
}

async fn shown(app: &App, visitor: &Visitor, wanted: &Wanted) -> Result<Shown, Oops> {
    let access = Access::of(app, &visitor.person).await?;
    if !access.may_somewhere(Permission::View) {
        return Err(Oops::Forbidden);
    }
    let (sites, zone) = (access.sites(app).await?, app.settings.get(&TIME_ZONE).await?);
    let today = local(app.clock.now(), zone).date();
    let day = wanted.day.or(today)?;
    let is_month = wanted.view == "month";
    let first = if is_month { monday_of(day.with_day(1).unwrap_or(day)) } else { monday_of(day) };
    let days = if is_month { WEEKS_OF_MONTH * 7 } else { 7 };
    let site = wanted.site.parse().ok().filter(|id| sites.iter().any(|site| site.id == *id));
    let ids: Vec<i64> = sites.iter().map(|one| one.id).filter(|id| site.is_none_or(|site| site == *id)).collect();
    // A day more at either end: places have clocks of their own.
    let before = first.checked_sub_days(Days::new(1)).unwrap_or(first);
    let period = Period::of_days(before, days + 2, zone).ok_or(Oops::NotFound)?;
    let (doors, limits) = (Sites::of_app(app), Limits::of(is_month, site.is_some()));
    let counted = doors.days(&ids, period).await?;
    let slots = doors.slots_on(&ids, period, &limits.read(&counted)).await?;
    let plans = Shifts::of_app(app).plans_around(&ids, &slots).await?;
    let (mut warnings, now) = (warnings::about_each(&slots, &sites, &plans), app.clock.now());
    let work = doors.where_they_work(&expected::people(&plans, now)).await?;
    expected::look(&plans, &work, now, &mut warnings);
    let last = first.checked_add_days(Days::new(days.saturating_sub(1))).unwrap_or(first);
    let by_day = limits.arrange(counted, &(first..=last), slots, &warnings);
    let coming = coming(&by_day, &plans);
    let names = app.people.names(coming.values().flatten().copied().collect::<BTreeSet<_>>()).await?;
    let deleted = match site.filter(|site| access.may(Permission::Schedule, *site)) {
        Some(site) => doors.deleted_slots(site).await?,
        None => Vec::new(),
    };
    let (is_new, made) = (!wanted.new.is_empty(), wanted.made.parse().ok());
    Ok(Shown {
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

/// Who comes to the slots that are drawn.
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

/// A slot as its form shows it.
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

fn read_slot(typed: &Fields) -> Result<AboutSlot, Vec<&'static str>> {
    let mut reader = Reader::new(typed);
    let about = AboutSlot {
        title: reader.words("title"),
        day: reader.day("day"),
        hours: read_hours(&mut reader, "starts", "ends"),
        rate_kopecks: reader.money_if_any("rate"),
        capacity: reader.number("capacity"),
        penalises_lateness: reader.tick("penalises_lateness"),
        ignores_site_tasks: reader.tick("ignores_site_tasks"),
    };
    let mut bad = reader.bad;
    for name in about.mistakes() {
        if !bad.contains(&name) {
            bad.push(name);
        }
    }
    if bad.is_empty() { Ok(about) } else { Err(bad) }
}

/// A slot that a form begins with.
fn usual(site: Option<&Site>, day: NaiveDate) -> AboutSlot {
    AboutSlot::usual(day, site.map_or(Hours::new(9 * 60, 18 * 60), |site| site.about.hours))
}

fn number(typed: &Fields, name: &str) -> Result<i64, Oops> {
    typed.get(name).and_then(|text| text.parse().ok()).ok_or(Oops::BadRequest)
}

/// From one day to another.
fn read_days(typed: &Fields) -> Result<(NaiveDate, NaiveDate), Vec<&'static str>> {
    let mut reader = Reader::new(typed);
    let days = (reader.day("from"), reader.day("to"));
    if reader.bad.is_empty() { Ok(days) } else { Err(reader.bad) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_comes_back_from_its_form_as_it_was() {
        let mut about = usual(None, NaiveDate::from_ymd_opt(2026, 1, 31).unwrap());
        assert_eq!(read_slot(&write_slot(&about)), Ok(about.clone()));
        about.rate_kopecks = Some(30_050);
        about.penalises_lateness = false;
        about.hours = Hours::new(22 * 60, 6 * 60);
        assert_eq!(read_slot(&write_slot(&about)), Ok(about));
        assert_eq!(read_slot(&Fields::new()).unwrap_err(), ["day", "starts", "ends", "capacity"]);
    }
}
