//! The end of a month: closing it, and opening it again with a reason.

use std::collections::HashMap;

use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

use super::super::changes::audit_subject;
use super::super::{MAX_REASON_LENGTH, Money, PayrollMonth, PayrollSheet, SeenMonth, Unsettled};
use super::access::PayAccess;
use super::changes::{field, period_of};
use super::{PAYROLL, TOPIC, sheet_page};
use crate::application::App;
use crate::audit::{self, Line};
use crate::person::OWNERS;
use crate::text;
use crate::texts::Language;
use crate::web::form::{Fields, FormAttempt, FormSpec, Submitted, submit, version_only};
use crate::web::ui::{Button, Card, Dialog, Icon, Toast, Tone, badge};
use crate::web::{Event, Owner, PageError, PageNumber, Visitor, day, moment};

const CLOSE: &str = "/payroll/close";
const REOPEN: &str = "/payroll/reopen";
/// How many open shifts are listed.
const MAX_LISTED_SHIFTS: usize = 10;
/// How often a month was closed and opened, at most.
const MAX_LINES: u64 = 20;

/// The data of the part.
pub struct MonthEnd<'a> {
    pub sheet: &'a PayrollSheet,
    pub current: PayrollMonth,
    /// What is still open, if the month can be closed.
    pub unsettled: Option<&'a Unsettled>,
    /// When the month was closed and opened again, newest first.
    pub ends: &'a [Line],
    /// The names of those who did it, by id.
    pub names: &'a HashMap<i64, String>,
    pub attempt: &'a FormAttempt,
}

/// `POST /payroll/close`.
pub async fn close(
    State(app): State<App>,
    Owner(visitor): Owner,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (period, seen_month, language) = (period_of(&typed)?, seen_of(&typed)?, visitor.language());
    let act = async |_| app.payroll.close_period_as_seen(visitor.person.id, period, seen_month).await;
    let closed = submit(&visitor, typed, version_only, act).await?;
    let fields = [("period", period.to_string()), ("reason", text!(language, "payroll-reopened-at-once"))];
    let text = text!(language, "payroll-done-closed", month = period.shown(language));
    let toast = Toast::new(text).action(text!(language, "payroll-undo"), REOPEN, &fields);
    let path = visitor.visit.path().to_owned();
    let done = match closed {
        Submitted::Done(()) => Submitted::Done(toast),
        Submitted::Refused(attempt) => Submitted::Refused(attempt.at(path, Fields::new())),
    };
    answer(&app, &visitor, period, done).await
}

/// `POST /payroll/reopen`.
pub async fn reopen(
    State(app): State<App>,
    Owner(visitor): Owner,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (period, reason, language) = (period_of(&typed)?, field(&typed, "reason"), visitor.language());
    let act = async |_| app.payroll.reopen_period(visitor.person.id, period, &reason).await;
    let opened = submit(&visitor, typed, version_only, act).await?;
    let text = text!(language, "payroll-done-reopened", month = period.shown(language));
    answer(&app, &visitor, period, opened.map(|()| Toast::new(text))).await
}

/// When a month was closed and opened again, newest first.
pub async fn history(app: &App, period: PayrollMonth) -> Result<Vec<Line>, PageError> {
    Ok(audit::latest(&app.domain, audit_subject(&period.to_string()), MAX_LINES).await?)
}

async fn answer(
    app: &App,
    visitor: &Visitor,
    period: PayrollMonth,
    done: Submitted<Toast>,
) -> Result<Response, PageError> {
    match done {
        Submitted::Done(toast) => {
            app.events.publish(Event::to_roles(TOPIC, OWNERS));
            Ok(visitor.redirect(format!("{PAYROLL}?period={period}")).with(toast).into_response())
        }
        Submitted::Refused(attempt) => {
            let current = PayrollMonth::containing(app.payroll.today().await?);
            sheet_page(app, visitor, &PayAccess::All, (period, current), PageNumber::FIRST, attempt).await
        }
    }
}

/// What the owner saw of the month; required in order to close it.
fn seen_of(typed: &Fields) -> Result<SeenMonth, PageError> {
    let number = |name| field(typed, name).parse::<i64>().map_err(|_| PageError::BadRequest);
    Ok(SeenMonth { total: Money::from_kopecks(number("total")?), version: number("version")? })
}

impl MonthEnd<'_> {
    pub fn draw(&self, visitor: &Visitor) -> Markup {
        let (language, period) = (visitor.language(), self.sheet.month.period);
        let is_closed = self.sheet.month.is_closed();
        html! {
            (Card::untitled().class("closing").testid("month-end").render(&html! {
                div.headline {
                    h2 { (text!(language, "payroll-month-end")) }
                    @if is_closed { (badge(Tone::Neutral, &text!(language, "payroll-is-closed-badge"))) }
                    @else { (badge(Tone::Good, &text!(language, "payroll-is-open-badge"))) }
                }
                @if let Some((at, _)) = self.sheet.month.closed {
                    p data-testid="closed" { (text!(language, "payroll-closed-since")) " " (moment(at, language)) }
                    p.quiet { (text!(language, "payroll-closed-about")) }
                    (self.reopening(visitor))
                } @else if period < self.current {
                    p.quiet { (text!(language, "payroll-close-about")) }
                    @if let Some(unsettled) = self.unsettled { (unsettled_items(unsettled, language)) }
                    (self.closing(visitor))
                } @else {
                    p.quiet { (text!(language, "payroll-open-about")) }
                }
                @if !self.ends.is_empty() { (self.history(language)) }
            }))
        }
    }

    /// The question before the month is closed: what it costs, and for how many people.
    fn closing(&self, visitor: &Visitor) -> Markup {
        let (language, sheet) = (visitor.language(), self.sheet);
        let month = sheet.month.period.shown(language);
        let caption = text!(language, "payroll-close", month = month.as_str());
        let (title, cancel) =
            (text!(language, "payroll-close-sure", month = month), text!(language, "payroll-leave-open"));
        let (total, due) = (sheet.sum.total.shown(language), sheet.sum.due().shown(language));
        let body = html! {
            p { (text!(language, "payroll-close-sums", total = total, due = due, count = sheet.people)) }
            @if self.unsettled.is_some_and(Unsettled::is_any) { p { (text!(language, "payroll-close-unsettled")) } }
            (visitor.visit.form(CLOSE, &html! {
                input type="hidden" name="period" value=(sheet.month.period);
                input type="hidden" name="total" value=(sheet.seen().total.kopecks());
                input type="hidden" name="version" value=(sheet.seen().version);
                (Button::primary(&caption).testid("close").submit())
            }))
        };
        html! {
            (Button::primary(&caption).testid("ask-close").opens("close-month"))
            (Dialog { id: "close-month", title: &title, cancel: &cancel, is_open: false }.render(&body))
        }
    }

    fn reopening(&self, visitor: &Visitor) -> Markup {
        let (language, sheet) = (visitor.language(), self.sheet);
        let caption = text!(language, "payroll-reopen");
        let title = text!(language, "payroll-reopen-sure", month = sheet.month.period.shown(language));
        let cancel = text!(language, "payroll-leave-closed");
        let (none, back) = (Fields::new(), format!("{PAYROLL}?period={}", sheet.month.period));
        let spec =
            FormSpec { path: REOPEN, now: &none, version: Some(0), back: &back, caption: &caption, testid: "reopen" };
        let body = html! {
            p { (text!(language, "payroll-reopen-about", paid = sheet.sum.paid.shown(language))) }
            (visitor.record_form(self.attempt, spec, |form| html! {
                input type="hidden" name="period" value=(sheet.month.period);
                (form.line("reason", &text!(language, "payroll-reason"), MAX_REASON_LENGTH))
            }))
        };
        let is_open = self.attempt.is_at(REOPEN);
        html! {
            (Button::plain(&caption).icon(Icon::Undo).testid("ask-reopen").opens("reopen-month"))
            (Dialog { id: "reopen-month", title: &title, cancel: &cancel, is_open }.render(&body))
        }
    }

    fn history(&self, language: Language) -> Markup {
        html! {
            ul.rows data-testid="month-history" {
                @for line in self.ends {
                    @let actor = line.actor.and_then(|id| self.names.get(&id)).map_or("–", String::as_str);
                    li { div { (audit::in_words(line, language)) p.quiet { (actor) } } span.quiet { (moment(line.at, language)) } }
                }
            }
        }
    }
}

/// What is still open. The month can be closed anyway: later adjustments go into the next one.
fn unsettled_items(unsettled: &Unsettled, language: Language) -> Markup {
    let Unsettled { shifts, cancellations } = unsettled;
    let (days, more) = (shifts.iter().take(MAX_LISTED_SHIFTS), shifts.len() > MAX_LISTED_SHIFTS);
    html! {
        @if !shifts.is_empty() {
            p.notice-line data-testid="open-shifts" {
                (text!(language, "payroll-open-shifts", count = shifts.len()))
                @for (date, id) in days { " " a href={ "/shifts/" (id) } { (day(*date, language)) } }
                @if more { " …" }
            }
        }
        @if *cancellations > 0 {
            p.notice-line data-testid="pending-cancellations" {
                a href="/cancellations" { (text!(language, "payroll-pending-cancellations", count = *cancellations)) }
            }
        }
    }
}
