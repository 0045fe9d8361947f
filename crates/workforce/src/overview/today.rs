//! Today on the home page: who works, is late or missing, and which sites are open.
//!
//! The day is that of each site by its own clock. Shifts that continue after midnight are shown until they end.

use std::collections::{BTreeSet, HashMap};

use chrono::NaiveDate;
use chrono_tz::Tz;
use maud::{Markup, html};
use opora::clock::Millis;

use crate::application::App;
use crate::person::{Permission, Person};
use crate::shifts::pages::state;
use crate::shifts::{Dashboard, Plan, PlanStatus, Shift, Shifts, minutes_late};
use crate::sites::pages::{Access, open_label};
use crate::sites::{Period, Site, Sites, Slot, local};
use crate::text;
use crate::texts::Language;
use crate::web::{PageError, Section};

/// The data of the section.
struct Today<'a> {
    sites: &'a [Site],
    overview: &'a Dashboard,
    slots: &'a [Slot],
    names: &'a HashMap<i64, String>,
    now: Millis,
    language: Language,
}

/// The current day of each site.
struct Clocks {
    today: HashMap<i64, (Tz, NaiveDate)>,
}

/// The section for people who may view a site.
pub async fn sections(app: &App, viewer: &Person) -> Result<Vec<Section>, PageError> {
    let access = Access::for_person(app, viewer).await?;
    if !access.may_somewhere(Permission::View) {
        return Ok(Vec::new());
    }
    let (sites, now) = (access.sites(app).await?, app.clock.now());
    let ids: Vec<i64> = sites.iter().map(|site| site.id).collect();
    let around = Period::around(now);
    let mut overview = Shifts::of_app(app).dashboard(&ids, around).await?;
    let mut slots = Sites::of_app(app).slots(&ids, around).await?;
    let clock = Clocks::new(&sites, now);
    // A shift that started yesterday may still be on.
    overview.plans.retain(|plan| clock.is_today(plan.site_id, plan.period.from) || plan.period.is_on(now));
    overview.shifts.retain(|shift| shift.ended_at.is_none() || clock.is_today(shift.site_id, shift.started_at));
    slots.retain(|slot| clock.is_today(slot.site_id, slot.period.from));
    let people = overview.plans.iter().map(|plan| plan.user_id).chain(overview.shifts.iter().map(|one| one.user_id));
    let names = app.people.names(people.collect::<BTreeSet<_>>()).await?;
    let language = viewer.language;
    let today = Today { sites: &sites, overview: &overview, slots: &slots, names: &names, now, language };
    Ok(vec![Section { title: text!(language, "cabinet-today"), body: today.draw() }])
}

impl Clocks {
    fn new(sites: &[Site], now: Millis) -> Self {
        let today = sites.iter().map(|site| {
            let zone = site.about.time_zone;
            (site.id, (zone, local(now, zone).date()))
        });
        Self { today: today.collect() }
    }

    fn is_today(&self, site_id: i64, at: Millis) -> bool {
        self.today.get(&site_id).is_some_and(|(zone, day)| local(at, *zone).date() == *day)
    }
}

impl Today<'_> {
    fn draw(&self) -> Markup {
        let language = self.language;
        let working = self.overview.shifts.iter().filter(|shift| shift.ended_at.is_none());
        let late = working.clone().filter(|shift| minutes_late(shift) > 0).count();
        let missing = self.overview.plans.iter().filter(|plan| self.is_missing(plan)).count();
        let counts = [
            (text!(language, "cabinet-working-now"), working.count(), "working", "good"),
            (text!(language, "cabinet-late-today"), late, "late", "wait"),
            (text!(language, "cabinet-not-come"), missing, "missing", "bad"),
            (text!(language, "cabinet-open-sites"), self.overview.openings.len(), "open", "good"),
        ];
        html! {
            div #today data-live="shifts sites clock" {
                div.cards.sums {
                    @for (label, count, name, tone) in &counts {
                        div.card.sum {
                            span { (label) }
                            strong class=[(*count > 0).then_some(*tone)] data-testid={ "today-" (name) } { (count) }
                        }
                    }
                }
                @if self.sites.is_empty() {
                    p.quiet { (text!(language, "cabinet-no-sites")) " " a href="/sites" { (text!(language, "cabinet-new-site")) } }
                }
                div.columns.today { @for site in self.busy_sites() { (self.site(site)) } }
            }
        }
    }

    /// The sites with activity today.
    fn busy_sites(&self) -> impl Iterator<Item = &Site> {
        let all = self.overview.plans.iter().map(|plan| plan.site_id);
        let all = all.chain(self.overview.shifts.iter().map(|shift| shift.site_id));
        let all = all.chain(self.overview.openings.iter().map(|one| one.site_id));
        let busy: BTreeSet<i64> = all.chain(self.slots.iter().map(|slot| slot.site_id)).collect();
        self.sites.iter().filter(move |site| busy.contains(&site.id))
    }

    fn site(&self, site: &Site) -> Markup {
        let language = self.language;
        let is_open = self.overview.openings.iter().any(|opening| opening.site_id == site.id);
        let shifts = self.overview.shifts.iter().filter(|shift| shift.site_id == site.id);
        let waiting = |plan: &&Plan| plan.site_id == site.id && plan.status == PlanStatus::Planned;
        let free: i64 = self.slots.iter().filter(|slot| slot.site_id == site.id).map(Slot::places_left).sum();
        html! {
            section.card data-testid={ "today-site-" (site.id) } {
                div.headline { h2 { a href={ "/sites/" (site.id) } { (site.about.name) } } (open_label(is_open, language)) }
                ul.rows {
                    @for shift in shifts { (self.shift(site, shift)) }
                    @for plan in self.overview.plans.iter().filter(waiting) { (self.plan(site, plan)) }
                }
                @if free > 0 {
                    p.quiet { a href={ "/calendar?site=" (site.id) } { (text!(language, "cabinet-free-places", count = free)) } }
                }
            }
        }
    }

    fn shift(&self, site: &Site, shift: &Shift) -> Markup {
        html! {
            li {
                div {
                    a href={ "/shifts/" (shift.id) } { (self.name(shift.user_id)) }
                    p.quiet {
                        (clock(shift.started_at, site)) " – "
                        @match (shift.ended_at, shift.planned) {
                            (Some(at), _) => (clock(at, site)),
                            (None, Some(planned)) => { "(" (clock(planned.to, site)) ")" },
                            (None, None) => "…",
                        }
                    }
                }
                span { (state(shift, self.language)) }
            }
        }
    }

    fn plan(&self, site: &Site, plan: &Plan) -> Markup {
        let language = self.language;
        let (class, text) = if self.is_missing(plan) {
            ("badge rejected", text!(language, "cabinet-not-come-yet"))
        } else {
            ("badge", text!(language, "cabinet-expected"))
        };
        html! {
            li {
                div {
                    span { (self.name(plan.user_id)) }
                    p.quiet { (clock(plan.period.from, site)) " – " (clock(plan.period.to, site)) }
                }
                span class=(class) { (text) }
            }
        }
    }

    /// The person should have started and has not come.
    fn is_missing(&self, plan: &Plan) -> bool {
        plan.status == PlanStatus::Planned && plan.expected_at() < self.now
    }

    fn name(&self, id: i64) -> &str {
        self.names.get(&id).map_or("–", String::as_str)
    }
}

fn clock(at: Millis, site: &Site) -> String {
    local(at, site.about.time_zone).format("%H:%M").to_string()
}
