//! Charts of a month: hours, cost and lateness by day, as pictures that the server draws.

use axum::extract::{Query, State};
use chrono::Datelike;
use maud::{Markup, PreEscaped, html};
use serde::Deserialize;

use crate::application::App;
use crate::payroll::{DayOfMonth, Hours, Money, Period, months};
use crate::text;
use crate::texts::Language;
use crate::web::{Oops, Owner};

const HEIGHT: f64 = 160.0;
const BAR: f64 = 24.0;
const GAP: f64 = 8.0;
const FOOT: f64 = 18.0;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wanted {
    period: String,
}

/// A bar: the day, how high, and what it says.
struct Bar {
    day: u32,
    height: i64,
    words: String,
}

/// `GET /charts`.
pub async fn show(State(app): State<App>, Owner(visitor): Owner, Query(wanted): Query<Wanted>) -> Result<Markup, Oops> {
    let current = Period::of(app.payroll.today().await?);
    let period = if wanted.period.is_empty() { current } else { wanted.period.parse().map_err(|_| Oops::NotFound)? };
    let days = app.payroll.by_day(period.first_day(), period.last_day()).await?;
    let language = visitor.language();
    let title = text!(language, "cabinet-nav-charts");
    let hours: Hours = Hours::from_hundredths(days.iter().map(|day| day.hours().hundredths()).sum());
    let cost: Money = days.iter().map(DayOfMonth::cost).sum();
    let late: i64 = days.iter().map(|day| day.late).sum();
    let body = html! {
        div.headline { h1 { (title) } (months("/charts", period, current, language)) }
        (card(&text!(language, "payroll-hours"), &hours.shown(language), period, &days, language, |day| {
            (day.hours().hundredths(), day.hours().shown(language))
        }))
        (card(&text!(language, "cabinet-cost"), &cost.shown(language), period, &days, language, |day| {
            (day.cost().kopecks(), day.cost().shown(language))
        }))
        (card(&text!(language, "cabinet-late-starts"), &late.to_string(), period, &days, language, |day| {
            (day.late, day.late.to_string())
        }))
    };
    Ok(visitor.page(&title, &body))
}

fn card(
    label: &str,
    sum: &str,
    period: Period,
    days: &[DayOfMonth],
    language: Language,
    read: impl Fn(&DayOfMonth) -> (i64, String),
) -> Markup {
    let bars = (1..=period.last_day().day()).map(|day| {
        let found = days.iter().find(|one| one.day_of_month() == Some(day));
        let (height, words) = found.map_or((0, String::new()), &read);
        Bar { day, height, words }
    });
    let bars: Vec<Bar> = bars.collect();
    html! {
        section.card.chart {
            h2 { (label) ": " (sum) }
            @if bars.iter().all(|bar| bar.height == 0) { p.quiet { (text!(language, "cabinet-nothing-to-chart")) } }
            @else { div.scroll { (svg(label, &bars)) } }
        }
    }
}

/// The bars, from zero up; what is below zero is drawn as nothing, and said.
fn svg(label: &str, bars: &[Bar]) -> Markup {
    let most = bars.iter().map(|bar| bar.height).max().unwrap_or(0).max(1);
    let width = bars.len() as f64 * (BAR + GAP);
    let drawn = bars.iter().enumerate().map(|(at, bar)| {
        let x = at as f64 * (BAR + GAP);
        let height = (bar.height.max(0) as f64 / most as f64 * HEIGHT).round();
        html! {
            g {
                @if bar.height != 0 { title { (bar.day) ": " (bar.words) } }
                rect class="bar" x=(x) y=(HEIGHT - height) width=(BAR) height=(height) rx="3" {}
                text class="tick" x=(x + BAR / 2.0) y=(HEIGHT + FOOT - 4.0) text-anchor="middle" { (bar.day) }
            }
        }
    });
    let drawn: String = drawn.map(|one| one.into_string()).collect();
    html! {
        svg role="img" aria-label=(label) viewBox={ "0 0 " (width) " " (HEIGHT + FOOT) } width=(width) height=(HEIGHT + FOOT) {
            (PreEscaped(drawn))
        }
    }
}
