//! Today, on the front page: who works where, who is late, who has not come, and which sites are open.
//!
//! A day is that of each site, by its own clock; what goes on over midnight is shown until it is over.

use std::collections::{BTreeMap, HashMap};

use chrono::NaiveDate;
use chrono_tz::Tz;
use maud::{Markup, html};
use opora::clock::Millis;

use crate::application::App;
use crate::person::{Permission, Person};
use crate::shifts::pages::state;
use crate::shifts::{Overview, Plan, PlanStatus, Shift, Shifts, minutes_late};
use crate::sites::pages::{Access, open_label};
use crate::sites::{Period, Site, Sites, Slot, local};
use crate::text;
use crate::texts::Language;
use crate::web::{Oops, Section};

/// What the page is drawn from.
struct Today<'a> {
    sites: &'a [Site],
    overview: &'a Overview,
    slots: &'a [Slot],
    names: &'a HashMap<i64, String>,
    now: Millis,
    language: Language,
}

/// The day at each site, by its own clock.
struct Clocks {
    today: HashMap<i64, (Tz, NaiveDate)>,
}

/// For whoever runs something: the sites of today. Others get nothing here.
pub async fn sections(app: &App, viewer: &Person) -> Result<Vec<Section>, Oops> {
    let access = Access::of(app, viewer).await?;
    if !access.may_somewhere(Permission::View) {
        return Ok(Vec::new());
    }
    let (sites, now) = (access.sites(app).await?, app.clock.now());
    let ids: Vec<i64> = sites.iter().map(|site| site.id).collect();
    let around = Period::around(now);
    let mut overview = Shifts::of_app(app).today(&ids, around).await?;
    let mut slots = Sites::of_app(app).slots(&ids, around).await?;
    let clock = Clocks::of(&sites, now);
    // What began yesterday may go on still.
    overview.plans.retain(|plan| clock.is_today(plan.site_id, plan.period.from) || plan.period.is_on(now));
    overview.shifts.retain(|shift| shift.ended_at.is_none() || clock.is_today(shift.site_id, shift.started_at));
    slots.retain(|slot| clock.is_today(slot.site_id, slot.period.from));
    let people = overview.plans.iter().map(|plan| plan.user_id).chain(overview.shifts.iter().map(|one| one.user_id));
    let names = app.people.names(people.collect::<std::collections::BTreeSet<_>>()).await?;
    let language = viewer.language;
    let today = Today { sites: &sites, overview: &overview, slots: &slots, names: &names, now, language };
    Ok(vec![Section { title: text!(language, "cabinet-today"), body: today.draw() }])
}

impl Clocks {
    fn of(sites: &[Site], now: Millis) -> Self {
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
                div.columns.today { @for (site, is_quiet) in self.busy_first() { @if !is_quiet { (self.site(site)) } } }
            }
        }
    }

    /// Sites where something is on today, and whether there is nothing.
    fn busy_first(&self) -> Vec<(&Site, bool)> {
        let mut busy: BTreeMap<i64, bool> = BTreeMap::new();
        let all = self.overview.plans.iter().map(|plan| plan.site_id);
        let all = all.chain(self.overview.shifts.iter().map(|shift| shift.site_id));
        let all = all.chain(self.overview.openings.iter().map(|one| one.site_id));
        for id in all.chain(self.slots.iter().map(|slot| slot.site_id)) {
            busy.insert(id, true);
        }
        self.sites.iter().map(|site| (site, !busy.contains_key(&site.id))).collect()
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
        let (class, words) = if self.is_missing(plan) {
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
                span class=(class) { (words) }
            }
        }
    }

    /// The start is over, and nobody came.
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
