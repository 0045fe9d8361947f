//! The board as a table by day and master, also for paper.

use chrono::NaiveDate;
use maud::{Markup, html};

use super::BoardPage;
use crate::key;
use crate::orders::SeenOrder;
use crate::orders::pages::{number, path_of};
use crate::sites::local;
use crate::text;
use crate::texts::{Language, long_day};
use crate::web::ui::{Column, table};

/// The titles of the columns.
const COLUMNS: [&str; 6] = [
    key!("orders-when"),
    key!("orders-master"),
    key!("orders-client"),
    key!("orders-address"),
    key!("orders-problem"),
    key!("web-status"),
];

impl BoardPage {
    /// A table for each day, sorted by master and time.
    pub(super) fn table(&self, language: Language) -> Markup {
        let mut rows: Vec<(Option<NaiveDate>, &SeenOrder)> =
            self.by_time().into_iter().map(|seen| (self.day_of(seen), seen)).collect();
        // Without a day at the end.
        let name = |seen: &SeenOrder| self.name_of(seen.order.master_id).unwrap_or_default().to_owned();
        rows.sort_by_key(|(day, seen)| (day.is_none(), *day, name(seen)));
        let columns: Vec<Column> = COLUMNS.map(|key| Column::text(language.text(key))).into();
        html! {
            @for day in rows.chunk_by(|one, other| one.0 == other.0) {
                @let title = day.first().and_then(|(day, _)| *day);
                h2 { @match title {
                    Some(title) => (long_day(title, language)),
                    None => (text!(language, "orders-no-time")),
                } }
                (table("orders", &columns, &day.iter().map(|(_, seen)| self.row(seen, language)).collect::<Vec<_>>()))
            }
        }
    }

    fn day_of(&self, seen: &SeenOrder) -> Option<NaiveDate> {
        seen.order.about.window.map(|window| local(window.from, self.zone).date())
    }

    fn row(&self, seen: &SeenOrder, language: Language) -> Vec<Markup> {
        let (order, about) = (&seen.order, &seen.order.about);
        let hours = about.window.map_or_else(|| "–".to_owned(), |window| window.local(self.zone).hours(language));
        vec![
            html! { a.name href=(path_of(order.id)) { (number(seen, language)) } br; (hours) },
            html! { (self.name_of(order.master_id).unwrap_or("–")) },
            html! { (about.client_name) @if seen.shows_phone { br; span.money { (about.phone) } } },
            html! { @if seen.shows_address { (about.address) } @else { "–" } },
            html! { (about.equipment_type) ": " (about.description) },
            html! { (order.status.text(language)) " " (self.marks(seen, language)) },
        ]
    }
}
