//! Decides which operations of a group stand, in the order of their arrival, and what they write.
//!
//! Each is judged by the facts that were read for the group and by what earlier ones of the group changed. One that is
//! refused leaves nothing and touches no other. Nothing is answered here: an answer waits for the group's commit.

use std::collections::{BTreeMap, HashMap};

use super::bulk::{Bulk, Part};
use super::facts::Facts;
use super::failure::GroupFailed;
use super::numbers::Numbers;
use super::operation::Post;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{
    Commit, Committed, Delivered, EffectId, Epoch, IfUnsure, Incoming, Origin, OutboxId, Outgoing, Parked, ParkedId,
    Receipt, Seq, SetAside, Settled, Settlement, StateChange, StoreError, StoreResult, Taken, TimerChange, Upload,
    Version,
};

/// A group's decisions so far. It refers to what the operations say.
pub(in crate::store) struct Plan<'n, 'a> {
    facts: Facts,
    bulk: Bulk,
    numbers: &'n mut Numbers,
    /// Conversations as the group leaves them: a later turn may replace what an earlier one wrote. They are written in the
    /// order of their keys, so that no two groups wait for each other.
    turned: BTreeMap<&'a str, Turned<'a>>,
    /// Timers as the group leaves them.
    timers: HashMap<(&'a str, &'a str), Option<TimerSet<'a>>>,
}

struct Turned<'a> {
    key: &'a DialogueKey,
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

/// What is rare in a call, so that most rows need not say it.
#[derive(Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(in crate::store) struct Rest {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::store) uploads: Vec<Upload>,
    pub(in crate::store) if_unsure: IfUnsure,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::store) label: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::store) edits_label: Option<Box<str>>,
    /// The statements that write failed messages look for it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::store) secret: bool,
}

impl<'n, 'a> Plan<'n, 'a> {
    pub(in crate::store) fn new(facts: Facts, numbers: &'n mut Numbers) -> Self {
        Self { facts, bulk: Bulk::default(), numbers, turned: BTreeMap::new(), timers: HashMap::new() }
    }

    pub(in crate::store) fn receive(
        &mut self,
        epoch: Epoch,
        batch: &[Incoming],
    ) -> Result<StoreResult<Vec<Receipt>>, GroupFailed> {
        let of_others = batch.iter().find_map(|incoming| self.facts.lease_of(incoming.key.bot, epoch).err());
        if let Some(refused) = of_others.or_else(|| self.facts.bot_of(epoch).err()) {
            return Ok(Err(refused));
        }
        let mut receipts = Vec::with_capacity(batch.len());
        for incoming in batch {
            let is_new = self.is_new(incoming);
            receipts.push(if is_new { Receipt::New(self.put(incoming)?) } else { Receipt::Known });
        }
        Ok(Ok(receipts))
    }

    /// Takes up updates of any instance.
    pub(in crate::store) fn deliver(&mut self, batch: &[Incoming]) -> Result<Vec<Delivered>, GroupFailed> {
        let mut delivered = Vec::with_capacity(batch.len());
        for incoming in batch {
            if !self.is_new(incoming) {
                delivered.push(Delivered::Known);
                continue;
            }
            let is_first = self.facts.note_waiting(&incoming.key);
            let seq = self.facts.next_place()?;
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

    fn put(&mut self, incoming: &Incoming) -> Result<Seq, GroupFailed> {
        let seq = self.facts.next_place()?;
        add_input(&mut self.bulk.inputs, seq, incoming)?;
        Ok(Seq(seq))
    }

    /// Whether a turn may be committed as things stand.
    pub(in crate::store) fn check(&self, epoch: Epoch, key: &str, commit: &Commit) -> StoreResult<()> {
        self.facts.lease_of(commit.key.bot, epoch)?;
        self.facts.not_taken(&commit.takes)?;
        if self.facts.version(key) == commit.from { Ok(()) } else { Err(StoreError::Overtaken(commit.key.clone())) }
    }

    /// Takes up a turn that [`Plan::check`] let pass.
    pub(in crate::store) fn commit(
        &mut self,
        epoch: Epoch,
        key: &'a str,
        commit: &'a Commit,
    ) -> Result<Committed, GroupFailed> {
        let bot = commit.key.bot;
        let at = commit.at;
        let version = commit.to();
        self.take(&commit.takes, at)?;
        let mut outbox = Vec::with_capacity(commit.outgoing.len());
        for outgoing in &commit.outgoing {
            outbox.push(self.say(epoch, bot, key, outgoing, at)?);
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
            let place = |place: &Option<_>| place.as_ref().map(serde_json::to_string).transpose();
            let from = place(&transition.from)?;
            let to = place(&transition.to)?;
            let id = self.numbers.next(epoch);
            self.bulk.transitions.add(&(id, bot, key, version, at, from, to, &transition.by, transition.took_us))?;
        }
        self.facts.note_version(key, version);
        self.turn(key, &commit.key, version, &commit.state, at);
        Ok(Committed { version, outbox, effects })
    }

    fn turn(&mut self, text: &'a str, key: &'a DialogueKey, version: Version, change: &'a StateChange, at: Millis) {
        match self.turned.get_mut(text) {
            Some(earlier) => {
                (earlier.version, earlier.at) = (version, at);
                if *change != StateChange::Keep {
                    earlier.change = change;
                }
            }
            None => {
                self.turned
                    .insert(text, Turned { key, from: Version(version.0.saturating_sub(1)), version, change, at });
            }
        }
    }

    fn take(&mut self, takes: &[Taken], at: Millis) -> Result<(), GroupFailed> {
        for taken in takes {
            self.facts.note_taken(taken);
            match taken {
                Taken::Update { seq, mark } => {
                    self.bulk.inputs_gone.add(seq)?;
                    self.bulk.marks.add(&(mark.bot, mark.update_id, &mark.identity, at))?;
                }
                Taken::Fresh(mark) => {
                    self.bulk.fresh_gone.add(&(mark.bot, mark.update_id, &mark.identity))?;
                    self.bulk.marks.add(&(mark.bot, mark.update_id, &mark.identity, at))?;
                }
                Taken::Outcome(seq) => self.bulk.inputs_gone.add(seq)?,
                Taken::Timer(id) => self.bulk.timers_gone.add(id)?,
                Taken::Parked(id) => self.bulk.parked_gone.add(id)?,
            }
        }
        Ok(())
    }

    fn say(&mut self, epoch: Epoch, bot: i64, key: &str, said: &Outgoing, at: Millis) -> Result<OutboxId, GroupFailed> {
        let id = self.numbers.next(epoch);
        let rest = Rest {
            uploads: said.uploads.clone(),
            if_unsure: said.if_unsure,
            label: said.label.clone(),
            edits_label: said.edits_label.clone(),
            secret: said.secret,
        };
        let rest = if rest == Rest::default() { None } else { Some(serde_json::to_string(&rest)?) };
        self.bulk.outbox.add(&(id, bot, key, said.chat, &said.method, &said.body, rest, at))?;
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

    /// Whether an input may be set aside as things stand.
    pub(in crate::store) fn check_parking(&self, epoch: Epoch, taken: &[Taken], parked: &Parked) -> StoreResult<()> {
        self.facts.lease_of(parked.key.bot, epoch).and_then(|()| self.facts.not_taken(taken))
    }

    pub(in crate::store) fn park(
        &mut self,
        epoch: Epoch,
        taken: &[Taken],
        parked: &Parked,
        outgoing: &[Outgoing],
    ) -> Result<StoreResult<SetAside>, GroupFailed> {
        let Parked { key, kind, body, reason, attempts, at, retry, .. } = parked;
        if let Err(refused) = self.check_parking(epoch, taken, parked) {
            return Ok(Err(refused));
        }
        self.take(taken, *at)?;
        let id = self.numbers.next(epoch);
        self.bulk.parked.add(&(id, key.bot, key, kind, body, reason, attempts, at, i64::from(*retry)))?;
        let mut outbox = Vec::with_capacity(outgoing.len());
        for said in outgoing {
            outbox.push(self.say(epoch, key.bot, &key.to_string(), said, *at)?);
        }
        Ok(Ok(SetAside { id: ParkedId(id), outbox }))
    }

    pub(in crate::store) fn settle(
        &mut self,
        epoch: Epoch,
        settled: &[Settled],
        at: Millis,
    ) -> Result<StoreResult<()>, GroupFailed> {
        let bot = match self.facts.bot_of(epoch) {
            Ok(bot) => bot,
            Err(refused) => return Ok(Err(refused)),
        };
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
        Ok(Ok(()))
    }

    pub(in crate::store) fn sending(
        &mut self,
        epoch: Epoch,
        ids: &[OutboxId],
        may_be_sent: bool,
    ) -> Result<StoreResult<()>, GroupFailed> {
        if let Err(refused) = self.facts.bot_of(epoch) {
            return Ok(Err(refused));
        }
        let rows = if may_be_sent { &mut self.bulk.sending } else { &mut self.bulk.not_sent };
        ids.iter().try_for_each(|id| rows.add(id))?;
        Ok(Ok(()))
    }

    pub(in crate::store) fn post(
        &mut self,
        epoch: Epoch,
        post: &Post,
    ) -> Result<StoreResult<Vec<OutboxId>>, GroupFailed> {
        let of_others = post.outgoing.iter().find_map(|(key, _)| self.facts.lease_of(key.bot, epoch).err());
        let bot = match of_others.map_or_else(|| self.facts.bot_of(epoch), Err) {
            Ok(bot) => bot,
            Err(refused) => return Ok(Err(refused)),
        };
        if !self.facts.note_post(bot, &post.once) {
            return Ok(Ok(Vec::new()));
        }
        self.bulk.posts.add(&(&post.once, bot, post.at))?;
        let mut ids = Vec::with_capacity(post.outgoing.len());
        for (key, outgoing) in &post.outgoing {
            ids.push(self.say(epoch, bot, &key.to_string(), outgoing, post.at)?);
        }
        Ok(Ok(ids))
    }

    pub(in crate::store) fn finish_effect(
        &mut self,
        epoch: Epoch,
        effect: EffectId,
        outcome: &Incoming,
    ) -> Result<StoreResult<Receipt>, GroupFailed> {
        if let Err(refused) = self.facts.lease_of(outcome.key.bot, epoch) {
            return Ok(Err(refused));
        }
        if !self.facts.note_effect(effect.0) {
            return Ok(Ok(Receipt::Known));
        }
        self.bulk.effects_gone.add(&effect)?;
        Ok(Ok(Receipt::New(self.put(outcome)?)))
    }

    pub(in crate::store) fn renew(&mut self, bot: i64, epoch: Epoch) -> Result<StoreResult<()>, GroupFailed> {
        let held = self.facts.lease_of(bot, epoch);
        if held.is_ok() {
            self.bulk.renewed.add(&bot)?;
        }
        Ok(held)
    }

    /// Everything that is to be written.
    pub(in crate::store) fn into_bulk(mut self) -> Result<Bulk, GroupFailed> {
        for (text, Turned { key, from, version, change, at }) in &self.turned {
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

fn add_input(rows: &mut Part, seq: i64, incoming: &Incoming) -> Result<(), GroupFailed> {
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
