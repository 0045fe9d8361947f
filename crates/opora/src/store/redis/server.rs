//! What kind of Redis this is: its version, what it may throw away, and what a restart of it loses.

use std::collections::HashMap;

use redis::{ErrorKind, ServerErrorKind};

use super::address::Address;
use super::wire::{Wire, unavailable};
use crate::store::{StoreError, StoreResult};

/// The oldest that can be used at all, and the oldest that has functions.
const OLDEST: (u32, u32) = (6, 2);
const HAS_FUNCTIONS: (u32, u32) = (7, 0);

/// What a restart loses of a server that flushes everything at once.
const NOTHING: &str = "a restart loses nothing";

/// What can be known of a Redis before it is used, for whoever looks after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisServer {
    /// Where it is, without a password.
    pub place: String,
    /// Major and minor.
    pub version: (u32, u32),
    /// The policy by which it throws keys away when its memory is full, if it may.
    pub evicts: Option<String>,
    /// What a restart of it loses, in words.
    pub losses: &'static str,
    /// Whether that is anything at all.
    pub may_lose: bool,
}

impl RedisServer {
    /// Looks at the server at an address and changes nothing there.
    pub async fn look(address: &str) -> StoreResult<Self> {
        let address = Address::parse(address)?;
        let place = address.to_string();
        let asked = async {
            let wire = Wire::connect(address).await?;
            let server = Server::ask(&wire).await;
            wire.close();
            server
        };
        let server = asked.await.map_err(|error| match error {
            StoreError::Unavailable(why) => {
                StoreError::Unavailable(format!("cannot use the Redis at {place}: {why}").into())
            }
            other => other,
        })?;
        let evicts = server.evicts().map(ToOwned::to_owned);
        let losses = server.losses();
        Ok(Self { place, version: server.version, evicts, losses, may_lose: losses != NOTHING })
    }
}

/// What the server said of itself when the store was opened.
#[derive(Debug)]
pub(super) struct Server {
    version: (u32, u32),
    // None where the server does not tell.
    settings: HashMap<String, String>,
}

impl Server {
    /// Asks; one that is too old is refused.
    pub(super) async fn ask(wire: &Wire) -> StoreResult<Self> {
        let info: Result<String, _> = wire.send(redis::cmd("INFO").arg("server")).await;
        let version = match info {
            Ok(info) => version_in(&info),
            // Many keep what they call dangerous from a program's user; a server with such rules is no old one.
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm) => HAS_FUNCTIONS,
            Err(error) => return Err(unavailable(error)),
        };
        if version < OLDEST {
            let (major, minor) = version;
            let why = format!("it is Redis {major}.{minor}, and at least 6.2 is needed");
            return Err(StoreError::Unavailable(why.into()));
        }
        let mut settings = HashMap::new();
        for name in ["maxmemory", "maxmemory-policy", "appendonly", "appendfsync", "save"] {
            let answer: Result<HashMap<String, String>, _> = wire.send(redis::cmd("CONFIG").arg("GET").arg(name)).await;
            match answer {
                Ok(told) => settings.extend(told),
                Err(error) if error.is_io_error() => return Err(unavailable(error)),
                // Whoever runs the server may keep its settings to themselves.
                Err(error) => tracing::debug!(%error, name, "Redis does not tell a setting"),
            }
        }
        Ok(Self { version, settings })
    }

    pub(super) fn has_functions(&self) -> bool {
        self.version >= HAS_FUNCTIONS
    }

    /// Warns of what would lose data.
    pub(super) fn warn(&self, wire: &Wire) {
        if let Some(policy) = self.evicts() {
            tracing::warn!(
                redis = %wire.address,
                policy,
                "when its memory is full, this Redis throws keys away; conversations need maxmemory-policy noeviction"
            );
        }
        if self.fsync() == Fsync::Never {
            tracing::warn!(redis = %wire.address, "this Redis keeps no append-only file: its restart loses turns");
        }
    }

    /// The policy by which keys may go. Also the volatile ones may take something: marks have an expiry, and without
    /// them an update that is delivered again would be taken for new.
    fn evicts(&self) -> Option<&str> {
        let is_bounded = self.settings.get("maxmemory").is_none_or(|most| most != "0");
        let policy = self.settings.get("maxmemory-policy").map(String::as_str);
        policy.filter(|policy| is_bounded && *policy != "noeviction")
    }

    /// What a restart of the server loses, in words.
    pub(super) fn losses(&self) -> &'static str {
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

/// How soon what was answered is on the server's disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fsync {
    Always,
    EverySecond,
    Sometimes,
    Snapshots,
    Never,
    Unknown,
}

/// Major and minor; what says none is taken for new.
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
    fn what_is_lost_is_said() {
        let losses = |settings: &[_]| server(settings).losses();
        assert_eq!(losses(&[("appendonly", "yes"), ("appendfsync", "always")]), "a restart loses nothing");
        assert!(losses(&[("appendonly", "yes"), ("appendfsync", "everysec")]).contains("last second"));
        assert!(losses(&[("appendonly", "no"), ("save", "3600 1")]).contains("snapshot"));
        assert!(losses(&[("appendonly", "no"), ("save", "")]).contains("everything"));
        assert!(losses(&[]).contains("does not tell"));
    }

    #[test]
    fn every_policy_but_one_may_take_something() {
        for (policy, evicts) in [("noeviction", false), ("allkeys-lru", true), ("volatile-ttl", true)] {
            assert_eq!(server(&[("maxmemory-policy", policy)]).evicts().is_some(), evicts, "{policy}");
        }
        let without_bound = server(&[("maxmemory", "0"), ("maxmemory-policy", "allkeys-lru")]);
        assert_eq!((server(&[]).evicts(), without_bound.evicts()), (None, None));
    }
}
