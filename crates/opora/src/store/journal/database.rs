//! The journal's database: an SQL store, and tables of its own for what only a replay needs.
//!
//! It is a file of its own, or the application's database if turns write to the application's tables. There a turn and
//! its journal entry commit in one transaction.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::entry::Entry;
use crate::key::ConversationKey;
use crate::store::database::{LATEST_EPOCH, SqlChange, read};
use crate::store::sql::columns::{Columns, Value, count, values};
use crate::store::sql::failure::unavailable;
use crate::store::sql::rows::delete_from;
use crate::store::sql::statements::{SqlPair, over_rows, rows_of};
use crate::store::{DomainWrites, Effect, Epoch, SqlDatabase, SqliteStore, Store, StoreError, StoreResult};

mod kept;
mod tables;

use self::tables::TABLES;

pub(crate) use self::tables::KEEPS_CONVERSATIONS;

/// The first epoch of a journal, see the tables.
const FIRST_EPOCH: i64 = 1 << 22;

/// Clears the journal's own tables after a replay.
const CLEAR_JOURNAL: [&str; 3] = delete_from!(journal_effects, journal_entries, journal_settled; "bot = $1");
/// Clears what every SQL store keeps of a bot.
const CLEAR_STORE: [&str; 12] = delete_from!(
    conversations, marks, inbox, outbox, failed, posts, labels, timers, effects, transitions, parked, state_counts; "bot = $1"
);

/// Whether a bot has nothing to replay. Labels count: settling an earlier process's sent log writes them to the store.
const IS_EMPTY: &str = "
SELECT NOT (EXISTS (SELECT 1 FROM opora_journal_entries WHERE bot = $1)
    OR EXISTS (SELECT 1 FROM opora_journal_settled WHERE bot = $1)
    OR EXISTS (SELECT 1 FROM opora_labels WHERE bot = $1)
    OR EXISTS (SELECT 1 FROM opora_inbox WHERE bot = $1) OR EXISTS (SELECT 1 FROM opora_outbox WHERE bot = $1)
    OR EXISTS (SELECT 1 FROM opora_failed WHERE bot = $1))";

/// Entries, with "is the last of its conversation" and "is the last turn of its conversation".
const ENTRIES: &str = "
SELECT id, entry, id = (SELECT max(id) FROM opora_journal_entries AS later WHERE later.key = entries.key),
    id = coalesce((SELECT max(id) FROM opora_journal_entries AS later WHERE later.key = entries.key AND later.is_turn), 0)
FROM opora_journal_entries AS entries WHERE bot = $1 AND id > $2 ORDER BY id LIMIT $3";

/// Moves effects out of the store, each with the entry that requests it in Redis. So an effect that Redis may already
/// have does not run here if Redis goes away again. Effects without an entry are in Redis for sure.
const MOVE_EFFECTS: [&str; 2] = [
    "INSERT INTO opora_journal_effects (id, bot, entry, kind, body)
    SELECT id, bot, turn, kind, body FROM (
        SELECT effects.*, (SELECT max(id) FROM opora_journal_entries AS entries
            WHERE entries.key = effects.key AND entries.is_turn) AS turn
        FROM opora_effects AS effects WHERE bot = $1) AS asked
    WHERE turn IS NOT NULL",
    "DELETE FROM opora_effects WHERE bot = $1",
];

/// Removes conversations that are in Redis now, with their timers.
const REPLAYED: [SqlPair; 3] = [
    over_rows!(
        "DELETE FROM opora_journal_effects WHERE entry IN (
            SELECT id FROM opora_journal_entries WHERE key IN (SELECT value ->> 0 FROM",
        "))"
    ),
    over_rows!("DELETE FROM opora_journal_entries WHERE key IN (SELECT value ->> 0 FROM", ")"),
    over_rows!("DELETE FROM opora_timers WHERE key IN (SELECT value ->> 0 FROM", ")"),
];

/// Removes a conversation in conflict: its entries from an id on …
const REMOVE_ENTRIES: [&str; 2] = [
    "DELETE FROM opora_journal_effects WHERE entry IN (
        SELECT id FROM opora_journal_entries WHERE key = $1 AND id >= $2)",
    "DELETE FROM opora_journal_entries WHERE key = $1 AND id >= $2",
];
/// … and its state.
const REMOVE_STATE: [&str; 2] =
    ["DELETE FROM opora_timers WHERE key = $1", "DELETE FROM opora_conversations WHERE key = $1"];

/// The SQL database that holds the journal.
#[derive(Debug)]
pub(super) struct JournalDatabase {
    database: Arc<SqlDatabase>,
    location: Location,
}

#[derive(Debug)]
enum Location {
    File(PathBuf),
    /// In the database that has the application's tables.
    Application,
}

/// An entry with its id and its position among the entries of its conversation.
#[derive(Debug)]
pub(super) struct NumberedEntry {
    pub(super) id: i64,
    pub(super) is_last: bool,
    /// No turn of the conversation follows; a parked input may.
    pub(super) is_last_turn: bool,
    pub(super) entry: Entry,
}

/// The names of timers, by conversation.
pub(super) type TimerNames = HashMap<ConversationKey, BTreeSet<Box<str>>>;

/// Whether a journal granted this epoch.
pub(super) fn is_journal_epoch(epoch: Epoch) -> bool {
    epoch.0 >= FIRST_EPOCH
}

impl JournalDatabase {
    /// Opens a journal in a file of its own.
    pub(super) async fn open(path: &Path) -> StoreResult<Self> {
        let database = Arc::new(SqlDatabase::from(SqliteStore::open(path).await?));
        TABLES.make(&database).await?;
        Ok(Self { database, location: Location::File(path.to_owned()) })
    }

    /// Opens a journal in the application's database.
    pub(super) async fn in_database(database: Arc<SqlDatabase>) -> StoreResult<Self> {
        tables::create_in_database(&database).await?;
        Ok(Self { database, location: Location::Application })
    }

    /// The store in which conversations go on.
    pub(super) fn store(&self) -> &dyn Store {
        self.database.store()
    }

    pub(super) fn database(&self) -> &SqlDatabase {
        &self.database
    }

    /// The database, if the application has its tables there.
    pub(super) fn application_database(&self) -> Option<&Arc<SqlDatabase>> {
        matches!(self.location, Location::Application).then_some(&self.database)
    }

    /// Its name in messages, after the words "the journal".
    pub(super) fn name(&self) -> String {
        match &self.location {
            Location::File(path) => path.display().to_string(),
            Location::Application => "in the database".to_owned(),
        }
    }

    /// Says in an `Unavailable` error that it is about the journal, while Redis is away as well.
    pub(super) fn explain_failure(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Unavailable(why) => StoreError::Unavailable(
                format!("Redis is away, and the journal {} cannot be used: {why}", self.name()).into(),
            ),
            other => other,
        }
    }

    /// The token of a bot's current outage: it identifies everything written since the journal was last empty.
    pub(super) async fn outage_token(&self, bot: i64) -> StoreResult<String> {
        const TOKEN: &str = "SELECT token FROM opora_journal_outage WHERE bot = $1";
        const MAKE: &str = "INSERT INTO opora_journal_outage (bot, token) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        let mut found = read!(&*self.database, TOKEN, values![bot], |row| row.text(0))?;
        if found.is_empty() {
            // Outcomes of messages that Redis had can be stored before the journal's first lease, so the token is made
            // when it is first needed.
            self.database.change(vec![SqlChange::plain(MAKE, values![bot, new_token()])]).await?;
            found = read!(&*self.database, TOKEN, values![bot], |row| row.text(0))?;
        }
        found.pop().ok_or_else(|| unavailable(std::io::Error::other("the journal has no token")))
    }

    /// Starts a new outage with a new token, unless entries of the former one are left: an interrupted replay
    /// recognises its finished entries by the token.
    pub(super) async fn begin_outage(&self, bot: i64) -> StoreResult<()> {
        const BEGIN: &str = "INSERT INTO opora_journal_outage (bot, token) VALUES ($1, $2)
            ON CONFLICT (bot) DO UPDATE SET token = excluded.token";
        if !self.is_empty(bot).await? {
            return Ok(());
        }
        self.database.change(vec![SqlChange::plain(BEGIN, values![bot, new_token()])]).await
    }

    pub(super) async fn is_empty(&self, bot: i64) -> StoreResult<bool> {
        Ok(read!(&*self.database, IS_EMPTY, values![bot], |row| row.flag(0))?.pop() == Some(true))
    }

    /// Whether a database has a journal with anything to replay, of any bot.
    pub(super) async fn holds_data(database: &SqlDatabase) -> StoreResult<bool> {
        const LEFT: &str = "
            SELECT EXISTS (SELECT 1 FROM opora_journal_entries) OR EXISTS (SELECT 1 FROM opora_journal_settled)
                OR EXISTS (SELECT 1 FROM opora_labels)
                OR EXISTS (SELECT 1 FROM opora_inbox) OR EXISTS (SELECT 1 FROM opora_outbox)
                OR EXISTS (SELECT 1 FROM opora_failed)";
        Ok(TABLES.are_in(database).await? && read!(database, LEFT, Vec::new(), |row| row.flag(0))?.pop() == Some(true))
    }

    /// The SQL writes that record an entry, after `writes`, in the same transaction.
    pub(super) fn entry_write(entry: &Entry, writes: Option<DomainWrites>) -> StoreResult<DomainWrites> {
        const WRITE: SqlPair = over_rows!(
            "INSERT INTO opora_journal_entries (bot, key, is_turn, entry)
            SELECT CAST(value ->> 0 AS BIGINT), value ->> 1, CAST(value ->> 2 AS BOOLEAN), value ->> 3 FROM",
            ""
        );
        let json = serde_json::to_string(entry).map_err(unavailable)?;
        // A number, because SQLite has no booleans.
        let is_turn = i64::from(matches!(entry, Entry::Turn { .. }));
        let rows = rows([(entry.key().bot, entry.key().to_string(), is_turn, json)])?;
        Ok(DomainWrites::new(move |database| {
            Box::pin(async move {
                if let Some(writes) = writes {
                    writes.run(database).await?;
                }
                SqlChange::over_rows(WRITE, vec![rows]).make(database).await?;
                Ok(())
            })
        }))
    }

    /// Entries after an id, in order.
    pub(super) async fn entries(&self, bot: i64, after: i64, limit: usize) -> StoreResult<Vec<NumberedEntry>> {
        let values = [bot, after, count(limit)].map(Value::Number).into();
        read!(&*self.database, ENTRIES, values, |row| {
            Ok(NumberedEntry {
                id: row.number(0)?,
                is_last: row.flag(2)?,
                is_last_turn: row.flag(3)?,
                entry: json(row, 1)?,
            })
        })
    }

    /// Sets aside the effects that have not run: from now on only the replay handles them.
    pub(super) async fn set_effects_aside(&self, bot: i64, journal_epoch: Epoch) -> StoreResult<()> {
        let aside = MOVE_EFFECTS.map(|statement| SqlChange::plain(statement, values![bot]));
        self.database.change_under(bot, journal_epoch, aside.into()).await
    }

    /// The effects that were set aside, by the id of their entry.
    pub(super) async fn effects(&self, bot: i64) -> StoreResult<HashMap<i64, Vec<Effect>>> {
        const ASIDE: &str = "SELECT entry, kind, body FROM opora_journal_effects WHERE bot = $1 ORDER BY id";
        let rows = read!(&*self.database, ASIDE, values![bot], |row| {
            Ok((row.number(0)?, Effect { kind: row.text(1)?, body: row.text(2)? }))
        })?;
        let mut effects = HashMap::<_, Vec<_>>::new();
        for (entry, effect) in rows {
            effects.entry(entry).or_default().push(effect);
        }
        Ok(effects)
    }

    /// All entries of a conversation from an id on, with their ids.
    pub(super) async fn entries_of(&self, key: String, from: i64) -> StoreResult<Vec<(i64, Entry)>> {
        const OF_KEY: &str = "SELECT id, entry FROM opora_journal_entries WHERE key = $1 AND id >= $2 ORDER BY id";
        let values = values![key, from];
        read!(&*self.database, OF_KEY, values, |row| Ok((row.number(0)?, json(row, 1)?)))
    }

    /// The names of timers that conversations have set or cancelled.
    pub(super) async fn timers_of(&self, keys: Vec<String>) -> StoreResult<TimerNames> {
        const TURNS: SqlPair = over_rows!(
            "SELECT entry FROM opora_journal_entries WHERE is_turn AND key IN (SELECT value ->> 0 FROM",
            ")"
        );
        let turns = TURNS.pick(self.database.is_postgres());
        let mut names = TimerNames::new();
        for entry in read!(&*self.database, turns, vec![rows(keys.iter().map(|key| [key]))?], |row| json(row, 0))? {
            if let Entry::Turn { commit, .. } = entry {
                names.entry(commit.key).or_default().extend(commit.timers.iter().map(|timer| timer.name().into()));
            }
        }
        Ok(names)
    }

    /// Removes conversations that are completely in Redis.
    pub(super) async fn remove_replayed(&self, bot: i64, journal_epoch: Epoch, keys: &[String]) -> StoreResult<()> {
        let keys = rows(keys.iter().map(|key| [key]))?;
        let removed = REPLAYED.map(|statement| SqlChange::over_rows(statement, vec![keys.clone()]));
        self.database.change_under(bot, journal_epoch, removed.into()).await
    }

    /// Removes a conversation in conflict, with its entries from an id on.
    pub(super) async fn remove_conflict(
        &self,
        key: &ConversationKey,
        journal_epoch: Epoch,
        from: i64,
    ) -> StoreResult<()> {
        let bot = key.bot;
        let key = Value::Text(key.to_string());
        let from = Value::Number(from);
        let mut changes: Vec<_> =
            REMOVE_ENTRIES.map(|statement| SqlChange::plain(statement, vec![key.clone(), from.clone()])).into();
        changes.extend(REMOVE_STATE.map(|statement| SqlChange::plain(statement, vec![key.clone()])));
        self.database.change_under(bot, journal_epoch, changes).await
    }

    /// The latest epoch of a bot's lease on the journal.
    pub(super) async fn epoch(&self, bot: i64) -> StoreResult<Epoch> {
        let latest = read!(&*self.database, LATEST_EPOCH, values![bot], |row| row.number(0))?;
        Ok(latest.first().copied().map_or_else(Epoch::default, Epoch))
    }

    /// Clears a bot's journal after the replay. Refused if another instance has taken the journal's lease meanwhile. An
    /// empty journal is not written: Redis must stay usable while this disk is full.
    pub(super) async fn clear(&self, bot: i64, journal_epoch: Epoch) -> StoreResult<()> {
        let of_bot = |statement| SqlChange::plain(statement, values![bot]);
        let emptied = CLEAR_JOURNAL.into_iter().chain(CLEAR_STORE).map(of_bot).collect();
        self.database.change_under(bot, journal_epoch, emptied).await
    }

    /// Removes conversations that the database stored itself. Returns their bots.
    pub(super) async fn discard(database: &SqlDatabase) -> StoreResult<Vec<i64>> {
        if TABLES.are_in(database).await? {
            return Err(StoreError::Unsupported(IS_A_JOURNAL));
        }
        let bots = database.store().operator().bots().await?;
        let in_redis = database.fences().await?;
        for bot in &bots {
            if !in_redis.iter().any(|(known, _)| known == bot) {
                return Err(StoreError::Unsupported(NOT_IN_REDIS));
            }
            if database.store().lease(*bot).await?.is_some() {
                return Err(StoreError::Unsupported(IS_IN_USE));
            }
        }
        // In one transaction.
        let of_bot = |bot: &i64| CLEAR_STORE.map(|statement| SqlChange::plain(statement, values![*bot]));
        database.change(bots.iter().flat_map(of_bot).collect()).await?;
        Ok(bots)
    }
}

fn new_token() -> String {
    format!("{:016x}", fastrand::u64(..))
}

/// Rows as the parameter of a statement over each of them.
fn rows<T: Serialize>(all: impl IntoIterator<Item = T>) -> StoreResult<Value> {
    rows_of(all).map_err(unavailable)
}

fn json<T: DeserializeOwned>(row: &impl Columns, column: usize) -> sqlx::Result<T> {
    row.json(column)?.ok_or_else(|| sqlx::Error::Decode("a row is empty".into()))
}

const IS_A_JOURNAL: &str = "the database has a journal, which is cleared by itself when its Redis is back";
const NOT_IN_REDIS: &str = "the conversations of this database belong to a bot that never worked with a Redis beside it: \
                            they may be its only copy";
const IS_IN_USE: &str = "a bot works with the conversations of this database, or was killed: stop it, or end its lease with \
                         `opora state lease clear`";

#[cfg(test)]
mod tests;
