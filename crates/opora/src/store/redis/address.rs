//! The address of a Redis: `redis://[user][:password@]host[:port][/database][?setting=value&…]`, or `rediss://` with
//! TLS.
//!
//! Settings: `prefix` of all keys; `keep_days`: how long keys outlive a bot that never comes back, 0 for ever; `ca`,
//! `cert` and `key`: files for TLS; `data`, `journal` and `after_loss`: what an instance keeps beside Redis;
//! `away_after_ms`: when the journal takes over.
//!
//! The password is sent to the server only; it is never displayed.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo};

use super::tls::TlsFiles;
use crate::store::hash::hash_of;
use crate::store::open::exposes_password;
use crate::store::{StoreError, StoreResult};

const UNKNOWN_SETTING: &str = "only prefix, keep_days, ca, cert, key, data, journal, away_after_ms and after_loss (stop or go_on) \
     may follow its `?`";

/// The prefix of all keys, unless an address names another.
const DEFAULT_PREFIX: &str = "opora";
/// How long keys outlive a bot that never comes back, unless an address says otherwise.
const DEFAULT_KEEP_DAYS: u32 = 400;
/// How long Redis may fail to answer before the journal takes over, unless an address says otherwise.
const DEFAULT_AWAY_AFTER: Duration = Duration::from_millis(1_200);
const AWAY_AFTER_MS_RANGE: RangeInclusive<u64> = 10..=60_000;
/// About as long as Redis can count.
const MAX_KEEP_DAYS: u32 = 100_000;

/// A parsed address.
pub(crate) struct Address {
    pub(super) info: ConnectionInfo,
    pub(super) prefix: String,
    /// The directory of the last-seen record and the sent log.
    pub(super) data: Option<PathBuf>,
    /// The journal for the time when this Redis is away.
    pub(crate) journal: Option<JournalLocation>,
    /// How long Redis may fail to answer before the journal takes over.
    pub(crate) away_after: Duration,
    pub(super) after_loss: AfterLoss,
    pub(super) keep_days: u32,
    pub(super) files: TlsFiles,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JournalLocation {
    /// In a file of its own.
    File(PathBuf),
    /// In the database that has the application's tables.
    Database,
}

/// What a bot does when its Redis has lost changes. An empty Redis always stops the bot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AfterLoss {
    /// Goes on if no more is lost than a server with `appendfsync everysec` may lose.
    #[default]
    GoOnIfRecent,
    /// Goes on after any loss.
    GoOn,
    Stop,
}

impl Address {
    pub(crate) fn parse(address: &str) -> StoreResult<Self> {
        let is_redis = address.starts_with("redis://") || address.starts_with("rediss://");
        let (plain, query) = address.split_once('?').unwrap_or((address, ""));
        let mut prefix = DEFAULT_PREFIX.to_owned();
        let mut keep_days = DEFAULT_KEEP_DAYS;
        let mut files = TlsFiles::default();
        let mut data = None;
        let mut journal = None;
        let mut after_loss = AfterLoss::default();
        let mut away_after = DEFAULT_AWAY_AFTER;
        for (setting, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*setting {
                "prefix" => prefix = value.into_owned(),
                "keep_days" => keep_days = days(&value)?,
                "ca" => files.authority = Some(value.into_owned().into()),
                "cert" => files.certificate = Some(value.into_owned().into()),
                "key" => files.key = Some(value.into_owned().into()),
                "data" if !value.is_empty() => data = Some(PathBuf::from(&*value)),
                "journal" if value == "database" => journal = Some(JournalLocation::Database),
                "journal" if !value.is_empty() => journal = Some(JournalLocation::File(PathBuf::from(&*value))),
                "away_after_ms" => away_after = milliseconds(&value)?,
                "after_loss" if value == "go_on" => after_loss = AfterLoss::GoOn,
                "after_loss" if value == "stop" => after_loss = AfterLoss::Stop,
                _ => return Err(bad(UNKNOWN_SETTING)),
            }
        }
        if prefix.is_empty() || !prefix.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte)) {
            return Err(bad("a prefix has letters, digits and -_.: only"));
        }
        let complaint = files.complaint(address.starts_with("rediss://")).or_else(|| exposes_password(plain));
        if let Some(complaint) = complaint {
            return Err(bad(complaint));
        }
        // The library's error could repeat a part of the address.
        let info = plain.into_connection_info().ok().filter(|_| is_redis && !plain.contains('#'));
        let info = info.ok_or_else(|| bad("redis://[user:password@]host[:port][/database] was expected"))?;
        Ok(Self { info, prefix, data, journal, away_after, after_loss, keep_days, files })
    }

    /// The directory of files about this Redis: `data`, else the journal's directory.
    pub(super) fn folder(&self) -> Option<&Path> {
        match (&self.data, &self.journal) {
            (Some(data), _) => Some(data),
            (None, Some(JournalLocation::File(journal))) => journal.parent(),
            (None, _) => None,
        }
    }

    /// The start of the names of such files: a hash of the displayed address, which has no password.
    pub(super) fn file_name(&self) -> String {
        format!("redis-{:016x}", hash_of(self.to_string().as_bytes()))
    }

    pub(super) fn is_tls(&self) -> bool {
        matches!(self.info.addr(), ConnectionAddr::TcpTls { .. })
    }
}

/// Host, port, database, and the prefix if it is not the default.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.info.addr(), self.info.redis_settings().db())?;
        if self.prefix != DEFAULT_PREFIX {
            write!(f, " under {}", self.prefix)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

fn days(text: &str) -> StoreResult<u32> {
    let days = text.parse().ok().filter(|days| *days <= MAX_KEEP_DAYS);
    days.ok_or_else(|| bad("keep_days is a number of days, 0 for ever"))
}

fn milliseconds(text: &str) -> StoreResult<Duration> {
    let milliseconds = text.parse().ok().filter(|milliseconds| AWAY_AFTER_MS_RANGE.contains(milliseconds));
    milliseconds.map(Duration::from_millis).ok_or_else(|| bad("away_after_ms is a number of milliseconds, 10 to 60000"))
}

fn bad(why: &str) -> StoreError {
    StoreError::Unavailable(format!("the address of Redis cannot be used: {why}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let address = Address::parse("redis://:s3cret@127.0.0.1:7000/2?prefix=shop").unwrap();
        assert_eq!(address.to_string(), "127.0.0.1:7000/2 under shop");
        assert_eq!(address.info.redis_settings().password(), Some("s3cret"));
        assert!(!format!("{address:?}").contains("s3cret"));
        assert_eq!(Address::parse("rediss://redis.example").unwrap().to_string(), "redis.example:6379/0");
        let other = Address::parse("redis://:an0ther@127.0.0.1:7000/2?prefix=shop").unwrap();
        assert_eq!(address.file_name(), other.file_name(), "a new password is the same Redis");
        let other = Address::parse("redis://:s3cret@127.0.0.1:7000/3?prefix=shop").unwrap();
        assert_ne!(address.file_name(), other.file_name());
    }

    #[test]
    fn settings_are_read() {
        let address = Address::parse("rediss://h?ca=%2Fetc%2Fmy%20ca.pem&cert=c.pem&key=k.pem&keep_days=0").unwrap();
        let named = [&address.files.authority, &address.files.certificate, &address.files.key];
        let names = named.map(|file| file.as_ref().and_then(|file| file.to_str()));
        assert_eq!((names, address.keep_days), ([Some("/etc/my ca.pem"), Some("c.pem"), Some("k.pem")], 0));
        assert_eq!(Address::parse("redis://h").unwrap().keep_days, DEFAULT_KEEP_DAYS);
        assert_eq!(Address::parse("redis://h").unwrap().away_after, DEFAULT_AWAY_AFTER);
        assert_eq!(Address::parse("redis://h?away_after_ms=10").unwrap().away_after, Duration::from_millis(10));
    }

    #[test]
    fn a_bad_address_is_refused_without_repeating_it() {
        let bad = [
            "redis://:s3cret@host:port",
            "redis://:s3cret@host/x",
            "unix:///s3cret",
            "redis://h?prefix={s3cret}",
            "redis://h?s3cret=1",
            "redis://h?keep_days=s3cret",
            "redis://h?away_after_ms=s3cret",
            "redis://h?away_after_ms=0&prefix=s3cret",
            "redis://h?ca=s3cret",
            "rediss://h?key=s3cret",
            "redis://user:1/s3cret@h/0",
            "rediss://s3cret/#insecure",
        ];
        for address in bad {
            let error = Address::parse(address).unwrap_err().to_string();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
