//! Chooses the writer of an operation.
//!
//! Turns go to one writer, which keeps their order. Leases, send marks and operator commands go to the control
//! connection. SQLite has one writer for both.

use tokio::sync::{mpsc, oneshot};

use super::failure::closed;
use super::operation::{ExclusiveOperation, Operation};
use super::request::{ReplySender, Request, Response};
use crate::store::{DomainWrites, StoreError, StoreResult};

pub(super) trait Content: TryFrom<Response, Error = StoreError> {}

impl<T: TryFrom<Response, Error = StoreError>> Content for T {}

#[derive(Debug)]
pub(crate) struct Writers {
    turns: mpsc::Sender<Request>,
    /// The control connection, for leases and operator commands. In PostgreSQL no application code runs there, so a
    /// lease renewal does not wait for it.
    control: mpsc::Sender<Request>,
}

impl Writers {
    pub(crate) fn one(writer: mpsc::Sender<Request>) -> Self {
        Self { turns: writer.clone(), control: writer }
    }

    pub(crate) fn with_control(turns: mpsc::Sender<Request>, control: mpsc::Sender<Request>) -> Self {
        Self { turns, control }
    }

    /// Runs an operation in order with turns. Jobs that the application's writes add are counted if it commits.
    pub(super) async fn with_turns<T: Content>(&self, operation: Operation) -> StoreResult<T> {
        let added = operation.writes().map(DomainWrites::added);
        let answer = ask(&self.turns, |reply| Request::Grouped(operation, reply)).await;
        added.unwrap_or_default().count_if_ok(answer)
    }

    /// Runs an operation that must not wait for turns.
    pub(super) async fn on_control<T: Content>(&self, operation: Operation) -> StoreResult<T> {
        ask(&self.control, |reply| Request::Grouped(operation, reply)).await
    }

    pub(super) async fn exclusive<T: Content>(&self, exclusive: ExclusiveOperation) -> StoreResult<T> {
        ask(&self.control, |reply| Request::Exclusive(exclusive, reply)).await
    }

    /// Ends the writers after they have finished earlier requests.
    pub(super) async fn close(&self) -> StoreResult<()> {
        let ended = end(&self.turns).await;
        // If both are the same writer, it is closed already.
        ended.and(end(&self.control).await)
    }
}

async fn end(writer: &mpsc::Sender<Request>) -> StoreResult<()> {
    if writer.is_closed() { Ok(()) } else { ask(writer, Request::Close).await }
}

/// Sends a request to a writer and waits until the response is durable.
async fn ask<T: Content>(
    writer: &mpsc::Sender<Request>,
    request: impl FnOnce(ReplySender) -> Request,
) -> StoreResult<T> {
    let (reply, answer) = oneshot::channel();
    writer.send(request(reply)).await.map_err(|_| closed())?;
    answer.await.map_err(|_| closed())??.try_into()
}
