//! Rules that the database itself enforces.

use workforce::orders::OrderRole;
use workforce::orders::{OrderStatus, may_go};

use super::Desk;
use crate::kit::firm::{StorageKind, on_every_database};
use crate::kit::sql::execute;

on_every_database! {
    the_database_knows_the_transitions,
    the_database_refuses_impossible_rows,
}

async fn run(desk: &Desk, sql: &str) -> bool {
    let sql = sql.to_owned();
    desk.firm.app.domain.write(move |db| Box::pin(execute(db, sql))).await.is_ok()
}

async fn the_database_knows_the_transitions(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let master = super::id(&desk.max);
    for from in OrderStatus::ALL {
        for to in OrderStatus::ALL {
            if from == to {
                continue;
            }
            let order = desk.order_in(from).await;
            let master = if to == OrderStatus::New { "NULL".to_owned() } else { master.to_string() };
            let closed = if to == OrderStatus::Closed { "1" } else { "NULL" };
            let sql = format!(
                "UPDATE orders SET status = '{to}', master_id = {master}, closed_at = {closed}, total_kopecks = 1, \
                 materials_kopecks = 0, share_kopecks = 1, long_repair_until = '2026-01-20', refusal_reason = 'x' \
                 WHERE id = {}",
                order.id
            );
            assert_eq!(run(&desk, &sql).await, may_go(from, to, &OrderRole::ALL), "{from} → {to}");
        }
    }
}

async fn the_database_refuses_impossible_rows(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.order_in(OrderStatus::OnSite).await;
    let posted = desk.order_in(OrderStatus::Closed).await;
    for sql in [
        "UPDATE orders SET total_kopecks = -1, materials_kopecks = -1".to_owned(),
        "UPDATE orders SET total_kopecks = 100, materials_kopecks = 101".to_owned(),
        "UPDATE orders SET prepayment_kopecks = -1".to_owned(),
        "UPDATE orders SET status = 'lost'".to_owned(),
        format!("UPDATE orders SET master_id = NULL WHERE id = {}", order.id),
        format!("UPDATE orders SET closed_at = 5 WHERE id = {}", order.id),
        "UPDATE orders SET scheduled_to = scheduled_from".to_owned(),
        "UPDATE orders SET number = 1".to_owned(),
        "INSERT INTO order_ratings (order_id, master_id, stars, at) VALUES (1, 1, 6, 0)".to_owned(),
        "INSERT INTO price_items (name, price_kopecks) VALUES ('x', -1)".to_owned(),
        format!(
            "INSERT INTO adjustments (user_id, period, day, kind, amount_kopecks, order_id, basis, created_at) VALUES \
             ({}, '2026-01', '2026-01-01', 'order_share', 5, {}, '{{}}', 0)",
            super::id(&desk.max),
            posted.id
        ),
    ] {
        assert!(!run(&desk, &sql).await, "{sql}");
    }
}
