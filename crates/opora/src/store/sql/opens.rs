//! Opens conversations, many in one query.
//!
//! Every turn opens its conversation, so concurrent requests share a query. It has a connection of its own and waits
//! for no writer.

use std::future::Future;

use tokio::sync::{mpsc, oneshot};

use super::columns::Columns;
use super::failure::{GroupError, closed, unavailable};
use super::rows::Rows;
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{Mark, Opened, StoreError, StoreResult, StoredState, Version};

const GROUP_LIMIT: usize = 256;
/// Requests in the queue before callers have to wait.
const QUEUE_LIMIT: usize = 4096;

#[derive(Debug)]
pub(crate) struct OpenQueue(mpsc::Sender<Request>);

struct OpenRequest {
    key: String,
    mark: Option<Mark>,
    reply: oneshot::Sender<Result<FoundRow, GroupError>>,
}

/// A connection that looks conversations up.
pub(crate) trait ConversationLookup: Send + 'static {
    /// A result row: index in the request, version, state, state names, expiry, and whether the input was processed.
    /// The request holds arrays of a key, or of a key and a mark.
    type Row: Columns + Send;

    /// Looks conversations up. After a failure it reconnects.
    fn find(&mut self, requested: Rows) -> impl Future<Output = Result<Vec<Self::Row>, GroupError>> + Send;
    fn close(self) -> impl Future<Output = ()> + Send;
}

enum Request {
    Open(OpenRequest),
    Close(oneshot::Sender<()>),
}

struct FoundRow {
    version: i64,
    value: Option<Box<str>>,
    states: Option<String>,
    expires_at: Option<i64>,
    is_processed: bool,
}

impl OpenQueue {
    /// Starts the task. It ends when all senders are gone.
    pub(crate) fn start(lookup: impl ConversationLookup) -> Self {
        let (queue, requests) = mpsc::channel(QUEUE_LIMIT);
        tokio::spawn(run(lookup, requests));
        Self(queue)
    }

    pub(crate) async fn open(&self, key: &ConversationKey, mark: Option<&Mark>) -> StoreResult<Opened> {
        let (reply, answer) = oneshot::channel();
        let ask = OpenRequest { key: key.to_string(), mark: mark.cloned(), reply };
        self.0.send(Request::Open(ask)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())??.opened(key)
    }

    pub(crate) async fn close(&self) {
        let (reply, done) = oneshot::channel();
        if self.0.send(Request::Close(reply)).await.is_ok() {
            // The task ends either way.
            let _ = done.await;
        }
    }
}

impl FoundRow {
    fn opened(self, key: &ConversationKey) -> StoreResult<Opened> {
        if self.is_processed {
            return Ok(Opened::AlreadyProcessed);
        }
        let stored = match self.value {
            None => None,
            Some(value) => Some(stored(key, value, self.states.as_deref(), self.expires_at)?),
        };
        Ok(Opened::At { version: Version(self.version), stored })
    }
}

pub(crate) fn stored(
    key: &ConversationKey,
    value: Box<str>,
    states: Option<&str>,
    expires_at: Option<i64>,
) -> StoreResult<StoredState> {
    let states = serde_json::from_str(states.unwrap_or("[]"))
        .map_err(|error| StoreError::Unreadable { key: key.clone(), source: Box::new(error) })?;
    Ok(StoredState { value, states, expires_at: expires_at.map(Millis) })
}

async fn run<F: ConversationLookup>(mut lookup: F, mut requests: mpsc::Receiver<Request>) {
    let mut closing = Vec::new();
    let mut arrived = Vec::new();
    let mut group = Vec::new();
    while requests.recv_many(&mut arrived, GROUP_LIMIT).await > 0 {
        for request in arrived.drain(..) {
            match request {
                Request::Open(ask) => group.push(ask),
                Request::Close(reply) => {
                    requests.close();
                    closing.push(reply);
                }
            }
        }
        if group.is_empty() {
            continue;
        }
        match find(&mut lookup, &group).await {
            Ok(found) => group.drain(..).zip(found).for_each(|(ask, found)| answer(ask, found)),
            Err(failed) => group.drain(..).for_each(|ask| answer(ask, Err(failed.clone()))),
        }
    }
    lookup.close().await;
    for reply in closing {
        // The caller may be gone.
        let _ = reply.send(());
    }
}

fn answer(ask: OpenRequest, found: Result<FoundRow, GroupError>) {
    // The caller may be gone.
    let _ = ask.reply.send(found);
}

/// The result for each request, in order.
async fn find<F: ConversationLookup>(
    lookup: &mut F,
    group: &[OpenRequest],
) -> Result<Vec<Result<FoundRow, GroupError>>, GroupError> {
    let mut requested = Rows::default();
    for OpenRequest { key, mark, .. } in group {
        match mark {
            Some(mark) => requested.add(&(key, mark.bot, mark.update_id, &mark.identity))?,
            None => requested.add(&[key])?,
        }
    }
    let rows = lookup.find(requested).await?;
    let missing = || Err(GroupError::because(unavailable("a query answered too few rows")));
    let mut found: Vec<_> = std::iter::repeat_with(missing).take(group.len()).collect();
    for row in rows {
        let place = usize::try_from(row.number(0)?).unwrap_or(usize::MAX);
        if let Some(slot) = found.get_mut(place) {
            *slot = Ok(FoundRow {
                version: row.number(1)?,
                value: row.maybe_text(2)?,
                states: row.maybe_text(3)?,
                expires_at: row.maybe_number(4)?,
                is_processed: row.flag(5)?,
            });
        }
    }
    Ok(found)
}
