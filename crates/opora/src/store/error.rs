//! The errors of stores.

use super::{Epoch, Refusal};
use crate::key::ConversationKey;

/// An error of a store, split by what the caller does next.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another turn committed first: open again and run again.
    #[error("another turn of {0} committed first")]
    Overtaken(ConversationKey),
    /// An earlier turn processed the input: drop it.
    #[error("this input was processed already")]
    AlreadyProcessed,
    /// Another instance holds the lease: stop working.
    #[error("the lease of epoch {mine:?} is lost: {holder}")]
    Fenced {
        /// The epoch that the refused write carried.
        mine: Epoch,
        /// Describes who holds the lease now.
        holder: String,
    },
    /// The store has lost data. The term as leader ends. The next claim goes on if only the last moments are missing;
    /// otherwise an operator has to decide.
    #[error("{what}")]
    Lost {
        /// What was expected, what was found, and what can be done about it.
        what: String,
    },
    /// The application's writes refused. Nothing of the turn was stored.
    #[error("refused: {0}")]
    Refused(Refusal),
    /// The application's writes failed. Nothing of the turn was stored, and the turn fails.
    #[error("the application's writes failed: {0}")]
    WritesFailed(#[source] BoxError),
    /// The stored state cannot be read: park it.
    #[error("the stored state of {key} cannot be read")]
    Unreadable {
        /// The conversation whose state it is.
        key: ConversationKey,
        /// Why it cannot be read.
        #[source]
        source: BoxError,
    },
    /// The store did not answer, or its disk is full: wait and retry.
    #[error("the store did not answer: {0}")]
    Unavailable(#[source] BoxError),
    /// Another program has locked the conversation: retry soon. Only
    /// [`Store::open_for_turn`](super::Store::open_for_turn) returns this.
    #[error("another program holds the lock {lock} of the conversation")]
    Locked {
        /// The name of the lock, for the log.
        lock: String,
    },
    /// The store is unreachable, and there is no local copy of the conversation: wait, and tell the person. Only
    /// [`Store::open_for_turn`](super::Store::open_for_turn) and [`Store::open`](super::Store::open) return this.
    #[error("the store is unreachable and has no local copy of {key}: the conversation waits")]
    NoCopy {
        /// The conversation that has to wait.
        key: ConversationKey,
        /// The idempotency key of the message to the person.
        notice: String,
    },
    /// The store does not support this operation.
    #[error("{0}")]
    Unsupported(&'static str),
}

impl StoreError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Locked { .. } | Self::NoCopy { .. })
    }

    /// Whether nothing may be written any more under this lease.
    #[must_use]
    pub fn ends_lease(&self) -> bool {
        matches!(self, Self::Fenced { .. } | Self::Lost { .. })
    }

    /// The error of a write with an old epoch.
    pub(super) fn fenced(mine: Epoch, holder: impl Into<String>) -> Self {
        Self::Fenced { mine, holder: holder.into() }
    }

    /// The error as `claim` returns it. A claim that lost a race is retried, so `Fenced` becomes `Unavailable`.
    pub(super) fn for_claim(self) -> Self {
        match self {
            Self::Fenced { .. } => Self::Unavailable("another instance was faster".into()),
            other => other,
        }
    }
}

/// An error of any type.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The result of a store call.
pub type StoreResult<T> = Result<T, StoreError>;
