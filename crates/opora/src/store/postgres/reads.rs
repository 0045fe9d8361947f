//! The read connections, and the conversion of their rows.
//!
//! A connection is reused only after a complete answer; otherwise it is dropped. The driver's own pool would ping a
//! silent connection first, without a timeout, and block its slot meanwhile.

use std::borrow::Cow;
use std::time::Duration;

use parking_lot::Mutex;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{PgConnection, Postgres, Row, SqlStr};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::server::{ANSWER_TIMEOUT, INDEX_ONLY_SETTINGS, READ_SETTINGS, Server, is_alive, with_answer_timeout};
use super::texts::{decode, encode, json};
use crate::clock::Stopwatch;
use crate::store::sql::columns::{Columns, ReadConnections, Value};
use crate::store::sql::failure::GroupError;
use crate::store::sql::opens::ConversationLookup;
use crate::store::sql::rows::Rows;

type Query = sqlx::query::Query<'static, Postgres, PgArguments>;

const READERS: usize = 3;
/// How long a query waits for a connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);
const OPERATOR_TIMEOUT: Duration = Duration::from_secs(12);
/// A connection that was idle this long may be dead: it is pinged first.
const IDLE_BEFORE_PING: Duration = Duration::from_secs(2);
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A small pool of connections.
#[derive(Debug)]
pub(crate) struct Readers {
    server: Server,
    permits: Semaphore,
    idle: Mutex<Vec<IdleConnection>>,
}

#[derive(Debug)]
struct IdleConnection {
    connection: PgConnection,
    since: Stopwatch,
}

impl Readers {
    /// Connections are made on first use.
    pub(super) fn new(server: Server) -> Self {
        Self { server, permits: Semaphore::new(READERS), idle: Mutex::default() }
    }

    async fn ask(&self, query: SqlStr, values: Vec<Value>, patience: Duration) -> sqlx::Result<Vec<PgRow>> {
        let _permit = self.permit().await?;
        let mut is_retry = false;
        loop {
            let mut connection = self.connection().await?;
            let query_future = bound(sqlx::query(query.clone()), values.clone()).fetch_all(&mut connection);
            let Ok(answer) = tokio::time::timeout(patience, query_future).await else {
                self.drop_idle();
                return Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()));
            };
            match answer {
                Err(error) if is_lost(&error) && !is_retry => {
                    self.drop_idle();
                    is_retry = true;
                }
                Err(error) => return Err(error),
                Ok(rows) => {
                    self.idle.lock().push(IdleConnection { connection, since: Stopwatch::start() });
                    return Ok(rows);
                }
            }
        }
    }

    async fn permit(&self) -> sqlx::Result<SemaphorePermit<'_>> {
        match tokio::time::timeout(ACQUIRE_TIMEOUT, self.permits.acquire()).await {
            Ok(permit) => permit.map_err(|_| sqlx::Error::PoolClosed),
            Err(_) => Err(sqlx::Error::PoolTimedOut),
        }
    }

    /// An idle connection, or a new one.
    async fn connection(&self) -> sqlx::Result<PgConnection> {
        let rested = self.idle.lock().pop();
        if let Some(IdleConnection { mut connection, since }) = rested {
            if since.elapsed() < IDLE_BEFORE_PING || is_alive(&mut connection).await {
                return Ok(connection);
            }
            self.drop_idle();
        }
        self.server.connect_with(READ_SETTINGS).await
    }

    /// Drops idle connections: if one is lost, the others likely are too, and each would cost a reader its timeout.
    fn drop_idle(&self) {
        self.idle.lock().clear();
    }
}

pub(crate) fn bound(query: Query, values: Vec<Value>) -> Query {
    values.into_iter().fold(query, |query, value| match value {
        Value::Number(number) => query.bind(number),
        Value::MaybeNumber(number) => query.bind(number),
        Value::Text(text) => query.bind(encode(text)),
        Value::Rows(rows) => query.bind(json(rows)),
    })
}

/// Whether the connection was lost, so that another one may work.
pub(super) fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => true,
        // The server shuts down, or has ended this session.
        sqlx::Error::Database(database_error) => {
            database_error.code().is_some_and(|code| code.starts_with("57P") || code == "25P03")
        }
        _ => false,
    }
}

impl ReadConnections for Readers {
    type Row = PgRow;

    const EACH_STATE: &'static str = "jsonb_array_elements(states::jsonb)";

    async fn rows(&self, query: SqlStr, values: Vec<Value>) -> sqlx::Result<Vec<PgRow>> {
        self.ask(query, values, ANSWER_TIMEOUT).await
    }

    async fn rows_for_operator(&self, query: SqlStr, values: Vec<Value>) -> sqlx::Result<Vec<PgRow>> {
        self.ask(query, values, OPERATOR_TIMEOUT).await
    }

    async fn close(&self) {
        self.permits.close();
        let idle = std::mem::take(&mut *self.idle.lock());
        for IdleConnection { connection, .. } in idle {
            // They only read, so a failed close loses nothing.
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, sqlx::Connection::close(connection)).await;
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
        Ok(self.try_get::<Option<&str>, _>(column)?.map(decode))
    }
}

/// The mark is read as a scalar subquery. For an EXISTS the server may hash all marks with every query, if there were
/// none when the query was planned.
const OPEN: &str = "
SELECT asked.place - 1, coalesce(c.version, (SELECT floor FROM opora_version_floor)), c.value, c.states, c.expires_at,
       coalesce((SELECT true FROM opora_marks AS m
                 WHERE m.bot = (asked.value->>1)::bigint AND m.update_id = (asked.value->>2)::bigint
                   AND m.identity = asked.value->>3), false)
FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS asked (value, place)
LEFT JOIN opora_conversations AS c ON c.key = asked.value->>0";

/// The connection that opens conversations. It connects on first use.
pub(super) struct LookupConnection {
    server: Server,
    idle: Option<IdleConnection>,
}

impl LookupConnection {
    pub(super) fn new(server: Server) -> Self {
        Self { server, idle: None }
    }

    async fn ask(&mut self, request: &str) -> Result<sqlx::Result<Vec<PgRow>>, GroupError> {
        let mut connection = self.connection().await?;
        let rows = with_answer_timeout(async {
            Ok::<_, GroupError>(sqlx::query(OPEN).bind(request).fetch_all(&mut connection).await)
        });
        let rows = rows.await?;
        if rows.is_ok() {
            self.idle = Some(IdleConnection { connection, since: Stopwatch::start() });
        }
        Ok(rows)
    }

    async fn connection(&mut self) -> Result<PgConnection, GroupError> {
        if let Some(IdleConnection { mut connection, since }) = self.idle.take()
            && (since.elapsed() < IDLE_BEFORE_PING || is_alive(&mut connection).await)
        {
            return Ok(connection);
        }
        // Its plan is made once too, and the marks may have been few then.
        self.server.connect_with(INDEX_ONLY_SETTINGS).await.map_err(GroupError::because)
    }
}

impl ConversationLookup for LookupConnection {
    type Row = PgRow;

    async fn find(&mut self, requested: Rows) -> Result<Vec<PgRow>, GroupError> {
        let request = json(requested);
        Ok(match self.ask(&request).await? {
            Err(error) if is_lost(&error) => self.ask(&request).await?,
            answer => answer,
        }?)
    }

    async fn close(self) {
        if let Some(IdleConnection { connection, .. }) = self.idle {
            // It only reads, so a failed close loses nothing.
            let _ = sqlx::Connection::close(connection).await;
        }
    }
}
