//! The form of a new order.

use workforce::orders::OrderFilter;

use super::{DINA, Office};

const GOOD: [(&str, &str); 9] = [
    ("client_phone", "8 (999) 000-00-01"),
    ("client_name", "Anna Petrova"),
    ("client_address", "Lenin street, 5"),
    ("equipment_type", "Washing machine"),
    ("description", "It leaks and makes a noise"),
    ("notes", ""),
    ("day", "2026-01-05"),
    ("starts", "10:00"),
    ("ends", "13:00"),
];

fn with(changes: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    let kept = GOOD.into_iter().filter(|(name, _)| changes.iter().all(|(other, _)| other != name));
    kept.chain(changes.iter().copied()).collect()
}

#[tokio::test]
async fn an_order_is_created_once() {
    let office = Office::open().await;
    let dina = office.cabinet.signed_in(DINA).await;
    dina.get("/orders/new").await.is(200, "data-testid=\"create-order\"").is(200, "Who is calling?");
    let once = with(&[("once", "one")]);
    let created = dina.post("/orders/new", &once).await;
    let path = created.header("location").to_owned();
    dina.get(&path).await.is(200, "Lenin street, 5").is(200, "Jan 5, 10:00–13:00");
    dina.post("/orders/new", &with(&[("once", "one"), ("is_other", "on")])).await;
    dina.post("/orders/new", &with(&[("once", "one"), ("is_other", "on")])).await.redirects_to("/orders");
    let listed = office.orders().page(&office.dina, &OrderFilter::default(), None).await.unwrap();
    assert_eq!(listed.orders.len(), 2, "the second is another repair, the third was sent twice");
    office.cabinet.close().await;
}

#[tokio::test]
async fn every_wrong_field_is_named_and_nothing_is_lost() {
    let office = Office::open().await;
    let dina = office.cabinet.signed_in(DINA).await;
    for (field, value, said) in [
        ("client_phone", "+49 30 901820", "Only Russian phone numbers"),
        ("client_name", "Al", "at least 5 characters"),
        ("client_address", "Lenin street", "house number"),
        ("equipment_type", " ", "What needs repair?"),
        ("description", "Broken", "at least 10 characters"),
        ("day", "2025-01-05", "still to come"),
        ("starts", "late", "09:30"),
    ] {
        let answer = dina.post("/orders/new", &with(&[(field, value)])).await;
        answer
            .is(422, said)
            .is(422, "It leaks and makes a noise".split_at(if field == "description" { 0 } else { 26 }).0);
    }
    let listed = office.orders().page(&office.dina, &OrderFilter::default(), None).await.unwrap();
    assert!(listed.orders.is_empty());
    office.cabinet.close().await;
}

#[tokio::test]
async fn a_known_phone_shows_the_client_and_duplicates_are_asked() {
    let office = Office::open().await;
    let dina = office.cabinet.signed_in(DINA).await;
    let order = office.new_order("+79990000001").await;
    let known = dina.get("/orders/new?phone=8+999+000-00-01").await;
    known.is(200, &format!("href=\"/orders/{}\"", order.id)).is(200, "value=\"Anna Petrova\"");
    dina.get("/orders/new?phone=%2B79990000009").await.is(200, "This is a new client");
    let asked = dina.post("/orders/new", &GOOD).await;
    asked.is(409, "data-testid=\"duplicates\"").is(409, "value=\"Lenin street, 5\"");
    let sure = dina.post("/orders/new", &with(&[("is_other", "on")])).await;
    assert!(sure.header("location").starts_with("/orders/"), "{sure:?}");
    office.cabinet.close().await;
}
