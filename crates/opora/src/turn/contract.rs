//! What the runtime gives to a turn, and what the turn returns. The turn itself has no side effects.

use std::sync::Arc;

use serde::de::IgnoredAny;

use super::Context;
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::requester::{EffectOutcome, Requester, WithRequester};
use crate::store::{
    BoxError, Commit, DomainWrites, Effect, NewJob, Outgoing, Refusal, StateChange, StateName, StoredState,
    TimerChange, Transition, Version,
};
use crate::telegram::Destination;
use crate::update::Update;

/// Everything a turn starts from.
#[derive(Debug)]
pub(crate) struct TurnStart {
    pub key: ConversationKey,
    /// The version before the turn. The commit makes the next one.
    pub version: Version,
    pub stored: Option<StoredState>,
    pub input: TurnInput,
    pub now: Millis,
    /// Why the application's writes refused the previous attempt of this turn.
    pub refusal: Option<Refusal>,
    pub context: Arc<Context>,
    /// Where the input came from, if that differs from the conversation's key.
    pub destination: Option<Destination>,
}

/// The handler that runs now. Every request records it, because one turn may run handlers of several dialogues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunningHandler {
    /// Empty while no handler of a dialogue runs.
    pub dialogue: &'static str,
    pub track: Box<str>,
    /// The index in the track's stack of the handler's state. None for a handler without a state, such as an entry.
    pub depth: Option<usize>,
}

/// The input of a turn.
#[derive(Clone, Debug)]
pub(crate) enum TurnInput {
    Update(Arc<Update>),
    Album(Vec<Arc<Update>>),
    Timer {
        name: Box<str>,
        body: Box<str>,
    },
    Outcome(EffectOutcome),
    /// A dialogue of the conversation has expired.
    Expired,
    /// The question of the foreground is to be asked again.
    AskAgain,
    /// A turn was parked. The dialogue handles that in this turn.
    Failed {
        reason: String,
        update: Option<Arc<Update>>,
        /// The requester of a failed timer or outcome.
        by: Option<Requester>,
    },
    /// The stored state was unreadable and is parked. The person is told, and all dialogues end.
    Unreadable {
        update: Option<Arc<Update>>,
    },
}

impl TurnInput {
    /// Parses an outcome of the inbox.
    pub fn outcome(body: &str) -> Result<Self, String> {
        EffectOutcome::read(body).map(Self::Outcome).map_err(|error| format!("not an outcome: {error}"))
    }

    /// The input after this input's turn has failed for good.
    pub fn failed(self, reason: String) -> Self {
        let by = match &self {
            Self::Timer { body, .. } => {
                serde_json::from_str::<WithRequester<IgnoredAny>>(body).ok().map(|wrapped| wrapped.by)
            }
            Self::Outcome(outcome) => Some(outcome.by.clone()),
            _ => None,
        };
        Self::Failed { reason, update: self.into_update(), by }
    }

    /// The input after this input's turn could not read the stored state.
    pub fn unreadable(self) -> Self {
        Self::Unreadable { update: self.into_update() }
    }

    /// The kind of input, for logs.
    pub fn name(&self) -> &str {
        match self {
            Self::Update(update) => &update.kind,
            Self::Album(_) => "album",
            Self::Timer { .. } => "timer",
            Self::Outcome(_) => "outcome",
            Self::Expired => "expired",
            Self::AskAgain => "again",
            Self::Failed { .. } => "failed",
            Self::Unreadable { .. } => "unreadable",
        }
    }

    /// Whether it is an update of Telegram, and not a timer, an outcome or an input of the library itself.
    pub const fn is_from_telegram(&self) -> bool {
        matches!(self, Self::Update(_) | Self::Album(_))
    }

    /// The update; of an album the first.
    pub fn update(&self) -> Option<&Arc<Update>> {
        match self {
            Self::Update(update) => Some(update),
            Self::Album(updates) => updates.first(),
            Self::Failed { update, .. } | Self::Unreadable { update } => update.as_ref(),
            _ => None,
        }
    }

    fn into_update(self) -> Option<Arc<Update>> {
        self.update().cloned()
    }
}

/// The result of a turn, to be committed.
#[derive(Debug)]
pub(crate) struct TurnResult {
    pub state: StateChange,
    pub outgoing: Vec<Outgoing>,
    pub timers: Vec<TimerChange>,
    pub effects: Vec<Effect>,
    /// Not yet in a form that a store commits.
    pub jobs: Vec<NewJob>,
    /// The states of the foreground before and after the turn, and the kind of input. None if they are the same.
    pub transition: Option<(Option<StateName>, Option<StateName>, &'static str)>,
    pub writes: Option<DomainWrites>,
    pub handling: Handling,
    /// The child whose return value the parent's state does not handle.
    pub lost_result: Option<Box<str>>,
}

/// Whether a handler, or the library itself, handled the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Handling {
    Handled,
    /// No handler takes this update. The word is the reason, for metrics.
    Ignored(&'static str),
    /// A timer fired after its state had ended.
    StateEnded,
    /// No handler takes this outcome, timer or alarm; the reason in words.
    Unhandled(String),
}

impl TurnResult {
    /// The commit of this result, on top of the key, version, inputs and time of `turn`.
    pub fn into_commit(self, turn: Commit, took_us: i64) -> Commit {
        let Self { state, outgoing, timers, effects, transition, writes, .. } = self;
        let transition = transition.map(|(from, to, by)| Transition { from, to, by: by.into(), took_us });
        Commit { state, outgoing, timers, effects, transition, writes, ..turn }
    }

    /// Whether a commit would change nothing but the version.
    pub fn changes_nothing(&self) -> bool {
        matches!(self.state, StateChange::Keep)
            && self.outgoing.is_empty()
            && self.timers.is_empty()
            && self.effects.is_empty()
            && self.jobs.is_empty()
            && self.writes.is_none()
    }
}

/// Why a turn failed, by what the runtime does next.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TurnError {
    /// This program cannot read the stored state: park it.
    #[error("{0}")]
    Unreadable(String),
    /// A handler failed or asked for something impossible: retry, then park.
    #[error("{0}")]
    Failed(BoxError),
}

impl TurnError {
    pub fn failed(reason: impl Into<BoxError>) -> Self {
        Self::Failed(reason.into())
    }
}

impl From<BoxError> for TurnError {
    fn from(error: BoxError) -> Self {
        Self::Failed(error)
    }
}
