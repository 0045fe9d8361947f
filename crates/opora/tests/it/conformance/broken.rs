//! A store that breaks one promise and keeps all others.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use opora::clock::Millis;
use opora::key::ConversationKey;
use opora::store::{
    Answer, Cleaned, CleaningLimits, Commit, Committed, ConversationRow, Delivered, DomainWrites, EffectId, EffectRow,
    Enqueued, Epoch, FailedRow, Filter, Holder, InboxRow, Incoming, InputRef, JobCount, JobFilter, JobId, JobLimits,
    JobPoll, JobRequest, JobRow, JobStart, JobUpdate, Lease, LeaseAnswer, Mark, MemoryStore, NewJob, Opened, OutboxId,
    OutboxRow, Outgoing, ParkResult, ParkedId, ParkedTurn, Receipt, Seq, Settled, Statistics, Store, StoreResult, Tick,
    TimerRow, TransitionRow, Version,
};
use parking_lot::Mutex;

pub use self::fault::{Fault, Piece};
use self::leftovers::Leftovers;

mod commit;
mod fault;
mod inbox;
mod jobs;
mod lease;
mod leftovers;
mod outbox;
mod time;

#[derive(Debug)]
pub struct Broken {
    inner: Arc<dyn Store>,
    fault: Fault,
    calls: AtomicI64,
    // What refused commits leave behind.
    leftovers: Mutex<Leftovers>,
    imported: Mutex<Vec<(ConversationKey, Version)>>,
}

impl Broken {
    pub fn new(fault: Fault) -> Self {
        Self::over(Arc::new(MemoryStore::new()), fault)
    }

    pub fn over(inner: Arc<dyn Store>, fault: Fault) -> Self {
        let (leftovers, imported) = (Mutex::default(), Mutex::default());
        Self { inner, fault, calls: AtomicI64::new(0), leftovers, imported }
    }

    fn next_number(&self) -> i64 {
        self.calls.fetch_add(1, Ordering::SeqCst)
    }

    fn does_nothing(&self, method: &str) -> bool {
        matches!(self.fault, Fault::DoesNothing(broken) if broken == method)
    }

    /// The epoch of a call. A store that ignores epochs uses the current one.
    async fn epoch(&self, method: &str, epoch: Epoch) -> Epoch {
        if !matches!(self.fault, Fault::IgnoresEpoch(broken) if broken == method) {
            return epoch;
        }
        // The cases use two bots. Instances of the second are never fenced.
        let bots = self.inner.operator().bots().await.unwrap();
        let lease = self.inner.lease(bots[0]).await.unwrap();
        lease.map_or(epoch, |lease| lease.epoch)
    }

    fn after<T: Default>(&self, method: &str, after: T) -> T {
        if matches!(self.fault, Fault::IgnoresAfter(broken) if broken == method) { T::default() } else { after }
    }

    fn limit(&self, method: &str, limit: usize) -> usize {
        if matches!(self.fault, Fault::IgnoresLimit(broken) if broken == method) { usize::MAX } else { limit }
    }

    fn order<T>(&self, method: &str, mut rows: Vec<T>) -> Vec<T> {
        if matches!(self.fault, Fault::Reverses(broken) if broken == method) {
            rows.reverse();
        }
        rows
    }

    /// The key without the part that is ignored.
    fn key(&self, key: &ConversationKey) -> ConversationKey {
        match self.fault {
            Fault::KeyWithout("user") => ConversationKey { user: 0, ..key.clone() },
            Fault::KeyWithout("thread") => ConversationKey { thread: 0, ..key.clone() },
            Fault::KeyWithout("business") => ConversationKey { business: Box::default(), ..key.clone() },
            Fault::KeyWithout("sign") => ConversationKey { chat: key.chat.abs(), ..key.clone() },
            _ => key.clone(),
        }
    }
}

// By its path, because its methods are named like those of `Store`.
impl opora::store::StoreLayer for Broken {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn describe(&self) -> String {
        format!("broken: {:?}", self.fault)
    }

    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer> {
        Box::pin(self.broken_claim(bot, holder, seen))
    }

    fn renew(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        Box::pin(async move {
            if self.does_nothing("renew") {
                return Ok(());
            }
            self.inner.renew(self.bot_of_lease(bot), self.epoch("renew", epoch).await).await
        })
    }

    fn release(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        Box::pin(async move {
            if self.does_nothing("release") {
                return Ok(());
            }
            self.inner.release(self.bot_of_lease(bot), self.epoch("release", epoch).await).await
        })
    }

    fn lease(&self, bot: i64) -> Answer<'_, Option<Lease>> {
        Box::pin(async move {
            let lease = self.inner.lease(self.bot_of_lease(bot)).await?;
            Ok(lease.filter(|_| self.fault != Fault::HidesTheLease))
        })
    }

    fn clear_lease(&self, bot: i64) -> Answer<'_, ()> {
        Box::pin(async move {
            if self.does_nothing("clear_lease") { Ok(()) } else { self.inner.operator().clear_lease(bot).await }
        })
    }

    fn receive(&self, epoch: Epoch, batch: Vec<Incoming>) -> Answer<'_, Vec<Receipt>> {
        Box::pin(self.broken_receive(epoch, batch))
    }

    fn deliver(&self, batch: Vec<Incoming>) -> Answer<'_, Vec<Delivered>> {
        Box::pin(self.broken_deliver(batch))
    }

    fn backlog(&self, bot: i64, limit: usize) -> Answer<'_, usize> {
        Box::pin(async move {
            let bot = if self.fault == Fault::MixesBots { self.inner.operator().bots().await?[0] } else { bot };
            self.inner.backlog(bot, self.limit("backlog", limit)).await
        })
    }

    fn waiting(&self, bot: i64, after: Seq, limit: usize) -> Answer<'_, Vec<InboxRow>> {
        Box::pin(self.broken_waiting(bot, after, limit))
    }

    fn waiting_for<'a>(&'a self, key: &'a ConversationKey, after: Seq, limit: usize) -> Answer<'a, Vec<InboxRow>> {
        Box::pin(self.broken_waiting_for(key, after, limit))
    }

    fn open<'a>(&'a self, key: &'a ConversationKey, mark: Option<&'a Mark>) -> Answer<'a, Opened> {
        Box::pin(self.broken_open(key, mark))
    }

    fn commit(&self, epoch: Epoch, commit: Commit) -> Answer<'_, Committed> {
        Box::pin(self.broken_commit(epoch, commit))
    }

    fn park(
        &self,
        epoch: Epoch,
        taken: Vec<InputRef>,
        parked: ParkedTurn,
        outgoing: Vec<Outgoing>,
    ) -> Answer<'_, ParkResult> {
        Box::pin(self.broken_park(epoch, taken, parked, outgoing))
    }

    fn unsent(&self, bot: i64, after: OutboxId, limit: usize) -> Answer<'_, Vec<OutboxRow>> {
        Box::pin(async move {
            let (after, limit) = (self.after("unsent", after), self.limit("unsent", limit));
            let mut rows = self.inner.unsent(bot, after, limit).await?;
            rows.extend(self.leftovers.lock().outbox.iter().cloned());
            Ok(self.order("unsent", rows))
        })
    }

    fn sending(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        Box::pin(async move {
            if self.does_nothing("sending") {
                return Ok(());
            }
            self.inner.sending(self.epoch("sending", epoch).await, self.broken_sending(ids).await).await
        })
    }

    fn not_sent(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        Box::pin(async move {
            if self.does_nothing("not_sent") {
                return Ok(());
            }
            self.inner.not_sent(self.epoch("not_sent", epoch).await, self.broken_not_sent(ids).await).await
        })
    }

    fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()> {
        Box::pin(self.broken_settle(epoch, settled, at))
    }

    fn post<'a>(
        &'a self,
        epoch: Epoch,
        once: &'a str,
        outgoing: Vec<(ConversationKey, Outgoing)>,
        at: Millis,
    ) -> Answer<'a, Vec<OutboxId>> {
        Box::pin(async move {
            let at = if self.fault == Fault::PostsAtItsOwnTime { Millis(1) } else { at };
            let once = if self.fault == Fault::PostsAlways {
                format!("{once} {}", self.next_number())
            } else {
                once.to_owned()
            };
            self.inner.post(self.epoch("post", epoch).await, &once, outgoing, at).await
        })
    }

    fn labelled<'a>(&'a self, bot: i64, chat: i64, label: &'a str) -> Answer<'a, Option<i64>> {
        let chat = if self.fault == Fault::LabelsWithoutChat { 0 } else { chat };
        self.inner.labelled(bot, chat, label)
    }

    fn effects(&self, bot: i64, after: EffectId, limit: usize) -> Answer<'_, Vec<EffectRow>> {
        Box::pin(async move {
            let mut rows = self.inner.effects(bot, self.after("effects", after), limit).await?;
            rows.extend(self.leftovers.lock().effects.iter().cloned());
            Ok(self.order("effects", rows))
        })
    }

    fn finish_effect<'a>(&'a self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> Answer<'a, Receipt> {
        Box::pin(self.broken_finish(epoch, effect, outcome))
    }

    fn due_timers(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<TimerRow>> {
        Box::pin(self.broken_due_timers(bot, now, limit))
    }

    fn expired(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<ConversationKey>> {
        Box::pin(async move {
            let now = if self.fault == Fault::ExpiresEarly { Millis(i64::MAX) } else { now };
            let keys = self.inner.expired(bot, now, limit).await?;
            Ok(if self.fault == Fault::NeverExpires { Vec::new() } else { self.order("expired", keys) })
        })
    }

    fn next_due(&self, bot: i64) -> Answer<'_, Option<Millis>> {
        Box::pin(self.broken_next_due(bot))
    }

    fn enqueue_jobs(&self, bot: i64, jobs: Vec<NewJob>, now: Millis) -> Answer<'_, Vec<Enqueued>> {
        Box::pin(self.broken_enqueue(bot, jobs, now))
    }

    fn start_jobs(&self, bot: i64, epoch: Epoch, start: JobStart) -> Answer<'_, Vec<JobRow>> {
        Box::pin(self.broken_start(bot, epoch, start))
    }

    fn update_jobs(
        &self,
        bot: i64,
        epoch: Epoch,
        updates: Vec<JobUpdate>,
        writes: Option<DomainWrites>,
    ) -> Answer<'_, Vec<bool>> {
        Box::pin(self.broken_update((bot, epoch), updates, writes))
    }

    fn write(&self, writes: DomainWrites) -> Answer<'_, ()> {
        Box::pin(self.broken_write(writes))
    }

    fn poll_jobs(&self, bot: i64) -> Answer<'_, JobPoll> {
        Box::pin(self.broken_poll(bot))
    }

    fn prune_jobs(&self, bot: i64, epoch: Epoch, limits: JobLimits) -> Answer<'_, u64> {
        Box::pin(self.broken_prune(bot, epoch, limits))
    }

    fn tick_jobs(&self, bot: i64, epoch: Epoch, tick: Tick, jobs: Vec<NewJob>) -> Answer<'_, bool> {
        Box::pin(self.broken_tick(bot, epoch, tick, jobs))
    }

    fn job_counts(&self, bot: i64, finished_since: Option<Millis>) -> Answer<'_, Vec<JobCount>> {
        Box::pin(self.broken_counts(bot, finished_since))
    }

    fn jobs<'a>(&'a self, filter: &'a JobFilter, before: Option<JobId>, limit: usize) -> Answer<'a, Vec<JobRow>> {
        Box::pin(self.broken_jobs(filter, before, limit))
    }

    fn request_jobs(&self, bot: i64, request: JobRequest, now: Millis) -> Answer<'_, u64> {
        Box::pin(self.broken_request(bot, request, now))
    }

    fn clean(&self, epoch: Epoch, bounds: CleaningLimits) -> Answer<'_, Cleaned> {
        Box::pin(self.broken_clean(epoch, bounds))
    }

    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<&'a ConversationKey>,
        limit: usize,
    ) -> Answer<'a, Vec<ConversationRow>> {
        Box::pin(async move {
            let after = after.filter(|_| self.fault != Fault::IgnoresAfter("list"));
            let no_filter = Filter { ended: filter.ended, ..Filter::default() };
            let filter = if self.fault == Fault::IgnoresTheFilter { &no_filter } else { filter };
            Ok(self.order("list", self.inner.list(filter, after, limit).await?))
        })
    }

    fn reset<'a>(&'a self, key: &'a ConversationKey, now: Millis) -> Answer<'a, bool> {
        Box::pin(async move {
            let open = matches!(self.inner.open(key, None).await?, Opened::At { stored: Some(_), .. });
            if self.does_nothing("reset") { Ok(open) } else { self.inner.operator().reset(key, now).await }
        })
    }

    fn forget(&self, bot: i64, user: i64, now: Millis) -> Answer<'_, u64> {
        Box::pin(async move {
            if self.does_nothing("forget") {
                return Ok(u64::from(self.next_number() == 0));
            }
            if self.fault == Fault::ForgetsEveryone {
                self.inner.forget(bot, 10, now).await?;
            }
            self.inner.forget(bot, user, now).await
        })
    }

    fn import<'a>(&'a self, row: &'a ConversationRow, replace: bool) -> Answer<'a, bool> {
        Box::pin(async move {
            if self.does_nothing("import") {
                return Ok(true);
            }
            if self.fault == Fault::ImportsOldVersions {
                self.imported.lock().push((row.key.clone(), row.version));
            }
            self.inner.operator().import(row, replace || self.fault == Fault::ImportsAlways).await
        })
    }

    fn statistics(&self, bot: Option<i64>) -> Answer<'_, Statistics> {
        Box::pin(self.broken_statistics(bot))
    }

    fn bots(&self) -> Answer<'_, Vec<i64>> {
        Box::pin(async move {
            let bots = self.inner.operator().bots().await?;
            Ok(if self.fault == Fault::HidesBots { Vec::new() } else { bots })
        })
    }

    fn failed(&self, bot: i64, after: Option<(Millis, OutboxId)>, limit: usize) -> Answer<'_, Vec<FailedRow>> {
        Box::pin(async move {
            let (after, limit) = (self.after("failed", after), self.limit("failed", limit));
            Ok(self.order("failed", self.inner.operator().failed(bot, after, limit).await?))
        })
    }

    fn parked(&self, bot: Option<i64>, limit: usize) -> Answer<'_, Vec<ParkedTurn>> {
        Box::pin(async move { Ok(self.order("parked", self.inner.parked(bot, limit).await?)) })
    }

    fn parked_by_id(&self, id: ParkedId) -> Answer<'_, Option<ParkedTurn>> {
        Box::pin(async move {
            Ok(match self.fault {
                Fault::FindsAnyParked => self.inner.parked(None, 1).await?.pop(),
                Fault::HidesOneParked => None,
                _ => self.inner.operator().parked_by_id(id).await?,
            })
        })
    }

    fn retry_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        Box::pin(async move {
            let known = self.inner.operator().parked_by_id(id).await?.is_some();
            if self.does_nothing("retry_parked") { Ok(known) } else { self.inner.operator().retry_parked(id).await }
        })
    }

    fn drop_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        Box::pin(async move {
            // The first call confirms, the second one finds nothing: only the row shows the fault.
            if self.does_nothing("drop_parked") {
                Ok(self.next_number() == 0)
            } else {
                self.inner.drop_parked(id).await
            }
        })
    }

    fn transitions(&self, bot: i64, after: i64, limit: usize) -> Answer<'_, Vec<TransitionRow>> {
        Box::pin(async move {
            let mut rows = self.inner.operator().transitions(bot, self.after("transitions", after), limit).await?;
            rows.extend(self.leftovers.lock().transitions.iter().cloned());
            Ok(self.order("transitions", rows))
        })
    }

    fn transitions_of<'a>(
        &'a self,
        key: &'a ConversationKey,
        after: i64,
        limit: usize,
    ) -> Answer<'a, Vec<TransitionRow>> {
        Box::pin(async move {
            let (after, limit) = (self.after("transitions_of", after), self.limit("transitions_of", limit));
            if self.fault == Fault::MixesConversations {
                return self.inner.operator().transitions(key.bot, after, limit).await;
            }
            Ok(self.order("transitions_of", self.inner.operator().transitions_of(key, after, limit).await?))
        })
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async { StoreResult::Ok(()) })
    }
}
