//! Markup of the list of shifts and of a shift's page.

use chrono::NaiveDate;
use maud::{Markup, html};
use opora::clock::Millis;

use super::super::cursor_pager;
use super::super::media::{self, ShownMedia};
use super::closing;
use super::{MAX_DAYS, ShiftDetails, ShiftList, worked_seconds};
use crate::attachments::{self, Attachment};
use crate::money::{Money, PaidHours};
use crate::payroll::Basis;
use crate::shifts::{ClosedBy, Medium, Shift, ShiftStatus, ShiftTask, TOPIC, TaskEffect, late_text};
use crate::sites::{Position, Site, local};
use crate::text;
use crate::texts::{Language, day_and_time};
use crate::web::form::FormAttempt;
use crate::web::ui::{self, Button, Column, Empty, Field, Icon, Tone, badge, headline};
use crate::web::{Visitor, day, moment};

pub fn list(visitor: &Visitor, list: &ShiftList, may_see_others: bool) -> Markup {
    let language = visitor.language();
    let title = text!(language, "cabinet-nav-shifts");
    let path = path(list, list.from, list.to, may_see_others);
    visitor.page(
        &title,
        &html! {
            (headline(&title, &html! {}))
            form.filters method="get" action="/shifts" data-instant {
                (Field::new("from", &text!(language, "cabinet-from")).input("date", &list.from.to_string(), 10))
                (Field::new("to", &text!(language, "cabinet-to")).input("date", &list.to.to_string(), 10))
                @if may_see_others {
                    (Field::new("site", &text!(language, "cabinet-site")).select(&site_value(list), &site_options(list, language)))
                    label.tick title=(text!(language, "cabinet-mine-about")) {
                        input type="checkbox" name="mine" value="1" checked[list.is_mine] data-testid="mine";
                        (text!(language, "cabinet-mine"))
                    }
                }
                (Button::plain(&text!(language, "cabinet-show")).submit())
            }
            @if let Some(cut_from) = list.cut_from { (days_left_out(list, cut_from, may_see_others, language)) }
            div #shifts data-live="shifts" {
                @if list.shifts.is_empty() {
                    (Empty { icon: Icon::Clock, title: &text!(language, "cabinet-no-shifts"), text: &text!(language, "cabinet-no-shifts-about") }.render(&html! {}))
                } @else { (table(list, language)) }
                (cursor_pager(&path, list.newer, list.older, language))
            }
        },
    )
}

/// The chosen site as the form sends it; empty for all.
fn site_value(list: &ShiftList) -> String {
    list.site.map(|site| site.to_string()).unwrap_or_default()
}

fn site_options(list: &ShiftList, language: Language) -> Vec<(String, String)> {
    let all = (String::new(), text!(language, "cabinet-all-sites"));
    let sites = list.sites.iter().map(|site| (site.id.to_string(), site_label(site, language)));
    [all].into_iter().chain(sites).collect()
}

/// The name of a site, marked if it is deleted.
fn site_label(site: &Site, language: Language) -> String {
    let name = site.about.name.as_str();
    if site.deleted_at.is_none() { name.to_owned() } else { text!(language, "cabinet-deleted-site", site = name) }
}

/// The path of the list with these days and the same filter.
fn path(list: &ShiftList, from: NaiveDate, to: NaiveDate, may_see_others: bool) -> String {
    let site = site_value(list);
    let mine = if may_see_others && list.is_mine { "&mine=1" } else { "" };
    format!("/shifts?from={from}&to={to}&site={site}{mine}")
}

/// A hint that the period was cut, with a link to the earlier days.
fn days_left_out(list: &ShiftList, cut_from: NaiveDate, may_see_others: bool, language: Language) -> Markup {
    let before = list.from.pred_opt().unwrap_or(list.from);
    html! {
        p.notice-line role="note" data-testid="cut" {
            (text!(language, "cabinet-shifts-cut", most = MAX_DAYS, from = day(list.from, language))) " "
            a href=(path(list, cut_from, before, may_see_others)) { (text!(language, "cabinet-shifts-before", to = day(before, language))) }
        }
    }
}

fn table(list: &ShiftList, language: Language) -> Markup {
    let columns = [
        Column::text(text!(language, "cabinet-who")),
        Column::text(text!(language, "cabinet-site")),
        Column::text(text!(language, "cabinet-when")),
        Column::amount(text!(language, "payroll-hours")),
        Column::text(text!(language, "cabinet-state")),
        Column::amount(text!(language, "payroll-total")),
    ];
    let rows: Vec<Vec<Markup>> = list.shifts.iter().map(|shift| row(list, shift, language)).collect();
    ui::table("shifts", &columns, &rows)
}

fn row(list: &ShiftList, shift: &Shift, language: Language) -> Vec<Markup> {
    let name = list.names.get(&shift.user_id).map_or("–", String::as_str);
    let site = list.seen_sites.iter().find(|site| site.id == shift.site_id);
    vec![
        html! { a.name href={ "/shifts/" (shift.id) } data-testid={ "shift-" (shift.id) } { (name) } },
        html! { (site.map_or("–", |site| site.about.name.as_str())) },
        html! {
            @match site {
                Some(site) => (day_and_time(local(shift.started_at, site.about.time_zone), language)),
                None => (moment(shift.started_at, language)),
            }
        },
        html! {
            @if shift.ended_at.is_some() { (PaidHours::worked(worked_seconds(shift, shift.started_at)).shown(language)) }
            @else { "…" }
        },
        state(shift, language),
        html! { @match list.totals.get(&shift.id) { Some(total) => (total.shown(language)), None => "–" } },
    ]
}

/// Badges for the status of a shift and for a late start.
pub fn state(shift: &Shift, language: Language) -> Markup {
    let (tone, text) = match shift.status {
        ShiftStatus::Active => (Tone::Good, text!(language, "cabinet-at-work")),
        ShiftStatus::Completed => (Tone::Neutral, text!(language, "cabinet-completed")),
    };
    html! {
        span.badges {
            (badge(tone, &text))
            @if let Some(late) = late_text(shift, language) { " " (badge(Tone::Wait, &late)) }
        }
    }
}

pub fn shift(visitor: &Visitor, details: &ShiftDetails, attempt: &FormAttempt) -> Markup {
    let (language, shift) = (visitor.language(), &details.shift);
    visitor.page(
        &details.person.full_name,
        &html! {
            p.crumbs { a href="/shifts" { (text!(language, "cabinet-nav-shifts")) } }
            @if !closing::is_refused(details, attempt) { (attempt.notice(language)) }
            div #shift data-live={ (TOPIC) " " (attachments::TOPIC) } {
                (headline(&details.person.full_name, &html! {
                    (state(shift, language))
                    @if details.may_close { div.row.actions { (closing::closing(visitor, details, attempt)) } }
                }))
                div.columns {
                    (ui::card(&text!(language, "cabinet-shift"), &facts(details, language)))
                    @if details.may_see_pay { (amounts(details, language)) }
                }
                (ui::card(&text!(language, "cabinet-tasks"), &html! {
                    @if details.tasks.is_empty() { p.quiet { (text!(language, "cabinet-no-tasks")) } }
                    ul.rows data-testid="shift-tasks" { @for one in &details.tasks { (task(visitor, details, one, language)) } }
                    @if !details.media.is_empty() {
                        (visitor.visit.form(&format!("/shifts/{}/photos", shift.id), &html! {
                            (Button::plain(&text!(language, "cabinet-photos", count = details.media.len())).icon(Icon::Send).testid("photos").submit())
                        }))
                    }
                }))
            }
        },
    )
}

fn facts(details: &ShiftDetails, language: Language) -> Markup {
    let (shift, clock) = (&details.shift, |at| by_clock(details, at, language));
    html! {
        dl.facts {
            dt { (text!(language, "cabinet-site")) }
            dd {
                @if details.may_see_site { a href={ "/sites/" (details.site.id) } { (details.site.about.name) } }
                @else { (details.site.about.name) }
            }
            dt { (text!(language, "cabinet-planned")) }
            dd {
                @match shift.planned {
                    Some(planned) => { (clock(planned.from)) " – " (clock(planned.to)) },
                    None => (text!(language, "cabinet-spontaneous")),
                }
            }
            dt { (text!(language, "cabinet-began")) } dd { (clock(shift.started_at)) }
            dt { (text!(language, "cabinet-ended")) }
            dd {
                @match shift.ended_at { Some(at) => (clock(at)), None => "–" }
                @if let Some(by) = shift.closed_by { " " span.quiet { (closed_by(by, language)) } }
            }
            @if details.may_see_pay {
                dt { (text!(language, "cabinet-rate-per-hour")) } dd { (Money::from_kopecks(shift.rate_kopecks).shown(language)) }
            }
            dt { (text!(language, "cabinet-opened-at")) } dd { (place(details, shift.opened_at, language)) }
            dt { (text!(language, "cabinet-closed-at")) } dd { (place(details, shift.closed_at, language)) }
        }
        p.quiet { (text!(language, "cabinet-by-clock", zone = details.site.about.time_zone.name())) }
    }
}

/// The local time of an instant at the site.
pub fn by_clock(details: &ShiftDetails, at: Millis, language: Language) -> String {
    day_and_time(local(at, details.site.about.time_zone), language)
}

/// A position with its distance from the site.
fn place(details: &ShiftDetails, position: Option<Position>, language: Language) -> Markup {
    html! {
        @match position {
            None => "–",
            Some(at) => {
                (format!("{:.5}, {:.5}", at.latitude, at.longitude))
                @if let Some(site) = details.site.about.position {
                    " " span.quiet { (text!(language, "cabinet-metres-away", metres = site.distance_m(at))) }
                }
            }
        }
    }
}

fn closed_by(by: ClosedBy, language: Language) -> String {
    match by {
        ClosedBy::Person => text!(language, "cabinet-closed-by-person"),
        ClosedBy::Staff => text!(language, "cabinet-closed-by-staff"),
        ClosedBy::Time => text!(language, "cabinet-closed-by-time"),
    }
}

fn amounts(details: &ShiftDetails, language: Language) -> Markup {
    let total: Money = details.lines.iter().map(|line| line.amount).sum();
    html! {
        (ui::card(&text!(language, "payroll-amounts"), &html! {
            @if details.lines.is_empty() { p.quiet { (text!(language, "cabinet-no-amounts")) } }
            @else {
                ul.rows.amounts data-testid="shift-amounts" {
                    @for line in &details.lines {
                        li {
                            div { (line.caption(language)) p.quiet { (line.text(language)) } }
                            strong.money.minus[line.amount.is_negative()] { (line.amount.signed(language)) }
                        }
                    }
                    li { strong { (text!(language, "payroll-total")) } strong.money data-testid="shift-total" { (total.shown(language)) } }
                }
            }
        }))
    }
}

fn task(visitor: &Visitor, details: &ShiftDetails, task: &ShiftTask, language: Language) -> Markup {
    let effect = TaskEffect::new(task, details.shift.ended_at.is_none(), penalty_of(details, task));
    let media: Vec<&Medium> = details.media.iter().filter(|one| one.shift_task_id == task.id).collect();
    html! {
        li {
            div {
                span.task-mark.done[task.done_at.is_some()] { @if task.done_at.is_some() { (Icon::Check.svg()) } }
                (task.text) " "
                @if task.is_mandatory { span.chip { (text!(language, "cabinet-mandatory")) } " " }
                @if task.needs_media { span.chip { (text!(language, "cabinet-needs-media")) } }
                @if let Some(at) = task.done_at { p.quiet { (text!(language, "cabinet-done-at")) " " (by_clock(details, at, language)) } }
                div.papers data-testid="media" {
                    @for one in &media { (media::medium(visitor, &shown_media(details, one, language))) }
                }
            }
            @if details.may_see_pay {
                @if effect.is_final() { strong.money.minus[effect.is_deduction()] { (effect.text(language)) } }
                @else { span.money.quiet { (effect.text(language)) } }
            }
        }
    }
}

/// The price of a mandatory task without its own: what was posted when the shift was closed, else the setting.
fn penalty_of(details: &ShiftDetails, task: &ShiftTask) -> Money {
    let posted = details.lines.iter().find_map(|line| match &line.basis {
        Basis::Task { text, .. } if *text == task.text && line.amount.is_negative() => Some(-line.amount),
        _ => None,
    });
    posted.unwrap_or(details.mandatory_task_penalty)
}

fn shown_media<'a>(details: &'a ShiftDetails, medium: &Medium, language: Language) -> ShownMedia<'a> {
    ShownMedia {
        path: format!("/shifts/{}/media/{}", details.shift.id, medium.id),
        file: details.files.get(&medium.telegram_file).unwrap_or(&Attachment::Pending),
        sent: by_clock(details, medium.created_at, language),
    }
}
