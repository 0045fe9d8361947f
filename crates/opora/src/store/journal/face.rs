//! The face of the journal: which of the two stores each call goes to, and what is noted of it.
//!
//! A call with an epoch goes to the store that gave it, another one to where its bot's lease is. What passes through to
//! Redis is noted in the copies.

use super::copies::{Copies, UnderWay};
use super::{Journal, Shared, There};
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::redis::NotReached;
use crate::store::{
    Answer, Bounds, Cleaned, Commit, Committed, ConversationRow, Delivered, DomainWrites, EffectId, EffectRow, Epoch,
    FailedRow, Holder, InboxRow, Incoming, Lease, LeaseAnswer, Mark, News, Opened, OutboxId, OutboxRow, Outgoing,
    Parked, Receipt, Seq, SetAside, Settled, Statistics, Store, StoreError, StoreLayer, StoreResult, Taken, TimerRow,
    TransitionRow,
};

use super::book::is_ours;

/// Why nobody else may store updates.
const ONE_INSTANCE: &str = "with a journal there is one instance: its webhook is for it alone (Instances::Alone)";

/// Why an operator's changes are refused for now.
const NO_CHANGES: &str = "Redis is away, and the journal goes on: conversations are changed when it is back";

/// Whose turn it is instead of one that began before Redis went away.
const ON_JOURNAL: &str = "this instance goes on with the journal";

/// Passes a call on to the store of a bot, or to the operator's methods of that store.
macro_rules! by_bot {
    ($($name:ident ( $bot:ident $(, $argument:ident : $type:ty)* ) -> $answer:ty $(, by $operator:ident)?;)*) => {
        $(fn $name<'a>(&'a self, $bot: i64, $($argument: $type),*) -> Answer<'a, $answer> {
            Box::pin(async move { self.0.of_bot($bot)?$(.$operator())?.$name($bot, $($argument),*).await })
        })*
    };
}

impl StoreLayer for Journal {
    fn inner(&self) -> &dyn Store {
        self.0.anywhere()
    }

    fn describe(&self) -> String {
        let there = self.0.there.get().map(|there| there.store().describe());
        let there = there.unwrap_or_else(|| format!("in the Redis at {}", self.0.place));
        format!("{there}; while it is away, in the journal {}", self.0.book.name())
    }

    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer> {
        Box::pin(self.0.claim(bot, holder, seen))
    }

    fn renew<'a>(&'a self, bot: i64, epoch: Epoch) -> Answer<'a, ()> {
        Box::pin(self.0.renew(bot, epoch))
    }

    fn release<'a>(&'a self, bot: i64, epoch: Epoch) -> Answer<'a, ()> {
        Box::pin(self.0.release(bot, epoch))
    }

    fn lease_reclaim_requested<'a>(&'a self, bot: i64) -> Answer<'a, ()> {
        Box::pin(async move {
            let is_on_journal = self.0.is_on_journal(bot);
            // The sender lives as long as this.
            let _ = self.0.away.subscribe().wait_for(|is_away| *is_away != is_on_journal).await;
            Ok(())
        })
    }

    fn receive<'a>(&'a self, epoch: Epoch, batch: Vec<Incoming>) -> Answer<'a, Vec<Receipt>> {
        Box::pin(async move {
            if is_ours(epoch) {
                self.0.receive_away(epoch, batch).await
            } else {
                self.0.receive_there(epoch, batch).await
            }
        })
    }

    /// Who has a journal is the only one who works with its Redis.
    fn supports_multiple_instances(&self) -> bool {
        false
    }

    fn why_only_leader_delivers(&self) -> Option<&'static str> {
        Some(ONE_INSTANCE)
    }

    fn deliver<'a>(&'a self, _batch: Vec<Incoming>) -> Answer<'a, Vec<Delivered>> {
        Box::pin(async { Err(StoreError::Unsupported(ONE_INSTANCE)) })
    }

    fn waiting_for<'a>(&'a self, key: &'a DialogueKey, after: Seq, limit: usize) -> Answer<'a, Vec<InboxRow>> {
        Box::pin(async move { self.0.of_bot(key.bot)?.waiting_for(key, after, limit).await })
    }

    fn waiting<'a>(&'a self, bot: i64, after: Seq, limit: usize) -> Answer<'a, Vec<InboxRow>> {
        Box::pin(async move {
            let rows = self.0.of_bot(bot)?.waiting(bot, after, limit).await?;
            if !self.0.is_on_journal(bot) {
                self.0.copies.waiting(&rows);
            }
            Ok(rows)
        })
    }

    fn open<'a>(&'a self, key: &'a DialogueKey, mark: Option<&'a Mark>) -> Answer<'a, Opened> {
        Box::pin(async move {
            if self.0.is_on_journal(key.bot) {
                self.0.open_away(key, mark).await
            } else {
                self.0.open_there(key, mark).await
            }
        })
    }

    fn commit<'a>(&'a self, epoch: Epoch, commit: Commit) -> Answer<'a, Committed> {
        Box::pin(async move {
            if is_ours(epoch) {
                self.0.commit_away(epoch, commit).await
            } else {
                self.0.commit_there(epoch, commit).await
            }
        })
    }

    fn park<'a>(
        &'a self,
        epoch: Epoch,
        taken: Vec<Taken>,
        parked: Parked,
        outgoing: Vec<Outgoing>,
    ) -> Answer<'a, SetAside> {
        Box::pin(async move {
            if is_ours(epoch) {
                return self.0.park_away(epoch, taken, parked, outgoing).await;
            }
            self.0.park_there(epoch, taken, parked, outgoing).await
        })
    }

    fn write<'a>(&'a self, writes: DomainWrites) -> Answer<'a, ()> {
        Box::pin(async move {
            match self.0.book.tables() {
                Some(database) => database.store().write(writes).await,
                None => self.0.there()?.store().write(writes).await,
            }
        })
    }

    fn unsent<'a>(&'a self, bot: i64, after: OutboxId, limit: usize) -> Answer<'a, Vec<OutboxRow>> {
        Box::pin(async move {
            let rows = self.0.of_bot(bot)?.unsent(bot, after, limit).await?;
            if !self.0.is_on_journal(bot) {
                self.0.copies.unsent(&rows);
            }
            Ok(rows)
        })
    }

    fn sending<'a>(&'a self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'a, ()> {
        Box::pin(async move { self.0.of_epoch(epoch)?.sending(epoch, ids).await })
    }

    fn not_sent<'a>(&'a self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'a, ()> {
        Box::pin(async move { self.0.of_epoch(epoch)?.not_sent(epoch, ids).await })
    }

    fn log_sent<'a>(&'a self, epoch: Epoch, settled: &'a [Settled]) -> Answer<'a, ()> {
        // The log is a file on this machine: it can be written also when Redis has just fallen silent.
        match self.0.there.get() {
            _ if is_ours(epoch) => self.0.book.store().log_sent(epoch, settled),
            Some(there) => there.store().log_sent(epoch, settled),
            None => Box::pin(async { self.0.there().map(drop) }),
        }
    }

    fn settle<'a>(&'a self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'a, ()> {
        Box::pin(self.0.settle(epoch, settled, at))
    }

    fn post<'a>(
        &'a self,
        epoch: Epoch,
        once: &'a str,
        outgoing: Vec<(DialogueKey, Outgoing)>,
        at: Millis,
    ) -> Answer<'a, Vec<OutboxId>> {
        Box::pin(self.0.post(epoch, once, outgoing, at))
    }

    fn finish_effect<'a>(&'a self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> Answer<'a, Receipt> {
        Box::pin(async move {
            if is_ours(epoch) {
                return self.0.of_epoch(epoch)?.finish_effect(epoch, effect, outcome).await;
            }
            self.0.finish_there(epoch, effect, outcome).await
        })
    }

    by_bot! {
        labelled(bot, chat: i64, label: &'a str) -> Option<i64>;
        effects(bot, after: EffectId, limit: usize) -> Vec<EffectRow>;
        due_timers(bot, now: Millis, limit: usize) -> Vec<TimerRow>;
        expired(bot, now: Millis, limit: usize) -> Vec<DialogueKey>;
        next_due(bot) -> Option<Millis>;
        parked_to_retry(bot, limit: usize) -> Vec<Parked>;
        transitions(bot, after: i64, limit: usize) -> Vec<TransitionRow>, by operator;
        failed(bot, after: Option<(Millis, OutboxId)>, limit: usize) -> Vec<FailedRow>, by operator;
        backlog(bot, limit: usize) -> usize;
        announce(bot, keys: Vec<DialogueKey>) -> ();
        listen(bot) -> News;
    }

    fn clean<'a>(&'a self, epoch: Epoch, bounds: Bounds) -> Answer<'a, Cleaned> {
        Box::pin(async move {
            if is_ours(epoch) {
                return self.0.book.store().clean(epoch, bounds).await;
            }
            self.0.clean_there(epoch, bounds).await
        })
    }

    fn statistics<'a>(&'a self, bot: Option<i64>) -> Answer<'a, Statistics> {
        Box::pin(async move {
            match bot {
                Some(one) => self.0.of_bot(one)?.statistics(bot).await,
                None => self.0.anywhere().statistics(bot).await,
            }
        })
    }

    fn reset<'a>(&'a self, key: &'a DialogueKey, now: Millis) -> Answer<'a, bool> {
        Box::pin(async move { self.0.for_operator(key)?.operator().reset(key, now).await })
    }

    fn forget<'a>(&'a self, bot: i64, user: i64, now: Millis) -> Answer<'a, u64> {
        Box::pin(async move {
            let private = DialogueKey::private(bot, user);
            let there = self.0.for_operator(&private)?;
            for key in self.0.there()?.redis().conversations_of_person(bot, user).await? {
                self.0.copies.forget(&key);
            }
            there.forget(bot, user, now).await
        })
    }

    fn import<'a>(&'a self, row: &'a ConversationRow, replace: bool) -> Answer<'a, bool> {
        Box::pin(async move { self.0.for_operator(&row.key)?.operator().import(row, replace).await })
    }

    fn close<'a>(&'a self) -> Answer<'a, ()> {
        Box::pin(self.0.close())
    }
}

/// What passes through to Redis.
impl Shared {
    /// The Redis, where an operator changes a conversation. What would be changed in the journal a replay does not know of,
    /// and what is changed in Redis before the replay is a conflict.
    fn for_operator(&self, key: &DialogueKey) -> StoreResult<&dyn Store> {
        if self.is_on_journal(key.bot) {
            return Err(StoreError::Unavailable(NO_CHANGES.into()));
        }
        self.copies.forget(key);
        self.there().map(There::store)
    }

    async fn receive_there(&self, epoch: Epoch, batch: Vec<Incoming>) -> StoreResult<Vec<Receipt>> {
        let received = self.there()?.store().receive(epoch, batch.clone()).await;
        match &received {
            Ok(receipts) => self.copies.received(&batch, receipts),
            Err(error) if may_have_happened(error) => {
                batch.iter().for_each(|incoming| self.copies.forget(&incoming.key));
            }
            Err(_) => {}
        }
        received
    }

    async fn finish_there(&self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> StoreResult<Receipt> {
        let there = self.there()?;
        let under_way = self.copies.sets_out(vec![outcome.key.clone()]);
        let finished = there.store().finish_effect(epoch, effect, outcome.clone()).await;
        match &finished {
            Ok(receipt) => self.copies.received(&[outcome], &[*receipt]),
            Err(error) if may_have_happened(error) => self.copies.forget(&outcome.key),
            Err(_) => {}
        }
        under_way.answered();
        finished
    }

    async fn clean_there(&self, epoch: Epoch, bounds: Bounds) -> StoreResult<Cleaned> {
        let there = self.there()?;
        let bot = there.redis().bot_of(epoch)?;
        let before = there.redis().ended_cleaned();
        let cleaned = there.store().clean(epoch, bounds).await;
        let may_be_cleaned = cleaned.as_ref().is_err_and(may_have_happened);
        if may_be_cleaned || there.redis().ended_cleaned() != before {
            self.copies.forget_ended(bot);
        }
        cleaned
    }

    async fn open_there(&self, key: &DialogueKey, mark: Option<&Mark>) -> StoreResult<Opened> {
        let opened = self.there()?.store().open(key, mark).await?;
        if let Opened::At { version, stored } = &opened {
            self.copies.put(key, *version, stored.clone());
        }
        Ok(opened)
    }

    /// Says that something which takes inputs of a conversation goes to Redis, unless the journal goes on.
    fn sets_out(&self, epoch: Epoch, key: &DialogueKey) -> StoreResult<(&There, UnderWay<'_>)> {
        let is_not_over = || match self.is_on_journal(key.bot) {
            true => Err(StoreError::Fenced { mine: epoch, holder: ON_JOURNAL.to_owned() }),
            false => Ok(()),
        };
        is_not_over()?;
        let there = self.there()?;
        let under_way = self.copies.sets_out(vec![key.clone()]);
        // Once more: whoever goes on with the journal from here on finds that there is no copy.
        is_not_over()?;
        Ok((there, under_way))
    }

    async fn commit_there(&self, epoch: Epoch, commit: Commit) -> StoreResult<Committed> {
        let (there, under_way) = self.sets_out(epoch, &commit.key)?;
        let key = commit.key.clone();
        let change = Copies::change(&commit);
        let writes = commit.writes.is_some();
        let committed = there.store().commit(epoch, commit).await;
        match &committed {
            Ok(done) => self.copies.committed(change, done.version, &done.outbox),
            // One that writes may be decided although Redis was not reached; as long as it is not, nothing has happened.
            Err(StoreError::Unavailable(_)) if writes && !there.is_unsure(&key) => {}
            Err(StoreError::Unavailable(why)) if !writes && why.is::<NotReached>() => {}
            Err(_) => self.copies.forget(&key),
        }
        under_way.answered();
        committed
    }

    async fn park_there(
        &self,
        epoch: Epoch,
        taken: Vec<Taken>,
        parked: Parked,
        outgoing: Vec<Outgoing>,
    ) -> StoreResult<SetAside> {
        let key = parked.key.clone();
        let (there, under_way) = self.sets_out(epoch, &key)?;
        let chats: Vec<_> = outgoing.iter().map(|outgoing| outgoing.chat).collect();
        let set_aside = there.store().park(epoch, taken.clone(), parked, outgoing).await;
        match &set_aside {
            Ok(done) => {
                self.copies.used_up(&key, &taken);
                self.copies.said(done.outbox.iter().copied().zip(chats));
            }
            Err(error) if may_have_happened(error) => self.copies.forget(&key),
            Err(_) => {}
        }
        under_way.answered();
        set_aside
    }
}

/// Whether a refused call may have been carried out all the same.
pub(super) fn may_have_happened(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(why) if !why.is::<NotReached>())
}
