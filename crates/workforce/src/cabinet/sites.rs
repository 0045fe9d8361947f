//! Sites: the list, and a site with its tasks.

use std::collections::BTreeSet;

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use chrono_tz::Tz;
use serde::Deserialize;

use super::access::{Access, why};
use super::form::{Attempt, Fields, Reader, fields, money_field, time_of};
use crate::application::App;
use crate::settings::TIME_ZONE;
use crate::shifts::Shifts;
use crate::sites::{AboutSite, AboutTask, NotDone, Permission, Position, Site, Sites, WorkingDays};
use crate::web::{Oops, SignedIn, Visitor};

mod view;

pub use self::view::{day_name, open_label, task_fields};

/// The names of the boxes for the days, Monday first.
const DAYS: [&str; 7] = ["d0", "d1", "d2", "d3", "d4", "d5", "d6"];
/// How many sites a page has.
const PAGE: usize = 50;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wanted {
    /// Counted from one.
    page: usize,
}

/// What is tried on a page, and on which part of it.
#[derive(Clone, Debug, Default)]
struct Tried {
    part: Part,
    attempt: Attempt,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Site,
    NewTask,
    Task(i64),
}

/// `GET /sites`.
pub async fn list(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Oops> {
    list_page(&app, &visitor, wanted.page, Attempt::default()).await
}

/// `POST /sites`.
pub async fn create(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let about = match read_site(&typed) {
        Ok(about) => about,
        Err(bad) => return list_page(&app, &visitor, 1, Attempt { typed, bad, why: None }).await,
    };
    match Sites::of_app(&app).create(&visitor.person, about).await {
        Ok(id) => Ok(Redirect::to(&format!("/sites/{id}")).into_response()),
        Err(error) => {
            let attempt = Attempt { typed, bad: Vec::new(), why: Some(why(error)?) };
            list_page(&app, &visitor, 1, attempt).await
        }
    }
}

/// `GET /sites/<id>`.
pub async fn show(State(app): State<App>, SignedIn(visitor): SignedIn, Path(id): Path<i64>) -> Result<Response, Oops> {
    site_page(&app, &visitor, id, Tried::default()).await
}

/// `POST /sites/<id>`.
pub async fn edit(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let about = match read_site(&typed) {
        Ok(about) => about,
        Err(bad) => return site_page(&app, &visitor, id, tried(Part::Site, typed, bad)).await,
    };
    let done = Sites::of_app(&app).edit(&visitor.person, id, version_of(&typed), about).await;
    answer(&app, &visitor, id, Part::Site, typed, done).await
}

/// `POST /sites/<id>/delete`.
pub async fn delete(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let done = Sites::of_app(&app).delete(&visitor.person, id, version_of(&typed)).await;
    answer(&app, &visitor, id, Part::Site, Fields::new(), done).await
}

/// `POST /sites/<id>/restore`.
pub async fn restore(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, Oops> {
    let done = Sites::of_app(&app).restore(&visitor.person, id).await;
    answer(&app, &visitor, id, Part::Site, Fields::new(), done).await
}

/// `POST /sites/<id>/tasks`.
pub async fn create_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let about = match read_task(&typed) {
        Ok(about) => about,
        Err(bad) => return site_page(&app, &visitor, id, tried(Part::NewTask, typed, bad)).await,
    };
    let done = Sites::of_app(&app).create_task(&visitor.person, id, None, about).await.map(drop);
    answer(&app, &visitor, id, Part::NewTask, typed, done).await
}

/// `POST /sites/<id>/tasks/<task>`.
pub async fn edit_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, task)): Path<(i64, i64)>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let about = match read_task(&typed) {
        Ok(about) => about,
        Err(bad) => return site_page(&app, &visitor, id, tried(Part::Task(task), typed, bad)).await,
    };
    let done = Sites::of_app(&app).edit_task(&visitor.person, task, version_of(&typed), about).await;
    answer(&app, &visitor, id, Part::Task(task), typed, done).await
}

/// `POST /sites/<id>/tasks/<task>/delete`.
pub async fn delete_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, task)): Path<(i64, i64)>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let done = Sites::of_app(&app).delete_task(&visitor.person, task, version_of(&typed)).await;
    answer(&app, &visitor, id, Part::Site, Fields::new(), done).await
}

/// `POST /sites/<id>/tasks/<task>/restore`.
pub async fn restore_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, task)): Path<(i64, i64)>,
) -> Result<Response, Oops> {
    let done = Sites::of_app(&app).restore_task(&visitor.person, task).await;
    answer(&app, &visitor, id, Part::Site, Fields::new(), done).await
}

async fn answer(
    app: &App,
    visitor: &Visitor,
    id: i64,
    part: Part,
    typed: Fields,
    done: Result<(), NotDone>,
) -> Result<Response, Oops> {
    match done {
        Ok(()) => Ok(Redirect::to(&format!("/sites/{id}")).into_response()),
        Err(error) => {
            let attempt = Attempt { typed, bad: Vec::new(), why: Some(why(error)?) };
            site_page(app, visitor, id, Tried { part, attempt }).await
        }
    }
}

async fn list_page(app: &App, visitor: &Visitor, page: usize, attempt: Attempt) -> Result<Response, Oops> {
    let access = Access::of(app, &visitor.person).await?;
    if !access.may_somewhere(Permission::View) {
        return Err(Oops::Forbidden);
    }
    let sites = access.sites(app).await?;
    let (number, total) = (page.max(1), sites.len());
    let shown: Vec<Site> = sites.into_iter().skip((number - 1) * PAGE).take(PAGE).collect();
    let ids: Vec<i64> = shown.iter().map(|site| site.id).collect();
    let open: BTreeSet<i64> = Shifts::of_app(app).openings(&ids).await?.iter().map(|opening| opening.site_id).collect();
    let deleted = if access.is_owner() { Sites::of_app(app).deleted().await? } else { Vec::new() };
    let usual = if attempt.typed.is_empty() {
        write_site(&AboutSite::usual(app.settings.get(&TIME_ZONE).await?))
    } else {
        attempt.typed.clone()
    };
    let list = view::List { access: &access, sites: &shown, open: &open, deleted: &deleted, number, total };
    Ok((attempt.status(), view::list(visitor, &list, &usual, &attempt)).into_response())
}

async fn site_page(app: &App, visitor: &Visitor, id: i64, tried: Tried) -> Result<Response, Oops> {
    let access = Access::of(app, &visitor.person).await?;
    if !access.may(Permission::View, id) {
        return Err(Oops::Forbidden);
    }
    let doors = Sites::of_app(app);
    let (site, tasks) = tokio::try_join!(doors.of(id), doors.tasks_of_site(id))?;
    let site = site.ok_or(Oops::NotFound)?;
    Ok((tried.attempt.status(), view::site(visitor, &access, &site, &tasks, &tried)).into_response())
}

fn tried(part: Part, typed: Fields, bad: Vec<&'static str>) -> Tried {
    Tried { part, attempt: Attempt { typed, bad, why: None } }
}

pub(super) fn version_of(typed: &Fields) -> i64 {
    typed.get("version").and_then(|version| version.parse().ok()).unwrap_or_default()
}

/// A site as its form shows it.
fn write_site(about: &AboutSite) -> Fields {
    let place = |at: Position| format!("{}, {}", at.latitude, at.longitude);
    let mut typed = fields([
        ("name", about.name.clone()),
        ("address", about.address.clone()),
        ("position", about.position.map(place).unwrap_or_default()),
        ("time_zone", about.time_zone.name().to_owned()),
        ("opens", time_of(about.hours.from_minute)),
        ("closes", time_of(about.hours.to_minute)),
        ("rate", money_field(Some(about.rate_kopecks))),
        ("max_distance", about.max_distance_m.to_string()),
        ("auto_close", about.auto_close_minutes.to_string()),
        ("late_threshold", about.late_threshold_minutes.to_string()),
        ("late_minute", money_field(Some(about.late_minute_kopecks))),
    ]);
    for (bit, name) in DAYS.iter().enumerate() {
        if about.working_days.0 & (1 << bit) != 0 {
            typed.insert((*name).to_owned(), "on".to_owned());
        }
    }
    typed
}

/// The same the other way; else the names of what is not as it should be.
fn read_site(typed: &Fields) -> Result<AboutSite, Vec<&'static str>> {
    let mut reader = Reader::new(typed);
    let position = if reader.words("position").is_empty() {
        None
    } else {
        reader.read("position", |text| position_of(text).map(Some))
    };
    let working_days =
        DAYS.iter().enumerate().filter(|(_, name)| reader.tick(name)).fold(0, |bits, (bit, _)| bits | 1 << bit);
    let time_zone = reader.words("time_zone").parse::<Tz>();
    let about = AboutSite {
        name: reader.words("name"),
        address: reader.words("address"),
        position,
        time_zone: time_zone.unwrap_or(TIME_ZONE.default),
        hours: reader.hours("opens", "closes"),
        working_days: WorkingDays(working_days),
        rate_kopecks: reader.money("rate"),
        max_distance_m: reader.number("max_distance"),
        auto_close_minutes: reader.number("auto_close"),
        late_threshold_minutes: reader.number("late_threshold"),
        late_minute_kopecks: reader.money("late_minute"),
    };
    let mut bad = reader.bad;
    if time_zone.is_err() {
        bad.push("time_zone");
    }
    for name in about.mistakes() {
        if !bad.contains(&name) {
            bad.push(name);
        }
    }
    if bad.is_empty() { Ok(about) } else { Err(bad) }
}

/// `55.7558, 37.6173`.
fn position_of(text: &str) -> Option<Position> {
    let (latitude, longitude) = text.split_once([',', ' ', ';'])?;
    let degrees =
        |text: &str| text.trim_matches([' ', ',', ';']).parse::<f64>().ok().filter(|degrees| degrees.is_finite());
    Some(Position { latitude: degrees(latitude)?, longitude: degrees(longitude)? }).filter(|at| at.is_on_earth())
}

/// A task as its form shows it.
fn write_task(about: &AboutTask) -> Fields {
    let mut typed = fields([("text", about.text.clone()), ("amount", money_field(Some(about.amount_kopecks)))]);
    for (name, is_ticked) in [("is_mandatory", about.is_mandatory), ("needs_media", about.needs_media)] {
        if is_ticked {
            typed.insert(name.to_owned(), "on".to_owned());
        }
    }
    typed
}

pub(super) fn read_task(typed: &Fields) -> Result<AboutTask, Vec<&'static str>> {
    let mut reader = Reader::new(typed);
    let about = AboutTask {
        text: reader.words("text"),
        amount_kopecks: if reader.words("amount").is_empty() { 0 } else { reader.money("amount") },
        is_mandatory: reader.tick("is_mandatory"),
        needs_media: reader.tick("needs_media"),
    };
    let mut bad = reader.bad;
    bad.extend(about.mistakes());
    if bad.is_empty() { Ok(about) } else { Err(bad) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_comes_back_from_its_form_as_it_was() {
        let mut about = AboutSite::usual(Tz::Asia__Yekaterinburg);
        about.name = "Lenin street".into();
        about.address = "Lenin street, 1".into();
        about.position = Some(Position { latitude: 56.83, longitude: 60.6 });
        about.rate_kopecks = 25_050;
        assert_eq!(read_site(&write_site(&about)), Ok(about));
    }

    #[test]
    fn a_task_keeps_the_sign_of_its_amount() {
        for kopecks in [-3300, 0, 12_345] {
            let about =
                AboutTask { text: "Sweep".into(), amount_kopecks: kopecks, is_mandatory: true, needs_media: false };
            assert_eq!(read_task(&write_task(&about)), Ok(about));
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let typed = fields([("name", "x".into()), ("position", "here".into()), ("rate", "much".into())]);
        let bad = read_site(&typed).unwrap_err();
        for name in ["position", "rate", "opens", "time_zone", "address"] {
            assert!(bad.contains(&name), "{name}: {bad:?}");
        }
        assert!(position_of("55.75, 37.61").is_some() && position_of("91, 0").is_none());
    }
}
