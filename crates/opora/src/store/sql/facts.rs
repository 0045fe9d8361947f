//! What a group of operations is decided by.
//!
//! A store asks the questions in one statement, which answers exceptions only: a row that is missing, a version that is
//! not the expected one. So a group without surprises reads a lease and nothing else, whatever its size.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::columns::Columns;
use super::failure::GroupFailed;
use super::operation::Operation;
use super::rows::Rows;
use crate::key::DialogueKey;
use crate::store::{Epoch, Holder, Incoming, Mark, Origin, StoreError, StoreResult, Taken, Version};

/// What is known before anything of the group is decided; deciding adds to it.
#[derive(Debug, Default)]
pub(in crate::store) struct Facts {
    leases: Arc<Leases>,
    /// Updates that wait or were taken, by bot and id.
    known: HashSet<(i64, i64, Box<str>)>,
    /// Updates that were taken, of those that did not wait for the inbox.
    taken: HashSet<(i64, i64, Box<str>)>,
    /// Inbox rows that are not there.
    gone_inputs: HashSet<i64>,
    /// Versions of the conversations of this group.
    versions: HashMap<String, i64>,
    /// Timers that are set, of those that were asked for.
    timers: HashMap<i64, (String, Box<str>)>,
    gone_parked: HashSet<i64>,
    gone_effects: HashSet<i64>,
    posted: HashSet<(i64, String)>,
    /// Conversations of which something waits, of those to which something is delivered.
    waited_for: HashSet<String>,
    /// Places in the inbox that are set apart for this group.
    places: VecDeque<i64>,
    /// The last place that was given, where nobody else can give one until the group is committed.
    last_place: Option<i64>,
}

/// Leases by bot.
#[derive(Clone, Debug, Default)]
pub(in crate::store) struct Leases(HashMap<i64, LeaseFact>);

#[derive(Clone, Debug)]
struct LeaseFact {
    epoch: Epoch,
    holder: Option<String>,
}

/// What the statement is asked.
#[derive(Default)]
pub(in crate::store) struct Questions {
    /// `bot, update_id, identity`, of updates that come.
    pub(in crate::store) marks: Rows,
    /// `bot, update_id, identity`, of updates whose turns did not wait for the inbox.
    pub(in crate::store) fresh: Rows,
    /// `seq`.
    pub(in crate::store) inputs: Rows,
    /// `key, version`.
    pub(in crate::store) versions: Rows,
    /// `id`.
    pub(in crate::store) timers: Rows,
    /// `id`.
    pub(in crate::store) parked: Rows,
    /// `id`.
    pub(in crate::store) effects: Rows,
    /// `once`.
    pub(in crate::store) posts: Rows,
    /// `key`, of conversations to which something is delivered.
    pub(in crate::store) queues: Rows,
    /// How many places in the inbox may be needed.
    pub(in crate::store) places: usize,
}

impl Facts {
    /// What is taken for granted until the answers say otherwise, and what has to be asked for these operations.
    pub(in crate::store) fn expected(operations: &[Operation]) -> Result<(Self, Questions), GroupFailed> {
        let mut facts = Self::default();
        let questions = facts.questions(operations)?;
        Ok((facts, questions))
    }

    /// What is taken for granted if nothing is asked: the leases as they were, and nothing but what is expected.
    pub(in crate::store) fn assumed(leases: Arc<Leases>, operations: &[Operation]) -> Self {
        let mut facts = Self { leases, last_place: Some(-1), ..Self::default() };
        for operation in operations {
            if let Operation::Commit { key, commit, .. } = operation
                && !facts.versions.contains_key(key)
            {
                facts.versions.insert(key.clone(), commit.from.0);
            }
        }
        facts
    }

    pub(in crate::store) fn leases(&self) -> Arc<Leases> {
        Arc::clone(&self.leases)
    }

    /// Takes in one row of the answer: what kind it is of, its numbers and its texts.
    pub(in crate::store) fn learn(&mut self, row: &impl Columns) -> sqlx::Result<()> {
        let number = row.number(1)?;
        match row.number(0)? {
            1 => {
                let lease = LeaseFact { epoch: Epoch(row.number(2)?), holder: row.maybe_text(3)? };
                Arc::make_mut(&mut self.leases).0.insert(number, lease);
            }
            2 => {
                self.known.insert((row.number(2)?, number, row.text(3)?));
            }
            3 => {
                self.gone_inputs.insert(number);
            }
            4 => {
                self.versions.insert(row.text(3)?, number);
            }
            5 => {
                self.timers.insert(number, (row.text(3)?, row.text(4)?));
            }
            6 => {
                self.gone_parked.insert(number);
            }
            7 => {
                self.gone_effects.insert(number);
            }
            8 => {
                self.posted.insert((number, row.text(3)?));
            }
            9 => {
                self.taken.insert((row.number(2)?, number, row.text(3)?));
            }
            10 => {
                self.waited_for.insert(row.text(3)?);
            }
            11 => self.places.push_back(number),
            _ => self.last_place = Some(number),
        }
        Ok(())
    }

    fn questions(&mut self, operations: &[Operation]) -> Result<Questions, GroupFailed> {
        let mut ask = Questions::default();
        for operation in operations {
            ask.places += operation.inputs();
            match operation {
                Operation::Receive { batch, .. } => ask.come(batch)?,
                Operation::Deliver { batch, .. } => {
                    ask.come(batch)?;
                    batch.iter().try_for_each(|incoming| ask.queues.add(&incoming.key))?;
                }
                Operation::Commit { key, commit, .. } => {
                    ask.taken(&commit.takes)?;
                    // Expected until the answer says otherwise.
                    if !self.versions.contains_key(key) {
                        ask.versions.add(&(key, commit.from))?;
                        self.versions.insert(key.clone(), commit.from.0);
                    }
                }
                Operation::Park { taken, .. } => ask.taken(taken)?,
                Operation::FinishEffect { effect, .. } => ask.effects.add(effect)?,
                Operation::Post { post, .. } => ask.posts.add(&post.once)?,
                Operation::Write { .. }
                | Operation::Settle { .. }
                | Operation::Sending { .. }
                | Operation::Renew { .. } => {}
            }
        }
        Ok(ask)
    }

    /// Refuses an epoch that is not the one of this bot's lease.
    pub(in crate::store) fn lease_of(&self, bot: i64, epoch: Epoch) -> StoreResult<()> {
        match self.leases.0.get(&bot) {
            Some(lease) if lease.epoch == epoch && lease.holder.is_some() => Ok(()),
            Some(LeaseFact { epoch: theirs, holder: Some(holder) }) => Err(fenced(epoch, in_words(*theirs, holder))),
            _ => Err(fenced(epoch, "nobody holds it".to_owned())),
        }
    }

    /// The bot whose lease this epoch is: an epoch is given once in a file.
    pub(in crate::store) fn bot_of(&self, epoch: Epoch) -> StoreResult<i64> {
        match self.leases.0.iter().find(|(_, lease)| lease.epoch == epoch) {
            Some((bot, _)) => self.lease_of(*bot, epoch).map(|()| *bot),
            None => Err(fenced(epoch, "another instance has taken over".to_owned())),
        }
    }

    /// Notes that an update waits now; false if it was known.
    pub(in crate::store) fn note_update(&mut self, mark: &Mark) -> bool {
        self.known.insert(of(mark))
    }

    /// Notes that something of this conversation waits now; false if something did before.
    pub(in crate::store) fn note_waiting(&mut self, key: &DialogueKey) -> bool {
        self.waited_for.insert(key.to_string())
    }

    /// The next place in the inbox.
    pub(in crate::store) fn next_place(&mut self) -> Result<i64, GroupFailed> {
        if let Some(last) = &mut self.last_place {
            *last += 1;
            return Ok(*last);
        }
        self.places.pop_front().ok_or_else(|| GroupFailed::because("no place in the inbox was set apart"))
    }

    /// The last place that was given, where this group has to note it.
    pub(in crate::store) fn last_place(&self) -> Option<i64> {
        self.last_place
    }

    /// Refuses what was taken before.
    pub(in crate::store) fn not_taken(&self, taken: &[Taken]) -> StoreResult<()> {
        let is_there = |one: &Taken| match one {
            Taken::Update { seq, mark } => !self.gone_inputs.contains(&seq.0) && !self.taken.contains(&of(mark)),
            Taken::Fresh(mark) => !self.taken.contains(&of(mark)),
            Taken::Outcome(seq) => !self.gone_inputs.contains(&seq.0),
            Taken::Timer(id) => self.timers.contains_key(&id.0),
            Taken::Parked(id) => !self.gone_parked.contains(&id.0),
        };
        if taken.iter().all(is_there) { Ok(()) } else { Err(StoreError::AlreadyTaken) }
    }

    /// Notes that this is used up.
    pub(in crate::store) fn note_taken(&mut self, taken: &Taken) {
        match taken {
            Taken::Update { seq, mark } => {
                self.gone_inputs.insert(seq.0);
                // Should it come again in this very group, it is known.
                self.known.insert(of(mark));
                self.taken.insert(of(mark));
            }
            Taken::Fresh(mark) => {
                self.known.insert(of(mark));
                self.taken.insert(of(mark));
            }
            Taken::Outcome(seq) => {
                self.gone_inputs.insert(seq.0);
            }
            Taken::Timer(id) => {
                self.timers.remove(&id.0);
            }
            Taken::Parked(id) => {
                self.gone_parked.insert(id.0);
            }
        }
    }

    /// Notes that a timer was set anew or cancelled: what was set before cannot fire.
    pub(in crate::store) fn note_timer(&mut self, key: &str, name: &str) {
        self.timers.retain(|_, (of, named)| of != key || **named != *name);
    }

    /// The version that a conversation is at.
    pub(in crate::store) fn version(&self, key: &str) -> Version {
        Version(self.versions.get(key).copied().unwrap_or_default())
    }

    pub(in crate::store) fn note_version(&mut self, key: &str, version: Version) {
        if let Some(known) = self.versions.get_mut(key) {
            *known = version.0;
        }
    }

    /// Notes that an effect was carried out; false if it was before.
    pub(in crate::store) fn note_effect(&mut self, effect: i64) -> bool {
        self.gone_effects.insert(effect)
    }

    /// Notes a post's name; false if it was posted before.
    pub(in crate::store) fn note_post(&mut self, bot: i64, once: &str) -> bool {
        self.posted.insert((bot, once.to_owned()))
    }
}

impl Leases {
    /// Somebody holds one under this epoch.
    pub(in crate::store) fn are_held_under(&self, epoch: Epoch) -> bool {
        self.0.values().any(|lease| lease.epoch == epoch && lease.holder.is_some())
    }

    /// One that somebody holds.
    #[cfg(test)]
    pub(in crate::store) fn held(bot: i64, epoch: Epoch) -> Self {
        Self(HashMap::from([(bot, LeaseFact { epoch, holder: Some(String::new()) })]))
    }
}

impl Questions {
    fn come(&mut self, batch: &[Incoming]) -> Result<(), GroupFailed> {
        for incoming in batch {
            if let Origin::Update(mark) = &incoming.origin {
                self.marks.add(&(mark.bot, mark.update_id, &mark.identity))?;
            }
        }
        Ok(())
    }

    fn taken(&mut self, taken: &[Taken]) -> Result<(), GroupFailed> {
        for one in taken {
            match one {
                Taken::Update { seq, .. } | Taken::Outcome(seq) => self.inputs.add(seq)?,
                Taken::Fresh(mark) => self.fresh.add(&(mark.bot, mark.update_id, &mark.identity))?,
                Taken::Timer(id) => self.timers.add(id)?,
                Taken::Parked(id) => self.parked.add(id)?,
            }
        }
        Ok(())
    }
}

fn of(mark: &Mark) -> (i64, i64, Box<str>) {
    (mark.bot, mark.update_id, mark.identity.clone())
}

/// A refusal because of the lease.
pub(in crate::store) fn fenced(mine: Epoch, holder: String) -> StoreError {
    StoreError::Fenced { mine, holder }
}

fn in_words(epoch: Epoch, holder: &str) -> String {
    match serde_json::from_str::<Holder>(holder) {
        Ok(holder) => format!("process {} on {} holds epoch {}", holder.pid, holder.host, epoch.0),
        Err(_) => format!("another process holds epoch {}", epoch.0),
    }
}
