//! Why a turn did not commit, and what the engine does next.
//!
//! The words of a failure may quote what a person wrote: they go to the parked row, which only the operator sees, and
//! to the log at level debug. Above that the log has the kind of failure, the conversation, and the number of the row.

use std::fmt;

use crate::store::{ConversationRow, Refusal, StoreError};
use crate::turn::TurnError;

/// What to do with a turn that did not commit.
pub(super) enum NotCommitted {
    /// Another turn came between: run again at once.
    Again,
    /// The application's writes said no: run again with the reason.
    Refused(Refusal),
    /// The store is away, the conversation is locked, or there is no copy of it: wait.
    Wait(StoreError),
    /// The handler failed: try some more, then park.
    Failed(Failure),
    /// The state cannot be read: set it aside.
    Unreadable(Option<Box<ConversationRow>>, Failure),
    /// An earlier turn took the input.
    Taken,
    /// No handler hears the input: keep it for the operator.
    Unheard(String),
    /// The lease is over.
    Stop,
}

/// Why a turn failed: what kind of failure it is, and in words.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) kind: FailureKind,
    pub(super) words: String,
}

/// What kind of failure it is; this much the log may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureKind {
    Handler,
    Panic,
    Deadline,
    Writes,
    Refusals,
    State,
    Input,
    /// What the handler needs is away for now: no failure of the turn's.
    Away,
}

impl FailureKind {
    pub(super) fn because(self, words: impl Into<String>) -> Failure {
        Failure { kind: self, words: words.into() }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Handler => "the handler answered with an error",
            Self::Panic => "the handler panicked",
            Self::Deadline => "the handler took too long",
            Self::Writes => "the application's writes failed",
            Self::Refusals => "the application's writes were refused again and again",
            Self::State => "what is stored cannot be read",
            Self::Input => "the input cannot be read",
            Self::Away => "what the handler needs is away",
        })
    }
}

impl From<TurnError> for Failure {
    fn from(error: TurnError) -> Self {
        let kind = if matches!(error, TurnError::Unreadable(_)) { FailureKind::State } else { FailureKind::Handler };
        kind.because(error.to_string())
    }
}

impl From<StoreError> for NotCommitted {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Overtaken(_) => Self::Again,
            StoreError::AlreadyTaken => Self::Taken,
            StoreError::Fenced { .. } | StoreError::Lost { .. } => Self::Stop,
            StoreError::Refused(refusal) => Self::Refused(refusal),
            StoreError::Unreadable { source, .. } => {
                Self::Unreadable(None, FailureKind::State.because(source.to_string()))
            }
            error @ (StoreError::WritesFailed(_) | StoreError::Unsupported(_)) => {
                Self::Failed(FailureKind::Writes.because(error.to_string()))
            }
            error @ (StoreError::Unavailable(_) | StoreError::Locked { .. } | StoreError::NoCopy { .. }) => {
                Self::Wait(error)
            }
        }
    }
}
