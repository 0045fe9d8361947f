//! The journal's file: an SQLite store, and tables of its own for what only a replay needs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use sqlx::{Row, SqliteConnection};
use tokio::sync::oneshot;

use super::entry::{Entry, Sent};
use crate::clock::Millis;
use crate::store::sql::failure::{closed, unavailable};
use crate::store::{DomainWrites, Effect, Epoch, OutboxId, Settled, SqliteStore, Store, StoreError, StoreResult};

/// Epochs of a journal begin here, so that they are told from those of Redis, and their numbers too.
const FIRST_EPOCH: i64 = 1 << 22;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS journal_outage (token TEXT NOT NULL);
INSERT INTO journal_outage SELECT lower(hex(randomblob(8))) WHERE NOT EXISTS (SELECT 1 FROM journal_outage);
CREATE TABLE IF NOT EXISTS journal_entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, bot INTEGER NOT NULL, key TEXT NOT NULL, entry TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS journal_entries_key ON journal_entries (key);
CREATE TABLE IF NOT EXISTS journal_settled (id INTEGER PRIMARY KEY, bot INTEGER NOT NULL, outcome TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS journal_labels (
    bot INTEGER NOT NULL, chat INTEGER NOT NULL, label TEXT NOT NULL, message INTEGER NOT NULL,
    PRIMARY KEY (bot, chat, label));
CREATE TABLE IF NOT EXISTS journal_effects (
    id INTEGER PRIMARY KEY, bot INTEGER NOT NULL, entry INTEGER NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS journal_effects_entry ON journal_effects (entry);
INSERT OR IGNORE INTO opora_leases (bot, epoch, holder, renewals, numbers) VALUES (-1, 4194304, NULL, 0, 0);";

/// What is emptied when everything has been replayed.
const EMPTIED: [&str; 15] = [
    "DELETE FROM journal_effects WHERE bot = ?1",
    "DELETE FROM journal_entries WHERE bot = ?1",
    "DELETE FROM journal_settled WHERE bot = ?1",
    "DELETE FROM journal_labels WHERE bot = ?1",
    "DELETE FROM opora_conversations WHERE bot = ?1",
    "DELETE FROM opora_marks WHERE bot = ?1",
    "DELETE FROM opora_inbox WHERE bot = ?1",
    "DELETE FROM opora_outbox WHERE bot = ?1",
    "DELETE FROM opora_failed WHERE bot = ?1",
    "DELETE FROM opora_posts WHERE bot = ?1",
    "DELETE FROM opora_labels WHERE bot = ?1",
    "DELETE FROM opora_timers WHERE bot = ?1",
    "DELETE FROM opora_effects WHERE bot = ?1",
    "DELETE FROM opora_transitions WHERE bot = ?1",
    "DELETE FROM opora_parked WHERE bot = ?1",
];

/// Whether a bot has left anything to replay.
const IS_EMPTY: &str = "
SELECT NOT (EXISTS (SELECT 1 FROM journal_entries WHERE bot = ?1)
    OR EXISTS (SELECT 1 FROM journal_settled WHERE bot = ?1) OR EXISTS (SELECT 1 FROM journal_labels WHERE bot = ?1)
    OR EXISTS (SELECT 1 FROM opora_inbox WHERE bot = ?1) OR EXISTS (SELECT 1 FROM opora_outbox WHERE bot = ?1)
    OR EXISTS (SELECT 1 FROM opora_failed WHERE bot = ?1))";

/// The last turn of a conversation also brings what has come of all of them.
const ENTRIES: &str = "
SELECT id, entry, id = (SELECT max(id) FROM journal_entries later WHERE later.key = entries.key),
    id = (SELECT id FROM journal_entries later
        WHERE later.key = entries.key AND json_type(later.entry, '$.deed.Turn') IS NOT NULL ORDER BY id DESC LIMIT 1)
FROM journal_entries entries WHERE bot = ?1 AND id > ?2 ORDER BY id LIMIT ?3";

/// Effects leave the reach of whoever works on the journal, each with the turn that brings it to Redis. So one that may be
/// there already is not carried out here if Redis goes away again. Those without a turn are there for sure.
const SET_ASIDE: [&str; 2] = [
    "INSERT INTO journal_effects (id, bot, entry, kind, body)
    SELECT id, bot, turn, kind, body FROM (
        SELECT *, (SELECT id FROM journal_entries AS entries
            WHERE entries.key = effects.key AND json_type(entries.entry, '$.deed.Turn') IS NOT NULL
            ORDER BY id DESC LIMIT 1) AS turn
        FROM opora_effects AS effects WHERE bot = ?1)
    WHERE turn IS NOT NULL",
    "DELETE FROM opora_effects WHERE bot = ?1",
];

/// What goes when conversations are in Redis: their timers are there, too.
const REPLAYED: [&str; 3] = [
    "DELETE FROM journal_effects WHERE entry IN (
        SELECT id FROM journal_entries WHERE key IN (SELECT value FROM json_each(?1)))",
    "DELETE FROM journal_entries WHERE key IN (SELECT value FROM json_each(?1))",
    "DELETE FROM opora_timers WHERE key IN (SELECT value FROM json_each(?1))",
];

/// What goes of a conversation in conflict, from a number on: nobody goes on from here.
const GIVEN_UP: [&str; 4] = [
    "DELETE FROM journal_effects WHERE entry IN (SELECT id FROM journal_entries WHERE key = ?1 AND id >= ?2)",
    "DELETE FROM journal_entries WHERE key = ?1 AND id >= ?2",
    "DELETE FROM opora_timers WHERE key = ?1",
    "DELETE FROM opora_conversations WHERE key = ?1",
];

/// The file.
#[derive(Debug)]
pub(super) struct Book {
    pub(super) store: SqliteStore,
    pub(super) path: PathBuf,
}

/// An entry, its number, and whether it is the last of its conversation.
#[derive(Debug)]
pub(super) struct Numbered {
    pub(super) id: i64,
    pub(super) is_last: bool,
    /// No turn follows; what was parked may.
    pub(super) is_last_turn: bool,
    pub(super) entry: Entry,
}

/// Whether a journal gave this epoch.
pub(super) fn is_ours(epoch: Epoch) -> bool {
    epoch.0 >= FIRST_EPOCH
}

impl Book {
    pub(super) async fn open(path: &Path) -> StoreResult<Self> {
        let book = Self { store: SqliteStore::open(path).await?, path: path.to_owned() };
        book.ask(|sqlite| Box::pin(async { sqlx::raw_sql(TABLES).execute(sqlite).await.map(drop) })).await?;
        Ok(book)
    }

    /// An error of the file's, which says that it is the journal: Redis is away as well, and nothing is acknowledged.
    pub(super) fn away(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Unavailable(why) => StoreError::Unavailable(
                format!("Redis is away, and the journal {} cannot be used: {why}", self.path.display()).into(),
            ),
            other => other,
        }
    }

    /// Names what was written since the journal was empty.
    pub(super) async fn token(&self) -> StoreResult<String> {
        self.ask(|sqlite| {
            Box::pin(async { sqlx::query("SELECT token FROM journal_outage").fetch_one(sqlite).await?.try_get(0) })
        })
        .await
    }

    pub(super) async fn is_empty(&self, bot: i64) -> StoreResult<bool> {
        self.ask(move |sqlite| {
            Box::pin(async move { sqlx::query(IS_EMPTY).bind(bot).fetch_one(sqlite).await?.try_get(0) })
        })
        .await
    }

    /// Writes an entry down, in the transaction of what it tells of.
    pub(super) fn writing(entry: &Entry) -> StoreResult<DomainWrites> {
        let json = serde_json::to_string(entry).map_err(unavailable)?;
        let (bot, key) = (entry.key.bot, entry.key.to_string());
        Ok(DomainWrites::new(move |database| {
            Box::pin(async move {
                let insert = sqlx::query("INSERT INTO journal_entries (bot, key, entry) VALUES (?1, ?2, ?3)");
                insert.bind(bot).bind(key).bind(json).execute(database.sqlite()).await?;
                Ok(())
            })
        }))
    }

    /// Entries after a number, in order.
    pub(super) async fn entries(&self, bot: i64, after: i64, limit: i64) -> StoreResult<Vec<Numbered>> {
        let rows: Vec<(i64, String, bool, Option<bool>)> = self
            .ask(move |sqlite| Box::pin(sqlx::query_as(ENTRIES).bind(bot).bind(after).bind(limit).fetch_all(sqlite)))
            .await?;
        let read = |(id, json, is_last, is_last_turn): (i64, String, bool, Option<bool>)| {
            let entry = serde_json::from_str(&json).map_err(unavailable)?;
            Ok(Numbered { id, is_last, is_last_turn: is_last_turn.unwrap_or(false), entry })
        };
        rows.into_iter().map(read).collect()
    }

    /// Sets aside the effects that were not carried out: from now on only a replay takes them.
    pub(super) async fn set_effects_aside(&self, bot: i64) -> StoreResult<()> {
        self.ask(move |sqlite| {
            Box::pin(async move {
                for statement in SET_ASIDE {
                    sqlx::query(statement).bind(bot).execute(&mut *sqlite).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// The effects that were set aside, by the turn that brings them.
    pub(super) async fn effects(&self, bot: i64) -> StoreResult<HashMap<i64, Vec<Effect>>> {
        const ASIDE: &str = "SELECT entry, kind, body FROM journal_effects WHERE bot = ?1 ORDER BY id";
        let rows: Vec<(i64, String, String)> =
            self.ask(move |sqlite| Box::pin(sqlx::query_as(ASIDE).bind(bot).fetch_all(sqlite))).await?;
        let mut effects = HashMap::<_, Vec<_>>::new();
        for (entry, kind, body) in rows {
            effects.entry(entry).or_default().push(Effect { kind: kind.into(), body: body.into() });
        }
        Ok(effects)
    }

    /// All entries of a conversation from a number on, with their numbers.
    pub(super) async fn entries_of(&self, key: String, from: i64) -> StoreResult<Vec<(i64, Entry)>> {
        const OF_KEY: &str = "SELECT id, entry FROM journal_entries WHERE key = ?1 AND id >= ?2 ORDER BY id";
        let rows: Vec<(i64, String)> =
            self.ask(move |sqlite| Box::pin(sqlx::query_as(OF_KEY).bind(key).bind(from).fetch_all(sqlite))).await?;
        rows.iter().map(|(id, json)| Ok((*id, serde_json::from_str(json).map_err(unavailable)?))).collect()
    }

    /// Removes conversations of which everything is in Redis, in one step.
    pub(super) async fn remove_replayed(&self, keys: &[String]) -> StoreResult<()> {
        let json = serde_json::to_string(keys).map_err(unavailable)?;
        self.ask(move |sqlite| {
            Box::pin(async move {
                for statement in REPLAYED {
                    sqlx::query(statement).bind(&json).execute(&mut *sqlite).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Removes a conversation from a number on, in one step.
    pub(super) async fn give_up(&self, key: String, from: i64) -> StoreResult<()> {
        self.ask(move |sqlite| {
            Box::pin(async move {
                for statement in GIVEN_UP {
                    sqlx::query(statement).bind(&key).bind(from).execute(&mut *sqlite).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Keeps the marks of updates that Redis has taken, so that a restart without it knows them.
    pub(super) async fn keep_marks(&self, bot: i64, marks: &[(i64, Box<str>)], at: Millis) -> StoreResult<()> {
        let json = serde_json::to_string(marks).map_err(unavailable)?;
        const KEEP: &str = "INSERT OR IGNORE INTO opora_marks (bot, update_id, identity, taken_at)
            SELECT ?1, json_extract(value, '$[0]'), json_extract(value, '$[1]'), ?3 FROM json_each(?2)";
        self.ask(move |sqlite| {
            Box::pin(async move { sqlx::query(KEEP).bind(bot).bind(json).bind(at.0).execute(sqlite).await.map(drop) })
        })
        .await
    }

    /// Removes inputs that are in Redis now.
    pub(super) async fn remove_inputs(&self, seqs: &[i64]) -> StoreResult<()> {
        const THESE: &str = "DELETE FROM opora_inbox WHERE seq IN (SELECT value FROM json_each(?1))";
        let json = serde_json::to_string(seqs).map_err(unavailable)?;
        self.ask(move |sqlite| Box::pin(async move { sqlx::query(THESE).bind(json).execute(sqlite).await.map(drop) }))
            .await
    }

    /// Keeps what became of messages that are in Redis' outbox.
    pub(super) async fn keep_settled(&self, bot: i64, settled: &[Settled]) -> StoreResult<()> {
        let rows: Vec<_> = settled.iter().map(|Settled { id, outcome }| (id.0, Sent::from(outcome))).collect();
        let json = serde_json::to_string(&rows).map_err(unavailable)?;
        const KEEP: &str = "INSERT OR REPLACE INTO journal_settled (id, bot, outcome)
            SELECT json_extract(value, '$[0]'), ?1, json_extract(value, '$[1]') FROM json_each(?2)";
        self.ask(move |sqlite| {
            Box::pin(async move { sqlx::query(KEEP).bind(bot).bind(json).execute(sqlite).await.map(drop) })
        })
        .await
    }

    pub(super) async fn settled(&self, bot: i64) -> StoreResult<Vec<Settled>> {
        const KEPT: &str = "SELECT id, outcome FROM journal_settled WHERE bot = ?1 ORDER BY id";
        let rows: Vec<(i64, String)> =
            self.ask(move |sqlite| Box::pin(sqlx::query_as(KEPT).bind(bot).fetch_all(sqlite))).await?;
        let read = |(id, json): (i64, String)| {
            let sent: Sent = serde_json::from_str(&json).map_err(unavailable)?;
            Ok(Settled { id: OutboxId(id), outcome: sent.into() })
        };
        rows.into_iter().map(read).collect()
    }

    /// Keeps labels of messages that were sent while Redis was away.
    pub(super) async fn keep_labels(&self, bot: i64, labels: Vec<(i64, Box<str>, i64)>) -> StoreResult<()> {
        let json = serde_json::to_string(&labels).map_err(unavailable)?;
        const KEEP: &str = "INSERT OR REPLACE INTO journal_labels (bot, chat, label, message)
            SELECT ?1, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')
            FROM json_each(?2)";
        self.ask(move |sqlite| {
            Box::pin(async move { sqlx::query(KEEP).bind(bot).bind(json).execute(sqlite).await.map(drop) })
        })
        .await
    }

    pub(super) async fn labels(&self, bot: i64) -> StoreResult<Vec<(i64, String, i64)>> {
        const KEPT: &str = "SELECT chat, label, message FROM journal_labels WHERE bot = ?1";
        self.ask(move |sqlite| Box::pin(sqlx::query_as(KEPT).bind(bot).fetch_all(sqlite))).await
    }

    /// Everything of a bot's is in Redis: the journal is empty, and the next outage has another name.
    pub(super) async fn empty(&self, bot: i64) -> StoreResult<()> {
        self.ask(move |sqlite| {
            Box::pin(async move {
                let mut gone = 0;
                for statement in EMPTIED {
                    gone += sqlx::query(statement).bind(bot).execute(&mut *sqlite).await?.rows_affected();
                }
                // Where nothing was, nothing is written: Redis can be used also while this disk is full.
                if gone > 0 {
                    let token = "UPDATE journal_outage SET token = lower(hex(randomblob(8)))";
                    sqlx::query(token).execute(sqlite).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Runs queries of the journal's own, in a transaction.
    async fn ask<T, F>(&self, run: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, sqlx::Result<T>> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let writes = DomainWrites::new(move |database| {
            Box::pin(async move {
                let found = run(database.sqlite()).await?;
                // Nobody listens only if whoever asked is gone.
                let _ = answer.send(found);
                Ok(())
            })
        });
        self.store.write(writes).await?;
        answered.await.map_err(|_| closed())
    }
}
