//! Random commands on orders: what payroll has posted for orders is the sum of the shares of closed orders.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tokio::runtime::Runtime;
use workforce::domain::ActionError;
use workforce::orders::{Command, Completion, Order, OrderStatus};

use super::{Desk, completion, day, id, roubles};
use crate::kit::firm::StorageKind;

/// Each case has its own database. Creating one on a server takes longer.
const CASES: u32 = 8;
const CASES_ON_POSTGRES: u32 = 3;

/// A command on one of three orders.
#[derive(Clone, Debug)]
struct Action {
    order: usize,
    actor: usize,
    to: usize,
    total: i64,
    materials: i64,
    has_review: bool,
}

fn any_action() -> impl Strategy<Value = Action> {
    let amounts = (0_i64..20_000, 0_i64..20_000);
    (0_usize..3, 0_usize..5, 0_usize..8, amounts, any::<bool>()).prop_map(
        |(order, actor, to, (total, materials), has_review)| Action { order, actor, to, total, materials, has_review },
    )
}

fn payroll_agrees_with_closed_orders(kind: StorageKind, cases: u32) {
    let runtime = Runtime::new().unwrap();
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let played = TestRunner::new(config).run(&proptest::collection::vec(any_action(), 20..80), |actions| {
        runtime.block_on(check(kind, actions));
        Ok(())
    });
    played.unwrap();
}

mod sqlite {
    #[test]
    fn payroll_agrees_with_closed_orders() {
        super::payroll_agrees_with_closed_orders(super::StorageKind::Sqlite, super::CASES);
    }
}

mod postgres {
    #[test]
    fn payroll_agrees_with_closed_orders() {
        super::payroll_agrees_with_closed_orders(super::StorageKind::Postgres, super::CASES_ON_POSTGRES);
    }
}

async fn check(kind: StorageKind, actions: Vec<Action>) {
    let desk = Desk::open(kind).await;
    let mut orders: Vec<Order> = Vec::new();
    for _ in 0..3 {
        orders.push(desk.clients_order().await);
    }
    for action in actions {
        let actors = [&desk.dispatcher, &desk.owner, &desk.max, &desk.nina, &desk.client];
        let order = &orders[action.order];
        let done = desk.does(actors[action.actor], order, command(&desk, &action, order.status)).await;
        assert!(!matches!(done, Err(ActionError::Failed(_) | ActionError::NotAllowed)), "{action:?}: {done:?}");
        if let Ok(order) = done {
            orders[action.order] = order;
        }
        let posted = "SELECT CAST(COALESCE(SUM(amount_kopecks), 0) AS BIGINT) FROM adjustments";
        let shares = "SELECT CAST(COALESCE(SUM(share_kopecks), 0) AS BIGINT) FROM orders WHERE status = 'closed'";
        let sums = "SELECT CAST(COALESCE(SUM(total_kopecks), 0) AS BIGINT) FROM payroll_entries";
        assert_eq!(desk.numbers(posted).await, desk.numbers(shares).await, "{action:?}");
        assert_eq!(desk.numbers(posted).await, desk.numbers(sums).await, "{action:?}");
    }
    desk.firm.app.domain.close().await.unwrap();
}

fn command(desk: &Desk, action: &Action, from: OrderStatus) -> Command {
    let completion = Completion { has_review: action.has_review, ..completion(action.total, action.materials) };
    let master = if action.total % 2 == 0 { id(&desk.max) } else { id(&desk.nina) };
    match action.to {
        0 => Command::Assign { master },
        1 => Command::Accept,
        2 => {
            if from == OrderStatus::LongRepair {
                Command::Resume
            } else {
                Command::Arrive
            }
        }
        3 => Command::Complete { completion },
        4 => Command::Correct { completion, reason: "A wrong total".into() },
        5 => Command::LongRepair { until: day(20), prepayment: roubles(action.materials) },
        6 if action.total < 3_000 => Command::Refuse { reason: "Not needed".into() },
        6 => Command::Reopen,
        _ => Command::Offer { masters: vec![id(&desk.max), id(&desk.nina)], minutes: 15, all_at_once: true },
    }
}
