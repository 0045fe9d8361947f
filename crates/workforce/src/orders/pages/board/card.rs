//! An order as a card of the board.

use maud::{Markup, html};

use super::BoardPage;
use crate::orders::jobs::is_late;
use crate::orders::pages::{age, number, path_of, time};
use crate::orders::{OrderSource, SeenOrder};
use crate::text;
use crate::texts::Language;
use crate::web::ui::{Tone, badge};

impl BoardPage {
    /// A card. It leads to the order's page, and can be dragged by those who dispatch.
    pub(super) fn card(&self, seen: &SeenOrder, language: Language) -> Markup {
        let (order, about) = (&seen.order, &seen.order.about);
        let is_movable = self.may_dispatch && order.status.is_open();
        html! {
            a.order-card.late[is_late(order, self.now)] href=(path_of(order.id)) draggable="false"
                data-order=[is_movable.then_some(order.id)] data-version=(order.version) data-testid={ "order-" (order.number) } {
                span.first {
                    strong { (number(seen, language)) }
                    span.when { (self.when(seen, language)) }
                }
                span.line.name { (about.client_name) }
                span.line { (about.equipment_type) }
                @if seen.shows_address { span.line.quiet { (about.address) } }
                @if let Some(name) = self.name_of(order.master_id) { span.line.master { (name) } }
                span.marks {
                    span.age title=(text!(language, "orders-age")) { (age(seen, self.now, language)) }
                    (self.marks(seen, language))
                }
            }
        }
    }

    /// The window: the hours alone if the board is about one day.
    pub(super) fn when(&self, seen: &SeenOrder, language: Language) -> String {
        let window = seen.order.about.window.map(|window| window.local(self.zone));
        match window {
            Some(window) if self.query.day() == Some(window.from.date()) => window.hours(language),
            _ => time::shown(seen.order.about.window, self.zone, language),
        }
    }

    /// What else is known, in words.
    pub(super) fn marks(&self, seen: &SeenOrder, language: Language) -> Markup {
        let order = &seen.order;
        let waits = order.source == OrderSource::Client && order.progress.confirmed_at.is_none();
        html! {
            @if is_late(order, self.now) { (badge(Tone::Bad, &text!(language, "orders-overdue"))) }
            @if waits && order.status.is_open() { (badge(Tone::Wait, &text!(language, "orders-to-confirm"))) }
            @if self.board.offered.contains_key(&order.id) { (badge(Tone::Info, &text!(language, "orders-offered"))) }
            @if order.progress.on_the_way_at.is_some() && order.status.is_open() && order.progress.arrived_at.is_none() {
                (badge(Tone::Good, &text!(language, "orders-on-the-way")))
            }
        }
    }
}
