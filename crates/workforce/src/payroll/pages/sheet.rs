//! Markup of a month of all people.

use maud::{Markup, html};

use super::super::{Entry, Money, PAGE_SIZE, PayrollMonth, PayrollSheet};
use super::access::PayAccess;
use super::{PAYROLL, TOPIC};
use crate::payroll::Unsettled;
use crate::text;
use crate::texts::Language;
use crate::web::form::FormAttempt;
use crate::web::{Visitor, moment};

/// How many open shifts are listed.
const MAX_LISTED_SHIFTS: usize = 10;

/// The data of the page.
#[derive(Clone, Copy, Debug)]
pub struct SheetPage<'a> {
    pub sheet: &'a PayrollSheet,
    pub access: &'a PayAccess,
    pub current: PayrollMonth,
    /// The last month that the page links to.
    pub last: PayrollMonth,
    /// The page number, counted from one.
    pub number: u64,
    /// What is still open, if the month can be closed.
    pub unsettled: Option<&'a Unsettled>,
}

pub fn page(visitor: &Visitor, shown: SheetPage<'_>, attempt: &FormAttempt) -> Markup {
    let SheetPage { sheet, access, last, number, .. } = shown;
    let (language, period) = (visitor.language(), sheet.month.period);
    let title = text!(language, "payroll-nav");
    visitor.page(
        &title,
        &html! {
            div.headline {
                h1 { (title) }
                (months(PAYROLL, period, last, language))
            }
            (attempt.notice(language))
            (access.text(language))
            div #payroll data-live={ (TOPIC) " shifts" } {
                (summary(sheet, access, language))
                @if sheet.entries.is_empty() {
                    div.card.empty { (text!(language, "payroll-empty")) }
                } @else {
                    (table(sheet, access, language))
                }
                (pager(sheet, number, language))
                (files(period, access, language))
                @if access.is_all() { (month_end(visitor, shown)) }
            }
        },
    )
}

/// The month with links to its neighbours, up to the last one.
pub fn months(path: &str, period: PayrollMonth, last: PayrollMonth, language: Language) -> Markup {
    let to = |period: PayrollMonth| format!("{path}?period={period}");
    html! {
        nav.months aria-label=(text!(language, "payroll-months")) {
            @if period.has_previous() {
                a.button.plain rel="prev" href=(to(period.previous())) aria-label=(period.previous().shown(language)) { "←" }
            }
            strong data-testid="period" { (period.shown(language)) }
            @if period < last {
                a.button.plain rel="next" href=(to(period.next())) aria-label=(period.next().shown(language)) { "→" }
            }
        }
    }
}

fn summary(sheet: &PayrollSheet, access: &PayAccess, language: Language) -> Markup {
    let sum = &sheet.sum;
    html! {
        div.cards.sums {
            (card(&text!(language, "payroll-total"), &sum.total.shown(language), "sum-total"))
            (card(&text!(language, "payroll-hours"), &sum.hours.shown(language), "sum-hours"))
            @if access.is_all() {
                (card(&text!(language, "payroll-paid"), &sum.paid.shown(language), "sum-paid"))
                (card(&text!(language, "payroll-due"), &sum.due().shown(language), "sum-due"))
            }
        }
    }
}

/// A card with a sum.
pub fn card(label: &str, amount: &str, name: &str) -> Markup {
    html! { div.card.sum { span { (label) } strong data-testid=(name) { (amount) } } }
}

/// A short summary of a person's month.
pub fn month(entry: Option<&Entry>, path: &str, language: Language) -> Markup {
    html! {
        div #pay data-live={ (TOPIC) " shifts" } {
            @match entry {
                None => p.quiet { (text!(language, "payroll-nothing-there")) },
                Some(entry) => p {
                    strong { (entry.total.shown(language)) } " "
                    span.quiet { (text!(language, "payroll-hours")) ": " (entry.hours.shown(language)) } " "
                    (payment_label(entry, language))
                },
            }
            p { a.button.plain href=(path) { (text!(language, "payroll-amounts")) } }
        }
    }
}

fn table(sheet: &PayrollSheet, access: &PayAccess, language: Language) -> Markup {
    html! {
        table.list.pay data-testid="payroll" {
            thead { tr {
                th { (text!(language, "payroll-person")) }
                th.amount { (text!(language, "payroll-hours")) }
                th.amount { (text!(language, "payroll-earned")) }
                th.amount { (text!(language, "payroll-bonuses")) }
                th.amount { (text!(language, "payroll-deductions")) }
                th.amount { (text!(language, "payroll-total")) }
                @if access.is_all() { th { (text!(language, "payroll-payment")) } }
            } }
            tbody { @for entry in &sheet.entries { (row(sheet, entry, access, language)) } }
        }
    }
}

fn row(sheet: &PayrollSheet, entry: &Entry, access: &PayAccess, language: Language) -> Markup {
    let name = sheet.names.get(&entry.user_id).map_or("–", String::as_str);
    let path = format!("/payroll/people/{}?period={}", entry.user_id, sheet.month.period);
    let cell = |label: String, amount: Money| html! { td.amount data-label=(label) { (amount.shown(language)) } };
    html! {
        tr data-testid={ "pay-" (entry.user_id) } {
            td { a.name href=(path) { (name) } }
            td.amount data-label=(text!(language, "payroll-hours")) { (entry.hours.shown(language)) }
            (cell(text!(language, "payroll-earned"), entry.earned))
            (cell(text!(language, "payroll-bonuses"), entry.bonus))
            (cell(text!(language, "payroll-deductions"), entry.deduction))
            td.amount.total data-label=(text!(language, "payroll-total")) { strong { (entry.total.shown(language)) } }
            @if access.is_all() { td { (payment_label(entry, language)) } }
        }
    }
}

/// A badge for the state of payment.
pub fn payment_label(entry: &Entry, language: Language) -> Markup {
    let (class, text) = match (entry.paid, entry.due()) {
        (paid, due) if due == Money::ZERO && paid.is_positive() => ("verified", text!(language, "payroll-is-paid")),
        (_, due) if due.is_negative() => {
            ("rejected", text!(language, "payroll-is-overpaid", amount = (-due).shown(language)))
        }
        (paid, due) if paid.is_positive() => {
            ("pending", text!(language, "payroll-is-partly-paid", amount = due.shown(language)))
        }
        (_, due) if due == Money::ZERO => ("", text!(language, "payroll-is-nothing")),
        _ => ("pending", text!(language, "payroll-is-due")),
    };
    html! { span class={ "badge " (class) } { (text) } }
}

fn pager(sheet: &PayrollSheet, number: u64, language: Language) -> Markup {
    let pages = sheet.people.div_ceil(PAGE_SIZE).max(1);
    let to = |page: u64| format!("{PAYROLL}?period={}&page={page}", sheet.month.period);
    html! {
        @if pages > 1 {
            nav.pager aria-label=(text!(language, "web-pages")) {
                @if number > 1 { a.button.plain rel="prev" href=(to(number - 1)) { (text!(language, "web-previous")) } }
                span { (text!(language, "web-page-of", page = number, pages = pages)) }
                @if number < pages { a.button.plain rel="next" href=(to(number + 1)) { (text!(language, "web-next")) } }
            }
        }
    }
}

/// The files of the month. Managers get the timesheet of their sites.
fn files(period: PayrollMonth, access: &PayAccess, language: Language) -> Markup {
    let link = |name: &str, testid: &str, caption: String| {
        html! { a.button.plain href={ (PAYROLL) "/" (name) "?period=" (period) } data-testid=(testid) { (caption) } }
    };
    html! {
        section.card {
            @if access.is_all() {
                h2 { (text!(language, "payroll-files")) }
                div.row {
                    (link("export.xlsx", "xlsx", text!(language, "payroll-export-xlsx")))
                    (link("export.csv", "csv", text!(language, "payroll-export-csv")))
                }
            }
            h2 { (text!(language, "payroll-timesheet")) }
            p.quiet { (text!(language, "payroll-timesheet-about")) }
            div.row {
                (link("timesheet.xlsx", "timesheet-xlsx", text!(language, "payroll-export-xlsx")))
                (link("timesheet.csv", "timesheet-csv", text!(language, "payroll-export-csv")))
            }
        }
    }
}

/// The form to close the month.
fn month_end(visitor: &Visitor, SheetPage { sheet, current, unsettled, .. }: SheetPage<'_>) -> Markup {
    let (language, period) = (visitor.language(), sheet.month.period);
    html! {
        section.card.closing {
            @if let Some((at, _)) = sheet.month.closed {
                p data-testid="closed" { "🔒 " (text!(language, "payroll-closed-since")) " " (moment(at)) }
                p.quiet { (text!(language, "payroll-closed-about")) }
            } @else if period < current {
                @if let Some(unsettled) = unsettled { (unsettled_items(unsettled, language)) }
                (visitor.visit.form("/payroll/close", &html! {
                    input type="hidden" name="period" value=(period);
                    input type="hidden" name="total" value=(sheet.seen().total.kopecks());
                    input type="hidden" name="version" value=(sheet.seen().version);
                    p.quiet { (text!(language, "payroll-close-about")) }
                    button.danger type="submit" data-testid="close" data-confirm=(text!(language, "payroll-close-sure")) {
                        (text!(language, "payroll-close", month = period.shown(language)))
                    }
                }))
            } @else {
                p.quiet { (text!(language, "payroll-open-about")) }
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
                @for (day, id) in days { " " a href={ "/shifts/" (id) } { (day.format("%d.%m.%Y")) } }
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
