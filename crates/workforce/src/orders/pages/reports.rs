//! The report of a month: orders, revenue, margin and times, by master and kind of equipment; also as a file.

use std::collections::{BTreeMap, HashMap};

use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use chrono_tz::Tz;
use maud::{Markup, html};
use serde::Deserialize;

use crate::application::App;
use crate::money::{Money, PayrollMonth};
use crate::orders::Orders;
use crate::orders::report::{OrderSums, ReportLine};
use crate::payroll::{export, months};
use crate::settings::TIME_ZONE;
use crate::sites::Period;
use crate::text;
use crate::texts::{Language, duration};
use crate::web::ui::{Bar, Button, Card, Chart, Column, Icon, figure, headline, table};
use crate::web::{Owner, PageError, Visitor};

mod file;

pub const REPORTS: &str = "/orders/reports";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct MonthQuery {
    period: String,
}

/// A month of orders.
struct Report {
    period: PayrollMonth,
    lines: Vec<ReportLine>,
    names: HashMap<i64, String>,
}

impl Report {
    async fn of_month(app: &App, period: PayrollMonth, zone: Tz) -> Result<Self, PageError> {
        let month = days(period, zone);
        let (Some(first), Some(last)) = (month.first(), month.last()) else { return Err(PageError::NotFound) };
        let lines = Orders::of_app(app).report(Period { from: first.from, to: last.to }).await?;
        let names = app.people.names(lines.iter().filter_map(|line| line.master_id)).await?;
        Ok(Self { period, lines, names })
    }

    fn name_of(&self, line: &ReportLine) -> &str {
        line.master_id.and_then(|id| self.names.get(&id)).map_or("–", String::as_str)
    }

    /// The sums of the lines with the same name, the largest total first.
    fn grouped<'a>(&'a self, name: impl Fn(&'a ReportLine) -> &'a str) -> Vec<(&'a str, OrderSums)> {
        let mut groups: BTreeMap<&str, OrderSums> = BTreeMap::new();
        for line in &self.lines {
            let group = groups.entry(name(line)).or_default();
            *group = *group + line.sums;
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(_, sums)| -sums.total.kopecks());
        groups
    }
}

/// `GET /orders/reports`.
pub async fn show(
    State(app): State<App>,
    Owner(visitor): Owner,
    Query(query): Query<MonthQuery>,
) -> Result<Response, PageError> {
    let (period, zone) = selected(&app, &query).await?;
    let report = Report::of_month(&app, period, zone).await?;
    let by_day = Orders::of_app(&app).revenue(&days(period, zone)).await?;
    let current = PayrollMonth::containing(app.payroll.today().await?);
    Ok(draw(&visitor, &report, &by_day, current).into_response())
}

/// `GET /orders/reports/export.csv`.
pub async fn csv(
    State(app): State<App>,
    Owner(visitor): Owner,
    Query(query): Query<MonthQuery>,
) -> Result<Response, PageError> {
    let (period, zone) = selected(&app, &query).await?;
    let report = Report::of_month(&app, period, zone).await?;
    Ok(sent(period, "csv", export::CSV_TYPE, report.csv(visitor.language()).into_bytes()))
}

/// `GET /orders/reports/export.xlsx`.
pub async fn xlsx(
    State(app): State<App>,
    Owner(visitor): Owner,
    Query(query): Query<MonthQuery>,
) -> Result<Response, PageError> {
    let (period, zone) = selected(&app, &query).await?;
    let (report, language) = (Report::of_month(&app, period, zone).await?, visitor.language());
    // Compressing many rows would block the runtime.
    let written = tokio::task::spawn_blocking(move || report.xlsx(language)).await;
    let bytes = written.map_err(anyhow::Error::from)?.map_err(anyhow::Error::from)?;
    Ok(sent(period, "xlsx", export::XLSX_TYPE, bytes))
}

fn sent(period: PayrollMonth, ending: &str, kind: &'static str, bytes: Vec<u8>) -> Response {
    let name = format!("attachment; filename=\"orders-{period}.{ending}\"");
    ([(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, name)], bytes).into_response()
}

async fn selected(app: &App, query: &MonthQuery) -> Result<(PayrollMonth, Tz), PageError> {
    let zone = app.settings.get(&TIME_ZONE).await?;
    let period = match query.period.as_str() {
        "" => PayrollMonth::containing(app.payroll.today().await?),
        period => period.parse().map_err(|_| PageError::NotFound)?,
    };
    Ok((period, zone))
}

/// The days of a month by the clock of the business.
fn days(period: PayrollMonth, zone: Tz) -> Vec<Period> {
    let days = period.first_day().iter_days().take_while(|day| *day <= period.last_day());
    days.filter_map(|day| Period::of_days(day, 1, zone)).collect()
}

fn draw(visitor: &Visitor, report: &Report, by_day: &[Money], current: PayrollMonth) -> Markup {
    let (language, period) = (visitor.language(), report.period);
    let title = text!(language, "orders-reports");
    let sum: OrderSums = report.lines.iter().map(|line| line.sums).sum();
    let last = current.max(period);
    let download = |ending: &str| {
        let caption = ending.to_uppercase();
        let path = format!("{REPORTS}/export.{ending}?period={period}");
        Button::plain(&caption).icon(Icon::Download).testid(ending).link(&path)
    };
    let masters = report.grouped(|line| report.name_of(line));
    let kinds = report.grouped(|line| &line.equipment_type);
    visitor.page(
        &title,
        &html! {
            (headline(&title, &html! {
                (months(REPORTS, period, last, language))
                div.row { (download("csv")) (download("xlsx")) }
            }))
            div.cards.sums {
                (figure(&text!(language, "orders-nav"), &sum.closed.to_string(), "sum-orders"))
                (figure(&text!(language, "orders-revenue"), &sum.total.shown(language), "sum-revenue"))
                (figure(&text!(language, "orders-margin"), &sum.margin().shown(language), "sum-margin"))
                (figure(&text!(language, "orders-time-to-accept"), &average(sum.accept_seconds(), language), "to-accept"))
                (figure(&text!(language, "orders-time-to-finish"), &average(sum.finish_seconds(), language), "to-finish"))
            }
            @if report.lines.is_empty() { p.quiet { (text!(language, "orders-nothing-closed")) } }
            @else {
                (chart(report.period, by_day, language))
                (sums_table("by-master", &text!(language, "orders-master"), &masters, language))
                (sums_table("by-kind", &text!(language, "orders-equipment"), &kinds, language))
            }
        },
    )
}

/// The revenue of every day.
fn chart(period: PayrollMonth, by_day: &[Money], language: Language) -> Markup {
    let bars = by_day.iter().zip(1..).map(|(total, day): (&Money, u32)| Bar {
        caption: day.to_string(),
        value: total.kopecks(),
        text: total.shown(language),
    });
    let (bars, revenue) = (bars.collect::<Vec<_>>(), text!(language, "orders-revenue"));
    let label = text!(language, "cabinet-chart-of", what = revenue.as_str(), month = period.shown(language));
    let (fold, day) = (text!(language, "cabinet-as-table"), text!(language, "cabinet-day"));
    // Marks of the scale are whole amounts.
    let nothing = export::separators(language).1.to_owned() + "00";
    let mark = |kopecks: i64| Money::from_kopecks(kopecks).shown(language).replacen(&nothing, "", 1);
    html! {
        (Card::new(&revenue).class("chart").testid("chart-revenue").render(&Chart {
            id: "values-revenue",
            label: &label,
            bars: &bars,
            unit: 100,
            mark: &mark,
            table: [&fold, &day, &revenue],
        }.render()))
    }
}

fn sums_table(testid: &str, title: &str, groups: &[(&str, OrderSums)], language: Language) -> Markup {
    let amounts = file::COLUMNS.map(|key| Column::amount(language.text(key)));
    let columns: Vec<Column> = [Column::text(title.to_owned())].into_iter().chain(amounts).collect();
    let row = |(name, sums): &(&str, OrderSums)| {
        vec![
            html! { (name) },
            html! { (sums.closed) },
            html! { (sums.total.shown(language)) },
            html! { (sums.materials.shown(language)) },
            html! { (sums.share.shown(language)) },
            html! { (sums.margin().shown(language)) },
            html! { (average(sums.accept_seconds(), language)) },
            html! { (average(sums.finish_seconds(), language)) },
        ]
    };
    table(testid, &columns, &groups.iter().map(row).collect::<Vec<_>>())
}

fn average(seconds: Option<i64>, language: Language) -> String {
    seconds.map_or_else(|| "–".to_owned(), |seconds| duration(seconds, language))
}
