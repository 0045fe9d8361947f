//! The connections that read, and how their rows are read.

use std::borrow::Cow;
use std::time::Duration;

use sqlx::postgres::{PgArguments, PgPool, PgPoolOptions, PgRow};
use sqlx::{PgConnection, Postgres, Row, SqlStr};

use super::server::{ANSWER_TIMEOUT, Server, answered};
use super::texts::{json, kept, said};
use crate::store::sql::columns::{Ask, Columns, Value};
use crate::store::sql::failure::GroupFailed;
use crate::store::sql::opens::Finds;
use crate::store::sql::reads::Reads;
use crate::store::sql::rows::Rows;

type Query = sqlx::query::Query<'static, Postgres, PgArguments>;

/// How many may read at once.
const READERS: u32 = 3;
/// How long a reader waits for one of them.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn of(server: &Server) -> Reads<PgPool> {
    let (options, session) = server.options();
    let pool = PgPoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            Box::pin(async move { sqlx::raw_sql(session).execute(connection).await.map(drop) })
        });
    Reads(pool.connect_lazy_with(options))
}

/// A query with its values.
pub(in crate::store) fn bound(query: Query, values: Vec<Value>) -> Query {
    values.into_iter().fold(query, |query, value| match value {
        Value::Number(number) => query.bind(number),
        Value::MaybeNumber(number) => query.bind(number),
        Value::Text(text) => query.bind(kept(text)),
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

impl Ask for PgPool {
    type Row = PgRow;

    const EACH_PLACE: &'static str = "jsonb_array_elements(places::jsonb)";

    async fn rows(&self, query: SqlStr, values: Vec<Value>) -> sqlx::Result<Vec<PgRow>> {
        let mut tries = 0;
        loop {
            let asked = bound(sqlx::query(query.clone()), values.clone()).fetch_all(self);
            match tokio::time::timeout(ANSWER_TIMEOUT, asked).await {
                // After a restart of the server every connection of the pool is lost.
                Ok(Err(error)) if is_lost(&error) && tries < READERS => tries += 1,
                Ok(answer) => return answer,
                Err(_) => return Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
            }
        }
    }

    async fn close(&self) {
        self.close().await;
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

const OPEN: &str = "
SELECT asked.place - 1, coalesce(c.version, (SELECT floor FROM opora_version_floor)), c.value, c.places, c.expires_at,
       EXISTS (SELECT 1 FROM opora_marks AS m
               WHERE m.bot = (asked.value->>1)::bigint AND m.update_id = (asked.value->>2)::bigint
                 AND m.identity = asked.value->>3)
FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS asked (value, place)
LEFT JOIN opora_conversations AS c ON c.key = asked.value->>0";

/// What opens conversations, on a connection of its own; it connects when it is first asked.
pub(super) struct Finder {
    server: Server,
    connection: Option<PgConnection>,
}

impl Finder {
    pub(super) fn of(server: Server) -> Self {
        Self { server, connection: None }
    }

    async fn ask(&mut self, asked: &str) -> Result<sqlx::Result<Vec<PgRow>>, GroupFailed> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.server.connect().await.map_err(GroupFailed::because)?,
        };
        let rows =
            answered(async { Ok::<_, GroupFailed>(sqlx::query(OPEN).bind(asked).fetch_all(&mut connection).await) });
        let rows = rows.await?;
        if rows.is_ok() {
            self.connection = Some(connection);
        }
        Ok(rows)
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
        if let Some(connection) = self.connection {
            // It only read: there is nothing to lose.
            let _ = sqlx::Connection::close(connection).await;
        }
    }
}
