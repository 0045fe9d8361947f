//! Reads aiogram's storage in Redis, page by page.
//!
//! Keys are found with `SCAN`, which does not block the server. State and data of a key are read by one command, so
//! they fit together. Nothing is written.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};

use super::{Data, KeyBuilder, Part, Record, StorageKey, Strategy};
use crate::store::{RedisAddress, RedisConnection, StoreError, StoreResult};

/// The `COUNT` of `SCAN`.
const SCAN_COUNT: usize = 1_000;
/// How many records are read at once.
const READ_BATCH: usize = 256;

/// The layout of a bot's states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The options of the keys.
    pub keys: KeyBuilder,
    /// Who shares a state.
    pub strategy: Strategy,
    /// The bot's own user id.
    pub bot: i64,
}

/// The states of an aiogram bot.
pub struct Storage {
    connection: RedisConnection,
    /// Their layout.
    pub layout: Layout,
}

/// The progress of a scan.
#[derive(Debug, Default)]
pub struct Scan {
    cursor: u64,
    is_over: bool,
    // `SCAN` may return a key more than once, and a record has two keys.
    seen: HashSet<Box<str>>,
}

/// What a scan found.
#[derive(Debug)]
pub enum ScannedKey {
    /// A state, data, or both.
    Record {
        /// The key in Redis, without its last part.
        name: Box<str>,
        /// The parsed key.
        key: StorageKey,
        /// State and data.
        record: Record,
        /// When it expires in Redis.
        expires_in: Option<Duration>,
    },
    /// A key that could not be read.
    Unreadable(UnreadableKey),
    /// A state of another bot.
    OtherBot,
    /// A lock: an aiogram bot is running.
    Lock,
}

/// A key that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableKey {
    /// The key.
    pub name: Box<str>,
    /// Why it could not be read.
    pub reason: String,
}

/// A record whose key could be parsed.
struct ParsedKey {
    name: Box<str>,
    key: StorageKey,
}

/// State and data of a record. None if the key is missing.
type Values = (Option<Vec<u8>>, Option<Vec<u8>>);

impl Storage {
    /// Connects to `redis://[user][:password@]host[:port][/database]`, or `rediss://` with TLS, whose files are named
    /// as for [`crate::store::RedisStore::open`].
    pub async fn open(address: &str, layout: Layout) -> StoreResult<Self> {
        if address.split_once('?').is_some_and(|(_, settings)| !settings.split('&').all(is_of_tls)) {
            return Err(StoreError::Unsupported(
                "the address of aiogram's Redis may only name TLS files after its `?`",
            ));
        }
        Ok(Self { connection: RedisConnection::connect(RedisAddress::parse(address)?).await?, layout })
    }

    /// The next page of records. None at the end. A page may be empty.
    pub async fn page(&self, scan: &mut Scan) -> StoreResult<Option<Vec<ScannedKey>>> {
        if scan.is_over {
            return Ok(None);
        }
        let mut command = redis::cmd("SCAN");
        command.arg(scan.cursor).arg("MATCH").arg(self.layout.keys.pattern()).arg("COUNT").arg(SCAN_COUNT);
        let (cursor, names): (u64, Vec<Vec<u8>>) = self.connection.query(&command).await?;
        scan.cursor = cursor;
        scan.is_over = cursor == 0;
        let mut found = Vec::new();
        let mut parsed = Vec::new();
        for name in names {
            match self.parse(scan, name) {
                Some(Ok(one)) => parsed.push(one),
                Some(Err(other)) => found.push(other),
                None => {}
            }
        }
        for some in parsed.chunks(READ_BATCH) {
            found.extend(self.read(some).await?);
        }
        Ok(Some(found))
    }

    /// Parses a key. None if its record was found before.
    fn parse(&self, scan: &mut Scan, name: Vec<u8>) -> Option<Result<ParsedKey, ScannedKey>> {
        let Layout { keys, strategy, bot } = &self.layout;
        let name = match String::from_utf8(name) {
            Ok(name) => name,
            Err(error) => {
                let name = String::from_utf8_lossy(error.as_bytes()).into_owned();
                return Some(Err(unreadable(&name, "its name is not UTF-8")));
            }
        };
        let base_name = match keys.split_part(&name) {
            Some((_, Part::Lock)) => return Some(Err(ScannedKey::Lock)),
            Some((base_name, _)) => base_name,
            None => &name,
        };
        if !scan.seen.insert(base_name.into()) {
            return None;
        }
        Some(match keys.parse(&name, *strategy, *bot) {
            Ok((key, _)) if key.bot != *bot => Err(ScannedKey::OtherBot),
            Ok((key, _)) => Ok(ParsedKey { name: base_name.into(), key }),
            Err(error) => Err(unreadable(&name, error)),
        })
    }

    /// Reads records. Those that are gone since the scan are left out.
    async fn read(&self, parsed: &[ParsedKey]) -> StoreResult<Vec<ScannedKey>> {
        let keys: Vec<[String; 2]> =
            parsed.iter().map(|one| [Part::State, Part::Data].map(|part| self.full(one, part))).collect();
        let mut values: Vec<Option<Vec<u8>>> =
            self.connection.query(redis::cmd("MGET").arg(keys.as_flattened())).await?;
        if values.len() != parsed.len() * 2 {
            return Err(StoreError::Unavailable("Redis returned a wrong number of values".into()));
        }
        let read = parsed
            .iter()
            .zip(&keys)
            .zip(values.chunks_exact_mut(2))
            .map(|((parsed, keys), values)| self.found(parsed, keys, (values[0].take(), values[1].take())));
        Ok(try_join_all(read).await?.into_iter().flatten().collect())
    }

    async fn found(&self, parsed: &ParsedKey, keys: &[String; 2], values: Values) -> StoreResult<Option<ScannedKey>> {
        let absent = [values.0.is_none(), values.1.is_none()];
        // `MGET` returns nothing for a key of another type.
        let kinds = keys
            .iter()
            .zip(absent)
            .filter(|(_, absent)| *absent)
            .map(async |(key, _)| self.connection.query::<String>(redis::cmd("TYPE").arg(key)).await);
        for kind in join_all(kinds).await {
            let kind = kind?;
            if kind != "none" && kind != "string" {
                return Ok(Some(unreadable(&parsed.name, format!("its key holds a {kind}, not a text"))));
            }
        }
        if absent == [true, true] {
            return Ok(None);
        }
        let expiring_key = if absent[0] { &keys[1] } else { &keys[0] };
        let left_ms: i64 = self.connection.query(redis::cmd("PTTL").arg(expiring_key)).await?;
        let expires_in = u64::try_from(left_ms).ok().map(Duration::from_millis);
        Ok(Some(match decode(values) {
            Ok(record) => ScannedKey::Record { name: parsed.name.clone(), key: parsed.key.clone(), record, expires_in },
            Err(reason) => unreadable(&parsed.name, reason),
        }))
    }

    fn full(&self, parsed: &ParsedKey, part: Part) -> String {
        [&*parsed.name, &*self.layout.keys.separator, part.name()].concat()
    }
}

/// Whether a setting of an address names a TLS file.
fn is_of_tls(setting: &str) -> bool {
    ["ca=", "cert=", "key="].iter().any(|name| setting.starts_with(name))
}

/// Without the address, which may contain a password.
impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage").field("layout", &self.layout).finish_non_exhaustive()
    }
}

/// The address without the password.
impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.connection.address.fmt(f)
    }
}

fn decode((state, data): Values) -> Result<Record, String> {
    let state = String::from_utf8(state.unwrap_or_default()).map_err(|_| "its state's name is not UTF-8")?;
    let data = data.map_or_else(|| Ok(Data::default()), |data| Data::parse(&data));
    let data = data.map_err(|error| format!("its data is not JSON: {error}"))?;
    Ok(Record { state: state.into(), data })
}

fn unreadable(name: &str, reason: impl ToString) -> ScannedKey {
    ScannedKey::Unreadable(UnreadableKey { name: name.into(), reason: reason.to_string() })
}
