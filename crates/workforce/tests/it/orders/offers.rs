//! Offers: who is asked when, what happens at the deadline, and two masters who accept at once.

use workforce::orders::{Command, OrderRefusal, OrderStatus};

use super::{Desk, assert_refused, id, who};
use crate::kit::firm::{StorageKind, on_every_database};

on_every_database! {
    two_masters_accept_at_once_and_one_gets_it,
    an_expired_offer_goes_to_the_next_master,
    a_declined_offer_goes_to_the_next_master,
    an_order_that_nobody_takes_reaches_dispatchers,
    masters_see_only_offers_to_them,
    a_blocked_master_is_not_asked,
}

fn offer(desk: &Desk, all_at_once: bool) -> Command {
    Command::Offer { masters: vec![id(&desk.max), id(&desk.nina)], minutes: 10, all_at_once }
}

async fn two_masters_accept_at_once_and_one_gets_it(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.clients_order().await;
    let order = desk.done(&desk.dispatcher, &order, offer(&desk, true)).await;
    let orders = desk.orders();
    let accept = |actor| orders.execute(actor, order.id, None, Command::Accept);
    let (max, nina) = tokio::join!(accept(&desk.max), accept(&desk.nina));
    let (winner, loser, refused) =
        if max.is_ok() { (&desk.max, &desk.nina, nina) } else { (&desk.nina, &desk.max, max) };
    assert_refused(refused, OrderRefusal::Taken);
    let now = orders.seen_order(&desk.dispatcher, order.id).await.unwrap().unwrap().order;
    assert_eq!((now.status, now.master_id), (OrderStatus::Accepted, winner.member_id()));
    desk.is_told(loser, "Order no. 1 is no longer available.").await;
    desk.is_told(&desk.dispatcher, "took order no. 1").await;
}

async fn an_expired_offer_goes_to_the_next_master(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.new_order().await;
    desk.done(&desk.dispatcher, &order, offer(&desk, false)).await;
    assert_eq!(desk.news_of(&desk.nina).await.len(), 0, "the second one waits");
    desk.minutes_pass(9).await;
    desk.firm.run_job("order-offers").await;
    assert_eq!(desk.orders().day_of_master(who(&desk.max)).await.unwrap().offers.len(), 1);
    desk.minutes_pass(2).await;
    desk.firm.run_job("order-offers").await;
    desk.firm.run_job("order-offers").await;
    assert_eq!(desk.orders().day_of_master(who(&desk.max)).await.unwrap().offers.len(), 0);
    assert_eq!(desk.orders().day_of_master(who(&desk.nina)).await.unwrap().offers.len(), 1);
    let late = desk.orders().execute(&desk.max, order.id, None, Command::Accept).await;
    assert_refused(late, OrderRefusal::Taken);
    let taken = desk.orders().execute(&desk.nina, order.id, None, Command::Accept).await.unwrap();
    assert_eq!(taken.master_id, desk.nina.member_id());
}

async fn a_declined_offer_goes_to_the_next_master(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.new_order().await;
    let order = desk.done(&desk.dispatcher, &order, offer(&desk, false)).await;
    let order = desk.done(&desk.max, &order, Command::Decline { reason: "Too far".into() }).await;
    assert_eq!(order.status, OrderStatus::New);
    assert_eq!(desk.orders().day_of_master(who(&desk.nina)).await.unwrap().offers.len(), 1);
}

async fn an_order_that_nobody_takes_reaches_dispatchers(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.new_order().await;
    desk.done(&desk.owner, &order, offer(&desk, true)).await;
    desk.minutes_pass(11).await;
    desk.firm.run_job("order-offers").await;
    let unanswered = desk.numbers("SELECT id FROM order_offers WHERE answer = 'expired'").await;
    assert_eq!(unanswered.len(), 2);
    let told = "SELECT COUNT(*) FROM notices WHERE body LIKE '%no_taker%'";
    assert_eq!(desk.numbers(told).await, [1]);
}

async fn masters_see_only_offers_to_them(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.new_order().await;
    let only_max = Command::Offer { masters: vec![id(&desk.max)], minutes: 10, all_at_once: true };
    let order = desk.done(&desk.dispatcher, &order, only_max).await;
    let seen = desk.orders().seen_order(&desk.max, order.id).await.unwrap().unwrap();
    assert!(!seen.shows_address && seen.order.about.address.is_empty());
    assert!(desk.orders().seen_order(&desk.nina, order.id).await.unwrap().is_none());
    assert_refused(desk.does(&desk.nina, &order, Command::Accept).await, OrderRefusal::Gone);
    let message = Command::Message { text: "Hello".into() };
    assert_refused(desk.does(&desk.max, &order, message).await, OrderRefusal::NotAllowed);
}

async fn a_blocked_master_is_not_asked(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.new_order().await;
    let dina = id(&desk.dispatcher);
    for command in
        [Command::Assign { master: dina }, Command::Offer { masters: vec![dina], minutes: 9, all_at_once: true }]
    {
        assert_refused(desk.does(&desk.dispatcher, &order, command).await, OrderRefusal::NoMaster);
    }
    let none = Command::Offer { masters: vec![], minutes: 9, all_at_once: true };
    assert_refused(desk.does(&desk.dispatcher, &order, none).await, OrderRefusal::NoMaster);
}
