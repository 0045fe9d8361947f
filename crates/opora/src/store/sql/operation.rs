//! The operations of a writer.
//!
//! Most operations are decided in groups. The rare ones, for leases and operators, run exclusively, because they may
//! change what a group is decided by.

use std::borrow::Cow;

use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{
    CleaningLimits, Commit, ConversationRow, DomainWrites, EffectId, Epoch, Holder, Incoming, InputRef, Lease,
    OutboxId, Outgoing, ParkedId, ParkedTurn, Settled, StateChange,
};

/// An operation that is decided in a group.
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
        processed: Vec<InputRef>,
        parked: Box<ParkedTurn>,
        outgoing: Vec<Outgoing>,
        /// Taken when they run.
        writes: Option<DomainWrites>,
    },
    /// The writes are taken when they run.
    Write {
        /// The bot and the epoch of the lease that they need, if any.
        lease: Option<(i64, Epoch)>,
        writes: Option<DomainWrites>,
    },
    Settle {
        epoch: Epoch,
        settled: Vec<Settled>,
        at: Millis,
        /// All of them are in the sent log.
        is_logged: bool,
    },
    Sending {
        epoch: Epoch,
        ids: Vec<OutboxId>,
        /// Otherwise they were certainly not sent.
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

pub(in crate::store) struct Post {
    pub(in crate::store) once: String,
    pub(in crate::store) outgoing: Vec<(ConversationKey, Outgoing)>,
    pub(in crate::store) at: Millis,
}

pub(in crate::store) struct Import {
    pub(in crate::store) row: Box<ConversationRow>,
    /// Whether an open conversation is replaced.
    pub(in crate::store) replace: bool,
    /// Whether it gets exactly the version of the row, even if that is not higher than the present one.
    pub(in crate::store) is_exact: bool,
}

/// An operation that runs exclusively.
pub(in crate::store) enum ExclusiveOperation {
    Claim { bot: i64, holder: Box<Holder>, seen: Option<Box<Lease>> },
    Release { bot: i64, epoch: Epoch },
    ClearLease { bot: i64 },
    Clean { epoch: Epoch, limits: CleaningLimits, old: CleaningTarget },
    Reset { key: ConversationKey, now: Millis },
    Forget { bot: i64, user: i64, now: Millis },
    Import(Import),
    RetryParked { id: ParkedId },
    DropParked { id: ParkedId },
}

/// A kind of row that cleaning removes. Each kind has a transaction of its own, so that other operations run in between
/// and no transaction is long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum CleaningTarget {
    Marks,
    Posts,
    Transitions,
    Failed,
    Labels,
    Ended,
    Parked,
}

impl CleaningTarget {
    pub(in crate::store) const ALL: [Self; 7] =
        [Self::Marks, Self::Posts, Self::Transitions, Self::Failed, Self::Labels, Self::Ended, Self::Parked];
}

impl Operation {
    /// The approximate number of bytes to write.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Receive { batch, .. } | Self::Deliver { batch, .. } => {
                batch.iter().map(|incoming| 128 + incoming.body.len()).sum()
            }
            Self::Commit { commit, .. } => bytes_of(commit),
            Self::Park { parked, outgoing, .. } => parked.body.len() + parked.reason.len() + message_bytes(outgoing),
            Self::Post { post, .. } => post.outgoing.iter().map(|(_, outgoing)| 128 + outgoing.body.len()).sum(),
            Self::FinishEffect { outcome, .. } => outcome.body.len(),
            Self::Settle { settled, .. } => settled.len() * 32,
            Self::Sending { ids, .. } => ids.len() * 16,
            Self::Write { .. } | Self::Renew { .. } => 0,
        }
    }

    /// Whether it runs the application's code in the transaction.
    pub(in crate::store) fn has_writes(&self) -> bool {
        match self {
            Self::Write { .. } => true,
            Self::Commit { commit, .. } => commit.writes.is_some(),
            Self::Park { writes, .. } => writes.is_some(),
            _ => false,
        }
    }

    pub(super) fn writes(&self) -> Option<&DomainWrites> {
        match self {
            Self::Write { writes, .. } | Self::Park { writes, .. } => writes.as_ref(),
            Self::Commit { commit, .. } => commit.writes.as_ref(),
            _ => None,
        }
    }

    pub(super) fn take_writes(&mut self) -> Option<DomainWrites> {
        match self {
            Self::Write { writes, .. } | Self::Park { writes, .. } => writes.take(),
            Self::Commit { commit, .. } => commit.writes.take(),
            _ => None,
        }
    }

    /// The epoch that it needs, if any.
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
            Self::Write { lease, .. } => lease.map(|(_, epoch)| epoch),
            Self::Deliver { .. } => None,
        }
    }

    /// The conversation whose turn it ends, if any.
    pub(in crate::store) fn key(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Commit { key, .. } => Some(Cow::Borrowed(key)),
            Self::Park { parked, .. } => Some(Cow::Owned(parked.key.to_string())),
            _ => None,
        }
    }

    /// Its epoch, and how many ids it may need.
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

    /// How many inbox positions it may need.
    pub(in crate::store) fn inputs(&self) -> usize {
        match self {
            Self::Receive { batch, .. } | Self::Deliver { batch, .. } => batch.len(),
            Self::FinishEffect { .. } => 1,
            _ => 0,
        }
    }

    /// Whether it processes a timer that fired.
    pub(in crate::store) fn takes_timer(&self) -> bool {
        let processed = match self {
            Self::Commit { commit, .. } => &commit.processed,
            Self::Park { processed, .. } => processed,
            _ => return false,
        };
        processed.iter().any(|input| matches!(input, InputRef::Timer(_)))
    }
}

fn bytes_of(commit: &Commit) -> usize {
    let state = match &commit.state {
        StateChange::Set(stored) => stored.value.len(),
        StateChange::Keep | StateChange::Clear => 0,
    };
    let effects: usize = commit.effects.iter().map(|effect| 64 + effect.body.len()).sum();
    256 + state + message_bytes(&commit.outgoing) + effects
}

fn message_bytes(outgoing: &[Outgoing]) -> usize {
    outgoing.iter().map(|outgoing| 128 + outgoing.body.len()).sum()
}
