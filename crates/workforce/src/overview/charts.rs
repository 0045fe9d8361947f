//! Charts of a month: hours, cost and late starts by day, as SVG with the same values in a table.

use std::collections::BTreeMap;

use axum::extract::{Query, State};
use chrono::{Datelike, NaiveDate};
use maud::{Markup, html};
use serde::Deserialize;

use crate::application::App;
use crate::money::{Money, PaidHours, PayrollMonth};
use crate::payroll::{DayPay, months};
use crate::shifts::Shifts;
use crate::text;
use crate::texts::Language;
use crate::web::ui::{self, Bar, Card, headline};
use crate::web::{Owner, PageError};

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
        (headline(&title, &months("/charts", period, last_month, language)))
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
            Bar { caption: day.to_string(), value, text: self.text(value, language) }
        });
        let bars: Vec<Bar> = bars.collect();
        let (label, sum) = (self.label(language), bars.iter().map(|bar| bar.value).sum());
        let sum = if self == Self::Late { i64::to_string(&sum) } else { self.text(sum, language) };
        let title = html! { div.chart-head { h2 { (label) } strong { (sum) } } };
        html! {
            (Card::untitled().class("chart").testid(&format!("chart-{}", self.name())).render(&html! {
                (title)
                @if bars.iter().all(|bar| bar.value == 0) { p.quiet { (text!(language, "cabinet-nothing-to-chart")) } }
                @else {
                    @let caption = text!(language, "cabinet-chart-of", what = label.as_str(), month = period.shown(language));
                    @let table = [text!(language, "cabinet-as-table"), text!(language, "cabinet-day")];
                    (ui::Chart {
                        id: &format!("values-{}", self.name()),
                        label: &caption,
                        bars: &bars,
                        unit: self.unit(),
                        mark: &|value| self.mark(value, language),
                        table: [&table[0], &table[1], &label],
                    }.render())
                }
            }))
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
