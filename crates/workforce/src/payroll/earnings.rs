//! "My earnings" in the bot: a month's sums, and every amount with its reason.

use opora::prelude::*;

use super::report::Reporting;
use super::{Earnings, Line, Period};
use crate::application::App;
use crate::front::{self, menu_button};
use crate::person::EARNERS;
use crate::text;
use crate::texts::Language;

/// With a month behind it, or nothing for the one that is now.
pub const SHOW: &str = "pay:mine:";

/// What a message may have, and some room for its end.
const MOST_UNITS: usize = 3600;

pub async fn show(turn: &mut Turn, press: Press) -> Step<Reporting> {
    let Some(person) = front::allowed(turn, EARNERS).await? else { return Ok(Next::Stay) };
    let (app, language) = (turn.context::<App>(), person.language);
    let current = Period::of(app.payroll.today().await?);
    let period = press.rest.parse().unwrap_or(current);
    let earnings = app.payroll.of_person(person.id, period).await?;
    let month = |period: Period| Button::raw(period.shown(language), format!("{SHOW}{period}"));
    let mut ways: Vec<Button> = period.has_previous().then(|| month(period.previous())).into_iter().collect();
    if period < app.payroll.last_month(period, current, Some(person.id)).await? {
        ways.push(month(period.next()));
    }
    let page = format!("{}{}?period={period}", app.public_url, super::pages::OWN);
    let words = told(&earnings, language, &page);
    turn.say(Say::text(words).buttons([ways, vec![menu_button(language)]]));
    Ok(Next::Stay)
}

/// A month in words; what does not fit is on the page.
fn told(earnings: &Earnings, language: Language, page: &str) -> String {
    let month = earnings.month.period.shown(language);
    let Some(entry) = &earnings.entry else { return text!(language, "payroll-told-nothing", month = month) };
    let mut words = text!(
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
        words = format!("{words}\n{credit}");
    }
    let mut day = "";
    let lines: Vec<&Line> = earnings.lines.iter().filter(|line| !line.is_removed).collect();
    for (at, line) in lines.iter().enumerate() {
        let mut more = String::new();
        if line.day != day {
            more = format!("\n\n{}", day_words(&line.day));
        }
        more =
            format!("{more}\n{} {}\n  {}", line.amount.signed(language), line.caption(language), line.words(language));
        if words.encode_utf16().count() + more.encode_utf16().count() > MOST_UNITS {
            let rest = text!(language, "payroll-told-more", count = lines.len() - at, page = page);
            return format!("{words}\n\n{rest}");
        }
        day = &line.day;
        words.push_str(&more);
    }
    words
}

/// `31.01.2026`.
pub fn day_words(day: &str) -> String {
    crate::money::day_of(day).map_or_else(|| day.to_owned(), |day| day.format("%d.%m.%Y").to_string())
}
