//! What can be asked of the writer.
//!
//! Most operations are decided together, a group at a time. The rare ones, of leases and of operators, are carried out
//! alone: they may change what the others are decided by.

use std::borrow::Cow;
use std::collections::VecDeque;

use tokio::sync::oneshot;

use super::failure::GroupFailed;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{
    Bounds, Cleaned, Commit, Committed, ConversationRow, Delivered, DomainWrites, EffectId, Epoch, Holder, Incoming,
    Lease, LeaseAnswer, OutboxId, Outgoing, Parked, ParkedId, Receipt, Seq, SetAside, Settled, StateChange,
    StoreResult, Taken,
};

/// Where an answer goes.
pub(in crate::store) type Reply<T> = oneshot::Sender<StoreResult<T>>;

/// An operation that is decided with others.
pub(in crate::store) enum Operation {
    Receive {
        epoch: Epoch,
        batch: Vec<Incoming>,
        reply: Reply<Vec<Receipt>>,
    },
    Deliver {
        batch: Vec<Incoming>,
        reply: Reply<Vec<Delivered>>,
    },
    Commit {
        epoch: Epoch,
        key: String,
        commit: Box<Commit>,
        reply: Reply<Committed>,
    },
    Park {
        epoch: Epoch,
        taken: Vec<Taken>,
        parked: Box<Parked>,
        outgoing: Vec<Outgoing>,
        /// Taken out to be run.
        writes: Option<DomainWrites>,
        reply: Reply<SetAside>,
    },
    /// The writes are taken out to be run.
    Write {
        writes: Option<DomainWrites>,
        reply: Reply<()>,
    },
    Settle {
        epoch: Epoch,
        settled: Vec<Settled>,
        at: Millis,
        is_noted: bool,
        reply: Reply<()>,
    },
    Sending {
        epoch: Epoch,
        ids: Vec<OutboxId>,
        /// Otherwise they surely were not sent.
        may_be_sent: bool,
        reply: Reply<()>,
    },
    Post {
        epoch: Epoch,
        post: Post,
        reply: Reply<Vec<OutboxId>>,
    },
    FinishEffect {
        epoch: Epoch,
        effect: EffectId,
        outcome: Box<Incoming>,
        reply: Reply<Receipt>,
    },
    Renew {
        bot: i64,
        epoch: Epoch,
        reply: Reply<()>,
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
    pub(in crate::store) reply: Reply<bool>,
}

/// An operation that is carried out alone.
pub(in crate::store) enum Alone {
    Claim { bot: i64, holder: Box<Holder>, seen: Option<Box<Lease>>, reply: Reply<LeaseAnswer> },
    Release { bot: i64, epoch: Epoch, reply: Reply<()> },
    ClearLease { bot: i64, reply: Reply<()> },
    Clean { epoch: Epoch, bounds: Bounds, old: Old, reply: Reply<Cleaned> },
    Reset { key: DialogueKey, now: Millis, reply: Reply<bool> },
    Forget { bot: i64, user: i64, now: Millis, reply: Reply<u64> },
    Import(Import),
    RetryParked { id: ParkedId, reply: Reply<bool> },
    DropParked { id: ParkedId, reply: Reply<bool> },
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

/// What arrives at the writer.
pub(in crate::store) enum Request {
    Grouped(Operation),
    Alone(Alone),
    Close(Reply<()>),
}

/// What an operation will be answered, once its group is durable.
pub(in crate::store) enum Verdict {
    Received(StoreResult<Vec<Receipt>>),
    Delivered(StoreResult<Vec<Delivered>>),
    Committed(StoreResult<Committed>),
    SetAside(StoreResult<SetAside>),
    Posted(StoreResult<Vec<OutboxId>>),
    Finished(StoreResult<Receipt>),
    Done(StoreResult<()>),
}

impl Verdict {
    /// What it says of places in the inbox are counts so far; these are the places.
    pub(in crate::store) fn place(&mut self, places: &[i64]) {
        let receipts = match self {
            Self::Received(Ok(receipts)) => &mut receipts[..],
            Self::Finished(Ok(receipt)) => std::slice::from_mut(receipt),
            _ => return,
        };
        for receipt in receipts {
            if let Receipt::New(Seq(count)) = receipt
                && let Some(place) = usize::try_from(*count).ok().and_then(|count| places.get(count))
            {
                *count = *place;
            }
        }
    }
}

/// A decided operation that waits for its group's commit.
pub(in crate::store) type Decided = Box<dyn FnOnce(Option<&GroupFailed>) + Send>;

/// Keeps the answers of the first operations for their group's commit; those without a verdict stay.
pub(in crate::store) fn decided(
    operations: &mut VecDeque<Operation>,
    verdicts: Vec<Verdict>,
) -> impl Iterator<Item = Decided> {
    operations.drain(..verdicts.len()).zip(verdicts).map(|(operation, verdict)| operation.decided(verdict))
}

/// Answers with `result` once the group is durable, or with the group's failure.
pub(in crate::store) fn kept<T: Send + 'static>(reply: Reply<T>, result: StoreResult<T>) -> Decided {
    Box::new(move |failed| {
        // Nobody may be waiting any more; what was done is done.
        let _ = reply.send(match failed {
            None => result,
            Some(failed) => Err(failed.clone().into()),
        });
    })
}

impl Request {
    /// About how much there is to write, so that a group does not grow without limit.
    pub(in crate::store) fn bytes(&self) -> usize {
        match self {
            Self::Grouped(operation) => 64 + operation.bytes(),
            Self::Alone(Alone::Import(import)) => {
                256 + import.row.stored.as_ref().map_or(0, |stored| stored.value.len())
            }
            Self::Alone(_) | Self::Close(_) => 64,
        }
    }

    /// It only says that a lease is held on: it may go before everything else.
    pub(in crate::store) fn is_renewal(&self) -> bool {
        matches!(self, Self::Grouped(Operation::Renew { .. }))
    }

    /// It says only of sends what is noted already: others need not pay for its durability.
    pub(in crate::store) fn may_linger(&self) -> bool {
        matches!(self, Self::Grouped(Operation::Settle { is_noted: true, .. }))
    }
}

impl Operation {
    fn bytes(&self) -> usize {
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

impl Operation {
    /// Keeps its answer for the commit.
    pub(in crate::store) fn decided(self, verdict: Verdict) -> Decided {
        match (self, verdict) {
            (Self::Receive { reply, .. }, Verdict::Received(result)) => kept(reply, result),
            (Self::Deliver { reply, .. }, Verdict::Delivered(result)) => kept(reply, result),
            (Self::Commit { reply, .. }, Verdict::Committed(result)) => kept(reply, result),
            (Self::Park { reply, .. }, Verdict::SetAside(result)) => kept(reply, result),
            (Self::Post { reply, .. }, Verdict::Posted(result)) => kept(reply, result),
            (Self::FinishEffect { reply, .. }, Verdict::Finished(result)) => kept(reply, result),
            (
                Self::Write { reply, .. }
                | Self::Settle { reply, .. }
                | Self::Sending { reply, .. }
                | Self::Renew { reply, .. },
                Verdict::Done(result),
            ) => kept(reply, result),
            // A verdict is of its operation's kind. If ever one were not, nobody would hear more than that.
            (operation, _) => Box::new(|_| operation.refuse(&GroupFailed::because("decided as something else"))),
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

    /// Answers that it failed its group.
    pub(in crate::store) fn blame(self, failed: &GroupFailed) {
        let cause = || failed.for_its_cause();
        match self {
            // Nobody may be waiting any more.
            Self::Commit { reply, .. } => drop(reply.send(Err(cause()))),
            Self::Park { reply, .. } => drop(reply.send(Err(cause()))),
            Self::Write { reply, .. } => drop(reply.send(Err(cause()))),
            other => other.refuse(failed),
        }
    }

    /// Answers that its group failed before it was decided.
    pub(in crate::store) fn refuse(self, failed: &GroupFailed) {
        match self {
            Self::Receive { reply, .. } => refuse(reply, failed),
            Self::Deliver { reply, .. } => refuse(reply, failed),
            Self::Commit { reply, .. } => refuse(reply, failed),
            Self::Post { reply, .. } => refuse(reply, failed),
            Self::FinishEffect { reply, .. } => refuse(reply, failed),
            Self::Park { reply, .. } => refuse(reply, failed),
            Self::Write { reply, .. }
            | Self::Settle { reply, .. }
            | Self::Sending { reply, .. }
            | Self::Renew { reply, .. } => refuse(reply, failed),
        }
    }
}

impl Alone {
    /// Answers that its group failed before it was its turn.
    pub(in crate::store) fn refuse(self, failed: &GroupFailed) {
        match self {
            Self::Claim { reply, .. } => refuse(reply, failed),
            Self::Release { reply, .. } | Self::ClearLease { reply, .. } => refuse(reply, failed),
            Self::Clean { reply, .. } => refuse(reply, failed),
            Self::Forget { reply, .. } => refuse(reply, failed),
            Self::Reset { reply, .. }
            | Self::Import(Import { reply, .. })
            | Self::RetryParked { reply, .. }
            | Self::DropParked { reply, .. } => refuse(reply, failed),
        }
    }
}

fn refuse<T>(reply: Reply<T>, failed: &GroupFailed) {
    // Nobody may be waiting any more.
    let _ = reply.send(Err(failed.clone().into()));
}
