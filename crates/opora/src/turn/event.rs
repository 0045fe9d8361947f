//! What the runtime gives to a turn, and what it gets back. A turn in between is pure: it changes nothing by itself.

use std::sync::Arc;

use serde::de::IgnoredAny;

use super::Context;
use crate::asking::{Asker, Finish, Wrapped};
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{
    BoxError, DomainWrites, Effect, Outgoing, Place, Refusal, StateChange, Stored, TimerChange, Version,
};
use crate::telegram::Destination;
use crate::update::Update;

/// Everything a turn starts from.
#[derive(Debug)]
pub(crate) struct Moment {
    pub key: DialogueKey,
    /// The version that the turn starts from; its commit will make the next one.
    pub version: Version,
    pub stored: Option<Stored>,
    pub event: Event,
    pub now: Millis,
    /// Why the application's writes refused this turn the last time.
    pub refusal: Option<Refusal>,
    pub context: Arc<Context>,
    /// Where the input came from, if that is not the conversation's own place.
    pub place: Option<Destination>,
}

/// What a turn is about.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Update(Arc<Update>),
    Album(Vec<Arc<Update>>),
    Timer {
        name: Box<str>,
        body: Box<str>,
    },
    Outcome(Finish),
    /// The life of something here is over.
    Expired,
    /// The person is asked again where the dialogue stands.
    Again,
    /// A turn was parked: its person is helped in a turn of its own.
    Failed {
        reason: String,
        update: Option<Arc<Update>>,
        /// Who asked for what failed, where a timer or an outcome did.
        by: Option<Asker>,
    },
    /// What was stored has been set aside: its person is told, and everything here ends.
    Unreadable {
        update: Option<Arc<Update>>,
    },
}

impl Event {
    /// The event of an outcome as it lies in the inbox.
    pub fn outcome(body: &str) -> Result<Self, String> {
        Finish::read(body).map(Self::Outcome).map_err(|error| format!("not an outcome: {error}"))
    }

    /// This event's turn has failed for good.
    pub fn failed(self, reason: String) -> Self {
        let by = match &self {
            Self::Timer { body, .. } => {
                serde_json::from_str::<Wrapped<IgnoredAny>>(body).ok().map(|wrapped| wrapped.by)
            }
            Self::Outcome(finish) => Some(finish.by.clone()),
            _ => None,
        };
        Self::Failed { reason, update: self.into_update(), by }
    }

    /// This event's turn could not read what is stored.
    pub fn unreadable(self) -> Self {
        Self::Unreadable { update: self.into_update() }
    }

    /// What it is, for logs.
    pub fn name(&self) -> &str {
        match self {
            Self::Update(update) => &update.kind,
            Self::Album(_) => "album",
            Self::Timer { .. } => "timer",
            Self::Outcome(_) => "outcome",
            Self::Expired => "expired",
            Self::Again => "again",
            Self::Failed { .. } => "failed",
            Self::Unreadable { .. } => "unreadable",
        }
    }

    /// Whether Telegram sent it, for a person as a rule. Timers, outcomes and what the library starts itself are not.
    pub const fn is_from_telegram(&self) -> bool {
        matches!(self, Self::Update(_) | Self::Album(_))
    }

    /// The update behind it; of an album, the first.
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

/// What a turn wants to be committed.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub state: StateChange,
    pub outgoing: Vec<Outgoing>,
    pub timers: Vec<TimerChange>,
    pub effects: Vec<Effect>,
    /// Where the foreground stood, where it stands now, and what moved it; none if it did not move.
    pub transition: Option<(Option<Place>, Option<Place>, &'static str)>,
    pub writes: Option<DomainWrites>,
    pub hearing: Hearing,
    /// The child whose result the parent's state does not hear.
    pub lost_result: Option<Box<str>>,
}

/// Whether a handler, or the library itself, has heard what the turn was about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hearing {
    Heard,
    /// What a person or Telegram sent is heard by no handler; the word says why, for metrics.
    Ignored(&'static str),
    /// A timer fired after its state had ended.
    StateOver,
    /// An outcome, a timer or an alarm that no handler hears; in words.
    Unheard(String),
}

impl Outcome {
    /// A commit of this would change nothing but the version.
    pub fn changes_nothing(&self) -> bool {
        matches!(self.state, StateChange::Keep)
            && self.outgoing.is_empty()
            && self.timers.is_empty()
            && self.effects.is_empty()
            && self.writes.is_none()
    }
}

/// Why a turn came to nothing, split by what the runtime does next.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TurnError {
    /// What is stored cannot be read by this program: set it aside.
    #[error("{0}")]
    Unreadable(String),
    /// A handler failed, or asked for what cannot be: try again, then park.
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
