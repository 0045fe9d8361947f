//! What a group of operations is decided by: leases, marks, versions and so on.
//!
//! One statement reads them. It returns exceptions only, such as a missing row or an unexpected version. So a group
//! without surprises reads a lease and nothing else, whatever its size.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::bulk::ColumnKind::{self, Number, Text};
use super::bulk::Part;
use super::columns::Columns;
use super::failure::GroupError;
use super::operation::Operation;
use super::rows::Rows;
use super::tables::for_database;
use crate::key::ConversationKey;
use crate::store::{Epoch, Holder, Incoming, InputRef, Mark, Origin, StoreError, StoreResult, Version};

/// What is known of the database. Deciding an operation updates it.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    leases: Arc<Leases>,
    /// Updates that wait or were processed, by bot and id.
    known: HashSet<(i64, i64, Box<str>)>,
    /// Updates that were processed, of the direct updates.
    processed: HashSet<(i64, i64, Box<str>)>,
    gone_inputs: HashSet<i64>,
    /// Versions of the group's conversations.
    versions: HashMap<String, i64>,
    /// Timers that are set, of those that were looked up.
    timers: HashMap<i64, (String, Box<str>)>,
    gone_parked: HashSet<i64>,
    gone_effects: HashSet<i64>,
    posted: HashSet<(i64, String)>,
    /// Conversations with waiting inputs, of those that get a delivery.
    waited_for: HashSet<String>,
    /// Inbox positions reserved for this group.
    positions: VecDeque<i64>,
    /// The last inbox position given, in a store where no other process can give one until the group commits.
    last_place: Option<i64>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Leases(HashMap<i64, LeaseFact>);

#[derive(Clone, Debug)]
struct LeaseFact {
    epoch: Epoch,
    holder: Option<String>,
}

/// What the statement looks up.
#[derive(Default)]
pub(crate) struct Lookups {
    /// `bot, update_id, identity` of new updates.
    pub(crate) marks: Rows,
    /// `bot, update_id, identity` of direct updates.
    pub(crate) direct: Rows,
    /// `seq`.
    pub(crate) inputs: Rows,
    /// `key, version`.
    pub(crate) versions: Rows,
    /// `id`.
    pub(crate) timers: Rows,
    /// `id`.
    pub(crate) parked: Rows,
    /// `id`.
    pub(crate) effects: Rows,
    /// `once`.
    pub(crate) posts: Rows,
    /// `key` of conversations that get a delivery.
    pub(crate) queues: Rows,
    /// How many inbox positions may be needed.
    pub(crate) positions: usize,
}

/// The statement that reads the facts. `table` gives the rows of a lookup as a table; the lookup is the value with this
/// number.
pub(crate) fn statement(is_postgres: bool, table: impl Fn(&Part, usize) -> String) -> String {
    let statement = for_database(include_str!("facts.sql"), is_postgres);
    Lookups::default().into_parts().iter().zip(1..).fold(statement, |statement, (part, number)| {
        statement.replace(&format!("{{{}}}", part.name), &table(part, number))
    })
}

impl Facts {
    /// The expected facts, and the lookups that may correct them.
    pub(crate) fn expected(operations: &[Operation]) -> Result<(Self, Lookups), GroupError> {
        let mut facts = Self::default();
        let lookups = facts.lookups(operations)?;
        Ok((facts, lookups))
    }

    /// The facts of an optimistic group: the leases last seen, and everything else as the group expects it.
    pub(crate) fn assumed(leases: Arc<Leases>, operations: &[Operation]) -> Self {
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

    pub(crate) fn leases(&self) -> Arc<Leases> {
        Arc::clone(&self.leases)
    }

    /// Adds one result row: its kind, numbers and texts.
    pub(crate) fn add_row(&mut self, row: &impl Columns) -> sqlx::Result<()> {
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
                self.processed.insert((row.number(2)?, number, row.text(3)?));
            }
            10 => {
                self.waited_for.insert(row.text(3)?);
            }
            11 => self.positions.push_back(number),
            _ => self.last_place = Some(number),
        }
        Ok(())
    }

    fn lookups(&mut self, operations: &[Operation]) -> Result<Lookups, GroupError> {
        let mut ask = Lookups::default();
        for operation in operations {
            ask.positions += operation.inputs();
            match operation {
                Operation::Receive { batch, .. } => ask.add_incoming(batch)?,
                Operation::Deliver { batch, .. } => {
                    ask.add_incoming(batch)?;
                    batch.iter().try_for_each(|incoming| ask.queues.add(&incoming.key))?;
                }
                Operation::Commit { key, commit, .. } => {
                    ask.add_inputs(&commit.processed)?;
                    // Expected, unless a result row corrects it.
                    if !self.versions.contains_key(key) {
                        ask.versions.add(&(key, commit.from))?;
                        self.versions.insert(key.clone(), commit.from.0);
                    }
                }
                Operation::Park { processed, .. } => ask.add_inputs(processed)?,
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

    /// Refuses an epoch that is not the bot's present one.
    pub(crate) fn lease_of(&self, bot: i64, epoch: Epoch) -> StoreResult<()> {
        match self.leases.0.get(&bot) {
            Some(lease) if lease.epoch == epoch && lease.holder.is_some() => Ok(()),
            Some(LeaseFact { epoch: current, holder: Some(holder) }) => {
                Err(StoreError::fenced(epoch, in_words(*current, holder)))
            }
            _ => Err(StoreError::fenced(epoch, "no instance holds it")),
        }
    }

    /// The bot of an epoch. Epochs are unique in a database.
    pub(crate) fn bot_of(&self, epoch: Epoch) -> StoreResult<i64> {
        match self.leases.0.iter().find(|(_, lease)| lease.epoch == epoch) {
            Some((bot, _)) => self.lease_of(*bot, epoch).map(|()| *bot),
            None => Err(StoreError::fenced(epoch, "another instance has taken over")),
        }
    }

    /// Records that an update waits; false if it was known.
    pub(crate) fn note_update(&mut self, mark: &Mark) -> bool {
        self.known.insert(mark_key(mark))
    }

    /// Records that an input of this conversation waits; false if one did before.
    pub(crate) fn note_waiting(&mut self, key: &ConversationKey) -> bool {
        self.waited_for.insert(key.to_string())
    }

    pub(crate) fn next_position(&mut self) -> Result<i64, GroupError> {
        if let Some(last) = &mut self.last_place {
            *last += 1;
            return Ok(*last);
        }
        self.positions.pop_front().ok_or_else(|| GroupError::because("no inbox position was reserved"))
    }

    /// The last position given, if this group has to store it.
    pub(crate) fn last_place(&self) -> Option<i64> {
        self.last_place
    }

    /// Refuses inputs that were processed before.
    pub(crate) fn check_unprocessed(&self, processed: &[InputRef]) -> StoreResult<()> {
        let is_there = |one: &InputRef| match one {
            InputRef::Update { seq, mark } => {
                !self.gone_inputs.contains(&seq.0) && !self.processed.contains(&mark_key(mark))
            }
            InputRef::DirectUpdate(mark) => !self.processed.contains(&mark_key(mark)),
            InputRef::Outcome(seq) => !self.gone_inputs.contains(&seq.0),
            InputRef::Timer(id) => self.timers.contains_key(&id.0),
            InputRef::Parked(id) => !self.gone_parked.contains(&id.0),
        };
        if processed.iter().all(is_there) { Ok(()) } else { Err(StoreError::AlreadyProcessed) }
    }

    /// Records that an input is processed.
    pub(crate) fn note_processed(&mut self, input: &InputRef) {
        match input {
            InputRef::Update { seq, mark } => {
                self.gone_inputs.insert(seq.0);
                // If it arrives again in this group, it is known.
                self.known.insert(mark_key(mark));
                self.processed.insert(mark_key(mark));
            }
            InputRef::DirectUpdate(mark) => {
                self.known.insert(mark_key(mark));
                self.processed.insert(mark_key(mark));
            }
            InputRef::Outcome(seq) => {
                self.gone_inputs.insert(seq.0);
            }
            InputRef::Timer(id) => {
                self.timers.remove(&id.0);
            }
            InputRef::Parked(id) => {
                self.gone_parked.insert(id.0);
            }
        }
    }

    /// Records that a timer was set again or cancelled: the earlier one cannot fire.
    pub(crate) fn note_timer(&mut self, key: &str, name: &str) {
        self.timers.retain(|_, (of, named)| of != key || **named != *name);
    }

    pub(crate) fn version(&self, key: &str) -> Version {
        Version(self.versions.get(key).copied().unwrap_or_default())
    }

    pub(crate) fn note_version(&mut self, key: &str, version: Version) {
        if let Some(known) = self.versions.get_mut(key) {
            *known = version.0;
        }
    }

    /// Records that an effect is finished; false if it was before.
    pub(crate) fn note_effect(&mut self, effect: i64) -> bool {
        self.gone_effects.insert(effect)
    }

    /// Records the key of a post; false if it was posted before.
    pub(crate) fn note_post(&mut self, bot: i64, once: &str) -> bool {
        self.posted.insert((bot, once.to_owned()))
    }
}

impl Leases {
    /// Whether a lease with this epoch is held.
    pub(crate) fn are_held_under(&self, epoch: Epoch) -> bool {
        self.0.values().any(|lease| lease.epoch == epoch && lease.holder.is_some())
    }

    #[cfg(test)]
    pub(crate) fn held(bot: i64, epoch: Epoch) -> Self {
        Self(HashMap::from([(bot, LeaseFact { epoch, holder: Some(String::new()) })]))
    }
}

impl Lookups {
    /// The lookups in the order of the statement's values.
    pub(crate) fn into_parts(self) -> [Part; 9] {
        const MARK: &[(&str, ColumnKind)] = &[("bot", Number), ("update_id", Number), ("identity", Text)];
        const ID: &[(&str, ColumnKind)] = &[("id", Number)];
        let Self { marks, direct, inputs, versions, timers, parked, effects, posts, queues, positions: _ } = self;
        [
            Part::new("marks", MARK, marks),
            Part::new("inputs", &[("seq", Number)], inputs),
            Part::new("versions", &[("key", Text), ("version", Number)], versions),
            Part::new("timers", ID, timers),
            Part::new("parked", ID, parked),
            Part::new("effects", ID, effects),
            Part::new("posts", &[("once", Text)], posts),
            Part::new("direct", MARK, direct),
            Part::new("queues", &[("key", Text)], queues),
        ]
    }

    fn add_incoming(&mut self, batch: &[Incoming]) -> Result<(), GroupError> {
        for incoming in batch {
            if let Origin::Update(mark) = &incoming.origin {
                self.marks.add(&(mark.bot, mark.update_id, &mark.identity))?;
            }
        }
        Ok(())
    }

    fn add_inputs(&mut self, processed: &[InputRef]) -> Result<(), GroupError> {
        for one in processed {
            match one {
                InputRef::Update { seq, .. } | InputRef::Outcome(seq) => self.inputs.add(seq)?,
                InputRef::DirectUpdate(mark) => self.direct.add(&(mark.bot, mark.update_id, &mark.identity))?,
                InputRef::Timer(id) => self.timers.add(id)?,
                InputRef::Parked(id) => self.parked.add(id)?,
            }
        }
        Ok(())
    }
}

fn mark_key(mark: &Mark) -> (i64, i64, Box<str>) {
    (mark.bot, mark.update_id, mark.identity.clone())
}

fn in_words(epoch: Epoch, holder: &str) -> String {
    match serde_json::from_str::<Holder>(holder) {
        Ok(holder) => format!("process {} on {} holds epoch {}", holder.pid, holder.host, epoch.0),
        Err(_) => format!("another process holds epoch {}", epoch.0),
    }
}
