//! The part of the main menu for workers. It follows the situation: at work, with a plan for today, free, or without a
//! contract.

use opora::clock::Millis;
use opora::prelude::BoxError;

use super::opening::{self, plans_to_open};
use super::{Plan, Shift, Shifts, closing, marking, mine, overdue, planning, site_access, site_opening, when};
use crate::application::App;
use crate::person::{Person, SITE_STAFF, WORKERS};
use crate::rooms::{MenuButton, MenuItem, MenuPart};
use crate::sites::{Site, Sites, local};
use crate::texts::{Language, duration};
use crate::{key, text};

const OPEN: MenuItem = item(key!("shifts-open-button"), opening::BEGIN);
const TASKS: MenuItem = item(key!("shifts-tasks-button"), marking::BEGIN);
const CLOSE: MenuItem = item(key!("shifts-close-button"), closing::BEGIN);
const PLAN: MenuItem = item(key!("shifts-plan-button"), planning::BEGIN);
const MINE: MenuItem = item(key!("shifts-mine-button"), mine::MINE);
const OPEN_SITE: MenuItem = item(key!("shifts-open-site-button"), site_opening::OPEN);
const CLOSE_SITE: MenuItem = item(key!("shifts-close-site-button"), site_opening::CLOSE);

/// All buttons, in any situation.
pub const ALL: [MenuItem; 7] = [OPEN, TASKS, CLOSE, PLAN, MINE, OPEN_SITE, CLOSE_SITE];

const fn item(caption: &'static str, data: &'static str) -> MenuItem {
    MenuItem { caption, data, roles: WORKERS }
}

/// What a worker's menu depends on.
struct Situation {
    shift: Option<Shift>,
    /// Whether the shift should have been closed by now, so another one may be opened.
    is_forgotten: bool,
    /// The plans of today, by the clocks of their sites.
    today: Vec<Plan>,
    /// Whether a plan can be opened now.
    may_open_plan: bool,
    /// Sites with a contract.
    own: Vec<Site>,
    /// Sites of the shift and of the plans.
    known: Vec<Site>,
    is_any_open: bool,
    is_any_closed: bool,
}

/// The menu of a person now; empty for people who do not work shifts.
pub async fn now(app: &App, person: &Person, now: Millis) -> Result<MenuPart, BoxError> {
    if !person.may(WORKERS) {
        return Ok(MenuPart::default());
    }
    let situation = Situation::read(app, person, now).await?;
    let buttons = situation.buttons(person.language);
    let lines = situation.lines(person, now);
    Ok(MenuPart { lines, buttons })
}

impl Situation {
    async fn read(app: &App, person: &Person, now: Millis) -> Result<Self, BoxError> {
        let (shifts, sites) = (Shifts::of_app(app), Sites::of_app(app));
        let shift = shifts.active_of(person.id).await?;
        let plans = shifts.plans_of(person.id, now).await?;
        let own = sites.sites_of_worker(person.id).await?;
        let ids: Vec<_> = plans.iter().map(|plan| plan.site_id).chain(shift.iter().map(|one| one.site_id)).collect();
        let known = if ids.is_empty() { Vec::new() } else { sites.with_ids(&ids).await? };
        let own_ids: Vec<_> = own.iter().map(|site| site.id).collect();
        // Also those that the person has opened or works at, although the contract has ended since.
        let openings = site_access::openings_of(app, person.id, &own_ids).await?;
        let is_open = |site: &Site| openings.iter().any(|opening| opening.site_id == site.id);
        let is_today = |plan: &Plan| {
            let site = known.iter().find(|site| site.id == plan.site_id);
            site.is_some_and(|site| {
                let day = |at| local(at, site.about.time_zone).date();
                day(plan.period.from) == day(now) || plan.period.is_on(now)
            })
        };
        let waiting = plans_to_open(&plans, now);
        let may_open_plan = !waiting.is_empty();
        let planned = plans.iter().filter(|plan| plan.status == super::PlanStatus::Planned);
        let today = planned.filter(|plan| is_today(plan)).cloned().collect();
        let is_forgotten = shift.as_ref().is_some_and(|shift| {
            let site = known.iter().find(|site| site.id == shift.site_id);
            site.is_some_and(|site| {
                overdue(shift.started_at, shift.planned.map(|planned| planned.to), &site.about).ends_at <= now
            })
        });
        let (is_any_open, is_any_closed) = (!openings.is_empty(), own.iter().any(|site| !is_open(site)));
        Ok(Self { shift, is_forgotten, today, may_open_plan, own, known, is_any_open, is_any_closed })
    }

    fn buttons(&self, language: Language) -> Vec<MenuButton> {
        let has_contract = !self.own.is_empty();
        let (first, then): (&[MenuItem], &[MenuItem]) = match (&self.shift, self.may_open_plan, has_contract) {
            (Some(_), ..) if self.is_forgotten => (&[TASKS, CLOSE], &[OPEN, MINE, PLAN]),
            (Some(_), ..) => (&[TASKS, CLOSE], &[MINE, PLAN]),
            (None, true, _) => (&[OPEN], &[MINE, PLAN]),
            (None, false, true) => (&[], &[PLAN, MINE, OPEN]),
            (None, false, false) => (&[], &[MINE]),
        };
        let first = first.iter().map(|item| item.button(language).urgent());
        let then = then.iter().map(|item| item.button(language));
        let open_site = self.is_any_closed.then(|| OPEN_SITE.button(language));
        let close_site = self.is_any_open.then(|| CLOSE_SITE.button(language));
        first.chain(then).chain(open_site).chain(close_site).collect()
    }

    fn lines(&self, person: &Person, now: Millis) -> Vec<String> {
        let language = person.language;
        let site_of = |id: i64| self.known.iter().find(|site| site.id == id);
        let mut lines = Vec::new();
        if let Some(shift) = &self.shift
            && let Some(site) = site_of(shift.site_id)
        {
            let since = local(shift.started_at, site.about.time_zone).format("%H:%M").to_string();
            let time = duration((now.0 - shift.started_at.0) / 1000, language);
            let name = site.about.name.as_str();
            lines.push(text!(language, "shifts-menu-at-work", site = name, since = since, time = time));
        }
        for plan in &self.today {
            if let Some(site) = site_of(plan.site_id) {
                let (name, when) = (site.about.name.as_str(), when(plan.period, site, language));
                lines.push(text!(language, "shifts-menu-today", site = name, when = when));
            }
        }
        let is_idle = self.shift.is_none() && self.today.is_empty() && self.own.is_empty();
        // Managers see what they manage without a contract of their own.
        if is_idle && !person.may(SITE_STAFF) {
            lines.push(text!(language, "shifts-no-sites"));
        }
        lines
    }
}
