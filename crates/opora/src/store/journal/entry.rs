//! What is written down of a turn while Redis is away: enough to do it again there.

use serde::{Deserialize, Serialize};

use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{
    Commit, Mark, Parked, Place, Settlement, StateChange, Stored, Taken, TimerChange, Transition, Version,
};

/// A turn, or an input that was set aside.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) key: DialogueKey,
    pub(super) at: Millis,
    /// The updates that it used up: their ids and identities.
    marks: Vec<(i64, Box<str>)>,
    pub(super) deed: Deed,
}

/// What was done.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Deed {
    /// A turn was committed.
    Turn {
        /// The version that it started from.
        from: Version,
        change: Change,
        /// The names of timers that it set or cancelled.
        timers: Vec<Box<str>>,
        moved: Option<Moved>,
        /// It wrote to the application's tables, in the same commit.
        has_written: bool,
    },
    /// An input was parked.
    Parked(Parked),
}

/// A change of the state.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Change {
    Keep,
    Set(Stored),
    Clear,
}

/// A transition.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Moved {
    from: Option<Place>,
    to: Option<Place>,
    by: Box<str>,
    took_us: i64,
}

/// What became of a send.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Sent {
    Out { labelled: Option<(i64, Box<str>, i64)> },
    Failed(Box<str>),
    Moved { from: i64, to: i64 },
}

impl Entry {
    pub(super) fn of_turn(commit: &Commit, has_written: bool) -> Self {
        let change = match &commit.state {
            StateChange::Keep => Change::Keep,
            StateChange::Set(stored) => Change::Set(stored.clone()),
            StateChange::Clear => Change::Clear,
        };
        let timers = commit.timers.iter().map(|timer| match timer {
            TimerChange::Set { name, .. } | TimerChange::Cancel(name) => name.clone(),
        });
        let moved =
            commit.transition.clone().map(|Transition { from, to, by, took_us }| Moved { from, to, by, took_us });
        Self {
            key: commit.key.clone(),
            at: commit.at,
            marks: marks_of(&commit.takes).map(|mark| (mark.update_id, mark.identity.clone())).collect(),
            deed: Deed::Turn { from: commit.from, change, timers: timers.collect(), moved, has_written },
        }
    }

    pub(super) fn of_parked(parked: &Parked, taken: &[Taken]) -> Self {
        Self {
            key: parked.key.clone(),
            at: parked.at,
            marks: marks_of(taken).map(|mark| (mark.update_id, mark.identity.clone())).collect(),
            deed: Deed::Parked(parked.clone()),
        }
    }

    /// The marks of the updates that it used up.
    pub(super) fn marks(&self) -> impl Iterator<Item = Mark> {
        let bot = self.key.bot;
        self.marks.iter().map(move |(update_id, identity)| Mark {
            bot,
            update_id: *update_id,
            identity: identity.clone(),
        })
    }
}

/// The updates that a turn uses up; what else it takes is the journal's own, and Redis has never heard of it.
pub(super) fn marks_of(taken: &[Taken]) -> impl Iterator<Item = &Mark> {
    taken.iter().filter_map(|taken| match taken {
        Taken::Update { mark, .. } | Taken::Fresh(mark) => Some(mark),
        _ => None,
    })
}

impl From<Change> for StateChange {
    fn from(change: Change) -> Self {
        match change {
            Change::Keep => Self::Keep,
            Change::Set(stored) => Self::Set(stored),
            Change::Clear => Self::Clear,
        }
    }
}

impl From<Moved> for Transition {
    fn from(Moved { from, to, by, took_us }: Moved) -> Self {
        Self { from, to, by, took_us }
    }
}

impl From<&Settlement> for Sent {
    fn from(settlement: &Settlement) -> Self {
        match settlement.clone() {
            Settlement::Sent { labelled } => Self::Out { labelled },
            Settlement::Failed(reason) => Self::Failed(reason),
            Settlement::Moved { from, to } => Self::Moved { from, to },
        }
    }
}

impl From<Sent> for Settlement {
    fn from(sent: Sent) -> Self {
        match sent {
            Sent::Out { labelled } => Self::Sent { labelled },
            Sent::Failed(reason) => Self::Failed(reason),
            Sent::Moved { from, to } => Self::Moved { from, to },
        }
    }
}
