//! What a group of operations is decided by, read in one statement.
//!
//! The statement answers exceptions only: a row that is missing, a version that is not the expected one. So a group
//! without surprises reads a lease and nothing else, whatever its size.

use std::collections::{HashMap, HashSet};

use futures_util::TryStreamExt;
use sqlx::{Row, SqliteConnection};

use super::failure::GroupFailed;
use super::operation::Operation;
use super::rows::Rows;
use crate::store::{Epoch, Holder, Mark, Origin, StoreError, StoreResult, Taken, Version};

const READ: &str = "
SELECT 1, bot, epoch, holder, NULL FROM opora_leases
UNION ALL
SELECT 2, update_id, bot, identity, NULL
FROM (SELECT value->>0 AS bot, value->>1 AS update_id, value->>2 AS identity FROM jsonb_each(?1)) AS asked
WHERE EXISTS (SELECT 1 FROM opora_marks AS m
              WHERE m.bot = asked.bot AND m.update_id = asked.update_id AND m.identity = asked.identity)
   OR EXISTS (SELECT 1 FROM opora_inbox AS i
              WHERE i.bot = asked.bot AND i.update_id = asked.update_id AND i.identity = asked.identity)
UNION ALL
SELECT 3, value, NULL, NULL, NULL FROM jsonb_each(?2) AS asked
WHERE NOT EXISTS (SELECT 1 FROM opora_inbox AS found WHERE found.seq = asked.value)
UNION ALL
SELECT 4, coalesce(c.version, (SELECT floor FROM opora_version_floor)), NULL, asked.value->>0, NULL
FROM jsonb_each(?3) AS asked LEFT JOIN opora_conversations AS c ON c.key = asked.value->>0
WHERE coalesce(c.version, (SELECT floor FROM opora_version_floor)) <> asked.value->>1
UNION ALL
SELECT 5, t.id, NULL, t.key, t.name FROM jsonb_each(?4) AS asked JOIN opora_timers AS t ON t.id = asked.value
UNION ALL
SELECT 6, value, NULL, NULL, NULL FROM jsonb_each(?5) AS asked
WHERE NOT EXISTS (SELECT 1 FROM opora_parked AS found WHERE found.id = asked.value)
UNION ALL
SELECT 7, value, NULL, NULL, NULL FROM jsonb_each(?6) AS asked
WHERE NOT EXISTS (SELECT 1 FROM opora_effects AS found WHERE found.id = asked.value)
UNION ALL
SELECT 8, p.bot, NULL, p.once, NULL FROM jsonb_each(?7) AS asked JOIN opora_posts AS p ON p.once = asked.value
";

/// What is known before anything of the group is decided; deciding adds to it.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Leases by bot.
    leases: HashMap<i64, LeaseFact>,
    /// Updates that wait or were taken, by bot and id.
    known: HashSet<(i64, i64, Box<str>)>,
    /// Inbox rows that are not there.
    gone_inputs: HashSet<i64>,
    /// Versions of the conversations of this group.
    versions: HashMap<String, i64>,
    /// Timers that are set, of those that were asked for.
    timers: HashMap<i64, (String, Box<str>)>,
    gone_parked: HashSet<i64>,
    gone_effects: HashSet<i64>,
    posted: HashSet<(i64, String)>,
}

#[derive(Debug)]
struct LeaseFact {
    epoch: Epoch,
    holder: Option<String>,
}

/// What the statement is asked.
#[derive(Default)]
struct Questions {
    marks: Rows,
    inputs: Rows,
    versions: Rows,
    timers: Rows,
    parked: Rows,
    effects: Rows,
    posts: Rows,
}

impl Facts {
    /// Reads what these operations need. Only the questions are kept while it waits, not the operations.
    pub(super) fn read<'c>(
        connection: &'c mut SqliteConnection,
        operations: &[Operation],
    ) -> impl Future<Output = Result<Self, GroupFailed>> + Send + use<'c> {
        let mut facts = Self::default();
        let questions = facts.questions(operations);
        async move {
            facts.learn(connection, questions?).await?;
            Ok(facts)
        }
    }

    async fn learn(&mut self, connection: &mut SqliteConnection, questions: Questions) -> Result<(), GroupFailed> {
        let mut rows = sqlx::query(READ)
            .bind(questions.marks.into_json())
            .bind(questions.inputs.into_json())
            .bind(questions.versions.into_json())
            .bind(questions.timers.into_json())
            .bind(questions.parked.into_json())
            .bind(questions.effects.into_json())
            .bind(questions.posts.into_json())
            .fetch(connection);
        while let Some(row) = rows.try_next().await? {
            let number: i64 = row.try_get(1)?;
            match row.try_get::<i64, _>(0)? {
                1 => {
                    self.leases.insert(number, LeaseFact { epoch: Epoch(row.try_get(2)?), holder: row.try_get(3)? });
                }
                2 => {
                    self.known.insert((row.try_get(2)?, number, row.try_get(3)?));
                }
                3 => {
                    self.gone_inputs.insert(number);
                }
                4 => {
                    self.versions.insert(row.try_get(3)?, number);
                }
                5 => {
                    self.timers.insert(number, (row.try_get(3)?, row.try_get(4)?));
                }
                6 => {
                    self.gone_parked.insert(number);
                }
                7 => {
                    self.gone_effects.insert(number);
                }
                _ => {
                    self.posted.insert((number, row.try_get(3)?));
                }
            }
        }
        Ok(())
    }

    fn questions(&mut self, operations: &[Operation]) -> Result<Questions, GroupFailed> {
        let mut ask = Questions::default();
        for operation in operations {
            match operation {
                Operation::Receive { batch, .. } => {
                    for incoming in batch {
                        if let Origin::Update(mark) = &incoming.origin {
                            ask.marks.add(&(mark.bot, mark.update_id, &mark.identity))?;
                        }
                    }
                }
                Operation::Commit { key, commit, .. } => {
                    ask.taken(&commit.takes)?;
                    // Expected until the answer says otherwise.
                    if !self.versions.contains_key(key) {
                        ask.versions.add(&(key, commit.from))?;
                        self.versions.insert(key.clone(), commit.from.0);
                    }
                }
                Operation::Park { taken, .. } => ask.taken(taken)?,
                Operation::FinishEffect { effect, .. } => ask.effects.add(effect)?,
                Operation::Post { post, .. } => ask.posts.add(&post.once)?,
                Operation::Write { .. }
                | Operation::Settle { .. }
                | Operation::Sending { .. }
                | Operation::Renew { .. } => {}
            }
        }
        Ok(ask)
    }

    /// Refuses an epoch that is not the one of this bot's lease.
    pub(super) fn lease_of(&self, bot: i64, epoch: Epoch) -> StoreResult<()> {
        match self.leases.get(&bot) {
            Some(lease) if lease.epoch == epoch && lease.holder.is_some() => Ok(()),
            Some(LeaseFact { epoch: theirs, holder: Some(holder) }) => Err(fenced(epoch, in_words(*theirs, holder))),
            _ => Err(fenced(epoch, "nobody holds it".to_owned())),
        }
    }

    /// The bot whose lease this epoch is: an epoch is given once in a file.
    pub(super) fn bot_of(&self, epoch: Epoch) -> StoreResult<i64> {
        match self.leases.iter().find(|(_, lease)| lease.epoch == epoch) {
            Some((bot, _)) => self.lease_of(*bot, epoch).map(|()| *bot),
            None => Err(fenced(epoch, "another instance has taken over".to_owned())),
        }
    }

    /// Notes that an update waits now; false if it was known.
    pub(super) fn note_update(&mut self, mark: &Mark) -> bool {
        self.known.insert((mark.bot, mark.update_id, mark.identity.clone()))
    }

    /// Refuses what was taken before.
    pub(super) fn not_taken(&self, taken: &[Taken]) -> StoreResult<()> {
        let is_there = |one: &Taken| match one {
            Taken::Update { seq, .. } | Taken::Outcome(seq) => !self.gone_inputs.contains(&seq.0),
            Taken::Timer(id) => self.timers.contains_key(&id.0),
            Taken::Parked(id) => !self.gone_parked.contains(&id.0),
        };
        if taken.iter().all(is_there) { Ok(()) } else { Err(StoreError::AlreadyTaken) }
    }

    /// Notes that this is used up.
    pub(super) fn note_taken(&mut self, taken: &Taken) {
        match taken {
            Taken::Update { seq, .. } | Taken::Outcome(seq) => {
                self.gone_inputs.insert(seq.0);
            }
            Taken::Timer(id) => {
                self.timers.remove(&id.0);
            }
            Taken::Parked(id) => {
                self.gone_parked.insert(id.0);
            }
        }
    }

    /// Notes that a timer was set anew or cancelled: what was set before cannot fire.
    pub(super) fn note_timer(&mut self, key: &str, name: &str) {
        self.timers.retain(|_, (of, named)| of != key || **named != *name);
    }

    /// The version that a conversation is at.
    pub(super) fn version(&self, key: &str) -> Version {
        Version(self.versions.get(key).copied().unwrap_or_default())
    }

    pub(super) fn note_version(&mut self, key: &str, version: Version) {
        if let Some(known) = self.versions.get_mut(key) {
            *known = version.0;
        }
    }

    /// Notes that an effect was carried out; false if it was before.
    pub(super) fn note_effect(&mut self, effect: i64) -> bool {
        self.gone_effects.insert(effect)
    }

    /// Notes a post's name; false if it was posted before.
    pub(super) fn note_post(&mut self, bot: i64, once: &str) -> bool {
        self.posted.insert((bot, once.to_owned()))
    }
}

impl Questions {
    fn taken(&mut self, taken: &[Taken]) -> Result<(), GroupFailed> {
        for one in taken {
            match one {
                Taken::Update { seq, .. } | Taken::Outcome(seq) => self.inputs.add(seq)?,
                Taken::Timer(id) => self.timers.add(id)?,
                Taken::Parked(id) => self.parked.add(id)?,
            }
        }
        Ok(())
    }
}

/// A refusal because of the lease.
pub(super) fn fenced(mine: Epoch, holder: String) -> StoreError {
    StoreError::Fenced { mine, holder }
}

fn in_words(epoch: Epoch, holder: &str) -> String {
    match serde_json::from_str::<Holder>(holder) {
        Ok(holder) => format!("process {} on {} holds epoch {}", holder.pid, holder.host, epoch.0),
        Err(_) => format!("another process holds epoch {}", epoch.0),
    }
}
