//! Markup of a month of all people.

use maud::{Markup, html};

use super::super::{Entry, Money, PAGE_SIZE, PayrollMonth, PayrollSheet};
use super::access::PayAccess;
use super::{PAYROLL, TOPIC};
use crate::text;
use crate::texts::Language;
use crate::web::Visitor;
use crate::web::form::FormAttempt;
use crate::web::ui::{self, Button, Card, Column, Empty, Icon, Tone, badge, figure, headline};

/// The data of the page.
#[derive(Clone, Copy, Debug)]
pub struct SheetPage<'a> {
    pub sheet: &'a PayrollSheet,
    pub access: &'a PayAccess,
    /// The last month that the page links to.
    pub last: PayrollMonth,
    /// The page number, counted from one.
    pub number: u64,
}

/// The page. `end` is the part about the end of the month.
pub fn page(visitor: &Visitor, shown: SheetPage<'_>, end: &Markup, attempt: &FormAttempt) -> Markup {
    let SheetPage { sheet, access, last, number } = shown;
    let (language, period) = (visitor.language(), sheet.month.period);
    let title = text!(language, "payroll-nav");
    visitor.page(
        &title,
        &html! {
            (headline(&title, &months(PAYROLL, period, last, language)))
            (attempt.notice(language))
            (access.text(language))
            div #payroll data-live={ (TOPIC) " shifts" } {
                @if sheet.entries.is_empty() { (empty(language)) }
                @else {
                    (summary(sheet, access, language))
                    (table(sheet, access, language))
                    (pager(sheet, number, language))
                }
                div.columns { (files(period, access, language)) (end) }
            }
        },
    )
}

fn empty(language: Language) -> Markup {
    let (title, about) = (text!(language, "payroll-empty"), text!(language, "payroll-empty-about"));
    Empty { icon: Icon::Money, title: &title, text: &about }.render(&html! {})
}

/// The month with links to its neighbours, up to the last one.
pub fn months(path: &str, period: PayrollMonth, last: PayrollMonth, language: Language) -> Markup {
    let to = |period: PayrollMonth| format!("{path}?period={period}");
    html! {
        nav.months aria-label=(text!(language, "payroll-months")) {
            @if period.has_previous() {
                a.button.plain rel="prev" href=(to(period.previous())) aria-label=(period.previous().shown(language)) { (Icon::ChevronLeft.svg()) }
            }
            strong data-testid="period" { (period.shown(language)) }
            @if period < last {
                a.button.plain rel="next" href=(to(period.next())) aria-label=(period.next().shown(language)) { (Icon::ChevronRight.svg()) }
            }
        }
    }
}

fn summary(sheet: &PayrollSheet, access: &PayAccess, language: Language) -> Markup {
    let sum = &sheet.sum;
    html! {
        div.cards.sums {
            (figure(&text!(language, "payroll-total"), &sum.total.shown(language), "sum-total"))
            (figure(&text!(language, "payroll-hours"), &sum.hours.shown(language), "sum-hours"))
            @if access.is_all() {
                (figure(&text!(language, "payroll-paid"), &sum.paid.shown(language), "sum-paid"))
                (figure(&text!(language, "payroll-due"), &sum.due().shown(language), "sum-due"))
            }
        }
    }
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
            p { (Button::plain(&text!(language, "payroll-amounts")).link(path)) }
        }
    }
}

fn table(sheet: &PayrollSheet, access: &PayAccess, language: Language) -> Markup {
    let mut columns = vec![
        Column::text(text!(language, "payroll-person")),
        Column::amount(text!(language, "payroll-hours")),
        Column::amount(text!(language, "payroll-earned")),
        Column::amount(text!(language, "payroll-bonuses")),
        Column::amount(text!(language, "payroll-deductions")),
        Column::amount(text!(language, "payroll-total")),
    ];
    columns.extend(access.is_all().then(|| Column::text(text!(language, "payroll-payment"))));
    let rows: Vec<Vec<Markup>> = sheet.entries.iter().map(|entry| row(sheet, entry, language)).collect();
    ui::table("payroll", &columns, &rows)
}

fn row(sheet: &PayrollSheet, entry: &Entry, language: Language) -> Vec<Markup> {
    let name = sheet.names.get(&entry.user_id).map_or("–", String::as_str);
    let path = format!("/payroll/people/{}?period={}", entry.user_id, sheet.month.period);
    // A zero says nothing, so it is pale.
    let amount = |amount: Money| html! { span.quiet[amount == Money::ZERO] { (amount.shown(language)) } };
    vec![
        html! { a.name href=(path) data-testid={ "pay-" (entry.user_id) } { (name) } },
        html! { (entry.hours.shown(language)) },
        amount(entry.earned),
        amount(entry.bonus),
        amount(entry.deduction),
        html! { strong { (entry.total.shown(language)) } },
        payment_label(entry, language),
    ]
}

/// A badge for the state of payment.
pub fn payment_label(entry: &Entry, language: Language) -> Markup {
    let (tone, text) = match (entry.paid, entry.due()) {
        (paid, due) if due == Money::ZERO && paid.is_positive() => (Tone::Good, text!(language, "payroll-is-paid")),
        (_, due) if due.is_negative() => {
            (Tone::Bad, text!(language, "payroll-is-overpaid", amount = (-due).shown(language)))
        }
        (paid, due) if paid.is_positive() => {
            (Tone::Wait, text!(language, "payroll-is-partly-paid", amount = due.shown(language)))
        }
        (_, due) if due == Money::ZERO => (Tone::Neutral, text!(language, "payroll-is-nothing")),
        _ => (Tone::Wait, text!(language, "payroll-is-due")),
    };
    badge(tone, &text)
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
        let path = format!("{PAYROLL}/{name}?period={period}");
        Button::plain(&caption).icon(Icon::Download).testid(testid).link(&path)
    };
    html! {
        (Card::untitled().render(&html! {
            @if access.is_all() {
                h2 { (text!(language, "payroll-files")) }
                div.row {
                    (link("export.xlsx", "xlsx", text!(language, "payroll-export-xlsx")))
                    (link("export.csv", "csv", text!(language, "payroll-export-csv")))
                }
            }
            h2.after { (text!(language, "payroll-timesheet")) }
            p.quiet { (text!(language, "payroll-timesheet-about")) }
            div.row {
                (link("timesheet.xlsx", "timesheet-xlsx", text!(language, "payroll-export-xlsx")))
                (link("timesheet.csv", "timesheet-csv", text!(language, "payroll-export-csv")))
            }
        }))
    }
}
