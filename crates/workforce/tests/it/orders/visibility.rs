//! What people see of an order: the address after accepting, the phone after arriving.

use workforce::orders::{Command, OrderFilter, OrderStatus};

use super::{Desk, who};
use crate::kit::firm::{StorageKind, on_every_database};

on_every_database! {
    a_master_sees_address_and_phone_in_time,
    lists_hide_the_same_fields,
    a_master_reads_and_finds_nothing_that_is_hidden,
}

async fn a_master_sees_address_and_phone_in_time(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    for (status, shows_address, shows_phone) in [
        (OrderStatus::Assigned, false, false),
        (OrderStatus::Accepted, true, false),
        (OrderStatus::OnSite, true, true),
        (OrderStatus::Closed, true, true),
        (OrderStatus::Refused, false, false),
    ] {
        let order = desk.order_in(status).await;
        let seen = desk.orders().seen_order(&desk.max, order.id).await.unwrap().unwrap();
        assert_eq!((seen.shows_address, seen.shows_phone), (shows_address, shows_phone), "{status}");
        let about = &seen.order.about;
        assert_eq!((about.address.is_empty(), about.phone.is_empty()), (!shows_address, !shows_phone), "{status}");
        assert_eq!(about.position.is_some(), shows_address, "{status}");
        for sees_all in [&desk.dispatcher, &desk.owner, &desk.client] {
            let seen = desk.orders().seen_order(sees_all, order.id).await.unwrap().unwrap();
            assert!(seen.shows_address && seen.shows_phone, "{status}");
        }
    }
}

async fn lists_hide_the_same_fields(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    desk.order_in(OrderStatus::Assigned).await;
    let orders = desk.orders();
    let filter = OrderFilter::default();
    let board = orders.board(who(&desk.max), &filter).await.unwrap();
    let page = orders.page(who(&desk.max), &filter, None).await.unwrap();
    let day = orders.day_of_master(who(&desk.max)).await.unwrap();
    let found = orders.search(who(&desk.max), "Petrova").await.unwrap();
    let of_board = &board.orders[&OrderStatus::Assigned];
    for listed in [of_board, &page.orders, &day.orders, &found] {
        assert_eq!(listed.len(), 1);
        assert!(listed[0].order.about.address.is_empty() && listed[0].order.about.phone.is_empty());
    }
    for stranger in [&desk.nina, &desk.manager] {
        assert!(orders.board(who(stranger), &filter).await.unwrap().orders.is_empty());
        assert!(orders.search(who(stranger), "Petrova").await.unwrap().is_empty());
        assert!(orders.client_card(who(stranger), "+79990000001").await.unwrap().is_none());
    }
    let details = orders.details(&desk.client, of_board[0].order.id).await.unwrap().unwrap();
    assert!(details.history.is_empty() && details.client.is_none(), "a client reads no history");
}

async fn a_master_reads_and_finds_nothing_that_is_hidden(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.order_in(OrderStatus::Assigned).await;
    desk.done(&desk.client, &order, Command::Message { text: "Call me at +79990000001".into() }).await;
    let orders = desk.orders();
    let reads = async || orders.details(&desk.max, order.id).await.unwrap().unwrap().messages.len();
    let finds = async |text: &str| orders.search(who(&desk.max), text).await.unwrap().len();
    assert_eq!((reads().await, finds("Ленина").await, finds("+79990000001").await), (0, 0, 0));
    assert_eq!(orders.search(who(&desk.dispatcher), "+79990000001").await.unwrap().len(), 1);
    orders.execute(&desk.max, order.id, None, Command::Accept).await.unwrap();
    assert_eq!((reads().await, finds("Ленина").await, finds("+79990000001").await), (1, 1, 0));
    orders.execute(&desk.max, order.id, None, Command::Arrive).await.unwrap();
    assert_eq!(finds("+79990000001").await, 1);
}
