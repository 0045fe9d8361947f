//! The board, pages of a list, a master's day, and masters with their load.

use workforce::orders::{OrderFilter, OrderStatus};
use workforce::sites::Period;

use super::{Desk, id, new_order, who, window};
use crate::kit::firm::{StorageKind, on_every_database};

on_every_database! {
    the_board_has_every_status,
    a_list_is_read_page_by_page,
    a_masters_day_is_in_order_of_time,
    masters_have_loads_and_results,
}

async fn the_board_has_every_status(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    for status in OrderStatus::ALL {
        desk.order_in(status).await;
    }
    let board = desk.orders().board(who(&desk.dispatcher), &OrderFilter::default()).await.unwrap();
    assert_eq!(board.orders.keys().copied().collect::<Vec<_>>(), OrderStatus::ALL);
    assert_eq!(board.counts.values().sum::<i64>(), 5);
    assert_eq!(board.names[&id(&desk.max)], "Max");
    let of_nina = OrderFilter { master_id: desk.nina.member_id(), ..OrderFilter::default() };
    assert!(desk.orders().board(who(&desk.owner), &of_nina).await.unwrap().orders.is_empty());
    let tomorrow = Period { from: window(24).from, to: window(48).from };
    let later = OrderFilter { scheduled: Some(tomorrow), ..OrderFilter::default() };
    assert!(desk.orders().board(who(&desk.owner), &later).await.unwrap().orders.is_empty());
    let unconfirmed = OrderFilter { is_unconfirmed: true, ..OrderFilter::default() };
    let waiting = desk.orders().page(who(&desk.dispatcher), &unconfirmed, None).await.unwrap();
    assert_eq!(waiting.orders.len(), 1, "only the new one of the client");
    // The next day the ended ones are gone.
    desk.hours_pass(25).await;
    let board = desk.orders().board(who(&desk.dispatcher), &OrderFilter::default()).await.unwrap();
    assert_eq!(board.orders.len(), 5);
}

async fn a_list_is_read_page_by_page(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    for _ in 0..52 {
        desk.new_order().await;
    }
    let filter = OrderFilter { statuses: vec![OrderStatus::New], ..OrderFilter::default() };
    let first = desk.orders().page(who(&desk.owner), &filter, None).await.unwrap();
    assert_eq!((first.orders.len(), first.orders[0].order.number), (50, 52));
    let second = desk.orders().page(who(&desk.owner), &filter, first.next).await.unwrap();
    assert_eq!(second.orders.iter().map(|seen| seen.order.number).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(second.next, None);
}

async fn a_masters_day_is_in_order_of_time(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let mut numbers = Vec::new();
    for after in [Some(5), None, Some(1)] {
        let mut new = new_order("+79990000003");
        new.about.window = after.map(window);
        let order = desk.orders().create(&desk.dispatcher, new).await.unwrap();
        let order = desk.done(&desk.dispatcher, &order, desk.leads(OrderStatus::New, OrderStatus::Assigned)).await;
        numbers.push(order.number);
    }
    let day = desk.orders().day_of_master(who(&desk.max)).await.unwrap();
    let listed: Vec<i64> = day.orders.iter().map(|seen| seen.order.number).collect();
    assert_eq!(listed, [numbers[2], numbers[0], numbers[1]]);
}

async fn masters_have_loads_and_results(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    for status in [OrderStatus::OnSite, OrderStatus::Assigned, OrderStatus::Closed] {
        desk.order_in(status).await;
    }
    let masters = desk.orders().masters(None).await.unwrap();
    let loads: Vec<_> = masters.iter().map(|one| (one.person.full_name.as_str(), one.open, one.on_site)).collect();
    assert_eq!(loads, [("Nina", 0, 0), ("Max", 2, 1)], "who has the least comes first");
    let results = desk.orders().results(None).await.unwrap();
    let of_max = results[&id(&desk.max)];
    assert_eq!((of_max.closed, of_max.fixed_at_once, of_max.share.kopecks()), (1, 1, 400_000));
}
