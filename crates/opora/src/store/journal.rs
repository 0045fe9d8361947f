//! A journal on this machine's disk that keeps a single instance going while its Redis is away.
//!
//! While Redis answers, everything goes there, and copies of the conversations used last stay in memory. When it does not,
//! the lease is begun anew on the journal, an SQLite file with the same face: whoever has a copy goes on from it, and each
//! turn is written down with the version that it started from. Others are told "one moment", and their updates wait.
//! When Redis is back, the lease is begun anew there: what was written down is replayed by compare-and-set before anything
//! else happens, and what waited goes into the inbox. A conversation that was changed in Redis meanwhile stays as it is
//! there; what the journal has is parked, and the person is asked again. Nothing is merged.
//!
//! Where an application has tables beside its Redis, the journal lies in their database, so that a turn commits with what it
//! writes there, as it does otherwise. What was decided there and is not known to be in Redis waits for Redis.
//!
//! By naming a journal the operator declares that there is no second instance: nobody else is asked before it goes on. A
//! journal in a database can be reached from elsewhere all the same; so whoever leads on Redis holds its lease, too, and one
//! from whom alone Redis is away stands by.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use self::book::Book;
use self::copies::Copies;
use super::open::existing_database;
use super::redis::{AWAY_AFTER, Address, JournalPlace, LoggedRedis, NotReached, RedisBackend};
use super::sent_log::SentLog;
use super::settings::setting;
use super::{DecidedStore, Epoch, OpenError, RedisStore, SqlDatabase, Store, StoreError, StoreResult};
use crate::clock::Clock;
use crate::key::DialogueKey;

mod away;
mod book;
mod claims;
mod conflict;
mod copies;
mod entry;
mod face;
mod replay;
mod watching;

pub(super) use self::book::KEEPS_CONVERSATIONS;

/// How many conversations are copied.
const COPIES: usize = 50_000;

/// A Redis, and the journal for the time when it is away.
#[derive(Debug)]
pub struct Journal(Arc<Shared>);

/// What the journal and its watch share.
#[derive(Debug)]
struct Shared {
    address: String,
    place: String,
    there: OnceLock<There>,
    book: Book,
    /// Whether Redis is away, as the watch has found.
    away: watch::Sender<bool>,
    /// Redis did not answer the watch's last question: nothing is asked of it, so that nobody has to doubt what became of it.
    is_silent: AtomicBool,
    /// Bots whose lease is on the journal.
    on_journal: RwLock<HashSet<i64>>,
    /// Conversations that the journal has.
    imported: Mutex<HashSet<DialogueKey>>,
    copies: Copies,
    /// The tokens of our leases, by bot and whether they are on the journal.
    leases: Mutex<HashMap<(i64, bool), String>>,
    /// The epochs under which the journal's lease is held beside the one on Redis, so that nobody else goes on with a
    /// journal that several can reach; and how long a renewal may wait for that.
    held: Mutex<HashMap<i64, (Epoch, Duration)>>,
    /// The bots of the latest epochs that were given here.
    epochs: Mutex<HashMap<Epoch, i64>>,
    /// The epochs to which the fences of bots were raised from here, where the journal lies beside an application's tables.
    raised: Mutex<HashMap<i64, Epoch>>,
    /// How often the store has gone on after a loss, as far as the copies know.
    accepted: AtomicU64,
    /// Why a Redis that is back cannot be used.
    refusal: Mutex<Option<String>>,
    is_closed: AtomicBool,
    clock: Clock,
}

/// The Redis, alone or with a database beside it.
#[derive(Debug)]
enum There {
    Redis(Box<LoggedRedis>),
    Decided(Box<DecidedStore>),
}

impl Journal {
    /// Opens the Redis at an address that names a journal: `redis://host?journal=FILE`. One that is away now is opened when
    /// it is back.
    pub async fn open(address: &str) -> StoreResult<Self> {
        let parsed = Address::parse(address)?;
        let Some(JournalPlace::File(path)) = &parsed.journal else { return Err(StoreError::Unsupported(NO_FILE)) };
        let redis = open_if_there(address).await?;
        Self::make(address.to_owned(), parsed.to_string(), parsed.away_after, redis, Book::open(path).await?)
    }

    /// Opens the Redis at an address that names the database beside it as the journal: `redis://host?journal=database`. The
    /// application's tables are in that database, see [`DecidedStore`]. It wants `data=` beside that; so does the address of a
    /// PostgreSQL, to which [`open_with_database`](super::open_with_database) adds it.
    pub async fn open_beside(address: &str, database: impl Into<SqlDatabase>) -> StoreResult<Self> {
        let parsed = Address::parse(address)?;
        let Some(JournalPlace::Database) = parsed.journal else { return Err(StoreError::Unsupported(NO_DATABASE)) };
        if setting(address, "data").is_none() {
            tracing::warn!("{NO_DATA}");
        }
        let database = Arc::new(database.into());
        DecidedStore::make_tables(&database).await?;
        let book = Book::beside(database).await?;
        let redis = open_if_there(address).await?;
        Self::make(address.to_owned(), parsed.to_string(), parsed.away_after, redis, book)
    }

    /// Refuses a database in which something is written down that only a journal brings to Redis.
    pub(super) async fn nothing_is_left(database: &SqlDatabase) -> StoreResult<()> {
        if Book::has_something(database).await? { Err(StoreError::Unsupported(IS_LEFT)) } else { Ok(()) }
    }

    /// Removes what a database has kept of conversations itself, before they came to Redis, so that it can have a journal.
    /// Answers whose they were. The application's tables are not touched.
    ///
    /// Only of bots that work with a Redis now, and only while the database itself is nobody's store.
    pub async fn discard_conversations(database: &str) -> Result<Vec<i64>, OpenError> {
        let Some(database) = existing_database(database).await? else { return Ok(Vec::new()) };
        let discarded = Book::discard(&database).await;
        database.store().close().await?;
        Ok(discarded?)
    }

    /// Keeps a journal in a file before a Redis that is open.
    pub async fn before(redis: RedisStore, path: &Path) -> StoreResult<Self> {
        Self::make(String::new(), redis.0.place(), AWAY_AFTER, Some(redis.0), Book::open(path).await?)
    }

    fn make(
        address: String,
        place: String,
        away_after: Duration,
        redis: Option<LoggedRedis>,
        book: Book,
    ) -> StoreResult<Self> {
        let there = redis.map(|redis| There::of(redis, &book));
        let shared = Arc::new(Shared {
            address,
            place,
            away: watch::Sender::new(there.is_none()),
            there: there.map_or_else(OnceLock::new, OnceLock::from),
            book,
            is_silent: AtomicBool::new(false),
            on_journal: RwLock::default(),
            imported: Mutex::default(),
            copies: Copies::new(COPIES),
            leases: Mutex::default(),
            held: Mutex::default(),
            epochs: Mutex::default(),
            raised: Mutex::default(),
            accepted: AtomicU64::default(),
            refusal: Mutex::default(),
            is_closed: AtomicBool::new(false),
            clock: Clock::machine(),
        });
        tokio::spawn(watching::watch(Arc::downgrade(&shared), away_after));
        Ok(Self(shared))
    }
}

impl Shared {
    /// Whether Redis is away, as far as is known.
    fn is_away(&self) -> bool {
        *self.away.borrow()
    }

    fn is_on_journal(&self, bot: i64) -> bool {
        self.on_journal.read().contains(&bot)
    }

    /// The Redis, if it is there.
    fn there(&self) -> StoreResult<&There> {
        match self.there.get() {
            Some(there) if !self.is_away() && !self.is_silent.load(Ordering::Acquire) => Ok(there),
            _ => Err(StoreError::Unavailable(NotReached(format!("the Redis at {} is away", self.place)).into())),
        }
    }

    /// The store that a bot's lease is on.
    fn of_bot(&self, bot: i64) -> StoreResult<&dyn Store> {
        if self.is_on_journal(bot) { Ok(self.book.store()) } else { self.there().map(There::store) }
    }

    /// The store that gave an epoch.
    fn of_epoch(&self, epoch: Epoch) -> StoreResult<&dyn Store> {
        if book::is_ours(epoch) { Ok(self.book.store()) } else { self.there().map(There::store) }
    }

    /// Where an operator looks.
    fn anywhere(&self) -> &dyn Store {
        self.there().map_or_else(|_| self.book.store(), There::store)
    }

    async fn close(&self) -> StoreResult<()> {
        self.is_closed.store(true, Ordering::Release);
        let closed = match self.there.get() {
            // It closes the database, too.
            Some(There::Decided(decided)) => return decided.close().await,
            Some(There::Redis(redis)) => redis.close().await,
            None => Ok(()),
        };
        self.book.store().close().await?;
        closed
    }
}

impl There {
    fn of(redis: LoggedRedis, book: &Book) -> Self {
        match book.tables() {
            Some(database) => Self::Decided(Box::new(DecidedStore::beside(redis, Arc::clone(database)))),
            None => Self::Redis(Box::new(redis)),
        }
    }

    fn store(&self) -> &dyn Store {
        match self {
            Self::Redis(redis) => &**redis,
            Self::Decided(decided) => &**decided,
        }
    }

    fn redis(&self) -> &RedisBackend {
        match self {
            Self::Redis(redis) => redis,
            Self::Decided(decided) => decided.redis(),
        }
    }

    /// The conversations of which a turn may stand that Redis does not know of.
    fn unsure_of(&self, bot: i64) -> Vec<DialogueKey> {
        match self {
            Self::Redis(_) => Vec::new(),
            Self::Decided(decided) => decided.unsure_of(bot),
        }
    }

    /// Whether a turn of somebody's may be decided that Redis does not know of.
    fn is_unsure(&self, key: &DialogueKey) -> bool {
        match self {
            Self::Redis(_) => false,
            Self::Decided(decided) => decided.is_unsure(key),
        }
    }

    /// The highest epoch under which this process has wanted to decide a bot's turns.
    fn raised(&self, bot: i64) -> Option<Epoch> {
        match self {
            Self::Redis(_) => None,
            Self::Decided(decided) => decided.raised(bot),
        }
    }
}

/// Opens a Redis; none if it is away now.
async fn open_if_there(address: &str) -> StoreResult<Option<LoggedRedis>> {
    match RedisBackend::open_behind_journal(address).await {
        Ok(redis) => Ok(Some(SentLog::around(redis))),
        Err(StoreError::Unavailable(why)) => {
            tracing::error!(%why, "Redis is away at the start: only who is in the journal can go on");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

const NO_FILE: &str = "the address names no file for a journal: `journal=FILE`. `journal=database` is for an application \
                       with tables in a database beside Redis";
const NO_DATA: &str = "the journal lies in the database, and without `data=` in the address of the Redis nothing is seen of that \
                       Redis and nothing noted of what was sent: one that comes back older may go unnoticed, and messages be sent \
                       again";
const IS_LEFT: &str = "the database has a journal of the time when Redis was away, which is not in Redis yet: people would be asked \
                       again for what they have said. Start once more with `journal=database` in the address of the Redis \
                       (ONLY_INSTANCE=true for `opora run`), until the log says that Redis has everything";
const NO_DATABASE: &str = "beside the application's tables a journal lies in their database: `journal=database`";
