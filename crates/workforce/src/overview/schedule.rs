//! The visitor's own schedule: plans, and free slots to take, with a warning about long days.

use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use chrono::Datelike;
use maud::{Markup, html};
use serde::Deserialize;

use crate::application::App;
use crate::person::{Person, WORKERS};
use crate::shifts::{LONG_DAY_MINUTES, Plan, Shifts, minutes_of_day, plannable};
use crate::sites::pages::{day_name, pager};
use crate::sites::{Period, Site, Sites, Slot};
use crate::text;
use crate::texts::Language;
use crate::web::form::{Fields, FormAttempt, Submitted, submit, version_only};
use crate::web::ui::{Button, Card, headline};
use crate::web::{self, PageError, PageNumber, Section, SignedIn, Visit, Visitor};

const PAGE_SIZE: usize = 60;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ListQuery {
    page: PageNumber,
}

/// The data of the schedule.
struct Schedule {
    /// The sites of active contracts, and those of remaining plans whose contract has ended or is suspended.
    sites: Vec<Site>,
    plans: Vec<Plan>,
    /// The hours of these plans and of recent shifts.
    hours: Vec<Period>,
    /// The free slots, by start.
    places: Vec<Slot>,
}

/// A summary for the home page of workers.
pub async fn sections(app: &App, viewer: &Person) -> Result<Vec<Section>, PageError> {
    if !viewer.may(WORKERS) {
        return Ok(Vec::new());
    }
    let (schedule, language) = (schedule(app, viewer).await?, viewer.language);
    if schedule.sites.is_empty() {
        return Ok(Vec::new());
    }
    let body = html! {
        div #own-plans data-live="shifts sites" {
            (plans(&schedule, language))
            p {
                a.button.plain href="/schedule" data-testid="to-schedule" {
                    (text!(language, "cabinet-free-places-here", count = schedule.places.len()))
                }
            }
        }
    };
    Ok(vec![Section { title: text!(language, "cabinet-nav-schedule"), body }])
}

/// `GET /schedule`.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(query): Query<ListQuery>,
) -> Result<Response, PageError> {
    page(&app, &visitor, query.page, &FormAttempt::default()).await
}

/// `POST /schedule/slots/<id>/take`.
pub async fn take(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, PageError> {
    worker(&visitor)?;
    let (api, own) = (Shifts::of_app(&app), visitor.person.id);
    let act = async |_| api.plan(&visitor.person, own, id).await.map(drop);
    match submit(&visitor, Fields::new(), version_only, act).await? {
        Submitted::Done(()) => {
            let done = text!(visitor.language(), "cabinet-place-taken");
            Ok(visitor.redirect("/schedule").with_toast(done).into_response())
        }
        Submitted::Refused(attempt) => page(&app, &visitor, PageNumber::FIRST, &attempt).await,
    }
}

fn worker(visitor: &Visitor) -> Result<(), PageError> {
    if visitor.person.may(WORKERS) { Ok(()) } else { Err(PageError::Forbidden) }
}

async fn page(app: &App, visitor: &Visitor, number: PageNumber, attempt: &FormAttempt) -> Result<Response, PageError> {
    worker(visitor)?;
    let (schedule, language) = (schedule(app, &visitor.person).await?, visitor.language());
    // If the list has become shorter, its last page is shown.
    let pages = schedule.places.len().div_ceil(PAGE_SIZE).max(1);
    let number = number.within(pages);
    let shown = schedule.places.iter().skip((number - 1) * PAGE_SIZE).take(PAGE_SIZE);
    let title = text!(language, "cabinet-nav-schedule");
    let body = html! {
        (headline(&title, &html! {}))
        (attempt.notice(language))
        div #schedule data-live="shifts sites" {
            (Card::new(&text!(language, "cabinet-my-plans")).render(&html! {
                (plans(&schedule, language))
                @if !schedule.plans.is_empty() { (way_to_cancel(app, language)) }
            }))
            (Card::new(&text!(language, "cabinet-free-now")).render(&html! {
                @if schedule.places.is_empty() { p.quiet { (text!(language, "cabinet-nothing-free")) } }
                ul.rows data-testid="places" { @for slot in shown { (place(&visitor.visit, &schedule, slot, language)) } }
                (pager("/schedule", number, pages, language))
            }))
        }
    };
    Ok((attempt.status(), visitor.page(&title, &body)).into_response())
}

async fn schedule(app: &App, person: &Person) -> Result<Schedule, PageError> {
    let (api, now) = (Sites::of_app(app), app.clock.now());
    let mut sites = api.sites_of_worker(person.id).await?;
    let ids: Vec<i64> = sites.iter().map(|site| site.id).collect();
    let own = Shifts::of_app(app);
    let (mut places, plans) = tokio::try_join!(api.slots(&ids, plannable(now)), own.plans_of(person.id, now))?;
    let hours = own.hours_of(person.id, &plans, now).await?;
    let elsewhere: Vec<i64> = plans.iter().map(|plan| plan.site_id).filter(|id| !ids.contains(id)).collect();
    if !elsewhere.is_empty() {
        sites.extend(api.with_ids(&elsewhere).await?);
    }
    let contracts = api.active_contracts_of(person.id).await?;
    let has_contract = |slot: &Slot| contracts.iter().any(|one| one.about.covers(slot.site_id, slot.about.day));
    let is_free = |slot: &Slot| slot.places_left() > 0 && slot.period.to > now && has_contract(slot);
    places.retain(|slot| is_free(slot) && plans.iter().all(|plan| plan.slot_id != slot.id));
    Ok(Schedule { sites, plans, hours, places })
}

fn plans(schedule: &Schedule, language: Language) -> Markup {
    html! {
        @if schedule.plans.is_empty() { p.quiet { (text!(language, "cabinet-no-plans")) } }
        ul.rows data-testid="own-plans" {
            @for plan in &schedule.plans {
                li { div { strong { (name(schedule, plan.site_id)) } p.quiet { (when(schedule, plan.site_id, plan.period, language)) } } }
            }
        }
    }
}

/// A plan is cancelled in the bot, because it needs a reason.
fn way_to_cancel(app: &App, language: Language) -> Markup {
    let button = text!(language, "shifts-mine-button");
    html! {
        p.quiet data-testid="how-to-cancel" {
            (text!(language, "cabinet-cancel-in-bot", button = button)) " "
            @if let Some(bot) = app.bot_link() { a href=(bot) { (text!(language, "cabinet-to-bot")) } }
        }
    }
}

fn place(visit: &Visit, schedule: &Schedule, slot: &Slot, language: Language) -> Markup {
    let is_taken = schedule.plans.iter().any(|plan| plan.period.overlaps(slot.period));
    let site = schedule.sites.iter().find(|site| site.id == slot.site_id);
    let minutes = site.map_or(0, |site| minutes_of_day(slot.period, &schedule.hours, &site.about));
    html! {
        li data-testid={ "place-" (slot.id) } {
            div {
                strong { (name(schedule, slot.site_id)) }
                @if !slot.about.title.is_empty() { " " span.chip { (slot.about.title) } }
                p.quiet { (when(schedule, slot.site_id, slot.period, language)) }
                @if is_taken { p.now { (text!(language, "shifts-overlap-warning")) } }
                @else if minutes > LONG_DAY_MINUTES {
                    p.now { (text!(language, "shifts-long-day-warning", hours = (minutes + 30) / 60)) }
                }
            }
            @if !is_taken {
                (visit.form(&format!("/schedule/slots/{}/take", slot.id), &html! {
                    (Button::primary(&text!(language, "cabinet-take-place")).small().testid(&format!("take-{}", slot.id)).submit())
                }))
            }
        }
    }
}

fn name(schedule: &Schedule, site_id: i64) -> &str {
    schedule.sites.iter().find(|site| site.id == site_id).map_or("–", |site| site.about.name.as_str())
}

/// A day with its hours, by the site's clock.
fn when(schedule: &Schedule, site_id: i64, period: Period, language: Language) -> String {
    let Some(site) = schedule.sites.iter().find(|site| site.id == site_id) else { return String::new() };
    let period = period.local(site.about.time_zone);
    let day = period.from.date();
    let weekday = day_name(usize::try_from(day.weekday().num_days_from_monday()).unwrap_or(0), language);
    format!("{weekday} {}, {}", web::day(day, language), period.hours(language))
}
