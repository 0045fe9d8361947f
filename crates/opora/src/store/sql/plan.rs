//! Decides the operations of a group in order, and collects the rows to write.
//!
//! An operation is checked against the facts and the changes of earlier operations. A refused operation changes
//! nothing. Results are sent after the group's commit, not here.

use std::collections::{BTreeMap, HashMap};

use super::bulk::{Bulk, Part};
use super::facts::Facts;
use super::failure::{GroupError, NotDone};
use super::numbers::Numbers;
use super::operation::Post;
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{
    Commit, Committed, Delivered, EffectId, Epoch, Incoming, InputRef, Origin, OutboxId, Outgoing, ParkResult,
    ParkedId, ParkedTurn, Receipt, Seq, Settled, Settlement, StateChange, StoreError, StoreResult, TimerChange,
    Version,
};

/// The decisions of a group so far. It borrows from the operations.
pub(in crate::store) struct Plan<'n, 'a> {
    facts: Facts,
    bulk: Bulk,
    numbers: &'n mut Numbers,
    /// Conversations as the group leaves them: a later turn may replace an earlier one. They are written in key order,
    /// so that groups of two writers do not deadlock.
    conversations: BTreeMap<&'a str, ChangedConversation<'a>>,
    /// Timers as the group leaves them.
    timers: HashMap<(&'a str, &'a str), Option<TimerSet<'a>>>,
}

struct ChangedConversation<'a> {
    key: &'a ConversationKey,
    /// The version before the group.
    from: Version,
    version: Version,
    change: &'a StateChange,
    at: Millis,
}

struct TimerSet<'a> {
    bot: i64,
    id: i64,
    due_at: Millis,
    body: &'a str,
}

impl<'n, 'a> Plan<'n, 'a> {
    pub(in crate::store) fn new(facts: Facts, numbers: &'n mut Numbers) -> Self {
        Self { facts, bulk: Bulk::default(), numbers, conversations: BTreeMap::new(), timers: HashMap::new() }
    }

    pub(in crate::store) fn receive(&mut self, epoch: Epoch, batch: &[Incoming]) -> Result<Vec<Receipt>, NotDone> {
        batch.iter().try_for_each(|incoming| self.facts.lease_of(incoming.key.bot, epoch))?;
        self.facts.bot_of(epoch)?;
        let mut receipts = Vec::with_capacity(batch.len());
        for incoming in batch {
            let is_new = self.is_new(incoming);
            receipts.push(if is_new { Receipt::New(self.put(incoming)?) } else { Receipt::Known });
        }
        Ok(receipts)
    }

    /// Accepts updates from any instance.
    pub(in crate::store) fn deliver(&mut self, batch: &[Incoming]) -> Result<Vec<Delivered>, GroupError> {
        let mut delivered = Vec::with_capacity(batch.len());
        for incoming in batch {
            if !self.is_new(incoming) {
                delivered.push(Delivered::Known);
                continue;
            }
            let is_first = self.facts.note_waiting(&incoming.key);
            let seq = self.facts.next_position()?;
            add_input(&mut self.bulk.delivered, seq, incoming)?;
            self.bulk.delivered_places.add(&seq)?;
            delivered.push(if is_first { Delivered::First(Seq(seq)) } else { Delivered::Behind(Seq(seq)) });
        }
        Ok(delivered)
    }

    fn is_new(&mut self, incoming: &Incoming) -> bool {
        match &incoming.origin {
            Origin::Update(mark) => self.facts.note_update(mark),
            Origin::Outcome(_) => true,
        }
    }

    fn put(&mut self, incoming: &Incoming) -> Result<Seq, GroupError> {
        let seq = self.facts.next_position()?;
        add_input(&mut self.bulk.inputs, seq, incoming)?;
        Ok(Seq(seq))
    }

    pub(in crate::store) fn check_lease(&self, bot: i64, epoch: Epoch) -> StoreResult<()> {
        self.facts.lease_of(bot, epoch)
    }

    pub(in crate::store) fn check(&self, epoch: Epoch, key: &str, commit: &Commit) -> StoreResult<()> {
        self.facts.lease_of(commit.key.bot, epoch)?;
        self.facts.check_unprocessed(&commit.processed)?;
        if self.facts.version(key) == commit.from { Ok(()) } else { Err(StoreError::Overtaken(commit.key.clone())) }
    }

    pub(in crate::store) fn commit(
        &mut self,
        epoch: Epoch,
        key: &'a str,
        commit: &'a Commit,
    ) -> Result<Committed, NotDone> {
        self.check(epoch, key, commit)?;
        let bot = commit.key.bot;
        let at = commit.at;
        let version = commit.to();
        self.mark_processed(&commit.processed, at)?;
        let mut outbox = Vec::with_capacity(commit.outgoing.len());
        for outgoing in &commit.outgoing {
            outbox.push(self.add_outgoing(epoch, bot, key, outgoing, at)?);
        }
        for change in &commit.timers {
            self.change_timer(epoch, bot, key, change);
        }
        let mut effects = Vec::with_capacity(commit.effects.len());
        for effect in &commit.effects {
            let id = self.numbers.next(epoch);
            self.bulk.effects.add(&(id, bot, key, &effect.kind, &effect.body, at))?;
            effects.push(EffectId(id));
        }
        if let Some(transition) = &commit.transition {
            let json = |state: &Option<_>| state.as_ref().map(serde_json::to_string).transpose();
            let from = json(&transition.from)?;
            let to = json(&transition.to)?;
            let id = self.numbers.next(epoch);
            self.bulk.transitions.add(&(id, bot, key, version, at, from, to, &transition.by, transition.took_us))?;
        }
        self.facts.note_version(key, version);
        self.turn(key, &commit.key, version, &commit.state, at);
        Ok(Committed { version, outbox, effects })
    }

    fn turn(&mut self, text: &'a str, key: &'a ConversationKey, version: Version, change: &'a StateChange, at: Millis) {
        match self.conversations.get_mut(text) {
            Some(earlier) => {
                (earlier.version, earlier.at) = (version, at);
                if *change != StateChange::Keep {
                    earlier.change = change;
                }
            }
            None => {
                self.conversations.insert(
                    text,
                    ChangedConversation { key, from: Version(version.0.saturating_sub(1)), version, change, at },
                );
            }
        }
    }

    fn mark_processed(&mut self, processed: &[InputRef], at: Millis) -> Result<(), GroupError> {
        for input in processed {
            self.facts.note_processed(input);
            match input {
                InputRef::Update { seq, mark } => {
                    self.bulk.inputs_gone.add(seq)?;
                    self.bulk.marks.add(&(mark.bot, mark.update_id, &mark.identity, at))?;
                }
                InputRef::DirectUpdate(mark) => {
                    self.bulk.direct_gone.add(&(mark.bot, mark.update_id, &mark.identity))?;
                    self.bulk.marks.add(&(mark.bot, mark.update_id, &mark.identity, at))?;
                }
                InputRef::Outcome(seq) => self.bulk.inputs_gone.add(seq)?,
                InputRef::Timer(id) => self.bulk.timers_gone.add(id)?,
                InputRef::Parked(id) => self.bulk.parked_gone.add(id)?,
            }
        }
        Ok(())
    }

    fn add_outgoing(
        &mut self,
        epoch: Epoch,
        bot: i64,
        key: &str,
        call: &Outgoing,
        at: Millis,
    ) -> Result<OutboxId, GroupError> {
        let id = self.numbers.next(epoch);
        let rest = call.extras.json()?;
        self.bulk.outbox.add(&(id, bot, key, call.chat, &call.method, &call.body, rest, at))?;
        Ok(OutboxId(id))
    }

    fn change_timer(&mut self, epoch: Epoch, bot: i64, key: &'a str, change: &'a TimerChange) {
        let (name, set) = match change {
            TimerChange::Set { name, due_at, body } => {
                (name, Some(TimerSet { bot, id: self.numbers.next(epoch), due_at: *due_at, body }))
            }
            TimerChange::Cancel(name) => (name, None),
        };
        self.facts.note_timer(key, name);
        self.timers.insert((key, name), set);
    }

    pub(in crate::store) fn check_parking(
        &self,
        epoch: Epoch,
        processed: &[InputRef],
        parked: &ParkedTurn,
    ) -> StoreResult<()> {
        self.facts.lease_of(parked.key.bot, epoch).and_then(|()| self.facts.check_unprocessed(processed))
    }

    pub(in crate::store) fn park(
        &mut self,
        epoch: Epoch,
        processed: &[InputRef],
        parked: &ParkedTurn,
        outgoing: &[Outgoing],
    ) -> Result<ParkResult, NotDone> {
        let ParkedTurn { key, kind, body, reason, attempts, at, retry, .. } = parked;
        self.check_parking(epoch, processed, parked)?;
        self.mark_processed(processed, *at)?;
        let id = self.numbers.next(epoch);
        self.bulk.parked.add(&(id, key.bot, key, kind, body, reason, attempts, at, i64::from(*retry)))?;
        let mut outbox = Vec::with_capacity(outgoing.len());
        for call in outgoing {
            outbox.push(self.add_outgoing(epoch, key.bot, &key.to_string(), call, *at)?);
        }
        Ok(ParkResult { id: ParkedId(id), outbox })
    }

    pub(in crate::store) fn settle(&mut self, epoch: Epoch, settled: &[Settled], at: Millis) -> Result<(), NotDone> {
        let bot = self.facts.bot_of(epoch)?;
        for Settled { id, outcome } in settled {
            match outcome {
                Settlement::Sent { labelled } => {
                    self.bulk.unsent_gone.add(id)?;
                    if let Some((chat, label, message)) = labelled {
                        self.bulk.labels.add(&(bot, chat, label, message, at))?;
                    }
                }
                Settlement::Failed(reason) => {
                    self.bulk.failed.add(&(id, reason))?;
                    self.bulk.unsent_gone.add(id)?;
                }
                Settlement::Moved { from, to } => self.bulk.moved.add(&(bot, id, from, to))?,
            }
        }
        Ok(())
    }

    pub(in crate::store) fn sending(
        &mut self,
        epoch: Epoch,
        ids: &[OutboxId],
        may_be_sent: bool,
    ) -> Result<(), NotDone> {
        self.facts.bot_of(epoch)?;
        let rows = if may_be_sent { &mut self.bulk.sending } else { &mut self.bulk.not_sent };
        Ok(ids.iter().try_for_each(|id| rows.add(id))?)
    }

    pub(in crate::store) fn post(&mut self, epoch: Epoch, post: &Post) -> Result<Vec<OutboxId>, NotDone> {
        post.outgoing.iter().try_for_each(|(key, _)| self.facts.lease_of(key.bot, epoch))?;
        let bot = self.facts.bot_of(epoch)?;
        if !self.facts.note_post(bot, &post.once) {
            return Ok(Vec::new());
        }
        self.bulk.posts.add(&(&post.once, bot, post.at))?;
        let mut ids = Vec::with_capacity(post.outgoing.len());
        for (key, outgoing) in &post.outgoing {
            ids.push(self.add_outgoing(epoch, bot, &key.to_string(), outgoing, post.at)?);
        }
        Ok(ids)
    }

    pub(in crate::store) fn finish_effect(
        &mut self,
        epoch: Epoch,
        effect: EffectId,
        outcome: &Incoming,
    ) -> Result<Receipt, NotDone> {
        self.facts.lease_of(outcome.key.bot, epoch)?;
        if !self.facts.note_effect(effect.0) {
            return Ok(Receipt::Known);
        }
        self.bulk.effects_gone.add(&effect)?;
        Ok(Receipt::New(self.put(outcome)?))
    }

    pub(in crate::store) fn renew(&mut self, bot: i64, epoch: Epoch) -> Result<(), NotDone> {
        self.facts.lease_of(bot, epoch)?;
        Ok(self.bulk.renewed.add(&bot)?)
    }

    pub(in crate::store) fn into_bulk(mut self) -> Result<Bulk, GroupError> {
        for (text, ChangedConversation { key, from, version, change, at }) in &self.conversations {
            match change {
                StateChange::Keep => self.bulk.keep(text, key, (*from, *version), *at)?,
                StateChange::Set(stored) => self.bulk.change(text, key, (*from, *version), Some(stored), *at)?,
                StateChange::Clear => self.bulk.change(text, key, (*from, *version), None, *at)?,
            }
        }
        for ((key, name), set) in &self.timers {
            match set {
                Some(TimerSet { bot, id, due_at, body }) => {
                    self.bulk.timers.add(&(id, bot, key, name, due_at, body))?;
                }
                None => self.bulk.timers_cancelled.add(&(key, name))?,
            }
        }
        if !self.bulk.inputs.is_empty() || !self.bulk.delivered.is_empty() {
            self.facts.last_place().iter().try_for_each(|last| self.bulk.last_place.add(last))?;
        }
        Ok(self.bulk)
    }
}

fn add_input(rows: &mut Part, seq: i64, incoming: &Incoming) -> Result<(), GroupError> {
    let (mark, effect) = match &incoming.origin {
        Origin::Update(mark) => (Some(mark), None),
        Origin::Outcome(effect) => (None, Some(effect)),
    };
    Ok(rows.add(&(
        seq,
        incoming.key.bot,
        &incoming.key,
        mark.map(|mark| mark.update_id),
        mark.map(|mark| &mark.identity),
        effect,
        &incoming.body,
        incoming.at,
    ))?)
}
