//! Closing orders: shares to the kopeck, each paid once, corrected by owners, and what has to be there before.

use workforce::money::Money;
use workforce::orders::{Bill, BillLine, Command, Completion, OrderRefusal, OrderStatus};
use workforce::settings;

use super::{Desk, assert_refused, closes, completion, id, roubles};
use crate::kit::firm::{StorageKind, on_every_database};

on_every_database! {
    shares_are_exact,
    two_closings_pay_once,
    amounts_that_cannot_be_are_refused,
    lines_of_the_price_list_make_the_total,
    a_correction_reverses_and_posts_again,
    shares_are_settings,
    the_client_confirms_the_amount_or_pays_cash,
}

async fn shares_are_exact(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let cases = [
        (completion(10_000, 2_000), 400_000),
        (Completion { has_review: true, ..completion(10_000, 2_000) }, 480_000),
        (completion(5_000, 0), 200_000),
        (Completion { is_out_of_town: true, ..completion(5_000, 0) }, 250_000),
        (completion(0, 0), 0),
    ];
    let odd = Bill::of_total(Money::from_kopecks(699_999), Money::ZERO);
    let odd = (Completion { bill: odd, is_cash: true, ..Completion::default() }, 280_000);
    for (completion, share) in cases.into_iter().chain([odd]) {
        let order = desk.order_in(OrderStatus::OnSite).await;
        let closed = desk.done(&desk.max, &order, Command::Complete { completion }).await;
        assert_eq!(closed.money.share, Some(Money::from_kopecks(share)));
        let posted = format!("SELECT amount_kopecks FROM adjustments WHERE order_id = {}", order.id);
        assert_eq!(desk.numbers(&posted).await, [share]);
    }
    let earned = desk.numbers("SELECT earned_kopecks FROM payroll_entries").await;
    assert_eq!(earned, [400_000 + 480_000 + 200_000 + 250_000 + 280_000]);
}

async fn two_closings_pay_once(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.order_in(OrderStatus::OnSite).await;
    let orders = desk.orders();
    let close = || orders.execute(&desk.max, order.id, Some(order.version), closes(10_000, 2_000));
    let (one, other) = tokio::join!(close(), close());
    let (done, refused) = if one.is_ok() { (one, other) } else { (other, one) };
    assert_eq!(done.unwrap().status, OrderStatus::Closed);
    assert_refused(refused, OrderRefusal::Stale);
    let without_version = orders.execute(&desk.max, order.id, None, closes(10_000, 2_000)).await;
    assert_refused(without_version, OrderRefusal::WrongStatus);
    assert_eq!(desk.numbers("SELECT amount_kopecks FROM adjustments").await, [400_000]);
}

async fn amounts_that_cannot_be_are_refused(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.order_in(OrderStatus::OnSite).await;
    for (total, materials, why) in [
        (1_000, 1_001, OrderRefusal::Materials),
        (-1, 0, OrderRefusal::Amount),
        (1_000, -1, OrderRefusal::Amount),
        (1_000_001, 0, OrderRefusal::Amount),
    ] {
        assert_refused(desk.does(&desk.max, &order, closes(total, materials)).await, why);
    }
    let (until, prepayment) = (super::day(20), roubles(-1));
    let repair = Command::LongRepair { until, prepayment };
    assert_refused(desk.does(&desk.max, &order, repair).await, OrderRefusal::Amount);
    let past = Command::LongRepair { until: "2025-12-31".parse().unwrap(), prepayment: Money::ZERO };
    assert_refused(desk.does(&desk.max, &order, past).await, OrderRefusal::Past);
    assert!(desk.numbers("SELECT amount_kopecks FROM adjustments").await.is_empty());
}

async fn lines_of_the_price_list_make_the_total(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let pump = desk.orders().add_price_item(&desk.owner, "Replace the pump", None, roubles(3_000)).await.unwrap();
    let line = |price_item, name: &str, quantity, price| BillLine { price_item, name: name.into(), quantity, price };
    let lines = vec![line(Some(pump), "Replace the pump", 1, roubles(3_000)), line(None, "Hose", 2, roubles(250))];
    let bill = Bill { lines, total: None, materials: roubles(500) };
    let order = desk.order_in(OrderStatus::OnSite).await;
    let unknown = Bill { lines: vec![line(Some(999), "Hose", 1, roubles(1))], ..Bill::default() };
    let wrong = Bill { total: Some(roubles(1)), ..bill.clone() };
    for (bill, why) in [(unknown, OrderRefusal::NoItem), (wrong, OrderRefusal::Amount)] {
        assert_refused(desk.does(&desk.max, &order, Command::SetAmount { bill }).await, why);
    }
    let completion = Completion { bill, is_cash: true, ..Completion::default() };
    let closed = desk.done(&desk.max, &order, Command::Complete { completion }).await;
    assert_eq!((closed.money.total, closed.money.share), (Some(roubles(3_500)), Some(roubles(1_200))));
    let details = desk.orders().details(&desk.dispatcher, order.id).await.unwrap().unwrap();
    assert_eq!(details.lines.iter().map(|line| line.quantity).collect::<Vec<_>>(), [1, 2]);
}

async fn a_correction_reverses_and_posts_again(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.order_in(OrderStatus::Closed).await;
    let correct = |total| Command::Correct { completion: completion(total, 2_000), reason: "A wrong total".into() };
    for who in [&desk.max, &desk.dispatcher, &desk.client] {
        assert_refused(desk.does(who, &order, correct(12_000)).await, OrderRefusal::NotAllowed);
    }
    let corrected = desk.done(&desk.owner, &order, correct(12_000)).await;
    assert_eq!(corrected.money.share, Some(roubles(5_000)));
    let amounts = "SELECT amount_kopecks FROM adjustments ORDER BY id";
    assert_eq!(desk.numbers(amounts).await, [400_000, -400_000, 500_000]);
    // Corrected again, the sum is the last share.
    let corrected = desk.done(&desk.owner, &corrected, correct(7_000)).await;
    assert_eq!(corrected.money.share, Some(roubles(2_000)));
    assert_eq!(desk.numbers("SELECT total_kopecks FROM payroll_entries").await, [200_000]);
}

async fn shares_are_settings(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    desk.set(settings::ORDER_LARGE_FROM.name, "1000").await;
    desk.set(settings::ORDER_LARGE_SHARE.name, "65").await;
    let order = desk.order_in(OrderStatus::OnSite).await;
    let closed = desk.done(&desk.max, &order, closes(1_000, 0)).await;
    assert_eq!(closed.money.share, Some(roubles(650)));
    let set =
        desk.firm.app.domain.write(|db| {
            Box::pin(settings::set(db, settings::ORDER_LARGE_SHARE.name, "101", None, crate::kit::firm::NOON))
        });
    assert!(set.await.is_err(), "a share is at most the whole");
}

async fn the_client_confirms_the_amount_or_pays_cash(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    desk.set(settings::ORDER_NEEDS_CONFIRMED_AMOUNT.name, "true").await;
    let order = desk.order_in(OrderStatus::OnSite).await;
    let card = Command::Complete { completion: Completion { is_cash: false, ..completion(3_000, 0) } };
    assert_refused(desk.does(&desk.max, &order, card.clone()).await, OrderRefusal::NeedsConfirmation);
    let bill = Bill::of_total(roubles(3_000), Money::ZERO);
    let order = desk.done(&desk.max, &order, Command::SetAmount { bill }).await;
    let confirm = |total| Command::ConfirmAmount { total: roubles(total) };
    assert_refused(desk.does(&desk.client, &order, confirm(2_000)).await, OrderRefusal::Stale);
    assert_refused(desk.does(&desk.max, &order, confirm(3_000)).await, OrderRefusal::NotAllowed);
    let order = desk.done(&desk.client, &order, confirm(3_000)).await;
    desk.is_told(&desk.max, "The client confirmed").await;
    let more = Command::Complete { completion: Completion { is_cash: false, ..completion(4_000, 0) } };
    assert_refused(desk.does(&desk.max, &order, more).await, OrderRefusal::NeedsConfirmation);
    assert_eq!(desk.done(&desk.max, &order, card).await.status, OrderStatus::Closed);
    let other = desk.order_in(OrderStatus::OnSite).await;
    assert_eq!(desk.done(&desk.max, &other, closes(3_000, 0)).await.master_id, Some(id(&desk.max)));
}
