//! The calendar: slots and their people by week or month, for one site or all.
//!
//! Everything works with links and forms. With the page's script, a slot can also be dragged to another day, days can
//! be dragged over, and panels open without a new page.

use std::collections::{BTreeSet, HashMap, HashSet};

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use chrono::{Datelike, Days, NaiveDate};
use opora::clock::Millis;

use crate::application::App;
use crate::person::Permission;
use crate::settings::TIME_ZONE;
use crate::shifts::{Plan, Shifts};
use crate::sites::pages::Access;
use crate::sites::{Period, Site, Sites, Slot, local, monday_of};
use crate::web::form::FormAttempt;
use crate::web::{PageError, SignedIn, Visitor};

mod changes;
mod days;
mod expected;
mod grid;
mod panel;
mod place;
mod slot;
mod slot_form;
mod undo;
mod view;
mod warnings;

pub use self::changes::{
    copy_week, create, create_task, delete, delete_task, edit, edit_task, fill, move_to_day, restore, restore_task,
    take_back,
};
use self::days::{Day, Limits};
pub use self::grid::colour;
use self::place::{CalendarQuery, Place};
use self::slot::SlotPage;
pub use self::slot::{add_person, cancel, show as show_slot};
use self::warnings::Warning;

/// A month is shown as whole weeks.
const WEEKS_OF_MONTH: u64 = 6;

/// The data of the calendar.
struct CalendarPage {
    access: Access,
    sites: Vec<Site>,
    /// The selected site, week or month, and the requested day.
    place: Place,
    today: NaiveDate,
    now: Millis,
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
    panel: Panel,
}

/// The open side panel.
enum Panel {
    None,
    New { on: NaiveDate },
    Fill { on: NaiveDate, until: NaiveDate },
    Copy,
    Slot(Box<SlotPage>),
}

impl CalendarPage {
    fn has_sums(&self) -> bool {
        self.by_day.values().any(|day| matches!(day, Day::Sums { .. }))
    }

    /// The sites whose schedule the visitor may change.
    fn schedulable(&self) -> impl Iterator<Item = &Site> {
        self.sites.iter().filter(|site| self.access.may(Permission::Schedule, site.id))
    }

    /// The site that new slots are for, unless the visitor chooses another.
    fn usual_site(&self) -> Option<&Site> {
        let selected = self.schedulable().find(|site| self.place.site == Some(site.id));
        selected.or_else(|| self.schedulable().next())
    }

    /// Whether the visitor may add slots to what is shown.
    fn may_add(&self) -> bool {
        match self.place.site {
            Some(site) => self.access.may(Permission::Schedule, site),
            None => self.schedulable().next().is_some(),
        }
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
    let is_month = query.is_month();
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
    let place = Place { site, is_month, day };
    let panel = panel(app, query, &access, place, (first, last)).await?;
    Ok(CalendarPage { access, sites, place, today, now, first, last, by_day, coming, names, warnings, deleted, panel })
}

/// The panel that the address asks for. A slot that the visitor may not see opens none.
async fn panel(
    app: &App,
    query: &CalendarQuery,
    access: &Access,
    place: Place,
    (first, last): (NaiveDate, NaiveDate),
) -> Result<Panel, PageError> {
    if let Ok(id) = query.slot.parse() {
        let slot = slot::load(app, access.clone(), id).await?;
        return Ok(slot.map_or(Panel::None, |slot| Panel::Slot(Box::new(SlotPage { place: Some(place), ..slot }))));
    }
    if !access.may_somewhere(Permission::Schedule) {
        return Ok(Panel::None);
    }
    Ok(match query.panel.as_str() {
        "new" => Panel::New { on: query.on.day_or(place.day)? },
        "fill" => Panel::Fill { on: query.on.day_or(first)?, until: query.until.day_or(last)? },
        "copy" => Panel::Copy,
        _ => Panel::None,
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
