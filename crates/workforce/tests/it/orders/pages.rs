//! The pages of orders, through the router: the board, an order with its forms, and the form of a new order.

use workforce::orders::{self, Actor, Command, NewOrder, Order, OrderStatus, Orders};
use workforce::person::{Person, Role};

use super::{about, closes};
use crate::kit::cabinet::{Browser, Cabinet};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::StorageKind;
use crate::kit::queries::QueryCounter;

mod clients;
mod creating;
mod rights;

/// The fields of a form.
type Fields = &'static [(&'static str, &'static str)];

const DINA: i64 = 1401;
const MAX: i64 = 1402;
const NINA: i64 = 1403;
const MAY: i64 = 1404;

/// A desk with pages: Dina dispatches, Max and Nina are masters. Anna is the owner, Boris an employee.
pub struct Office {
    pub cabinet: Cabinet,
    pub dina: Person,
    pub max: Person,
    pub nina: Person,
}

impl Office {
    pub async fn open() -> Self {
        let cabinet = Cabinet::open(StorageKind::Sqlite).await;
        for (id, name, role) in
            [(DINA, "Dina", Role::Dispatcher), (MAX, "Max", Role::Master), (NINA, "Nina", Role::Master)]
        {
            let user = serde_json::json!({"id": id, "first_name": name, "language_code": "en"});
            cabinet.emulator.post("/users", user).await;
            cabinet.hire(id, name, role).await;
        }
        let (dina, max, nina) = (cabinet.person(DINA).await, cabinet.person(MAX).await, cabinet.person(NINA).await);
        Self { cabinet, dina, max, nina }
    }

    pub fn orders(&self) -> Orders {
        Orders::of_app(&self.cabinet.app)
    }

    pub async fn new_order(&self, phone: &str) -> Order {
        let new = NewOrder { about: about(phone), equipment_id: None, files: Vec::new() };
        self.orders().create(&Actor::Member(self.dina.clone()), new).await.unwrap()
    }

    pub async fn done(&self, by: &Person, order: &Order, command: Command) -> Order {
        let by = Actor::Member(by.clone());
        self.orders().execute(&by, order.id, Some(order.version), command).await.unwrap()
    }

    /// An order at which Max is.
    pub async fn on_site(&self) -> Order {
        let order = self.new_order("+79990000001").await;
        let order = self.done(&self.dina, &order, Command::Assign { master: self.max.id }).await;
        let order = self.done(&self.max, &order, Command::Accept).await;
        self.done(&self.max, &order, Command::Arrive).await
    }

    pub async fn order(&self, id: i64) -> Order {
        let owner = Actor::Member(self.cabinet.person(ANNA).await);
        self.orders().seen_order(&owner, id).await.unwrap().unwrap().order
    }
}

/// Sends a form of an order's page with the version that the page showed.
pub async fn act(
    browser: &Browser,
    order: &Order,
    deed: &str,
    fields: &[(&str, &str)],
) -> crate::kit::cabinet::PageResponse {
    let version = order.version.to_string();
    let fields = [fields, &[("version", version.as_str())]].concat();
    browser.post(&format!("/orders/{}/{deed}", order.id), &fields).await
}

#[tokio::test]
async fn an_order_goes_its_way_by_forms() {
    let office = Office::open().await;
    let (dina, max) = (office.cabinet.signed_in(DINA).await, office.cabinet.signed_in(MAX).await);
    let order = office.new_order("+79990000001").await;
    let path = format!("/orders/{}", order.id);
    dina.get(&path).await.is(200, "Anna Petrova").is(200, "+79990000001").is(200, "data-testid=\"assign\"");
    let master = office.max.id.to_string();
    act(&dina, &order, "assign", &[("master", &master)]).await.redirects_to(&path);
    let steps: [(&str, Fields, OrderStatus); 5] = [
        ("accept", &[], OrderStatus::Accepted),
        ("on-the-way", &[("minutes", "30")], OrderStatus::Accepted),
        ("arrive", &[], OrderStatus::OnSite),
        ("long-repair", &[("until", "2026-01-20"), ("prepayment", "500")], OrderStatus::LongRepair),
        ("complete", &[("total", "10000"), ("materials", "2000"), ("is_cash", "on")], OrderStatus::Closed),
    ];
    for (deed, fields, status) in steps {
        let order = office.order(order.id).await;
        max.get(&path).await.is(200, &format!("data-testid=\"{deed}\""));
        act(&max, &order, deed, fields).await.redirects_to(&path);
        assert_eq!(office.order(order.id).await.status, status, "{deed}");
    }
    max.get(&path).await.is(200, "of 10,000").is(200, "paid in cash").is(200, "data-testid=\"share\"");
    let dispatcher = dina.get(&path).await;
    assert!(!dispatcher.is(200, "10,000").body.contains("data-testid=\"share\""), "pay is for the master and owners");
    office.cabinet.close().await;
}

#[tokio::test]
async fn a_stale_form_says_so_and_keeps_what_was_typed() {
    let office = Office::open().await;
    let dina = office.cabinet.signed_in(DINA).await;
    let order = office.new_order("+79990000001").await;
    let edited = [
        ("equipment_type", "Dishwasher"),
        ("description", "It does not drain at all"),
        ("client_name", "Anna Petrova"),
        ("client_phone", "+79990000001"),
        ("client_address", "ул. Ленина, д. 5, кв. 12"),
        ("notes", ""),
    ];
    act(&dina, &order, "edit", &edited).await.redirects_to(&format!("/orders/{}", order.id));
    let now = office.order(order.id).await;
    assert_eq!((now.about.equipment_type.as_str(), now.about.window), ("Dishwasher", None));
    let again =
        act(&dina, &order, "edit", &[("equipment_type", "Oven"), edited[1], edited[2], edited[3], edited[4]]).await;
    again.is(409, "value=\"Oven\"").is(409, "Now: Dishwasher");
    let wrong = act(&dina, &now, "refuse", &[("reason", " ")]).await;
    wrong.is(422, "Give a reason").is(422, "<dialog class=\"dialog\" id=\"refuse\" open");
    let wrong = act(&dina, &now, "edit", &[("client_phone", "+49 30 901820"), edited[0], edited[1]]).await;
    wrong.is(422, "Only Russian phone numbers").is(422, "Enter the full address");
    act(&dina, &now, "fly", &[]).await.is(404, "");
    office.cabinet.close().await;
}

#[tokio::test]
async fn wrong_amounts_are_named() {
    let office = Office::open().await;
    let max = office.cabinet.signed_in(MAX).await;
    let order = office.on_site().await;
    for (total, materials, said) in [
        ("-5", "0", "from 0 to 1,000,000"),
        ("99999999", "0", "from 0 to 1,000,000"),
        ("much", "0", "Enter an amount"),
        ("100", "200", "Materials can&#39;t cost more"),
    ] {
        let answer = act(&max, &order, "complete", &[("total", total), ("materials", materials)]).await;
        answer.is(422, &said.replace("&#39;", "'"));
    }
    assert_eq!(office.order(order.id).await.status, OrderStatus::OnSite);
    office.cabinet.close().await;
}

#[tokio::test]
async fn a_price_list_makes_the_bill() {
    let office = Office::open().await;
    let (owner, dina) = (office.cabinet.person(ANNA).await, Actor::Member(office.dina.clone()));
    let price = workforce::money::Money::from_roubles(1500);
    let item = office.orders().add_price_item(&dina, "Pump", None, price).await.unwrap();
    let max = office.cabinet.signed_in(MAX).await;
    let order = office.on_site().await;
    let pieces = format!("pieces{item}");
    act(&max, &order, "complete", &[(&pieces, "2"), ("total", ""), ("is_cash", "on")]).await;
    let closed = office.order(order.id).await;
    assert_eq!(closed.money.total.map(|total| total.kopecks()), Some(300_000));
    let browser = office.cabinet.signed_in(ANNA).await;
    browser.get(&format!("/orders/{}", order.id)).await.is(200, "Pump × 2");
    let corrected = act(&browser, &closed, "correct", &[("total", "2000"), ("reason", "A discount")]).await;
    corrected.redirects_to(&format!("/orders/{}", order.id));
    assert_eq!(office.order(order.id).await.money.total.map(|total| total.kopecks()), Some(200_000));
    assert!(owner.roles.has(Role::Owner));
    office.cabinet.close().await;
}

#[tokio::test]
async fn the_board_assigns_and_reschedules() {
    let office = Office::open().await;
    let dina = office.cabinet.signed_in(DINA).await;
    let order = office.new_order("+79990000001").await;
    let board = dina.get("/orders").await;
    board.is(200, "id=\"orders\" data-live=\"orders clock\"").is(200, &format!("data-order=\"{}\"", order.id));
    board.is(200, "data-testid=\"column-new\"").is(200, "data-order-day=\"2026-01-02\"");
    let (master, place) = (office.max.id.to_string(), "view=masters&day=2026-01-01");
    let back = format!("/orders?{place}");
    act(&dina, &order, "assign", &[("master", &master), ("at", place)]).await.redirects_to(&back);
    let order = office.order(order.id).await;
    let before = order.about.window.unwrap();
    act(&dina, &order, "move", &[("day", "2026-01-03"), ("at", place)]).await.redirects_to(&back);
    let after = office.order(order.id).await.about.window.unwrap();
    assert_eq!(after.from.0 - before.from.0, 2 * 24 * 60 * 60 * 1000);
    assert_eq!(after.minutes(), before.minutes());
    let stale = act(&dina, &order, "move", &[("day", "2026-01-04"), ("at", "//evil.example")]).await;
    stale.is(409, "The order has changed meanwhile").is(409, "data-testid=\"board\"");
    dina.get("/orders?day=2026-01-03&view=masters").await.is(200, "Anna Petrova");
    dina.get("/orders?day=2026-01-04").await.is(200, "No orders found");
    dina.get("/orders?status=assigned&view=table").await.is(200, "Saturday, January 3");
    dina.get("/orders?status=new&view=table").await.is(200, "No orders found");
    office.cabinet.close().await;
}

#[tokio::test]
async fn navigation_and_search_know_orders() {
    let office = Office::open().await;
    let dina = office.cabinet.signed_in(DINA).await;
    let order = office.new_order("+79990000001").await;
    let page = dina.get("/").await;
    page.is(200, "id=\"badge-orders\" data-live=\"orders\"").is(200, "count-badge\">1<").is(200, "Open orders");
    dina.get("/search?q=Petrova").await.is(200, &format!("href=\"/orders/{}\"", order.id));
    office.done(&office.dina, &order, Command::Assign { master: office.max.id }).await;
    let owner = office.cabinet.signed_in(ANNA).await;
    owner.get(&format!("/people/{}", office.max.id)).await.is(200, "data-testid=\"orders-of-person\"").is(200, "No. 1");
    assert!(!dina.get("/nav").await.body.contains("count-badge"), "nothing is new or overdue");
    office.cabinet.clock.advance(std::time::Duration::from_secs(5 * 60 * 60));
    let late = office.cabinet.signed_in(DINA).await;
    late.get("/orders").await.is(200, "order-card late").is(200, "overdue");
    assert!(late.get("/nav").await.body.contains("count-badge"));
    office.cabinet.close().await;
}

#[tokio::test]
async fn pages_of_orders_run_a_fixed_number_of_queries() {
    let queries = QueryCounter::install();
    let office = Office::open().await;
    let dina = office.cabinet.signed_in(DINA).await;
    let order = office.on_site().await;
    let path = format!("/orders/{}", order.id);
    let pages = ["/orders", "/orders?view=masters", "/orders?view=table", "/orders/new?phone=%2B79990000001", &path];
    let count = async || {
        let mut counts = Vec::new();
        for page in pages {
            counts.push(queries.count(async || dina.get(page).await).await);
        }
        counts
    };
    let few = count().await;
    for at in 0..30 {
        let order = office.new_order("+79990000001").await;
        if at % 2 == 0 {
            let master = if at % 4 == 0 { office.max.id } else { office.nina.id };
            office.done(&office.dina, &order, Command::Assign { master }).await;
        }
    }
    assert_eq!(count().await, few, "of {pages:?}");
    assert!(few.iter().all(|count| *count <= 30), "{few:?}");
    office.cabinet.close().await;
}

#[tokio::test]
async fn a_closed_order_pays_once() {
    let office = Office::open().await;
    let max = office.cabinet.signed_in(MAX).await;
    let order = office.on_site().await;
    let fields = [("total", "1000"), ("materials", ""), ("is_cash", "on")];
    act(&max, &order, "complete", &fields).await.redirects_to(&format!("/orders/{}", order.id));
    act(&max, &order, "complete", &fields).await.is(409, "");
    assert_eq!(office.cabinet.app.payroll.of_order(order.id).await.unwrap().len(), 1);
    let refused = office.orders().execute(&Actor::Member(office.max.clone()), order.id, None, closes(1, 0)).await;
    assert!(matches!(refused, Err(orders::ActionError::Refused(_))), "{refused:?}");
    office.cabinet.close().await;
}
