//! What is written down of a turn while Redis is away: enough to do it again there.

use serde::{Deserialize, Serialize};

use crate::key::DialogueKey;
use crate::store::{Commit, Mark, Parked, Taken, TimerChange};

/// A turn, or an input that was set aside.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    /// A turn was committed.
    Turn {
        /// The commit without messages, effects and writes. `timers` lists only names, each as `Cancel`: the replay
        /// replaces them by the timers that are set in the journal's store.
        commit: Box<Commit>,
        /// It wrote to the application's tables, in the same commit.
        has_written: bool,
    },
    /// An input was parked.
    Parked {
        parked: Box<Parked>,
        /// The updates that it used up.
        marks: Vec<Mark>,
    },
}

impl Entry {
    pub(super) fn of_turn(commit: &Commit, has_written: bool) -> Self {
        let timers = commit.timers.iter().map(|timer| TimerChange::Cancel(timer.name().into()));
        let trimmed = Commit {
            takes: marks_of(&commit.takes).cloned().map(Taken::Fresh).collect(),
            state: commit.state.clone(),
            timers: timers.collect(),
            transition: commit.transition.clone(),
            ..Commit::new(commit.key.clone(), commit.from, commit.at)
        };
        Self::Turn { commit: Box::new(trimmed), has_written }
    }

    pub(super) fn of_parked(parked: &Parked, taken: &[Taken]) -> Self {
        Self::Parked { parked: Box::new(parked.clone()), marks: marks_of(taken).cloned().collect() }
    }

    /// Whose it is.
    pub(super) fn key(&self) -> &DialogueKey {
        match self {
            Self::Turn { commit, .. } => &commit.key,
            Self::Parked { parked, .. } => &parked.key,
        }
    }

    /// The marks of the updates that it used up.
    pub(super) fn marks(&self) -> Vec<Mark> {
        match self {
            Self::Turn { commit, .. } => marks_of(&commit.takes).cloned().collect(),
            Self::Parked { marks, .. } => marks.clone(),
        }
    }
}

/// The updates that a turn uses up; what else it takes is the journal's own, and Redis has never heard of it.
pub(super) fn marks_of(taken: &[Taken]) -> impl Iterator<Item = &Mark> {
    taken.iter().filter_map(|taken| match taken {
        Taken::Update { mark, .. } | Taken::Fresh(mark) => Some(mark),
        _ => None,
    })
}
