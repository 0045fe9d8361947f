//! The report as CSV and XLSX, one row for each master and kind of equipment. Texts never become formulas.

use rust_xlsxwriter::{Format, Workbook, XlsxError};

use super::Report;
use crate::key;
use crate::orders::report::OrderSums;
use crate::payroll::export::{BYTE_ORDER_MARK, quoted, separators, without_formula};
use crate::text;
use crate::texts::Language;

const NAME_WIDTH: f64 = 28.0;
const AMOUNT_WIDTH: f64 = 15.0;

/// The titles of the columns with numbers.
pub const COLUMNS: [&str; 7] = [
    key!("orders-nav"),
    key!("orders-revenue"),
    key!("orders-materials"),
    key!("orders-share"),
    key!("orders-margin"),
    key!("orders-time-to-accept"),
    key!("orders-time-to-finish"),
];

impl Report {
    pub fn csv(&self, language: Language) -> String {
        let (separator, point) = separators(language);
        let mut text = String::from(BYTE_ORDER_MARK);
        let mut push = |cells: Vec<String>| {
            text.push_str(&cells.join(separator));
            text.push_str("\r\n");
        };
        push(titles(language).iter().map(|title| quoted(title)).collect());
        for line in &self.lines {
            let names = [self.name_of(line), &line.equipment_type].map(|name| quoted(&without_formula(name)));
            let numbers = numbers(&line.sums).map(|number| number.replace('.', point));
            push(names.into_iter().chain(numbers).collect());
        }
        text
    }

    pub fn xlsx(&self, language: Language) -> Result<Vec<u8>, XlsxError> {
        let mut workbook = Workbook::new();
        let (bold, amount) = (Format::new().set_bold(), Format::new().set_num_format("#,##0.00"));
        let page = workbook.add_worksheet();
        page.set_name(self.period.to_string())?;
        page.set_freeze_panes(1, 2)?;
        for (column, title) in (0..).zip(titles(language)) {
            page.write_string_with_format(0, column, title, &bold)?;
            page.set_column_width(column, if column < 2 { NAME_WIDTH } else { AMOUNT_WIDTH })?;
        }
        for (row, line) in (1..).zip(&self.lines) {
            page.write_string(row, 0, self.name_of(line))?;
            page.write_string(row, 1, &line.equipment_type)?;
            for (column, number) in (2..).zip(numbers(&line.sums)) {
                page.write_number_with_format(row, column, number.parse::<f64>().unwrap_or_default(), &amount)?;
            }
        }
        workbook.save_to_buffer()
    }
}

fn titles(language: Language) -> Vec<String> {
    let names = [text!(language, "orders-master"), text!(language, "orders-equipment")];
    let hours = |(at, key): (usize, &str)| match at {
        0..=4 => language.text(key),
        _ => text!(language, "orders-in-hours", what = language.text(key)),
    };
    names.into_iter().chain(COLUMNS.into_iter().enumerate().map(hours)).collect()
}

/// The numbers of a row, with a point: amounts, and average times in hours.
fn numbers(sums: &OrderSums) -> [String; 7] {
    let hours = |seconds: Option<i64>| {
        let hundredths = seconds.unwrap_or_default() / 36;
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    };
    [
        sums.closed.to_string(),
        sums.total.to_string(),
        sums.materials.to_string(),
        sums.share.to_string(),
        sums.margin().to_string(),
        hours(sums.accept_seconds()),
        hours(sums.finish_seconds()),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::money::Money;
    use crate::orders::report::ReportLine;

    #[test]
    fn a_file_has_plain_numbers_and_no_formulas() {
        let roubles = Money::from_roubles;
        let sums = OrderSums {
            closed: 2,
            total: roubles(10_000),
            materials: roubles(2000),
            share: roubles(4000),
            accept_ms: 3_600_000,
            finish_ms: 4 * 3_600_000,
        };
        let line = ReportLine { master_id: Some(7), equipment_type: "=1+1".into(), sums };
        let names = HashMap::from([(7, "Max".to_owned())]);
        let report = Report { period: "2026-01".parse().unwrap(), lines: vec![line], names };
        let csv = report.csv(Language::En);
        assert_eq!(csv.lines().nth(1), Some("\"Max\",\"'=1+1\",2,10000.00,2000.00,4000.00,4000.00,0.50,2.00"));
        assert!(report.csv(Language::Ru).contains("\"Max\";\"'=1+1\";2;10000,00;"));
        assert!(report.xlsx(Language::Ru).is_ok());
    }
}
