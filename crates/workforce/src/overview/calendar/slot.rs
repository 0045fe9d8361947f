//! A slot, in the calendar's side panel or on its own page: its people, whom staff can add and remove, and its tasks.

use std::collections::{BTreeSet, HashMap};

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use chrono::Days;
use maud::{Markup, html};

use super::expected;
use super::place::{CalendarQuery, Place};
use super::undo::Done;
use super::view;
use super::warnings::{self, Warning};
use crate::application::App;
use crate::domain::{ActionError, RefusalReason};
use crate::key;
use crate::money::Money;
use crate::person::{Permission, Person, WORKERS};
use crate::shifts::{Plan, PlanStatus, Shifts};
use crate::sites::pages::{Access, tasks as task_forms};
use crate::sites::{Period, Site, SiteRefusal, Sites, Slot, Task};
use crate::text;
use crate::texts::Language;
use crate::web::form::{
    FieldError, FieldErrors, Fields, FormAttempt, PageRefusal, PageRefusalKind, Reader, Submitted, submit, version_only,
};
use crate::web::ui::{Button, Card, Dialog, Toast};
use crate::web::{PageError, SignedIn, Visitor};

/// The data of the page.
pub struct SlotPage {
    pub access: Access,
    pub site: Site,
    pub slot: Slot,
    pub plans: Vec<Plan>,
    /// The people who can be added; None if no one can be.
    pub free: Option<FreePeople>,
    /// The slot's own tasks, without those of the site.
    pub tasks: Vec<Task>,
    pub names: HashMap<i64, String>,
    pub warnings: Vec<Warning>,
    /// What skipping a mandatory task without a price costs.
    pub skipped: Option<Money>,
    /// Where the calendar is, if the slot is in its side panel.
    pub place: Option<Place>,
}

/// The people who can be added to a slot.
pub enum FreePeople {
    /// No one has a contract for the site.
    NoContracts,
    /// Those who are free then, by name; may be empty.
    Free(Vec<(i64, String)>),
}

/// A refusal that concerns another person than the one who acts.
#[derive(Clone, Copy, Debug)]
pub struct OtherPersonRefusal(pub SiteRefusal);

impl SlotPage {
    /// The hidden field that leads back to the calendar.
    pub fn at(&self) -> Markup {
        html! { @if let Some(place) = self.place { input type="hidden" name="at" value=(place.query()); } }
    }

    /// Whether the visitor has a place here and so may not change its pay.
    pub fn is_own_case(&self) -> bool {
        let is_live = |plan: &&Plan| matches!(plan.status, PlanStatus::Planned | PlanStatus::InProgress);
        self.plans.iter().filter(is_live).any(|plan| !self.access.decides_on(plan.user_id))
    }
}

/// `GET /calendar/slots/<id>`.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, PageError> {
    page(&app, &visitor, id, FormAttempt::default()).await
}

/// `POST /calendar/slots/<id>/plans`: staff add a person.
pub async fn add_person(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let from = CalendarQuery::of_form(&typed);
    let slot = Sites::of_app(&app).slot(id).await?.ok_or(PageError::NotFound)?;
    // People without this permission take a place on their own schedule page.
    let access = Access::for_person(&app, &visitor.person).await?;
    if !access.may(Permission::Schedule, slot.site_id) {
        return Err(PageError::Forbidden);
    }
    // A double click has no plan of its own, and no one cancels their own case here.
    let act = async |user_id| -> Result<Option<i64>, ActionError<OtherPersonRefusal>> {
        let works_here = app.people.by_id(user_id).await?.is_some_and(|person| person.may(WORKERS));
        if !works_here {
            return Err(OtherPersonRefusal(SiteRefusal::NoContract).into());
        }
        let planned = Shifts::of_app(&app).plan(&visitor.person, user_id, id).await;
        let plan = planned.map_err(|error| error.map_refusal(OtherPersonRefusal))?;
        Ok(Some(plan).filter(|_| access.decides_on(user_id)))
    };
    let result = submit(&visitor, typed, chosen, act).await?;
    answer(&app, &visitor, (id, from), result.map(|plan| Done::Assigned { slot: id, plan })).await
}

/// `POST /calendar/slots/<id>/plans/<plan>/cancel`.
pub async fn cancel(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, plan)): Path<(i64, i64)>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (api, from) = (Shifts::of_app(&app), CalendarQuery::of_form(&typed));
    let user = api.plan_of(plan).await?.filter(|plan| plan.slot_id == id).ok_or(PageError::NotFound)?.user_id;
    let act = async |_| api.cancel(&visitor.person, plan).await;
    let result = submit(&visitor, Fields::new(), version_only, act).await?;
    answer(&app, &visitor, (id, from), result.map(|()| Done::TakenOut { slot: id, user })).await
}

/// Redirects to the slot, in the panel or on its page, and says what was done; or shows it again with the refused form.
pub async fn answer(
    app: &App,
    visitor: &Visitor,
    (id, from): (i64, Option<CalendarQuery>),
    done: Submitted<Done>,
) -> Result<Response, PageError> {
    let toast = done.map(|done| done.toast(visitor.language(), from.as_ref()));
    answer_with(app, visitor, (id, from), toast).await
}

/// Redirects to the slot's page after a change of its tasks, or shows it again with the refused form.
pub async fn answer_task(app: &App, visitor: &Visitor, id: i64, done: Submitted<()>) -> Result<Response, PageError> {
    let toast = done.map(|()| Toast::new(text!(visitor.language(), "cabinet-site-saved")));
    answer_with(app, visitor, (id, None), toast).await
}

async fn answer_with(
    app: &App,
    visitor: &Visitor,
    (id, from): (i64, Option<CalendarQuery>),
    toast: Submitted<Toast>,
) -> Result<Response, PageError> {
    let query = from.map(|from| CalendarQuery { slot: id.to_string(), ..from });
    match (toast, query) {
        (Submitted::Done(toast), query) => {
            let back = query.map_or_else(|| path(id), |query| query.path());
            Ok(visitor.redirect(back).with(toast).into_response())
        }
        (Submitted::Refused(attempt), Some(query)) => super::page(app, visitor, &query, attempt).await,
        (Submitted::Refused(attempt), None) => page(app, visitor, id, attempt).await,
    }
}

pub fn path(id: i64) -> String {
    format!("/calendar/slots/{id}")
}

pub async fn page(app: &App, visitor: &Visitor, id: i64, attempt: FormAttempt) -> Result<Response, PageError> {
    let access = Access::for_person(app, &visitor.person).await?;
    // What a visitor may not see is answered like any page that is not theirs.
    let site_id = Sites::of_app(app).slot(id).await?.ok_or(PageError::NotFound)?.site_id;
    if !access.may(Permission::View, site_id) {
        return Err(PageError::Forbidden);
    }
    let page = load(app, access, id).await?.ok_or(PageError::NotFound)?;
    Ok((attempt.status(), view::slot(visitor, &page, &attempt)).into_response())
}

/// A slot with its people and tasks; None if it does not exist or may not be seen.
pub async fn load(app: &App, access: Access, id: i64) -> Result<Option<SlotPage>, PageError> {
    let (api, shifts) = (Sites::of_app(app), Shifts::of_app(app));
    let Some(slot) = api.slot(id).await?.filter(|slot| access.may(Permission::View, slot.site_id)) else {
        return Ok(None);
    };
    let site = api.site(slot.site_id).await?.ok_or(PageError::NotFound)?;
    let has_room = slot.deleted_at.is_none() && slot.period.to > app.clock.now() && slot.places_left() > 0;
    let may_put = has_room && access.may(Permission::Schedule, site.id);
    let workers = if may_put { api.workers_at(site.id, slot.about.day).await? } else { BTreeSet::new() };
    let plans = shifts.plans_for(std::slice::from_ref(&slot)).await?;
    let people: BTreeSet<i64> = plans.iter().map(|plan| plan.user_id).chain(workers.iter().copied()).collect();
    // One more day at either side, because a night shift touches two days.
    let before = slot.about.day.checked_sub_days(Days::new(1)).unwrap_or(slot.about.day);
    let around = Period::of_days(before, 3, site.about.time_zone).ok_or(PageError::NotFound)?;
    let (ids, here, now) = (people.iter().copied().collect::<Vec<_>>(), [site.id], app.clock.now());
    let expected = expected::people(&plans, now);
    let (everywhere, people, beside, tasks, work) = tokio::try_join!(
        shifts.plans_of_people(&people, around),
        app.people.with_ids(&ids),
        api.slots(&here, around),
        api.tasks_of_slot(id),
        api.workplaces(&expected)
    )?;
    let mut warnings = HashMap::from([(id, warnings::warnings_of_slot(&slot, &site, &beside, &everywhere))]);
    expected::warn_without_contract(&plans, &work, now, &mut warnings);
    let warnings = warnings.remove(&id).unwrap_or_default();
    let free = may_put.then(|| match workers.is_empty() {
        true => FreePeople::NoContracts,
        false => FreePeople::Free(free(&people, &workers, &everywhere, &slot)),
    });
    let names = people.into_iter().map(|person| (person.id, person.full_name)).collect();
    let skipped = task_forms::skipped(app).await?;
    Ok(Some(SlotPage { access, site, slot, plans, free, tasks, names, warnings, skipped, place: None }))
}

/// People with a contract here and without an overlapping plan, by name.
fn free(people: &[Person], workers: &BTreeSet<i64>, plans: &[Plan], slot: &Slot) -> Vec<(i64, String)> {
    let counts = |plan: &&Plan| matches!(plan.status, PlanStatus::Planned | PlanStatus::InProgress);
    let busy: BTreeSet<i64> =
        plans.iter().filter(counts).filter(|plan| plan.period.overlaps(slot.period)).map(|plan| plan.user_id).collect();
    let is_free = |person: &&Person| workers.contains(&person.id) && !busy.contains(&person.id) && person.may(WORKERS);
    let mut free: Vec<_> = people.iter().filter(is_free).map(|person| (person.id, person.full_name.clone())).collect();
    free.sort_by(|one, other| one.1.cmp(&other.1).then(one.0.cmp(&other.0)));
    free
}

impl RefusalReason for OtherPersonRefusal {
    fn parse(refusal: &str) -> Option<Self> {
        SiteRefusal::parse(refusal).map(Self)
    }
}

impl PageRefusal for OtherPersonRefusal {
    fn text(self, language: Language) -> String {
        match self.0 {
            SiteRefusal::Overlap => text!(language, "cabinet-other-overlap"),
            SiteRefusal::NoContract => text!(language, "cabinet-other-no-contract"),
            why => why.text(language),
        }
    }

    fn refusal_kind(self) -> PageRefusalKind {
        self.0.refusal_kind()
    }

    fn field_error(self) -> Option<FieldError> {
        self.0.field_error()
    }
}

/// Reads the person to be added.
fn chosen(typed: &Fields) -> Result<i64, FieldErrors> {
    let mut reader = Reader::new(typed);
    let user_id = reader.read("user", key!("web-form-bad-choice"), |text| text.parse().ok());
    reader.bad.or(user_id)
}

/// The people of the slot, with the forms to add and remove them.
pub fn coming(visitor: &Visitor, page: &SlotPage) -> Markup {
    let (language, slot) = (visitor.language(), &page.slot);
    html! {
        (Card::untitled().id("plans").live("shifts").render(&html! {
            h2 { (text!(language, "cabinet-who-comes")) " " span.chip { (slot.taken) "/" (slot.about.capacity) } }
            @if page.plans.is_empty() { p.quiet { (text!(language, "cabinet-no-one-yet")) } }
            ul.rows { @for plan in &page.plans { (plan_row(visitor, page, plan)) } }
            @if let Some(free) = &page.free { (add_person_form(visitor, page, free)) }
        }))
    }
}

fn plan_row(visitor: &Visitor, page: &SlotPage, plan: &Plan) -> Markup {
    let name = page.names.get(&plan.user_id).map_or("–", String::as_str);
    let may_handle = page.access.may(Permission::Schedule, plan.site_id) && page.access.decides_on(plan.user_id);
    let may_cancel = may_handle && plan.status == PlanStatus::Planned;
    html! {
        li data-testid={ "plan-" (plan.id) } {
            span { (name) }
            @if may_cancel { (taking_out(visitor, page, plan, name)) }
        }
    }
}

/// The question before a person loses the shift.
fn taking_out(visitor: &Visitor, page: &SlotPage, plan: &Plan, name: &str) -> Markup {
    let (language, id) = (visitor.language(), format!("take-out-{}", plan.id));
    let (asks, testid) = (format!("ask-cancel-{}", plan.id), format!("cancel-{}", plan.id));
    let title = text!(language, "cabinet-take-out-sure", name = name);
    let cancel = text!(language, "cabinet-take-out-not");
    let body = html! {
        p { (text!(language, "cabinet-take-out-about")) }
        (visitor.visit.form(&format!("{}/plans/{}/cancel", path(page.slot.id), plan.id), &html! {
            (page.at())
            (Button::danger(&text!(language, "cabinet-take-out")).testid(&testid).submit())
        }))
    };
    html! {
        (Button::danger(&text!(language, "cabinet-take-out-ask")).small().testid(&asks).opens(&id))
        (Dialog { id: &id, title: &title, cancel: &cancel, is_open: false }.render(&body))
    }
}

fn add_person_form(visitor: &Visitor, page: &SlotPage, free: &FreePeople) -> Markup {
    let language = visitor.language();
    let free = match free {
        FreePeople::NoContracts => return no_contracts(page, language),
        FreePeople::Free(free) if free.is_empty() => {
            return html! { p.quiet data-testid="no-one-free" { (text!(language, "overview-everyone-busy")) } };
        }
        FreePeople::Free(free) => free,
    };
    visitor.visit.form(
        &format!("{}/plans", path(page.slot.id)),
        &html! {
            (page.at())
            div.row.fields {
                label { (text!(language, "cabinet-put-person"))
                    select name="user" data-testid="free" { @for (id, name) in free { option value=(id) { (name) } } }
                }
                (Button::primary(&text!(language, "cabinet-put-button")).testid("put").submit())
            }
        },
    )
}

/// Without a contract no one can be assigned, so the way to a contract is shown.
fn no_contracts(page: &SlotPage, language: Language) -> Markup {
    let may_hire = page.access.may(Permission::Employees, page.site.id);
    html! {
        p.quiet data-testid="no-one-free" {
            (text!(language, "overview-no-contracts"))
            @if may_hire { " " a href={ "/contracts/new?site=" (page.site.id) } { (text!(language, "cabinet-offer-contract")) } }
        }
    }
}

/// What the side panel and the slot's page share: warnings, people, and the form.
pub fn body(visitor: &Visitor, page: &SlotPage, attempt: &FormAttempt) -> Markup {
    let language = visitor.language();
    let live = page.tasks.iter().filter(|task| task.deleted_at.is_none()).count();
    html! {
        @for warning in &page.warnings {
            p.notice-line role="note" data-testid="warning" { (warning.text(&page.names, language)) }
        }
        (coming(visitor, page))
        @if page.place.is_some() {
            p {
                a data-testid="slot-page" href=(path(page.slot.id)) { (text!(language, "overview-slot-tasks", count = live)) }
            }
        }
        (view::slot_form(visitor, page, attempt))
    }
}
