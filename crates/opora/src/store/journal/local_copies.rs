//! What is known of Redis in memory: states, marks of processed updates, and what waits in Redis.
//!
//! A conversation can go on without Redis only if nothing of it waits there: no acknowledged input, and no unsent
//! message to its chat. And no call of it may be unanswered: a stalled Redis may still apply the call after the journal
//! has taken over.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::entry::marks_of;
use crate::key::ConversationKey;
use crate::store::{
    Commit, Generations, InboxRow, Incoming, InputRef, Mark, Origin, OutboxId, OutboxRow, Receipt, Seq, Settled,
    Settlement, StateCache, StateChange, StoredState, Version,
};

/// How many marks are remembered at least: more than Telegram delivers again at once.
const MAX_MARKS: usize = 20_000;
/// How many unsent messages are tracked. Beyond that, every chat counts as one with unsent messages.
const MAX_SENDS: usize = 100_000;

/// Local copies of the conversations used last.
#[derive(Debug)]
pub(super) struct LocalCopies {
    states: StateCache,
    processed_marks: Mutex<Generations<Mark, ()>>,
    pending: Mutex<PendingInRedis>,
    /// Conversations with unanswered calls to Redis, and how many calls.
    pending_calls: Mutex<HashMap<ConversationKey, usize>>,
}

/// A call to Redis that is not answered yet. Until then its conversations have no usable copy. If it is dropped before
/// [`finish`](Self::finish), its result is unknown and their copies are removed.
#[derive(Debug)]
pub(super) struct PendingCall<'a> {
    copies: &'a LocalCopies,
    keys: Vec<ConversationKey>,
    is_finished: bool,
}

/// What waits in Redis and must be processed or sent first.
#[derive(Debug, Default)]
struct PendingInRedis {
    inputs: HashMap<ConversationKey, Vec<(Seq, Option<Mark>)>>,
    sends: HashMap<OutboxId, i64>,
    /// How many of `sends` go to a chat.
    chats: HashMap<i64, usize>,
    is_over_limit: bool,
}

/// What a commit changes, kept to update the copy once it has succeeded.
#[derive(Debug)]
pub(super) struct CommitSummary {
    key: ConversationKey,
    from: Version,
    state: StateChange,
    processed: Vec<InputRef>,
    chats: Vec<Option<i64>>,
}

impl LocalCopies {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            states: StateCache::new(limit),
            processed_marks: Mutex::new(Generations::new(MAX_MARKS)),
            pending: Mutex::default(),
            pending_calls: Mutex::default(),
        }
    }

    /// Stores a state as Redis has it.
    pub(super) fn put(&self, key: &ConversationKey, version: Version, stored: Option<StoredState>) {
        self.states.put(key, version, stored);
    }

    /// Takes the copy of a conversation, unless something of it waits in Redis or is on its way there.
    pub(super) fn take(&self, key: &ConversationKey) -> Option<(Version, Option<StoredState>)> {
        let waits = self.pending_calls.lock().contains_key(key) || self.pending.lock().blocks(key);
        if waits { None } else { self.states.take(key) }
    }

    /// Marks conversations as having an unanswered call to Redis.
    pub(super) fn begin_call(&self, keys: Vec<ConversationKey>) -> PendingCall<'_> {
        let mut pending_calls = self.pending_calls.lock();
        keys.iter().for_each(|key| *pending_calls.entry(key.clone()).or_default() += 1);
        PendingCall { copies: self, keys, is_finished: false }
    }

    /// Removes a copy, because the state in Redis is not known.
    pub(super) fn forget(&self, key: &ConversationKey) {
        self.states.forget(key);
    }

    /// Removes copies of ended conversations. Redis has cleaned them, and starts them at another version.
    pub(super) fn forget_ended(&self, bot: i64) {
        self.states.forget_ended(bot);
    }

    /// Removes all copies, because Redis has lost data.
    pub(super) fn forget_all(&self) {
        self.states.forget_all();
    }

    /// Forgets what waits in Redis: a new leader reads inbox and outbox again.
    pub(super) fn clear_pending(&self) {
        *self.pending.lock() = PendingInRedis::default();
    }

    pub(super) fn has_processed(&self, mark: &Mark) -> bool {
        self.processed_marks.lock().get(mark).is_some()
    }

    /// The marks of a bot's processed updates, as ids and identities.
    pub(super) fn recent_marks(&self, bot: i64) -> Vec<(i64, Box<str>)> {
        let marks = self.processed_marks.lock();
        let of_bot = marks.keys().filter(|mark| mark.bot == bot);
        of_bot.map(|mark| (mark.update_id, mark.identity.clone())).collect()
    }

    pub(super) fn summarize(commit: &Commit) -> CommitSummary {
        CommitSummary {
            key: commit.key.clone(),
            from: commit.from,
            state: commit.state.clone(),
            processed: commit.processed.clone(),
            chats: commit.outgoing.iter().map(|outgoing| outgoing.chat).collect(),
        }
    }

    /// Updates the copy after a commit.
    pub(super) fn committed(&self, summary: CommitSummary, version: Version, outbox: &[OutboxId]) {
        let CommitSummary { key, from, state, processed, chats } = summary;
        match state {
            StateChange::Set(stored) => self.put(&key, version, Some(stored)),
            StateChange::Clear => self.put(&key, version, None),
            StateChange::Keep => {
                if let Some((_, stored)) = self.states.take(&key).filter(|(before, _)| *before == from) {
                    self.put(&key, version, stored);
                }
            }
        }
        self.inputs_processed(&key, &processed);
        self.messages_stored(outbox.iter().copied().zip(chats));
    }

    /// Notes that inputs were processed.
    pub(super) fn inputs_processed(&self, key: &ConversationKey, processed: &[InputRef]) {
        // The marks first: `received` may report the inbox rows of these inputs later than this.
        self.remember_marks(processed);
        self.pending.lock().inputs_processed(key, processed);
    }

    fn remember_marks(&self, processed: &[InputRef]) {
        let mut marks = self.processed_marks.lock();
        marks_of(processed).for_each(|mark| marks.put(mark.clone(), ()));
    }

    /// Notes inputs that Redis has stored in its inbox.
    pub(super) fn received(&self, batch: &[Incoming], receipts: &[Receipt]) {
        let new = batch.iter().zip(receipts).filter_map(|(incoming, receipt)| match receipt {
            Receipt::New(seq) => Some((incoming, *seq)),
            Receipt::Known => None,
        });
        self.add_waiting(new);
    }

    /// Notes inputs that were read from the inbox of Redis.
    pub(super) fn inputs_read(&self, rows: &[InboxRow]) {
        self.add_waiting(rows.iter().map(|row| (&row.incoming, row.seq)));
    }

    /// Adds waiting inputs, except those that a turn has processed already.
    fn add_waiting<'a>(&self, inputs: impl Iterator<Item = (&'a Incoming, Seq)>) {
        let mut pending = self.pending.lock();
        for (incoming, seq) in inputs {
            if !matches!(&incoming.origin, Origin::Update(mark) if self.has_processed(mark)) {
                pending.add_input(incoming, seq);
            }
        }
    }

    /// Notes messages that are in the outbox of Redis.
    pub(super) fn messages_stored(&self, rows: impl Iterator<Item = (OutboxId, Option<i64>)>) {
        let mut pending = self.pending.lock();
        for (id, chat) in rows {
            if let Some(chat) = chat {
                pending.add_send(id, chat);
            }
        }
    }

    /// Notes messages that were read from the outbox of Redis.
    pub(super) fn outbox_read(&self, rows: &[OutboxRow]) {
        self.messages_stored(rows.iter().map(|row| (row.id, row.outgoing.chat)));
    }

    /// Notes messages that have left the outbox of Redis.
    pub(super) fn settled(&self, settled: &[Settled]) {
        let mut pending = self.pending.lock();
        for Settled { id, outcome } in settled {
            if !matches!(outcome, Settlement::Moved { .. }) {
                pending.remove_send(*id);
            }
        }
    }
}

impl PendingCall<'_> {
    /// The call was answered and the copies are up to date.
    pub(super) fn finish(mut self) {
        self.is_finished = true;
    }
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            self.keys.iter().for_each(|key| self.copies.forget(key));
        }
        let mut pending_calls = self.copies.pending_calls.lock();
        for key in &self.keys {
            if let Some(calls) = pending_calls.get_mut(key) {
                *calls -= 1;
                if *calls == 0 {
                    pending_calls.remove(key);
                }
            }
        }
    }
}

impl PendingInRedis {
    fn blocks(&self, key: &ConversationKey) -> bool {
        self.is_over_limit || self.inputs.contains_key(key) || self.chats.contains_key(&key.chat)
    }

    fn add_input(&mut self, incoming: &Incoming, seq: Seq) {
        let mark = if let Origin::Update(mark) = &incoming.origin { Some(mark.clone()) } else { None };
        let inputs = self.inputs.entry(incoming.key.clone()).or_default();
        if !inputs.iter().any(|(known, _)| *known == seq) {
            inputs.push((seq, mark));
        }
    }

    fn inputs_processed(&mut self, key: &ConversationKey, processed: &[InputRef]) {
        let Some(inputs) = self.inputs.get_mut(key) else { return };
        inputs.retain(|(at, mark)| {
            !processed.iter().any(|input| match input {
                InputRef::Update { seq, .. } | InputRef::Outcome(seq) => seq == at,
                InputRef::DirectUpdate(fresh) => mark.as_ref() == Some(fresh),
                _ => false,
            })
        });
        if inputs.is_empty() {
            self.inputs.remove(key);
        }
    }

    fn add_send(&mut self, id: OutboxId, chat: i64) {
        if self.sends.len() >= MAX_SENDS {
            self.is_over_limit = true;
        } else if self.sends.insert(id, chat).is_none() {
            *self.chats.entry(chat).or_default() += 1;
        }
    }

    fn remove_send(&mut self, id: OutboxId) {
        let Some(chat) = self.sends.remove(&id) else { return };
        if let Some(count) = self.chats.get_mut(&chat) {
            *count -= 1;
            if *count == 0 {
                self.chats.remove(&chat);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Millis;

    fn anna() -> ConversationKey {
        ConversationKey::private(7, 5)
    }

    fn mark(update_id: i64) -> Mark {
        Mark { bot: 7, update_id, identity: "message:1".into() }
    }

    #[test]
    fn waiting_inputs_and_messages_block_the_copy() {
        let copies = LocalCopies::new(100);
        copies.put(&anna(), Version(3), None);
        let incoming = Incoming { key: anna(), origin: Origin::Update(mark(1)), body: "{}".into(), at: Millis(0) };
        copies.received(&[incoming], &[Receipt::New(Seq(9))]);
        copies.messages_stored([(OutboxId(4), Some(5)), (OutboxId(5), None)].into_iter());
        assert_eq!(copies.take(&anna()), None);
        copies.inputs_processed(&anna(), &[InputRef::DirectUpdate(mark(1))]);
        assert_eq!(copies.take(&anna()), None, "a message to this chat is unsent");
        copies.settled(&[Settled { id: OutboxId(4), outcome: Settlement::Sent { labelled: None } }]);
        assert_eq!(copies.take(&anna()), Some((Version(3), None)));
        assert!(copies.has_processed(&mark(1)) && !copies.has_processed(&mark(2)));
    }

    #[test]
    fn an_input_reported_after_its_turn_does_not_block() {
        let copies = LocalCopies::new(100);
        copies.put(&anna(), Version(3), None);
        copies.inputs_processed(&anna(), &[InputRef::DirectUpdate(mark(1))]);
        let incoming = Incoming { key: anna(), origin: Origin::Update(mark(1)), body: "{}".into(), at: Millis(0) };
        copies.received(std::slice::from_ref(&incoming), &[Receipt::New(Seq(9))]);
        copies.inputs_read(&[InboxRow { seq: Seq(9), incoming }]);
        assert_eq!(copies.take(&anna()), Some((Version(3), None)));
    }

    #[test]
    fn an_unanswered_call_blocks_the_copy() {
        let copies = LocalCopies::new(100);
        copies.put(&anna(), Version(3), None);
        let first = copies.begin_call(vec![anna()]);
        let second = copies.begin_call(vec![anna()]);
        first.finish();
        assert_eq!(copies.take(&anna()), None, "the second call is unanswered");
        second.finish();
        assert_eq!(copies.take(&anna()), Some((Version(3), None)));
        copies.put(&anna(), Version(3), None);
        drop(copies.begin_call(vec![anna()]));
        assert_eq!(copies.take(&anna()), None, "the result of the call is unknown");
        assert!(copies.pending_calls.lock().is_empty());
    }

    #[test]
    fn a_turn_that_keeps_the_state_raises_the_version() {
        let copies = LocalCopies::new(100);
        let stored = StoredState { value: "{}".into(), states: Vec::new(), expires_at: None };
        copies.put(&anna(), Version(3), Some(stored.clone()));
        copies.committed(LocalCopies::summarize(&Commit::new(anna(), Version(3), Millis(0))), Version(4), &[]);
        assert_eq!(copies.take(&anna()), Some((Version(4), Some(stored))));
        copies.put(&anna(), Version(3), None);
        copies.committed(LocalCopies::summarize(&Commit::new(anna(), Version(6), Millis(0))), Version(7), &[]);
        assert_eq!(copies.take(&anna()), None, "another turn came between");
    }
}
