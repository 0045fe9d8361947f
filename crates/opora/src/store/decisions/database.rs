//! The SQL database beside Redis: its fence, its decision records, and the application's writes.

use super::decision_row::{DecisionRow, check_fence, hour};
use super::record::Decision;
use super::tables::TABLES;
use crate::clock::Millis;
use crate::failpoints;
use crate::key::ConversationKey;
use crate::store::database::{SqlChange, read, with_store};
use crate::store::sql::columns::{Columns, Value, count, values};
use crate::store::sql::failure::unavailable;
use crate::store::sql::jobs::returning;
use crate::store::sql::statements::{change, numbers};
use crate::store::{DomainWrites, Epoch, Holder, SqlDatabase, SqliteStore, StoreError, StoreResult, Version};

/// How many rows of a table one cleaning removes.
const CLEAN_LIMIT: usize = 1000;

/// The epoch that may write, and the generation of the Redis that the database belongs to.
#[derive(Debug)]
pub(super) struct Fence {
    pub(super) epoch: Epoch,
    pub(super) generation: String,
}

/// An open SQLite file cannot be replaced, so there is nothing to check.
impl SqliteStore {
    async fn verify(&self) -> StoreResult<()> {
        Ok(())
    }

    fn set_verify_timeout(&self, _: &Holder) {}

    async fn lost(&self) -> Option<StoreError> {
        None
    }
}

impl SqlDatabase {
    /// Checks that it is still the database that was opened.
    pub(super) async fn verify(&self) -> StoreResult<()> {
        with_store!(self, store => store.verify().await)
    }

    /// Sets how long a renewal of this holder may wait for that check.
    pub(super) fn set_verify_timeout(&self, holder: &Holder) {
        with_store!(self, store => store.set_verify_timeout(holder));
    }

    /// Why it is not the database that was opened, if that is known in time.
    pub(super) async fn lost(&self) -> Option<StoreError> {
        with_store!(self, store => store.lost().await)
    }

    /// Stores the decision and runs the application's writes, in one transaction.
    pub(super) async fn decide(&self, row: DecisionRow, writes: DomainWrites) -> StoreResult<()> {
        let decide = DomainWrites::new(move |database| {
            Box::pin(async move {
                row.insert(database).await?;
                writes.run(database).await?;
                failpoints::hit(failpoints::STORE_IN_WRITES).await;
                Ok(())
            })
        });
        self.write(decide).await
    }

    /// Waits until no decision with a lost answer is still running.
    pub(super) async fn wait_for_decisions(&self, key: &ConversationKey) -> StoreResult<()> {
        const ALONE: &str = "SELECT epoch FROM opora_fences WHERE bot = $1 FOR UPDATE";
        if !self.is_postgres() {
            // SQLite has one writer: earlier decisions are finished.
            return Ok(());
        }
        let bot = values![key.bot];
        let wait = DomainWrites::new(move |database| {
            Box::pin(async move {
                numbers::<1>(database, ALONE, bot).await?;
                Ok(())
            })
        });
        self.write(wait).await
    }

    /// The version to which the last decision of a conversation leads.
    pub(super) async fn decided_version(&self, key: &ConversationKey) -> StoreResult<Option<Version>> {
        const DECIDED: &str = "SELECT to_version FROM opora_decisions WHERE key = $1";
        let values = values![key.to_string()];
        Ok(read!(self, DECIDED, values, |row| row.number(0))?.pop().map(Version))
    }

    /// The last decision of a conversation.
    pub(super) async fn decision(&self, key: &ConversationKey) -> StoreResult<Option<Decision>> {
        self.decisions_between(key, key).await?.pop().transpose()
    }

    /// Decisions of conversations from `first` to `last`, in the order of their keys as text.
    pub(super) async fn decisions_between(
        &self,
        first: &ConversationKey,
        last: &ConversationKey,
    ) -> StoreResult<Vec<StoreResult<Decision>>> {
        const DECISIONS: &str = "SELECT key, body FROM opora_decisions WHERE key >= $1 AND key <= $2 ORDER BY key";
        let values = [first, last].map(|key| Value::Text(key.to_string())).into();
        let rows: Vec<(ConversationKey, String)> =
            read!(self, DECISIONS, values, |row| Ok((row.key(0)?, row.text(1)?)))?;
        Ok(rows.iter().map(|(key, body)| Decision::read(key, body)).collect())
    }

    /// A bot's conversations after one, and the versions to which their last decisions lead.
    pub(super) async fn decided_versions_after(
        &self,
        bot: i64,
        after: Option<&ConversationKey>,
        limit: usize,
    ) -> StoreResult<Vec<(ConversationKey, Version)>> {
        // Keys start with the bot and a colon; a semicolon is the next character.
        const PAGE: &str =
            "SELECT key, to_version FROM opora_decisions WHERE key > $1 AND key < $2 ORDER BY key LIMIT $3";
        let after = after.map_or_else(|| format!("{bot}:"), ConversationKey::to_string);
        let values = values![after, format!("{bot};"), count(limit)];
        read!(self, PAGE, values, |row| Ok((row.key(0)?, Version(row.number(1)?))))
    }

    /// All bots that ever used this database, with the generation of their Redis.
    pub(crate) async fn fences(&self) -> StoreResult<Vec<(i64, String)>> {
        const FENCES: &str = "SELECT bot, generation FROM opora_fences ORDER BY bot";
        if !TABLES.are_in(self).await? {
            return Ok(Vec::new());
        }
        read!(self, FENCES, Vec::new(), |row| Ok((row.number(0)?, row.text(1)?)))
    }

    /// The fence of a bot, if it ever used this database.
    pub(super) async fn fence(&self, bot: i64) -> StoreResult<Option<Fence>> {
        const FENCE: &str = "SELECT epoch, generation FROM opora_fences WHERE bot = $1";
        let values = values![bot];
        let fence =
            read!(self, FENCE, values, |row| Ok(Fence { epoch: Epoch(row.number(0)?), generation: row.text(1)? }));
        Ok(fence?.pop())
    }

    /// Raises the fence: only this epoch may write from now on, and no write of an earlier one is still running. False
    /// if the fence is at this epoch or a later one.
    pub(super) async fn raise(&self, bot: i64, epoch: Epoch, generation: &str) -> StoreResult<bool> {
        const RAISE: &str = "
            INSERT INTO opora_fences (bot, epoch, generation) VALUES ($1, $2, $3)
            ON CONFLICT (bot) DO UPDATE SET epoch = excluded.epoch WHERE opora_fences.epoch < excluded.epoch";
        let values = values![bot, epoch.0, generation.to_owned()];
        let raise = DomainWrites::new(move |database| {
            Box::pin(async move {
                match change(database, RAISE, values).await? {
                    0 => Err(StoreError::fenced(epoch, "the database has a later epoch").into()),
                    _ => Ok(()),
                }
            })
        });
        match self.write(raise).await {
            Err(StoreError::Fenced { .. }) => Ok(false),
            answer => answer.map(|()| true),
        }
    }

    /// Raises the fence above the epoch in use, so that no turn is decided any more and none is still being decided.
    /// Passes the new epoch to `raises_to` first. False if the fence is above `known`.
    pub(crate) async fn end_decisions(
        &self,
        bot: i64,
        known: Option<Epoch>,
        raises_to: impl FnOnce(Epoch) + Send,
    ) -> StoreResult<bool> {
        let Some(Fence { epoch, generation }) = self.fence(bot).await? else { return Ok(true) };
        if known.is_some_and(|known| known < epoch) {
            return Ok(false);
        }
        // A claim that was given up may still raise the fence to the known epoch.
        let next = Epoch(known.unwrap_or(epoch).0.saturating_add(1));
        raises_to(next);
        self.raise(bot, next, &generation).await
    }

    /// Binds a bot's decisions to another Redis.
    pub(super) async fn adopt(&self, bot: i64, generation: String) -> StoreResult<()> {
        const ADOPT: &str = "UPDATE opora_fences SET generation = $2 WHERE bot = $1";
        let values = values![bot, generation];
        self.change(vec![SqlChange::plain(ADOPT, values)]).await
    }

    /// Removes some decisions before a time. Returns how many rows.
    pub(super) async fn clean(&self, bot: i64, epoch: Epoch, before: Millis) -> StoreResult<u64> {
        const CLEAN: [&str; 2] = [
            "DELETE FROM opora_decisions WHERE key IN (
                 SELECT key FROM opora_decisions WHERE bot = $1 AND hour < $2 LIMIT $3)",
            "DELETE FROM opora_decided_inputs WHERE bot = $1 AND input IN (
                 SELECT input FROM opora_decided_inputs WHERE bot = $1 AND hour < $2 LIMIT $3)",
        ];
        let values = [bot, hour(before), count(CLEAN_LIMIT)].map(Value::Number);
        let (clean, removed) = returning(move |database| {
            Box::pin(async move {
                check_fence(database, bot, epoch).await?;
                let mut removed = 0;
                for statement in CLEAN {
                    removed += change(database, statement, values.to_vec()).await?;
                }
                Ok(removed)
            })
        });
        self.write(clean).await?;
        removed.await.map_err(unavailable)
    }
}
