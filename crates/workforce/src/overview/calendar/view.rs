//! Markup of the calendar and of a slot's page.

use chrono::{Days, Months, NaiveDate};
use maud::{Markup, html};

use super::grid::grid;
use super::slot::{self, SlotPage, path as slot_path};
use super::{CalendarPage, usual, write_slot};
use crate::domain::days;
use crate::money::{Money, PayrollMonth};
use crate::person::Permission;
use crate::sites::pages::tasks::{self, TaskListPlace};
use crate::sites::{Site, Slot};
use crate::text;
use crate::texts::Language;
use crate::web::Visitor;
use crate::web::form::{Fields, FilledForm, FormAttempt, FormSpec, fields, time_of};

pub fn calendar(visitor: &Visitor, shown: &CalendarPage, attempt: &FormAttempt) -> Markup {
    let language = visitor.language();
    let title = text!(language, "cabinet-nav-calendar");
    let site = shown.sites.iter().find(|one| shown.site == Some(one.id));
    visitor.page(
        &title,
        &html! {
            div.headline { h1 { (title) } (ways(shown, language)) }
            (attempt.notice(language))
            @if let Some(made) = shown.made {
                p.done-line role="status" data-testid="made" { (text!(language, "cabinet-slots-made", count = made)) }
            }
            (filters(shown, language))
            div #calendar data-live="sites shifts" { (grid(shown, language)) }
            @match site {
                Some(site) if shown.access.may(Permission::Schedule, site.id) => {
                    (forms(visitor, shown, site, attempt))
                    @if !shown.deleted.is_empty() { (deleted_slots(visitor, &shown.deleted)) }
                },
                Some(_) => {},
                None if !shown.is_month && shown.has_sums() => p.quiet { (text!(language, "cabinet-choose-site-sums")) },
                None => p.quiet { (text!(language, "cabinet-choose-site")) },
            }
        },
    )
}

/// Links to the previous and the next week or month.
fn ways(shown: &CalendarPage, language: Language) -> Markup {
    let step = |is_back: bool| match (shown.is_month, is_back) {
        (true, true) => shown.day.checked_sub_months(Months::new(1)),
        (true, false) => shown.day.checked_add_months(Months::new(1)),
        (false, true) => shown.day.checked_sub_days(Days::new(7)),
        (false, false) => shown.day.checked_add_days(Days::new(7)),
    };
    let to = |day: Option<NaiveDate>| {
        path(shown, shown.is_month, day.filter(|day| days::is_kept(*day)).unwrap_or(shown.day))
    };
    let last = shown.first.checked_add_days(Days::new(6)).unwrap_or(shown.first);
    html! {
        nav.months aria-label=(text!(language, "cabinet-nav-calendar")) {
            a.button.plain rel="prev" href=(to(step(true))) aria-label=(text!(language, "web-previous")) { "←" }
            strong data-testid="span" {
                @if shown.is_month { (PayrollMonth::containing(shown.day).shown(language)) }
                @else { (shown.first.format("%d.%m.")) " – " (last.format("%d.%m.%Y")) }
            }
            a.button.plain rel="next" href=(to(step(false))) aria-label=(text!(language, "web-next")) { "→" }
        }
    }
}

pub fn path(shown: &CalendarPage, is_month: bool, day: NaiveDate) -> String {
    let site = shown.site.map(|site| site.to_string()).unwrap_or_default();
    format!("/calendar?site={site}&view={}&day={day}", if is_month { "month" } else { "week" })
}

fn filters(shown: &CalendarPage, language: Language) -> Markup {
    html! {
        form.filters method="get" action="/calendar" {
            input type="hidden" name="day" value=(shown.day);
            label { (text!(language, "cabinet-site"))
                select name="site" data-testid="calendar-site" {
                    option value="" { (text!(language, "cabinet-all-sites")) }
                    @for site in &shown.sites { option value=(site.id) selected[shown.site == Some(site.id)] { (site.about.name) } }
                }
            }
            label { (text!(language, "cabinet-view"))
                select name="view" {
                    option value="week" { (text!(language, "cabinet-week")) }
                    option value="month" selected[shown.is_month] { (text!(language, "cabinet-month")) }
                }
            }
            button.plain type="submit" { (text!(language, "cabinet-show")) }
        }
    }
}

/// The forms for a new slot, for every working day, and for copying a week.
fn forms(visitor: &Visitor, shown: &CalendarPage, site: &Site, attempt: &FormAttempt) -> Markup {
    let (language, back) = (visitor.language(), path(shown, shown.is_month, shown.day));
    let may_see_rates = shown.access.may(Permission::Rates, site.id);
    let next = shown.first.checked_add_days(Days::new(7)).unwrap_or(shown.first);
    let mut begins = write_slot(&usual(Some(site), shown.day.max(shown.first)));
    begins.extend(fields([("from", shown.first.to_string()), ("to", shown.last.to_string())]));
    let week = fields([("from", shown.first.to_string()), ("to", next.to_string())]);
    let hidden = html! { input type="hidden" name="site" value=(site.id); };
    let sheet = |path: &'static str,
                 testid: &'static str,
                 caption: &str,
                 now: &Fields,
                 draw: &dyn Fn(&FilledForm<'_>) -> Markup| {
        let sheet = FormSpec { path, now, version: None, back: &back, caption, testid };
        visitor.record_form(attempt, sheet, |form| html! { (hidden) (draw(form)) })
    };
    let new = |form: &FilledForm<'_>| html! { div.row.fields { (form.short("day", &text!(language, "cabinet-day"), "date")) } (slot_fields(form, may_see_rates)) };
    let days = |form: &FilledForm<'_>, from: String, to: String| {
        html! {
            div.row.fields { (form.short("from", &from, "date")) (form.short("to", &to, "date")) }
        }
    };
    let fill = |form: &FilledForm<'_>| html! { (days(form, text!(language, "cabinet-first-day"), text!(language, "cabinet-last-day"))) (slot_fields(form, may_see_rates)) };
    let copy =
        |form: &FilledForm<'_>| days(form, text!(language, "cabinet-copy-from"), text!(language, "cabinet-copy-to"));
    html! {
        details.card #new-slot open[shown.is_new || attempt.is_at("/calendar/slots")] {
            summary data-testid="new-slot" { (text!(language, "cabinet-new-slot")) }
            (sheet("/calendar/slots", "create-slot", &text!(language, "cabinet-create"), &begins, &new))
        }
        details.card #fill-days open[attempt.is_at("/calendar/fill")] {
            summary data-testid="fill-open" { (text!(language, "cabinet-fill")) }
            p.quiet { (text!(language, "cabinet-fill-about")) }
            (sheet("/calendar/fill", "fill", &text!(language, "cabinet-fill-button"), &begins, &fill))
        }
        details.card open[attempt.is_at("/calendar/copy-week")] {
            summary data-testid="copy-open" { (text!(language, "cabinet-copy-week")) }
            @if !may_see_rates { p.quiet { (text!(language, "cabinet-copy-without-rates")) } }
            (sheet("/calendar/copy-week", "copy-week", &text!(language, "cabinet-copy-button"), &week, &copy))
        }
    }
}

/// Deleted slots, with a button to restore them.
fn deleted_slots(visitor: &Visitor, slots: &[Slot]) -> Markup {
    let language = visitor.language();
    html! {
        details.card {
            summary data-testid="deleted-slots" { (text!(language, "cabinet-deleted-slots")) }
            ul.rows {
                @for slot in slots {
                    li.removed data-testid={ "deleted-" (slot.id) } {
                        a href={ "/calendar/slots/" (slot.id) } {
                            (slot.about.day.format("%d.%m.%Y")) " "
                            (time_of(slot.about.hours.from_minute)) "–" (time_of(slot.about.hours.to_minute)) " " (slot.about.title)
                        }
                        (restore(visitor, slot))
                    }
                }
            }
        }
    }
}

fn slot_fields(form: &FilledForm<'_>, may_see_rates: bool) -> Markup {
    let language = form.language;
    html! {
        div.row.fields {
            (form.short("starts", &text!(language, "cabinet-starts"), "time"))
            (form.short("ends", &text!(language, "cabinet-ends"), "time"))
            (form.short("capacity", &text!(language, "cabinet-capacity"), "number"))
            (form.short_if(may_see_rates, "rate", &text!(language, "cabinet-slot-rate"), "text"))
        }
        div.row.fields { (form.line("title", &text!(language, "cabinet-slot-title"), 100)) }
        div.row.choice {
            (form.tick("penalises_lateness", &text!(language, "cabinet-penalises-lateness")))
            (form.tick("ignores_site_tasks", &text!(language, "cabinet-ignores-site-tasks")))
        }
        p.quiet { (text!(language, "cabinet-slot-about")) }
    }
}

pub fn slot(visitor: &Visitor, page: &SlotPage, attempt: &FormAttempt) -> Markup {
    let (language, slot, site) = (visitor.language(), &page.slot, &page.site);
    let title = format!("{}, {}", site.about.name, slot.about.day.format("%d.%m.%Y"));
    let may_edit = page.access.may(Permission::Schedule, site.id) && slot.deleted_at.is_none();
    let rate = Money::from_kopecks(slot.about.rate_kopecks.unwrap_or(site.about.rate_kopecks));
    visitor.page(
        &title,
        &html! {
            p.crumbs { a href={ "/calendar?site=" (site.id) "&day=" (slot.about.day) } { (text!(language, "cabinet-nav-calendar")) } }
            div.headline {
                h1 { (title) }
                span.chip { (time_of(slot.about.hours.from_minute)) "–" (time_of(slot.about.hours.to_minute)) }
            }
            (attempt.notice(language))
            @for warning in &page.warnings {
                p.notice-line role="note" data-testid="warning" { "⚠ " (warning.text(&page.names, language)) }
            }
            div.columns {
                (slot::coming(visitor, page))
                (tasks(visitor, page, attempt))
            }
            @if slot.deleted_at.is_some() { (deleted(visitor, page)) }
            @else if may_edit { (edit(visitor, page, attempt)) }
            @else { section.card { p { (text!(language, "cabinet-rate")) ": " (rate.shown(language)) } } }
        },
    )
}

/// The slot's own tasks.
fn tasks(visitor: &Visitor, page: &SlotPage, attempt: &FormAttempt) -> Markup {
    let is_open = page.slot.deleted_at.is_none() && !page.is_own_case();
    let may_edit = is_open && page.access.may(Permission::Edit, page.site.id);
    let place = TaskListPlace { page: &slot_path(page.slot.id), may_edit, skipped: page.skipped };
    html! {
        section.card {
            h2 { (text!(visitor.language(), "cabinet-slot-tasks")) }
            (tasks::list(visitor, place, &page.tasks, attempt))
        }
    }
}

/// The form of a slot. A person with a place in it may still change title and capacity.
fn edit(visitor: &Visitor, page: &SlotPage, attempt: &FormAttempt) -> Markup {
    let (slot, may_see_rates) = (&page.slot, page.access.may(Permission::Rates, page.site.id));
    let (language, now, path) = (visitor.language(), write_slot(&slot.about), slot_path(slot.id));
    let (caption, version) = (text!(language, "cabinet-save"), Some(slot.version));
    let sheet = FormSpec { path: &path, now: &now, version, back: &path, caption: &caption, testid: "save-slot" };
    html! {
        section.card {
            @if page.is_own_case() { p.quiet data-testid="own-case" { (text!(language, "cabinet-slot-own-case")) } }
            (visitor.record_form(attempt, sheet, |form| html! {
                div.row.fields { (form.short("day", &text!(language, "cabinet-day"), "date")) }
                (slot_fields(form, may_see_rates))
            }))
            @if !page.is_own_case() {
                (visitor.visit.form(&format!("{path}/delete"), &html! {
                    input type="hidden" name="version" value=(slot.version);
                    button.danger type="submit" data-testid="delete-slot" { (text!(language, "cabinet-delete")) }
                }))
            }
        }
    }
}

/// A hint that the slot is deleted, with a button to restore it if its site exists.
fn deleted(visitor: &Visitor, page: &SlotPage) -> Markup {
    let (language, site) = (visitor.language(), &page.site);
    let may_restore = page.access.may(Permission::Schedule, site.id) && site.deleted_at.is_none();
    html! {
        section.card.removed {
            p { (text!(language, "cabinet-slot-deleted")) }
            @if may_restore { (restore(visitor, &page.slot)) }
        }
    }
}

fn restore(visitor: &Visitor, slot: &Slot) -> Markup {
    visitor.visit.form(
        &format!("/calendar/slots/{}/restore", slot.id),
        &html! {
            button.plain.small type="submit" data-testid="restore-slot" { (text!(visitor.language(), "cabinet-restore")) }
        },
    )
}
