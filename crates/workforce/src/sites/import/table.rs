//! A table as text: its encoding, its separator, its rows.

use std::borrow::Cow;

/// The largest table. It is sent twice, for the preview and for the import, and a form has at most 64 KB.
pub const MAX_TABLE_BYTES: usize = 48 * 1024;
/// The most rows below the head.
pub const MAX_ROWS: usize = 500;
/// The most columns of a row.
pub const MAX_COLUMNS: usize = 30;

/// A table with a head. Cells are trimmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The titles of the columns, in lower case.
    pub head: Vec<String>,
    /// Rows with the number of their line in the file. Empty lines are left out.
    pub rows: Vec<(u64, Vec<String>)>,
}

/// Why a text is no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableError {
    Empty,
    TooLong,
    TooManyRows,
    TooManyColumns,
    /// The line cannot be read, such as one with an open quotation mark.
    Unreadable {
        line: u64,
    },
}

/// The text of a file: UTF-8, or Windows-1251 as Excel writes in Russian.
pub fn decode(bytes: &[u8]) -> String {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => match encoding_rs::WINDOWS_1251.decode_without_bom_handling(bytes) {
            (Cow::Borrowed(text), _) => text.to_owned(),
            (Cow::Owned(text), _) => text,
        },
    }
}

impl Table {
    pub fn read(text: &str) -> Result<Self, TableError> {
        if text.len() > MAX_TABLE_BYTES {
            return Err(TableError::TooLong);
        }
        let text = text.trim_start_matches('\u{feff}');
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(separator(text))
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| {
                let line = error.position().map_or(1, csv::Position::line);
                TableError::Unreadable { line }
            })?;
            if record.len() > MAX_COLUMNS {
                return Err(TableError::TooManyColumns);
            }
            let line = record.position().map_or(1, csv::Position::line);
            if record.iter().any(|cell| !cell.is_empty()) {
                rows.push((line, record.iter().map(str::to_owned).collect::<Vec<_>>()));
            }
            if rows.len() > MAX_ROWS + 1 {
                return Err(TableError::TooManyRows);
            }
        }
        if rows.len() < 2 {
            return Err(TableError::Empty);
        }
        let (_, head) = rows.remove(0);
        Ok(Self { head: head.iter().map(|title| title.to_lowercase()).collect(), rows })
    }
}

/// The separator that the first line has most often: a comma, a semicolon or a tab.
fn separator(text: &str) -> u8 {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let count = |separator: u8| first.bytes().filter(|byte| *byte == separator).count();
    // The first one wins a tie.
    [b';', b'\t', b','].into_iter().rev().max_by_key(|separator| count(*separator)).unwrap_or(b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str) -> Vec<Vec<String>> {
        Table::read(text).unwrap().rows.into_iter().map(|(_, cells)| cells).collect()
    }

    #[test]
    fn separators_and_quotes_are_understood() {
        for text in [
            "Name,Rate\nAnna, 300 ",
            "Name;Rate\r\nAnna;300\r\n",
            "Name\tRate\nAnna\t300",
            "\u{feff}Name,Rate\n\nAnna,300",
        ] {
            assert_eq!(cells(text), [["Anna", "300"]], "{text:?}");
        }
        assert_eq!(
            cells("name;address\n\"Shop; the \"\"new\"\" one\";\"Street 1, 5\""),
            [["Shop; the \"new\" one", "Street 1, 5"]]
        );
        let table = Table::read("Name;Rate\n;\nAnna;300").unwrap();
        assert_eq!((table.head, table.rows[0].0), (vec!["name".to_owned(), "rate".to_owned()], 3));
    }

    #[test]
    fn excel_in_russian_is_understood() {
        let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode("имя;телефон\nАнна;+79991234567");
        assert_eq!(decode(&bytes), "имя;телефон\nАнна;+79991234567");
        assert_eq!(decode("\u{feff}имя".as_bytes()), "имя");
    }

    #[test]
    fn tables_have_limits() {
        assert_eq!(Table::read(""), Err(TableError::Empty));
        assert_eq!(Table::read("name,rate\n"), Err(TableError::Empty));
        assert_eq!(Table::read(&"x".repeat(MAX_TABLE_BYTES + 1)), Err(TableError::TooLong));
        let columns = |count: usize| format!("a,b\n{}", vec!["c"; count].join(","));
        assert_eq!(cells(&columns(MAX_COLUMNS)).len(), 1);
        assert_eq!(Table::read(&columns(MAX_COLUMNS + 1)), Err(TableError::TooManyColumns));
        let rows = |count: usize| format!("a,b\n{}", "c,d\n".repeat(count));
        assert_eq!(Table::read(&rows(MAX_ROWS)).unwrap().rows.len(), MAX_ROWS);
        assert_eq!(Table::read(&rows(MAX_ROWS + 1)), Err(TableError::TooManyRows));
    }
}
