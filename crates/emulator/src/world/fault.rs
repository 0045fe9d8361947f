//! Faults that a tester orders: calls that fail, updates that come twice, late, swapped or with ids that restart.

use serde::{Deserialize, Serialize};

/// A fault as it is ordered on the people's side.
#[derive(Clone, Debug, Deserialize, Serialize)]
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
    /// Says what is wrong with an order that could never do anything.
    pub fn check(&self) -> Result<(), String> {
        let acts = self.status.is_some() || self.retry_after.is_some() || self.delay_ms.is_some() || self.cut.is_some();
        if self.updates.is_none() && !acts {
            return Err("a fault needs one of status, retry_after, delay_ms, cut or updates".into());
        }
        if self.updates.is_some() && (self.method.is_some() || self.status.is_some() || self.cut.is_some()) {
            return Err("a fault is either of calls or of updates".into());
        }
        if self.updates == Some(Delivery::Delay) && self.delay_ms.is_none() {
            return Err("a delayed update needs delay_ms".into());
        }
        if self.status.is_some_and(|status| !(400..=599).contains(&status)) {
            return Err("status must be an error, 400 to 599".into());
        }
        if self.times == 0 {
            return Err("times must be at least 1".into());
        }
        Ok(())
    }
}

impl Faults {
    pub fn add(&mut self, order: Order) -> Fault {
        self.ordered += 1;
        let fault = Fault { id: self.ordered, left: order.times, order };
        self.active.push(fault.clone());
        fault
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
    fn an_order_that_does_nothing_is_refused() {
        for bad in ["{}", r#"{"updates":"delay"}"#, r#"{"status":200}"#, r#"{"cut":"after","times":0}"#] {
            assert!(order(bad).check().is_err(), "{bad}");
        }
        assert!(order(r#"{"updates":"duplicate"}"#).check().is_ok());
    }
}
