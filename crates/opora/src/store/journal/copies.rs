//! What is known in memory of Redis: states, updates that were taken, and what lies there and must come first.
//!
//! A conversation can go on without Redis only if nothing of it waits there: an input that was acknowledged, or a message
//! to its chat that has not been sent. And only if nothing of it is on its way there: a Redis that has stalled may take it
//! long after somebody else was asked.

use std::collections::{HashMap, HashSet, VecDeque};

use parking_lot::Mutex;

use super::entry::marks_of;
use crate::key::DialogueKey;
use crate::store::{
    Commit, InboxRow, Incoming, Mark, Origin, OutboxId, OutboxRow, Outgoing, Receipt, Seq, Settled, Settlement,
    StateCache, StateChange, Stored, Taken, Version,
};

/// How many marks are remembered: more than Telegram brings again at once.
const MARKS: usize = 20_000;
/// Of so many unsent messages the chats are known; with more, every chat counts as one of theirs.
const SENDS: usize = 100_000;

/// Copies of what was seen last.
#[derive(Debug)]
pub(super) struct Copies {
    states: StateCache,
    taken: Mutex<(HashSet<Mark>, VecDeque<Mark>)>,
    ahead: Mutex<Ahead>,
    /// Conversations of which something is on its way to Redis, and how many calls that is.
    under_way: Mutex<HashMap<DialogueKey, usize>>,
}

/// A call that is on its way to Redis. Until it is answered, there are no copies of its conversations; of one that is let go
/// before, nobody knows what becomes of it.
#[derive(Debug)]
pub(super) struct UnderWay<'a> {
    copies: &'a Copies,
    keys: Vec<DialogueKey>,
    is_answered: bool,
}

/// What lies in Redis and must come first.
#[derive(Debug, Default)]
struct Ahead {
    inputs: HashMap<DialogueKey, Vec<(Seq, Option<Mark>)>>,
    sends: HashMap<OutboxId, i64>,
    /// How many of them go to a chat.
    chats: HashMap<i64, usize>,
    are_too_many: bool,
}

/// What a commit will have changed, kept back from it.
#[derive(Debug)]
pub(super) struct Change {
    key: DialogueKey,
    from: Version,
    state: StateChange,
    takes: Vec<Taken>,
    chats: Vec<Option<i64>>,
}

impl Copies {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            states: StateCache::new(limit),
            taken: Mutex::default(),
            ahead: Mutex::default(),
            under_way: Mutex::default(),
        }
    }

    /// A state as Redis has it.
    pub(super) fn put(&self, key: &DialogueKey, version: Version, stored: Option<Stored>) {
        self.states.put(key, version, stored);
    }

    /// The copy of a conversation that nothing in Redis, or on its way there, comes before.
    pub(super) fn take(&self, key: &DialogueKey) -> Option<(Version, Option<Stored>)> {
        let waits = self.under_way.lock().contains_key(key) || self.ahead.lock().is_before(key);
        if waits { None } else { self.states.take(key) }
    }

    /// Something of these conversations goes to Redis.
    pub(super) fn sets_out(&self, keys: Vec<DialogueKey>) -> UnderWay<'_> {
        let mut under_way = self.under_way.lock();
        keys.iter().for_each(|key| *under_way.entry(key.clone()).or_default() += 1);
        UnderWay { copies: self, keys, is_answered: false }
    }

    /// Nobody knows how it stands there.
    pub(super) fn forget(&self, key: &DialogueKey) {
        self.states.forget(key);
    }

    /// Redis has forgotten conversations that have ended: those begin at another version there.
    pub(super) fn forget_ended(&self, bot: i64) {
        self.states.forget_ended(bot);
    }

    /// Redis has lost something: no copy is worth anything.
    pub(super) fn forget_all(&self) {
        self.states.forget_all();
    }

    /// A new term reads everything anew.
    pub(super) fn begin_term(&self) {
        *self.ahead.lock() = Ahead::default();
    }

    pub(super) fn has_taken(&self, mark: &Mark) -> bool {
        self.taken.lock().0.contains(mark)
    }

    /// The marks of a bot's updates that were taken, as their ids and identities.
    pub(super) fn taken_by(&self, bot: i64) -> Vec<(i64, Box<str>)> {
        let taken = self.taken.lock();
        let of_bot = taken.1.iter().filter(|mark| mark.bot == bot);
        of_bot.map(|mark| (mark.update_id, mark.identity.clone())).collect()
    }

    /// What of a turn will be noted once it has committed.
    pub(super) fn change(commit: &Commit) -> Change {
        Change {
            key: commit.key.clone(),
            from: commit.from,
            state: commit.state.clone(),
            takes: commit.takes.clone(),
            chats: commit.outgoing.iter().map(|outgoing| outgoing.chat).collect(),
        }
    }

    /// A turn has committed.
    pub(super) fn committed(&self, change: Change, version: Version, outbox: &[OutboxId]) {
        let Change { key, from, state, takes, chats } = change;
        match state {
            StateChange::Set(stored) => self.put(&key, version, Some(stored)),
            StateChange::Clear => self.put(&key, version, None),
            StateChange::Keep => {
                if let Some((_, stored)) = self.states.take(&key).filter(|(before, _)| *before == from) {
                    self.put(&key, version, stored);
                }
            }
        }
        self.used_up(&key, &takes);
        self.said(outbox.iter().copied().zip(chats));
    }

    /// Inputs were taken.
    pub(super) fn used_up(&self, key: &DialogueKey, takes: &[Taken]) {
        // First that they were taken: their place in the inbox may be told of later than this.
        self.take_note(takes);
        self.ahead.lock().used_up(key, takes);
    }

    fn take_note(&self, takes: &[Taken]) {
        let mut taken = self.taken.lock();
        let (known, order) = &mut *taken;
        for mark in marks_of(takes) {
            if known.insert(mark.clone()) {
                order.push_back(mark.clone());
            }
        }
        while order.len() > MARKS {
            if let Some(oldest) = order.pop_front() {
                known.remove(&oldest);
            }
        }
    }

    /// Inputs are in the inbox of Redis.
    pub(super) fn received(&self, batch: &[Incoming], receipts: &[Receipt]) {
        let new = batch.iter().zip(receipts).filter_map(|(incoming, receipt)| match receipt {
            Receipt::New(seq) => Some((incoming, *seq)),
            Receipt::Known => None,
        });
        self.wait(new);
    }

    /// Inputs were read from the inbox of Redis.
    pub(super) fn waiting(&self, rows: &[InboxRow]) {
        self.wait(rows.iter().map(|row| (&row.incoming, row.seq)));
    }

    /// These come first, but for those that a turn has taken before it was told here that they wait.
    fn wait<'a>(&self, inputs: impl Iterator<Item = (&'a Incoming, Seq)>) {
        let mut ahead = self.ahead.lock();
        for (incoming, seq) in inputs {
            if !matches!(&incoming.origin, Origin::Update(mark) if self.has_taken(mark)) {
                ahead.add_input(incoming, seq);
            }
        }
    }

    /// Messages are in the outbox of Redis.
    pub(super) fn said(&self, rows: impl Iterator<Item = (OutboxId, Option<i64>)>) {
        let mut ahead = self.ahead.lock();
        for (id, chat) in rows {
            if let Some(chat) = chat {
                ahead.add_send(id, chat);
            }
        }
    }

    /// The same, read from there.
    pub(super) fn unsent(&self, rows: &[OutboxRow]) {
        self.said(rows.iter().map(|row| (row.id, row.outgoing.chat)));
    }

    /// Messages were posted there.
    pub(super) fn posted(&self, ids: &[OutboxId], posted: &[Outgoing]) {
        self.said(ids.iter().copied().zip(posted.iter().map(|outgoing| outgoing.chat)));
    }

    /// Messages have left the outbox of Redis.
    pub(super) fn settled(&self, settled: &[Settled]) {
        let mut ahead = self.ahead.lock();
        for Settled { id, outcome } in settled {
            if !matches!(outcome, Settlement::Moved { .. }) {
                ahead.remove_send(*id);
            }
        }
    }
}

impl UnderWay<'_> {
    /// It is answered, and what that means for the copies is noted.
    pub(super) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.keys.iter().for_each(|key| self.copies.forget(key));
        }
        let mut under_way = self.copies.under_way.lock();
        for key in &self.keys {
            if let Some(calls) = under_way.get_mut(key) {
                *calls -= 1;
                if *calls == 0 {
                    under_way.remove(key);
                }
            }
        }
    }
}

impl Ahead {
    fn is_before(&self, key: &DialogueKey) -> bool {
        self.are_too_many || self.inputs.contains_key(key) || self.chats.contains_key(&key.chat)
    }

    fn add_input(&mut self, incoming: &Incoming, seq: Seq) {
        let mark = if let Origin::Update(mark) = &incoming.origin { Some(mark.clone()) } else { None };
        let inputs = self.inputs.entry(incoming.key.clone()).or_default();
        if !inputs.iter().any(|(known, _)| *known == seq) {
            inputs.push((seq, mark));
        }
    }

    fn used_up(&mut self, key: &DialogueKey, takes: &[Taken]) {
        let Some(inputs) = self.inputs.get_mut(key) else { return };
        inputs.retain(|(at, mark)| {
            !takes.iter().any(|taken| match taken {
                Taken::Update { seq, .. } | Taken::Outcome(seq) => seq == at,
                Taken::Fresh(fresh) => mark.as_ref() == Some(fresh),
                _ => false,
            })
        });
        if inputs.is_empty() {
            self.inputs.remove(key);
        }
    }

    fn add_send(&mut self, id: OutboxId, chat: i64) {
        if self.sends.len() >= SENDS {
            self.are_too_many = true;
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

    fn anna() -> DialogueKey {
        DialogueKey::private(7, 5)
    }

    fn mark(update_id: i64) -> Mark {
        Mark { bot: 7, update_id, identity: "message:1".into() }
    }

    #[test]
    fn a_conversation_with_something_unread_or_unsent_in_redis_has_no_copy() {
        let copies = Copies::new(100);
        copies.put(&anna(), Version(3), None);
        let incoming = Incoming { key: anna(), origin: Origin::Update(mark(1)), body: "{}".into(), at: Millis(0) };
        copies.received(&[incoming], &[Receipt::New(Seq(9))]);
        copies.said([(OutboxId(4), Some(5)), (OutboxId(5), None)].into_iter());
        assert_eq!(copies.take(&anna()), None);
        copies.used_up(&anna(), &[Taken::Fresh(mark(1))]);
        assert_eq!(copies.take(&anna()), None, "a message to this chat is unsent");
        copies.settled(&[Settled { id: OutboxId(4), outcome: Settlement::Sent { labelled: None } }]);
        assert_eq!(copies.take(&anna()), Some((Version(3), None)));
        assert!(copies.has_taken(&mark(1)) && !copies.has_taken(&mark(2)));
    }

    #[test]
    fn what_was_taken_before_it_is_told_that_it_waits_comes_before_nothing() {
        let copies = Copies::new(100);
        copies.put(&anna(), Version(3), None);
        copies.used_up(&anna(), &[Taken::Fresh(mark(1))]);
        let incoming = Incoming { key: anna(), origin: Origin::Update(mark(1)), body: "{}".into(), at: Millis(0) };
        copies.received(std::slice::from_ref(&incoming), &[Receipt::New(Seq(9))]);
        copies.waiting(&[InboxRow { seq: Seq(9), incoming }]);
        assert_eq!(copies.take(&anna()), Some((Version(3), None)));
    }

    #[test]
    fn a_conversation_has_no_copy_while_something_of_it_is_on_its_way() {
        let copies = Copies::new(100);
        copies.put(&anna(), Version(3), None);
        let first = copies.sets_out(vec![anna()]);
        let second = copies.sets_out(vec![anna()]);
        first.answered();
        assert_eq!(copies.take(&anna()), None, "the other one is on its way");
        second.answered();
        assert_eq!(copies.take(&anna()), Some((Version(3), None)));
        copies.put(&anna(), Version(3), None);
        drop(copies.sets_out(vec![anna()]));
        assert_eq!(copies.take(&anna()), None, "nobody heard what became of it");
        assert!(copies.under_way.lock().is_empty());
    }

    #[test]
    fn a_turn_that_leaves_the_state_raises_the_version_of_its_copy() {
        let copies = Copies::new(100);
        let stored = Stored { value: "{}".into(), places: Vec::new(), expires_at: None };
        copies.put(&anna(), Version(3), Some(stored.clone()));
        copies.committed(Copies::change(&Commit::new(anna(), Version(3), Millis(0))), Version(4), &[]);
        assert_eq!(copies.take(&anna()), Some((Version(4), Some(stored))));
        copies.put(&anna(), Version(3), None);
        copies.committed(Copies::change(&Commit::new(anna(), Version(6), Millis(0))), Version(7), &[]);
        assert_eq!(copies.take(&anna()), None, "somebody else came between");
    }
}
