//! The owner's report in the bot: who earned how much over some days.

use std::time::Duration;

use chrono::NaiveDate;
use opora::prelude::*;

use super::{Money, PaidHours, PayrollMonth, earnings};
use crate::application::App;
use crate::domain::days;
use crate::front::{self, menu_button, navigation};
use crate::person::OWNERS;
use crate::texts::{self, Language};
use crate::{key, text};

pub const ASK: &str = "pay:report";
/// Followed by a month.
const MONTH: &str = "pay:month:";

const EXPIRY: Duration = Duration::from_secs(15 * 60);
/// The length limit of a message, with room for its last line.
const MAX_UTF16_UNITS: usize = 3600;
/// The longest report; a longer one is probably a typing error.
const MAX_DAYS: i64 = 366;

/// The state of the dialogue: waits for the days of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "payroll_report")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum Reporting {
    Days,
}

pub fn dialogue() -> Dialogue<Reporting> {
    Dialogue::new()
        .start(button(earnings::SHOW), earnings::show)
        .start(button(ASK), ask)
        .ask(Reporting::DAYS, ask_days)
        .on(Reporting::DAYS, text(), days)
        .on(Reporting::DAYS, button(MONTH), month)
        .on(Reporting::DAYS, button(navigation::BACK), navigation::back_to_menu)
        .expires_after(EXPIRY)
        .on_expiry(timed_out)
}

async fn ask(turn: &mut Turn, _: Press) -> Step<Reporting> {
    let Some(_) = front::allowed_person(turn, OWNERS).await? else { return Ok(Next::Stay) };
    Ok(Next::Go(Reporting::Days))
}

async fn timed_out(turn: &mut Turn, _: Reporting) -> Step<Reporting> {
    navigation::timed_out(turn, key!("payroll-report-button"), ASK).await
}

async fn ask_days(turn: &mut Turn) -> Result<(), BoxError> {
    let app = turn.context::<App>();
    let language = app.speaker(turn).await?.language;
    let current = PayrollMonth::containing(app.payroll.today().await?);
    let month = |period: PayrollMonth| vec![Button::new(period.shown(language), format!("{MONTH}{period}"))];
    let ways = [month(current), month(current.previous()), navigation::navigation_row(language)];
    turn.say(Say::text(text!(language, "payroll-report-ask")).buttons(ways));
    Ok(())
}

async fn month(turn: &mut Turn, press: Press) -> Step<Reporting> {
    let Ok(period) = press.rest.parse::<PayrollMonth>() else { return Ok(Next::Stay) };
    report(turn, period.first_day(), period.last_day()).await
}

async fn days(turn: &mut Turn, typed: String) -> Step<Reporting> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    let Some((from, to)) = days_of(&typed) else { return turn.refuse(text!(language, "payroll-report-bad-days")) };
    report(turn, from, to).await
}

async fn report(turn: &mut Turn, from: NaiveDate, to: NaiveDate) -> Step<Reporting> {
    let Some(owner) = front::allowed_person(turn, OWNERS).await? else { return Ok(Next::End) };
    let (app, language) = (turn.context::<App>(), owner.language);
    let people = app.payroll.of_days(from, to).await?;
    let names = app.people.names(people.iter().map(|one| one.user_id)).await?;
    let total: Money = people.iter().map(super::PersonTotals::total).sum();
    let hours = PaidHours::from_hundredths(people.iter().map(|one| one.hours().hundredths()).sum());
    let mut text = heading(from, to, people.len(), hours, total, language);
    for (at, one) in people.iter().enumerate() {
        let name = names.get(&one.user_id).map_or("–", String::as_str);
        let (hours, total) = (one.hours().shown(language), one.total().shown(language));
        let line = text!(language, "payroll-report-line", name = name, hours = hours, total = total);
        if text.encode_utf16().count() + line.encode_utf16().count() > MAX_UTF16_UNITS {
            let page = format!("{}{}", app.public_url, super::pages::PAYROLL);
            let rest = text!(language, "payroll-told-more", count = people.len() - at, page = page);
            text = format!("{text}\n{rest}");
            break;
        }
        text = format!("{text}\n{line}");
    }
    turn.say(Say::text(text).buttons([[menu_button(language)]]));
    Ok(Next::End)
}

fn heading(
    from: NaiveDate,
    to: NaiveDate,
    people: usize,
    hours: PaidHours,
    total: Money,
    language: Language,
) -> String {
    let shown = |day: NaiveDate| texts::day(day, language);
    text!(
        language,
        "payroll-report",
        from = shown(from),
        to = shown(to),
        count = people,
        hours = hours.shown(language),
        total = total.shown(language)
    )
}

/// Parses days such as `01.01.2026 - 15.01.2026` or `Jan 1, 2026 - Jan 15, 2026`, or a single day.
fn days_of(typed: &str) -> Option<(NaiveDate, NaiveDate)> {
    let day = |text: &str| days::typed_day(text.trim());
    let (from, to) = match typed.split_once(['-', '–', '—']) {
        Some((from, to)) => (day(from)?, day(to)?),
        None => (day(typed)?, day(typed)?),
    };
    (from <= to && (to - from).num_days() <= MAX_DAYS).then_some((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_days_are_parsed() {
        let day = |day| NaiveDate::from_ymd_opt(2026, 1, day).unwrap();
        assert_eq!(days_of("01.01.2026 - 15.01.2026"), Some((day(1), day(15))));
        assert_eq!(days_of("01.01.2026–15.01.2026"), Some((day(1), day(15))));
        assert_eq!(days_of("Jan 1, 2026 - january 15, 2026"), Some((day(1), day(15))));
        assert_eq!(days_of(" 07.01.2026 "), Some((day(7), day(7))));
        for odd in [
            "",
            "tomorrow",
            "15.01.2026-01.01.2026",
            "31.02.2026",
            "01.01.2020-01.01.2026",
            "31.12.1999",
            "01.01.9999",
            "01.01.-262143",
        ] {
            assert_eq!(days_of(odd), None, "{odd}");
        }
    }
}
