//! Markup of the calendar and of a slot's page.

use chrono::{Days, Months, NaiveDate};
use maud::{Markup, html};

use super::CalendarPage;
use super::grid::{colour, grid};
use super::panel::{panel, slot_fields};
use super::slot::{self, SlotPage, path as slot_path};
use super::slot_form::write_slot;
use crate::domain::days;
use crate::money::{Money, PayrollMonth};
use crate::overview::dates;
use crate::person::Permission;
use crate::sites::Slot;
use crate::sites::pages::tasks::{self, TaskListPlace};
use crate::text;
use crate::texts::Language;
use crate::web::Visitor;
use crate::web::form::{FormAttempt, FormSpec};
use crate::web::ui::{Button, Card, Empty, Icon, headline};

pub fn calendar(visitor: &Visitor, shown: &CalendarPage, attempt: &FormAttempt) -> Markup {
    let language = visitor.language();
    let title = text!(language, "cabinet-nav-calendar");
    let is_empty = shown.sites.is_empty();
    visitor.page(
        &title,
        &html! {
            div.calendar-page {
                (headline(&title, &html! {
                    @if !is_empty { (ways(shown, language)) }
                    @if shown.may_add() { (adding(shown, language)) }
                }))
                (attempt.notice(language))
                @if is_empty { (empty(shown, language)) } @else {
                    (filters(shown, language))
                    div #calendar data-live="sites shifts" data-place=(shown.place.query()) data-adds[shown.may_add()] { (grid(shown, language)) }
                    @if shown.place.site.is_none() && !shown.place.is_month && shown.has_sums() {
                        p.quiet { (text!(language, "cabinet-choose-site-sums")) }
                    }
                    @if !shown.deleted.is_empty() { (deleted_slots(visitor, shown)) }
                }
                (panel(visitor, shown, attempt))
            }
        },
    )
}

/// A business without a site has nothing to plan yet.
fn empty(shown: &CalendarPage, language: Language) -> Markup {
    let (title, text) = (text!(language, "overview-calendar-empty"), text!(language, "overview-calendar-empty-about"));
    html! {
        div data-testid="empty-calendar" {
            (Empty { icon: Icon::Calendar, title: &title, text: &text }.render(&html! {
                @if shown.access.is_owner() { a.button href="/sites" { (text!(language, "overview-add-site")) } }
            }))
        }
    }
}

/// Buttons for new slots.
fn adding(shown: &CalendarPage, language: Language) -> Markup {
    html! {
        div.row.adding {
            a.button href=(shown.place.panel("new")) data-panel="open" data-testid="new-slot" { (text!(language, "cabinet-new-slot")) }
            a.button.plain href=(shown.place.panel("fill")) data-panel="open" data-testid="fill-open" { (text!(language, "overview-fill")) }
            a.button.plain href=(shown.place.panel("copy")) data-panel="open" data-testid="copy-open" { (text!(language, "cabinet-copy-week")) }
        }
    }
}

/// Links to today, and to the previous and the next week or month.
fn ways(shown: &CalendarPage, language: Language) -> Markup {
    let place = shown.place;
    let step = |is_back: bool| match (place.is_month, is_back) {
        (true, true) => place.day.checked_sub_months(Months::new(1)),
        (true, false) => place.day.checked_add_months(Months::new(1)),
        (false, true) => place.day.checked_sub_days(Days::new(7)),
        (false, false) => place.day.checked_add_days(Days::new(7)),
    };
    let to = |day: Option<NaiveDate>| {
        super::Place { day: day.filter(|day| days::is_kept(*day)).unwrap_or(place.day), ..place }.path()
    };
    let last = shown.first.checked_add_days(Days::new(6)).unwrap_or(shown.first);
    html! {
        nav.months aria-label=(text!(language, "cabinet-nav-calendar")) {
            a.button.plain href=(to(Some(shown.today))) data-testid="to-today" { (text!(language, "cabinet-today")) }
            a.button.plain rel="prev" href=(to(step(true))) aria-label=(text!(language, "web-previous")) { (Icon::ChevronLeft.svg()) }
            a.button.plain rel="next" href=(to(step(false))) aria-label=(text!(language, "web-next")) { (Icon::ChevronRight.svg()) }
            strong data-testid="span" {
                @if place.is_month { (PayrollMonth::containing(place.day).shown(language)) }
                @else { (dates::day_range(shown.first, last, language)) }
            }
        }
    }
}

/// The filter applies at once with the script, and by its button without it.
fn filters(shown: &CalendarPage, language: Language) -> Markup {
    let place = shown.place;
    let view = |is_month: bool, caption: String| {
        let is_shown = place.is_month == is_month;
        html! {
            a href=(super::Place { is_month, ..place }.path()) aria-current=[is_shown.then_some("true")] { (caption) }
        }
    };
    html! {
        div.filters.calendar-filters {
            nav.views aria-label=(text!(language, "cabinet-view")) {
                (view(false, text!(language, "cabinet-week")))
                (view(true, text!(language, "cabinet-month")))
            }
            form.row method="get" action="/calendar" data-instant {
                input type="hidden" name="day" value=(place.day);
                input type="hidden" name="view" value=(if place.is_month { "month" } else { "week" });
                select name="site" data-testid="calendar-site" aria-label=(text!(language, "cabinet-site")) {
                    option value="" { (text!(language, "cabinet-all-sites")) }
                    @for site in &shown.sites { option value=(site.id) selected[place.site == Some(site.id)] { (site.about.name) } }
                }
                (Button::plain(&text!(language, "cabinet-show")).without_script().submit())
            }
            @if place.site.is_none() { (legend(shown)) }
        }
    }
}

const MAX_IN_LEGEND: usize = 10;

/// The colours of the sites.
fn legend(shown: &CalendarPage) -> Markup {
    html! {
        ul.legend {
            @for site in shown.sites.iter().take(MAX_IN_LEGEND) {
                li { span class={ "dot " (colour(site.id)) } {} (site.about.name) }
            }
        }
    }
}

/// Deleted slots, with a button to restore them.
fn deleted_slots(visitor: &Visitor, shown: &CalendarPage) -> Markup {
    let language = visitor.language();
    html! {
        details.card {
            summary data-testid="deleted-slots" { (text!(language, "cabinet-deleted-slots")) }
            ul.rows {
                @for slot in &shown.deleted {
                    li.removed data-testid={ "deleted-" (slot.id) } {
                        a href={ "/calendar/slots/" (slot.id) } {
                            (dates::day(slot.about.day, language)) " " (dates::hours(slot.about.hours, language)) " " (slot.about.title)
                        }
                        (restore(visitor, slot, &html! { input type="hidden" name="at" value=(shown.place.query()); }))
                    }
                }
            }
        }
    }
}

pub fn slot(visitor: &Visitor, page: &SlotPage, attempt: &FormAttempt) -> Markup {
    let (language, slot, site) = (visitor.language(), &page.slot, &page.site);
    let title = format!("{}, {}", site.about.name, dates::day(slot.about.day, language));
    visitor.page(
        &title,
        &html! {
            p.crumbs { a href={ "/calendar?site=" (site.id) "&day=" (slot.about.day) } { (text!(language, "cabinet-nav-calendar")) } }
            (headline(&title, &html! { span.chip { (dates::hours(slot.about.hours, language)) } }))
            (attempt.notice(language))
            div.columns.slot-page {
                div { (slot::body(visitor, page, attempt)) }
                (tasks(visitor, page, attempt))
            }
        },
    )
}

/// The form of the slot, or what stands in its place.
pub fn slot_form(visitor: &Visitor, page: &SlotPage, attempt: &FormAttempt) -> Markup {
    let (language, slot, site) = (visitor.language(), &page.slot, &page.site);
    let may_edit = page.access.may(Permission::Schedule, site.id);
    let rate = Money::from_kopecks(slot.about.rate_kopecks.unwrap_or(site.about.rate_kopecks));
    html! {
        @if slot.deleted_at.is_some() { (deleted(visitor, page)) }
        @else if may_edit { (edit(visitor, page, attempt)) }
        @else { (Card::untitled().render(&html! { p { (text!(language, "cabinet-rate")) ": " (rate.shown(language)) } })) }
    }
}

/// The slot's own tasks.
fn tasks(visitor: &Visitor, page: &SlotPage, attempt: &FormAttempt) -> Markup {
    let is_open = page.slot.deleted_at.is_none() && !page.is_own_case();
    let may_edit = is_open && page.access.may(Permission::Edit, page.site.id);
    let path = slot_path(page.slot.id);
    let place = TaskListPlace { page: &path, back: &path, may_edit, skipped: page.skipped };
    html! {
        (Card::new(&text!(visitor.language(), "cabinet-slot-tasks")).render(&html! {
            (tasks::list(visitor, place, &page.tasks, attempt))
        }))
    }
}

/// The form of a slot. A person with a place in it may still change title and capacity.
fn edit(visitor: &Visitor, page: &SlotPage, attempt: &FormAttempt) -> Markup {
    let (slot, may_see_rates) = (&page.slot, page.access.may(Permission::Rates, page.site.id));
    let (language, now, path) = (visitor.language(), write_slot(&slot.about, visitor.language()), slot_path(slot.id));
    let (caption, version) = (text!(language, "cabinet-save"), Some(slot.version));
    let sheet = FormSpec { path: &path, now: &now, version, back: &path, caption: &caption, testid: "save-slot" };
    html! {
        (Card::untitled().render(&html! {
            @if page.is_own_case() { p.quiet data-testid="own-case" { (text!(language, "cabinet-slot-own-case")) } }
            (visitor.record_form(attempt, sheet, |form| html! {
                (page.at())
                div.row.fields { (form.short("day", &text!(language, "cabinet-day"), "date")) }
                (slot_fields(form, may_see_rates))
            }))
            @if !page.is_own_case() {
                (visitor.visit.form(&format!("{path}/delete"), &html! {
                    (page.at())
                    input type="hidden" name="version" value=(slot.version);
                    (Button::danger(&text!(language, "cabinet-delete")).testid("delete-slot").submit())
                }))
            }
        }))
    }
}

/// A hint that the slot is deleted, with a button to restore it if its site exists.
fn deleted(visitor: &Visitor, page: &SlotPage) -> Markup {
    let (language, site) = (visitor.language(), &page.site);
    let may_restore = page.access.may(Permission::Schedule, site.id) && site.deleted_at.is_none();
    html! {
        (Card::untitled().class("removed").render(&html! {
            p { (text!(language, "cabinet-slot-deleted")) }
            @if may_restore { (restore(visitor, &page.slot, &page.at())) }
        }))
    }
}

fn restore(visitor: &Visitor, slot: &Slot, at: &Markup) -> Markup {
    visitor.visit.form(
        &format!("/calendar/slots/{}/restore", slot.id),
        &html! {
            (at)
            (Button::plain(&text!(visitor.language(), "cabinet-restore")).small().testid("restore-slot").submit())
        },
    )
}
