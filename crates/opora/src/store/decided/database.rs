//! The database beside Redis: its fence, its records of decisions, and the application's writes between them.

use super::keep::{Record, check_fence, fenced, hour};
use super::record::Decision;
use super::tables::TABLES;
use crate::clock::Millis;
use crate::failpoints;
use crate::key::DialogueKey;
use crate::store::database::{Change, change, numbers, read, with_store};
use crate::store::sql::columns::{Columns, Value, count};
use crate::store::{DomainWrites, Epoch, Holder, SqlDatabase, SqliteStore, StoreError, StoreResult, Version};

/// How many rows of a table one cleaning removes.
const CLEAN_LIMIT: usize = 1000;

/// Who may write to the tables, and the Redis that they belong to.
#[derive(Debug)]
pub(super) struct Fence {
    pub(super) epoch: Epoch,
    pub(super) generation: String,
}

/// An open file cannot be replaced: a file that is put in its place is another store.
impl SqliteStore {
    async fn verify(&self) -> StoreResult<()> {
        Ok(())
    }

    fn is_asked_by(&self, _: &Holder) {}

    async fn lost(&self) -> Option<StoreError> {
        None
    }
}

impl SqlDatabase {
    /// Asks whether it is still the database that was opened.
    pub(super) async fn verify(&self) -> StoreResult<()> {
        with_store!(self, store => store.verify().await)
    }

    /// Takes note of how long the renewals of this holder may wait for word of that.
    pub(super) fn is_asked_by(&self, holder: &Holder) {
        with_store!(self, store => store.is_asked_by(holder));
    }

    /// Why it is not the database that was opened, as far as that is heard in time.
    pub(super) async fn lost(&self) -> Option<StoreError> {
        with_store!(self, store => store.lost().await)
    }

    /// Runs the application's writes and keeps the record, in one transaction.
    pub(super) async fn decide(&self, record: Record, writes: DomainWrites) -> StoreResult<()> {
        let decide = DomainWrites::new(move |database| {
            Box::pin(async move {
                record.keep(database).await?;
                writes.run(database).await?;
                failpoints::hit(failpoints::STORE_IN_WRITES).await;
                Ok(())
            })
        });
        self.write(decide).await
    }

    /// Waits until no decision is on its way any more whose answer was lost.
    pub(super) async fn wait_for_decisions(&self, key: &DialogueKey) -> StoreResult<()> {
        const ALONE: &str = "SELECT epoch FROM opora_fences WHERE bot = $1 FOR UPDATE";
        if !self.is_postgres() {
            // One writer: what it has not written by now it will not write.
            return Ok(());
        }
        let bot = vec![Value::Number(key.bot)];
        let wait = DomainWrites::new(move |database| {
            Box::pin(async move {
                numbers::<1>(database, ALONE, bot).await?;
                Ok(())
            })
        });
        self.write(wait).await
    }

    /// The version that the last decision of a conversation leads to.
    pub(super) async fn decided_to(&self, key: &DialogueKey) -> StoreResult<Option<Version>> {
        const DECIDED: &str = "SELECT to_version FROM opora_decisions WHERE key = $1";
        let values = vec![Value::Text(key.to_string())];
        Ok(read!(self, DECIDED, values, |row| row.number(0))?.pop().map(Version))
    }

    /// The last decision of a conversation.
    pub(super) async fn decision(&self, key: &DialogueKey) -> StoreResult<Option<Decision>> {
        self.decisions_between(key, key).await?.pop().transpose()
    }

    /// Decisions of conversations from one to another, in the order of their keys' texts.
    pub(super) async fn decisions_between(
        &self,
        first: &DialogueKey,
        last: &DialogueKey,
    ) -> StoreResult<Vec<StoreResult<Decision>>> {
        const DECISIONS: &str = "SELECT key, body FROM opora_decisions WHERE key >= $1 AND key <= $2 ORDER BY key";
        let values = [first, last].map(|key| Value::Text(key.to_string())).into();
        let rows: Vec<(DialogueKey, String)> = read!(self, DECISIONS, values, |row| Ok((row.key(0)?, row.text(1)?)))?;
        Ok(rows.iter().map(|(key, body)| Decision::read(key, body)).collect())
    }

    /// A bot's conversations after one, and the versions that their last decisions lead to.
    pub(super) async fn decided_after(
        &self,
        bot: i64,
        after: Option<&DialogueKey>,
        limit: usize,
    ) -> StoreResult<Vec<(DialogueKey, Version)>> {
        // Keys begin with their bot and a colon, which a semicolon follows.
        const PAGE: &str =
            "SELECT key, to_version FROM opora_decisions WHERE key > $1 AND key < $2 ORDER BY key LIMIT $3";
        let after = after.map_or_else(|| format!("{bot}:"), DialogueKey::to_string);
        let values = vec![Value::Text(after), Value::Text(format!("{bot};")), Value::Number(count(limit))];
        read!(self, PAGE, values, |row| Ok((row.key(0)?, Version(row.number(1)?))))
    }

    /// All bots that were ever here, and the Redis of each.
    pub(in crate::store) async fn fences(&self) -> StoreResult<Vec<(i64, String)>> {
        const FENCES: &str = "SELECT bot, generation FROM opora_fences ORDER BY bot";
        if !TABLES.are_in(self).await? {
            return Ok(Vec::new());
        }
        read!(self, FENCES, Vec::new(), |row| Ok((row.number(0)?, row.text(1)?)))
    }

    /// The fence of a bot, if it was ever here.
    pub(super) async fn fence(&self, bot: i64) -> StoreResult<Option<Fence>> {
        const FENCE: &str = "SELECT epoch, generation FROM opora_fences WHERE bot = $1";
        let values = vec![Value::Number(bot)];
        let fence =
            read!(self, FENCE, values, |row| Ok(Fence { epoch: Epoch(row.number(0)?), generation: row.text(1)? }));
        Ok(fence?.pop())
    }

    /// Lets only this epoch write from now on; no earlier one is in the midst of a write when that is answered. False if a
    /// later one may.
    pub(super) async fn raise(&self, bot: i64, epoch: Epoch, generation: &str) -> StoreResult<bool> {
        const RAISE: &str = "
            INSERT INTO opora_fences (bot, epoch, generation) VALUES ($1, $2, $3)
            ON CONFLICT (bot) DO UPDATE SET epoch = excluded.epoch WHERE opora_fences.epoch < excluded.epoch";
        let values = vec![Value::Number(bot), Value::Number(epoch.0), Value::Text(generation.to_owned())];
        let raise = DomainWrites::new(move |database| {
            Box::pin(async move {
                match change(database, RAISE, values).await? {
                    0 => Err(fenced(epoch, "the database knows of a later one").into()),
                    _ => Ok(()),
                }
            })
        });
        match self.write(raise).await {
            Err(StoreError::Fenced { .. }) => Ok(false),
            answer => answer.map(|()| true),
        }
    }

    /// Lets nobody decide any more until a later epoch is raised; none is in the midst of a decision when that is answered.
    /// Tells the epoch that it raises to before it does. False if a later one than is known here may decide.
    pub(in crate::store) async fn end_decisions(
        &self,
        bot: i64,
        known: Option<Epoch>,
        raises_to: impl FnOnce(Epoch) + Send,
    ) -> StoreResult<bool> {
        // Nobody has ever decided anything.
        let Some(Fence { epoch, generation }) = self.fence(bot).await? else { return Ok(true) };
        if known.is_some_and(|known| known < epoch) {
            return Ok(false);
        }
        // A claim that was given up may still be on its way to the epoch that is known.
        let next = Epoch(known.unwrap_or(epoch).0.saturating_add(1));
        raises_to(next);
        self.raise(bot, next, &generation).await
    }

    /// Says that a bot's tables belong to another Redis than they did.
    pub(super) async fn adopt(&self, bot: i64, generation: String) -> StoreResult<()> {
        const ADOPT: &str = "UPDATE opora_fences SET generation = $2 WHERE bot = $1";
        let values = vec![Value::Number(bot), Value::Text(generation)];
        self.change(vec![Change::plain(ADOPT, values)]).await
    }

    /// Forgets some of what was decided before a time; answers how much.
    pub(super) async fn clean(&self, bot: i64, epoch: Epoch, before: Millis) -> StoreResult<u64> {
        const CLEAN: [&str; 2] = [
            "DELETE FROM opora_decisions WHERE key IN (
                 SELECT key FROM opora_decisions WHERE bot = $1 AND hour < $2 LIMIT $3)",
            "DELETE FROM opora_decided_inputs WHERE bot = $1 AND input IN (
                 SELECT input FROM opora_decided_inputs WHERE bot = $1 AND hour < $2 LIMIT $3)",
        ];
        let (tell, told) = tokio::sync::oneshot::channel();
        let values = [bot, hour(before), count(CLEAN_LIMIT)].map(Value::Number);
        let clean = DomainWrites::new(move |database| {
            Box::pin(async move {
                check_fence(database, bot, epoch).await?;
                let mut gone = 0;
                for statement in CLEAN {
                    gone += change(database, statement, values.to_vec()).await?;
                }
                // Nobody may be waiting any more.
                let _ = tell.send(gone);
                Ok(())
            })
        });
        self.write(clean).await?;
        Ok(told.await.unwrap_or_default())
    }
}
