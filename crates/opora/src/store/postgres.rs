//! Conversations in a PostgreSQL database: the store for production and for several instances.
//!
//! What was answered is committed, and as durable as the server is set to be; the application's own tables can lie in the
//! same database and commit with its turns. One connection writes what turns write, in groups and in order; another one, the
//! desk, serves leases and the operator. Reads wait for neither.
//!
//! It makes no copies of the database: PostgreSQL's own tools do.

use std::sync::atomic::AtomicU64;

use futures_util::future::join;

use self::reads::{Finder, Readers};
use self::server::{Promise, Server};
use self::writer::Writer;
use super::sent_log::{LogFiles, Logged, SentLog};
use super::sql::queue;
use super::sql::reads::Reads;
use super::sql::store::SqlStore;
use super::sql::writers::Writers;
use super::{Answer, Epoch, Holder, Lease, LeaseAnswer, News, Store, StoreLayer, StoreResult};
use crate::key::DialogueKey;

mod address;
mod alone;
mod bulk;
mod facts;
mod moved;
mod news;
mod reads;
mod schema;
mod server;
mod session;
mod texts;
mod witness;
mod writer;

#[cfg(feature = "redis")]
pub(super) use self::reads::bound;
pub use self::witness::PostgresLoss;
use self::witness::VERIFIED_WITHIN_MS;

/// Where the writer of turns and the desk count places: neither waits for the other's rows.
const TURNS_SLOT: i64 = 1;
const DESK_SLOT: i64 = 0;

/// Keeps everything in tables named `opora_…` of one PostgreSQL database.
#[derive(Debug)]
pub struct PostgresStore {
    pub(super) sql: SentLog<SqlStore<Readers>>,
    server: Server,
    /// The tables that were found when it was opened.
    generation: String,
    /// How long a renewal waits for word of that.
    verified_within_ms: AtomicU64,
}

impl PostgresStore {
    /// Opens a database by its address, `postgres://user:password@host:port/database`, and makes the tables if they are
    /// missing, in the first schema of the connection's search path.
    ///
    /// Tables of an older version are brought up to date; those of a newer one are refused. Of several instances that
    /// start at once one does it, and the others wait.
    ///
    /// `sslmode=verify-full` in the address asks for TLS and checks the server's certificate and name, by the authorities
    /// that the system trusts and the one of `sslrootcert=file`; `sslcert=file` and `sslkey=file` are our own certificate.
    /// `sslmode=require` only hides what is said from those who listen: it does not ask whom it talks to.
    ///
    /// With `data=DIRECTORY` it is kept there which database this was, so that also a restarted bot notices when it has come
    /// back empty, or when it is another one: that is refused with [`Lost`](super::StoreError::Lost), and no tables are
    /// made. What was sent is noted there as well, so that a killed process repeats few messages.
    pub async fn open(address: &str) -> StoreResult<Self> {
        let server = Server::of(address)?;
        let (promise, generation) = server.open().await?;
        Ok(Self::start(server, promise, generation))
    }

    /// Opens a database as it is, for tools beside a bot: nothing is made, and no tables are changed.
    ///
    /// One without tables, or whose tables are of another version, is refused: the bot's own start brings them up to
    /// date, and a tool must not do it beneath an older bot that still runs.
    pub async fn open_existing(address: &str) -> StoreResult<Self> {
        let server = Server::of(address)?;
        let (promise, generation) = server.open_existing().await?;
        Ok(Self::start(server, promise, generation))
    }

    fn start(server: Server, promise: Promise, generation: String) -> Self {
        let writer = |slot| queue::start(Writer::new(server.clone(), slot));
        let writers = Writers::with_desk(writer(TURNS_SLOT), writer(DESK_SLOT));
        let about = format!("in the PostgreSQL database {server}: {promise}");
        let log = server.data.as_ref().map(|folder| LogFiles::in_folder(folder, &server.file_name(), &generation));
        let reads = Reads(Readers::of(server.clone()));
        let sql = SentLog::around(SqlStore::start(about, writers, Finder::of(server.clone()), reads, log));
        Self { sql, server, generation, verified_within_ms: AtomicU64::new(VERIFIED_WITHIN_MS) }
    }

    /// An address without the settings that are this library's alone, for whoever connects to the same database by other
    /// means.
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
            self.is_asked_by(holder);
            self.verify().await?;
            let answer = self.inner().claim(bot, holder, seen).await?;
            if let LeaseAnswer::Granted(epoch) = answer
                && self.server.data.is_some()
                && self.saw_lease(bot, epoch).await
                && let Err(error) = self.sql.forget_from(epoch).await
            {
                // If that fails too, the lease runs out.
                let _ = self.inner().release(bot, epoch).await;
                return Err(error);
            }
            Ok(answer)
        })
    }

    fn renew(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        Box::pin(async move {
            // Other tables may have a lease with the same number.
            let (renewed, lost) = join(self.inner().renew(bot, epoch), self.lost()).await;
            lost.map_or(renewed, Err)
        })
    }

    fn announce(&self, bot: i64, keys: Vec<DialogueKey>) -> Answer<'_, ()> {
        Box::pin(news::announce(&self.sql.reads.0, bot, keys))
    }

    fn listen(&self, bot: i64) -> Answer<'_, News> {
        Box::pin(news::listen(&self.server, bot))
    }
}
