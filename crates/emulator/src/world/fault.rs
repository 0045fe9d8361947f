//! Faults that a test asks for: failing calls, and updates that come twice, late, reordered or with restarted ids.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::World;
use super::queue::QueuedUpdate;

const MAX_ACTIVE: usize = 1000;
/// How long an update is held back for another to overtake it, unless `delay_ms` is given.
const HOLD_MS: i64 = 2000;

/// A fault as requested through `/client`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FaultSpec {
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
    pub updates: Option<UpdateFault>,
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
pub enum UpdateFault {
    Duplicate,
    Reorder,
    Delay,
    RestartIds,
}

/// An active fault, and how often it still applies.
#[derive(Clone, Debug, Serialize)]
pub struct Fault {
    pub id: u64,
    pub left: u32,
    #[serde(flatten)]
    pub spec: FaultSpec,
}

#[derive(Debug, Default)]
pub struct Faults {
    active: Vec<Fault>,
    last_id: u64,
}

impl FaultSpec {
    /// Refuses a combination of fields that cannot have an effect.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.times == 0 {
            return Err("times must be at least 1");
        }
        match self.updates {
            Some(delivery) => self.check_of_updates(delivery),
            None => self.check_of_calls(),
        }
    }

    fn check_of_updates(&self, delivery: UpdateFault) -> Result<(), &'static str> {
        let fails = self.status.is_some() || self.retry_after.is_some() || self.cut.is_some();
        if fails || self.method.is_some() || self.description.is_some() {
            return Err("a fault is either of calls or of updates");
        }
        match (delivery, self.delay_ms) {
            (UpdateFault::Delay, None) => Err("a delayed update needs delay_ms"),
            (UpdateFault::RestartIds, Some(_)) => Err("ids restart at once, without delay_ms"),
            _ => Ok(()),
        }
    }

    fn check_of_calls(&self) -> Result<(), &'static str> {
        let fails = self.status.is_some() || self.retry_after.is_some();
        if !fails && self.delay_ms.is_none() && self.cut.is_none() {
            return Err("a fault needs one of status, retry_after, delay_ms, cut or updates");
        }
        if fails && self.cut.is_some() {
            return Err("a cut connection shows no error: give cut, or status and retry_after");
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
        // Limited to half of the range, so that adding it to a time cannot overflow.
        self.delay_ms.map(|delay_ms| i64::try_from(delay_ms).unwrap_or(i64::MAX).min(i64::MAX / 2))
    }
}

impl World {
    /// Queues an update with a fault applied.
    pub(super) fn queue_with_fault(&mut self, update: QueuedUpdate, spec: &FaultSpec, now_ms: i64) {
        let after = |delay_ms: i64| QueuedUpdate { late: true, ready_ms: now_ms + delay_ms, ..update.clone() };
        match spec.updates {
            Some(UpdateFault::Delay) => {
                self.enqueue(after(spec.delay_ms().unwrap_or(0)));
            }
            Some(UpdateFault::Duplicate) => {
                let again = spec.delay_ms().map_or_else(|| QueuedUpdate { late: true, ..update.clone() }, after);
                self.enqueue(update);
                self.enqueue(again);
            }
            Some(UpdateFault::Reorder) => {
                let number = self.enqueue(after(spec.delay_ms().unwrap_or(HOLD_MS)));
                self.queue.hold(number, spec.chat_id);
            }
            Some(UpdateFault::RestartIds) | None => {
                self.enqueue(update);
            }
        }
        self.events.publish("faults", || json!({"faults": self.faults.active()}));
    }
}

impl Faults {
    /// Adds a fault; none if there are too many.
    pub fn add(&mut self, spec: FaultSpec) -> Option<Fault> {
        if self.active.len() >= MAX_ACTIVE {
            return None;
        }
        self.last_id += 1;
        let fault = Fault { id: self.last_id, left: spec.times, spec };
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

    /// Takes the fault that applies to this call, if any.
    pub fn take_for_call(&mut self, method: &str, chat_id: Option<i64>) -> Option<Fault> {
        let named = |spec: &FaultSpec| spec.method.as_ref().is_none_or(|name| name.eq_ignore_ascii_case(method));
        self.take(|spec| spec.updates.is_none() && named(spec) && (spec.chat_id.is_none() || spec.chat_id == chat_id))
    }

    /// Takes the fault that applies to a download. It must name the method `file`, because a download is not a call.
    pub fn take_for_download(&mut self) -> Option<Fault> {
        self.take(|spec| spec.method.as_ref().is_some_and(|name| name.eq_ignore_ascii_case("file")))
    }

    /// Takes the fault that applies to an update from this chat.
    pub fn take_for_update(&mut self, chat_id: i64) -> Option<Fault> {
        self.take(|spec| spec.updates.is_some() && spec.chat_id.is_none_or(|chat| chat == chat_id))
    }

    fn take(&mut self, fits: impl Fn(&FaultSpec) -> bool) -> Option<Fault> {
        let at = self.active.iter().position(|fault| fits(&fault.spec))?;
        let fault = &mut self.active[at];
        fault.left -= 1;
        let taken = fault.clone();
        if fault.left == 0 {
            self.active.remove(at);
        }
        Some(taken)
    }
}

fn once() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(json: &str) -> FaultSpec {
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_fault_applies_where_and_as_often_as_asked() {
        let mut faults = Faults::default();
        faults.add(spec(r#"{"method":"sendMessage","chat_id":7,"times":2,"status":500}"#));
        assert!(faults.take_for_call("sendPhoto", Some(7)).is_none());
        assert!(faults.take_for_call("sendMessage", Some(8)).is_none());
        assert!(faults.take_for_call("sendmessage", Some(7)).is_some());
        assert!(faults.take_for_call("sendMessage", Some(7)).is_some());
        assert!(faults.take_for_call("sendMessage", Some(7)).is_none());
        assert!(faults.take_for_update(7).is_none());
    }

    #[test]
    fn a_fault_without_effect_is_refused() {
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
            assert!(spec(bad).check().is_err(), "{bad}");
        }
        assert!(serde_json::from_str::<FaultSpec>(r#"{"methd":"x","status":500}"#).is_err());
        let good = [
            r#"{"updates":"duplicate"}"#,
            r#"{"updates":"reorder","delay_ms":5,"chat_id":7}"#,
            r#"{"status":429,"retry_after":5}"#,
            r#"{"cut":"after","delay_ms":5}"#,
        ];
        for good in good {
            assert_eq!(spec(good).check(), Ok(()), "{good}");
        }
    }

    #[test]
    fn the_number_of_faults_is_limited() {
        let mut faults = Faults::default();
        let added = (0..=MAX_ACTIVE).filter_map(|_| faults.add(spec(r#"{"status":500}"#))).count();
        assert_eq!(added, MAX_ACTIVE);
    }
}
