//! The side panel of the calendar: a slot, or a form for new slots.

use chrono::{Days, NaiveDate};
use maud::{Markup, html};

use super::slot::{self, SlotPage};
use super::slot_form::{usual, write_slot};
use super::{CalendarPage, Panel};
use crate::overview::dates;
use crate::person::Permission;
use crate::text;
use crate::web::Visitor;
use crate::web::form::{Fields, FilledForm, FormAttempt, FormSpec, fields};
use crate::web::ui::side_panel;

/// One of the forms for new slots.
struct NewSlotsForm<'a> {
    path: &'static str,
    testid: &'static str,
    caption: String,
    now: &'a Fields,
}

/// The open panel; an empty place without one.
pub fn panel(visitor: &Visitor, shown: &CalendarPage, attempt: &FormAttempt) -> Markup {
    let language = visitor.language();
    let (title, body) = match &shown.panel {
        Panel::None => return html! { div #side {} },
        Panel::Slot(page) => (page.site.about.name.clone(), slot_panel(visitor, page, attempt)),
        Panel::New { on } => (text!(language, "cabinet-new-slot"), new(visitor, shown, attempt, *on)),
        Panel::Fill { on, until } => (text!(language, "overview-fill"), fill(visitor, shown, attempt, (*on, *until))),
        Panel::Copy => (text!(language, "cabinet-copy-week"), copy(visitor, shown, attempt)),
    };
    html! { div #side { (side_panel(&title, &shown.place.path(), &text!(language, "overview-close"), &body)) } }
}

fn slot_panel(visitor: &Visitor, page: &SlotPage, attempt: &FormAttempt) -> Markup {
    let (language, slot) = (visitor.language(), &page.slot);
    html! {
        p.slot-when {
            span class={ "dot " (super::grid::colour(slot.site_id)) } {}
            span.words { (dates::long_day(slot.about.day, language)) ", " (dates::hours(slot.about.hours, language)) }
        }
        (slot::body(visitor, page, attempt))
    }
}

fn new(visitor: &Visitor, shown: &CalendarPage, attempt: &FormAttempt, on: NaiveDate) -> Markup {
    let language = visitor.language();
    let now = begins(visitor, shown, on);
    let (path, testid, caption) = ("/calendar/slots", "create-slot", text!(language, "cabinet-create"));
    sheet(visitor, shown, attempt, &NewSlotsForm { path, testid, caption, now: &now }, |form| {
        html! {
            div.row.fields { (form.short("day", &text!(language, "cabinet-day"), "date")) }
            (slot_fields(form, may_see_rates(shown)))
        }
    })
}

fn fill(visitor: &Visitor, shown: &CalendarPage, attempt: &FormAttempt, days: (NaiveDate, NaiveDate)) -> Markup {
    let language = visitor.language();
    let mut now = begins(visitor, shown, days.0);
    let which =
        [("every", text!(language, "overview-every-day")), ("working", text!(language, "overview-working-days"))];
    now.extend(fields([("from", days.0.to_string()), ("to", days.1.to_string()), ("which", "every".to_owned())]));
    let (path, testid, caption) = ("/calendar/fill", "fill", text!(language, "overview-fill-button"));
    html! {
        p.quiet { (text!(language, "overview-fill-about")) }
        (sheet(visitor, shown, attempt, &NewSlotsForm { path, testid, caption, now: &now }, |form| html! {
            (first_and_last(form, &text!(language, "cabinet-first-day"), &text!(language, "cabinet-last-day")))
            (form.radios("which", &which))
            (slot_fields(form, may_see_rates(shown)))
        }))
    }
}

fn copy(visitor: &Visitor, shown: &CalendarPage, attempt: &FormAttempt) -> Markup {
    let language = visitor.language();
    let next = shown.first.checked_add_days(Days::new(7)).unwrap_or(shown.first);
    let mut now = fields([("from", shown.first.to_string()), ("to", next.to_string())]);
    now.extend(begins_at(shown));
    let (path, testid, caption) = ("/calendar/copy-week", "copy-week", text!(language, "cabinet-copy-button"));
    html! {
        @if !may_see_rates(shown) { p.quiet { (text!(language, "cabinet-copy-without-rates")) } }
        (sheet(visitor, shown, attempt, &NewSlotsForm { path, testid, caption, now: &now }, |form| {
            first_and_last(form, &text!(language, "cabinet-copy-from"), &text!(language, "cabinet-copy-to"))
        }))
    }
}

/// A form that asks for the site first.
fn sheet(
    visitor: &Visitor,
    shown: &CalendarPage,
    attempt: &FormAttempt,
    about: &NewSlotsForm<'_>,
    draw: impl FnOnce(&FilledForm<'_>) -> Markup,
) -> Markup {
    let (back, language) = (shown.place.path(), visitor.language());
    let NewSlotsForm { path, testid, caption, now } = about;
    let spec = FormSpec { path, now, version: None, back: &back, caption, testid };
    visitor.record_form(attempt, spec, |form| {
        html! {
            input type="hidden" name="at" value=(shown.place.query());
            div.row.fields {
                label.wide { (text!(language, "cabinet-site"))
                    select name="site" data-testid="slot-site" required {
                        @for site in shown.schedulable() {
                            option value=(site.id) selected[form.value("site") == site.id.to_string()]
                                data-starts=(crate::web::form::time_of(site.about.hours.from_minute))
                                data-ends=(crate::web::form::time_of(site.about.hours.to_minute)) { (site.about.name) }
                        }
                    }
                }
            }
            (draw(form))
        }
    })
}

fn first_and_last(form: &FilledForm<'_>, from: &str, to: &str) -> Markup {
    html! { div.row.fields { (form.short("from", from, "date")) (form.short("to", to, "date")) } }
}

fn begins(visitor: &Visitor, shown: &CalendarPage, on: NaiveDate) -> Fields {
    let mut now = write_slot(&usual(shown.usual_site(), on), visitor.language());
    now.extend(begins_at(shown));
    now
}

fn begins_at(shown: &CalendarPage) -> Fields {
    let site = shown.usual_site().map(|site| site.id.to_string()).unwrap_or_default();
    fields([("site", site)])
}

fn may_see_rates(shown: &CalendarPage) -> bool {
    match shown.place.site {
        Some(site) => shown.access.may(Permission::Rates, site),
        None => shown.schedulable().any(|site| shown.access.may(Permission::Rates, site.id)),
    }
}

pub fn slot_fields(form: &FilledForm<'_>, may_see_rates: bool) -> Markup {
    let language = form.language;
    html! {
        div.row.fields {
            (form.short("starts", &text!(language, "cabinet-starts"), "time"))
            (form.short("ends", &text!(language, "cabinet-ends"), "time"))
        }
        div.row.fields {
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
