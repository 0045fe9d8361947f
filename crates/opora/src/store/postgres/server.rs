//! The server: how it is reached, and what has to be true of it.
//!
//! A connection waits for nothing for ever: to connect, for an answer, and for a lock there is a limit each. A password
//! is in no error and in no debug output.

use std::fmt;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection, Row};

use super::address::{Address, TlsFiles};
use super::schema;
use crate::store::hash::hash_of;
use crate::store::sql::failure::{GroupFailed, unavailable};
use crate::store::witness::FileWitness;
use crate::store::{BoxError, StoreError, StoreResult};

// A connection that is half dead answers nothing and ends nothing: only these limits find it out. Together with the pause
// before a turn is tried again they stay below ten seconds.

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long the library's own statements may take, with the way there and back.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(4);
/// How long a connection may take to show that it is there.
const PING_TIMEOUT: Duration = Duration::from_millis(1_500);
/// The oldest server that is tested.
const OLDEST_SERVER: i64 = 130_000;

/// What every session is told. An instance that stands still in the midst of a transaction, or of which nothing is heard any
/// more, must not keep its locks; the application's writes may take a little less.
const SESSION: &str = "
SET statement_timeout = '3s';
SET lock_timeout = '2s';
SET idle_in_transaction_session_timeout = '6s';
SET standard_conforming_strings = on;
SET jit = off;
SET default_transaction_isolation = 'read committed';";

/// What a session that reads is told besides: nobody waits for it, and what an operator lists may be long.
pub(super) const READING: &str = "SET statement_timeout = '10s';";

/// What a session is told whose plans are made once. One that was made while a table was small must not read all of it once
/// it is large, so rows are found by an index, one after another, and no plan is made twice.
pub(super) const FINDING: &str = "
SET enable_seqscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET plan_cache_mode = force_generic_plan;";

/// Where the database is.
#[derive(Clone)]
pub(super) struct Server {
    options: PgConnectOptions,
    files: TlsFiles,
    /// Where the instance keeps what it knows of this database.
    pub(super) data: Option<PathBuf>,
    /// The file there that says what was seen of it.
    pub(super) witness: Option<FileWitness>,
}

/// What a database promises of what it has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// It is on the disk.
    Durable,
    /// A crash of the server may take the last moments.
    LosesTheLastMoments,
    /// A crash of the server's machine may take anything.
    LosesAnything,
}

/// Why a server could not be used, with its name.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the PostgreSQL database {server}: {reason}")]
struct NotUsable {
    server: String,
    reason: BoxError,
}

impl Server {
    pub(super) fn of(address: &str) -> StoreResult<Self> {
        let Address { options, files, data } = Address::parse(address)?;
        let options =
            if options.get_application_name().is_none() { options.application_name("opora") } else { options };
        let server = Self { options: options.disable_statement_logging(), files, data: None, witness: None };
        Ok(match data {
            Some(folder) => server.with_data(&folder),
            None => server,
        })
    }

    /// The same, with files in a folder that the address need not name.
    pub(super) fn with_data(self, folder: &Path) -> Self {
        let witness = Some(FileWitness::of(folder, &self.file_name()));
        Self { data: Some(folder.to_owned()), witness, ..self }
    }

    /// Brings the tables up to date, if it is the database that was seen before; answers what it promises, and its
    /// generation.
    pub(super) async fn open(&self) -> StoreResult<(Promise, String)> {
        let opened = async {
            let (mut connection, promise) = self.reach().await?;
            self.check_seen(&mut connection).await?;
            schema::migrate(&mut connection).await?;
            Ok((promise, self.note_seen(&mut connection).await?))
        };
        opened.await.map_err(|error| self.failed(error))
    }

    /// The same of a database as it is, whichever it is. Changes nothing.
    pub(super) async fn open_existing(&self) -> StoreResult<(Promise, String)> {
        let opened = async {
            let (mut connection, promise) = self.reach().await?;
            schema::check(&mut connection).await?;
            let generation = schema::generation(&mut connection).await.map_err(unavailable)?;
            Ok((promise, generation.unwrap_or_default()))
        };
        opened.await.map_err(|error| self.failed(error))
    }

    /// Refuses a database that is not the one that was seen before. Changes nothing.
    pub(super) async fn check(&self) -> StoreResult<()> {
        let checked = async {
            let (mut connection, _) = self.reach().await?;
            self.check_seen(&mut connection).await
        };
        checked.await.map_err(|error| self.failed(error))
    }

    /// The generation that is there, if there is any.
    pub(super) async fn generation(&self) -> StoreResult<Option<String>> {
        let asked = async {
            let (mut connection, _) = self.reach().await?;
            schema::generation(&mut connection).await.map_err(unavailable)
        };
        asked.await.map_err(|error| self.failed(error))
    }

    /// A connection to a server that can be used.
    async fn reach(&self) -> StoreResult<(PgConnection, Promise)> {
        self.files.check().await?;
        let mut connection = self.connect().await?;
        let promise = check(&mut connection).await?;
        Ok((connection, promise))
    }

    /// A connection that is told how long to wait.
    pub(super) async fn connect(&self) -> StoreResult<PgConnection> {
        self.connect_and_tell("").await.map_err(unavailable)
    }

    /// The same, and it is told something more.
    pub(super) async fn connect_and_tell(&self, more: &'static str) -> sqlx::Result<PgConnection> {
        let connect = async {
            let mut connection = self.options.connect().await?;
            sqlx::raw_sql(SESSION).execute(&mut connection).await?;
            if !more.is_empty() {
                sqlx::raw_sql(more).execute(&mut connection).await?;
            }
            Ok::<_, sqlx::Error>(connection)
        };
        let late = || io::Error::new(io::ErrorKind::TimedOut, format!("no connection within {CONNECT_TIMEOUT:?}"));
        tokio::time::timeout(CONNECT_TIMEOUT, connect).await.unwrap_or_else(|_| Err(late().into()))
    }

    /// Begins the names of files about this database. It is made of what the address says of server, database, user and
    /// schema: the password has no part in it, and the server need not be asked.
    pub(super) fn file_name(&self) -> String {
        // Several servers may have their sockets in one folder.
        let port = self.options.get_port();
        let user = self.options.get_username();
        let place = format!("{self} {port} {user} {}", self.options.get_options().unwrap_or_default());
        format!("postgres-{:016x}", hash_of(place.as_bytes()))
    }

    /// How connections are made.
    pub(super) fn options(&self) -> PgConnectOptions {
        self.options.clone()
    }

    fn failed(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Unavailable(reason) => {
                StoreError::Unavailable(Box::new(NotUsable { server: self.to_string(), reason }))
            }
            other => other,
        }
    }
}

/// The database, its host and its port; nothing of how one gets in.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let database = self.options.get_database().unwrap_or_else(|| self.options.get_username());
        match self.options.get_socket() {
            Some(socket) => write!(f, "{database} at {}", socket.display()),
            None => write!(f, "{database} at {}:{}", self.options.get_host(), self.options.get_port()),
        }
    }
}

/// The options would show the password.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.to_string()).finish()
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Durable => "a restart loses nothing",
            Self::LosesTheLastMoments => {
                "a crash of its server may lose the last moments, for synchronous_commit is off there"
            }
            Self::LosesAnything => "a crash of its machine may lose anything, for fsync is off there",
        })
    }
}

/// Waits for an answer, but not for ever: then the connection is of no use any more.
pub(super) async fn answered<T, E: Into<GroupFailed>>(
    asking: impl Future<Output = Result<T, E>> + Send,
) -> Result<T, GroupFailed> {
    match tokio::time::timeout(ANSWER_TIMEOUT, asking).await {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => Err(GroupFailed::unanswered(format!("PostgreSQL did not answer within {ANSWER_TIMEOUT:?}"))),
    }
}

/// The same, for as long as it may take; of what is asked before there is a store.
pub(super) async fn within<T>(
    limit: Duration,
    asking: impl Future<Output = sqlx::Result<T>> + Send,
) -> sqlx::Result<T> {
    let late = || io::Error::new(io::ErrorKind::TimedOut, format!("PostgreSQL did not answer within {limit:?}"));
    tokio::time::timeout(limit, asking).await.unwrap_or_else(|_| Err(late().into()))
}

/// Whether a connection that has rested is still there.
pub(super) async fn is_alive(connection: &mut PgConnection) -> bool {
    matches!(tokio::time::timeout(PING_TIMEOUT, connection.ping()).await, Ok(Ok(())))
}

async fn check(connection: &mut PgConnection) -> StoreResult<Promise> {
    const ASK: &str = "
        SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding'),
               current_setting('fsync'), current_setting('synchronous_commit'), pg_is_in_recovery()";
    let row = within(ANSWER_TIMEOUT, sqlx::query(ASK).fetch_one(connection)).await.map_err(unavailable)?;
    let text = |column: usize| row.try_get::<String, _>(column).map_err(unavailable);
    if row.try_get::<i64, _>(0).map_err(unavailable)? < OLDEST_SERVER {
        return Err(StoreError::Unsupported("PostgreSQL 13 or later is needed"));
    }
    if text(1)? != "UTF8" {
        return Err(StoreError::Unsupported("the PostgreSQL database must have the encoding UTF8"));
    }
    if row.try_get::<bool, _>(4).map_err(unavailable)? {
        return Err(StoreError::Unavailable("this PostgreSQL server is a standby: it can be read only".into()));
    }
    Ok(match (&*text(2)?, &*text(3)?) {
        ("off", _) => Promise::LosesAnything,
        (_, "off") => Promise::LosesTheLastMoments,
        _ => Promise::Durable,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_files_tell_databases_apart_and_not_passwords() {
        let name = |address: &str| Server::of(address).unwrap().file_name();
        let socket = "postgres:///db?host=/run/postgresql&user=bot";
        let one = name(&format!("{socket}&port=5432&password=a"));
        assert_eq!(one, name(&format!("{socket}&port=5432&password=b&data=/x")));
        for other in ["&port=5433", "&port=5432&options[search_path]=bots"] {
            assert_ne!(one, name(&format!("{socket}{other}")), "{other}");
        }
    }
}
