//! Which writer an operation goes to.
//!
//! All that turns write goes to one writer, so its order is kept. Leases, marks of sending and the operator go to the
//! desk. An SQLite file has one writer for both.

use tokio::sync::{mpsc, oneshot};

use super::failure::closed;
use super::operation::{Alone, Operation};
use super::request::{Answered, Reply, Request};
use crate::store::{StoreError, StoreResult};

/// What an answer holds.
pub(super) trait Content: TryFrom<Answered, Error = StoreError> {}

impl<T: TryFrom<Answered, Error = StoreError>> Content for T {}

/// The queues before the writers.
#[derive(Debug)]
pub(in crate::store) struct Writers {
    turns: mpsc::Sender<Request>,
    /// Leases and the operator. Where it is a writer of its own, nothing of the application runs there: the renewal of a
    /// lease must not wait for it.
    desk: mpsc::Sender<Request>,
}

impl Writers {
    /// One for everything.
    pub(in crate::store) fn one(writer: mpsc::Sender<Request>) -> Self {
        Self { turns: writer.clone(), desk: writer }
    }

    /// One for turns, and the desk.
    pub(in crate::store) fn with_desk(turns: mpsc::Sender<Request>, desk: mpsc::Sender<Request>) -> Self {
        Self { turns, desk }
    }

    /// Asks for what is written together with turns.
    pub(super) async fn with_turns<T: Content>(&self, operation: Operation) -> StoreResult<T> {
        ask(&self.turns, |reply| Request::Grouped(operation, reply)).await
    }

    /// Asks for what must not wait for turns.
    pub(super) async fn at_desk<T: Content>(&self, operation: Operation) -> StoreResult<T> {
        ask(&self.desk, |reply| Request::Grouped(operation, reply)).await
    }

    /// Asks for what is carried out alone.
    pub(super) async fn alone<T: Content>(&self, alone: Alone) -> StoreResult<T> {
        ask(&self.desk, |reply| Request::Alone(alone, reply)).await
    }

    /// Ends them once they have done what they were asked before.
    pub(super) async fn close(&self) -> StoreResult<()> {
        let ended = end(&self.turns).await;
        // Where the desk is the same writer, it is closed by now.
        ended.and(end(&self.desk).await)
    }
}

async fn end(writer: &mpsc::Sender<Request>) -> StoreResult<()> {
    if writer.is_closed() { Ok(()) } else { ask(writer, Request::Close).await }
}

/// Asks a writer and waits until the answer is durable.
async fn ask<T: Content>(writer: &mpsc::Sender<Request>, request: impl FnOnce(Reply) -> Request) -> StoreResult<T> {
    let (reply, answer) = oneshot::channel();
    writer.send(request(reply)).await.map_err(|_| closed())?;
    answer.await.map_err(|_| closed())??.try_into()
}
