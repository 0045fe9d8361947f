//! A month as a file: CSV and XLSX, one row for each person.
//!
//! Texts of people never become formulas: CSV puts an apostrophe before them if a spreadsheet would evaluate them, XLSX
//! stores them as text cells.

use rust_xlsxwriter::{Format, Workbook, XlsxError};

use super::{Entry, Money, PayrollSheet};
use crate::text;
use crate::texts::Language;

pub const CSV_TYPE: &str = "text/csv; charset=utf-8";
pub const XLSX_TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/// Without it spreadsheets do not read CSV as UTF-8.
pub const BYTE_ORDER_MARK: &str = "\u{feff}";
const NAME_WIDTH: f64 = 32.0;
const AMOUNT_WIDTH: f64 = 15.0;

/// The characters with which a formula starts, also after spaces.
const FORMULA_STARTS: [char; 8] = ['=', '+', '-', '@', '\t', '\r', '\n', '|'];

/// The month as CSV. Russian spreadsheets expect semicolons and decimal commas.
pub fn csv(sheet: &PayrollSheet, language: Language) -> String {
    let (separator, point) = separators(language);
    let number = |amount: String| amount.replace('.', point);
    let mut text = String::from(BYTE_ORDER_MARK);
    let mut push = |cells: Vec<String>| {
        text.push_str(&cells.join(separator));
        text.push_str("\r\n");
    };
    push(headers(language).iter().map(|header| quoted(header)).collect());
    for entry in &sheet.entries {
        let mut cells = vec![quoted(&without_formula(name(sheet, entry))), number(entry.hours.to_string())];
        cells.extend(amounts(entry).map(|amount| number(amount.to_string())));
        push(
            cells
                .iter()
                .map(
                    |cell| if cell.contains(separator) && !cell.starts_with('"') { quoted(cell) } else { cell.clone() },
                )
                .collect(),
        );
    }
    let mut cells = vec![quoted(&text!(language, "payroll-sum")), number(sheet.sum.hours.to_string())];
    cells.extend(amounts(&sheet.sum).map(|amount| number(amount.to_string())));
    push(cells);
    text
}

/// The month as a workbook with numbers and without formulas.
pub fn xlsx(sheet: &PayrollSheet, language: Language) -> Result<Vec<u8>, XlsxError> {
    let mut workbook = Workbook::new();
    let bold = Format::new().set_bold();
    let amount = Format::new().set_num_format("#,##0.00");
    let sum = Format::new().set_num_format("#,##0.00").set_bold();
    let page = workbook.add_worksheet();
    page.set_name(sheet.month.period.to_string())?;
    page.set_freeze_panes(1, 1)?;
    page.set_column_width(0, NAME_WIDTH)?;
    for (column, header) in (0..).zip(headers(language)) {
        page.write_string_with_format(0, column, header, &bold)?;
        if column > 0 {
            page.set_column_width(column, AMOUNT_WIDTH)?;
        }
    }
    let mut row = 1;
    for entry in &sheet.entries {
        page.write_string(row, 0, name(sheet, entry))?;
        for (column, number) in (1..).zip(numbers(entry)) {
            page.write_number_with_format(row, column, number, &amount)?;
        }
        row += 1;
    }
    page.write_string_with_format(row, 0, text!(language, "payroll-sum"), &bold)?;
    for (column, number) in (1..).zip(numbers(&sheet.sum)) {
        page.write_number_with_format(row, column, number, &sum)?;
    }
    workbook.save_to_buffer()
}

/// What separates cells, and decimals. They differ, so that numbers need no quotes.
pub const fn separators(language: Language) -> (&'static str, &'static str) {
    match language {
        Language::Ru => (";", ","),
        Language::En => (",", "."),
    }
}

fn headers(language: Language) -> [String; 8] {
    [
        text!(language, "payroll-person"),
        text!(language, "payroll-hours"),
        text!(language, "payroll-earned"),
        text!(language, "payroll-bonuses"),
        text!(language, "payroll-deductions"),
        text!(language, "payroll-total"),
        text!(language, "payroll-paid"),
        text!(language, "payroll-due"),
    ]
}

fn amounts(entry: &Entry) -> [Money; 6] {
    [entry.earned, entry.bonus, entry.deduction, entry.total, entry.paid, entry.due()]
}

/// The amounts as spreadsheet numbers. Two decimals are exact far beyond any pay.
fn numbers(entry: &Entry) -> impl Iterator<Item = f64> {
    let hours = entry.hours.hundredths();
    let all = std::iter::once(hours).chain(amounts(entry).map(Money::kopecks));
    all.map(|hundredths| hundredths as f64 / 100.0)
}

fn name<'a>(sheet: &'a PayrollSheet, entry: &Entry) -> &'a str {
    sheet.names.get(&entry.user_id).map_or("–", String::as_str)
}

/// The text, with an apostrophe if a spreadsheet would evaluate it.
pub fn without_formula(text: &str) -> String {
    let begins = text.trim_start_matches([' ', '\u{a0}']);
    if begins.starts_with(FORMULA_STARTS) || text.starts_with(FORMULA_STARTS) {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::{MonthStatus, PaidHours};
    use super::*;

    fn sheet(name: &str) -> PayrollSheet {
        let money = Money::from_kopecks;
        let entry = Entry {
            user_id: 7,
            hours: PaidHours::from_hundredths(750),
            earned: money(123_450),
            bonus: money(100),
            deduction: money(-3300),
            total: money(120_250),
            paid: money(0),
            credit: money(0),
            version: 1,
        };
        let month = MonthStatus { period: "2026-01".parse().unwrap(), closed: None };
        let names = HashMap::from([(7, name.to_owned())]);
        PayrollSheet { month, entries: vec![entry.clone()], people: 1, sum: entry, names }
    }

    #[test]
    fn a_name_never_becomes_a_formula() {
        for name in ["=1+1", "+7", "-2", "@SUM(A1)", "\tx", "  =HYPERLINK(\"a\")", "|calc"] {
            let written = csv(&sheet(name), Language::En);
            let row = written.lines().nth(1).unwrap();
            assert!(row.starts_with("\"'"), "{name}: {row}");
        }
        let quiet = csv(&sheet("Anna \"the boss\", Peters"), Language::En);
        assert!(
            quiet.lines().nth(1).unwrap().starts_with("\"Anna \"\"the boss\"\", Peters\",7.50,1234.50,1.00,-33.00,")
        );
    }

    #[test]
    fn a_russian_file_has_russian_headers_and_commas() {
        let written = csv(&sheet("Анна"), Language::Ru);
        assert!(written.starts_with("\u{feff}\"Сотрудник\";\"Часы\";"), "{written}");
        assert!(written.contains("\"Анна\";7,50;1234,50;1,00;-33,00;1202,50;0,00;1202,50\r\n"), "{written}");
    }

    #[test]
    fn a_workbook_has_texts_and_numbers_but_no_formulas() {
        let bytes = xlsx(&sheet("=1+1"), Language::Ru).unwrap();
        let mut workbook = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
        let mut read = |name: &str| {
            let mut text = String::new();
            std::io::Read::read_to_string(&mut workbook.by_name(name).unwrap(), &mut text).unwrap();
            text
        };
        let (cells, texts) = (read("xl/worksheets/sheet1.xml"), read("xl/sharedStrings.xml"));
        assert!(cells.contains("<v>1234.5</v>") && cells.contains("<v>-33</v>"), "{cells}");
        assert!(!cells.contains("<f>"), "{cells}");
        assert!(texts.contains("<t>=1+1</t>") && texts.contains("Сотрудник"), "{texts}");
    }
}
