//! A store that fails when it is told to.
//!
//! It stands before any other store and counts its calls. A call can fail before anything happened, or after it did, in
//! which case the caller cannot know; it can be slow, or never be answered. Everything else is the other store's.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::store::{Answer, Store, StoreError, StoreResult};

/// Stands for every method in [`FaultyStore::fail_next`] and [`FaultyStore::fail_until_lifted`].
pub const ANY_METHOD: &str = "*";

/// What is wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It answers [`StoreError::Unavailable`], and nothing happened.
    Before,
    /// It answers [`StoreError::Unavailable`], and what was asked for happened all the same.
    After,
    /// It takes this much longer.
    Delay(Duration),
    /// It waits until the trouble is lifted, and then goes on as usual.
    Stall,
}

/// A store with troubles on command.
#[derive(Debug)]
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    plan: Mutex<Plan>,
    lifted: Notify,
}

#[derive(Debug, Default)]
struct Plan {
    calls: HashMap<&'static str, u64>,
    ahead: Vec<Ahead>,
}

#[derive(Debug)]
struct Ahead {
    method: &'static str,
    trouble: Trouble,
    // None until it is lifted.
    times: Option<usize>,
}

impl FaultyStore {
    /// A store without troubles as yet.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, plan: Mutex::default(), lifted: Notify::new() }
    }

    /// The store behind.
    #[must_use]
    pub fn inner(&self) -> &Arc<dyn Store> {
        &self.inner
    }

    /// The next calls of a method get into trouble, as many as `times`. Troubles of one method come one after another.
    pub fn fail_next(&self, method: &'static str, times: usize, trouble: Trouble) {
        self.plan.lock().ahead.push(Ahead { method, trouble, times: Some(times) });
    }

    /// All calls of a method get into trouble until it is lifted.
    pub fn fail_until_lifted(&self, method: &'static str, trouble: Trouble) {
        self.plan.lock().ahead.push(Ahead { method, trouble, times: None });
    }

    /// Ends all troubles of a method; [`ANY_METHOD`] ends all there are.
    pub fn lift(&self, method: &str) {
        self.plan.lock().ahead.retain(|ahead| method != ANY_METHOD && ahead.method != method);
        self.lifted.notify_waiters();
    }

    /// How often a method was called, whatever became of it.
    #[must_use]
    pub fn calls(&self, method: &str) -> u64 {
        let plan = self.plan.lock();
        if method == ANY_METHOD { plan.calls.values().sum() } else { plan.calls.get(method).copied().unwrap_or(0) }
    }

    /// Counts a call and says what is wrong with it.
    fn enter(&self, method: &'static str) -> Option<Trouble> {
        let mut plan = self.plan.lock();
        *plan.calls.entry(method).or_default() += 1;
        let place = plan.ahead.iter().position(|ahead| ahead.concerns(method) && ahead.times != Some(0))?;
        let ahead = plan.ahead.get_mut(place)?;
        let trouble = ahead.trouble;
        if let Some(times) = &mut ahead.times {
            *times -= 1;
            // A spent stall stays, for its callers wait until it is lifted.
            if *times == 0 && trouble != Trouble::Stall {
                plan.ahead.remove(place);
            }
        }
        Some(trouble)
    }

    fn is_stalled(&self, method: &str) -> bool {
        self.plan.lock().ahead.iter().any(|ahead| ahead.concerns(method) && ahead.trouble == Trouble::Stall)
    }

    async fn stalled(&self, method: &str) {
        loop {
            let lifted = self.lifted.notified();
            tokio::pin!(lifted);
            // From here on no lifting is missed.
            lifted.as_mut().enable();
            if !self.is_stalled(method) {
                return;
            }
            lifted.await;
        }
    }

    async fn in_trouble<'a, T>(&self, method: &'static str, call: impl FnOnce() -> Answer<'a, T>) -> StoreResult<T> {
        match self.enter(method) {
            None => (),
            Some(Trouble::Before) => return Err(unavailable(method, "before")),
            Some(Trouble::After) => {
                call().await?;
                return Err(unavailable(method, "after"));
            }
            Some(Trouble::Delay(duration)) => tokio::time::sleep(duration).await,
            Some(Trouble::Stall) => self.stalled(method).await,
        }
        call().await
    }
}

impl Ahead {
    fn concerns(&self, method: &str) -> bool {
        self.method == method || self.method == ANY_METHOD
    }
}

fn unavailable(method: &str, when: &str) -> StoreError {
    StoreError::Unavailable(format!("{method} was told to fail {when} its effect").into())
}

// Named by its path, for its methods have the names of `Store`'s.
impl crate::store::StoreLayer for FaultyStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn describe(&self) -> String {
        format!("{}, with troubles on command", self.inner.describe())
    }

    fn around<'a, T: Send + 'a>(
        &'a self,
        method: &'static str,
        call: impl FnOnce() -> Answer<'a, T> + Send + 'a,
    ) -> Answer<'a, T> {
        Box::pin(self.in_trouble(method, call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Millis;
    use crate::key::DialogueKey;
    use crate::store::{ConversationRow, MemoryStore};

    async fn faulty() -> (Arc<FaultyStore>, DialogueKey) {
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        let row = ConversationRow {
            key: DialogueKey::private(1, 2),
            version: Default::default(),
            stored: Some(crate::store::Stored { value: "{}".into(), places: Vec::new(), expires_at: None }),
            updated_at: Millis(0),
        };
        store.operator().import(&row, false).await.unwrap();
        (store, row.key)
    }

    #[tokio::test]
    async fn a_call_fails_before_or_after_its_effect() {
        let (store, key) = faulty().await;
        store.fail_next("reset", 1, Trouble::Before);
        store.fail_next("reset", 1, Trouble::After);
        assert!(matches!(store.operator().reset(&key, Millis(1)).await, Err(StoreError::Unavailable(_))));
        assert_eq!(store.statistics(None).await.unwrap().active, 1);
        assert!(matches!(store.operator().reset(&key, Millis(1)).await, Err(StoreError::Unavailable(_))));
        assert_eq!(store.statistics(None).await.unwrap().active, 0);
        assert!(!store.operator().reset(&key, Millis(1)).await.unwrap(), "the troubles are over");
        assert_eq!((store.calls("reset"), store.calls("commit"), store.calls(ANY_METHOD)), (3, 0, 6));
    }

    #[tokio::test]
    async fn a_trouble_without_an_end_lasts_until_it_is_lifted() {
        let (store, key) = faulty().await;
        store.fail_until_lifted(ANY_METHOD, Trouble::Before);
        for _ in 0..3 {
            assert!(store.open(&key, None).await.is_err());
        }
        store.lift(ANY_METHOD);
        assert!(store.open(&key, None).await.is_ok());
    }

    #[tokio::test]
    async fn a_stalled_call_goes_on_when_the_trouble_is_lifted() {
        let (store, key) = faulty().await;
        store.fail_next("reset", 1, Trouble::Stall);
        let stalled = tokio::spawn({
            let store = store.clone();
            let key = key.clone();
            async move { store.operator().reset(&key, Millis(1)).await }
        });
        while store.calls("reset") == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(store.statistics(None).await.unwrap().active, 1);
        assert!(store.operator().reset(&DialogueKey::private(1, 3), Millis(1)).await.is_ok(), "others go on");
        store.lift("reset");
        assert!(stalled.await.unwrap().unwrap());
    }
}
