//! The cards of an order: what is to be done, for whom, by whom, and for how much.

use maud::{Markup, html};

use super::OrderPage;
use crate::money::Money;
use crate::orders::pages::clients::CLIENTS;
use crate::orders::pages::time;
use crate::orders::{AmountConfirmation, OrderSource, reason_text};
use crate::text;
use crate::texts::{Language, day};

/// A line of facts, unless there is nothing to say.
fn fact(title: &str, value: Option<&str>) -> Markup {
    html! { @if let Some(value) = value { dt { (title) } dd.lines { (value) } } }
}

impl OrderPage {
    /// What is to be done and when.
    pub(super) fn about(&self, language: Language) -> Markup {
        let order = &self.seen().order;
        let source = match order.source {
            OrderSource::Dispatcher => text!(language, "orders-from-office", name = self.name_of(order.created_by)),
            OrderSource::Client => text!(language, "orders-from-client"),
            OrderSource::Recurring => text!(language, "orders-from-rule"),
        };
        let created = format!("{} · {source}", time::moment(order.created_at, self.zone, language));
        html! {
            dl.facts {
                (fact(&text!(language, "orders-when"), Some(&time::shown(order.about.window, self.zone, language))))
                (fact(&text!(language, "orders-equipment"), Some(&order.about.equipment_type)))
                (self.owned(language))
                (fact(&text!(language, "orders-problem"), Some(&order.about.description)))
                (fact(&text!(language, "orders-notes"), order.about.notes.as_deref()))
                (fact(&text!(language, "orders-created"), Some(&created)))
                @if let Some(reason) = &order.refusal_reason {
                    (fact(&text!(language, "orders-reason"), Some(&reason_text(reason, language))))
                }
            }
        }
    }

    /// The client's equipment that the order is about.
    fn owned(&self, language: Language) -> Markup {
        let Some(owned) = &self.details.equipment else { return html! {} };
        let names = [owned.about.model.as_deref(), owned.about.serial.as_deref()];
        let names = names.into_iter().flatten().collect::<Vec<_>>().join(" · ");
        let warranty = owned.about.warranty_until.map(|until| day(until, language));
        html! {
            (fact(&text!(language, "orders-model"), Some(names.as_str()).filter(|names| !names.is_empty())))
            (fact(&text!(language, "orders-warranty"), warranty.as_deref()))
        }
    }

    pub(super) fn client(&self, language: Language) -> Markup {
        let (seen, about) = (self.seen(), &self.seen().order.about);
        let later = |key: &str| language.text(key);
        let client = self.details.client.as_ref();
        html! {
            dl.facts {
                dt { (text!(language, "orders-client-name")) }
                dd {
                    @match client {
                        Some(client) => a href={ (CLIENTS) "/" (client.id) } { (about.client_name) },
                        None => (about.client_name),
                    }
                }
                dt { (text!(language, "orders-client-phone")) }
                dd {
                    @if seen.shows_phone { a href={ "tel:" (about.phone) } { (about.phone) } }
                    @else { span.quiet { (later(crate::key!("orders-phone-later"))) } }
                }
                dt { (text!(language, "orders-address")) }
                dd {
                    @if seen.shows_address { (about.address) }
                    @else { span.quiet { (later(crate::key!("orders-address-later"))) } }
                }
                (fact(&text!(language, "orders-client-notes"), client.and_then(|client| client.notes.as_deref())))
                @if client.is_some_and(|client| client.has_blocked_bot) {
                    dt {} dd.quiet { (text!(language, "orders-client-blocked-bot")) }
                }
                @if let Some(rating) = &self.details.rating {
                    dt { (text!(language, "orders-rating")) }
                    dd.lines { (rating.stars) " / 5" @if let Some(comment) = &rating.comment { "\n" (comment) } }
                }
            }
        }
    }

    /// The master, and what has happened so far.
    pub(super) fn work(&self, language: Language) -> Markup {
        let (order, progress) = (&self.seen().order, &self.seen().order.progress);
        let at = |at: Option<opora::clock::Millis>| at.map(|at| time::moment(at, self.zone, language));
        let master = order.master_id.map(|id| self.name_of(Some(id)).to_owned());
        let repair = progress.long_repair_until.map(|until| day(until, language));
        let lines = [
            (crate::key!("orders-assigned-at"), at(progress.assigned_at)),
            (crate::key!("orders-accepted-at"), at(progress.accepted_at)),
            (crate::key!("orders-on-the-way-at"), at(progress.on_the_way_at)),
            (crate::key!("orders-arrives-at"), at(progress.arrives_at)),
            (crate::key!("orders-arrived-at"), at(progress.arrived_at)),
            (crate::key!("orders-repair-until"), repair),
            (crate::key!("orders-closed-at"), at(order.closed_at)),
        ];
        let master = master.unwrap_or_else(|| text!(language, "orders-no-master"));
        html! {
            dl.facts {
                (fact(&text!(language, "orders-master"), Some(&master)))
                @for (key, value) in &lines { (fact(&language.text(key), value.as_deref())) }
            }
        }
    }

    pub(super) fn has_money(&self) -> bool {
        let money = &self.seen().order.money;
        money.total.is_some() || money.prepayment.is_positive()
    }

    /// The bill, how it was confirmed, and the master's share with its reason.
    pub(super) fn money(&self, language: Language) -> Markup {
        let money = &self.seen().order.money;
        let amount = |amount: Option<Money>| amount.map(|amount| amount.shown(language));
        let prepayment = Some(money.prepayment).filter(|amount| amount.is_positive());
        let confirmed = money.confirmed.map(|how| match how {
            AmountConfirmation::Client => text!(language, "orders-confirmed-by-client"),
            AmountConfirmation::Cash => text!(language, "orders-confirmed-by-cash"),
        });
        let extras = [
            (money.has_review, crate::key!("orders-with-review")),
            (money.is_out_of_town, crate::key!("orders-out-of-town")),
        ];
        html! {
            @if !self.details.lines.is_empty() {
                ul.rows { @for line in &self.details.lines {
                    li {
                        span { (line.name) @if line.quantity > 1 { " × " (line.quantity) } }
                        span.money { (line.price.times(line.quantity).shown(language)) }
                    }
                } }
            }
            dl.facts {
                (fact(&text!(language, "orders-total"), amount(money.total).as_deref()))
                (fact(&text!(language, "orders-materials"), amount(money.materials).as_deref()))
                (fact(&text!(language, "orders-net"), amount(money.net()).as_deref()))
                (fact(&text!(language, "orders-prepayment"), amount(prepayment).as_deref()))
                (fact(&text!(language, "orders-confirmation"), confirmed.as_deref()))
                @for (_, key) in extras.iter().filter(|(is_so, _)| *is_so) { dt {} dd { (language.text(key)) } }
            }
            @if !self.shares.is_empty() {
                h3 { (text!(language, "orders-share")) }
                ul.rows data-testid="share" { @for line in &self.shares {
                    li {
                        div { (line.caption(language)) p.quiet { (line.text(language)) } }
                        strong.money.minus[line.amount.is_negative()] { (line.amount.signed(language)) }
                    }
                } }
            }
        }
    }
}
