//! Tables that become a list of cards on phones.

use maud::{Markup, html};

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    pub title: String,
    /// Whether its values are numbers or amounts, which are aligned to the right.
    pub is_amount: bool,
}

impl Column {
    pub fn text(title: String) -> Self {
        Self { title, is_amount: false }
    }

    pub fn amount(title: String) -> Self {
        Self { title, is_amount: true }
    }
}

/// A table; a row has a cell for each column. On phones every cell says its column's title.
pub fn table(testid: &str, columns: &[Column], rows: &[Vec<Markup>]) -> Markup {
    html! {
        div.table-frame {
            table.table data-testid=(testid) {
                thead { tr { @for column in columns { th.amount[column.is_amount] scope="col" { (column.title) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (cell, column) in row.iter().zip(columns) {
                                td.amount[column.is_amount] data-label=(column.title) { (cell) }
                            }
                        }
                    }
                }
            }
        }
    }
}
