//! What a person sees of an order: the address after accepting, the phone after arriving.

use super::{Actor, Order, OrderRole, OrderStatus};
use crate::person::{DISPATCHERS, MASTERS, OWNERS, Role};

/// An order as a certain person sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenOrder {
    /// Hidden fields are empty; `position` and `notes` are none as long as the address is hidden.
    pub order: Order,
    pub shows_address: bool,
    pub shows_phone: bool,
    /// What the person is to the order, for [`super::may_go`].
    pub roles: Vec<OrderRole>,
}

/// What a person is to an order. `is_offered` says whether it is offered to the person now. Nothing: a stranger.
pub fn roles_on(actor: &Actor, order: &Order, is_offered: bool) -> Vec<OrderRole> {
    match actor {
        Actor::Job => Vec::new(),
        Actor::Client(client) if *client == order.client_id => vec![OrderRole::Client],
        Actor::Client(_) => Vec::new(),
        Actor::Member(person) => {
            let is_master = person.may(MASTERS) && (order.master_id == Some(person.id) || is_offered);
            let dispatches = person.may(&[Role::Dispatcher]);
            let held = [
                (person.may(OWNERS), OrderRole::Owner),
                (dispatches, OrderRole::Dispatcher),
                (is_master, OrderRole::Master),
            ];
            held.into_iter().filter(|(holds, _)| *holds).map(|(_, role)| role).collect()
        }
    }
}

/// The order as the person sees it; None if the person may not know that it exists.
pub fn seen_by(actor: &Actor, order: Order, is_offered: bool) -> Option<SeenOrder> {
    let roles = roles_on(actor, &order, is_offered);
    if roles.is_empty() {
        return None;
    }
    let sees_all = match actor {
        Actor::Member(person) => person.may(DISPATCHERS),
        Actor::Client(_) => true,
        Actor::Job => false,
    };
    let shows_address = sees_all || order.progress.accepted_at.is_some() && order.status != OrderStatus::Refused;
    let shows_phone = sees_all || order.progress.arrived_at.is_some() && order.status != OrderStatus::Refused;
    Some(SeenOrder { order: redacted(order, shows_address, shows_phone), shows_address, shows_phone, roles })
}

fn redacted(mut order: Order, shows_address: bool, shows_phone: bool) -> Order {
    if !shows_address {
        order.about.address.clear();
        order.about.position = None;
        // They often hold the code of the door.
        order.about.notes = None;
    }
    if !shows_phone {
        order.about.phone.clear();
    }
    order
}
