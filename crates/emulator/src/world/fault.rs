//! Faults that a tester orders: calls that fail, updates that come twice, late, swapped or with ids that restart.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::World;
use super::queue::Queued;

const MAX_ACTIVE: usize = 1000;
/// How long an update is held back for another to go ahead, unless the order says.
const HOLD_MS: i64 = 2000;

/// A fault as it is ordered on the people's side.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Only calls of this method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Only calls to, or updates from, this chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<i64>,
    #[serde(default = "once")]
    pub times: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updates: Option<Delivery>,
}

/// When the connection is cut: before the call has its effect, or after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    Before,
    After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    Duplicate,
    Reorder,
    Delay,
    RestartIds,
}

/// An ordered fault with what is left of it.
#[derive(Clone, Debug, Serialize)]
pub struct Fault {
    pub id: u64,
    pub left: u32,
    #[serde(flatten)]
    pub order: Order,
}

#[derive(Debug, Default)]
pub struct Faults {
    active: Vec<Fault>,
    ordered: u64,
}

impl Order {
    /// Says what is wrong with an order that could not do all that it says.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.times == 0 {
            return Err("times must be at least 1");
        }
        match self.updates {
            Some(delivery) => self.check_of_updates(delivery),
            None => self.check_of_calls(),
        }
    }

    fn check_of_updates(&self, delivery: Delivery) -> Result<(), &'static str> {
        let fails = self.status.is_some() || self.retry_after.is_some() || self.cut.is_some();
        if fails || self.method.is_some() || self.description.is_some() {
            return Err("a fault is either of calls or of updates");
        }
        match (delivery, self.delay_ms) {
            (Delivery::Delay, None) => Err("a delayed update needs delay_ms"),
            (Delivery::RestartIds, Some(_)) => Err("ids restart at once, without delay_ms"),
            _ => Ok(()),
        }
    }

    fn check_of_calls(&self) -> Result<(), &'static str> {
        let fails = self.status.is_some() || self.retry_after.is_some();
        if !fails && self.delay_ms.is_none() && self.cut.is_none() {
            return Err("a fault needs one of status, retry_after, delay_ms, cut or updates");
        }
        if fails && self.cut.is_some() {
            return Err("who is cut off sees no error: give cut, or status and retry_after");
        }
        if self.status.is_some_and(|status| !(400..=599).contains(&status)) {
            return Err("status must be an error, 400 to 599");
        }
        if self.retry_after.is_some() && self.status.is_some_and(|status| status != 429) {
            return Err("retry_after is of status 429");
        }
        if self.description.is_some() && (self.status.is_none() || self.retry_after.is_some()) {
            return Err("description needs a status, and none with retry_after");
        }
        Ok(())
    }

    fn delay_ms(&self) -> Option<i64> {
        // Halved, so that no moment is out of range.
        self.delay_ms.map(|delay_ms| i64::try_from(delay_ms).unwrap_or(i64::MAX).min(i64::MAX / 2))
    }
}

impl World {
    /// Queues an update as a fault wants it.
    pub(super) fn queue_struck(&mut self, update: Queued, order: &Order, now_ms: i64) {
        let after = |delay_ms: i64| Queued { late: true, ready_ms: now_ms + delay_ms, ..update.clone() };
        match order.updates {
            Some(Delivery::Delay) => {
                self.enqueue(after(order.delay_ms().unwrap_or(0)));
            }
            Some(Delivery::Duplicate) => {
                let again = order.delay_ms().map_or_else(|| Queued { late: true, ..update.clone() }, after);
                self.enqueue(update);
                self.enqueue(again);
            }
            Some(Delivery::Reorder) => {
                let number = self.enqueue(after(order.delay_ms().unwrap_or(HOLD_MS)));
                self.queue.hold(number, order.chat_id);
            }
            Some(Delivery::RestartIds) | None => {
                self.enqueue(update);
            }
        }
        self.events.tell("faults", || json!({"faults": self.faults.active()}));
    }
}

impl Faults {
    /// Adds a fault; none if there are too many.
    pub fn add(&mut self, order: Order) -> Option<Fault> {
        if self.active.len() >= MAX_ACTIVE {
            return None;
        }
        self.ordered += 1;
        let fault = Fault { id: self.ordered, left: order.times, order };
        self.active.push(fault.clone());
        Some(fault)
    }

    pub fn active(&self) -> &[Fault] {
        &self.active
    }

    pub fn clear(&mut self) {
        self.active.clear();
    }

    pub fn remove(&mut self, id: u64) -> bool {
        let before = self.active.len();
        self.active.retain(|fault| fault.id != id);
        self.active.len() < before
    }

    /// The fault that strikes this call, if one does.
    pub fn strike_call(&mut self, method: &str, chat_id: Option<i64>) -> Option<Fault> {
        let named = |order: &Order| order.method.as_ref().is_none_or(|name| name.eq_ignore_ascii_case(method));
        self.strike(|order| {
            order.updates.is_none() && named(order) && (order.chat_id.is_none() || order.chat_id == chat_id)
        })
    }

    /// The fault that strikes a download: only one that names the method `file`, since a download is no call.
    pub fn strike_download(&mut self) -> Option<Fault> {
        self.strike(|order| order.method.as_ref().is_some_and(|name| name.eq_ignore_ascii_case("file")))
    }

    /// The fault that strikes an update from this chat.
    pub fn strike_update(&mut self, chat_id: i64) -> Option<Fault> {
        self.strike(|order| order.updates.is_some() && order.chat_id.is_none_or(|chat| chat == chat_id))
    }

    fn strike(&mut self, fits: impl Fn(&Order) -> bool) -> Option<Fault> {
        let at = self.active.iter().position(|fault| fits(&fault.order))?;
        let fault = &mut self.active[at];
        fault.left -= 1;
        let struck = fault.clone();
        if fault.left == 0 {
            self.active.remove(at);
        }
        Some(struck)
    }
}

fn once() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(json: &str) -> Order {
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_fault_strikes_as_often_as_it_was_ordered_and_only_where() {
        let mut faults = Faults::default();
        faults.add(order(r#"{"method":"sendMessage","chat_id":7,"times":2,"status":500}"#));
        assert!(faults.strike_call("sendPhoto", Some(7)).is_none());
        assert!(faults.strike_call("sendMessage", Some(8)).is_none());
        assert!(faults.strike_call("sendmessage", Some(7)).is_some());
        assert!(faults.strike_call("sendMessage", Some(7)).is_some());
        assert!(faults.strike_call("sendMessage", Some(7)).is_none());
        assert!(faults.strike_update(7).is_none());
    }

    #[test]
    fn an_order_that_could_not_do_what_it_says_is_refused() {
        let bad = [
            "{}",
            r#"{"updates":"delay"}"#,
            r#"{"updates":"duplicate","retry_after":5}"#,
            r#"{"updates":"restart_ids","delay_ms":5}"#,
            r#"{"status":200}"#,
            r#"{"status":500,"cut":"after"}"#,
            r#"{"status":500,"retry_after":5}"#,
            r#"{"delay_ms":5,"description":"x"}"#,
            r#"{"cut":"after","times":0}"#,
        ];
        for bad in bad {
            assert!(order(bad).check().is_err(), "{bad}");
        }
        assert!(serde_json::from_str::<Order>(r#"{"methd":"x","status":500}"#).is_err());
        let good = [
            r#"{"updates":"duplicate"}"#,
            r#"{"updates":"reorder","delay_ms":5,"chat_id":7}"#,
            r#"{"status":429,"retry_after":5}"#,
            r#"{"cut":"after","delay_ms":5}"#,
        ];
        for good in good {
            assert_eq!(order(good).check(), Ok(()), "{good}");
        }
    }

    #[test]
    fn there_is_a_bound_to_faults() {
        let mut faults = Faults::default();
        let added = (0..=MAX_ACTIVE).filter_map(|_| faults.add(order(r#"{"status":500}"#))).count();
        assert_eq!(added, MAX_ACTIVE);
    }
}
