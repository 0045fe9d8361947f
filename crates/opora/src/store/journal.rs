//! The journal: keeps a single instance working while its Redis is away.
//!
//! While Redis answers, every call goes there, and local copies of the latest conversations stay in memory. When Redis
//! is away, the instance claims its lease on the journal, an SQL store. Conversations with a local copy go on there;
//! each turn is recorded with the version that it started from. For other conversations the updates wait, and people
//! are told so. When Redis is back, the instance claims the lease there again. The recorded turns are replayed by
//! compare-and-set before anything else is written; waiting updates go to the inbox. If a conversation was changed in
//! Redis meanwhile, Redis wins: the journal's state is parked and the person is asked again. Nothing is merged.
//!
//! If the application has tables beside Redis, the journal is in their database, so a turn commits together with its
//! writes. A turn that was decided there and may be missing in Redis waits for Redis.
//!
//! A journal is for one instance: it does not ask others before it takes over. Other instances can still reach a
//! journal in a database. So the leader on Redis also holds the journal's lease, and an instance that only lost its own
//! connection to Redis stands by.

use std::collections::{HashMap, HashSet};

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use self::database::JournalDatabase;
use self::local_copies::LocalCopies;
use super::open::existing_database;
use super::redis::{Address, JournalLocation, LoggedRedis, NotReached, RedisBackend};
use super::sent_log::SentLog;
use super::settings::setting;
use super::{DecisionStore, Epoch, OpenError, SqlDatabase, Store, StoreError, StoreResult};
use crate::clock::Clock;
use crate::key::ConversationKey;

mod claims;
mod conflict;
mod database;
mod entry;
mod local_copies;
mod outage;
mod redis_watch;
mod replay;
mod store_layer;

pub(super) use self::database::KEEPS_CONVERSATIONS;

/// How many conversations have a local copy.
const MAX_COPIES: usize = 50_000;

/// A Redis, and the journal for the time when it is away.
#[derive(Debug)]
pub struct Journal(Arc<Shared>);

/// What the journal and its watch task share.
#[derive(Debug)]
struct Shared {
    address: String,
    place: String,
    primary: OnceLock<PrimaryStore>,
    journal: JournalDatabase,
    /// Whether Redis is away, set by the watch task.
    away: watch::Sender<bool>,
    /// Redis did not answer the last ping. No call is sent until it does, so that no call has an unknown result.
    is_silent: AtomicBool,
    /// Bots whose lease is on the journal.
    on_journal: RwLock<HashSet<i64>>,
    /// Conversations that were copied into the journal.
    imported: Mutex<HashSet<ConversationKey>>,
    copies: LocalCopies,
    /// Tokens of our leases, by bot and "is on the journal".
    lease_tokens: Mutex<HashMap<(i64, bool), String>>,
    /// Journal leases that are held beside the lease on Redis, by bot: the epoch, and how long a renewal may wait for
    /// it. They keep other instances from taking over a journal in a shared database.
    journal_leases: Mutex<HashMap<i64, (Epoch, Duration)>>,
    /// The bot of each recent epoch that was granted here.
    epochs: Mutex<HashMap<Epoch, i64>>,
    /// The epochs to which this process raised the fences in the application's database, by bot.
    fence_epochs: Mutex<HashMap<i64, Epoch>>,
    /// `RedisBackend::losses_accepted` when the local copies were last valid.
    losses_accepted: AtomicU64,
    /// Why a Redis that answers again cannot be used.
    refusal: Mutex<Option<String>>,
    is_closed: AtomicBool,
    clock: Clock,
}

/// The store in Redis, alone or with an SQL database for the application's tables.
#[derive(Debug)]
enum PrimaryStore {
    Redis(Box<LoggedRedis>),
    Decided(Box<DecisionStore>),
}

impl Journal {
    /// Opens the Redis at an address that names a journal file: `redis://host?journal=FILE`. A Redis that is away is
    /// opened when it is back.
    pub async fn open(address: &str) -> StoreResult<Self> {
        let parsed = Address::parse(address)?;
        let Some(JournalLocation::File(path)) = &parsed.journal else { return Err(StoreError::Unsupported(NO_FILE)) };
        let redis = open_if_reachable(address).await?;
        Self::start(address, &parsed, redis, JournalDatabase::open(path).await?)
    }

    /// Opens a Redis with the journal in the application's database: `redis://host?journal=database`, see
    /// [`DecisionStore`]. The address needs `data=` too, and so does the address of a PostgreSQL;
    /// [`open_with_database`](super::open_with_database) adds it there.
    pub async fn open_in_database(address: &str, database: impl Into<SqlDatabase>) -> StoreResult<Self> {
        let parsed = Address::parse(address)?;
        let Some(JournalLocation::Database) = parsed.journal else { return Err(StoreError::Unsupported(NO_DATABASE)) };
        if setting(address, "data").is_none() {
            tracing::warn!("{NO_DATA}");
        }
        let database = Arc::new(database.into());
        DecisionStore::create_tables(&database).await?;
        let journal = JournalDatabase::in_database(database).await?;
        let redis = open_if_reachable(address).await?;
        Self::start(address, &parsed, redis, journal)
    }

    /// Refuses a database whose journal still holds data that was not replayed.
    pub(super) async fn check_fully_replayed(database: &SqlDatabase) -> StoreResult<()> {
        if JournalDatabase::holds_data(database).await? { Err(StoreError::Unsupported(NOT_REPLAYED)) } else { Ok(()) }
    }

    /// Removes conversations that a database stored itself before they moved to Redis, so that it can hold a journal.
    /// Returns their bots. The application's tables are not touched.
    ///
    /// Refused for a bot that never worked with a Redis, and while a bot holds a lease in this database.
    pub async fn discard_conversations(database: &str) -> Result<Vec<i64>, OpenError> {
        let Some(database) = existing_database(database).await? else { return Ok(Vec::new()) };
        let discarded = JournalDatabase::discard(&database).await;
        database.store().close().await?;
        Ok(discarded?)
    }

    fn start(
        address: &str,
        parsed: &Address,
        redis: Option<LoggedRedis>,
        journal: JournalDatabase,
    ) -> StoreResult<Self> {
        let primary = redis.map(|redis| PrimaryStore::new(redis, &journal));
        let shared = Arc::new(Shared {
            address: address.to_owned(),
            place: parsed.to_string(),
            away: watch::Sender::new(primary.is_none()),
            primary: primary.map_or_else(OnceLock::new, OnceLock::from),
            journal,
            is_silent: AtomicBool::new(false),
            on_journal: RwLock::default(),
            imported: Mutex::default(),
            copies: LocalCopies::new(MAX_COPIES),
            lease_tokens: Mutex::default(),
            journal_leases: Mutex::default(),
            epochs: Mutex::default(),
            fence_epochs: Mutex::default(),
            losses_accepted: AtomicU64::default(),
            refusal: Mutex::default(),
            is_closed: AtomicBool::new(false),
            clock: Clock::machine(),
        });
        tokio::spawn(redis_watch::watch(Arc::downgrade(&shared), parsed.away_after));
        Ok(Self(shared))
    }
}

impl Shared {
    fn is_away(&self) -> bool {
        *self.away.borrow()
    }

    fn is_on_journal(&self, bot: i64) -> bool {
        self.on_journal.read().contains(&bot)
    }

    /// The store in Redis, unless Redis is away.
    fn primary(&self) -> StoreResult<&PrimaryStore> {
        match self.primary.get() {
            Some(primary) if !self.is_away() && !self.is_silent.load(Ordering::Acquire) => Ok(primary),
            _ => Err(StoreError::Unavailable(NotReached(format!("the Redis at {} is away", self.place)).into())),
        }
    }

    /// The store that holds a bot's lease.
    fn store_of_bot(&self, bot: i64) -> StoreResult<&dyn Store> {
        if self.is_on_journal(bot) { Ok(self.journal.store()) } else { self.primary().map(PrimaryStore::store) }
    }

    /// The store that granted an epoch.
    fn store_of_epoch(&self, epoch: Epoch) -> StoreResult<&dyn Store> {
        if database::is_journal_epoch(epoch) {
            Ok(self.journal.store())
        } else {
            self.primary().map(PrimaryStore::store)
        }
    }

    /// Redis if it is reachable, else the journal. For an operator's reads.
    fn any_store(&self) -> &dyn Store {
        self.primary().map_or_else(|_| self.journal.store(), PrimaryStore::store)
    }

    async fn close(&self) -> StoreResult<()> {
        self.is_closed.store(true, Ordering::Release);
        let closed = match self.primary.get() {
            // This closes the database too.
            Some(PrimaryStore::Decided(decided)) => return decided.close().await,
            Some(PrimaryStore::Redis(redis)) => redis.close().await,
            None => Ok(()),
        };
        self.journal.store().close().await?;
        closed
    }
}

impl PrimaryStore {
    fn new(redis: LoggedRedis, journal: &JournalDatabase) -> Self {
        match journal.application_database() {
            Some(database) => Self::Decided(Box::new(DecisionStore::new(redis, Arc::clone(database)))),
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

    fn decision_store(&self) -> Option<&DecisionStore> {
        match self {
            Self::Redis(_) => None,
            Self::Decided(decided) => Some(decided),
        }
    }
}

/// Opens a Redis. `None` if it cannot be reached now.
async fn open_if_reachable(address: &str) -> StoreResult<Option<LoggedRedis>> {
    match RedisBackend::open_for_journal(address).await {
        Ok(redis) => Ok(Some(SentLog::around(redis))),
        Err(StoreError::Unavailable(why)) => {
            tracing::error!(%why, "Redis is away at the start: only conversations in the journal can go on");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

const NO_FILE: &str = "the address names no file for a journal: `journal=FILE`. `journal=database` is for an application \
                       with tables in a database beside Redis";
const NO_DATA: &str = "the journal is in the database, but the address of the Redis has no `data=`: a Redis that comes back \
                       older may go unnoticed, and messages may be sent twice after a crash";
const NOT_REPLAYED: &str = "the database has a journal that is not in Redis yet: people would be asked again for what they \
                            already answered. Start once more with `journal=database` in the address of the Redis \
                            (ONLY_INSTANCE=true for `opora run`), until the log says that Redis has everything";
const NO_DATABASE: &str = "beside the application's tables the journal is in their database: `journal=database`";
