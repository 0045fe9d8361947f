//! "My earnings" in the bot: sums of a month, and every adjustment with its reason.

use opora::prelude::*;

use super::report::Reporting;
use super::{Adjustment, Earnings, PayrollMonth};
use crate::application::App;
use crate::front::{self, menu_button, reply};
use crate::person::EARNERS;
use crate::text;
use crate::texts::{self, Language};

/// Followed by a month; empty for the current one.
pub const SHOW: &str = "pay:mine:";

/// The length limit of a message, with room for its last line.
const MAX_UTF16_UNITS: usize = 3600;

pub async fn show(turn: &mut Turn, press: Press) -> Step<Reporting> {
    let Some(person) = front::allowed_person(turn, EARNERS).await? else { return Ok(Next::Stay) };
    let (app, language) = (turn.context::<App>(), person.language);
    let current = PayrollMonth::containing(app.payroll.today().await?);
    let period = press.rest.parse().unwrap_or(current);
    let earnings = app.payroll.of_person(person.id, period).await?;
    let month = |period: PayrollMonth| Button::new(period.shown(language), format!("{SHOW}{period}"));
    let mut ways: Vec<Button> = period.has_previous().then(|| month(period.previous())).into_iter().collect();
    if period < app.payroll.last_month(period, current, Some(person.id)).await? {
        ways.push(month(period.next()));
    }
    let page = format!("{}{}?period={period}", app.public_url, super::pages::OWN);
    let text = month_text(&earnings, language, &page);
    reply::show(turn, text, vec![ways, vec![menu_button(language)]]);
    Ok(Next::Stay)
}

/// A month as text. What does not fit is on the page.
fn month_text(earnings: &Earnings, language: Language, page: &str) -> String {
    let month = earnings.month.period.shown(language);
    let Some(entry) = &earnings.entry else { return text!(language, "payroll-told-nothing", month = month) };
    let mut text = text!(
        language,
        "payroll-told",
        month = month,
        total = entry.total.shown(language),
        hours = entry.hours.shown(language),
        paid = entry.paid.shown(language),
        due = earnings.due().shown(language)
    );
    if entry.credit.is_positive() {
        let credit = text!(language, "payroll-told-credit", credit = entry.credit.shown(language));
        text = format!("{text}\n{credit}");
    }
    let mut day = "";
    let lines: Vec<&Adjustment> = earnings.lines.iter().filter(|line| !line.is_removed).collect();
    for (at, line) in lines.iter().enumerate() {
        let mut more = String::new();
        if line.day != day {
            more = format!("\n\n{}", day_text(&line.day, language));
        }
        more =
            format!("{more}\n{} {}\n  {}", line.amount.signed(language), line.caption(language), line.text(language));
        if text.encode_utf16().count() + more.encode_utf16().count() > MAX_UTF16_UNITS {
            let rest = text!(language, "payroll-told-more", count = lines.len() - at, page = page);
            return format!("{text}\n\n{rest}");
        }
        day = &line.day;
        text.push_str(&more);
    }
    text
}

/// A day as people read it.
pub fn day_text(day: &str, language: Language) -> String {
    crate::money::day_of(day).map_or_else(|| day.to_owned(), |day| texts::day(day, language))
}
