//! Conversations in a PostgreSQL database: the store for production and for several instances.
//!
//! A committed turn is as durable as the server is set to be. The application's tables can be in the same database and
//! commit with its turns. One connection writes turns, in groups and in order. The control connection serves leases and
//! operator commands. Reads wait for neither.
//!
//! It makes no backups: PostgreSQL's own tools do.

use std::sync::atomic::AtomicU64;

use futures_util::future::join;

use self::reads::{LookupConnection, Readers};
use self::server::{Durability, Server};
use self::writer::Writer;
use super::sent_log::{LogFiles, Logged, SentLog};
use super::sql::queue;
use super::sql::reads::Reads;
use super::sql::store::SqlStore;
use super::sql::writers::Writers;
use super::{AnnouncedConversations, Answer, Epoch, Holder, Lease, LeaseAnswer, Store, StoreLayer, StoreResult};
use crate::key::ConversationKey;

mod address;
mod bulk;
mod exclusive;
mod facts;
mod last_seen;
mod moved;
mod notifications;
mod reads;
mod schema;
mod server;
mod session;
mod texts;
mod writer;

pub use self::last_seen::PostgresLoss;
use self::last_seen::VERIFY_TIMEOUT_MS;
pub(super) use self::reads::bound;

/// The rows of `opora_state_counts` that each writer counts in, so that neither waits for the other.
const TURNS_SLOT: i64 = 1;
const CONTROL_SLOT: i64 = 0;

/// Stores everything in tables named `opora_…` of one PostgreSQL database.
#[derive(Debug)]
pub struct PostgresStore {
    pub(super) sql: SentLog<SqlStore<Readers>>,
    server: Server,
    /// The generation of the tables when the store was opened.
    generation: String,
    /// How long a renewal waits for the check of the generation.
    verify_timeout_ms: AtomicU64,
}

impl PostgresStore {
    /// Opens a database by its address, `postgres://user:password@host:port/database`. Creates missing tables in the
    /// first schema of the connection's search path.
    ///
    /// Tables of an older version are migrated. Tables of a newer version are refused. If several instances start at
    /// once, one migrates and the others wait.
    ///
    /// `sslmode=verify-full` in the address requires TLS and checks the server's certificate and name against the
    /// system's authorities and `sslrootcert=file`. `sslcert=file` and `sslkey=file` are the client certificate.
    /// `sslmode=require` only encrypts: it does not check the server's identity.
    ///
    /// With `data=DIRECTORY` the last-seen record is kept there, so that a restarted bot notices an empty or another
    /// database. It is refused with [`Lost`](super::StoreError::Lost), and no tables are created. The sent log is kept
    /// there too, so that a killed process repeats few messages.
    pub async fn open(address: &str) -> StoreResult<Self> {
        let server = Server::from_address(address)?;
        let (durability, generation) = server.open().await?;
        Ok(Self::start(server, durability, generation))
    }

    /// Opens a database for tools beside a bot. Creates and changes nothing.
    ///
    /// Refuses a database without tables, and tables of another version: the bot migrates them when it starts, and a
    /// tool must not do that while an older bot runs.
    pub async fn open_existing(address: &str) -> StoreResult<Self> {
        let server = Server::from_address(address)?;
        let (durability, generation) = server.open_existing().await?;
        Ok(Self::start(server, durability, generation))
    }

    fn start(server: Server, durability: Durability, generation: String) -> Self {
        let writer = |slot| queue::start(Writer::new(server.clone(), slot));
        let writers = Writers::with_control(writer(TURNS_SLOT), writer(CONTROL_SLOT));
        let about = format!("in the PostgreSQL database {server}: {durability}");
        let log = server.data.as_ref().map(|folder| LogFiles::in_folder(folder, &server.file_name(), &generation));
        let reads = Reads(Readers::new(server.clone()));
        let sql = SentLog::around(SqlStore::start(about, writers, LookupConnection::new(server.clone()), reads, log));
        Self { sql, server, generation, verify_timeout_ms: AtomicU64::new(VERIFY_TIMEOUT_MS) }
    }

    /// An address without the settings of this library, for connecting to the same database by other means.
    #[must_use]
    pub fn plain_address(address: &str) -> String {
        address::without_data(address)
    }
}

impl Logged for SqlStore<Readers> {
    fn log_files(&self) -> Option<LogFiles> {
        self.log.clone()
    }
}

impl StoreLayer for PostgresStore {
    fn inner(&self) -> &dyn Store {
        &self.sql
    }

    fn supports_multiple_instances(&self) -> bool {
        true
    }

    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer> {
        Box::pin(async move {
            self.set_verify_timeout(holder);
            self.verify().await?;
            let answer = self.inner().claim(bot, holder, seen).await?;
            if let LeaseAnswer::Granted(epoch) = answer
                && self.server.data.is_some()
                && self.record_lease(bot, epoch).await
                && let Err(error) = self.sql.forget_from(epoch).await
            {
                // If this fails too, the lease expires.
                let _ = self.inner().release(bot, epoch).await;
                return Err(error);
            }
            Ok(answer)
        })
    }

    fn renew(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        Box::pin(async move {
            // Another database may have a lease with the same number.
            let (renewed, lost) = join(self.inner().renew(bot, epoch), self.lost()).await;
            lost.map_or(renewed, Err)
        })
    }

    fn announce(&self, bot: i64, keys: Vec<ConversationKey>) -> Answer<'_, ()> {
        Box::pin(notifications::announce(&self.sql.reads.0, bot, keys))
    }

    fn listen(&self, bot: i64) -> Answer<'_, AnnouncedConversations> {
        Box::pin(notifications::listen(&self.server, bot))
    }
}
