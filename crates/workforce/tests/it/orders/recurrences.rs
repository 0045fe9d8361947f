//! Rules make orders: each time once, some days ahead.

use chrono::NaiveDateTime;
use workforce::orders::{NewRecurrence, OrderRefusal, OrderSource};

use super::{Desk, about, assert_refused};
use crate::kit::firm::{StorageKind, on_every_database};

on_every_database! {
    a_rule_makes_each_order_once,
    a_stopped_rule_makes_nothing,
    odd_rules_are_refused,
}

fn weekly(rule: &str) -> NewRecurrence {
    let starts_at: NaiveDateTime = "2026-01-05T09:00:00".parse().unwrap();
    let about = about("+79991234567");
    NewRecurrence { rule: rule.into(), starts_at, minutes: 120, lead_days: 3, about }
}

async fn a_rule_makes_each_order_once(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    desk.orders().add_recurrence(&desk.dispatcher, weekly("FREQ=WEEKLY;COUNT=2")).await.unwrap();
    // It is noon of 1 January, and the first order is made three days ahead.
    desk.firm.run_job("order-recurrences").await;
    assert_eq!(desk.numbers("SELECT number FROM orders").await, [0; 0]);
    desk.hours_pass(24).await;
    desk.firm.run_job("order-recurrences").await;
    desk.firm.run_job("order-recurrences").await;
    assert_eq!(desk.numbers("SELECT number FROM orders").await, [1]);
    let order = desk.orders().by_number(&desk.dispatcher, 1).await.unwrap().unwrap().order;
    assert_eq!(order.source, OrderSource::Recurring);
    let from = order.about.window.unwrap().from;
    assert_eq!(from.0, "2026-01-05T06:00:00".parse::<NaiveDateTime>().unwrap().and_utc().timestamp_millis());
    desk.hours_pass(24 * 7).await;
    desk.firm.run_job("order-recurrences").await;
    assert_eq!(desk.numbers("SELECT number FROM orders ORDER BY number").await, [1, 2]);
    // The rule has ended.
    assert_eq!(desk.orders().recurrences(None).await.unwrap()[0].next_at, None);
    desk.hours_pass(24 * 7).await;
    desk.firm.run_job("order-recurrences").await;
    assert_eq!(desk.numbers("SELECT number FROM orders ORDER BY number").await, [1, 2]);
}

async fn a_stopped_rule_makes_nothing(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let rule = desk.orders().add_recurrence(&desk.owner, weekly("FREQ=DAILY")).await.unwrap();
    desk.orders().stop_recurrence(&desk.dispatcher, rule).await.unwrap();
    desk.hours_pass(24 * 5).await;
    desk.firm.run_job("order-recurrences").await;
    assert_eq!(desk.numbers("SELECT number FROM orders").await, [0; 0]);
    assert_refused(desk.orders().stop_recurrence(&desk.dispatcher, rule).await, OrderRefusal::NoItem);
}

async fn odd_rules_are_refused(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    for rule in ["", "FREQ=SECONDLY", "FREQ=WEEKLY;UNTIL=20200101T000000Z"] {
        let refused = desk.orders().add_recurrence(&desk.dispatcher, weekly(rule)).await;
        assert_refused(refused, OrderRefusal::Rule);
    }
    let refused = desk.orders().add_recurrence(&desk.max, weekly("FREQ=DAILY")).await;
    assert_refused(refused, OrderRefusal::NotAllowed);
}
