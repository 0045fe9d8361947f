//! The life of an order: its statuses, and who may lead it from one to another.
//!
//! [`TRANSITIONS`] is the only table of transitions. Commands, pages and tests read it; the database has the same table
//! without the roles. Offers, the way to the client and confirmations are facts within a status.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::key;
use crate::texts::Language;

/// The status of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderStatus {
    /// No master has it.
    New,
    /// A master has it and has not answered.
    Assigned,
    Accepted,
    /// The master is at the client's.
    OnSite,
    /// It is repaired elsewhere, or waits for a part.
    LongRepair,
    /// Done and paid.
    Closed,
    Refused,
}

/// What a person is to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OrderRole {
    Dispatcher,
    /// The master who has the order, or to whom it is offered.
    Master,
    /// An owner or a superadmin.
    Owner,
    /// A manager has no rights on orders.
    Manager,
    /// The client whose order it is.
    Client,
}

/// A transition with the roles that may make it.
#[derive(Clone, Copy, Debug)]
pub struct Transition {
    pub from: OrderStatus,
    pub to: OrderStatus,
    pub roles: &'static [OrderRole],
}

use OrderRole::{Client, Dispatcher, Master, Owner};
use OrderStatus::{Accepted, Assigned, Closed, LongRepair, New, OnSite, Refused};

/// All transitions. What is not in the table is forbidden.
pub const TRANSITIONS: [Transition; 15] = [
    // A master takes an order that is offered to him.
    Transition { from: New, to: Assigned, roles: &[Dispatcher, Owner, Master] },
    Transition { from: New, to: Refused, roles: &[Dispatcher, Owner, Client] },
    Transition { from: Assigned, to: Accepted, roles: &[Master] },
    // A master declines; a dispatcher takes it back.
    Transition { from: Assigned, to: New, roles: &[Dispatcher, Owner, Master] },
    Transition { from: Assigned, to: Refused, roles: &[Dispatcher, Owner, Client] },
    Transition { from: Accepted, to: OnSite, roles: &[Master] },
    Transition { from: Accepted, to: LongRepair, roles: &[Dispatcher, Owner, Master] },
    Transition { from: Accepted, to: Refused, roles: &[Dispatcher, Owner, Master, Client] },
    Transition { from: OnSite, to: Closed, roles: &[Owner, Master] },
    Transition { from: OnSite, to: LongRepair, roles: &[Dispatcher, Owner, Master] },
    Transition { from: OnSite, to: Refused, roles: &[Dispatcher, Owner, Master] },
    Transition { from: LongRepair, to: Closed, roles: &[Owner, Master] },
    Transition { from: LongRepair, to: OnSite, roles: &[Master] },
    Transition { from: LongRepair, to: Refused, roles: &[Dispatcher, Owner, Master] },
    Transition { from: Refused, to: New, roles: &[Dispatcher, Owner] },
];

/// Whether any of these roles may make this transition.
pub fn may_go(from: OrderStatus, to: OrderStatus, roles: &[OrderRole]) -> bool {
    let found = TRANSITIONS.iter().find(|one| one.from == from && one.to == to);
    found.is_some_and(|one| one.roles.iter().any(|role| roles.contains(role)))
}

/// The statuses to which these roles may lead an order.
pub fn next_statuses(from: OrderStatus, roles: &[OrderRole]) -> impl Iterator<Item = OrderStatus> {
    OrderStatus::ALL.into_iter().filter(move |to| may_go(from, *to, roles))
}

impl OrderStatus {
    pub const ALL: [Self; 7] = [New, Assigned, Accepted, OnSite, LongRepair, Closed, Refused];
    /// Those that are not over.
    pub const OPEN: [Self; 5] = [New, Assigned, Accepted, OnSite, LongRepair];
    /// Those in which a master works on it or should.
    pub const AT_MASTER: [Self; 4] = [Assigned, Accepted, OnSite, LongRepair];

    /// The name in the database and in buttons.
    pub const fn name(self) -> &'static str {
        match self {
            New => "new",
            Assigned => "assigned",
            Accepted => "accepted",
            OnSite => "on_site",
            LongRepair => "long_repair",
            Closed => "closed",
            Refused => "refused",
        }
    }

    /// Whether it is neither closed nor refused.
    pub const fn is_open(self) -> bool {
        !matches!(self, Closed | Refused)
    }

    /// The name that people read.
    pub fn text(self, language: Language) -> String {
        language.text(match self {
            New => key!("orders-status-new"),
            Assigned => key!("orders-status-assigned"),
            Accepted => key!("orders-status-accepted"),
            OnSite => key!("orders-status-on-site"),
            LongRepair => key!("orders-status-long-repair"),
            Closed => key!("orders-status-closed"),
            Refused => key!("orders-status-refused"),
        })
    }
}

impl FromStr for OrderStatus {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|status| status.name() == name).ok_or_else(|| format!("no order status `{name}`"))
    }
}

impl fmt::Display for OrderStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl OrderRole {
    pub const ALL: [Self; 5] = [Dispatcher, Master, Owner, Self::Manager, Client];
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQL: &str = include_str!("../domain/migrations/orders.sql");

    #[test]
    fn the_database_has_the_same_transitions() {
        let one = |line: &Transition| format!("'{}>{}'", line.from, line.to);
        for transition in &TRANSITIONS {
            assert_eq!(SQL.matches(&one(transition)).count(), 2, "{transition:?}");
        }
        let is_transition = |token: &&str| {
            let ends = token.split_once('>');
            ends.is_some_and(|(from, to)| [from, to].iter().all(|one| one.parse::<OrderStatus>().is_ok()))
        };
        assert_eq!(SQL.split('\'').filter(is_transition).count(), 2 * TRANSITIONS.len());
    }

    #[test]
    fn managers_may_do_nothing_and_closed_orders_stay_closed() {
        assert!(TRANSITIONS.iter().all(|one| !one.roles.contains(&OrderRole::Manager)));
        assert_eq!(next_statuses(Closed, &OrderRole::ALL).count(), 0);
        assert_eq!(next_statuses(New, &[Client]).collect::<Vec<_>>(), [Refused]);
    }

    #[test]
    fn names_parse() {
        for status in OrderStatus::ALL {
            assert_eq!(status.name().parse(), Ok(status));
        }
    }
}
