//! The connections that read, and how their rows are read.
//!
//! A connection rests only after it has answered in full: one that did not answer is dropped where it stands. The driver's
//! own pool would ask it first, without a limit, and keep its place taken meanwhile.

use std::borrow::Cow;
use std::time::Duration;

use parking_lot::Mutex;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{PgConnection, Postgres, Row, SqlStr};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::server::{ANSWER_TIMEOUT, FINDING, READING, Server, answered, is_alive};
use super::texts::{json, kept, said};
use crate::clock::Stopwatch;
use crate::store::sql::columns::{Ask, Columns, Value};
use crate::store::sql::failure::GroupFailed;
use crate::store::sql::opens::Finds;
use crate::store::sql::rows::Rows;

type Query = sqlx::query::Query<'static, Postgres, PgArguments>;

/// How many may read at once.
const READERS: usize = 3;
/// How long a reader waits for one of them.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);
/// How long what an operator asks for may take.
const LEISURE: Duration = Duration::from_secs(12);
/// A connection that has rested so long may be lost without a word: it is asked first.
const RESTED: Duration = Duration::from_secs(2);
/// How long a connection may take to say goodbye.
const CLOSES_WITHIN: Duration = Duration::from_secs(1);

/// A few connections, each used by one reader at a time.
#[derive(Debug)]
pub(in crate::store) struct Readers {
    server: Server,
    places: Semaphore,
    resting: Mutex<Vec<Resting>>,
}

/// A connection that nobody uses.
#[derive(Debug)]
struct Resting {
    connection: PgConnection,
    since: Stopwatch,
}

impl Readers {
    /// They connect when they are first asked.
    pub(super) fn of(server: Server) -> Self {
        Self { server, places: Semaphore::new(READERS), resting: Mutex::default() }
    }

    /// Asks on a connection that nobody else uses.
    async fn ask(&self, query: SqlStr, values: Vec<Value>, patience: Duration) -> sqlx::Result<Vec<PgRow>> {
        let _place = self.place().await?;
        let mut is_again = false;
        loop {
            let mut connection = self.connection().await?;
            let asked = bound(sqlx::query(query.clone()), values.clone()).fetch_all(&mut connection);
            let Ok(answer) = tokio::time::timeout(patience, asked).await else {
                self.forget();
                return Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()));
            };
            match answer {
                Err(error) if is_lost(&error) && !is_again => {
                    self.forget();
                    is_again = true;
                }
                Err(error) => return Err(error),
                Ok(rows) => {
                    self.resting.lock().push(Resting { connection, since: Stopwatch::start() });
                    return Ok(rows);
                }
            }
        }
    }

    async fn place(&self) -> sqlx::Result<SemaphorePermit<'_>> {
        match tokio::time::timeout(ACQUIRE_TIMEOUT, self.places.acquire()).await {
            Ok(place) => place.map_err(|_| sqlx::Error::PoolClosed),
            Err(_) => Err(sqlx::Error::PoolTimedOut),
        }
    }

    /// One that has rested, or a new one.
    async fn connection(&self) -> sqlx::Result<PgConnection> {
        let rested = self.resting.lock().pop();
        if let Some(Resting { mut connection, since }) = rested {
            if since.elapsed() < RESTED || is_alive(&mut connection).await {
                return Ok(connection);
            }
            self.forget();
        }
        self.server.connect_and_tell(READING).await
    }

    /// What has cut one connection off has likely cut off those that rest: each would cost a reader all its patience.
    fn forget(&self) {
        self.resting.lock().clear();
    }
}

/// A query with its values.
pub(in crate::store) fn bound(query: Query, values: Vec<Value>) -> Query {
    values.into_iter().fold(query, |query, value| match value {
        Value::Number(number) => query.bind(number),
        Value::MaybeNumber(number) => query.bind(number),
        Value::Text(text) => query.bind(kept(text)),
        Value::Rows(rows) => query.bind(json(rows)),
    })
}

/// A connection that was lost, not a server that said no: another one may do.
pub(super) fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => true,
        // The server ends, or ended this session.
        sqlx::Error::Database(said) => said.code().is_some_and(|code| code.starts_with("57P") || code == "25P03"),
        _ => false,
    }
}

impl Ask for Readers {
    type Row = PgRow;

    const EACH_PLACE: &'static str = "jsonb_array_elements(places::jsonb)";

    async fn rows(&self, query: SqlStr, values: Vec<Value>) -> sqlx::Result<Vec<PgRow>> {
        self.ask(query, values, ANSWER_TIMEOUT).await
    }

    async fn rows_at_leisure(&self, query: SqlStr, values: Vec<Value>) -> sqlx::Result<Vec<PgRow>> {
        self.ask(query, values, LEISURE).await
    }

    async fn close(&self) {
        self.places.close();
        let resting = std::mem::take(&mut *self.resting.lock());
        for Resting { connection, .. } in resting {
            // They only read: there is nothing to lose.
            let _ = tokio::time::timeout(CLOSES_WITHIN, sqlx::Connection::close(connection)).await;
        }
    }
}

impl Columns for PgRow {
    fn maybe_number(&self, column: usize) -> sqlx::Result<Option<i64>> {
        self.try_get(column)
    }

    fn flag(&self, column: usize) -> sqlx::Result<bool> {
        self.try_get(column)
    }

    fn maybe_str(&self, column: usize) -> sqlx::Result<Option<Cow<'_, str>>> {
        Ok(self.try_get::<Option<&str>, _>(column)?.map(said))
    }
}

/// Whether an input was taken is asked for as a value: for an EXISTS the server may read all marks into a table in memory,
/// with every query, if there were none when it was planned.
const OPEN: &str = "
SELECT asked.place - 1, coalesce(c.version, (SELECT floor FROM opora_version_floor)), c.value, c.places, c.expires_at,
       coalesce((SELECT true FROM opora_marks AS m
                 WHERE m.bot = (asked.value->>1)::bigint AND m.update_id = (asked.value->>2)::bigint
                   AND m.identity = asked.value->>3), false)
FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS asked (value, place)
LEFT JOIN opora_conversations AS c ON c.key = asked.value->>0";

/// What opens conversations, on a connection of its own; it connects when it is first asked.
pub(super) struct Finder {
    server: Server,
    resting: Option<Resting>,
}

impl Finder {
    pub(super) fn of(server: Server) -> Self {
        Self { server, resting: None }
    }

    async fn ask(&mut self, asked: &str) -> Result<sqlx::Result<Vec<PgRow>>, GroupFailed> {
        let mut connection = self.connection().await?;
        let rows =
            answered(async { Ok::<_, GroupFailed>(sqlx::query(OPEN).bind(asked).fetch_all(&mut connection).await) });
        let rows = rows.await?;
        if rows.is_ok() {
            self.resting = Some(Resting { connection, since: Stopwatch::start() });
        }
        Ok(rows)
    }

    async fn connection(&mut self) -> Result<PgConnection, GroupFailed> {
        if let Some(Resting { mut connection, since }) = self.resting.take()
            && (since.elapsed() < RESTED || is_alive(&mut connection).await)
        {
            return Ok(connection);
        }
        // Its plan is made once, too, and the marks may have been few then.
        self.server.connect_and_tell(FINDING).await.map_err(GroupFailed::because)
    }
}

impl Finds for Finder {
    type Row = PgRow;

    async fn find(&mut self, asked: Rows) -> Result<Vec<PgRow>, GroupFailed> {
        let asked = json(asked);
        Ok(match self.ask(&asked).await? {
            Err(error) if is_lost(&error) => self.ask(&asked).await?,
            answer => answer,
        }?)
    }

    async fn close(self) {
        if let Some(Resting { connection, .. }) = self.resting {
            // It only read: there is nothing to lose.
            let _ = sqlx::Connection::close(connection).await;
        }
    }
}
