//! How a store in Redis is made and found again.

use std::collections::BTreeSet;

use futures_util::future::try_join_all;

use super::address::Address;
use super::keys::{Keys, PARTITIONS};
use super::numbers::Numbers;
use super::server::Server;
use super::wire::{Call, Wire};
use super::{RedisCode, RedisStore};
use crate::store::{StoreError, StoreResult};

/// The form of the keys and rows that this version reads and writes.
const LAYOUT: &str = "1";
const OTHER_LAYOUT: &str = "what lies in this Redis was made by another version of the store";
const NOT_THERE: &str = "there is no store in this Redis (under this prefix and in this database)";

impl RedisStore {
    /// Makes what is missing.
    pub(super) async fn make(address: &str, code: RedisCode) -> StoreResult<Self> {
        let (wire, keys, server) = reach(address, code).await?;
        wire.ask::<()>(redis::cmd("SETNX").arg(keys.layout()).arg(LAYOUT)).await?;
        check_layout(&wire, &keys).await?;
        let fresh = format!("{:016x}", fastrand::u64(..));
        let marked = (0..PARTITIONS).map(async |partition| {
            wire.ask::<()>(redis::cmd("SETNX").arg(keys.generation(partition)).arg(&fresh)).await
        });
        try_join_all(marked).await?;
        server.warn(&wire);
        Self::with_generation(wire, keys, server).await
    }

    /// Makes nothing.
    pub(super) async fn find(address: &str) -> StoreResult<Self> {
        let (wire, keys, server) = reach(address, RedisCode::default()).await?;
        check_layout(&wire, &keys).await?;
        Self::with_generation(wire, keys, server).await
    }

    async fn with_generation(wire: Wire, keys: Keys, server: Server) -> StoreResult<Self> {
        let read = (0..PARTITIONS)
            .map(async |partition| wire.ask::<Option<String>>(redis::cmd("GET").arg(keys.generation(partition))).await);
        let all: BTreeSet<String> = try_join_all(read).await?.into_iter().map(Option::unwrap_or_default).collect();
        let generation = all.into_iter().collect::<Vec<_>>().join("+");
        Ok(Self { wire, keys, numbers: Numbers::default(), server, generation, lost_claims: Default::default() })
    }
}

/// Connects and brings the library along.
async fn reach(address: &str, code: RedisCode) -> StoreResult<(Wire, Keys, Server)> {
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

async fn check_layout(wire: &Wire, keys: &Keys) -> StoreResult<()> {
    let layout: Option<String> = wire.ask(redis::cmd("GET").arg(keys.layout())).await?;
    match layout.as_deref() {
        Some(LAYOUT) => Ok(()),
        Some(_) => Err(StoreError::Unsupported(OTHER_LAYOUT)),
        None => Err(StoreError::Unsupported(NOT_THERE)),
    }
}
