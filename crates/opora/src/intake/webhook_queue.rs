//! A queue of webhook calls.
//!
//! A call gets its place in the queue when it arrives. One task takes all waiting calls in their order. If the caller
//! hangs up, its update is stored nevertheless.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tokio::sync::{mpsc, oneshot};

use super::Intake;
use crate::mailbox::Mailboxes;
use crate::store::{StoreError, StoreResult};

/// How many calls may wait. Further calls are answered 503.
const MAX_CALLS: usize = 1024;
/// How many calls are taken at once.
const MAX_BATCH: usize = 256;

/// The sending side of the queue. Clones share it. After the last one is dropped, the queued calls are still finished.
#[derive(Clone)]
pub(crate) struct WebhookQueue {
    calls: mpsc::Sender<Call>,
    limit: Limit,
}

/// Decides when calls are answered 503.
#[derive(Clone)]
pub(super) enum Limit {
    /// When this instance's mailboxes are full.
    Mailboxes(Mailboxes),
    /// When the inbox is full. The number is an estimate of how many more updates fit.
    InboxRoom(Arc<AtomicI64>),
}

/// A call of the webhook with one update.
struct Call {
    update: String,
    reply: oneshot::Sender<StoreResult<()>>,
}

/// Calls that are stored together.
pub(super) struct CallBatch {
    pub(super) updates: Vec<String>,
    replies: Vec<oneshot::Sender<StoreResult<()>>>,
}

/// The receiving side of the queue.
pub(super) struct WebhookCalls(mpsc::Receiver<Call>);

impl WebhookQueue {
    pub(super) fn open(limit: Limit) -> (Self, WebhookCalls) {
        let (calls, receiver) = mpsc::channel(MAX_CALLS);
        (Self { calls, limit }, WebhookCalls(receiver))
    }

    /// A queue for a leader that alone accepts updates.
    pub(crate) fn for_leader(intake: Intake) -> Self {
        let (queue, calls) = Self::open(Limit::Mailboxes(intake.mailboxes.clone()));
        tokio::spawn(intake.process_calls(calls));
        queue
    }

    /// Whether calls should be answered 503.
    pub(crate) fn is_full(&self) -> bool {
        match &self.limit {
            Limit::Mailboxes(mailboxes) => mailboxes.is_full(),
            Limit::InboxRoom(room) => room.load(Ordering::Relaxed) <= 0,
        }
    }

    /// Queues an update behind earlier ones. The future resolves when the update is durable. None if the queue is full.
    ///
    /// The update gets its place when this is called, not when the future is first polled.
    pub(crate) fn receive(&self, update: String) -> Option<impl Future<Output = StoreResult<()>> + Send + use<>> {
        let (reply, answer) = oneshot::channel();
        self.calls.try_send(Call { update, reply }).ok()?;
        Some(async { answer.await.unwrap_or_else(|_| Err(StoreError::Unavailable("the instance stops".into()))) })
    }
}

impl WebhookCalls {
    /// All waiting calls. None after the last [`WebhookQueue`] is dropped.
    pub(super) async fn next(&mut self) -> Option<CallBatch> {
        let mut calls = Vec::new();
        if self.0.recv_many(&mut calls, MAX_BATCH).await == 0 {
            return None;
        }
        let (updates, replies) = calls.into_iter().map(|call| (call.update, call.reply)).unzip();
        Some(CallBatch { updates, replies })
    }
}

impl CallBatch {
    /// Answers every call with the result of the batch.
    pub(super) fn answer(self, stored: StoreResult<()>) {
        if let Err(error) = &stored {
            metrics::counter!("opora_intake_failures_total").increment(1);
            tracing::error!(%error, updates = self.replies.len(), "cannot store updates; they stay with Telegram");
        }
        for reply in self.replies {
            // If the caller hung up, Telegram delivers the update again, and its mark is known.
            let _ = reply.send(match &stored {
                Ok(()) => Ok(()),
                Err(error) => Err(StoreError::Unavailable(error.to_string().into())),
            });
        }
    }
}

impl Intake {
    /// Takes calls until the queue is closed. Updates are stored in the order of their calls. A slow turn does not
    /// delay the next batch.
    async fn process_calls(self, mut calls: WebhookCalls) {
        while let Some(batch) = calls.next().await {
            let started = self.start_or_store(batch.updates.iter().map(String::as_str)).await;
            let intake = self.clone();
            tokio::spawn(async move {
                let stored = match started {
                    Ok(started) => intake.wait_until_durable(started).await.map(drop),
                    Err(error) => Err(error),
                };
                batch.answer(stored);
            });
        }
    }
}
