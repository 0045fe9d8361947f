//! Charts of a month: hours, cost and late starts by day, as SVG with the same values in a table.

use std::collections::BTreeMap;

use axum::extract::{Query, State};
use chrono::{Datelike, NaiveDate};
use maud::{Markup, html};
use serde::Deserialize;

use self::picture::{Bar, Measures, Scale};
use crate::application::App;
use crate::money::{Money, PaidHours, PayrollMonth};
use crate::payroll::{DayPay, months};
use crate::shifts::Shifts;
use crate::text;
use crate::texts::Language;
use crate::web::{Owner, PageError};

mod picture;

const HUNDREDTHS: i64 = 100;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct MonthQuery {
    period: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chart {
    Hours,
    Cost,
    Late,
}

/// The values of a month by day.
struct Month {
    period: PayrollMonth,
    days: Vec<DayPay>,
    late: BTreeMap<NaiveDate, i64>,
}

/// `GET /charts`.
pub async fn show(
    State(app): State<App>,
    Owner(visitor): Owner,
    Query(query): Query<MonthQuery>,
) -> Result<Markup, PageError> {
    let current = PayrollMonth::containing(app.payroll.today().await?);
    let period =
        if query.period.is_empty() { current } else { query.period.parse().map_err(|_| PageError::NotFound)? };
    let (first, last, shifts) = (period.first_day(), period.last_day(), Shifts::of_app(&app));
    let (days, late) = tokio::try_join!(app.payroll.by_day(first, last), shifts.late_starts(first, last))?;
    let (month, last_month) = (Month { period, days, late }, app.payroll.last_month(period, current, None).await?);
    let language = visitor.language();
    let title = text!(language, "cabinet-nav-charts");
    let body = html! {
        div.headline { h1 { (title) } (months("/charts", period, last_month, language)) }
        @for chart in [Chart::Hours, Chart::Cost, Chart::Late] { (chart.card(&month, language)) }
    };
    Ok(visitor.page(&title, &body))
}

impl Month {
    /// The value of a day, 1 to 31.
    fn value(&self, chart: Chart, day: u32) -> i64 {
        let pay = || self.days.iter().find(|one| one.day_of_month() == Some(day));
        match chart {
            Chart::Hours => pay().map_or(0, |one| one.hours().hundredths()),
            Chart::Cost => pay().map_or(0, |one| one.cost().kopecks()),
            Chart::Late => {
                self.period.first_day().with_day(day).and_then(|day| self.late.get(&day).copied()).unwrap_or(0)
            }
        }
    }
}

impl Chart {
    const fn name(self) -> &'static str {
        match self {
            Self::Hours => "hours",
            Self::Cost => "cost",
            Self::Late => "late",
        }
    }

    fn label(self, language: Language) -> String {
        match self {
            Self::Hours => text!(language, "payroll-hours"),
            Self::Cost => text!(language, "cabinet-cost"),
            Self::Late => text!(language, "cabinet-late-starts"),
        }
    }

    /// The smallest step of the scale: one hour, one rouble, one start.
    const fn unit(self) -> i64 {
        match self {
            Self::Hours | Self::Cost => HUNDREDTHS,
            Self::Late => 1,
        }
    }

    /// A value with its unit.
    fn text(self, value: i64, language: Language) -> String {
        match self {
            Self::Hours => {
                text!(language, "cabinet-in-hours", hours = PaidHours::from_hundredths(value).shown(language))
            }
            Self::Cost => Money::from_kopecks(value).shown(language),
            Self::Late => text!(language, "cabinet-in-starts", count = value),
        }
    }

    /// A round value at the scale, without decimals.
    fn mark(self, value: i64, language: Language) -> String {
        let nothing = match language {
            Language::Ru => ",00",
            Language::En => ".00",
        };
        match self {
            Self::Hours | Self::Cost => self.text(value, language).replacen(nothing, "", 1),
            Self::Late => value.to_string(),
        }
    }

    fn card(self, month: &Month, language: Language) -> Markup {
        let period = month.period;
        let bars = (1..=period.last_day().day()).map(|day| {
            let value = month.value(self, day);
            Bar { day, value, words: self.text(value, language) }
        });
        let bars: Vec<Bar> = bars.collect();
        let (label, sum) = (self.label(language), bars.iter().map(|bar| bar.value).sum());
        let scale = Scale::new(bars.iter().map(|bar| bar.value), self.unit());
        let marks: Vec<(i64, String)> = scale.marks().map(|value| (value, self.mark(value, language))).collect();
        html! {
            section.card.chart data-testid={ "chart-" (self.name()) } {
                h2 { (label) ": " @if self == Self::Late { (sum) } @else { (self.text(sum, language)) } }
                @if bars.iter().all(|bar| bar.value == 0) { p.quiet { (text!(language, "cabinet-nothing-to-chart")) } }
                @else {
                    @let caption = text!(language, "cabinet-chart-of", what = label.as_str(), month = period.shown(language));
                    // The style sheet shows the one that fits the screen.
                    @for measures in [Measures::WIDE, Measures::NARROW] {
                        (picture::svg(&caption, &bars, scale, &marks, measures))
                    }
                    (table(&label, &bars, language))
                }
            }
        }
    }
}

/// The values as a table.
fn table(label: &str, bars: &[Bar], language: Language) -> Markup {
    html! {
        details {
            summary { (text!(language, "cabinet-as-table")) }
            table.list.values {
                caption { (label) }
                thead { tr { th scope="col" { (text!(language, "cabinet-day")) } th.amount scope="col" { (label) } } }
                tbody {
                    @for bar in bars.iter().filter(|bar| bar.value != 0) {
                        tr { th scope="row" { (bar.day) } td.amount { (bar.words) } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_marks_keep_thousands_separators() {
        assert_eq!(Chart::Cost.mark(300_000, Language::En), "3,000\u{a0}₽");
        assert_eq!(Chart::Cost.mark(300_000, Language::Ru), "3\u{a0}000\u{a0}₽");
        assert_eq!(Chart::Hours.mark(10_000_000, Language::En), "100,000 h");
        assert_eq!(Chart::Late.mark(1000, Language::En), "1000");
    }
}
