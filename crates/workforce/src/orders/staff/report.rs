//! The owner's summary of a month: orders closed, revenue and shares, by master.

use opora::prelude::*;

use super::OrderWork;
use crate::application::App;
use crate::front::navigation::menu_of_question;
use crate::front::text_limits::fit;
use crate::front::{self, reply};
use crate::money::{Money, PayrollMonth};
use crate::orders::{MasterResults, Orders};
use crate::person::OWNERS;
use crate::settings::TIME_ZONE;
use crate::sites::Period;
use crate::text;

/// Followed by a month; without one, the month of today.
pub const REPORT: &str = "orders:report";

pub async fn show(turn: &mut Turn, press: Press) -> Step<OrderWork> {
    let Some(person) = front::allowed_person(turn, OWNERS).await? else { return Ok(Next::Stay) };
    let (app, language) = (turn.context::<App>(), person.language);
    let asked = press.rest.trim_start_matches(':').parse::<PayrollMonth>();
    let month = match asked {
        Ok(month) => month,
        Err(_) => PayrollMonth::containing(app.payroll.today().await?),
    };
    let zone = app.settings.get(&TIME_ZONE).await?;
    let days = (month.last_day() - month.first_day()).num_days().unsigned_abs() + 1;
    let results = Orders::of_app(&app).results(Period::of_days(month.first_day(), days, zone)).await?;
    let names = app.people.names(results.keys().copied()).await?;
    let mut results: Vec<(i64, MasterResults)> = results.into_iter().filter(|(_, of)| of.closed > 0).collect();
    results.sort_by_key(|(id, of)| (-of.total.kopecks(), *id));
    let sum = |amount: fn(&MasterResults) -> Money| results.iter().map(|(_, of)| amount(of)).sum::<Money>();
    let closed: i64 = results.iter().map(|(_, of)| of.closed).sum();
    let (total, share) = (sum(|of| of.total).shown(language), sum(|of| of.share).shown(language));
    let name = month.shown(language);
    let mut lines = vec![text!(language, "orders-report", month = name, count = closed, total = total, share = share)];
    for (id, of) in &results {
        let name = names.get(id).map_or("–", String::as_str);
        let (total, share) = (of.total.shown(language), of.share.shown(language));
        lines.push(text!(language, "orders-report-line", name = name, count = of.closed, total = total, share = share));
    }
    let before = month.previous();
    let earlier = Button::new(format!("◂ {}", before.shown(language)), format!("{REPORT}:{before}"));
    let rows = vec![vec![earlier], vec![menu_of_question(language)]];
    let rows = if month.has_previous() { rows } else { rows[1..].to_vec() };
    reply::show(turn, fit(lines.join("\n")), rows);
    Ok(Next::Stay)
}
