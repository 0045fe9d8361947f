//! A store that breaks one promise, and keeps all others.

use std::sync::atomic::{AtomicI64, Ordering};

use opora::clock::Millis;
use opora::key::DialogueKey;
use opora::store::{
    Answer, Bounds, Cleaned, Commit, Committed, ConversationRow, Delivered, EffectId, EffectRow, Epoch, FailedRow,
    Filter, Holder, InboxRow, Incoming, Lease, LeaseAnswer, Mark, MemoryStore, Opened, OutboxId, OutboxRow, Outgoing,
    Parked, ParkedId, Receipt, Seq, SetAside, Settled, Statistics, Store, StoreResult, Taken, TimerRow, TransitionRow,
    Version,
};
use parking_lot::Mutex;

pub use self::fault::{Fault, Piece};
use self::remains::Remains;

mod commit;
mod fault;
mod inbox;
mod lease;
mod outbox;
mod remains;
mod time;

/// The memory store, spoilt.
#[derive(Debug)]
pub struct Broken {
    inner: MemoryStore,
    how: Fault,
    calls: AtomicI64,
    // What refused commits leave behind.
    remains: Mutex<Remains>,
    imported: Mutex<Vec<(DialogueKey, Version)>>,
}

impl Broken {
    pub fn new(how: Fault) -> Self {
        let (remains, imported) = (Mutex::default(), Mutex::default());
        Self { inner: MemoryStore::new(), how, calls: AtomicI64::new(0), remains, imported }
    }

    /// A number that was not there before.
    fn fresh(&self) -> i64 {
        self.calls.fetch_add(1, Ordering::SeqCst)
    }

    fn only_confirms(&self, method: &str) -> bool {
        matches!(self.how, Fault::Confirms(spoilt) if spoilt == method)
    }

    /// The epoch of a call; a store that ignores it takes the one that is good now.
    async fn epoch(&self, method: &str, epoch: Epoch) -> Epoch {
        if !matches!(self.how, Fault::IgnoresEpoch(spoilt) if spoilt == method) {
            return epoch;
        }
        // The cases know two bots; the second one's instances are never fenced.
        let bots = self.inner.operator().bots().await.unwrap();
        let lease = self.inner.lease(bots[0]).await.unwrap();
        lease.map_or(epoch, |lease| lease.epoch)
    }

    fn after<T: Default>(&self, method: &str, after: T) -> T {
        if matches!(self.how, Fault::IgnoresAfter(spoilt) if spoilt == method) { T::default() } else { after }
    }

    fn limit(&self, method: &str, limit: usize) -> usize {
        if matches!(self.how, Fault::IgnoresLimit(spoilt) if spoilt == method) { usize::MAX } else { limit }
    }

    fn order<T>(&self, method: &str, mut rows: Vec<T>) -> Vec<T> {
        if matches!(self.how, Fault::Reverses(spoilt) if spoilt == method) {
            rows.reverse();
        }
        rows
    }

    /// The key, without the part that is forgotten.
    fn key(&self, key: &DialogueKey) -> DialogueKey {
        match self.how {
            Fault::KeyWithout("user") => DialogueKey { user: 0, ..key.clone() },
            Fault::KeyWithout("thread") => DialogueKey { thread: 0, ..key.clone() },
            Fault::KeyWithout("business") => DialogueKey { business: Box::default(), ..key.clone() },
            Fault::KeyWithout("sign") => DialogueKey { chat: key.chat.abs(), ..key.clone() },
            _ => key.clone(),
        }
    }
}

// Named by its path, for its methods have the names of `Store`'s.
impl opora::store::StoreLayer for Broken {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    fn describe(&self) -> String {
        format!("broken: {:?}", self.how)
    }

    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer> {
        Box::pin(self.spoilt_claim(bot, holder, seen))
    }

    fn renew(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        Box::pin(async move {
            if self.only_confirms("renew") {
                return Ok(());
            }
            self.inner.renew(self.bot_of_lease(bot), self.epoch("renew", epoch).await).await
        })
    }

    fn release(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        Box::pin(async move {
            if self.only_confirms("release") {
                return Ok(());
            }
            self.inner.release(self.bot_of_lease(bot), self.epoch("release", epoch).await).await
        })
    }

    fn lease(&self, bot: i64) -> Answer<'_, Option<Lease>> {
        Box::pin(async move {
            let lease = self.inner.lease(self.bot_of_lease(bot)).await?;
            Ok(lease.filter(|_| self.how != Fault::HidesTheLease))
        })
    }

    fn clear_lease(&self, bot: i64) -> Answer<'_, ()> {
        Box::pin(async move {
            if self.only_confirms("clear_lease") { Ok(()) } else { self.inner.operator().clear_lease(bot).await }
        })
    }

    fn receive(&self, epoch: Epoch, batch: Vec<Incoming>) -> Answer<'_, Vec<Receipt>> {
        Box::pin(self.spoilt_receive(epoch, batch))
    }

    fn deliver(&self, batch: Vec<Incoming>) -> Answer<'_, Vec<Delivered>> {
        Box::pin(self.spoilt_deliver(batch))
    }

    fn backlog(&self, bot: i64, limit: usize) -> Answer<'_, usize> {
        Box::pin(async move {
            let bot = if self.how == Fault::MixesBots { self.inner.operator().bots().await?[0] } else { bot };
            self.inner.backlog(bot, self.limit("backlog", limit)).await
        })
    }

    fn waiting(&self, bot: i64, after: Seq, limit: usize) -> Answer<'_, Vec<InboxRow>> {
        Box::pin(self.spoilt_waiting(bot, after, limit))
    }

    fn waiting_for<'a>(&'a self, key: &'a DialogueKey, after: Seq, limit: usize) -> Answer<'a, Vec<InboxRow>> {
        Box::pin(self.spoilt_waiting_for(key, after, limit))
    }

    fn open<'a>(&'a self, key: &'a DialogueKey, mark: Option<&'a Mark>) -> Answer<'a, Opened> {
        Box::pin(self.spoilt_open(key, mark))
    }

    fn commit(&self, epoch: Epoch, commit: Commit) -> Answer<'_, Committed> {
        Box::pin(self.spoilt_commit(epoch, commit))
    }

    fn park(&self, epoch: Epoch, taken: Vec<Taken>, parked: Parked, outgoing: Vec<Outgoing>) -> Answer<'_, SetAside> {
        Box::pin(self.spoilt_park(epoch, taken, parked, outgoing))
    }

    fn unsent(&self, bot: i64, after: OutboxId, limit: usize) -> Answer<'_, Vec<OutboxRow>> {
        Box::pin(async move {
            let (after, limit) = (self.after("unsent", after), self.limit("unsent", limit));
            let mut rows = self.inner.unsent(bot, after, limit).await?;
            rows.extend(self.remains.lock().outbox.iter().cloned());
            Ok(self.order("unsent", rows))
        })
    }

    fn sending(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        Box::pin(async move {
            if self.only_confirms("sending") {
                return Ok(());
            }
            self.inner.sending(self.epoch("sending", epoch).await, self.spoilt_sending(ids).await).await
        })
    }

    fn not_sent(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        Box::pin(async move {
            if self.only_confirms("not_sent") {
                return Ok(());
            }
            self.inner.not_sent(self.epoch("not_sent", epoch).await, self.spoilt_not_sent(ids).await).await
        })
    }

    fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()> {
        Box::pin(self.spoilt_settle(epoch, settled, at))
    }

    fn post<'a>(
        &'a self,
        epoch: Epoch,
        once: &'a str,
        outgoing: Vec<(DialogueKey, Outgoing)>,
        at: Millis,
    ) -> Answer<'a, Vec<OutboxId>> {
        Box::pin(async move {
            let at = if self.how == Fault::PostsAtItsOwnTime { Millis(1) } else { at };
            let once =
                if self.how == Fault::PostsAlways { format!("{once} {}", self.fresh()) } else { once.to_owned() };
            self.inner.post(self.epoch("post", epoch).await, &once, outgoing, at).await
        })
    }

    fn labelled<'a>(&'a self, bot: i64, chat: i64, label: &'a str) -> Answer<'a, Option<i64>> {
        let chat = if self.how == Fault::LabelsWithoutChat { 0 } else { chat };
        self.inner.labelled(bot, chat, label)
    }

    fn effects(&self, bot: i64, after: EffectId, limit: usize) -> Answer<'_, Vec<EffectRow>> {
        Box::pin(async move {
            let mut rows = self.inner.effects(bot, self.after("effects", after), limit).await?;
            rows.extend(self.remains.lock().effects.iter().cloned());
            Ok(self.order("effects", rows))
        })
    }

    fn finish_effect<'a>(&'a self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> Answer<'a, Receipt> {
        Box::pin(self.spoilt_finish(epoch, effect, outcome))
    }

    fn due_timers(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<TimerRow>> {
        Box::pin(self.spoilt_due_timers(bot, now, limit))
    }

    fn expired(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<DialogueKey>> {
        Box::pin(async move {
            let now = if self.how == Fault::ExpiresEarly { Millis(i64::MAX) } else { now };
            let keys = self.inner.expired(bot, now, limit).await?;
            Ok(if self.how == Fault::NeverExpires { Vec::new() } else { self.order("expired", keys) })
        })
    }

    fn next_due(&self, bot: i64) -> Answer<'_, Option<Millis>> {
        Box::pin(self.spoilt_next_due(bot))
    }

    fn clean(&self, epoch: Epoch, bounds: Bounds) -> Answer<'_, Cleaned> {
        Box::pin(self.spoilt_clean(epoch, bounds))
    }

    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<&'a DialogueKey>,
        limit: usize,
    ) -> Answer<'a, Vec<ConversationRow>> {
        Box::pin(async move {
            let after = after.filter(|_| self.how != Fault::IgnoresAfter("list"));
            let everybody = Filter { ended: filter.ended, ..Filter::default() };
            let filter = if self.how == Fault::IgnoresTheFilter { &everybody } else { filter };
            Ok(self.order("list", self.inner.list(filter, after, limit).await?))
        })
    }

    fn reset<'a>(&'a self, key: &'a DialogueKey, now: Millis) -> Answer<'a, bool> {
        Box::pin(async move {
            let open = matches!(self.inner.open(key, None).await?, Opened::At { stored: Some(_), .. });
            if self.only_confirms("reset") { Ok(open) } else { self.inner.operator().reset(key, now).await }
        })
    }

    fn forget(&self, bot: i64, user: i64, now: Millis) -> Answer<'_, u64> {
        Box::pin(async move {
            if self.only_confirms("forget") {
                return Ok(u64::from(self.fresh() == 0));
            }
            if self.how == Fault::ForgetsEverybody {
                self.inner.forget(bot, 10, now).await?;
            }
            self.inner.forget(bot, user, now).await
        })
    }

    fn import<'a>(&'a self, row: &'a ConversationRow, replace: bool) -> Answer<'a, bool> {
        Box::pin(async move {
            if self.only_confirms("import") {
                return Ok(true);
            }
            if self.how == Fault::ImportsOldVersions {
                self.imported.lock().push((row.key.clone(), row.version));
            }
            self.inner.operator().import(row, replace || self.how == Fault::ImportsAlways).await
        })
    }

    fn statistics(&self, bot: Option<i64>) -> Answer<'_, Statistics> {
        Box::pin(self.spoilt_statistics(bot))
    }

    fn bots(&self) -> Answer<'_, Vec<i64>> {
        Box::pin(async move {
            let bots = self.inner.operator().bots().await?;
            Ok(if self.how == Fault::HidesBots { Vec::new() } else { bots })
        })
    }

    fn failed(&self, bot: i64, after: Option<(Millis, OutboxId)>, limit: usize) -> Answer<'_, Vec<FailedRow>> {
        Box::pin(async move {
            let (after, limit) = (self.after("failed", after), self.limit("failed", limit));
            Ok(self.order("failed", self.inner.operator().failed(bot, after, limit).await?))
        })
    }

    fn parked(&self, bot: Option<i64>, limit: usize) -> Answer<'_, Vec<Parked>> {
        Box::pin(async move { Ok(self.order("parked", self.inner.parked(bot, limit).await?)) })
    }

    fn parked_one(&self, id: ParkedId) -> Answer<'_, Option<Parked>> {
        Box::pin(async move {
            Ok(match self.how {
                Fault::FindsAnyParked => self.inner.parked(None, 1).await?.pop(),
                Fault::HidesOneParked => None,
                _ => self.inner.operator().parked_one(id).await?,
            })
        })
    }

    fn retry_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        Box::pin(async move {
            let known = self.inner.operator().parked_one(id).await?.is_some();
            if self.only_confirms("retry_parked") { Ok(known) } else { self.inner.operator().retry_parked(id).await }
        })
    }

    fn drop_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        Box::pin(async move {
            // The first call confirms, the second one knows nothing: only the row tells.
            if self.only_confirms("drop_parked") { Ok(self.fresh() == 0) } else { self.inner.drop_parked(id).await }
        })
    }

    fn transitions(&self, bot: i64, after: i64, limit: usize) -> Answer<'_, Vec<TransitionRow>> {
        Box::pin(async move {
            let mut rows = self.inner.operator().transitions(bot, self.after("transitions", after), limit).await?;
            rows.extend(self.remains.lock().transitions.iter().cloned());
            Ok(self.order("transitions", rows))
        })
    }

    fn transitions_of<'a>(&'a self, key: &'a DialogueKey, after: i64, limit: usize) -> Answer<'a, Vec<TransitionRow>> {
        Box::pin(async move {
            let (after, limit) = (self.after("transitions_of", after), self.limit("transitions_of", limit));
            if self.how == Fault::MixesConversations {
                return self.inner.operator().transitions(key.bot, after, limit).await;
            }
            Ok(self.order("transitions_of", self.inner.operator().transitions_of(key, after, limit).await?))
        })
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async { StoreResult::Ok(()) })
    }
}
