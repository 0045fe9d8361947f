//! What arrives at a writer, and what it answers.
//!
//! A request is an operation and the channel for its answer. Operations know nothing of channels: a group keeps both side by
//! side, and answers once its commit is durable.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use super::failure::GroupFailed;
use super::operation::{Alone, Operation};
use crate::store::{
    Cleaned, Committed, Delivered, LeaseAnswer, OutboxId, Receipt, Seq, SetAside, StoreError, StoreResult,
};

/// Where an answer goes.
pub(in crate::store) type Reply = oneshot::Sender<StoreResult<Answered>>;

/// What an operation will be answered, once its group is durable.
pub(in crate::store) type Verdict = StoreResult<Answered>;

/// What arrives at a writer.
pub(in crate::store) enum Request {
    Grouped(Operation, Reply),
    Alone(Alone, Reply),
    Close(Reply),
}

macro_rules! answers {
    ($($name:ident($content:ty),)+) => {
        /// What operations are answered.
        pub(in crate::store) enum Answered {
            $($name($content),)+
        }

        $(
            impl From<$content> for Answered {
                fn from(content: $content) -> Self {
                    Self::$name(content)
                }
            }

            impl TryFrom<Answered> for $content {
                type Error = StoreError;

                fn try_from(answered: Answered) -> StoreResult<Self> {
                    match answered {
                        Answered::$name(content) => Ok(content),
                        _ => Err(StoreError::Unavailable("it was answered as something else".into())),
                    }
                }
            }
        )+
    };
}

answers! {
    Received(Vec<Receipt>),
    Delivered(Vec<Delivered>),
    Committed(Committed),
    SetAside(SetAside),
    Posted(Vec<OutboxId>),
    Finished(Receipt),
    Claimed(LeaseAnswer),
    Cleaned(Cleaned),
    Counted(u64),
    Changed(bool),
    Done(()),
}

impl Answered {
    /// What it says of places in the inbox are counts so far; these are the places.
    pub(in crate::store) fn place(&mut self, places: &[i64]) {
        let receipts = match self {
            Self::Received(receipts) => &mut receipts[..],
            Self::Finished(receipt) => std::slice::from_mut(receipt),
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

impl Request {
    /// About how much there is to write, so that a group does not grow without limit.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Grouped(operation, _) => 64 + operation.bytes(),
            Self::Alone(Alone::Import(import), _) => {
                256 + import.row.stored.as_ref().map_or(0, |stored| stored.value.len())
            }
            Self::Alone(..) | Self::Close(_) => 64,
        }
    }

    /// It only says that a lease is held on: it may go before everything else.
    pub(super) fn is_renewal(&self) -> bool {
        matches!(self, Self::Grouped(Operation::Renew { .. }, _))
    }

    /// It only settles sends that are in the log already: others need not pay for its durability.
    pub(super) fn may_linger(&self) -> bool {
        matches!(self, Self::Grouped(Operation::Settle { is_logged: true, .. }, _))
    }
}

/// A decided operation that waits for its group's commit.
pub(in crate::store) struct Decided {
    reply: Reply,
    verdict: Verdict,
}

impl Decided {
    pub(in crate::store) fn new(reply: Reply, verdict: Verdict) -> Self {
        Self { reply, verdict }
    }

    /// Answers, now that the group is durable or has failed.
    pub(in crate::store) fn answer(self, failed: Option<&GroupFailed>) {
        match failed {
            // Nobody may be waiting any more; what was done is done.
            None => drop(self.reply.send(self.verdict)),
            Some(failed) => refuse(self.reply, failed),
        }
    }
}

/// Operations that are decided together, in the order of their arrival.
#[derive(Default)]
pub(in crate::store) struct Group {
    operations: VecDeque<Operation>,
    /// One for each of them.
    replies: VecDeque<Reply>,
}

impl Group {
    pub(super) fn push(&mut self, operation: Operation, reply: Reply) {
        self.operations.push_back(operation);
        self.replies.push_back(reply);
    }

    pub(in crate::store) fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    pub(in crate::store) fn operations(&mut self) -> &mut [Operation] {
        self.operations.make_contiguous()
    }

    /// Keeps the verdicts of the first operations for the group's commit; those without a verdict stay.
    pub(in crate::store) fn decided(&mut self, verdicts: Vec<Verdict>) -> impl Iterator<Item = Decided> {
        drop(self.operations.drain(..verdicts.len()));
        self.replies.drain(..verdicts.len()).zip(verdicts).map(|(reply, verdict)| Decided { reply, verdict })
    }

    /// Answers the operation that failed the group, and leaves it out.
    pub(super) fn blame(&mut self, place: usize, failed: &GroupFailed) {
        drop(self.operations.remove(place));
        if let Some(reply) = self.replies.remove(place) {
            blame(reply, failed);
        }
    }

    /// Answers that the group failed before it was decided.
    pub(in crate::store) fn refuse(self, failed: &GroupFailed) {
        self.replies.into_iter().for_each(|reply| refuse(reply, failed));
    }

    pub(super) fn into_requests(self) -> impl Iterator<Item = Request> {
        self.operations.into_iter().zip(self.replies).map(|(operation, reply)| Request::Grouped(operation, reply))
    }
}

/// Answers that a group failed.
pub(in crate::store) fn refuse(reply: Reply, failed: &GroupFailed) {
    // Nobody may be waiting any more.
    let _ = reply.send(Err(failed.clone().into()));
}

/// Answers the one by whom a group failed.
pub(super) fn blame(reply: Reply, failed: &GroupFailed) {
    // Nobody may be waiting any more.
    let _ = reply.send(Err(failed.for_its_cause()));
}
