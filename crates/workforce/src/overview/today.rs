//! Today on the front page: what needs attention first, then numbers, then every site with its people.
//!
//! The day is that of each site by its own clock. Shifts that continue after midnight are shown until they end.

use std::collections::{BTreeSet, HashMap};

use chrono::NaiveDate;
use chrono_tz::Tz;
use maud::{Markup, html};
use opora::clock::Millis;

use self::attention::attention;
use self::site_row::{site_day, site_row};
use super::dates;
use crate::application::App;
use crate::person::{Permission, Person};
use crate::registration::{ExpiringDocument, Registrations};
use crate::settings::TIME_ZONE;
use crate::shifts::{Dashboard, Plan, Shifts, is_missing, minutes_late};
use crate::sites::pages::Access;
use crate::sites::{Period, Site, Sites, Slot, local};
use crate::text;
use crate::texts::Language;
use crate::web::ui::{Card, page_title};
use crate::web::{PageError, Section, Visitor};

mod attention;
mod checklist;
mod site_row;

/// The data of the page.
struct Today {
    sites: Vec<Site>,
    overview: Dashboard,
    slots: Vec<Slot>,
    names: HashMap<i64, String>,
    /// Documents that are expired or expire soon; none for other people than owners.
    expiring: Vec<ExpiringDocument>,
    now: Millis,
    /// By the clock of the first site, or of a business without one.
    day: NaiveDate,
    language: Language,
}

/// The current day of each site.
struct Clocks {
    today: HashMap<i64, (Tz, NaiveDate)>,
}

/// The top of the front page, for people who may view a site.
pub async fn front_page(app: &App, visitor: &Visitor) -> Result<Option<Markup>, PageError> {
    let access = Access::for_person(app, &visitor.person).await?;
    if !access.may_somewhere(Permission::View) {
        return Ok(None);
    }
    let mut today = load(app, &visitor.person, access.sites(app).await?).await?;
    if access.is_owner() {
        today.expiring = Registrations::of_app(app).expiring(today.day).await?;
    }
    let checklist = if access.is_owner() {
        checklist::checklist(app, &today.sites, visitor).await?
    } else {
        html! {}
    };
    let language = visitor.language();
    Ok(Some(html! {
        div.today-head {
            (page_title(&dates::long_day(today.day, language), None))
            p.quiet { (text!(language, "web-greeting", name = visitor.person.full_name.as_str())) }
        }
        (checklist)
        div #today data-live="shifts sites people clock" { (today.draw(visitor)) }
    }))
}

/// The day of one site, for the site's page.
pub async fn of_site(app: &App, viewer: &Person, site: &Site) -> Result<Vec<Section>, PageError> {
    if site.deleted_at.is_some() {
        return Ok(Vec::new());
    }
    let today = load(app, viewer, vec![site.clone()]).await?;
    let title = format!("{}: {}", text!(viewer.language, "cabinet-today"), dates::long_day(today.day, viewer.language));
    Ok(vec![Section { title, body: html! { div #today data-live="shifts sites clock" { (site_day(&today, site)) } } }])
}

async fn load(app: &App, viewer: &Person, sites: Vec<Site>) -> Result<Today, PageError> {
    let now = app.clock.now();
    // One query less for a business whose sites share its clock, which is nearly every one.
    let zone = match sites.first() {
        Some(site) => site.about.time_zone,
        None => app.settings.get(&TIME_ZONE).await?,
    };
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
    let day = local(now, zone).date();
    Ok(Today { sites, overview, slots, names, expiring: Vec::new(), now, day, language: viewer.language })
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

impl Today {
    fn draw(&self, visitor: &Visitor) -> Markup {
        let language = self.language;
        html! {
            (attention(self, visitor))
            @if !self.sites.is_empty() {
                (self.tiles())
                (Card::new(&text!(language, "overview-sites")).class("sites-today").render(&html! {
                    @let busy = self.busy_sites();
                    @if busy.is_empty() { p.quiet { (text!(language, "overview-no-activity")) } }
                    @for site in busy { (site_row(self, site)) }
                }))
            }
        }
    }

    fn tiles(&self) -> Markup {
        let (language, day) = (self.language, self.day);
        let working = self.overview.shifts.iter().filter(|shift| shift.ended_at.is_none());
        let late = working.clone().filter(|shift| minutes_late(shift) > 0).count();
        let missing = self.missing().count();
        let shifts = format!("/shifts?from={day}&to={day}");
        let tiles = [
            (text!(language, "cabinet-working-now"), working.count(), ("working", "good"), shifts.clone()),
            (text!(language, "cabinet-late-today"), late, ("late", "wait"), shifts),
            (text!(language, "cabinet-not-come"), missing, ("missing", "bad"), format!("/calendar?day={day}")),
            (
                text!(language, "cabinet-open-sites"),
                self.overview.openings.len(),
                ("open", "good"),
                "/sites".to_owned(),
            ),
        ];
        html! {
            div.cards.sums.tiles {
                @for (label, count, (name, tone), path) in &tiles {
                    a.card.tile href=(path) {
                        span { (label) }
                        strong class=[(*count > 0).then(|| format!("tone-{tone}"))] data-testid={ "today-" (name) } { (count) }
                    }
                }
            }
        }
    }

    /// The sites with activity today.
    fn busy_sites(&self) -> Vec<&Site> {
        let all = self.overview.plans.iter().map(|plan| plan.site_id);
        let all = all.chain(self.overview.shifts.iter().map(|shift| shift.site_id));
        let all = all.chain(self.overview.openings.iter().map(|one| one.site_id));
        let busy: BTreeSet<i64> = all.chain(self.slots.iter().map(|slot| slot.site_id)).collect();
        self.sites.iter().filter(|site| busy.contains(&site.id)).collect()
    }

    /// The plans of people who should be at work and have not come, with their sites.
    fn missing(&self) -> impl Iterator<Item = (&Plan, &Site)> {
        let plans = self.overview.plans.iter().filter_map(|plan| Some((plan, self.site(plan.site_id)?)));
        plans.filter(|(plan, site)| is_missing(plan, &site.about, self.now))
    }

    fn site(&self, id: i64) -> Option<&Site> {
        self.sites.iter().find(|site| site.id == id)
    }

    fn name(&self, id: i64) -> &str {
        self.names.get(&id).map_or("–", String::as_str)
    }
}

fn clock(at: Millis, site: &Site) -> String {
    local(at, site.about.time_zone).format("%H:%M").to_string()
}
