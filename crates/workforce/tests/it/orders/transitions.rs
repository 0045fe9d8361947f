//! Every pair of statuses × every role, from the one table.

use workforce::domain::ActionError;
use workforce::orders::{Actor, Command, OrderRefusal, OrderRole, OrderStatus, may_go};

use super::{Desk, assert_refused, client};
use crate::kit::firm::{StorageKind, on_every_database};

on_every_database! {
    every_pair_of_statuses_is_as_the_table_says,
    a_command_on_an_older_version_is_refused,
    strangers_do_not_learn_that_an_order_exists,
    a_blocked_person_can_do_nothing,
    the_history_says_who_when_and_why,
    an_order_is_handed_over_to_another_master,
    a_blocked_master_loses_the_orders,
}

fn actor(desk: &Desk, role: OrderRole) -> &Actor {
    match role {
        OrderRole::Dispatcher => &desk.dispatcher,
        OrderRole::Master => &desk.max,
        OrderRole::Owner => &desk.owner,
        OrderRole::Manager => &desk.manager,
        OrderRole::Client => &desk.client,
    }
}

/// The command of the role for this pair. A master returns an order by declining, and takes a new one that is offered.
fn command(desk: &Desk, role: OrderRole, from: OrderStatus, to: OrderStatus) -> Command {
    match (role, from, to) {
        (OrderRole::Master, OrderStatus::Assigned, OrderStatus::New) => Command::Decline { reason: "Too far".into() },
        (OrderRole::Master, OrderStatus::New, OrderStatus::Assigned) => Command::Accept,
        _ => desk.leads(from, to),
    }
}

async fn every_pair_of_statuses_is_as_the_table_says(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    for from in OrderStatus::ALL {
        let mut order = desk.order_in(from).await;
        if from == OrderStatus::New {
            let offer = Command::Offer { masters: vec![super::id(&desk.max)], minutes: 15, all_at_once: false };
            order = desk.done(&desk.dispatcher, &order, offer).await;
        }
        for (role, to) in OrderRole::ALL.into_iter().flat_map(|role| OrderStatus::ALL.map(|to| (role, to))) {
            if from == to {
                continue;
            }
            let command = command(&desk, role, from, to);
            let (who, version) = (actor(&desk, role), Some(order.version));
            let checked = desk.orders().check(who, order.id, version, command.clone()).await;
            // A dispatcher takes back what was accepted by way of a refusal.
            let is_other_way = matches!(command, Command::TakeBack { .. }) && OrderStatus::AT_MASTER.contains(&from);
            let dispatches = matches!(role, OrderRole::Dispatcher | OrderRole::Owner);
            // A master who takes an offer is assigned and accepts at once.
            let takes_offer = role == OrderRole::Master && (from, to) == (OrderStatus::New, OrderStatus::Accepted);
            let is_allowed = may_go(from, to, &[role]) || is_other_way && dispatches || takes_offer;
            match checked {
                Ok(()) => assert!(is_allowed, "{role:?} {from} → {to} is not in the table"),
                Err(ActionError::Refused(why)) => assert!(!is_allowed, "{role:?} {from} → {to}: {why:?}"),
                Err(error) => panic!("{role:?} {from} → {to}: {error:?}"),
            }
        }
        let unchanged = desk.orders().seen_order(&desk.dispatcher, order.id).await.unwrap().unwrap().order;
        assert_eq!(unchanged, order, "a check changes nothing");
    }
}

async fn a_command_on_an_older_version_is_refused(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.order_in(OrderStatus::Assigned).await;
    desk.done(&desk.max, &order, Command::Accept).await;
    assert_refused(desk.does(&desk.max, &order, Command::Accept).await, OrderRefusal::Stale);
    let again = desk.orders().execute(&desk.max, order.id, None, Command::Accept).await;
    assert_refused(again, OrderRefusal::WrongStatus);
}

async fn strangers_do_not_learn_that_an_order_exists(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.order_in(OrderStatus::Accepted).await;
    let stranger = Actor::Client(client(&desk.firm, 901, "Stranger", "+79990000002", true).await);
    for who in [&desk.nina, &desk.manager, &stranger] {
        assert_refused(desk.does(who, &order, Command::Message { text: "Hello".into() }).await, OrderRefusal::Gone);
        assert!(desk.orders().seen_order(who, order.id).await.unwrap().is_none());
    }
    let no_order = desk.orders().execute(&desk.owner, 999_999, None, Command::Reopen).await;
    assert_refused(no_order, OrderRefusal::Gone);
}

async fn a_blocked_person_can_do_nothing(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.order_in(OrderStatus::New).await;
    let blocked = super::id(&desk.dispatcher);
    let block = workforce::people::set_status;
    let status = workforce::person::Status::Blocked;
    let done = desk.firm.app.domain.write(move |db| Box::pin(block(db, blocked, status, None, crate::kit::firm::NOON)));
    done.await.unwrap();
    let refused = desk.does(&desk.dispatcher, &order, Command::Confirm).await;
    assert!(matches!(refused, Err(ActionError::NotAllowed)), "{refused:?}");
}

async fn the_history_says_who_when_and_why(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.order_in(OrderStatus::Assigned).await;
    let decline = Command::Decline { reason: "My car broke down".into() };
    let order = desk.done(&desk.max, &order, decline).await;
    assert_eq!((order.status, order.master_id), (OrderStatus::New, None));
    let details = desk.orders().details(&desk.dispatcher, order.id).await.unwrap().unwrap();
    let last = details.history.last().unwrap();
    assert_eq!(last.moved, Some((OrderStatus::Assigned, OrderStatus::New)));
    assert_eq!((last.member_id, last.reason.as_deref()), (desk.max.member_id(), Some("My car broke down")));
    assert!(details.history[0].is_by_client && details.names[&super::id(&desk.max)] == "Max");
    desk.is_told(&desk.dispatcher, "Max declined order no. 1: My car broke down").await;
}

async fn an_order_is_handed_over_to_another_master(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    for from in [OrderStatus::Assigned, OrderStatus::Accepted, OrderStatus::OnSite, OrderStatus::LongRepair] {
        let order = desk.order_in(from).await;
        let order = desk.done(&desk.dispatcher, &order, Command::Assign { master: super::id(&desk.nina) }).await;
        assert_eq!((order.status, order.master_id), (OrderStatus::Assigned, desk.nina.member_id()));
        assert_eq!(order.progress.arrived_at, None);
        assert_refused(desk.does(&desk.max, &order, Command::Accept).await, OrderRefusal::Gone);
    }
    desk.is_told(&desk.max, "is no longer yours").await;
    desk.is_told(&desk.nina, "is yours").await;
}

async fn a_blocked_master_loses_the_orders(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let on_site = desk.order_in(OrderStatus::OnSite).await;
    let assigned = desk.order_in(OrderStatus::Assigned).await;
    let closed = desk.order_in(OrderStatus::Closed).await;
    let (rooms, max) = (desk.firm.app.rooms.clone(), super::id(&desk.max));
    let released = desk.firm.app.domain.write_and_get(move |db| {
        Box::pin(async move {
            let mut count = 0;
            for room in rooms.iter() {
                count += room.cancel_pending_work(db, max, None, crate::kit::firm::NOON).await?;
            }
            Ok(count)
        })
    });
    assert_eq!(released.await.unwrap(), 2);
    for (order, status) in [(on_site, OrderStatus::New), (assigned, OrderStatus::New), (closed, OrderStatus::Closed)] {
        let now = desk.orders().seen_order(&desk.dispatcher, order.id).await.unwrap().unwrap().order;
        assert_eq!(now.status, status);
    }
    desk.is_told(&desk.dispatcher, "Max no longer has access").await;
}
