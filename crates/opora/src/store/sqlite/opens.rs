//! Opens conversations, many in one query.
//!
//! Every turn opens its conversation, so those that ask at the same time are answered together. It reads on a connection
//! of its own and waits for no writer.

use sqlx::{Connection, Row, SqliteConnection};
use tokio::sync::{mpsc, oneshot};

use super::failure::{GroupFailed, closed, unavailable};
use super::file::DatabaseFile;
use super::rows::Rows;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{Mark, Opened, StoreError, StoreResult, Stored, Version};

/// Conversations in a query.
const GROUP_LIMIT: usize = 256;
/// How many may wait before callers wait to ask.
const QUEUE_LIMIT: usize = 4096;

const OPEN: &str = "
SELECT asked.key, coalesce(c.version, (SELECT floor FROM opora_version_floor)), c.value, c.places, c.expires_at,
       EXISTS (SELECT 1 FROM opora_marks AS m
               WHERE m.bot = asked.value->>1 AND m.update_id = asked.value->>2 AND m.identity = asked.value->>3)
FROM jsonb_each(?1) AS asked LEFT JOIN opora_conversations AS c ON c.key = asked.value->>0";

/// Where to ask.
#[derive(Debug)]
pub(super) struct Opens(mpsc::Sender<Request>);

/// A conversation that somebody wants to open.
struct Ask {
    key: String,
    mark: Option<Mark>,
    reply: oneshot::Sender<Result<Found, GroupFailed>>,
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
    pub(super) fn start(file: DatabaseFile) -> Self {
        let (queue, requests) = mpsc::channel(QUEUE_LIMIT);
        tokio::spawn(run(file, requests));
        Self(queue)
    }

    pub(super) async fn open(&self, key: &DialogueKey, mark: Option<&Mark>) -> StoreResult<Opened> {
        let (reply, answer) = oneshot::channel();
        let ask = Ask { key: key.to_string(), mark: mark.cloned(), reply };
        self.0.send(Request::Open(ask)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())??.opened(key)
    }

    /// Ends the task and lets go of its connection.
    pub(super) async fn close(&self) {
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
pub(super) fn stored(
    key: &DialogueKey,
    value: Box<str>,
    places: Option<&str>,
    expires_at: Option<i64>,
) -> StoreResult<Stored> {
    let places = serde_json::from_str(places.unwrap_or("[]"))
        .map_err(|error| StoreError::Unreadable { key: key.clone(), source: Box::new(error) })?;
    Ok(Stored { value, places, expires_at: expires_at.map(Millis) })
}

async fn run(file: DatabaseFile, mut requests: mpsc::Receiver<Request>) {
    let (mut connection, mut closing) = (None, Vec::new());
    let (mut arrived, mut group) = (Vec::new(), Vec::new());
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
        match find(&file, &mut connection, &group).await {
            Ok(found) => group.drain(..).zip(found).for_each(|(ask, found)| answer(ask, found)),
            Err(failed) => {
                connection = None;
                group.drain(..).for_each(|ask| answer(ask, Err(failed.clone())));
            }
        }
    }
    if let Some(connection) = connection {
        // It only read: there is nothing to lose.
        let _ = connection.close().await;
    }
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
async fn find(
    file: &DatabaseFile,
    connection: &mut Option<SqliteConnection>,
    group: &[Ask],
) -> Result<Vec<Result<Found, GroupFailed>>, GroupFailed> {
    let connection = match connection {
        Some(connection) => connection,
        missing => missing.insert(file.connect_to_read().await.map_err(GroupFailed::because)?),
    };
    let mut asked = Rows::default();
    for Ask { key, mark, .. } in group {
        match mark {
            Some(mark) => asked.add(&(key, mark.bot, mark.update_id, &mark.identity))?,
            None => asked.add(&[key])?,
        }
    }
    let rows = sqlx::query(OPEN).bind(asked.into_json()).fetch_all(connection).await?;
    let missing = || Err(GroupFailed::because(unavailable("a query answered too few rows")));
    let mut found: Vec<_> = std::iter::repeat_with(missing).take(group.len()).collect();
    for row in rows {
        let place = usize::try_from(row.try_get::<i64, _>(0)?).unwrap_or(usize::MAX);
        if let Some(slot) = found.get_mut(place) {
            *slot = Ok(Found {
                version: row.try_get(1)?,
                value: row.try_get(2)?,
                places: row.try_get(3)?,
                expires_at: row.try_get(4)?,
                is_taken: row.try_get(5)?,
            });
        }
    }
    Ok(found)
}
