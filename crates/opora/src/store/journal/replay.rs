//! What happened while Redis was away happens there, in order and once.
//!
//! Every entry takes a mark of its own along: a replay that is repeated, because it was cut off anywhere, knows by it what
//! is done. A turn is committed from the version that it started from, so it either fits or is a conflict.

use std::collections::HashMap;

use futures_util::future::{try_join, try_join_all};

use super::Shared;
use super::book::{Numbered, TimerNames};
use super::entry::Entry;
use crate::clock::Millis;
use crate::failpoints;
use crate::key::DialogueKey;
use crate::store::redis::RedisBackend;
use crate::store::{
    DomainWrites, Effect, Epoch, Holder, InboxRow, Mark, Opened, Origin, OutboxId, OutboxRow, Seq, Settled, Settlement,
    Store, StoreError, StoreResult, Taken, TimerChange, TimerRow,
};

/// How many rows are replayed at once.
const PAGE: usize = 500;
/// How many timers of a journal are looked through.
const ALL: usize = 1_000_000;

/// A replay under way.
pub(super) struct Replay<'a> {
    pub(super) shared: &'a Shared,
    /// Where turns are committed.
    there: &'a dyn Store,
    pub(super) redis: &'a RedisBackend,
    pub(super) epoch: Epoch,
    /// Under which the journal is written.
    pub(super) here: Epoch,
    /// Names the outage.
    pub(super) token: String,
    timers: HashMap<DialogueKey, Vec<TimerRow>>,
    /// By the entry of the turn that brings them.
    pub(super) effects: HashMap<i64, Vec<Effect>>,
}

/// What came of an entry.
enum Done {
    Replayed,
    Conflict,
}

/// How much was replayed, for the log.
#[derive(Debug, Default)]
struct Count {
    turns: usize,
    conflicts: usize,
    messages: usize,
    failed: usize,
    updates: usize,
}

impl Shared {
    /// Replays everything that a bot has left in the journal, and empties it.
    pub(super) async fn replay(&self, bot: i64, epoch: Epoch, holder: &Holder) -> StoreResult<()> {
        let held = self.held.lock().get(&bot).copied();
        let mut here = match held {
            Some((here, _)) => here,
            None => self.book.epoch(bot).await?,
        };
        if self.book.is_empty(bot).await? {
            // Copies that were only looked at.
            self.forget_imported(bot);
            return self.book.empty(bot, here).await;
        }
        if held.is_none() {
            here = self.take_here(bot, holder).await?;
        }
        self.book.set_effects_aside(bot, here).await?;
        let replay = Replay {
            shared: self,
            there: self.there()?.store(),
            redis: self.there()?.redis(),
            epoch,
            here,
            token: self.book.token(bot).await?,
            timers: by_key(self.book.store().due_timers(bot, Millis(i64::MAX), ALL).await?, |row| row.key.clone()),
            effects: self.book.effects(bot).await?,
        };
        replay.settle(bot).await?;
        let mut count = Count::default();
        replay.entries(bot, &mut count).await?;
        replay.messages(bot, &mut count).await?;
        replay.failed(bot, &mut count).await?;
        replay.updates(bot, &mut count).await?;
        failpoints::hit(failpoints::JOURNAL_BEFORE_EMPTY).await;
        // Before that: should its answer be lost, nobody of these is here.
        self.forget_imported(bot);
        self.book.empty(bot, here).await?;
        // Where others can reach it, it is held on.
        if held.is_none() && self.book.store().release(bot, here).await.is_ok() {
            self.leases.lock().remove(&(bot, true));
        }
        let Count { turns, conflicts, messages, failed, updates } = count;
        tracing::info!(
            bot,
            turns,
            conflicts,
            messages,
            failed,
            updates,
            "the journal is replayed: Redis has everything"
        );
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
    /// What became of messages that were in Redis already, and the labels of those that were not.
    async fn settle(&self, bot: i64) -> StoreResult<()> {
        let book = &self.shared.book;
        let labels = book.labels(bot).await?.into_iter().map(|(chat, label, message)| Settled {
            // No row has this number: only the label is kept.
            id: OutboxId(0),
            outcome: Settlement::Sent { labelled: Some((chat, label.into(), message)) },
        });
        // One after the other: what was said on the journal was sent after what Redis had, perhaps under the same label.
        for settled in [book.settled(bot).await?, labels.collect()] {
            if !settled.is_empty() {
                self.redis.settle(self.epoch, settled, self.shared.clock.now()).await?;
            }
        }
        Ok(())
    }

    async fn entries(&self, bot: i64, count: &mut Count) -> StoreResult<()> {
        let mut after = 0;
        loop {
            let page = self.shared.book.entries(bot, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.id;
            count.turns += page.len();
            // What a conversation's last turn needs to know stands in its other entries: they go together.
            let finished = page.iter().filter(|one| one.is_last).map(|one| one.entry.key().to_string());
            let finished: Vec<_> = finished.collect();
            let last_turns = page.iter().filter(|one| one.is_last_turn).map(|one| one.entry.key().to_string());
            let timers = self.shared.book.timers_of(last_turns.collect()).await?;
            // Conversations are on their way at once, the turns of each one after another.
            let of_keys = by_key(page, |numbered| numbered.entry.key().clone());
            let conflicts =
                try_join_all(of_keys.into_values().map(|entries| self.conversation(entries, &timers))).await?;
            count.conflicts += conflicts.iter().sum::<usize>();
            failpoints::hit(failpoints::JOURNAL_AFTER_PAGE).await;
            self.shared.book.remove_replayed(bot, self.here, &finished).await?;
            self.renew(bot).await?;
        }
    }

    /// The entries of one conversation; answers how many conflicts there were.
    async fn conversation(&self, entries: Vec<Numbered>, timers: &TimerNames) -> StoreResult<usize> {
        for Numbered { id, is_last_turn, entry, .. } in entries {
            let key = entry.key().clone();
            let takes = self.takes(id, &entry);
            let done = match entry {
                Entry::Parked { parked, .. } => self.redis.park(self.epoch, takes, *parked, Vec::new()).await.map(drop),
                Entry::Turn { mut commit, has_written } => {
                    commit.takes = takes;
                    commit.timers = if is_last_turn { self.timers_of(&key, timers) } else { Vec::new() };
                    commit.effects = self.effects.get(&id).cloned().unwrap_or_default();
                    // They are done. But what a turn was that wrote is kept beside what it wrote, should this Redis
                    // forget it.
                    commit.writes = has_written.then(|| DomainWrites::new(|_| Box::pin(async { Ok(()) })));
                    self.there.commit(self.epoch, *commit).await.map(drop)
                }
            };
            let done = match done {
                Ok(()) => Done::Replayed,
                Err(StoreError::Overtaken(_) | StoreError::AlreadyTaken) => self.again_or_conflict(&key, id).await?,
                Err(error) => return Err(error),
            };
            failpoints::hit(failpoints::JOURNAL_AFTER_ENTRY).await;
            if let Done::Conflict = done {
                self.conflict(&key, id).await?;
                return Ok(1);
            }
        }
        Ok(0)
    }

    /// A refused entry was replayed before, or does not fit.
    async fn again_or_conflict(&self, key: &DialogueKey, id: i64) -> StoreResult<Done> {
        let opened = self.redis.open(key, Some(&self.mark(key.bot, id, ""))).await?;
        Ok(if opened == Opened::AlreadyTaken { Done::Replayed } else { Done::Conflict })
    }

    /// The marks of an entry's updates, and its own.
    fn takes(&self, id: i64, entry: &Entry) -> Vec<Taken> {
        std::iter::once(self.mark(entry.key().bot, id, "")).chain(entry.marks()).map(Taken::Fresh).collect()
    }

    /// What tells that an entry was replayed.
    pub(super) fn mark(&self, bot: i64, id: i64, what: &str) -> Mark {
        Mark { bot, update_id: id, identity: format!("journal:{}{what}", self.token).into() }
    }

    /// How the timers of a conversation stand after all its turns.
    fn timers_of(&self, key: &DialogueKey, names: &TimerNames) -> Vec<TimerChange> {
        let names = names.get(key).into_iter().flatten().cloned();
        let set = self.timers.get(key).map(Vec::as_slice).unwrap_or_default();
        let change = |name: Box<str>| match set.iter().find(|row| row.name == name) {
            Some(row) => TimerChange::Set { name, due_at: row.due_at, body: row.body.clone() },
            None => TimerChange::Cancel(name),
        };
        names.map(change).collect()
    }

    /// Messages that have not been sent, in their order.
    async fn messages(&self, bot: i64, count: &mut Count) -> StoreResult<()> {
        loop {
            let rows = self.shared.book.store().unsent(bot, OutboxId::default(), PAGE).await?;
            if rows.is_empty() {
                return Ok(());
            }
            count.messages += rows.len();
            try_join_all(rows.iter().map(|row| self.hand_over(row))).await?;
            failpoints::hit(failpoints::JOURNAL_AFTER_PAGE).await;
            let outcome = Settlement::Sent { labelled: None };
            let moved = rows.iter().map(|row| Settled { id: row.id, outcome: outcome.clone() }).collect();
            self.shared.book.store().settle(self.here, moved, self.shared.clock.now()).await?;
            self.renew(bot).await?;
        }
    }

    /// One that was in the act and is to be sent once at most is so there, too, and the courier gives it up, which the
    /// application is told of. All in one call: were it posted, and that noted afterwards, an end in between would have it
    /// sent again.
    async fn hand_over(&self, row: &OutboxRow) -> StoreResult<()> {
        let once = self.once(row);
        if row.was_sending {
            return self.redis.post_unsure(self.epoch, &once, row).await;
        }
        let outgoing = vec![(row.key.clone(), row.outgoing.clone())];
        self.redis.post(self.epoch, &once, outgoing, row.at).await.map(drop)
    }

    /// Messages that Telegram has refused meanwhile, for the operator.
    async fn failed(&self, bot: i64, count: &mut Count) -> StoreResult<()> {
        let mut after = OutboxId::default();
        loop {
            let rows = self.shared.book.database().failed(bot, after, PAGE).await?;
            let Some((last, _)) = rows.last() else { return Ok(()) };
            after = last.id;
            count.failed += rows.len();
            let kept = rows
                .iter()
                .map(async |(row, reason)| self.redis.keep_failed(self.epoch, &self.once(row), row, reason).await);
            try_join_all(kept).await?;
            self.renew(bot).await?;
        }
    }

    /// Nobody else renews yet, and what an outage of an hour has left takes longer than a lease.
    async fn renew(&self, bot: i64) -> StoreResult<()> {
        let there = self.there.renew(bot, self.epoch);
        let here = self.shared.book.store().renew(bot, self.here);
        try_join(there, here).await.map(drop)
    }

    /// Names a message of the journal.
    fn once(&self, row: &OutboxRow) -> String {
        format!("journal:{}:{}", self.token, row.id.0)
    }

    /// Inputs that wait, in their order. An outcome has no mark to be known by, should this be cut off, and is given one.
    async fn updates(&self, bot: i64, count: &mut Count) -> StoreResult<()> {
        loop {
            let rows = self.shared.book.store().waiting(bot, Seq(i64::MIN), PAGE).await?;
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
            self.shared.book.remove_inputs(bot, self.here, &seqs).await?;
            self.renew(bot).await?;
        }
    }
}

fn by_key<T>(rows: Vec<T>, key: impl Fn(&T) -> DialogueKey) -> HashMap<DialogueKey, Vec<T>> {
    let mut all = HashMap::<_, Vec<T>>::new();
    for row in rows {
        all.entry(key(&row)).or_default().push(row);
    }
    all
}
