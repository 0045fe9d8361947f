//! Connects to the server and checks its settings.
//!
//! Connecting, statements and locks have timeouts. No error and no debug output shows a password.

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
use crate::store::last_seen::LastSeenFile;
use crate::store::sql::failure::{GroupError, unavailable};
use crate::store::sql::tables::within;
use crate::store::{BoxError, StoreError, StoreResult};

// Only these timeouts detect a half-open connection. Together with the pause before a turn is retried they stay below
// ten seconds.

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The timeout of the library's own statements, with the round trip.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(4);
const PING_TIMEOUT: Duration = Duration::from_millis(1_500);
/// The oldest server version that is tested.
const OLDEST_SERVER: i64 = 130_000;

/// The settings of every session. A paused or unreachable instance must not keep its locks. The application's writes
/// may take a little less than the idle timeout.
const SESSION_SETTINGS: &str = "
SET statement_timeout = '3s';
SET lock_timeout = '2s';
SET idle_in_transaction_session_timeout = '6s';
SET standard_conforming_strings = on;
SET jit = off;
SET default_transaction_isolation = 'read committed';";

/// The settings of read sessions: no turn waits for them, and an operator's list may be long.
pub(super) const READ_SETTINGS: &str = "SET statement_timeout = '10s';";

/// The settings of sessions whose plans are made once. A plan made for a small table must not scan it when it is large,
/// so rows are found by index only, and plans are reused.
pub(super) const INDEX_ONLY_SETTINGS: &str = "
SET enable_seqscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET plan_cache_mode = force_generic_plan;";

#[derive(Clone)]
pub(super) struct Server {
    options: PgConnectOptions,
    files: TlsFiles,
    /// The folder for the last-seen record and the sent log.
    pub(super) data: Option<PathBuf>,
    /// The file of the last-seen record.
    pub(super) last_seen: Option<LastSeenFile>,
}

/// What a crash of the server may lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// Commits are on disk.
    Durable,
    /// A server crash may lose the last commits.
    LosesRecentWrites,
    /// A machine crash may lose anything.
    LosesAnything,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot use the PostgreSQL database {server}: {reason}")]
struct NotUsable {
    server: String,
    reason: BoxError,
}

impl Server {
    pub(super) fn from_address(address: &str) -> StoreResult<Self> {
        let Address { options, files, data } = Address::parse(address)?;
        let options =
            if options.get_application_name().is_none() { options.application_name("opora") } else { options };
        let server = Self { options: options.disable_statement_logging(), files, data: None, last_seen: None };
        Ok(match data {
            Some(folder) => server.with_data_folder(&folder),
            None => server,
        })
    }

    /// The server with a data folder that the address need not name.
    pub(super) fn with_data_folder(self, folder: &Path) -> Self {
        let last_seen = Some(LastSeenFile::new(folder, &self.file_name()));
        Self { data: Some(folder.to_owned()), last_seen, ..self }
    }

    /// Migrates the tables, if it is the database last seen. Returns its durability and its generation.
    pub(super) async fn open(&self) -> StoreResult<(Durability, String)> {
        let opened = async {
            let (mut connection, durability) = self.reach().await?;
            self.check_seen(&mut connection).await?;
            schema::migrate(&mut connection).await?;
            Ok((durability, self.record_seen(&mut connection).await?))
        };
        opened.await.map_err(|error| self.failed(error))
    }

    /// The durability and generation of any database. Changes nothing.
    pub(super) async fn open_existing(&self) -> StoreResult<(Durability, String)> {
        let opened = async {
            let (mut connection, durability) = self.reach().await?;
            schema::check(&mut connection).await?;
            let generation = schema::generation(&mut connection).await.map_err(unavailable)?;
            Ok((durability, generation.unwrap_or_default()))
        };
        opened.await.map_err(|error| self.failed(error))
    }

    /// Refuses a database that is not the one last seen. Changes nothing.
    pub(super) async fn check(&self) -> StoreResult<()> {
        let checked = async {
            let (mut connection, _) = self.reach().await?;
            self.check_seen(&mut connection).await
        };
        checked.await.map_err(|error| self.failed(error))
    }

    /// The generation of the tables, if there are any.
    pub(super) async fn generation(&self) -> StoreResult<Option<String>> {
        let request = async {
            let (mut connection, _) = self.reach().await?;
            schema::generation(&mut connection).await.map_err(unavailable)
        };
        request.await.map_err(|error| self.failed(error))
    }

    /// A connection to a checked server.
    async fn reach(&self) -> StoreResult<(PgConnection, Durability)> {
        self.files.check().await?;
        let mut connection = self.connect().await?;
        let durability = check(&mut connection).await?;
        Ok((connection, durability))
    }

    /// A connection with timeouts set.
    pub(super) async fn connect(&self) -> StoreResult<PgConnection> {
        self.connect_with("").await.map_err(unavailable)
    }

    /// A connection with timeouts and more settings.
    pub(super) async fn connect_with(&self, more: &'static str) -> sqlx::Result<PgConnection> {
        let connect = async {
            let mut connection = self.options.connect().await?;
            sqlx::raw_sql(SESSION_SETTINGS).execute(&mut connection).await?;
            if !more.is_empty() {
                sqlx::raw_sql(more).execute(&mut connection).await?;
            }
            Ok::<_, sqlx::Error>(connection)
        };
        let late = || io::Error::new(io::ErrorKind::TimedOut, format!("no connection within {CONNECT_TIMEOUT:?}"));
        tokio::time::timeout(CONNECT_TIMEOUT, connect).await.unwrap_or_else(|_| Err(late().into()))
    }

    /// The prefix of file names for this database: a hash of server, database, user and schema in the address. The
    /// password is not part of it, and the server is not asked.
    pub(super) fn file_name(&self) -> String {
        // Several servers may have their sockets in one folder.
        let port = self.options.get_port();
        let user = self.options.get_username();
        let place = format!("{self} {port} {user} {}", self.options.get_options().unwrap_or_default());
        format!("postgres-{:016x}", hash_of(place.as_bytes()))
    }

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

/// Database, host and port, without credentials.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let database = self.options.get_database().unwrap_or_else(|| self.options.get_username());
        match self.options.get_socket() {
            Some(socket) => write!(f, "{database} at {}", socket.display()),
            None => write!(f, "{database} at {}:{}", self.options.get_host(), self.options.get_port()),
        }
    }
}

/// Without the options, which would show the password.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.to_string()).finish()
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Durable => "a restart loses nothing",
            Self::LosesRecentWrites => {
                "a crash of its server may lose the last moments, because synchronous_commit is off there"
            }
            Self::LosesAnything => "a crash of its machine may lose anything, because fsync is off there",
        })
    }
}

/// Waits for an answer with a timeout. After a timeout the connection must be dropped.
pub(super) async fn with_answer_timeout<T, E: Into<GroupError>>(
    asking: impl Future<Output = Result<T, E>> + Send,
) -> Result<T, GroupError> {
    match tokio::time::timeout(ANSWER_TIMEOUT, asking).await {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => Err(GroupError::timeout(format!("PostgreSQL did not answer within {ANSWER_TIMEOUT:?}"))),
    }
}

/// Whether an idle connection still works.
pub(super) async fn is_alive(connection: &mut PgConnection) -> bool {
    matches!(tokio::time::timeout(PING_TIMEOUT, connection.ping()).await, Ok(Ok(())))
}

async fn check(connection: &mut PgConnection) -> StoreResult<Durability> {
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
        ("off", _) => Durability::LosesAnything,
        (_, "off") => Durability::LosesRecentWrites,
        _ => Durability::Durable,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_depend_on_the_database_not_the_password() {
        let name = |address: &str| Server::from_address(address).unwrap().file_name();
        let socket = "postgres:///db?host=/run/postgresql&user=bot";
        let one = name(&format!("{socket}&port=5432&password=a"));
        assert_eq!(one, name(&format!("{socket}&port=5432&password=b&data=/x")));
        for other in ["&port=5433", "&port=5432&options[search_path]=bots"] {
            assert_ne!(one, name(&format!("{socket}{other}")), "{other}");
        }
    }
}
