//! What an instance has seen of its database, so that one that comes back empty, or another one, is noticed.
//!
//! The tables bear a generation, which is made with them, and a file in the data directory says which one was seen. Missing
//! is not new: where there are no tables any more, or others, nothing is made, and the bot stops until an operator has
//! decided. A process that runs needs no file to know it.
//!
//! A database that was restored from an older copy bears the same generation: that is not noticed.

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

/// How long it is waited for word of that, unless a holder of the lease has less time.
pub(super) const VERIFIED_WITHIN_MS: u64 = 1_000;
/// What the operator can do.
const CHOICES: &str = "Nothing was written. Either bring the right database back and start again; or accept what is there \
                       with `opora state accept`, and what is missing is gone";
/// Why there is nothing to compare with.
const NO_WITNESS: &str = "nothing is kept in that directory of what was seen of this PostgreSQL database";

/// A PostgreSQL database is not the one that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresLoss {
    /// It has no tables of a bot; otherwise it has others.
    pub is_empty: bool,
    /// What was expected and what was found, in words.
    pub what: String,
}

/// What was seen of a database, as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    /// Empty if whatever is there next is to be taken for it.
    generation: String,
    /// The highest lease of each bot that was given here.
    leases: BTreeMap<i64, Epoch>,
}

impl fmt::Display for PostgresLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl PostgresLoss {
    fn into_error(self) -> StoreError {
        StoreError::Lost { what: format!("{}. {CHOICES}", self.what) }
    }
}

impl Server {
    /// What was seen before, if anything was.
    async fn seen(&self) -> StoreResult<Option<Seen>> {
        let unreadable = |error: std::io::Error| {
            StoreError::Unavailable(format!("cannot read what was seen of PostgreSQL before: {error}").into())
        };
        let Some(witness) = &self.witness else { return Ok(None) };
        let Some(text) = witness.load().await.map_err(unreadable)? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|error| unreadable(error.into()))
    }

    async fn keep(&self, seen: &Seen) -> StoreResult<()> {
        let Some(witness) = &self.witness else { return Ok(()) };
        let text = serde_json::to_string(seen).map_err(unavailable)?;
        witness.keep(text).await.map_err(|error| {
            StoreError::Unavailable(format!("cannot keep what was seen of PostgreSQL: {error}").into())
        })
    }

    /// Compares what was seen with the generation that is there.
    fn judge(&self, expected: &str, found: Option<&str>) -> Option<PostgresLoss> {
        if expected.is_empty() || found == Some(expected) {
            return None;
        }
        let what = match found {
            None => format!(
                "the PostgreSQL database {self} is empty: a bot has kept conversations there, and there are none"
            ),
            Some(_) => format!(
                "the PostgreSQL database {self} is another one than a bot has worked with, or was made anew: its tables \
                 are not those that were seen"
            ),
        };
        Some(PostgresLoss { is_empty: found.is_none(), what })
    }

    /// Refuses a database that is not the one that was seen. Changes nothing.
    pub(super) async fn check_seen(&self, connection: &mut PgConnection) -> StoreResult<()> {
        let Some(seen) = self.seen().await? else { return Ok(()) };
        let found = schema::generation(connection).await.map_err(unavailable)?;
        self.judge(&seen.generation, found.as_deref()).map_or(Ok(()), |loss| Err(loss.into_error()))
    }

    /// Takes note of a database that was opened, and answers its generation. After a loss that was accepted, it goes on
    /// above what was given before.
    pub(super) async fn note_seen(&self, connection: &mut PgConnection) -> StoreResult<String> {
        let found = schema::generation(connection).await.map_err(unavailable)?;
        let generation = found.ok_or_else(|| unavailable("the generation is missing"))?;
        let seen = self.seen().await?;
        if let Some(accepted) = seen.as_ref().filter(|seen| seen.generation.is_empty()) {
            schema::go_on_above(connection, &accepted.leases).await.map_err(unavailable)?;
        }
        let seen = seen.unwrap_or_default();
        if seen.generation != generation {
            self.keep(&Seen { generation: generation.clone(), ..seen }).await?;
        }
        Ok(generation)
    }
}

impl PostgresStore {
    /// Refuses, with [`StoreError::Lost`], a database that is not the one that was seen by the file in the `data=` directory
    /// of its address. Changes nothing: it is for whoever makes tables of its own there before it opens the store.
    pub async fn check(address: &str) -> StoreResult<()> {
        Server::of(address)?.check().await
    }

    /// Whether the database at an address is another than the one that a bot has seen, by the file in its data directory.
    /// Changes nothing.
    pub async fn loss(address: &str, data: &Path) -> StoreResult<Option<PostgresLoss>> {
        let server = Server::of(address)?.with_data(data);
        let seen = server.seen().await?.ok_or(StoreError::Unsupported(NO_WITNESS))?;
        Ok(server.judge(&seen.generation, server.generation().await?.as_deref()))
    }

    /// Accepts the database that is there, so that the bot starts again with it. Answers what was accepted.
    ///
    /// With the start versions go on above all that there can have been, and epochs above the last one that was given here.
    pub async fn accept_loss(address: &str, data: &Path) -> StoreResult<Option<PostgresLoss>> {
        let loss = Self::loss(address, data).await?;
        if loss.is_some() {
            let server = Server::of(address)?.with_data(data);
            let seen = server.seen().await?.unwrap_or_default();
            server.keep(&Seen { generation: String::new(), ..seen }).await?;
        }
        Ok(loss)
    }

    /// Asks whether it is still the database that was opened.
    pub(in crate::store) async fn verify(&self) -> StoreResult<()> {
        let found = self.generation_now().await?;
        self.server.judge(&self.generation, found.as_deref()).map_or(Ok(()), |loss| Err(loss.into_error()))
    }

    /// Takes note of how long the renewals of this holder may wait for word of that.
    pub(in crate::store) fn is_asked_by(&self, holder: &Holder) {
        let aside_ms = u64::try_from(holder.waits_aside().as_millis()).unwrap_or(VERIFIED_WITHIN_MS);
        self.verified_within_ms.store(aside_ms, Ordering::Relaxed);
    }

    /// Why it is not the database that was opened. One that is away is not lost, and no lease waits for it.
    pub(in crate::store) async fn lost(&self) -> Option<StoreError> {
        let patience = Duration::from_millis(self.verified_within_ms.load(Ordering::Relaxed));
        match tokio::time::timeout(patience, self.verify()).await {
            Ok(Err(lost @ StoreError::Lost { .. })) => Some(lost),
            _ => None,
        }
    }

    /// The generation of the tables that are there, if there are any.
    async fn generation_now(&self) -> StoreResult<Option<String>> {
        let is_there = self.sql.reads.read(schema::HAS_GENERATION, Vec::new(), |row| row.number(0)).await?;
        if is_there != [1] {
            return Ok(None);
        }
        Ok(self.sql.reads.read(schema::GENERATION, Vec::new(), |row| row.text(0)).await?.pop())
    }

    /// Takes note of a lease that was given. Answers whether it was given before: then this is an older copy of what was
    /// there.
    pub(super) async fn saw_lease(&self, bot: i64, epoch: Epoch) -> bool {
        let noted = async {
            let unseen = || Seen { generation: self.generation.clone(), leases: BTreeMap::new() };
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
                    "the PostgreSQL database {} is an older copy of what was there: it gives leases again that it gave \
                     before. What it has forgotten is forgotten; what was noted as sent since is not believed",
                    self.server
                );
                true
            }
            Err(error) => {
                tracing::error!(bot, %error, "cannot keep which lease was given: an older copy may go unnoticed");
                false
            }
        }
    }
}
