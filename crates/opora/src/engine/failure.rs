//! Why a turn did not commit, and what the engine does next.
//!
//! The text of a failure may quote a person. It goes to the parked row, which only the operator sees, and to the log at
//! level debug. At higher levels the log has only the kind of failure, the conversation and the id of the row.

use std::fmt;

use crate::store::{ConversationRow, Refusal, StoreError};
use crate::turn::TurnError;

/// What to do with a turn that did not commit.
pub(super) enum NotCommitted {
    /// Another turn committed in between: run again at once.
    Again,
    /// The application's writes refused: run again with the reason.
    Refused(Refusal),
    /// The store is unavailable, the conversation is locked, or it has no local copy: wait.
    Wait(StoreError),
    /// The attempt failed: retry, then park.
    Failed(Failure),
    /// The state cannot be read: park it.
    Unreadable(Option<Box<ConversationRow>>, Failure),
    /// An earlier turn processed the input.
    AlreadyProcessed,
    /// The input has no handler: park it for the operator.
    Unhandled(String),
    /// The lease is lost.
    Stop,
}

/// Why a turn failed, as a kind and as text.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) kind: FailureKind,
    pub(super) description: String,
}

/// The kind of a failure. Unlike the text, it may be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureKind {
    Handler,
    Panic,
    Deadline,
    Writes,
    Refusals,
    State,
    Input,
    /// Something that the handler needs is unavailable. This is not a failure of the turn.
    Unavailable,
}

impl FailureKind {
    pub(super) fn because(self, description: impl Into<String>) -> Failure {
        Failure { kind: self, description: description.into() }
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
            Self::State => "the stored state cannot be read",
            Self::Input => "the input cannot be read",
            Self::Unavailable => "something that the handler needs is unavailable",
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
            StoreError::AlreadyProcessed => Self::AlreadyProcessed,
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
