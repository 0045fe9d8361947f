//! aiogram's storage in a Redis, read page by page.
//!
//! Keys are found with a cursor, so that the server goes on serving; state and data of a key are read by one command,
//! as of one moment. Nothing is written.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};

use super::{Data, KeyBuilder, Part, Record, StorageKey, Strategy};
use crate::store::{RedisAddress, RedisWire, StoreError, StoreResult};

/// How many keys Redis looks at for one answer.
const LOOKS_AT: usize = 1_000;
/// How many records are asked for at once.
const READ_AT_ONCE: usize = 256;

/// How a bot's states are laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How keys are named.
    pub keys: KeyBuilder,
    /// Who shares a state.
    pub strategy: Strategy,
    /// The bot's own user id.
    pub bot: i64,
}

/// The states of an aiogram bot.
pub struct Storage {
    wire: RedisWire,
    /// How they are laid out.
    pub layout: Layout,
}

/// How far the keys were looked through.
#[derive(Debug, Default)]
pub struct Scan {
    cursor: u64,
    is_over: bool,
    // Redis may name a key more than once, and a record has two keys.
    seen: HashSet<Box<str>>,
}

/// What stands under a name.
#[derive(Debug)]
pub enum Found {
    /// A state, data, or both.
    Record {
        /// The name of the key, without its last part.
        name: Box<str>,
        /// Whose it is.
        key: StorageKey,
        /// What it is.
        record: Record,
        /// When Redis will drop it.
        expires_in: Option<Duration>,
    },
    /// Something that could not be read.
    Unreadable(Unreadable),
    /// A state of another bot.
    OfAnotherBot,
    /// A lock: an aiogram bot is at work.
    Lock,
}

/// A key that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Its name.
    pub name: Box<str>,
    /// Why, in words.
    pub reason: String,
}

/// A record whose key was understood.
struct Named {
    name: Box<str>,
    key: StorageKey,
}

/// The two values of a record; none where there is no key.
type Values = (Option<Vec<u8>>, Option<Vec<u8>>);

impl Storage {
    /// Connects to `redis://[user][:password@]host[:port][/database]`, or `rediss://` with TLS, whose files are named
    /// as for [`crate::store::RedisStore::open`].
    pub async fn open(address: &str, layout: Layout) -> StoreResult<Self> {
        if address.split_once('?').is_some_and(|(_, settings)| !settings.split('&').all(is_of_tls)) {
            return Err(StoreError::Unsupported(
                "the address of aiogram's Redis may only name files of TLS behind its `?`",
            ));
        }
        Ok(Self { wire: RedisWire::connect(RedisAddress::parse(address)?).await?, layout })
    }

    /// The next of all records; none at the end. A page may be empty.
    pub async fn page(&self, scan: &mut Scan) -> StoreResult<Option<Vec<Found>>> {
        if scan.is_over {
            return Ok(None);
        }
        let mut command = redis::cmd("SCAN");
        command.arg(scan.cursor).arg("MATCH").arg(self.layout.keys.pattern()).arg("COUNT").arg(LOOKS_AT);
        let (cursor, names): (u64, Vec<Vec<u8>>) = self.wire.ask(&command).await?;
        scan.cursor = cursor;
        scan.is_over = cursor == 0;
        let mut found = Vec::new();
        let mut named = Vec::new();
        for name in names {
            match self.name(scan, name) {
                Some(Ok(one)) => named.push(one),
                Some(Err(other)) => found.push(other),
                None => {}
            }
        }
        for some in named.chunks(READ_AT_ONCE) {
            found.extend(self.read(some).await?);
        }
        Ok(Some(found))
    }

    /// Whose key it is; none if that is known already.
    fn name(&self, scan: &mut Scan, name: Vec<u8>) -> Option<Result<Named, Found>> {
        let Layout { keys, strategy, bot } = &self.layout;
        let name = match String::from_utf8(name) {
            Ok(name) => name,
            Err(error) => {
                let name = String::from_utf8_lossy(error.as_bytes()).into_owned();
                return Some(Err(unreadable(&name, "its name is not UTF-8")));
            }
        };
        let whose = match keys.split_part(&name) {
            Some((_, Part::Lock)) => return Some(Err(Found::Lock)),
            Some((whose, _)) => whose,
            None => &name,
        };
        if !scan.seen.insert(whose.into()) {
            return None;
        }
        Some(match keys.parse(&name, *strategy, *bot) {
            Ok((key, _)) if key.bot != *bot => Err(Found::OfAnotherBot),
            Ok((key, _)) => Ok(Named { name: whose.into(), key }),
            Err(error) => Err(unreadable(&name, error)),
        })
    }

    /// Reads records; those that are gone meanwhile are left out.
    async fn read(&self, named: &[Named]) -> StoreResult<Vec<Found>> {
        let keys: Vec<[String; 2]> =
            named.iter().map(|one| [Part::State, Part::Data].map(|part| self.full(one, part))).collect();
        let mut values: Vec<Option<Vec<u8>>> = self.wire.ask(redis::cmd("MGET").arg(keys.as_flattened())).await?;
        if values.len() != named.len() * 2 {
            return Err(StoreError::Unavailable(
                "Redis answered with another number of values than was asked for".into(),
            ));
        }
        let read = named
            .iter()
            .zip(&keys)
            .zip(values.chunks_exact_mut(2))
            .map(|((named, keys), values)| self.found(named, keys, (values[0].take(), values[1].take())));
        Ok(try_join_all(read).await?.into_iter().flatten().collect())
    }

    async fn found(&self, named: &Named, keys: &[String; 2], values: Values) -> StoreResult<Option<Found>> {
        let absent = [values.0.is_none(), values.1.is_none()];
        // A key of another kind looks as if it were not there.
        let kinds = keys
            .iter()
            .zip(absent)
            .filter(|(_, absent)| *absent)
            .map(async |(key, _)| self.wire.ask::<String>(redis::cmd("TYPE").arg(key)).await);
        for kind in join_all(kinds).await {
            let kind = kind?;
            if kind != "none" && kind != "string" {
                return Ok(Some(unreadable(&named.name, format!("its key holds a {kind}, not a text"))));
            }
        }
        if absent == [true, true] {
            return Ok(None);
        }
        let decides = if absent[0] { &keys[1] } else { &keys[0] };
        let left_ms: i64 = self.wire.ask(redis::cmd("PTTL").arg(decides)).await?;
        let expires_in = u64::try_from(left_ms).ok().map(Duration::from_millis);
        Ok(Some(match decode(values) {
            Ok(record) => Found::Record { name: named.name.clone(), key: named.key.clone(), record, expires_in },
            Err(reason) => unreadable(&named.name, reason),
        }))
    }

    fn full(&self, named: &Named, part: Part) -> String {
        [&*named.name, &*self.layout.keys.separator, part.name()].concat()
    }
}

/// Whether a setting of an address names a file of TLS.
fn is_of_tls(setting: &str) -> bool {
    ["ca=", "cert=", "key="].iter().any(|name| setting.starts_with(name))
}

/// The address has a password.
impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage").field("layout", &self.layout).finish_non_exhaustive()
    }
}

/// Where it is, without the password.
impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.wire.address.fmt(f)
    }
}

fn decode((state, data): Values) -> Result<Record, String> {
    let state = String::from_utf8(state.unwrap_or_default()).map_err(|_| "its state's name is not UTF-8")?;
    let data = data.map_or_else(|| Ok(Data::default()), |data| Data::parse(&data));
    let data = data.map_err(|error| format!("its data is not JSON: {error}"))?;
    Ok(Record { state: state.into(), data })
}

fn unreadable(name: &str, reason: impl ToString) -> Found {
    Found::Unreadable(Unreadable { name: name.into(), reason: reason.to_string() })
}
