//! What the journal records of a turn while Redis is away: enough to replay it there.

use serde::{Deserialize, Serialize};

use crate::key::ConversationKey;
use crate::store::{Commit, InputRef, Mark, ParkedTurn, TimerChange};

/// A committed turn or a parked input.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    Turn {
        /// The commit without messages, effects and SQL writes. `timers` lists only names, each as `Cancel`: the replay
        /// takes the timers themselves from the journal's store.
        commit: Box<Commit>,
        /// Whether the commit also wrote to the application's tables.
        has_written: bool,
    },
    Parked {
        parked: Box<ParkedTurn>,
        /// The updates that it processed.
        marks: Vec<Mark>,
    },
}

impl Entry {
    pub(super) fn of_turn(commit: &Commit, has_written: bool) -> Self {
        let timers = commit.timers.iter().map(|timer| TimerChange::Cancel(timer.name().into()));
        let trimmed = Commit {
            processed: marks_of(&commit.processed).cloned().map(InputRef::DirectUpdate).collect(),
            state: commit.state.clone(),
            timers: timers.collect(),
            transition: commit.transition.clone(),
            ..Commit::new(commit.key.clone(), commit.from, commit.at)
        };
        Self::Turn { commit: Box::new(trimmed), has_written }
    }

    pub(super) fn of_parked(parked: &ParkedTurn, processed: &[InputRef]) -> Self {
        Self::Parked { parked: Box::new(parked.clone()), marks: marks_of(processed).cloned().collect() }
    }

    pub(super) fn key(&self) -> &ConversationKey {
        match self {
            Self::Turn { commit, .. } => &commit.key,
            Self::Parked { parked, .. } => &parked.key,
        }
    }

    /// The marks of the updates that it processed.
    pub(super) fn marks(&self) -> Vec<Mark> {
        match self {
            Self::Turn { commit, .. } => marks_of(&commit.processed).cloned().collect(),
            Self::Parked { marks, .. } => marks.clone(),
        }
    }
}

/// The marks of the updates among processed inputs. Other inputs are the journal's own; Redis does not know them.
pub(super) fn marks_of(processed: &[InputRef]) -> impl Iterator<Item = &Mark> {
    processed.iter().filter_map(|input| match input {
        InputRef::Update { mark, .. } | InputRef::DirectUpdate(mark) => Some(mark),
        _ => None,
    })
}
