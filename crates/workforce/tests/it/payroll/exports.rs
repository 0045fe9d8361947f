//! Exported files, opened by a spreadsheet library: numbers are numbers, no typed text is a formula, and the sums are
//! those of the page.

use std::process::Command;

use opora_testkit::environment;
use serde_json::Value;
use workforce::payroll::export;
use workforce::texts::Language;

use super::january;
use super::pages::plain;
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::ANNA;
use crate::kit::firm::StorageKind;
use crate::kit::sql::run_sql;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/payroll/workbook.py");
/// Spreadsheets take these for formulas.
const NAMES: [&str; 7] = ["=1+1", "+7 900", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "  =HYPERLINK(\"x\")"];
const PEOPLE: usize = 2000;

/// The rows of a workbook. Each cell is its kind (`s` text, `n` number, `f` formula), value and format.
fn read_workbook(bytes: &[u8]) -> Vec<Vec<Value>> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("payroll.xlsx");
    std::fs::write(&file, bytes).unwrap();
    let read = Command::new(environment::python()).args(["-B", SCRIPT]).arg(&file).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let lines = String::from_utf8(read.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_workbook_has_numbers_and_the_sums_of_the_page() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    fill(&cabinet).await;
    let sheet = cabinet.app.payroll.all_of_period(january()).await.unwrap();
    let bytes = export::xlsx(&sheet, Language::En).unwrap();
    // Less than a hundred bytes per person.
    assert!(bytes.len() < 100 * PEOPLE, "{} bytes", bytes.len());
    let rows = read_workbook(&bytes);
    assert_eq!(rows.len(), PEOPLE + 2);
    let people = &rows[1..=PEOPLE];
    assert!(people.iter().all(|row| row[0][0] == "s"), "names are texts");
    let is_number = |cell: &Value| cell[0] == "n" && cell[2] == "#,##0.00";
    assert!(people.iter().all(|row| row[1..].len() == 7 && row[1..].iter().all(is_number)), "amounts are numbers");
    for name in NAMES.iter().filter(|name| !name.contains(['\t', '\r'])) {
        assert!(people.iter().any(|row| row[0][1] == *name), "{name:?} is there as it was typed");
    }
    let sums = rows.last().unwrap();
    for column in 1..8 {
        let kopecks = |cell: &Value| (cell[1].as_f64().unwrap() * 100.0).round() as i64;
        assert_eq!(people.iter().map(|row| kopecks(&row[column])).sum::<i64>(), kopecks(&sums[column]), "{column}");
    }
    assert_eq!(sums[5][1].as_f64(), Some(200_100.0));
    plain(&owner, "/payroll?period=2026-01").await.contains_all(&["200,100 ₽"]);
    cabinet.close().await;
}

#[tokio::test]
async fn names_that_look_like_formulas_are_escaped_in_csv() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    fill(&cabinet).await;
    let file = owner.get("/payroll/export.csv?period=2026-01").await.body;
    assert_eq!(file.matches("\r\n").count(), PEOPLE + 2);
    for name in NAMES {
        let cell = format!("\"'{}\"", name.replace('"', "\"\""));
        assert!(file.contains(&cell), "no {cell:?}");
    }
    for begins in ["=", "+", "-", "@", "\t", "\r"] {
        let is_raw = |row: &&str| row.trim_start_matches('"').starts_with(begins);
        assert!(file.split("\r\n").skip(1).find(is_raw).is_none(), "a row begins with {begins:?}");
    }
    cabinet.close().await;
}

/// Thousands of people with pay, some with names that look like formulas.
async fn fill(cabinet: &Cabinet) {
    let mut statements = vec![
        format!(
            "WITH RECURSIVE n(i) AS (SELECT 5001 UNION ALL SELECT i + 1 FROM n WHERE i < {})
            INSERT INTO users (id, telegram_id, full_name, language, status, enrolled_by, created_at, updated_at)
            SELECT i, i, 'Person ' || i, 'en', 'verified', 'grant', 0, 0 FROM n",
            5000 + PEOPLE
        ),
        "INSERT INTO payroll_periods (id) VALUES ('2026-01')".to_owned(),
        "INSERT INTO payroll_entries (period, user_id, hours_hundredths, earned_kopecks, bonus_kopecks,
            deduction_kopecks, total_kopecks) SELECT '2026-01', id, 750, id, 10005, -id, 10005
            FROM users WHERE id > 5000"
            .to_owned(),
    ];
    for (id, name) in (5001..).zip(NAMES) {
        let name = name.replace('\'', "''");
        statements.push(format!("UPDATE users SET full_name = '{name}' WHERE id = {id}"));
    }
    for sql in statements {
        run_sql(&cabinet.app.domain, sql).await;
    }
}
