//! Where the calls of a webhook come in.
//!
//! A call has its place when it comes, not when somebody finds the time for it: one task takes all that wait, in their
//! order. Whoever hangs up changes nothing; its update is stored all the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tokio::sync::{mpsc, oneshot};

use super::Intake;
use crate::mailbox::Mailboxes;
use crate::store::{StoreError, StoreResult};

/// How many calls may wait before callers are asked to come again.
const CALLS_MOST: usize = 1024;
/// How many are taken at once.
const BATCH_MOST: usize = 256;

/// Takes calls. Clones lead to the same place; when the last one goes, those under way are finished.
#[derive(Clone)]
pub(crate) struct Door {
    calls: mpsc::Sender<Call>,
    limit: Limit,
}

/// When so much waits that callers should come again later.
#[derive(Clone)]
pub(super) enum Limit {
    /// When this instance's mailboxes are full.
    Mailboxes(Mailboxes),
    /// When there is no room left: how many more updates may wait, as far as it is known.
    Room(Arc<AtomicI64>),
}

/// An update that somebody brings.
struct Call {
    update: String,
    reply: oneshot::Sender<StoreResult<()>>,
}

/// Calls that are taken together.
pub(super) struct Calls {
    pub(super) updates: Vec<String>,
    replies: Vec<oneshot::Sender<StoreResult<()>>>,
}

/// The other side of a door.
pub(super) struct Line(mpsc::Receiver<Call>);

impl Door {
    pub(super) fn open(limit: Limit) -> (Self, Line) {
        let (calls, line) = mpsc::channel(CALLS_MOST);
        (Self { calls, limit }, Line(line))
    }

    /// Where the instance that works takes calls, if it is the only one to do so.
    pub(crate) fn of_leader(intake: Intake) -> Self {
        let (door, line) = Self::open(Limit::Mailboxes(intake.mailboxes.clone()));
        tokio::spawn(intake.take(line));
        door
    }

    /// Whether so much waits that callers should come again later.
    pub(crate) fn is_full(&self) -> bool {
        match &self.limit {
            Limit::Mailboxes(mailboxes) => mailboxes.is_full(),
            Limit::Room(room) => room.load(Ordering::Relaxed) <= 0,
        }
    }

    /// Stores an update behind those that came before; when this answers, it is durable. None: it is too much at once.
    ///
    /// Its place is taken when this is called, not when it is first waited for.
    pub(crate) fn receive(&self, update: String) -> Option<impl Future<Output = StoreResult<()>> + Send + use<>> {
        let (reply, answer) = oneshot::channel();
        self.calls.try_send(Call { update, reply }).ok()?;
        Some(async { answer.await.unwrap_or_else(|_| Err(StoreError::Unavailable("the instance stops".into()))) })
    }
}

impl Line {
    /// All that wait; none if nobody can call any more.
    pub(super) async fn next(&mut self) -> Option<Calls> {
        let mut came = Vec::new();
        if self.0.recv_many(&mut came, BATCH_MOST).await == 0 {
            return None;
        }
        let (updates, replies) = came.into_iter().map(|call| (call.update, call.reply)).unzip();
        Some(Calls { updates, replies })
    }
}

impl Calls {
    /// Tells every caller what became of all.
    pub(super) fn answer(self, stored: StoreResult<()>) {
        if let Err(error) = &stored {
            metrics::counter!("opora_intake_failures_total").increment(1);
            tracing::error!(%error, updates = self.replies.len(), "cannot store updates; they stay with Telegram");
        }
        for reply in self.replies {
            // Who hung up comes again, and it will be known.
            let _ = reply.send(match &stored {
                Ok(()) => Ok(()),
                Err(error) => Err(StoreError::Unavailable(error.to_string().into())),
            });
        }
    }
}

impl Intake {
    /// Takes calls until nobody can make one any more. What is stored is stored in their order; slow turns that have
    /// begun hold up nobody behind them.
    async fn take(self, mut line: Line) {
        while let Some(calls) = line.next().await {
            let taken = self.take_in(calls.updates.iter().map(String::as_str)).await;
            let intake = self.clone();
            tokio::spawn(async move {
                let durable = match taken {
                    Ok(taken) => intake.see_durable(taken).await.map(drop),
                    Err(error) => Err(error),
                };
                calls.answer(durable);
            });
        }
    }
}
