//! Where the journal is written: an SQL store, and tables of its own for what only a replay needs.
//!
//! It is a file of its own or, where turns write to an application's tables, the database that has these: so a turn that
//! is written down commits with what it writes there.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::entry::Entry;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::database::{Change, Each, LATEST_EPOCH, each, read};
use crate::store::sql::columns::{Columns, Value, count};
use crate::store::sql::failure::unavailable;
use crate::store::sql::rows::Rows;
use crate::store::{
    DomainWrites, Effect, Epoch, OutboxId, Settled, SqlDatabase, SqliteStore, Store, StoreError, StoreResult,
};

mod tables;

use self::tables::TABLES;

pub(in crate::store) use self::tables::KEEPS_CONVERSATIONS;

/// Epochs of a journal begin here, see the tables.
const FIRST_EPOCH: i64 = 1 << 22;

/// What is emptied when everything has been replayed: what only a journal has …
const EMPTIED: [&str; 3] = [
    "DELETE FROM opora_journal_effects WHERE bot = $1",
    "DELETE FROM opora_journal_entries WHERE bot = $1",
    "DELETE FROM opora_journal_settled WHERE bot = $1",
];
/// … and what every store has of a bot.
const EMPTIED_BY_ALL: [&str; 12] = [
    "DELETE FROM opora_conversations WHERE bot = $1",
    "DELETE FROM opora_marks WHERE bot = $1",
    "DELETE FROM opora_inbox WHERE bot = $1",
    "DELETE FROM opora_outbox WHERE bot = $1",
    "DELETE FROM opora_failed WHERE bot = $1",
    "DELETE FROM opora_posts WHERE bot = $1",
    "DELETE FROM opora_labels WHERE bot = $1",
    "DELETE FROM opora_timers WHERE bot = $1",
    "DELETE FROM opora_effects WHERE bot = $1",
    "DELETE FROM opora_transitions WHERE bot = $1",
    "DELETE FROM opora_parked WHERE bot = $1",
    "DELETE FROM opora_places WHERE bot = $1",
];

/// Whether a bot has left anything to replay. Labels are the store's own: whoever settles what an earlier process has noted,
/// writes them there.
const IS_EMPTY: &str = "
SELECT NOT (EXISTS (SELECT 1 FROM opora_journal_entries WHERE bot = $1)
    OR EXISTS (SELECT 1 FROM opora_journal_settled WHERE bot = $1)
    OR EXISTS (SELECT 1 FROM opora_labels WHERE bot = $1)
    OR EXISTS (SELECT 1 FROM opora_inbox WHERE bot = $1) OR EXISTS (SELECT 1 FROM opora_outbox WHERE bot = $1)
    OR EXISTS (SELECT 1 FROM opora_failed WHERE bot = $1))";

/// The last turn of a conversation also brings what has come of all of them.
const ENTRIES: &str = "
SELECT id, entry, id = (SELECT max(id) FROM opora_journal_entries AS later WHERE later.key = entries.key),
    id = coalesce((SELECT max(id) FROM opora_journal_entries AS later WHERE later.key = entries.key AND later.is_turn), 0)
FROM opora_journal_entries AS entries WHERE bot = $1 AND id > $2 ORDER BY id LIMIT $3";

/// Effects leave the reach of whoever works on the journal, each with the turn that brings it to Redis. So one that may be
/// there already is not carried out here if Redis goes away again. Those without a turn are there for sure.
const SET_ASIDE: [&str; 2] = [
    "INSERT INTO opora_journal_effects (id, bot, entry, kind, body)
    SELECT id, bot, turn, kind, body FROM (
        SELECT effects.*, (SELECT max(id) FROM opora_journal_entries AS entries
            WHERE entries.key = effects.key AND entries.is_turn) AS turn
        FROM opora_effects AS effects WHERE bot = $1) AS asked
    WHERE turn IS NOT NULL",
    "DELETE FROM opora_effects WHERE bot = $1",
];

/// What goes when conversations are in Redis: their timers are there, too.
const REPLAYED: [Each; 3] = [
    each!(
        "DELETE FROM opora_journal_effects WHERE entry IN (
            SELECT id FROM opora_journal_entries WHERE key IN (SELECT value ->> 0 FROM",
        "))"
    ),
    each!("DELETE FROM opora_journal_entries WHERE key IN (SELECT value ->> 0 FROM", ")"),
    each!("DELETE FROM opora_timers WHERE key IN (SELECT value ->> 0 FROM", ")"),
];

/// What goes of a conversation in conflict, from a number on: nobody goes on from here.
const GIVEN_UP: [&str; 2] = [
    "DELETE FROM opora_journal_effects WHERE entry IN (
        SELECT id FROM opora_journal_entries WHERE key = $1 AND id >= $2)",
    "DELETE FROM opora_journal_entries WHERE key = $1 AND id >= $2",
];
const GIVEN_UP_WHOLE: [&str; 2] =
    ["DELETE FROM opora_timers WHERE key = $1", "DELETE FROM opora_conversations WHERE key = $1"];

/// Where it is written.
#[derive(Debug)]
pub(super) struct Book {
    database: Arc<SqlDatabase>,
    place: Place,
}

#[derive(Debug)]
enum Place {
    File(PathBuf),
    Beside,
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

/// The names of timers, by conversation.
pub(super) type TimerNames = HashMap<DialogueKey, BTreeSet<Box<str>>>;

/// Whether a journal gave this epoch.
pub(super) fn is_ours(epoch: Epoch) -> bool {
    epoch.0 >= FIRST_EPOCH
}

impl Book {
    /// A file of its own.
    pub(super) async fn open(path: &Path) -> StoreResult<Self> {
        let database = Arc::new(SqlDatabase::from(SqliteStore::open(path).await?));
        TABLES.make(&database).await?;
        Ok(Self { database, place: Place::File(path.to_owned()) })
    }

    /// In the database that has the application's tables.
    pub(super) async fn beside(database: Arc<SqlDatabase>) -> StoreResult<Self> {
        tables::make_beside(&database).await?;
        Ok(Self { database, place: Place::Beside })
    }

    /// What conversations go on with.
    pub(super) fn store(&self) -> &dyn Store {
        self.database.store()
    }

    pub(super) fn database(&self) -> &SqlDatabase {
        &self.database
    }

    /// The database, if an application has its tables there: its turns write here.
    pub(super) fn tables(&self) -> Option<&Arc<SqlDatabase>> {
        matches!(self.place, Place::Beside).then_some(&self.database)
    }

    /// What it is called in sentences: the journal …
    pub(super) fn name(&self) -> String {
        match &self.place {
            Place::File(path) => path.display().to_string(),
            Place::Beside => "in the database".to_owned(),
        }
    }

    /// An error of the book's, which says that it is the journal: Redis is away as well, and nothing is acknowledged.
    pub(super) fn away(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Unavailable(why) => StoreError::Unavailable(
                format!("Redis is away, and the journal {} cannot be used: {why}", self.name()).into(),
            ),
            other => other,
        }
    }

    /// The token of a bot's current outage: it names everything written since the journal was last empty.
    pub(super) async fn token(&self, bot: i64) -> StoreResult<String> {
        const TOKEN: &str = "SELECT token FROM opora_journal_outage WHERE bot = $1";
        const MAKE: &str = "INSERT INTO opora_journal_outage (bot, token) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        let mut found = read!(&*self.database, TOKEN, vec![Value::Number(bot)], |row| row.text(0))?;
        if found.is_empty() {
            // Outcomes of messages that Redis had can be stored before the journal's first lease, so the token is made
            // when it is first needed.
            self.database.change(vec![Change::plain(MAKE, vec![Value::Number(bot), new_token()])]).await?;
            found = read!(&*self.database, TOKEN, vec![Value::Number(bot)], |row| row.text(0))?;
        }
        found.pop().ok_or_else(|| unavailable(std::io::Error::other("the journal has no token")))
    }

    /// Gives what is written from now on another name, if nothing is left of a bot that bears the former one: by its name
    /// a replay that was cut off knows what is done.
    pub(super) async fn begin(&self, bot: i64) -> StoreResult<()> {
        const BEGIN: &str = "INSERT INTO opora_journal_outage (bot, token) VALUES ($1, $2)
            ON CONFLICT (bot) DO UPDATE SET token = excluded.token";
        if !self.is_empty(bot).await? {
            return Ok(());
        }
        self.database.change(vec![Change::plain(BEGIN, vec![Value::Number(bot), new_token()])]).await
    }

    pub(super) async fn is_empty(&self, bot: i64) -> StoreResult<bool> {
        Ok(read!(&*self.database, IS_EMPTY, vec![Value::Number(bot)], |row| row.flag(0))?.pop() == Some(true))
    }

    /// Whether a database has a journal in which some bot has left something.
    pub(super) async fn has_something(database: &SqlDatabase) -> StoreResult<bool> {
        const LEFT: &str = "
            SELECT EXISTS (SELECT 1 FROM opora_journal_entries) OR EXISTS (SELECT 1 FROM opora_journal_settled)
                OR EXISTS (SELECT 1 FROM opora_labels)
                OR EXISTS (SELECT 1 FROM opora_inbox) OR EXISTS (SELECT 1 FROM opora_outbox)
                OR EXISTS (SELECT 1 FROM opora_failed)";
        Ok(TABLES.are_in(database).await? && read!(database, LEFT, Vec::new(), |row| row.flag(0))?.pop() == Some(true))
    }

    /// Writes an entry down, in the transaction of what it tells of and of what else is written there.
    pub(super) fn writing(entry: &Entry, writes: Option<DomainWrites>) -> StoreResult<DomainWrites> {
        const WRITE: Each = each!(
            "INSERT INTO opora_journal_entries (bot, key, is_turn, entry)
            SELECT CAST(value ->> 0 AS BIGINT), value ->> 1, CAST(value ->> 2 AS BOOLEAN), value ->> 3 FROM",
            ""
        );
        let json = serde_json::to_string(entry).map_err(unavailable)?;
        // A number, for SQLite has no other yes and no.
        let is_turn = i64::from(matches!(entry, Entry::Turn { .. }));
        let rows = rows([(entry.key().bot, entry.key().to_string(), is_turn, json)])?;
        Ok(DomainWrites::new(move |database| {
            Box::pin(async move {
                if let Some(writes) = writes {
                    writes.run(database).await?;
                }
                Change::each(WRITE, vec![rows]).make(database).await?;
                Ok(())
            })
        }))
    }

    /// Entries after a number, in order.
    pub(super) async fn entries(&self, bot: i64, after: i64, limit: usize) -> StoreResult<Vec<Numbered>> {
        let values = [bot, after, count(limit)].map(Value::Number).into();
        read!(&*self.database, ENTRIES, values, |row| {
            Ok(Numbered { id: row.number(0)?, is_last: row.flag(2)?, is_last_turn: row.flag(3)?, entry: json(row, 1)? })
        })
    }

    /// Sets aside the effects that were not carried out: from now on only a replay takes them.
    pub(super) async fn set_effects_aside(&self, bot: i64, here: Epoch) -> StoreResult<()> {
        let aside = SET_ASIDE.map(|statement| Change::plain(statement, vec![Value::Number(bot)]));
        self.database.change_under(bot, here, aside.into()).await
    }

    /// The effects that were set aside, by the turn that brings them.
    pub(super) async fn effects(&self, bot: i64) -> StoreResult<HashMap<i64, Vec<Effect>>> {
        const ASIDE: &str = "SELECT entry, kind, body FROM opora_journal_effects WHERE bot = $1 ORDER BY id";
        let rows = read!(&*self.database, ASIDE, vec![Value::Number(bot)], |row| {
            Ok((row.number(0)?, Effect { kind: row.text(1)?, body: row.text(2)? }))
        })?;
        let mut effects = HashMap::<_, Vec<_>>::new();
        for (entry, effect) in rows {
            effects.entry(entry).or_default().push(effect);
        }
        Ok(effects)
    }

    /// All entries of a conversation from a number on, with their numbers.
    pub(super) async fn entries_of(&self, key: String, from: i64) -> StoreResult<Vec<(i64, Entry)>> {
        const OF_KEY: &str = "SELECT id, entry FROM opora_journal_entries WHERE key = $1 AND id >= $2 ORDER BY id";
        let values = vec![Value::Text(key), Value::Number(from)];
        read!(&*self.database, OF_KEY, values, |row| Ok((row.number(0)?, json(row, 1)?)))
    }

    /// The names of the timers that conversations have set or cancelled.
    pub(super) async fn timers_of(&self, keys: Vec<String>) -> StoreResult<TimerNames> {
        const TURNS: Each =
            each!("SELECT entry FROM opora_journal_entries WHERE is_turn AND key IN (SELECT value ->> 0 FROM", ")");
        let turns = TURNS.of(self.database.is_postgres());
        let mut names = TimerNames::new();
        for entry in read!(&*self.database, turns, vec![rows(keys.iter().map(|key| [key]))?], |row| json(row, 0))? {
            if let Entry::Turn { commit, .. } = entry {
                names.entry(commit.key).or_default().extend(commit.timers.iter().map(|timer| timer.name().into()));
            }
        }
        Ok(names)
    }

    /// Removes conversations of which everything is in Redis, in one step.
    pub(super) async fn remove_replayed(&self, bot: i64, here: Epoch, keys: &[String]) -> StoreResult<()> {
        let keys = rows(keys.iter().map(|key| [key]))?;
        let removed = REPLAYED.map(|statement| Change::each(statement, vec![keys.clone()]));
        self.database.change_under(bot, here, removed.into()).await
    }

    /// Removes a conversation from a number on, in one step.
    pub(super) async fn give_up(&self, key: &DialogueKey, here: Epoch, from: i64) -> StoreResult<()> {
        let bot = key.bot;
        let key = Value::Text(key.to_string());
        let from = Value::Number(from);
        let mut changes: Vec<_> =
            GIVEN_UP.map(|statement| Change::plain(statement, vec![key.clone(), from.clone()])).into();
        changes.extend(GIVEN_UP_WHOLE.map(|statement| Change::plain(statement, vec![key.clone()])));
        self.database.change_under(bot, here, changes).await
    }

    /// Keeps the marks of updates that Redis has taken, so that a restart without it knows them.
    pub(super) async fn keep_marks(&self, bot: i64, marks: &[(i64, Box<str>)], at: Millis) -> StoreResult<()> {
        const KEEP: Each = each!(
            "INSERT INTO opora_marks (bot, update_id, identity, taken_at)
            SELECT CAST($2 AS BIGINT), CAST(value ->> 0 AS BIGINT), value ->> 1, CAST($3 AS BIGINT) FROM",
            "WHERE true ON CONFLICT DO NOTHING"
        );
        self.keep(KEEP, vec![rows(marks)?, Value::Number(bot), Value::Number(at.0)]).await
    }

    /// Removes inputs that are in Redis now.
    pub(super) async fn remove_inputs(&self, bot: i64, here: Epoch, seqs: &[i64]) -> StoreResult<()> {
        const THESE: Each = each!("DELETE FROM opora_inbox WHERE seq IN (SELECT CAST(value ->> 0 AS BIGINT) FROM", ")");
        let removed = Change::each(THESE, vec![rows(seqs.iter().map(|seq| [seq]))?]);
        self.database.change_under(bot, here, vec![removed]).await
    }

    /// Keeps what became of messages that are in Redis' outbox.
    pub(super) async fn keep_settled(&self, bot: i64, settled: &[Settled]) -> StoreResult<()> {
        const KEEP: Each = each!(
            "INSERT INTO opora_journal_settled (id, bot, outcome)
            SELECT CAST(value ->> 0 AS BIGINT), CAST($2 AS BIGINT), value ->> 1 FROM",
            "WHERE true ON CONFLICT (id) DO UPDATE SET outcome = excluded.outcome"
        );
        // One statement changes a row once: the last word counts.
        let mut last = BTreeMap::new();
        for Settled { id, outcome } in settled {
            last.insert(id.0, serde_json::to_string(outcome).map_err(unavailable)?);
        }
        self.keep(KEEP, vec![rows(last)?, Value::Number(bot)]).await
    }

    pub(super) async fn settled(&self, bot: i64) -> StoreResult<Vec<Settled>> {
        const KEPT: &str = "SELECT id, outcome FROM opora_journal_settled WHERE bot = $1 ORDER BY id";
        read!(&*self.database, KEPT, vec![Value::Number(bot)], |row| {
            Ok(Settled { id: OutboxId(row.number(0)?), outcome: json(row, 1)? })
        })
    }

    /// The labels of messages that were sent while Redis was away.
    pub(super) async fn labels(&self, bot: i64) -> StoreResult<Vec<(i64, String, i64)>> {
        const KEPT: &str = "SELECT chat, label, message FROM opora_labels WHERE bot = $1";
        read!(&*self.database, KEPT, vec![Value::Number(bot)], |row| {
            Ok((row.number(0)?, row.text(1)?, row.number(2)?))
        })
    }

    /// The latest epoch of a bot's lease, whoever has it.
    pub(super) async fn epoch(&self, bot: i64) -> StoreResult<Epoch> {
        let latest = read!(&*self.database, LATEST_EPOCH, vec![Value::Number(bot)], |row| row.number(0))?;
        Ok(latest.first().copied().map_or_else(Epoch::default, Epoch))
    }

    /// Everything of a bot's is in Redis: the journal is empty. Where nothing was, nothing is written: Redis can be used
    /// also while this disk is full. Whoever stood still for so long that another one goes on here takes nothing away.
    pub(super) async fn empty(&self, bot: i64, here: Epoch) -> StoreResult<()> {
        let of_bot = |statement| Change::plain(statement, vec![Value::Number(bot)]);
        let emptied = EMPTIED.into_iter().chain(EMPTIED_BY_ALL).map(of_bot).collect();
        self.database.change_under(bot, here, emptied).await
    }

    /// Removes what a database has kept of conversations itself; answers whose they were.
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
        // All of it or nothing, a bot after another.
        let of_bot = |bot: &i64| EMPTIED_BY_ALL.map(|statement| Change::plain(statement, vec![Value::Number(*bot)]));
        database.change(bots.iter().flat_map(of_bot).collect()).await?;
        Ok(bots)
    }

    async fn keep(&self, statement: Each, values: Vec<Value>) -> StoreResult<()> {
        self.database.change(vec![Change::each(statement, values)]).await
    }
}

fn new_token() -> Value {
    Value::Text(format!("{:016x}", fastrand::u64(..)))
}

/// Rows for a statement over each of them.
fn rows<T: serde::Serialize>(each: impl IntoIterator<Item = T>) -> StoreResult<Value> {
    let mut rows = Rows::default();
    for row in each {
        rows.add(&row).map_err(unavailable)?;
    }
    Ok(Value::Rows(rows))
}

fn json<T: DeserializeOwned>(row: &impl Columns, column: usize) -> sqlx::Result<T> {
    row.json(column)?.ok_or_else(|| sqlx::Error::Decode("a row is empty".into()))
}

const IS_A_JOURNAL: &str = "the database has a journal, which goes by itself when its Redis is back";
const NOT_IN_REDIS: &str = "the conversations of this database belong to a bot that has never worked with a Redis beside it: they \
                            may be all that it has";
const IS_IN_USE: &str = "a bot works with the conversations of this database, or was killed: stop it, or end its right with \
                         `opora state lease clear`";

#[cfg(test)]
mod tests;
