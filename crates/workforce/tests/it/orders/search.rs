//! Search by number, name, phone and address.

use workforce::orders::OrderStatus;

use super::{Desk, new_order, who};
use crate::kit::firm::{StorageKind, on_every_database};
use crate::kit::sql::run_sql;

on_every_database! {
    an_order_is_found_by_number_name_phone_and_address,
    the_newest_orders_of_a_common_word_come_first,
}

async fn an_order_is_found_by_number_name_phone_and_address(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.new_order().await;
    let mut other = new_order("+79990000005");
    (other.about.client_name, other.about.address) = ("Королёв Семён".into(), "проспект Мира, 50".into());
    let other = desk.orders().create(&desk.dispatcher, other).await.unwrap();
    for (text, found) in [
        ("1", vec![order.id]),
        ("2", vec![other.id]),
        ("petr", vec![order.id]),
        ("ПЕТРОВА anna", vec![]),
        ("anna petrova", vec![order.id]),
        ("королев", vec![other.id]),
        ("мира 50", vec![other.id]),
        ("ул. ленина, 5", vec![order.id]),
        ("8 (999) 123-45-67", vec![order.id]),
        ("4567", vec![order.id]),
        ("99900000", vec![other.id]),
        ("nothing of this", vec![]),
        ("  ", vec![]),
        ("%' OR 1=1 --", vec![]),
    ] {
        let seen = desk.orders().search(who(&desk.dispatcher), text).await.unwrap();
        let ids: Vec<i64> = seen.iter().map(|seen| seen.order.id).collect();
        assert_eq!(ids, found, "{text}");
    }
    assert!(desk.orders().by_number(&desk.dispatcher, 2).await.unwrap().is_some());
}

async fn the_newest_orders_of_a_common_word_come_first(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.order_in(OrderStatus::Assigned).await;
    // Thousands of orders with the same words, without the cost of creating each.
    let copies = format!(
        "WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 2300) \
         INSERT INTO orders (number, status_since, source, client_id, equipment_type, description, client_name, phone, \
         address, address_key, created_at, updated_at) SELECT i, 0, 'dispatcher', {}, 'Fridge', 'It is warm inside', \
         'Common Name', '+79990000008', 'Main Street 1', 'main street 1', 0, 0 FROM n",
        order.client_id
    );
    run_sql(&desk.firm.app.domain, copies).await;
    run_sql(
        &desk.firm.app.domain,
        "INSERT INTO order_words (word, order_id) SELECT 'common', id FROM orders WHERE number > 1",
    )
    .await;
    let numbers = async |who: &workforce::person::Person, text: &str| {
        let seen = desk.orders().search(who, text).await.unwrap();
        seen.iter().map(|seen| seen.order.number).collect::<Vec<_>>()
    };
    let newest = numbers(who(&desk.owner), "common").await;
    assert_eq!((newest.len(), newest[0], newest[49]), (50, 2300, 2251));
    assert_eq!(numbers(who(&desk.owner), "common petrova").await, [0; 0]);
    assert_eq!(numbers(who(&desk.max), "common").await, [0; 0]);
    assert_eq!(numbers(who(&desk.max), "petrova").await, [1]);
}
