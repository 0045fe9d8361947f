//! A slot's page: who comes, whom staff put there or take out, and what is to be done in it.

use std::collections::{BTreeSet, HashMap};

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use chrono::Days;
use maud::{Markup, html};

use super::expected;
use super::view;
use super::warnings::{self, Warning};
use crate::application::App;
use crate::domain::{NotDone, Rule};
use crate::person::{Permission, Person, WORKERS};
use crate::shifts::{Plan, PlanStatus, Shifts};
use crate::sites::pages::Access;
use crate::sites::{Period, Site, Sites, Slot, Task, Why};
use crate::text;
use crate::texts::Language;
use crate::web::form::{Attempt, Fields, Means, Reader, Told, carry_out, seen};
use crate::web::{Oops, SignedIn, Visitor};

/// What the page shows.
pub struct Whole {
    pub access: Access,
    pub site: Site,
    pub slot: Slot,
    pub plans: Vec<Plan>,
    /// Who may be put here, by name; none where nobody may be.
    free: Option<Vec<(i64, String)>>,
    /// Its own, besides the site's.
    pub tasks: Vec<Task>,
    pub names: HashMap<i64, String>,
    pub warnings: Vec<Warning>,
}

/// What a rule says to whoever plans for somebody else, or moves what others have planned.
#[derive(Clone, Copy, Debug)]
pub struct OfAnother(pub Why);

impl Whole {
    /// Whether whoever looks has a place here, and so does not decide on what it pays.
    pub fn is_own_case(&self) -> bool {
        let is_live = |plan: &&Plan| matches!(plan.status, PlanStatus::Planned | PlanStatus::InProgress);
        self.plans.iter().filter(is_live).any(|plan| !self.access.decides_on(plan.user_id))
    }
}

/// `GET /calendar/slots/<id>`.
pub async fn show(State(app): State<App>, SignedIn(visitor): SignedIn, Path(id): Path<i64>) -> Result<Response, Oops> {
    page(&app, &visitor, id, Attempt::default()).await
}

/// `POST /calendar/slots/<id>/plans`: staff put somebody there.
pub async fn put(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let slot = Sites::of_app(&app).slot(id).await?.ok_or(Oops::NotFound)?;
    // Whoever has no say here takes a place of their own on another page.
    if !Access::of(&app, &visitor.person).await?.may(Permission::Schedule, slot.site_id) {
        return Err(Oops::Forbidden);
    }
    let act = async |user_id| -> Result<(), NotDone<OfAnother>> {
        let works_here = app.people.by_id(user_id).await?.is_some_and(|person| person.may(WORKERS));
        if !works_here {
            return Err(OfAnother(Why::NoContract).into());
        }
        let planned = Shifts::of_app(&app).plan(&visitor.person, user_id, id).await;
        planned.map(drop).map_err(|error| error.told_as(OfAnother))
    };
    answer(&app, &visitor, id, carry_out(&visitor, typed, chosen, act).await?).await
}

/// `POST /calendar/slots/<id>/plans/<plan>/cancel`.
pub async fn cancel(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, plan)): Path<(i64, i64)>,
) -> Result<Response, Oops> {
    let doors = Shifts::of_app(&app);
    doors.plan_of(plan).await?.filter(|plan| plan.slot_id == id).ok_or(Oops::NotFound)?;
    let act = async |_| doors.cancel(&visitor.person, plan).await;
    answer(&app, &visitor, id, carry_out(&visitor, Fields::new(), seen, act).await?).await
}

/// Back to the slot, or its page again with what did not go.
pub async fn answer(app: &App, visitor: &Visitor, id: i64, went: Result<(), Attempt>) -> Result<Response, Oops> {
    match went {
        Ok(()) => Ok(Redirect::to(&path(id)).into_response()),
        Err(attempt) => page(app, visitor, id, attempt).await,
    }
}

pub fn path(id: i64) -> String {
    format!("/calendar/slots/{id}")
}

pub async fn page(app: &App, visitor: &Visitor, id: i64, attempt: Attempt) -> Result<Response, Oops> {
    let access = Access::of(app, &visitor.person).await?;
    let (doors, shifts) = (Sites::of_app(app), Shifts::of_app(app));
    let slot = doors.slot(id).await?.ok_or(Oops::NotFound)?;
    if !access.may(Permission::View, slot.site_id) {
        return Err(Oops::Forbidden);
    }
    let site = doors.of(slot.site_id).await?.ok_or(Oops::NotFound)?;
    let has_room = slot.deleted_at.is_none() && slot.period.to > app.clock.now() && slot.places_left() > 0;
    let may_put = has_room && access.may(Permission::Schedule, site.id);
    let workers = if may_put { doors.workers_at(site.id).await? } else { BTreeSet::new() };
    let plans = shifts.plans_for(std::slice::from_ref(&slot)).await?;
    let people: BTreeSet<i64> = plans.iter().map(|plan| plan.user_id).chain(workers.iter().copied()).collect();
    // A day to either side: nights begin on one and end on another.
    let before = slot.about.day.checked_sub_days(Days::new(1)).unwrap_or(slot.about.day);
    let around = Period::of_days(before, 3, site.about.time_zone).ok_or(Oops::NotFound)?;
    let (ids, here, now) = (people.iter().copied().collect::<Vec<_>>(), [site.id], app.clock.now());
    let expected = expected::people(&plans, now);
    let (everywhere, people, beside, tasks, work) = tokio::try_join!(
        shifts.plans_of_people(&people, around),
        app.people.with_ids(&ids),
        doors.slots(&here, around),
        doors.tasks_of_slot(id),
        doors.where_they_work(&expected)
    )?;
    let mut warnings = HashMap::from([(id, warnings::about(&slot, &site, &beside, &everywhere))]);
    expected::look(&plans, &work, now, &mut warnings);
    let warnings = warnings.remove(&id).unwrap_or_default();
    let free = may_put.then(|| free(&people, &workers, &everywhere, &slot));
    let names = people.into_iter().map(|person| (person.id, person.full_name)).collect();
    let whole = Whole { access, site, slot, plans, free, tasks, names, warnings };
    Ok((attempt.status(), view::slot(visitor, &whole, &attempt)).into_response())
}

/// Those who work here and have nothing planned at that time, by name.
fn free(people: &[Person], workers: &BTreeSet<i64>, plans: &[Plan], slot: &Slot) -> Vec<(i64, String)> {
    let counts = |plan: &&Plan| matches!(plan.status, PlanStatus::Planned | PlanStatus::InProgress);
    let busy: BTreeSet<i64> =
        plans.iter().filter(counts).filter(|plan| plan.period.overlaps(slot.period)).map(|plan| plan.user_id).collect();
    let is_free = |person: &&Person| workers.contains(&person.id) && !busy.contains(&person.id) && person.may(WORKERS);
    let mut free: Vec<_> = people.iter().filter(is_free).map(|person| (person.id, person.full_name.clone())).collect();
    free.sort_by(|one, other| one.1.cmp(&other.1).then(one.0.cmp(&other.0)));
    free
}

impl Rule for OfAnother {
    fn of(refusal: &str) -> Option<Self> {
        Why::of(refusal).map(Self)
    }
}

impl Told for OfAnother {
    fn words(self, language: Language) -> String {
        match self.0 {
            Why::Overlap => text!(language, "cabinet-other-overlap"),
            Why::NoContract => text!(language, "cabinet-other-no-contract"),
            why => why.words(language),
        }
    }

    fn means(self) -> Means {
        self.0.means()
    }
}

/// Who is to be put there.
fn chosen(typed: &Fields) -> Result<i64, Vec<&'static str>> {
    let mut reader = Reader::new(typed);
    let user_id = reader.number("user");
    if reader.bad.is_empty() { Ok(user_id) } else { Err(reader.bad) }
}

/// Who comes, with the ways to change that.
pub fn coming(visitor: &Visitor, whole: &Whole) -> Markup {
    let (language, slot) = (visitor.language(), &whole.slot);
    html! {
        section.card #plans data-live="shifts" {
            h2 { (text!(language, "cabinet-who-comes")) " " span.chip { (slot.taken) "/" (slot.about.capacity) } }
            @if whole.plans.is_empty() { p.quiet { (text!(language, "cabinet-nobody-yet")) } }
            ul.rows { @for plan in &whole.plans { (planned(visitor, whole, plan)) } }
            @if let Some(free) = &whole.free { (putting(visitor, slot, free)) }
        }
    }
}

fn planned(visitor: &Visitor, whole: &Whole, plan: &Plan) -> Markup {
    let language = visitor.language();
    let may_handle = whole.access.may(Permission::Schedule, plan.site_id) && whole.access.decides_on(plan.user_id);
    let may_cancel = may_handle && plan.status == PlanStatus::Planned;
    html! {
        li data-testid={ "plan-" (plan.id) } {
            span { (whole.names.get(&plan.user_id).map_or("–", String::as_str)) }
            @if may_cancel {
                (visitor.visit.form(&format!("{}/plans/{}/cancel", path(whole.slot.id), plan.id), &html! {
                    button.danger.small type="submit" data-testid={ "cancel-" (plan.id) }
                        data-confirm=(text!(language, "cabinet-take-out-sure")) { (text!(language, "cabinet-take-out")) }
                }))
            }
        }
    }
}

fn putting(visitor: &Visitor, slot: &Slot, free: &[(i64, String)]) -> Markup {
    let language = visitor.language();
    if free.is_empty() {
        return html! { p.quiet data-testid="nobody-free" { (text!(language, "cabinet-nobody-free")) } };
    }
    visitor.visit.form(
        &format!("{}/plans", path(slot.id)),
        &html! {
            div.row.fields {
                label { (text!(language, "cabinet-put-somebody"))
                    select name="user" data-testid="free" { @for (id, name) in free { option value=(id) { (name) } } }
                }
            }
            button type="submit" data-testid="put" { (text!(language, "cabinet-put-button")) }
        },
    )
}
