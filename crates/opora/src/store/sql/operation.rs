//! What can be asked of the writer.
//!
//! Most operations are decided together, a group at a time. The rare ones, of leases and of operators, are carried out
//! alone: they may change what the others are decided by.

use std::borrow::Cow;

use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{
    Bounds, Commit, ConversationRow, DomainWrites, EffectId, Epoch, Holder, Incoming, Lease, OutboxId, Outgoing,
    Parked, ParkedId, Settled, StateChange, Taken,
};

/// An operation that is decided with others.
pub(in crate::store) enum Operation {
    Receive {
        epoch: Epoch,
        batch: Vec<Incoming>,
    },
    Deliver {
        batch: Vec<Incoming>,
    },
    Commit {
        epoch: Epoch,
        key: String,
        commit: Box<Commit>,
    },
    Park {
        epoch: Epoch,
        taken: Vec<Taken>,
        parked: Box<Parked>,
        outgoing: Vec<Outgoing>,
        /// Taken out to be run.
        writes: Option<DomainWrites>,
    },
    /// The writes are taken out to be run.
    Write {
        writes: Option<DomainWrites>,
    },
    Settle {
        epoch: Epoch,
        settled: Vec<Settled>,
        at: Millis,
        /// All of them are in the log of sent messages.
        is_logged: bool,
    },
    Sending {
        epoch: Epoch,
        ids: Vec<OutboxId>,
        /// Otherwise they surely were not sent.
        may_be_sent: bool,
    },
    Post {
        epoch: Epoch,
        post: Post,
    },
    FinishEffect {
        epoch: Epoch,
        effect: EffectId,
        outcome: Box<Incoming>,
    },
    Renew {
        bot: i64,
        epoch: Epoch,
    },
}

/// Messages outside of a turn.
pub(in crate::store) struct Post {
    pub(in crate::store) once: String,
    pub(in crate::store) outgoing: Vec<(DialogueKey, Outgoing)>,
    pub(in crate::store) at: Millis,
}

/// A conversation that is put into the store.
pub(in crate::store) struct Import {
    pub(in crate::store) row: Box<ConversationRow>,
    /// Whether one that is open there is replaced.
    pub(in crate::store) replace: bool,
    /// Whether it gets the version that its row says, also if that was there before.
    pub(in crate::store) is_exact: bool,
}

/// An operation that is carried out alone.
pub(in crate::store) enum Alone {
    Claim { bot: i64, holder: Box<Holder>, seen: Option<Box<Lease>> },
    Release { bot: i64, epoch: Epoch },
    ClearLease { bot: i64 },
    Clean { epoch: Epoch, bounds: Bounds, old: Old },
    Reset { key: DialogueKey, now: Millis },
    Forget { bot: i64, user: i64, now: Millis },
    Import(Import),
    RetryParked { id: ParkedId },
    DropParked { id: ParkedId },
}

/// What is removed when it is old, or too much. Each goes alone: between two of them others have their turn, and the
/// renewal of a lease above all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Old {
    Marks,
    Posts,
    Transitions,
    Failed,
    Labels,
    Ended,
    Parked,
}

impl Old {
    pub(in crate::store) const ALL: [Self; 7] =
        [Self::Marks, Self::Posts, Self::Transitions, Self::Failed, Self::Labels, Self::Ended, Self::Parked];
}

impl Operation {
    /// About how much there is to write.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Receive { batch, .. } | Self::Deliver { batch, .. } => {
                batch.iter().map(|incoming| 128 + incoming.body.len()).sum()
            }
            Self::Commit { commit, .. } => bytes_of(commit),
            Self::Park { parked, outgoing, .. } => parked.body.len() + parked.reason.len() + bytes_said(outgoing),
            Self::Post { post, .. } => post.outgoing.iter().map(|(_, outgoing)| 128 + outgoing.body.len()).sum(),
            Self::FinishEffect { outcome, .. } => outcome.body.len(),
            Self::Settle { settled, .. } => settled.len() * 32,
            Self::Sending { ids, .. } => ids.len() * 16,
            Self::Write { .. } | Self::Renew { .. } => 0,
        }
    }

    /// It runs the application's code within the transaction.
    pub(in crate::store) fn has_writes(&self) -> bool {
        match self {
            Self::Write { .. } => true,
            Self::Commit { commit, .. } => commit.writes.is_some(),
            Self::Park { writes, .. } => writes.is_some(),
            _ => false,
        }
    }

    /// Takes the application's code out, to be run.
    pub(super) fn take_writes(&mut self) -> Option<DomainWrites> {
        match self {
            Self::Write { writes } | Self::Park { writes, .. } => writes.take(),
            Self::Commit { commit, .. } => commit.writes.take(),
            _ => None,
        }
    }

    /// The lease under which it is asked for, if under any.
    pub(in crate::store) fn epoch(&self) -> Option<Epoch> {
        match self {
            Self::Receive { epoch, .. }
            | Self::Commit { epoch, .. }
            | Self::Park { epoch, .. }
            | Self::Settle { epoch, .. }
            | Self::Sending { epoch, .. }
            | Self::Post { epoch, .. }
            | Self::FinishEffect { epoch, .. }
            | Self::Renew { epoch, .. } => Some(*epoch),
            Self::Write { .. } | Self::Deliver { .. } => None,
        }
    }

    /// The conversation whose turn it ends, if it ends one.
    pub(in crate::store) fn key(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Commit { key, .. } => Some(Cow::Borrowed(key)),
            Self::Park { parked, .. } => Some(Cow::Owned(parked.key.to_string())),
            _ => None,
        }
    }

    /// The epoch that it is under and how many numbers it may need.
    pub(in crate::store) fn numbers(&self) -> Option<(Epoch, usize)> {
        match self {
            Self::Commit { epoch, commit, .. } => {
                Some((*epoch, commit.outgoing.len() + commit.timers.len() + commit.effects.len() + 1))
            }
            Self::Post { epoch, post, .. } => Some((*epoch, post.outgoing.len())),
            Self::Park { epoch, outgoing, .. } => Some((*epoch, outgoing.len() + 1)),
            Self::Receive { .. }
            | Self::Deliver { .. }
            | Self::FinishEffect { .. }
            | Self::Write { .. }
            | Self::Settle { .. }
            | Self::Sending { .. }
            | Self::Renew { .. } => None,
        }
    }

    /// How many places in the inbox it may need.
    pub(in crate::store) fn inputs(&self) -> usize {
        match self {
            Self::Receive { batch, .. } | Self::Deliver { batch, .. } => batch.len(),
            Self::FinishEffect { .. } => 1,
            _ => 0,
        }
    }

    /// A timer of it has fired.
    pub(in crate::store) fn takes_timer(&self) -> bool {
        let takes = match self {
            Self::Commit { commit, .. } => &commit.takes,
            Self::Park { taken, .. } => taken,
            _ => return false,
        };
        takes.iter().any(|taken| matches!(taken, Taken::Timer(_)))
    }
}

fn bytes_of(commit: &Commit) -> usize {
    let state = match &commit.state {
        StateChange::Set(stored) => stored.value.len(),
        StateChange::Keep | StateChange::Clear => 0,
    };
    let effects: usize = commit.effects.iter().map(|effect| 64 + effect.body.len()).sum();
    256 + state + bytes_said(&commit.outgoing) + effects
}

fn bytes_said(outgoing: &[Outgoing]) -> usize {
    outgoing.iter().map(|outgoing| 128 + outgoing.body.len()).sum()
}
