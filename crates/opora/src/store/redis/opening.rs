//! Creates and opens a store in Redis.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use futures_util::future::try_join_all;
use parking_lot::Mutex;

use super::address::Address;
use super::connection::{Call, Connection, cannot_use};
use super::expiry::keep_ms;
use super::held_leases::HeldLeases;
use super::keys::{Keys, PARTITIONS};
use super::last_seen::{LastSeen, find_loss, read_generation, read_progress};
use super::rounds::Rounds;
use super::server::Server;
use super::writes::PartitionWriter;
use super::{RedisBackend, RedisCode};
use crate::store::last_seen::LastSeenFile;
use crate::store::{StoreError, StoreResult};

/// The layout of keys and rows that this version reads and writes.
const LAYOUT: &str = "1";
const OTHER_LAYOUT: &str = "the data in this Redis has a layout that this version of the library does not know: use the \
                            program that wrote it, or another prefix";
const JOURNAL_ELSEWHERE: &str = "the address of Redis names a journal, which only `store::open`, `store::open_with_database` and \
    `Journal` support, and not with `layout=aiogram`: leave `journal` out, or open the store by one of them";
const NOT_THERE: &str = "there is no store in this Redis (under this prefix and in this database)";

impl RedisBackend {
    /// Opens the store, and creates it if there is none. Refuses an address with a journal, which this would not keep.
    pub(super) async fn open_address(address: &str, code: RedisCode) -> StoreResult<Self> {
        if Address::parse(address)?.journal.is_some() {
            return Err(StoreError::Unsupported(JOURNAL_ELSEWHERE));
        }
        Self::open_or_create(address, code).await
    }

    /// Opens the store behind a journal, and creates it if there is none.
    pub(crate) async fn open_for_journal(address: &str) -> StoreResult<Self> {
        Self::open_or_create(address, RedisCode::default()).await
    }

    async fn open_or_create(address: &str, code: RedisCode) -> StoreResult<Self> {
        let (connection, keys, server) = connect(address, code).await?;
        let folder = connection.address.folder();
        let file = folder.map(|folder| LastSeenFile::new(folder, &connection.address.file_name()));
        let last_seen = LastSeen::load(file, connection.address.after_loss).await.map_err(last_seen_unreadable)?;
        let expected = last_seen.generation();
        if !expected.is_empty() && expected != read_generation(&connection, &keys).await? {
            check_nothing_lost(&connection, &keys, &last_seen).await?;
        }
        set_if_missing(&connection, &keys.layout(), LAYOUT).await?;
        check_layout(&connection, &keys).await?;
        let fresh = format!("{:016x}", fastrand::u64(..));
        let marked = (0..PARTITIONS).map(async |partition| {
            let generation = keys.generation(partition);
            set_if_missing(&connection, &generation, &fresh).await
        });
        try_join_all(marked).await?;
        server.warn(&connection);
        Self::with_generation(connection, keys, server, last_seen).await
    }

    /// Opens an existing store, and creates nothing.
    pub(super) async fn open_existing_address(address: &str) -> StoreResult<Self> {
        let (connection, keys, server) = connect(address, RedisCode::default()).await?;
        check_layout(&connection, &keys).await?;
        // A tool has no last-seen record.
        let last_seen = LastSeen::load(None, connection.address.after_loss).await.map_err(last_seen_unreadable)?;
        Self::with_generation(connection, keys, server, last_seen).await
    }

    /// The present generation, see [`super::RedisStore::generation`]. Empty if there is none.
    pub(crate) async fn generation_now(&self) -> StoreResult<String> {
        read_generation(&self.connection, &self.keys).await
    }

    /// The generation of the Redis at an address. Creates nothing.
    pub(crate) async fn generation_at(address: &str) -> StoreResult<String> {
        let (connection, keys, _) = connect(address, RedisCode::default()).await?;
        let found = read_generation(&connection, &keys).await;
        connection.close();
        found
    }

    async fn with_generation(
        connection: Connection,
        keys: Keys,
        server: Server,
        last_seen: Arc<LastSeen>,
    ) -> StoreResult<Self> {
        let generation = read_generation(&connection, &keys).await?;
        last_seen.expect_generation(&generation);
        let keep_ms = keep_ms(connection.address.keep_days);
        let connection = Arc::new(connection);
        let keys = Arc::new(keys);
        let writer = PartitionWriter {
            connection: Arc::clone(&connection),
            keys: Arc::clone(&keys),
            last_seen: Arc::clone(&last_seen),
        };
        Ok(Self {
            rounds: Rounds::new(writer.clone()),
            writer,
            connection,
            keys,
            held_leases: HeldLeases::default(),
            server,
            keep_ms,
            generation,
            last_seen,
            lost_claims: Mutex::default(),
            ended_cleaned: AtomicU64::default(),
        })
    }
}

/// Connects and loads the function library.
pub(super) async fn connect(address: &str, code: RedisCode) -> StoreResult<(Connection, Keys, Server)> {
    let address = Address::parse(address)?;
    let keys = Keys::new(&address.prefix);
    let place = address.to_string();
    let connected = async {
        let connection = Connection::connect(address).await?;
        let server = Server::read(&connection).await?;
        if code == RedisCode::Scripts || !server.has_functions() {
            connection.use_scripts();
        }
        connection.call(Call { function: "here", keys: &[], args: Vec::new() }).await?;
        Ok((connection, keys, server))
    };
    connected.await.map_err(|error| cannot_use(error, &place))
}

fn last_seen_unreadable(error: std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("cannot read the last-seen record of Redis: {error}").into())
}

/// Refuses data that is older than, or different from, what the last-seen record says.
async fn check_nothing_lost(connection: &Connection, keys: &Keys, last_seen: &LastSeen) -> StoreResult<()> {
    for bot in last_seen.record().bots.into_keys() {
        let found = read_progress(connection, keys, bot).await?;
        if let Some(loss) = find_loss(last_seen, bot, &found, &connection.address.to_string()) {
            return Err(loss.into_error());
        }
    }
    Ok(())
}

/// Sets a missing key. Asks first, because a server without memory refuses `SETNX` even if the key exists.
async fn set_if_missing(connection: &Connection, key: &str, value: &str) -> StoreResult<()> {
    if connection.query::<bool>(redis::cmd("EXISTS").arg(key)).await? {
        return Ok(());
    }
    connection.query(redis::cmd("SETNX").arg(key).arg(value)).await
}

async fn check_layout(connection: &Connection, keys: &Keys) -> StoreResult<()> {
    let layout: Option<String> = connection.query(redis::cmd("GET").arg(keys.layout())).await?;
    match layout.as_deref() {
        Some(LAYOUT) => Ok(()),
        Some(_) => Err(StoreError::Unsupported(OTHER_LAYOUT)),
        None => Err(StoreError::Unsupported(NOT_THERE)),
    }
}
