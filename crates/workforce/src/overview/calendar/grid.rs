//! Markup of the calendar's days: slots or totals.

use std::collections::HashMap;

use chrono::{Datelike, NaiveDate};
use maud::{Markup, html};

use super::CalendarPage;
use super::days::Day;
use super::view::path;
use crate::person::Permission;
use crate::sites::pages::day_name;
use crate::sites::{DaySlotCounts, Slot};
use crate::text;
use crate::texts::Language;
use crate::web::form::time_of;

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
        div.week.month[shown.is_month] data-testid="calendar" { @for day in days { (grid.day(day)) } }
    }
}

impl Grid<'_> {
    fn day(&self, day: NaiveDate) -> Markup {
        let (shown, language) = (self.shown, self.language);
        let is_other = shown.is_month && day.month() != shown.day.month();
        let may_add = shown.site.is_some_and(|site| shown.access.may(Permission::Schedule, site));
        html! {
            div.day.today[day == shown.today].other[is_other] data-day=(day) {
                p.date {
                    span.quiet { (day_name(usize::try_from(day.weekday().num_days_from_monday()).unwrap_or(0), language)) " " }
                    @if shown.is_month { (day.day()) } @else { (day.format("%d.%m.")) }
                    @if may_add {
                        a.add href={ (path(shown, shown.is_month, day)) "&new=1#new-slot" } data-testid={ "add-" (day) }
                            aria-label=(text!(language, "cabinet-new-slot-on", day = day.format("%d.%m.%Y").to_string())) { "+" }
                    }
                }
                @match shown.by_day.get(&day) {
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
            @if shown.is_month { a.slot.full[taken == places] href=(path(shown, false, day)) data-testid={ "sums-" (day) } { (text) } }
            @else { p.quiet data-testid={ "sums-" (day) } { (text) } }
        }
    }

    fn card(&self, slot: &Slot) -> Markup {
        let (shown, language) = (self.shown, self.language);
        let is_movable = shown.access.may(Permission::Schedule, slot.site_id);
        html! {
            a.slot.full[slot.places_left() == 0] href={ "/calendar/slots/" (slot.id) } draggable="false"
                data-slot=[is_movable.then_some(slot.id)] data-version=(slot.version) data-testid={ "slot-" (slot.id) } {
                strong { (time_of(slot.about.hours.from_minute)) "–" (time_of(slot.about.hours.to_minute)) }
                " " span.chip { (slot.taken) "/" (slot.about.capacity) }
                @if !slot.about.title.is_empty() { span.line { (slot.about.title) } }
                @if shown.site.is_none() { span.line.quiet { (self.site_names.get(&slot.site_id).unwrap_or(&"–")) } }
                @match shown.coming.get(&slot.id) {
                    Some(people) => span.line { (self.names(people)) },
                    None => span.line.quiet { (text!(language, "cabinet-nobody-yet")) },
                }
                @for warning in shown.warnings.get(&slot.id).into_iter().flatten() {
                    span.line.warns { "⚠ " (warning.text(&shown.names, language)) }
                }
            }
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
