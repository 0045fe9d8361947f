//! Opens conversations, many in one query.
//!
//! Every turn opens its conversation, so those that ask at the same time are answered together. It reads on a connection
//! of its own and waits for no writer.

use std::future::Future;

use tokio::sync::{mpsc, oneshot};

use super::columns::Columns;
use super::failure::{GroupFailed, closed, unavailable};
use super::rows::Rows;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{Mark, Opened, StoreError, StoreResult, Stored, Version};

/// Conversations in a query.
const GROUP_LIMIT: usize = 256;
/// How many may wait before callers wait to ask.
const QUEUE_LIMIT: usize = 4096;

/// Where to ask.
#[derive(Debug)]
pub(in crate::store) struct Opens(mpsc::Sender<Request>);

/// A conversation that somebody wants to open.
struct Ask {
    key: String,
    mark: Option<Mark>,
    reply: oneshot::Sender<Result<Found, GroupFailed>>,
}

/// A connection that looks conversations up.
pub(in crate::store) trait Finds: Send + 'static {
    /// What it answers: the place among those asked for, version, state, places, end of life, and whether the input was
    /// taken. It is asked with arrays of a key, or of a key and a mark.
    type Row: Columns + Send;

    /// Looks them up; after a failure it connects anew.
    fn find(&mut self, asked: Rows) -> impl Future<Output = Result<Vec<Self::Row>, GroupFailed>> + Send;
    /// Lets go of the connection.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// What arrives at the task.
enum Request {
    Open(Ask),
    Close(oneshot::Sender<()>),
}

/// What the query found, as it is stored.
struct Found {
    version: i64,
    value: Option<Box<str>>,
    places: Option<String>,
    expires_at: Option<i64>,
    is_taken: bool,
}

impl Opens {
    /// Starts the task that answers; it ends with the last one who can ask.
    pub(in crate::store) fn start(finds: impl Finds) -> Self {
        let (queue, requests) = mpsc::channel(QUEUE_LIMIT);
        tokio::spawn(run(finds, requests));
        Self(queue)
    }

    pub(in crate::store) async fn open(&self, key: &DialogueKey, mark: Option<&Mark>) -> StoreResult<Opened> {
        let (reply, answer) = oneshot::channel();
        let ask = Ask { key: key.to_string(), mark: mark.cloned(), reply };
        self.0.send(Request::Open(ask)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())??.opened(key)
    }

    /// Ends the task and lets go of its connection.
    pub(in crate::store) async fn close(&self) {
        let (reply, done) = oneshot::channel();
        if self.0.send(Request::Close(reply)).await.is_ok() {
            // It ends either way.
            let _ = done.await;
        }
    }
}

impl Found {
    fn opened(self, key: &DialogueKey) -> StoreResult<Opened> {
        if self.is_taken {
            return Ok(Opened::AlreadyTaken);
        }
        let stored = match self.value {
            None => None,
            Some(value) => Some(stored(key, value, self.places.as_deref(), self.expires_at)?),
        };
        Ok(Opened::At { version: Version(self.version), stored })
    }
}

/// A state from its columns.
pub(in crate::store) fn stored(
    key: &DialogueKey,
    value: Box<str>,
    places: Option<&str>,
    expires_at: Option<i64>,
) -> StoreResult<Stored> {
    let places = serde_json::from_str(places.unwrap_or("[]"))
        .map_err(|error| StoreError::Unreadable { key: key.clone(), source: Box::new(error) })?;
    Ok(Stored { value, places, expires_at: expires_at.map(Millis) })
}

async fn run<F: Finds>(mut finds: F, mut requests: mpsc::Receiver<Request>) {
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
        match find(&mut finds, &group).await {
            Ok(found) => group.drain(..).zip(found).for_each(|(ask, found)| answer(ask, found)),
            Err(failed) => group.drain(..).for_each(|ask| answer(ask, Err(failed.clone()))),
        }
    }
    finds.close().await;
    for reply in closing {
        // Nobody may be waiting any more.
        let _ = reply.send(());
    }
}

fn answer(ask: Ask, found: Result<Found, GroupFailed>) {
    // Nobody may be waiting any more.
    let _ = ask.reply.send(found);
}

/// What was found for each of the group, in its order.
async fn find<F: Finds>(finds: &mut F, group: &[Ask]) -> Result<Vec<Result<Found, GroupFailed>>, GroupFailed> {
    let mut asked = Rows::default();
    for Ask { key, mark, .. } in group {
        match mark {
            Some(mark) => asked.add(&(key, mark.bot, mark.update_id, &mark.identity))?,
            None => asked.add(&[key])?,
        }
    }
    let rows = finds.find(asked).await?;
    let missing = || Err(GroupFailed::because(unavailable("a query answered too few rows")));
    let mut found: Vec<_> = std::iter::repeat_with(missing).take(group.len()).collect();
    for row in rows {
        let place = usize::try_from(row.number(0)?).unwrap_or(usize::MAX);
        if let Some(slot) = found.get_mut(place) {
            *slot = Ok(Found {
                version: row.number(1)?,
                value: row.maybe_text(2)?,
                places: row.maybe_text(3)?,
                expires_at: row.maybe_number(4)?,
                is_taken: row.flag(5)?,
            });
        }
    }
    Ok(found)
}
