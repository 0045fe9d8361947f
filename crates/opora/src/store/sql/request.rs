//! Requests to a writer, and its responses.
//!
//! A request is an operation and the channel for its response. A group keeps operations and channels side by side, and
//! responds when its commit is durable.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use super::failure::GroupError;
use super::operation::{ExclusiveOperation, Operation};
use crate::store::{
    Cleaned, Committed, Delivered, LeaseAnswer, OutboxId, ParkResult, Receipt, Seq, StoreError, StoreResult,
};

pub(crate) type ReplySender = oneshot::Sender<StoreResult<Response>>;

/// The result of an operation, sent when its group is durable.
pub(crate) type OperationResult = StoreResult<Response>;

pub(crate) enum Request {
    Grouped(Operation, ReplySender),
    Exclusive(ExclusiveOperation, ReplySender),
    Close(ReplySender),
}

macro_rules! responses {
    ($($name:ident($content:ty),)+) => {
        pub(crate) enum Response {
            $($name($content),)+
        }

        $(
            impl From<$content> for Response {
                fn from(content: $content) -> Self {
                    Self::$name(content)
                }
            }

            impl TryFrom<Response> for $content {
                type Error = StoreError;

                fn try_from(response: Response) -> StoreResult<Self> {
                    match response {
                        Response::$name(content) => Ok(content),
                        _ => Err(StoreError::Unavailable("the writer sent a response of another type".into())),
                    }
                }
            }
        )+
    };
}

responses! {
    Received(Vec<Receipt>),
    Delivered(Vec<Delivered>),
    Committed(Committed),
    ParkResult(ParkResult),
    Posted(Vec<OutboxId>),
    Finished(Receipt),
    Claimed(LeaseAnswer),
    Cleaned(Cleaned),
    Counted(u64),
    Changed(bool),
    Done(()),
}

impl Response {
    /// Replaces counts by inbox positions, after the database has assigned the positions.
    pub(crate) fn set_positions(&mut self, places: &[i64]) {
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
    /// The approximate number of bytes to write, which limits a group.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Grouped(operation, _) => 64 + operation.bytes(),
            Self::Exclusive(ExclusiveOperation::Import(import), _) => {
                256 + import.row.stored.as_ref().map_or(0, |stored| stored.value.len())
            }
            Self::Exclusive(..) | Self::Close(_) => 64,
        }
    }

    /// Whether it only renews a lease: then it may go before everything else.
    pub(super) fn is_renewal(&self) -> bool {
        matches!(self, Self::Grouped(Operation::Renew { .. }, _))
    }

    /// Whether it only settles sends that are in the sent log: then it may wait for other writes.
    pub(super) fn can_wait(&self) -> bool {
        matches!(self, Self::Grouped(Operation::Settle { is_logged: true, .. }, _))
    }
}

/// The result of a decided operation, to be sent after the group's commit.
pub(crate) struct PendingReply {
    reply: ReplySender,
    result: OperationResult,
}

impl PendingReply {
    pub(crate) fn new(reply: ReplySender, result: OperationResult) -> Self {
        Self { reply, result }
    }

    /// Sends the result, or the error if the group has failed.
    pub(crate) fn answer(self, failed: Option<&GroupError>) {
        match failed {
            // The caller may be gone; the commit stands anyway.
            None => drop(self.reply.send(self.result)),
            Some(failed) => refuse(self.reply, failed),
        }
    }
}

/// Operations that are decided together, in the order of their arrival.
#[derive(Default)]
pub(crate) struct Group {
    operations: VecDeque<Operation>,
    /// One per operation.
    replies: VecDeque<ReplySender>,
}

impl Group {
    pub(super) fn push(&mut self, operation: Operation, reply: ReplySender) {
        self.operations.push_back(operation);
        self.replies.push_back(reply);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    pub(crate) fn operations(&mut self) -> &mut [Operation] {
        self.operations.make_contiguous()
    }

    /// Removes the first operations and pairs their replies with the results. Operations without a result stay.
    pub(crate) fn take_replies(&mut self, results: Vec<OperationResult>) -> impl Iterator<Item = PendingReply> {
        drop(self.operations.drain(..results.len()));
        self.replies.drain(..results.len()).zip(results).map(|(reply, result)| PendingReply { reply, result })
    }

    /// Removes the operation that failed the group, and sends it the error.
    pub(super) fn blame(&mut self, place: usize, failed: &GroupError) {
        drop(self.operations.remove(place));
        if let Some(reply) = self.replies.remove(place) {
            blame(reply, failed);
        }
    }

    /// Tells every operation that the group failed.
    pub(crate) fn refuse(self, failed: &GroupError) {
        self.replies.into_iter().for_each(|reply| refuse(reply, failed));
    }

    pub(super) fn into_requests(self) -> impl Iterator<Item = Request> {
        self.operations.into_iter().zip(self.replies).map(|(operation, reply)| Request::Grouped(operation, reply))
    }
}

/// Tells a caller that its group failed.
pub(crate) fn refuse(reply: ReplySender, failed: &GroupError) {
    // The caller may be gone.
    let _ = reply.send(Err(failed.clone().into()));
}

/// Tells a caller that its operation failed the group.
pub(super) fn blame(reply: ReplySender, failed: &GroupError) {
    // The caller may be gone.
    let _ = reply.send(Err(failed.for_culprit()));
}
