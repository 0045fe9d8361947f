//! The last-seen record of a database, which detects an empty or a different one.
//!
//! The tables have a generation, and a file in the data directory holds the last one seen. If the tables are missing or
//! have another generation, nothing is created, and the bot stops until an operator has decided. A running process
//! needs no file for this check.
//!
//! A database restored from an older copy has the same generation, so it is not detected.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::server::Server;
use super::{PostgresStore, schema};
use crate::store::sql::columns::Columns;
use crate::store::sql::failure::unavailable;
use crate::store::{Epoch, Holder, StoreError, StoreResult};

/// How long a renewal waits for the check, unless the lease leaves less time.
pub(super) const VERIFY_TIMEOUT_MS: u64 = 1_000;
const CHOICES: &str = "Nothing was written. Either bring the right database back and start again; or accept what is there \
                       with `opora state accept`, and what is missing is gone";
const NO_LAST_SEEN: &str = "there is no last-seen record of this PostgreSQL database in that directory";

/// A PostgreSQL database is not the one that was seen before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresLoss {
    /// Whether it has no tables of a bot. Otherwise it has different ones.
    pub is_empty: bool,
    /// Describes what was expected and what was found.
    pub description: String,
}

/// The last-seen record, as stored in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LastSeen {
    /// Empty if the operator has accepted whatever is found next.
    generation: String,
    /// The last epoch of each bot that was granted here.
    leases: BTreeMap<i64, Epoch>,
}

impl fmt::Display for PostgresLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description)
    }
}

impl PostgresLoss {
    fn into_error(self) -> StoreError {
        StoreError::Lost { what: format!("{}. {CHOICES}", self.description) }
    }
}

impl Server {
    async fn seen(&self) -> StoreResult<Option<LastSeen>> {
        let unreadable = |error: std::io::Error| {
            StoreError::Unavailable(format!("cannot read the last-seen record of PostgreSQL: {error}").into())
        };
        let Some(last_seen) = &self.last_seen else { return Ok(None) };
        let Some(text) = last_seen.load().await.map_err(unreadable)? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|error| unreadable(error.into()))
    }

    async fn keep(&self, seen: &LastSeen) -> StoreResult<()> {
        let Some(last_seen) = &self.last_seen else { return Ok(()) };
        let text = serde_json::to_string(seen).map_err(unavailable)?;
        last_seen.save(text).await.map_err(|error| {
            StoreError::Unavailable(format!("cannot write the last-seen record of PostgreSQL: {error}").into())
        })
    }

    /// Compares the expected generation with the one found.
    fn judge(&self, expected: &str, found: Option<&str>) -> Option<PostgresLoss> {
        if expected.is_empty() || found == Some(expected) {
            return None;
        }
        let description = match found {
            None => format!(
                "the PostgreSQL database {self} is empty: a bot has kept conversations there, and there are none"
            ),
            Some(_) => format!(
                "the PostgreSQL database {self} is another one than the bot has seen, or its tables were created again"
            ),
        };
        Some(PostgresLoss { is_empty: found.is_none(), description })
    }

    /// Refuses a database that is not the one last seen. Changes nothing.
    pub(super) async fn check_seen(&self, connection: &mut PgConnection) -> StoreResult<()> {
        let Some(seen) = self.seen().await? else { return Ok(()) };
        let found = schema::generation(connection).await.map_err(unavailable)?;
        self.judge(&seen.generation, found.as_deref()).map_or(Ok(()), |loss| Err(loss.into_error()))
    }

    /// Records a database that was opened, and returns its generation. After an accepted loss, raises its counters
    /// above those given before.
    pub(super) async fn record_seen(&self, connection: &mut PgConnection) -> StoreResult<String> {
        let found = schema::generation(connection).await.map_err(unavailable)?;
        let generation = found.ok_or_else(|| unavailable("the generation is missing"))?;
        let seen = self.seen().await?;
        if let Some(accepted) = seen.as_ref().filter(|seen| seen.generation.is_empty()) {
            schema::raise_counters(connection, &accepted.leases).await.map_err(unavailable)?;
        }
        let seen = seen.unwrap_or_default();
        if seen.generation != generation {
            self.keep(&LastSeen { generation: generation.clone(), ..seen }).await?;
        }
        Ok(generation)
    }
}

impl PostgresStore {
    /// Refuses, with [`StoreError::Lost`], a database that is not the one last seen, by the file in the `data=`
    /// directory of its address. Changes nothing. For applications that create their own tables before they open the
    /// store.
    pub async fn check(address: &str) -> StoreResult<()> {
        Server::from_address(address)?.check().await
    }

    /// The loss, if the database at an address is not the one last seen, by the file in its data directory. Changes
    /// nothing.
    pub async fn loss(address: &str, data: &Path) -> StoreResult<Option<PostgresLoss>> {
        let server = Server::from_address(address)?.with_data_folder(data);
        let seen = server.seen().await?.ok_or(StoreError::Unsupported(NO_LAST_SEEN))?;
        Ok(server.judge(&seen.generation, server.generation().await?.as_deref()))
    }

    /// Accepts the present database, so that the bot starts with it. Returns what was accepted.
    ///
    /// When the bot starts, versions continue above all earlier ones, and epochs above the last one granted here.
    pub async fn accept_loss(address: &str, data: &Path) -> StoreResult<Option<PostgresLoss>> {
        let loss = Self::loss(address, data).await?;
        if loss.is_some() {
            let server = Server::from_address(address)?.with_data_folder(data);
            let seen = server.seen().await?.unwrap_or_default();
            server.keep(&LastSeen { generation: String::new(), ..seen }).await?;
        }
        Ok(loss)
    }

    /// Checks that it is still the database that was opened.
    pub(crate) async fn verify(&self) -> StoreResult<()> {
        let found = self.generation_now().await?;
        self.server.judge(&self.generation, found.as_deref()).map_or(Ok(()), |loss| Err(loss.into_error()))
    }

    /// Sets how long renewals of this holder may wait for the check.
    pub(crate) fn set_verify_timeout(&self, holder: &Holder) {
        let aside_ms = u64::try_from(holder.side_check_timeout().as_millis()).unwrap_or(VERIFY_TIMEOUT_MS);
        self.verify_timeout_ms.store(aside_ms, Ordering::Relaxed);
    }

    /// The error if it is not the database that was opened. An unreachable database is not lost, and does not delay a
    /// renewal.
    pub(crate) async fn lost(&self) -> Option<StoreError> {
        let patience = Duration::from_millis(self.verify_timeout_ms.load(Ordering::Relaxed));
        match tokio::time::timeout(patience, self.verify()).await {
            Ok(Err(lost @ StoreError::Lost { .. })) => Some(lost),
            _ => None,
        }
    }

    /// The generation of the present tables, if there are any.
    async fn generation_now(&self) -> StoreResult<Option<String>> {
        let is_there = self.sql.reads.read(schema::HAS_GENERATION, Vec::new(), |row| row.number(0)).await?;
        if is_there != [1] {
            return Ok(None);
        }
        Ok(self.sql.reads.read(schema::GENERATION, Vec::new(), |row| row.text(0)).await?.pop())
    }

    /// Records a granted lease. Returns true if its epoch was granted before: then the database is an older copy.
    pub(super) async fn record_lease(&self, bot: i64, epoch: Epoch) -> bool {
        let noted = async {
            let unseen = || LastSeen { generation: self.generation.clone(), leases: BTreeMap::new() };
            let mut seen = self.server.seen().await?.unwrap_or_else(unseen);
            let before = seen.leases.insert(bot, epoch);
            self.server.keep(&seen).await?;
            Ok::<_, StoreError>(before.filter(|before| epoch <= *before))
        };
        match noted.await {
            Ok(None) => false,
            Ok(Some(before)) => {
                tracing::error!(
                    bot,
                    lease = epoch.0,
                    seen = before.0,
                    "the PostgreSQL database {} is an older copy of what was there: it granted an epoch again. Later data is \
                     lost, and the sent logs since then are ignored",
                    self.server
                );
                true
            }
            Err(error) => {
                tracing::error!(bot, %error, "cannot record the granted lease; an older copy of the database may go unnoticed");
                false
            }
        }
    }
}
