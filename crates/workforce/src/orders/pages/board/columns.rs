//! The columns of the board: by status, or by master.

use maud::{Markup, html};

use super::BoardPage;
use crate::orders::{OrderStatus, SeenOrder};
use crate::text;
use crate::texts::Language;

/// A column: its caption, a count if not all of its orders are listed, and the master to whom orders can be dragged.
struct Column<'a> {
    testid: String,
    caption: String,
    count: usize,
    master: Option<i64>,
    orders: Vec<&'a SeenOrder>,
}

/// A column with more orders takes more of the width.
const CROWDED: usize = 6;

impl Column<'_> {
    /// Orders of a master stay below each other.
    const fn is_crowded(&self) -> bool {
        self.master.is_none() && self.orders.len() > CROWDED
    }
}

impl BoardPage {
    pub(super) fn by_status(&self, language: Language) -> Markup {
        let columns = OrderStatus::ALL.into_iter().map(|status| {
            let orders: Vec<&SeenOrder> = self.board.orders.get(&status).into_iter().flatten().collect();
            let counted = self.board.counts.get(&status).and_then(|count| usize::try_from(*count).ok());
            Column {
                testid: format!("column-{status}"),
                caption: status.text(language),
                count: counted.unwrap_or(orders.len()),
                master: None,
                orders,
            }
        });
        self.columns("order-board", &columns.collect::<Vec<_>>(), language)
    }

    /// A column for each master, and one for orders without a master.
    pub(super) fn by_masters(&self, language: Language) -> Markup {
        let mut by_master = self.by_master();
        let column = |testid: String, caption: &str, master: Option<i64>, orders: Vec<_>| Column {
            testid,
            caption: caption.to_owned(),
            count: orders.len(),
            master,
            orders,
        };
        let free = by_master.remove(&None).unwrap_or_default();
        let no_master = text!(language, "orders-no-master");
        let mut columns = vec![column("column-none".to_owned(), &no_master, None, free)];
        for one in &self.masters {
            let id = Some(one.person.id);
            let orders = by_master.remove(&id).unwrap_or_default();
            columns.push(column(format!("column-{}", one.person.id), &one.person.full_name, id, orders));
        }
        // A master who is one no more, or the orders of the master who looks at the board.
        for (id, orders) in by_master {
            let (id, name) = (id.unwrap_or_default(), self.name_of(id).unwrap_or("–"));
            columns.push(column(format!("column-{id}"), name, None, orders));
        }
        columns.retain(|column| self.may_dispatch || !column.orders.is_empty());
        self.columns("order-board by-master", &columns, language)
    }

    fn columns(&self, class: &str, columns: &[Column<'_>], language: Language) -> Markup {
        html! {
            div class=(class) data-testid="board" {
                @for column in columns {
                    section.order-column.bare[column.orders.is_empty()].crowded[column.is_crowded()] data-order-master=[column.master.filter(|_| self.may_dispatch)]
                        data-testid=(column.testid) {
                        h2 { (column.caption) " " span.quiet { (column.count) } }
                        div.order-cards { @for seen in &column.orders { (self.card(seen, language)) } }
                    }
                }
            }
        }
    }
}
