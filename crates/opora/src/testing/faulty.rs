//! A store that fails on command.
//!
//! It is a layer in front of any store and counts calls. A call can fail before or after it took effect, be slow, or
//! stall.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::store::{Answer, Store, StoreError, StoreResult};

/// Means every method in [`FaultyStore::fail_next`] and [`FaultyStore::fail_until_cleared`].
pub const ANY_METHOD: &str = "*";

/// A fault of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It returns [`StoreError::Unavailable`] and has no effect.
    Before,
    /// It returns [`StoreError::Unavailable`] after it took effect.
    After,
    /// It takes this much longer.
    Delay(Duration),
    /// It waits until the fault is cleared, and then continues.
    Stall,
}

/// A store with faults on command.
#[derive(Debug)]
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    plan: Mutex<Plan>,
    cleared: Notify,
}

#[derive(Debug, Default)]
struct Plan {
    calls: HashMap<&'static str, u64>,
    planned: Vec<PlannedFault>,
}

#[derive(Debug)]
struct PlannedFault {
    method: &'static str,
    fault: Fault,
    // None: until it is cleared.
    times: Option<usize>,
}

impl FaultyStore {
    /// A store without faults.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, plan: Mutex::default(), cleared: Notify::new() }
    }

    /// The inner store.
    #[must_use]
    pub fn inner(&self) -> &Arc<dyn Store> {
        &self.inner
    }

    /// The next `times` calls of a method get this fault. Faults of one method apply one after another.
    pub fn fail_next(&self, method: &'static str, times: usize, fault: Fault) {
        self.plan.lock().planned.push(PlannedFault { method, fault, times: Some(times) });
    }

    /// All calls of a method get this fault until it is cleared.
    pub fn fail_until_cleared(&self, method: &'static str, fault: Fault) {
        self.plan.lock().planned.push(PlannedFault { method, fault, times: None });
    }

    /// Clears all faults of a method; [`ANY_METHOD`] clears all.
    pub fn clear_faults(&self, method: &str) {
        self.plan.lock().planned.retain(|planned| method != ANY_METHOD && planned.method != method);
        self.cleared.notify_waiters();
    }

    /// How often a method was called, with any result.
    #[must_use]
    pub fn calls(&self, method: &str) -> u64 {
        let plan = self.plan.lock();
        if method == ANY_METHOD { plan.calls.values().sum() } else { plan.calls.get(method).copied().unwrap_or(0) }
    }

    /// Counts a call and returns its fault.
    fn enter(&self, method: &'static str) -> Option<Fault> {
        let mut plan = self.plan.lock();
        *plan.calls.entry(method).or_default() += 1;
        let place = plan.planned.iter().position(|planned| planned.applies_to(method) && planned.times != Some(0))?;
        let planned = plan.planned.get_mut(place)?;
        let fault = planned.fault;
        if let Some(times) = &mut planned.times {
            *times -= 1;
            // A used-up stall stays, because its callers wait until it is cleared.
            if *times == 0 && fault != Fault::Stall {
                plan.planned.remove(place);
            }
        }
        Some(fault)
    }

    fn is_stalled(&self, method: &str) -> bool {
        self.plan.lock().planned.iter().any(|planned| planned.applies_to(method) && planned.fault == Fault::Stall)
    }

    async fn stalled(&self, method: &str) {
        loop {
            let cleared = self.cleared.notified();
            tokio::pin!(cleared);
            // From here on no notification is missed.
            cleared.as_mut().enable();
            if !self.is_stalled(method) {
                return;
            }
            cleared.await;
        }
    }

    async fn with_fault<'a, T>(&self, method: &'static str, call: impl FnOnce() -> Answer<'a, T>) -> StoreResult<T> {
        match self.enter(method) {
            None => (),
            Some(Fault::Before) => return Err(unavailable(method, "before")),
            Some(Fault::After) => {
                call().await?;
                return Err(unavailable(method, "after"));
            }
            Some(Fault::Delay(duration)) => tokio::time::sleep(duration).await,
            Some(Fault::Stall) => self.stalled(method).await,
        }
        call().await
    }
}

impl PlannedFault {
    fn applies_to(&self, method: &str) -> bool {
        self.method == method || self.method == ANY_METHOD
    }
}

fn unavailable(method: &str, when: &str) -> StoreError {
    StoreError::Unavailable(format!("{method} was told to fail {when} its effect").into())
}

// Named by its path, because its methods have the names of `Store`'s.
impl crate::store::StoreLayer for FaultyStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn describe(&self) -> String {
        format!("{}, with faults on command", self.inner.describe())
    }

    fn around<'a, T: Send + 'a>(
        &'a self,
        method: &'static str,
        call: impl FnOnce() -> Answer<'a, T> + Send + 'a,
    ) -> Answer<'a, T> {
        Box::pin(self.with_fault(method, call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Millis;
    use crate::key::ConversationKey;
    use crate::store::{ConversationRow, MemoryStore};

    async fn faulty() -> (Arc<FaultyStore>, ConversationKey) {
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        let row = ConversationRow {
            key: ConversationKey::private(1, 2),
            version: Default::default(),
            stored: Some(crate::store::StoredState { value: "{}".into(), states: Vec::new(), expires_at: None }),
            updated_at: Millis(0),
        };
        store.operator().import(&row, false).await.unwrap();
        (store, row.key)
    }

    #[tokio::test]
    async fn a_call_fails_before_or_after_its_effect() {
        let (store, key) = faulty().await;
        store.fail_next("reset", 1, Fault::Before);
        store.fail_next("reset", 1, Fault::After);
        assert!(matches!(store.operator().reset(&key, Millis(1)).await, Err(StoreError::Unavailable(_))));
        assert_eq!(store.statistics(None).await.unwrap().active, 1);
        assert!(matches!(store.operator().reset(&key, Millis(1)).await, Err(StoreError::Unavailable(_))));
        assert_eq!(store.statistics(None).await.unwrap().active, 0);
        assert!(!store.operator().reset(&key, Millis(1)).await.unwrap(), "the faults are used up");
        assert_eq!((store.calls("reset"), store.calls("commit"), store.calls(ANY_METHOD)), (3, 0, 6));
    }

    #[tokio::test]
    async fn a_lasting_fault_ends_when_cleared() {
        let (store, key) = faulty().await;
        store.fail_until_cleared(ANY_METHOD, Fault::Before);
        for _ in 0..3 {
            assert!(store.open(&key, None).await.is_err());
        }
        store.clear_faults(ANY_METHOD);
        assert!(store.open(&key, None).await.is_ok());
    }

    #[tokio::test]
    async fn a_stalled_call_continues_when_cleared() {
        let (store, key) = faulty().await;
        store.fail_next("reset", 1, Fault::Stall);
        let stalled = tokio::spawn({
            let store = store.clone();
            let key = key.clone();
            async move { store.operator().reset(&key, Millis(1)).await }
        });
        while store.calls("reset") == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(store.statistics(None).await.unwrap().active, 1);
        assert!(store.operator().reset(&ConversationKey::private(1, 3), Millis(1)).await.is_ok(), "others go on");
        store.clear_faults("reset");
        assert!(stalled.await.unwrap().unwrap());
    }
}
