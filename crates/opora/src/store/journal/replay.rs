//! Replays the journal into Redis: in order, and each entry once.
//!
//! Every entry is committed with a mark of its own, so a replay that was interrupted and repeated knows what is done. A
//! turn is committed from the version that it started from, so it either fits or is a conflict.

use std::collections::HashMap;

use futures_util::future::{try_join, try_join_all};

use super::Shared;
use super::database::{NumberedEntry, TimerNames};
use super::entry::Entry;
use crate::clock::Millis;
use crate::failpoints;
use crate::key::ConversationKey;
use crate::store::redis::RedisBackend;
use crate::store::{
    DomainWrites, Effect, Epoch, Holder, InboxRow, InputRef, Mark, Opened, Origin, OutboxId, OutboxRow, Seq, Settled,
    Settlement, Store, StoreError, StoreResult, TimerChange, TimerRow,
};

/// How many rows are replayed at once.
const PAGE: usize = 500;
/// How many timers of a journal are read.
const MAX_TIMERS: usize = 1_000_000;

/// A running replay.
pub(super) struct Replay<'a> {
    pub(super) shared: &'a Shared,
    /// Where turns are committed.
    primary: &'a dyn Store,
    pub(super) redis: &'a RedisBackend,
    pub(super) epoch: Epoch,
    /// The epoch of the journal's lease.
    pub(super) journal_epoch: Epoch,
    /// Identifies the outage.
    pub(super) token: String,
    timers: HashMap<ConversationKey, Vec<TimerRow>>,
    /// Effects by the id of the entry that requests them.
    pub(super) effects: HashMap<i64, Vec<Effect>>,
}

/// The result of replaying an entry.
enum EntryResult {
    Replayed,
    Conflict,
}

/// What was replayed, for the log.
#[derive(Debug, Default)]
struct Count {
    turns: usize,
    conflicts: usize,
    messages: usize,
    failed: usize,
    updates: usize,
}

impl Shared {
    /// Replays everything of a bot in the journal, and clears it.
    pub(super) async fn replay(&self, bot: i64, epoch: Epoch, holder: &Holder) -> StoreResult<()> {
        let lease = self.journal_leases.lock().get(&bot).copied();
        let mut journal_epoch = match lease {
            Some((journal_epoch, _)) => journal_epoch,
            None => self.journal.epoch(bot).await?,
        };
        if self.journal.is_empty(bot).await? {
            // Conversations that were imported and only read.
            self.forget_imported(bot);
            return self.journal.clear(bot, journal_epoch).await;
        }
        if lease.is_none() {
            journal_epoch = self.take_journal_lease(bot, holder).await?;
        }
        self.journal.set_effects_aside(bot, journal_epoch).await?;
        let replay = Replay {
            shared: self,
            primary: self.primary()?.store(),
            redis: self.primary()?.redis(),
            epoch,
            journal_epoch,
            token: self.journal.outage_token(bot).await?,
            timers: by_key(self.journal.store().due_timers(bot, Millis(i64::MAX), MAX_TIMERS).await?, |row| {
                row.key.clone()
            }),
            effects: self.journal.effects(bot).await?,
        };
        replay.settle(bot).await?;
        let mut count = Count::default();
        replay.entries(bot, &mut count).await?;
        replay.messages(bot, &mut count).await?;
        replay.failed(bot, &mut count).await?;
        replay.updates(bot, &mut count).await?;
        failpoints::hit(failpoints::JOURNAL_BEFORE_EMPTY).await;
        // Before the journal is cleared: if the answer to that is lost, these conversations must not count as imported.
        self.forget_imported(bot);
        self.journal.clear(bot, journal_epoch).await?;
        // A lease on a shared database is kept.
        if lease.is_none() && self.journal.store().release(bot, journal_epoch).await.is_ok() {
            self.lease_tokens.lock().remove(&(bot, true));
        }
        let Count { turns, conflicts, messages, failed, updates } = count;
        tracing::info!(bot, turns, conflicts, messages, failed, updates, "journal replayed: Redis has everything");
        Ok(())
    }

    fn forget_imported(&self, bot: i64) {
        let mut imported = self.imported.lock();
        imported.retain(|key| {
            if key.bot == bot {
                self.copies.forget(key);
            }
            key.bot != bot
        });
    }
}

impl Replay<'_> {
    /// Settles messages that were in Redis before the outage, and stores the labels of messages that were sent since.
    async fn settle(&self, bot: i64) -> StoreResult<()> {
        let journal = &self.shared.journal;
        let labels = journal.labels(bot).await?.into_iter().map(|(chat, label, message)| Settled {
            // No row has this id: only the label is stored.
            id: OutboxId(0),
            outcome: Settlement::Sent { labelled: Some((chat, label.into(), message)) },
        });
        // In this order: the journal's messages were sent later, perhaps under the same label.
        for settled in [journal.settled(bot).await?, labels.collect()] {
            if !settled.is_empty() {
                self.redis.settle(self.epoch, settled, self.shared.clock.now()).await?;
            }
        }
        Ok(())
    }

    async fn entries(&self, bot: i64, count: &mut Count) -> StoreResult<()> {
        let mut after = 0;
        loop {
            let page = self.shared.journal.entries(bot, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.id;
            count.turns += page.len();
            // The last turn of a conversation needs timer names from its earlier entries, so all are removed together.
            let finished = page.iter().filter(|one| one.is_last).map(|one| one.entry.key().to_string());
            let finished: Vec<_> = finished.collect();
            let last_turns = page.iter().filter(|one| one.is_last_turn).map(|one| one.entry.key().to_string());
            let timers = self.shared.journal.timers_of(last_turns.collect()).await?;
            // Conversations are replayed concurrently, the turns of each one in order.
            let of_keys = by_key(page, |numbered| numbered.entry.key().clone());
            let conflicts =
                try_join_all(of_keys.into_values().map(|entries| self.conversation(entries, &timers))).await?;
            count.conflicts += conflicts.iter().sum::<usize>();
            failpoints::hit(failpoints::JOURNAL_AFTER_PAGE).await;
            self.shared.journal.remove_replayed(bot, self.journal_epoch, &finished).await?;
            self.renew(bot).await?;
        }
    }

    /// Replays entries of one conversation. Returns the number of conflicts.
    async fn conversation(&self, entries: Vec<NumberedEntry>, timers: &TimerNames) -> StoreResult<usize> {
        for NumberedEntry { id, is_last_turn, entry, .. } in entries {
            let key = entry.key().clone();
            let processed = self.processed_inputs(id, &entry);
            let done = match entry {
                Entry::Parked { parked, .. } => {
                    self.redis.park(self.epoch, processed, *parked, Vec::new()).await.map(drop)
                }
                Entry::Turn { mut commit, has_written } => {
                    commit.processed = processed;
                    commit.timers = if is_last_turn { self.timers_of(&key, timers) } else { Vec::new() };
                    commit.effects = self.effects.get(&id).cloned().unwrap_or_default();
                    // The SQL writes are done. Empty writes make the decision store keep a decision record, in case
                    // Redis loses the turn.
                    commit.writes = has_written.then(|| DomainWrites::new(|_| Box::pin(async { Ok(()) })));
                    self.primary.commit(self.epoch, *commit).await.map(drop)
                }
            };
            let done = match done {
                Ok(()) => EntryResult::Replayed,
                Err(StoreError::Overtaken(_) | StoreError::AlreadyProcessed) => {
                    self.replayed_or_conflict(&key, id).await?
                }
                Err(error) => return Err(error),
            };
            failpoints::hit(failpoints::JOURNAL_AFTER_ENTRY).await;
            if let EntryResult::Conflict = done {
                self.conflict(&key, id).await?;
                return Ok(1);
            }
        }
        Ok(0)
    }

    /// Tells whether a refused entry was replayed before or is a conflict.
    async fn replayed_or_conflict(&self, key: &ConversationKey, id: i64) -> StoreResult<EntryResult> {
        let opened = self.redis.open(key, Some(&self.mark(key.bot, id, ""))).await?;
        Ok(if opened == Opened::AlreadyProcessed { EntryResult::Replayed } else { EntryResult::Conflict })
    }

    /// The inputs of an entry: its updates, and the entry's own mark.
    fn processed_inputs(&self, id: i64, entry: &Entry) -> Vec<InputRef> {
        std::iter::once(self.mark(entry.key().bot, id, "")).chain(entry.marks()).map(InputRef::DirectUpdate).collect()
    }

    /// The mark that says that an entry was replayed.
    pub(super) fn mark(&self, bot: i64, id: i64, what: &str) -> Mark {
        Mark { bot, update_id: id, identity: format!("journal:{}{what}", self.token).into() }
    }

    /// The timer changes of all turns of a conversation together.
    fn timers_of(&self, key: &ConversationKey, names: &TimerNames) -> Vec<TimerChange> {
        let names = names.get(key).into_iter().flatten().cloned();
        let set = self.timers.get(key).map(Vec::as_slice).unwrap_or_default();
        let change = |name: Box<str>| match set.iter().find(|row| row.name == name) {
            Some(row) => TimerChange::Set { name, due_at: row.due_at, body: row.body.clone() },
            None => TimerChange::Cancel(name),
        };
        names.map(change).collect()
    }

    /// Moves unsent messages to Redis, in order.
    async fn messages(&self, bot: i64, count: &mut Count) -> StoreResult<()> {
        loop {
            let rows = self.shared.journal.store().unsent(bot, OutboxId::default(), PAGE).await?;
            if rows.is_empty() {
                return Ok(());
            }
            count.messages += rows.len();
            try_join_all(rows.iter().map(|row| self.hand_over(row))).await?;
            failpoints::hit(failpoints::JOURNAL_AFTER_PAGE).await;
            let outcome = Settlement::Sent { labelled: None };
            let moved = rows.iter().map(|row| Settled { id: row.id, outcome: outcome.clone() }).collect();
            self.shared.journal.store().settle(self.journal_epoch, moved, self.shared.clock.now()).await?;
            self.renew(bot).await?;
        }
    }

    /// Moves a message to Redis. A message that was being sent keeps that flag, so a message that must not be sent
    /// twice is given up by the courier. Both in one call: a crash in between would send it again.
    async fn hand_over(&self, row: &OutboxRow) -> StoreResult<()> {
        let once = self.post_name(row.id);
        if row.was_sending {
            return self.redis.post_unsure(self.epoch, &once, row).await;
        }
        let outgoing = vec![(row.key.clone(), row.outgoing.clone())];
        self.redis.post(self.epoch, &once, outgoing, row.at).await.map(drop)
    }

    /// Moves messages that Telegram has refused, for the operator.
    async fn failed(&self, bot: i64, count: &mut Count) -> StoreResult<()> {
        let mut after = None;
        loop {
            let rows = self.shared.journal.store().operator().failed(bot, after, PAGE).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = Some(last.cursor());
            count.failed += rows.len();
            let writes =
                rows.iter().map(async |row| self.redis.keep_failed(self.epoch, &self.post_name(row.id), row).await);
            try_join_all(writes).await?;
            self.renew(bot).await?;
        }
    }

    /// Renews both leases: the regular renewal has not started yet, and a replay may take longer than a lease lasts.
    async fn renew(&self, bot: i64) -> StoreResult<()> {
        let on_redis = self.primary.renew(bot, self.epoch);
        let on_journal = self.shared.journal.store().renew(bot, self.journal_epoch);
        try_join(on_redis, on_journal).await.map(drop)
    }

    /// The name under which a message of the journal is posted once.
    fn post_name(&self, id: OutboxId) -> String {
        format!("journal:{}:{}", self.token, id.0)
    }

    /// Moves waiting inputs to Redis, in order. An outcome has no mark; it is given one, so that a repeated replay
    /// knows it.
    async fn updates(&self, bot: i64, count: &mut Count) -> StoreResult<()> {
        loop {
            let rows = self.shared.journal.store().waiting(bot, Seq(i64::MIN), PAGE).await?;
            if rows.is_empty() {
                return Ok(());
            }
            count.updates += rows.len();
            let seqs: Vec<_> = rows.iter().map(|row| row.seq.0).collect();
            let batch = rows.into_iter().map(|InboxRow { seq, incoming }| {
                let is_outcome = matches!(incoming.origin, Origin::Outcome(_));
                (incoming, is_outcome.then(|| self.mark(bot, seq.0, ":outcome")))
            });
            self.redis.receive_once(self.epoch, batch.collect()).await?;
            failpoints::hit(failpoints::JOURNAL_AFTER_PAGE).await;
            self.shared.journal.remove_inputs(bot, self.journal_epoch, &seqs).await?;
            self.renew(bot).await?;
        }
    }
}

/// Groups rows by conversation.
fn by_key<T>(rows: Vec<T>, key: impl Fn(&T) -> ConversationKey) -> HashMap<ConversationKey, Vec<T>> {
    let mut all = HashMap::<_, Vec<T>>::new();
    for row in rows {
        all.entry(key(&row)).or_default().push(row);
    }
    all
}
