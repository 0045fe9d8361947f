//! Markup of the calendar's days: slots or totals.

use std::collections::HashMap;

use chrono::{Datelike, NaiveDate};
use maud::{Markup, html};

use super::CalendarPage;
use super::days::Day;
use super::place::Place;
use crate::overview::dates;
use crate::person::Permission;
use crate::sites::pages::day_name;
use crate::sites::{DaySlotCounts, Slot};
use crate::text;
use crate::texts::Language;

const MAX_NAMES: usize = 4;

/// What the days are drawn from.
struct Grid<'a> {
    shown: &'a CalendarPage,
    site_names: HashMap<i64, &'a str>,
    language: Language,
}

pub fn grid(shown: &CalendarPage, language: Language) -> Markup {
    let site_names = shown.sites.iter().map(|site| (site.id, site.about.name.as_str())).collect();
    let grid = Grid { shown, site_names, language };
    let days = shown.first.iter_days().take_while(|day| *day <= shown.last);
    html! {
        div.week.month[shown.place.is_month] data-testid="calendar" { @for day in days { (grid.day(day)) } }
    }
}

impl Grid<'_> {
    fn day(&self, day: NaiveDate) -> Markup {
        let (shown, language) = (self.shown, self.language);
        let place = shown.place;
        let is_other = place.is_month && day.month() != place.day.month();
        let slots = shown.by_day.get(&day);
        html! {
            div.day.today[day == shown.today].past[day < shown.today].other[is_other].bare[slots.is_none()] data-day=(day) {
                p.date {
                    span.quiet { (day_name(usize::try_from(day.weekday().num_days_from_monday()).unwrap_or(0), language)) " " }
                    span.number { @if place.is_month { (day.day()) } @else { (dates::short_day(day, language)) } }
                    @if shown.may_add() {
                        a.add href={ (place.panel("new")) "&on=" (day) } data-panel="open" data-testid={ "add-" (day) }
                            aria-label=(text!(language, "cabinet-new-slot-on", day = dates::day(day, language))) { "+" }
                    }
                }
                @match slots {
                    Some(Day::Slots(slots)) => { @for slot in slots { (self.card(slot)) } },
                    Some(Day::Sums { counted, warned }) => (self.sums(day, counted, *warned)),
                    None => {},
                }
            }
        }
    }

    /// A day with too many slots to draw. In a month it links to the week; in a week the visitor should select a site.
    fn sums(&self, day: NaiveDate, counted: &DaySlotCounts, warned: Option<usize>) -> Markup {
        let (shown, language) = (self.shown, self.language);
        let DaySlotCounts { slots, places, taken, .. } = counted;
        let text = html! {
            (text!(language, "cabinet-day-slots", count = *slots, taken = *taken, places = *places))
            @match warned {
                None => { " " span.quiet { "· " (text!(language, "cabinet-day-not-looked-at")) } },
                Some(0) => {},
                Some(warned) => {
                    " " span.warns title=(text!(language, "cabinet-day-warns", count = warned as i64)) { "⚠ " (warned) }
                },
            }
        };
        html! {
            @if shown.place.is_month {
                a.slot.sums.past[day < shown.today].gap[taken < places && day >= shown.today]
                    href=(Place { is_month: false, day, ..shown.place }.path()) data-testid={ "sums-" (day) } { (text) }
            }
            @else { p.quiet data-testid={ "sums-" (day) } { (text) } }
        }
    }

    /// A slot: one line in a month, a small card in a week.
    fn card(&self, slot: &Slot) -> Markup {
        let (shown, language) = (self.shown, self.language);
        let is_movable = shown.access.may(Permission::Schedule, slot.site_id);
        let is_past = slot.period.to <= shown.now;
        let is_gap = slot.places_left() > 0 && !is_past;
        let hours = dates::hours(slot.about.hours, language);
        let site = self.site_names.get(&slot.site_id).copied().unwrap_or("–");
        let class = format!("slot {}", colour(slot.site_id));
        html! {
            a class={ (class) @if is_past { " past" } @if is_gap { " gap" } } href=(shown.place.slot(slot.id))
                title=[shown.place.is_month.then(|| format!("{hours} · {site}"))] draggable="false" data-slot=[is_movable.then_some(slot.id)] data-version=(slot.version) data-testid={ "slot-" (slot.id) } {
                span.first {
                    strong { @if shown.place.is_month { (begin(slot)) } @else { (hours) } }
                    @if shown.place.is_month { " " span.name { (self.caption(slot, site)) } }
                    " " span.places { (slot.taken) "/" (slot.about.capacity) }
                }
                @if !shown.place.is_month { (self.details(slot, site, is_gap)) }
                @else if shown.warnings.contains_key(&slot.id) { span.warns title=(text!(language, "cabinet-day-warns", count = 1)) { "⚠" } }
            }
        }
    }

    fn details(&self, slot: &Slot, site: &str, is_gap: bool) -> Markup {
        let (shown, language) = (self.shown, self.language);
        html! {
            @if !slot.about.title.is_empty() { span.line { (slot.about.title) } }
            @if shown.place.site.is_none() { span.line.quiet { (site) } }
            @match shown.coming.get(&slot.id) {
                Some(people) => span.line.people { (self.names(people)) },
                None if is_gap => span.line.quiet { (text!(language, "cabinet-no-one-yet")) },
                None => {},
            }
            @for warning in shown.warnings.get(&slot.id).into_iter().flatten() {
                span.line.warns { "⚠ " (warning.text(&shown.names, language)) }
            }
        }
    }

    /// What a line in a month says beside the time: who comes, else the position, else the site.
    fn caption(&self, slot: &Slot, site: &str) -> String {
        match self.shown.coming.get(&slot.id) {
            Some(people) => self.names(people),
            None if !slot.about.title.is_empty() => slot.about.title.clone(),
            None => site.to_owned(),
        }
    }

    fn names(&self, people: &[i64]) -> String {
        let name = |id: &i64| self.shown.names.get(id).map_or("–", String::as_str);
        let names = people.iter().take(MAX_NAMES).map(name).collect::<Vec<_>>().join(", ");
        match people.len().saturating_sub(MAX_NAMES) {
            0 => names,
            more => format!("{names}, +{more}"),
        }
    }
}

fn begin(slot: &Slot) -> String {
    crate::web::form::time_of(slot.about.hours.from_minute)
}

/// The colours that the style sheet has for sites.
const COLOURS: i64 = 10;

/// The class with the colour of a site. It never changes.
pub fn colour(site_id: i64) -> String {
    format!("site-{}", site_id.rem_euclid(COLOURS))
}
