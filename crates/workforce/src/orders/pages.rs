//! The pages of this room: the board, an order with everything that can be done with it, and the form of a new order.
//!
//! Dispatchers and owners see all orders, masters their own. Every gesture ends in a form that works without a script.

use maud::html;
use opora::clock::Millis;

use super::{Orders, SeenOrder};
use crate::application::App;
use crate::key;
use crate::person::{DISPATCHERS, MASTERS, ORDER_READERS, OWNERS, Person};
use crate::text;
use crate::texts::{Language, duration};
use crate::web::ui::Icon;
use crate::web::{Card, MAX_HITS, NavItem, PageError, Routes, SearchGroups, SearchHit, Section, Visitor};

mod board;
mod clients;
mod creating;
mod deed;
mod fields;
mod import;
mod masters;
mod order;
mod place;
mod prices;
mod reports;
mod time;

/// The path of the board.
pub const BOARD: &str = "/orders";

pub fn routes() -> Routes {
    Routes::new()
        .get("/orders", board::show)
        .get("/orders/new", creating::show)
        .post("/orders/new", creating::create)
        .get("/orders/clients", clients::list)
        .get("/orders/clients/import", import::show)
        .post("/orders/clients/import", import::preview)
        .post("/orders/clients/import/now", import::import)
        .get("/orders/clients/import/example", import::example)
        .get("/orders/clients/{id}", clients::show)
        .post("/orders/clients/{id}", clients::edit)
        .post("/orders/clients/{id}/equipment", clients::add_equipment)
        .post("/orders/clients/{id}/equipment/{item}", clients::change_equipment)
        .post("/orders/clients/{id}/equipment/{item}/delete", clients::delete_equipment)
        .post("/orders/clients/{id}/rules", clients::add_rule)
        .post("/orders/clients/{id}/rules/{rule}/stop", clients::stop_rule)
        .get("/orders/prices", prices::show)
        .post("/orders/prices", prices::add)
        .post("/orders/prices/{id}", prices::change)
        .post("/orders/prices/{id}/delete", prices::delete)
        .post("/orders/kinds", prices::add_kind)
        .post("/orders/kinds/{id}/checklist", prices::set_checklist)
        .post("/orders/kinds/{id}/delete", prices::delete_kind)
        .get("/orders/masters", masters::show)
        .get("/orders/reports", reports::show)
        .get("/orders/reports/export.csv", reports::csv)
        .get("/orders/reports/export.xlsx", reports::xlsx)
        .get("/orders/{id}", order::show)
        .post("/orders/{id}/{deed}", order::act)
        .get("/orders/{id}/files/{file}", order::file)
        .post("/orders/{id}/files/{file}/again", order::file_again)
}

pub fn nav() -> Vec<NavItem> {
    vec![
        NavItem::new(key!("orders-nav"), BOARD, Icon::Orders, ORDER_READERS).with_badge(super::TOPIC),
        NavItem::new(key!("orders-clients"), clients::CLIENTS, Icon::People, DISPATCHERS).under(BOARD),
        NavItem::new(key!("orders-masters"), "/orders/masters", Icon::Person, DISPATCHERS).under(BOARD),
        NavItem::new(key!("orders-prices"), prices::PRICES, Icon::List, DISPATCHERS).under(BOARD),
        NavItem::new(key!("orders-reports"), reports::REPORTS, Icon::Chart, OWNERS).under(BOARD),
    ]
}

/// New and overdue orders.
pub async fn badges(app: &App, viewer: &Person) -> Result<Vec<(&'static str, u64)>, sea_orm::DbErr> {
    if !viewer.may(ORDER_READERS) {
        return Ok(Vec::new());
    }
    Ok(vec![(BOARD, Orders::of_app(app).waiting(viewer).await?)])
}

/// Orders that a search finds, for the command palette.
pub async fn search(app: &App, viewer: &Person, words: &str) -> Result<SearchGroups, PageError> {
    if !viewer.may(ORDER_READERS) {
        return Ok(Vec::new());
    }
    let (language, found) = (viewer.language, Orders::of_app(app).search(viewer, words).await?);
    let hits = found.into_iter().take(MAX_HITS).map(|seen| SearchHit {
        icon: Icon::Orders,
        caption: format!("{} · {}", number(&seen, language), seen.order.about.client_name),
        detail: format!("{} · {}", seen.order.status.text(language), seen.order.about.equipment_type),
        path: path_of(seen.order.id),
    });
    Ok(vec![(text!(language, "orders-nav"), hits.collect())])
}

/// The number of open orders, for those who dispatch.
pub async fn home_cards(app: &App, viewer: &Person) -> Result<Vec<Card>, PageError> {
    if !viewer.may(ORDER_READERS) {
        return Ok(Vec::new());
    }
    let counts = Orders::of_app(app).counts(viewer).await?;
    let open: i64 = counts.values().sum();
    let number = u64::try_from(open).unwrap_or_default();
    let label = text!(viewer.language, "orders-card-open");
    let card = Card { label, number, path: BOARD.to_owned() };
    // A business without repairs is not told of them.
    Ok(if number > 0 || !viewer.may(OWNERS) { vec![card] } else { Vec::new() })
}

/// The open orders of a master, on the master's page.
pub async fn person_sections(app: &App, viewer: &Person, person: &Person) -> Result<Vec<Section>, PageError> {
    if !person.may(MASTERS) || !viewer.may(DISPATCHERS) {
        return Ok(Vec::new());
    }
    let (language, day) = (viewer.language, Orders::of_app(app).day_of_master(person).await?);
    let body = html! {
        @if day.orders.is_empty() { p.quiet { (text!(language, "orders-master-is-free")) } }
        ul.rows data-testid="orders-of-person" {
            @for seen in day.orders.iter().take(MAX_HITS) {
                li {
                    span { a href=(path_of(seen.order.id)) { (number(seen, language)) } " " (seen.order.about.equipment_type) }
                    span.quiet { (seen.order.status.text(language)) }
                }
            }
        }
        @if day.orders.len() > MAX_HITS {
            p { a href={ (BOARD) "?master=" (person.id) } { (text!(language, "orders-show-all")) } }
        }
    };
    Ok(vec![Section { title: text!(language, "orders-nav"), body }])
}

/// The page of an order.
fn path_of(id: i64) -> String {
    format!("{BOARD}/{id}")
}

/// `No. 12`.
fn number(seen: &SeenOrder, language: Language) -> String {
    text!(language, "orders-number", number = seen.order.number.to_string())
}

/// How long an order has been in its status, in one unit.
fn age(seen: &SeenOrder, now: Millis, language: Language) -> String {
    let seconds = (now.0 - seen.order.status_since.0).max(0) / 1000;
    match seconds / 3600 {
        0 => duration(seconds, language),
        hours if hours < 48 => text!(language, "orders-age-hours", count = hours),
        hours => text!(language, "orders-age-days", count = hours / 24),
    }
}

/// Refuses people who read no orders.
fn require_reader(visitor: &Visitor) -> Result<(), PageError> {
    if visitor.person.may(ORDER_READERS) { Ok(()) } else { Err(PageError::Forbidden) }
}

/// Refuses people who do not dispatch.
fn require_dispatcher(visitor: &Visitor) -> Result<(), PageError> {
    if visitor.person.may(DISPATCHERS) { Ok(()) } else { Err(PageError::Forbidden) }
}
