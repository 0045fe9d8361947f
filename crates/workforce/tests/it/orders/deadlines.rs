//! Deadlines: dispatchers are told once of each status that lasts too long, masters are reminded once.

use workforce::orders::OrderStatus;

use super::{Desk, who};
use crate::kit::firm::{StorageKind, on_every_database};

on_every_database! {
    each_status_has_its_deadline_and_is_told_once,
    a_master_who_does_not_answer_is_reminded_once,
    the_next_status_begins_a_new_deadline,
}

async fn told(desk: &Desk, words: &str) -> usize {
    desk.news_of(&desk.dispatcher).await.iter().filter(|text| text.contains(words)).count()
}

async fn each_status_has_its_deadline_and_is_told_once(kind: StorageKind) {
    for (status, hours, name) in [
        (OrderStatus::New, 2, "New"),
        (OrderStatus::Assigned, 4, "Assigned"),
        (OrderStatus::Accepted, 8, "Accepted"),
        (OrderStatus::OnSite, 12, "On site"),
    ] {
        let desk = Desk::open(kind).await;
        desk.order_in(status).await;
        // An accepted order counts from its window, which begins two hours later.
        let hours = if status == OrderStatus::Accepted { hours + 2 } else { hours };
        desk.hours_pass(hours).await;
        desk.firm.run_job("order-deadlines").await;
        assert_eq!(told(&desk, "has had the status").await, 0, "{status}");
        desk.minutes_pass(1).await;
        assert_eq!(desk.orders().overdue(who(&desk.dispatcher)).await.unwrap().len(), 1, "{status}");
        desk.firm.run_job("order-deadlines").await;
        desk.firm.run_job("order-deadlines").await;
        assert_eq!(told(&desk, &format!("has had the status “{name}”")).await, 1, "{status}");
        desk.firm.app.domain.close().await.unwrap();
    }
}

async fn a_master_who_does_not_answer_is_reminded_once(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    desk.order_in(OrderStatus::Assigned).await;
    desk.minutes_pass(15).await;
    desk.firm.run_job("order-offers").await;
    assert_eq!(told(&desk, "hasn't answered").await, 0);
    desk.minutes_pass(1).await;
    desk.firm.run_job("order-offers").await;
    desk.firm.run_job("order-offers").await;
    assert_eq!(told(&desk, "Max hasn't answered on order no. 1").await, 1);
    let of_max = desk.news_of(&desk.max).await;
    assert_eq!(of_max.iter().filter(|text| text.contains("waiting for your answer")).count(), 1, "{of_max:?}");
}

async fn the_next_status_begins_a_new_deadline(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.order_in(OrderStatus::New).await;
    desk.hours_pass(3).await;
    desk.firm.run_job("order-deadlines").await;
    let order = desk.orders().seen_order(&desk.dispatcher, order.id).await.unwrap().unwrap().order;
    let assign = desk.leads(OrderStatus::New, OrderStatus::Assigned);
    desk.done(&desk.dispatcher, &order, assign).await;
    desk.hours_pass(5).await;
    desk.firm.run_job("order-deadlines").await;
    assert_eq!(told(&desk, "has had the status").await, 2);
}
