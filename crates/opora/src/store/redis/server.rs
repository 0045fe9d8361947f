//! The Redis server's version and settings: what it may evict, and what a restart loses.

use std::collections::HashMap;

use redis::{ErrorKind, ServerErrorKind};

use super::address::Address;
use super::connection::{Connection, cannot_use, unavailable};
use crate::store::{StoreError, StoreResult};

/// The oldest usable version, and the oldest with functions.
const OLDEST: (u32, u32) = (6, 2);
const HAS_FUNCTIONS: (u32, u32) = (7, 0);

const NOTHING: &str = "a restart loses nothing";

/// What an operator wants to know of a Redis server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisServerInfo {
    /// The address, without a password.
    pub address: String,
    /// Major and minor version.
    pub version: (u32, u32),
    /// The policy by which it evicts keys when its memory is full, if it may.
    pub eviction_policy: Option<String>,
    /// What a restart loses, in words.
    pub restart_loss: &'static str,
    /// Whether a restart may lose anything.
    pub can_lose_data: bool,
}

impl RedisServerInfo {
    /// Reads version and settings of the server at an address. Changes nothing.
    pub async fn read(address: &str) -> StoreResult<Self> {
        let address = Address::parse(address)?;
        let shown = address.to_string();
        let request = async {
            let connection = Connection::connect(address).await?;
            let server = Server::read(&connection).await;
            connection.close();
            server
        };
        let server = request.await.map_err(|error| cannot_use(error, &shown))?;
        let eviction_policy = server.eviction_policy().map(ToOwned::to_owned);
        let restart_loss = server.restart_loss();
        let can_lose_data = restart_loss != NOTHING;
        Ok(Self { address: shown, version: server.version, eviction_policy, restart_loss, can_lose_data })
    }
}

/// Version and settings when the store was opened.
#[derive(Debug)]
pub(super) struct Server {
    version: (u32, u32),
    // Empty if the server does not tell its settings.
    settings: HashMap<String, String>,
}

impl Server {
    /// Reads version and settings. A server that is too old is refused.
    pub(super) async fn read(connection: &Connection) -> StoreResult<Self> {
        let info: Result<String, _> = connection.send(redis::cmd("INFO").arg("server")).await;
        let version = match info {
            Ok(info) => version_in(&info),
            // Many servers forbid INFO to ordinary users. A server with such rules is not an old one.
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm) => HAS_FUNCTIONS,
            Err(error) => return Err(unavailable(error)),
        };
        if version < OLDEST {
            let (major, minor) = version;
            let reason = format!("it is Redis {major}.{minor}, and at least 6.2 is needed");
            return Err(StoreError::Unavailable(reason.into()));
        }
        let mut settings = HashMap::new();
        for name in ["maxmemory", "maxmemory-policy", "appendonly", "appendfsync", "save"] {
            let answer: Result<HashMap<String, String>, _> =
                connection.send(redis::cmd("CONFIG").arg("GET").arg(name)).await;
            match answer {
                Ok(values) => settings.extend(values),
                Err(error) if error.is_io_error() => return Err(unavailable(error)),
                // The server may forbid CONFIG.
                Err(error) => tracing::debug!(%error, name, "cannot read a setting of Redis"),
            }
        }
        Ok(Self { version, settings })
    }

    pub(super) fn has_functions(&self) -> bool {
        self.version >= HAS_FUNCTIONS
    }

    /// Logs a warning about settings that lose data.
    pub(super) fn warn(&self, connection: &Connection) {
        if let Some(policy) = self.eviction_policy() {
            tracing::warn!(
                redis = %connection.address,
                policy,
                "this Redis evicts keys when its memory is full; conversations need maxmemory-policy noeviction"
            );
        }
        if self.fsync() == Fsync::Never {
            tracing::warn!(redis = %connection.address, "this Redis has no append-only file: a restart loses turns");
        }
    }

    /// The eviction policy, if keys may be evicted. Volatile policies count too: marks have an expiry, and without its
    /// mark an update that is delivered again would count as new.
    fn eviction_policy(&self) -> Option<&str> {
        let is_bounded = self.settings.get("maxmemory").is_none_or(|most| most != "0");
        let policy = self.settings.get("maxmemory-policy").map(String::as_str);
        policy.filter(|policy| is_bounded && *policy != "noeviction")
    }

    /// What a restart of the server loses, in words.
    pub(super) fn restart_loss(&self) -> &'static str {
        match self.fsync() {
            Fsync::Always => NOTHING,
            Fsync::EverySecond => "a crash of the server's machine may lose the last second (appendfsync everysec)",
            Fsync::Sometimes => "a crash of the server's machine may lose half a minute (appendfsync no)",
            Fsync::Snapshots => "a crash of the server loses everything since its last snapshot (appendonly no)",
            Fsync::Never => "a restart of the server loses everything (appendonly no, no snapshots)",
            Fsync::Unknown => "what a restart loses depends on the server's appendfsync, which it does not tell",
        }
    }

    fn fsync(&self) -> Fsync {
        let setting = |name: &str| self.settings.get(name).map(String::as_str);
        match (setting("appendonly"), setting("appendfsync"), setting("save")) {
            (Some("yes"), Some("always"), _) => Fsync::Always,
            (Some("yes"), Some("no"), _) => Fsync::Sometimes,
            (Some("yes"), ..) => Fsync::EverySecond,
            (Some(_), _, Some("")) => Fsync::Never,
            (Some(_), ..) => Fsync::Snapshots,
            (None, ..) => Fsync::Unknown,
        }
    }
}

/// How soon a write is on the server's disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fsync {
    Always,
    EverySecond,
    Sometimes,
    Snapshots,
    Never,
    Unknown,
}

/// Major and minor version. A server that tells none counts as new.
fn version_in(info: &str) -> (u32, u32) {
    let line = info.lines().find_map(|line| line.strip_prefix("redis_version:"));
    let mut parts = line.unwrap_or("7.0").trim().split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(settings: &[(&str, &str)]) -> Server {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Server { version: (7, 0), settings: settings.iter().map(own).collect() }
    }

    #[test]
    fn a_version_is_read() {
        assert_eq!(version_in("# Server\r\nredis_version:6.2.14\r\nredis_mode:standalone\r\n"), (6, 2));
        assert_eq!(version_in("redis_version:7.4-rc1"), (7, 0));
        assert!(version_in("") >= HAS_FUNCTIONS);
    }

    #[test]
    fn each_setting_has_its_restart_loss() {
        let losses = |settings: &[_]| server(settings).restart_loss();
        assert_eq!(losses(&[("appendonly", "yes"), ("appendfsync", "always")]), "a restart loses nothing");
        assert!(losses(&[("appendonly", "yes"), ("appendfsync", "everysec")]).contains("last second"));
        assert!(losses(&[("appendonly", "no"), ("save", "3600 1")]).contains("snapshot"));
        assert!(losses(&[("appendonly", "no"), ("save", "")]).contains("everything"));
        assert!(losses(&[]).contains("does not tell"));
    }

    #[test]
    fn every_policy_but_noeviction_evicts() {
        for (policy, evicts) in [("noeviction", false), ("allkeys-lru", true), ("volatile-ttl", true)] {
            assert_eq!(server(&[("maxmemory-policy", policy)]).eviction_policy().is_some(), evicts, "{policy}");
        }
        let without_bound = server(&[("maxmemory", "0"), ("maxmemory-policy", "allkeys-lru")]);
        assert_eq!((server(&[]).eviction_policy(), without_bound.eviction_policy()), (None, None));
    }
}
