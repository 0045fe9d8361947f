//! A site as a row: its name, the day as a bar, and who works, is expected or missing.

use chrono::{NaiveDate, Timelike};
use maud::{Markup, html};
use opora::clock::Millis;

use super::{Today, clock};
use crate::overview::calendar::colour;
use crate::shifts::{Plan, PlanStatus, Shift, is_missing, late_text, minutes_late};
use crate::sites::pages::open_label;
use crate::sites::{Period, Site, Slot, local};
use crate::text;
use crate::texts::Language;
use crate::web::ui::{TimeBar, TimeSegment, Tone, badge};

const MINUTES_OF_DAY: i64 = 24 * 60;

pub fn site_row(today: &Today, site: &Site) -> Markup {
    let language = today.language;
    let is_open = today.overview.openings.iter().any(|opening| opening.site_id == site.id);
    html! {
        div.site-row data-testid={ "today-site-" (site.id) } {
            div.site-name {
                span class={ "dot " (colour(site.id)) } {}
                a href={ "/sites/" (site.id) } { (site.about.name) }
                (open_label(is_open, language))
            }
            (site_day(today, site))
        }
    }
}

/// The day of a site as a bar, and who works, is expected or missing.
pub fn site_day(today: &Today, site: &Site) -> Markup {
    let language = today.language;
    let shifts: Vec<&Shift> = today.overview.shifts.iter().filter(|shift| shift.site_id == site.id).collect();
    let is_waiting = |plan: &&Plan| plan.site_id == site.id && plan.status == PlanStatus::Planned;
    let plans: Vec<&Plan> = today.overview.plans.iter().filter(is_waiting).collect();
    let is_free = |slot: &&Slot| slot.site_id == site.id && slot.period.to > today.now;
    let free: i64 = today.slots.iter().filter(is_free).map(Slot::places_left).sum();
    html! {
        (bar(today, site, &shifts, &plans))
        ul.people {
            @for shift in &shifts { (shift_line(today, site, shift)) }
            @for plan in &plans { (plan_line(today, site, plan)) }
            @if free > 0 {
                li { a href={ "/calendar?site=" (site.id) } { (text!(language, "cabinet-free-places", count = free)) } }
            }
            @if shifts.is_empty() && plans.is_empty() && free == 0 {
                li.quiet { (text!(language, "overview-nothing-today")) }
            }
        }
    }
}

fn shift_line(today: &Today, site: &Site, shift: &Shift) -> Markup {
    let (language, since) = (today.language, clock(shift.started_at, site));
    html! {
        li {
            a href={ "/shifts/" (shift.id) } { (today.name(shift.user_id)) } " "
            span.quiet { (shift_text(shift, since, site, language)) }
            @if let Some(late) = late_text(shift, language) { " " (badge(Tone::Wait, &late)) }
        }
    }
}

fn shift_text(shift: &Shift, since: String, site: &Site, language: Language) -> String {
    match (shift.ended_at, shift.planned) {
        (Some(at), _) => text!(language, "overview-worked", since = since, until = clock(at, site)),
        (None, Some(planned)) => text!(language, "overview-working", since = since, until = clock(planned.to, site)),
        (None, None) => text!(language, "overview-working-open", since = since),
    }
}

fn plan_line(today: &Today, site: &Site, plan: &Plan) -> Markup {
    let language = today.language;
    let (since, until) = (clock(plan.period.from, site), clock(plan.period.to, site));
    html! {
        li {
            span { (today.name(plan.user_id)) } " "
            span.quiet { (text!(language, "overview-expected", since = since, until = until)) }
            @if is_missing(plan, &site.about, today.now) {
                " " (badge(Tone::Bad, &text!(language, "cabinet-not-come-yet")))
            }
        }
    }
}

/// The day of the site: who works, and what is planned.
fn bar(today: &Today, site: &Site, shifts: &[&Shift], plans: &[&Plan]) -> Markup {
    let day = local(today.now, site.about.time_zone).date();
    let minutes = |period: Period| minute(period.from, site, day)..minute(period.to, site, day);
    let title = |user_id: i64, period: Period| {
        format!("{}, {}–{}", today.name(user_id), clock(period.from, site), clock(period.to, site))
    };
    let worked = shifts.iter().flat_map(|shift| {
        let period = Period { from: shift.started_at, to: shift.ended_at.unwrap_or(today.now) };
        let tone = match (shift.ended_at, minutes_late(shift)) {
            (Some(_), _) => Tone::Neutral,
            (None, 0) => Tone::Good,
            (None, _) => Tone::Wait,
        };
        let part = |period, tone, is_planned| TimeSegment {
            minutes: minutes(period),
            tone,
            title: title(shift.user_id, period),
            is_planned,
        };
        // What is left of a planned shift.
        let rest = shift.planned.filter(|planned| shift.ended_at.is_none() && planned.to > today.now);
        let rest = rest.map(|planned| part(Period { from: today.now, to: planned.to }, Tone::Info, true));
        [Some(part(period, tone, false)), rest].into_iter().flatten()
    });
    let planned = plans.iter().map(|plan| {
        let tone = if is_missing(plan, &site.about, today.now) { Tone::Bad } else { Tone::Info };
        TimeSegment { minutes: minutes(plan.period), tone, title: title(plan.user_id, plan.period), is_planned: true }
    });
    let gaps = today.slots.iter().filter(|slot| slot.site_id == site.id && slot.places_left() > 0);
    let free = gaps.filter(|slot| slot.period.to > today.now).map(|slot| {
        let count = slot.places_left();
        let gap = text!(today.language, "overview-gap", count = count);
        let title = format!("{gap}, {}–{}", clock(slot.period.from, site), clock(slot.period.to, site));
        TimeSegment { minutes: minutes(slot.period), tone: Tone::Wait, title, is_planned: true }
    });
    let working = shifts.iter().filter(|shift| shift.ended_at.is_none()).count() as i64;
    let (name, count) = (site.about.name.as_str(), plans.len() as i64);
    let label = text!(today.language, "overview-day-bar", site = name, planned = count, working = working);
    let segments = worked.chain(planned).chain(free).collect();
    TimeBar { label, segments, now: Some(minute(today.now, site, day)), has_scale: true }.render()
}

/// The minute of the day by the site's clock; negative on the day before.
fn minute(at: Millis, site: &Site, day: NaiveDate) -> i64 {
    let at = local(at, site.about.time_zone);
    (at.date() - day).num_days() * MINUTES_OF_DAY + i64::from(at.hour() * 60 + at.minute())
}
