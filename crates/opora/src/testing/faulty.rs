//! A store that fails when it is told to.
//!
//! It stands before any other store and counts its calls. A call can fail before anything happened, or after it did, in
//! which case the caller cannot know; it can be slow, or never be answered. Everything else is the other store's.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{
    Answer, Commit, Committed, ConversationRow, DomainWrites, EffectId, EffectRow, Epoch, Filter, Holder, InboxRow,
    Incoming, Lease, LeaseAnswer, Mark, Opened, OutboxId, OutboxRow, Outgoing, Parked, ParkedId, Receipt, Seq, Settled,
    Statistics, Store, StoreError, StoreResult, Taken, TimerRow, TransitionRow,
};

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

    async fn around<'a, T>(&'a self, method: &'static str, call: impl FnOnce() -> Answer<'a, T>) -> StoreResult<T> {
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

/// Passes a call on, with the troubles that are ahead for it.
macro_rules! pass {
    ($self:ident . $method:ident ( $($argument:expr),* )) => {
        Box::pin($self.around(stringify!($method), move || $self.inner.$method($($argument),*)))
    };
}

impl Store for FaultyStore {
    fn describe(&self) -> String {
        format!("{}, with troubles on command", self.inner.describe())
    }

    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer> {
        pass!(self.claim(bot, holder, seen))
    }

    fn renew(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        pass!(self.renew(bot, epoch))
    }

    fn release(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        pass!(self.release(bot, epoch))
    }

    fn lease(&self, bot: i64) -> Answer<'_, Option<Lease>> {
        pass!(self.lease(bot))
    }

    fn clear_lease(&self, bot: i64) -> Answer<'_, ()> {
        pass!(self.clear_lease(bot))
    }

    fn receive(&self, epoch: Epoch, batch: Vec<Incoming>) -> Answer<'_, Vec<Receipt>> {
        pass!(self.receive(epoch, batch))
    }

    fn waiting(&self, bot: i64, after: Seq, limit: usize) -> Answer<'_, Vec<InboxRow>> {
        pass!(self.waiting(bot, after, limit))
    }

    fn waiting_for<'a>(&'a self, key: &'a DialogueKey, after: Seq, limit: usize) -> Answer<'a, Vec<InboxRow>> {
        pass!(self.waiting_for(key, after, limit))
    }

    fn open<'a>(&'a self, key: &'a DialogueKey, mark: Option<&'a Mark>) -> Answer<'a, Opened> {
        pass!(self.open(key, mark))
    }

    fn commit(&self, epoch: Epoch, commit: Commit) -> Answer<'_, Committed> {
        pass!(self.commit(epoch, commit))
    }

    fn park<'a>(&'a self, epoch: Epoch, key: &'a DialogueKey, taken: Vec<Taken>, parked: Parked) -> Answer<'a, ()> {
        pass!(self.park(epoch, key, taken, parked))
    }

    fn write(&self, writes: DomainWrites) -> Answer<'_, ()> {
        pass!(self.write(writes))
    }

    fn unsent(&self, bot: i64, after: OutboxId, limit: usize) -> Answer<'_, Vec<OutboxRow>> {
        pass!(self.unsent(bot, after, limit))
    }

    fn sending(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        pass!(self.sending(epoch, ids))
    }

    fn settle(&self, epoch: Epoch, settled: Vec<Settled>) -> Answer<'_, ()> {
        pass!(self.settle(epoch, settled))
    }

    fn post<'a>(
        &'a self,
        epoch: Epoch,
        once: &'a str,
        outgoing: Vec<(DialogueKey, Outgoing)>,
    ) -> Answer<'a, Vec<OutboxId>> {
        pass!(self.post(epoch, once, outgoing))
    }

    fn labelled<'a>(&'a self, bot: i64, chat: i64, label: &'a str) -> Answer<'a, Option<i64>> {
        pass!(self.labelled(bot, chat, label))
    }

    fn effects(&self, bot: i64, after: EffectId, limit: usize) -> Answer<'_, Vec<EffectRow>> {
        pass!(self.effects(bot, after, limit))
    }

    fn finish_effect<'a>(&'a self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> Answer<'a, Receipt> {
        pass!(self.finish_effect(epoch, effect, outcome))
    }

    fn due_timers(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<TimerRow>> {
        pass!(self.due_timers(bot, now, limit))
    }

    fn expired(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<DialogueKey>> {
        pass!(self.expired(bot, now, limit))
    }

    fn next_due(&self, bot: i64) -> Answer<'_, Option<Millis>> {
        pass!(self.next_due(bot))
    }

    fn clean(&self, epoch: Epoch, marks_before: Millis, records_before: Millis) -> Answer<'_, u64> {
        pass!(self.clean(epoch, marks_before, records_before))
    }

    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<&'a DialogueKey>,
        limit: usize,
    ) -> Answer<'a, Vec<ConversationRow>> {
        pass!(self.list(filter, after, limit))
    }

    fn reset<'a>(&'a self, key: &'a DialogueKey, now: Millis) -> Answer<'a, bool> {
        pass!(self.reset(key, now))
    }

    fn import<'a>(&'a self, row: &'a ConversationRow, replace: bool) -> Answer<'a, bool> {
        pass!(self.import(row, replace))
    }

    fn statistics(&self, bot: Option<i64>) -> Answer<'_, Statistics> {
        pass!(self.statistics(bot))
    }

    fn bots(&self) -> Answer<'_, Vec<i64>> {
        pass!(self.bots())
    }

    fn parked(&self, bot: Option<i64>, limit: usize) -> Answer<'_, Vec<Parked>> {
        pass!(self.parked(bot, limit))
    }

    fn retry_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        pass!(self.retry_parked(id))
    }

    fn parked_to_retry(&self, bot: i64, limit: usize) -> Answer<'_, Vec<Parked>> {
        pass!(self.parked_to_retry(bot, limit))
    }

    fn drop_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        pass!(self.drop_parked(id))
    }

    fn transitions(&self, bot: i64, after: i64, limit: usize) -> Answer<'_, Vec<TransitionRow>> {
        pass!(self.transitions(bot, after, limit))
    }

    fn backup<'a>(&'a self, to: &'a Path) -> Answer<'a, ()> {
        pass!(self.backup(to))
    }

    fn close(&self) -> Answer<'_, ()> {
        pass!(self.close())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    async fn faulty() -> (Arc<FaultyStore>, DialogueKey) {
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        let row = ConversationRow {
            key: DialogueKey::private(1, 2),
            version: Default::default(),
            stored: Some(crate::store::Stored { value: "{}".into(), places: Vec::new(), expires_at: None }),
            updated_at: Millis(0),
        };
        store.import(&row, false).await.unwrap();
        (store, row.key)
    }

    #[tokio::test]
    async fn a_call_fails_before_or_after_its_effect() {
        let (store, key) = faulty().await;
        store.fail_next("reset", 1, Trouble::Before);
        store.fail_next("reset", 1, Trouble::After);
        assert!(matches!(store.reset(&key, Millis(1)).await, Err(StoreError::Unavailable(_))));
        assert_eq!(store.statistics(None).await.unwrap().active, 1);
        assert!(matches!(store.reset(&key, Millis(1)).await, Err(StoreError::Unavailable(_))));
        assert_eq!(store.statistics(None).await.unwrap().active, 0);
        assert!(!store.reset(&key, Millis(1)).await.unwrap(), "the troubles are over");
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
            let (store, key) = (store.clone(), key.clone());
            async move { store.reset(&key, Millis(1)).await }
        });
        while store.calls("reset") == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(store.statistics(None).await.unwrap().active, 1);
        assert!(store.reset(&DialogueKey::private(1, 3), Millis(1)).await.is_ok(), "others go on");
        store.lift("reset");
        assert!(stalled.await.unwrap().unwrap());
    }
}
