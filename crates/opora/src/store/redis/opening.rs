//! How a store in Redis is made and found again.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use futures_util::future::try_join_all;
use parking_lot::Mutex;

use super::address::Address;
use super::expiry::keep_ms;
use super::keys::{Keys, PARTITIONS};
use super::numbers::Numbers;
use super::rounds::Rounds;
use super::server::Server;
use super::wire::{Call, Wire};
use super::witness::{Witness, generation, judge, look};
use super::{RedisBackend, RedisCode};
use crate::store::witness::FileWitness;
use crate::store::{StoreError, StoreResult};

/// The form of the keys and rows that this version reads and writes.
const LAYOUT: &str = "1";
const OTHER_LAYOUT: &str = "what lies in this Redis has another layout than this version of the library knows: use the \
                            program that made it, or another prefix";
const JOURNAL_ELSEWHERE: &str = "the address of Redis names a journal, which only `store::open`, `store::open_with_database` and `Journal` keep, and \
    not with `layout=aiogram`: leave `journal` out, or open the store by one of them";
const NOT_THERE: &str = "there is no store in this Redis (under this prefix and in this database)";

impl RedisBackend {
    /// Makes what is missing. Whoever names a journal relies on one: an address with it is refused where there is none.
    pub(super) async fn make(address: &str, code: RedisCode) -> StoreResult<Self> {
        if Address::parse(address)?.journal.is_some() {
            return Err(StoreError::Unsupported(JOURNAL_ELSEWHERE));
        }
        Self::make_behind(address, code).await
    }

    /// The same, for a journal that stands before it.
    pub(in crate::store) async fn open_behind_journal(address: &str) -> StoreResult<Self> {
        Self::make_behind(address, RedisCode::default()).await
    }

    async fn make_behind(address: &str, code: RedisCode) -> StoreResult<Self> {
        let (wire, keys, server) = reach(address, code).await?;
        let folder = wire.address.folder();
        let file = folder.map(|folder| FileWitness::of(folder, &wire.address.file_name()));
        let witness = Witness::load(file, wire.address.after_loss).await.map_err(no_witness)?;
        let expected = witness.generation();
        if !expected.is_empty() && expected != generation(&wire, &keys).await? {
            nothing_is_lost(&wire, &keys, &witness).await?;
        }
        set_if_missing(&wire, &keys.layout(), LAYOUT).await?;
        check_layout(&wire, &keys).await?;
        let fresh = format!("{:016x}", fastrand::u64(..));
        let marked = (0..PARTITIONS).map(async |partition| {
            let generation = keys.generation(partition);
            set_if_missing(&wire, &generation, &fresh).await
        });
        try_join_all(marked).await?;
        server.warn(&wire);
        Self::with_generation(wire, keys, server, witness).await
    }

    /// Makes nothing.
    pub(super) async fn find(address: &str) -> StoreResult<Self> {
        let (wire, keys, server) = reach(address, RedisCode::default()).await?;
        check_layout(&wire, &keys).await?;
        // A tool has seen nothing, and keeps nothing.
        let witness = Witness::load(None, wire.address.after_loss).await.map_err(no_witness)?;
        Self::with_generation(wire, keys, server, witness).await
    }

    /// The generation as it is now, see [`super::RedisStore::generation`]; empty where there is none.
    pub(in crate::store) async fn generation_now(&self) -> StoreResult<String> {
        generation(&self.wire, &self.keys).await
    }

    /// The generation at an address, without a store: nothing is made there.
    pub(in crate::store) async fn generation_at(address: &str) -> StoreResult<String> {
        let (wire, keys, _) = reach(address, RedisCode::default()).await?;
        let found = generation(&wire, &keys).await;
        wire.close();
        found
    }

    async fn with_generation(wire: Wire, keys: Keys, server: Server, witness: Arc<Witness>) -> StoreResult<Self> {
        let generation = generation(&wire, &keys).await?;
        witness.expect_generation(&generation);
        let keep_ms = keep_ms(wire.address.keep_days);
        let wire = Arc::new(wire);
        let keys = Arc::new(keys);
        Ok(Self {
            rounds: Rounds::new(&wire, &keys, &witness),
            wire,
            keys,
            numbers: Numbers::default(),
            server,
            keep_ms,
            generation,
            witness,
            lost_claims: Mutex::default(),
            ended_cleaned: AtomicU64::default(),
        })
    }
}

/// Connects and brings the library along.
pub(super) async fn reach(address: &str, code: RedisCode) -> StoreResult<(Wire, Keys, Server)> {
    let address = Address::parse(address)?;
    let keys = Keys::new(&address.prefix);
    let place = address.to_string();
    let reached = async {
        let wire = Wire::connect(address).await?;
        let server = Server::ask(&wire).await?;
        if code == RedisCode::Scripts || !server.has_functions() {
            wire.use_scripts();
        }
        wire.call(Call { function: "here", keys: &[], args: Vec::new() }).await?;
        Ok((wire, keys, server))
    };
    reached.await.map_err(|error| match error {
        StoreError::Unavailable(why) => {
            StoreError::Unavailable(format!("cannot use the Redis at {place}: {why}").into())
        }
        other => other,
    })
}

fn no_witness(error: std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("cannot read what was seen of Redis before: {error}").into())
}

/// Refuses a content that is not the one which bots have written to.
async fn nothing_is_lost(wire: &Wire, keys: &Keys, witness: &Witness) -> StoreResult<()> {
    for bot in witness.record().bots.into_keys() {
        let found = look(wire, keys, bot).await?;
        if let Some(loss) = judge(witness, bot, &found, &wire.address.to_string()) {
            return Err(loss.into_error());
        }
    }
    Ok(())
}

/// Sets a key that is not there. A full server takes no such command even where there is nothing to do, so it is asked first.
async fn set_if_missing(wire: &Wire, key: &str, value: &str) -> StoreResult<()> {
    if wire.ask::<bool>(redis::cmd("EXISTS").arg(key)).await? {
        return Ok(());
    }
    wire.ask(redis::cmd("SETNX").arg(key).arg(value)).await
}

async fn check_layout(wire: &Wire, keys: &Keys) -> StoreResult<()> {
    let layout: Option<String> = wire.ask(redis::cmd("GET").arg(keys.layout())).await?;
    match layout.as_deref() {
        Some(LAYOUT) => Ok(()),
        Some(_) => Err(StoreError::Unsupported(OTHER_LAYOUT)),
        None => Err(StoreError::Unsupported(NOT_THERE)),
    }
}
