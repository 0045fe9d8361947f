//! The decision store: conversations in Redis, the application's tables in SQL. A turn's SQL writes happen exactly
//! once, whatever crashes in between.
//!
//! A turn without SQL writes goes to Redis only. A turn with writes is *decided* in SQL: one transaction checks the
//! fence, runs the writes and stores the whole commit as a decision record, one per conversation. From then on the turn
//! stands. Then Redis carries it out and remembers that. `open` and a claim look for records that were not carried out,
//! and carry them out first. Records are kept as long as marks, so they also restore turns that Redis has lost.
//!
//! Turns without writes that Redis has lost are not restored: `appendfsync` says how many that can be.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join, try_join};
use parking_lot::Mutex;
use tokio::sync::{RwLock, RwLockWriteGuard};

use self::decision_row::DecisionRow;
use self::record::Decision;
use super::redis::{CarryOutResult, LoggedRedis, RedisBackend};
use super::{
    Answer, Cleaned, CleaningLimits, Commit, Committed, ConversationRow, DomainWrites, Enqueued, Epoch, Generations,
    Holder, JobCount, JobFilter, JobId, JobLimits, JobPoll, JobRequest, JobRow, JobStart, JobUpdate, Lease,
    LeaseAnswer, Mark, NewJob, Opened, OutboxId, ParkedTurn, RedisStore, Settled, Settlement, SqlDatabase, StateChange,
    Store, StoreError, StoreLayer, StoreResult, Tick,
};
use crate::clock::Millis;
use crate::failpoints;
use crate::key::ConversationKey;

mod adopt;
mod database;
mod decision_row;
mod jobs;
mod privacy;
mod record;
mod tables;
mod takeover;

pub(super) use self::decision_row::unless_decided;

/// How long a cleaning waits for turns that are being decided or uncertain. New decisions wait during that time.
const BLOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// How many settled messages are remembered at least: more than the courier settles in the second that Redis may lose.
const SETTLED_REMEMBERED: usize = 10_000;

/// Keeps conversations in Redis and runs the application's writes in an SQL database, once for each turn.
///
/// While the database is away, turns with writes wait, and so does every turn that has to open its conversation. While
/// Redis is away all turns wait, unless there is a journal:
/// [`Journal::open_in_database`](super::Journal::open_in_database).
#[derive(Debug)]
pub struct DecisionStore {
    redis: LoggedRedis,
    database: Arc<SqlDatabase>,
    /// Conversations whose last decision by this process may not be carried out, or whose outcome is unknown here.
    uncertain: Mutex<HashSet<ConversationKey>>,
    /// Shared by turns from the first check in Redis until they are carried out there. A cleaning holds it exclusively:
    /// if Redis does not know a conversation, its version floor says whether a turn was carried out, and a cleaning
    /// raises that floor.
    deciding: RwLock<()>,
    /// The messages that this process settled last.
    settled: Mutex<Generations<OutboxId, ()>>,
    /// The epochs to which this process raised the fences, by bot.
    fence_epochs: Mutex<HashMap<i64, Epoch>>,
}

impl DecisionStore {
    /// Combines the two stores. Missing tables are created.
    pub async fn open(redis: RedisStore, database: impl Into<SqlDatabase>) -> StoreResult<Self> {
        let database = Arc::new(database.into());
        Self::create_tables(&database).await?;
        Ok(Self::new(redis.0, database))
    }

    pub(super) async fn create_tables(database: &SqlDatabase) -> StoreResult<()> {
        tables::TABLES.make(database).await
    }

    /// Combines the two stores. The tables must exist.
    pub(super) fn new(redis: LoggedRedis, database: Arc<SqlDatabase>) -> Self {
        Self {
            redis,
            database,
            uncertain: Mutex::default(),
            deciding: RwLock::default(),
            settled: Mutex::new(Generations::new(SETTLED_REMEMBERED)),
            fence_epochs: Mutex::default(),
        }
    }

    pub(super) fn redis(&self) -> &RedisBackend {
        &self.redis
    }

    /// A bot's conversations with a turn that may be decided and missing in Redis.
    pub(super) fn uncertain_conversations(&self, bot: i64) -> Vec<ConversationKey> {
        self.uncertain.lock().iter().filter(|key| key.bot == bot).cloned().collect()
    }

    /// Whether a turn of this conversation may be decided and missing in Redis.
    pub(super) fn is_uncertain(&self, key: &ConversationKey) -> bool {
        self.uncertain.lock().contains(key)
    }

    fn note_settled(&self, ids: impl Iterator<Item = OutboxId>) {
        let mut settled = self.settled.lock();
        ids.for_each(|id| settled.put(id, ()));
    }

    /// The last epoch to which this process tried to raise a bot's fence.
    pub(super) fn fence_epoch(&self, bot: i64) -> Option<Epoch> {
        self.fence_epochs.lock().get(&bot).copied()
    }

    async fn open_turn(&self, key: &ConversationKey, mark: Option<&Mark>) -> StoreResult<Opened> {
        // A process without a lease, such as a command-line tool, only reads.
        let Some(epoch) = self.redis.last_epoch(key.bot) else { return self.inner().open(key, mark).await };
        let is_uncertain = self.is_uncertain(key);
        if is_uncertain {
            self.database.wait_for_decisions(key).await?;
        }
        let ((opened, reached), decided) =
            try_join(self.redis.open_with_decided_version(key, mark), self.database.decided_version(key)).await?;
        let is_behind = reached.zip(decided).is_some_and(|(reached, decided)| reached < decided);
        if is_behind && let Some(decision) = self.database.decision(key).await? {
            tracing::warn!(%key, version = decision.commit.to().0, "a decided turn is missing in Redis; carrying it out again");
            self.redo_in_redis(epoch, decision).await?;
        }
        if is_uncertain {
            self.uncertain.lock().remove(key);
        }
        if is_behind { self.inner().open(key, mark).await } else { Ok(opened) }
    }

    /// Carries out a decision that Redis does not have, or has lost.
    async fn redo_in_redis(&self, epoch: Epoch, mut decision: Decision) -> StoreResult<()> {
        // The courier of this process may have sent messages of a turn that Redis has lost.
        decision.remove_settled(&self.settled.lock());
        let floor = decision.inbox_floor.clone();
        let carried_out = self.redis.carry_out(epoch, &mut decision.commit, &decision.numbers, Some(&floor)).await?;
        self.drop_secrets(&mut decision).await?;
        if matches!(carried_out, CarryOutResult::StateOverridden) {
            self.park_overridden_state(epoch, decision.commit).await;
        }
        Ok(())
    }

    /// Removes secret messages from a record. They are in Redis' outbox now, and the record lives longer.
    async fn drop_secrets(&self, decision: &mut Decision) -> StoreResult<()> {
        if !decision.remove_secrets() {
            return Ok(());
        }
        let body = serde_json::to_string(decision).map_err(|error| StoreError::WritesFailed(error.into()))?;
        let key = decision.commit.key.clone();
        let to = decision.commit.to();
        self.database.replace_decision(&key, to, body).await
    }

    /// Parks the state of a turn whose conversation was reset or imported after the decision, for the operator.
    async fn park_overridden_state(&self, epoch: Epoch, commit: Commit) {
        let key = &commit.key;
        tracing::warn!(%key, version = commit.to().0, "conversation was reset or imported during a turn; that state stays");
        let StateChange::Set(stored) = &commit.state else { return };
        let key = key.clone();
        let stored = Some(stored.clone());
        let updated_at = commit.at;
        let row = ConversationRow { key, version: commit.to(), stored, updated_at };
        let parked = ParkedTurn { at: commit.at, ..ParkedTurn::state(&row, STATE_OVERRIDDEN.to_owned()) };
        if let Err(error) = self.inner().park(epoch, Vec::new(), parked, Vec::new()).await {
            tracing::error!(key = %commit.key, %error, "cannot park the state of a turn");
        }
    }

    /// Commits a turn with writes.
    async fn decide(&self, epoch: Epoch, commit: Commit, writes: DomainWrites) -> StoreResult<Committed> {
        let _deciding = self.deciding.read().await;
        let inbox_floor = self.redis.check_commit(epoch, &commit).await?;
        let numbers = self.redis.ids_for(epoch, &commit)?;
        failpoints::hit(failpoints::STORE_BEFORE_WRITES).await;
        let key = commit.key.clone();
        let mut decision = Decision::new(epoch, commit, numbers, inbox_floor);
        let row = DecisionRow::new(&decision)?;
        self.uncertain.lock().insert(key.clone());
        if let Err(error) = self.database.decide(row, writes).await {
            return Err(self.undecided_error(epoch, decision, error).await);
        }
        failpoints::hit(failpoints::STORE_AFTER_WRITES).await;
        let carried_out = self.redis.carry_out(epoch, &mut decision.commit, &decision.numbers, None).await?;
        if let Err(error) = self.drop_secrets(&mut decision).await {
            // The turn stands; the next claim removes them.
            tracing::warn!(%key, %error, "secret messages stay in the decision record for now");
        }
        match carried_out {
            CarryOutResult::Done(committed) | CarryOutResult::AlreadyDone(committed) => {
                self.uncertain.lock().remove(&key);
                Ok(committed)
            }
            CarryOutResult::StateOverridden => {
                // The present state is not known here: the next `open` reads it.
                self.park_overridden_state(epoch, decision.commit).await;
                // The caller opens the conversation again and finds that the input is processed.
                Err(StoreError::Unavailable(STATE_OVERRIDDEN.into()))
            }
        }
    }

    /// The error of a turn that was not decided, or whose decision is uncertain.
    async fn undecided_error(&self, epoch: Epoch, decision: Decision, error: StoreError) -> StoreError {
        if matches!(error, StoreError::Unavailable(_)) {
            // Inserted again: an `open` may have removed it meanwhile, before the decision was visible.
            self.uncertain.lock().insert(decision.commit.key);
            return error;
        }
        let key = decision.commit.key.clone();
        if matches!(error, StoreError::AlreadyProcessed)
            && let Err(error) = self.drop_decided_input(epoch, decision.commit).await
        {
            // The earlier decision on that input stands, and Redis does not have it yet.
            self.uncertain.lock().insert(key);
            return error;
        }
        self.uncertain.lock().remove(&key);
        if matches!(error, StoreError::WritesFailed(_))
            && let Some(lost) = self.database.lost().await
        {
            // The database is the cause, not the turn: the turn is not given up.
            return lost;
        }
        error
    }

    /// Removes an input from Redis that an earlier decision has processed: its turn must not run again.
    async fn drop_decided_input(&self, epoch: Epoch, commit: Commit) -> StoreResult<()> {
        let Opened::At { version, .. } = self.open_turn(&commit.key, None).await? else { return Ok(()) };
        let repeated = Commit { processed: commit.processed, ..Commit::new(commit.key, version, commit.at) };
        match self.inner().commit(epoch, repeated).await {
            Ok(_) | Err(StoreError::AlreadyProcessed) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Renews the lease on Redis and checks the database: if it was replaced by another one, decisions are missing, and
    /// turns would fail without saying why.
    async fn renew_both(&self, bot: i64, epoch: Epoch) -> StoreResult<()> {
        let (renewed, lost) = join(self.inner().renew(bot, epoch), self.database.lost()).await;
        lost.map_or(renewed, Err)
    }

    /// Cleans Redis and the decision records, which are kept as long as marks.
    async fn clean_both(&self, epoch: Epoch, bounds: CleaningLimits) -> StoreResult<Cleaned> {
        let bot = self.redis.bot_of(epoch)?;
        let Some(mut cleaned) = self.clean_redis(bot, epoch, bounds).await? else {
            tracing::warn!(bot, "decisions take too long; cleaning is put off");
            return Ok(Cleaned::default());
        };
        cleaned.aged += self.database.clean(bot, epoch, bounds.marks_before).await?;
        Ok(cleaned)
    }

    /// Forgets a person in Redis while no turn is being decided, and then the person's decision records.
    async fn forget_both(&self, bot: i64, user: i64, now: Millis) -> StoreResult<u64> {
        let Some(_blocked) = self.block_decisions(bot).await? else {
            return Err(StoreError::Unavailable(DECISIONS_TAKE_LONG.into()));
        };
        let removed = self.inner().forget(bot, user, now).await?;
        Ok(removed + self.database.forget_decisions(bot, user).await?)
    }

    /// Cleans Redis while no turn is being decided and all decisions are carried out. `None` if that takes too long.
    async fn clean_redis(&self, bot: i64, epoch: Epoch, bounds: CleaningLimits) -> StoreResult<Option<Cleaned>> {
        let Some(_blocked) = self.block_decisions(bot).await? else { return Ok(None) };
        self.inner().clean(epoch, bounds).await.map(Some)
    }

    /// Blocks new decisions of this process, once all earlier ones are carried out. `None` if that takes too long.
    async fn block_decisions(&self, bot: i64) -> StoreResult<Option<RwLockWriteGuard<'_, ()>>> {
        let wait = async {
            let blocked = self.deciding.write().await;
            let uncertain = self.uncertain_conversations(bot);
            for key in &uncertain {
                self.database.wait_for_decisions(key).await?;
            }
            StoreResult::Ok((blocked, uncertain))
        };
        // A turn whose writes hang must not block the others for longer. The calls below have no time limit: Redis
        // might still apply a call that was given up, while new turns are decided.
        let Ok(waited) = tokio::time::timeout(BLOCK_TIMEOUT, wait).await else { return Ok(None) };
        let (blocked, uncertain) = waited?;
        for key in uncertain {
            self.open_turn(&key, None).await?;
        }
        Ok(Some(blocked))
    }
}

impl StoreLayer for DecisionStore {
    fn inner(&self) -> &dyn Store {
        &self.redis
    }

    fn describe(&self) -> String {
        format!("{}; the application's tables {}", self.inner().describe(), self.database.describe())
    }

    answers! { self;
        enqueue_jobs(bot: i64, jobs: Vec<NewJob>, now: Millis) -> Vec<Enqueued> =>
            self.database.store().enqueue_jobs(bot, jobs, now);
        start_jobs(bot: i64, epoch: Epoch, start: JobStart) -> Vec<JobRow> => self.database.start_jobs((bot, epoch), start);
        update_jobs(bot: i64, epoch: Epoch, updates: Vec<JobUpdate>, writes: Option<DomainWrites>) -> Vec<bool> =>
            self.database.update_jobs((bot, epoch), updates, writes);
        running_jobs(bot: i64, after: JobId, limit: usize) -> Vec<JobRow> =>
            self.database.store().running_jobs(bot, after, limit);
        poll_jobs(bot: i64) -> JobPoll => self.database.store().poll_jobs(bot);
        prune_jobs(bot: i64, epoch: Epoch, limits: JobLimits) -> u64 => self.database.prune_jobs((bot, epoch), limits);
        job_ticks(bot: i64) -> Vec<(Box<str>, Millis)> => self.database.store().job_ticks(bot);
        tick_jobs(bot: i64, epoch: Epoch, tick: Tick, jobs: Vec<NewJob>) -> bool =>
            self.database.tick_jobs((bot, epoch), tick, jobs);
        job_counts(bot: i64, finished_since: Option<Millis>) -> Vec<JobCount> =>
            self.database.store().job_counts(bot, finished_since);
        jobs(filter: &'a JobFilter, before: Option<JobId>, limit: usize) -> Vec<JobRow> =>
            self.database.store().operator().jobs(filter, before, limit);
        request_jobs(bot: i64, request: JobRequest, now: Millis) -> u64 =>
            self.database.store().operator().request_jobs(bot, request, now);
        paused_queues(bot: i64) -> Vec<Box<str>> => self.database.store().operator().paused_queues(bot);
        claim(bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> LeaseAnswer =>
            self.claim_both(bot, holder, seen);
        renew(bot: i64, epoch: Epoch) -> () => self.renew_both(bot, epoch);
        open(key: &'a ConversationKey, mark: Option<&'a Mark>) -> Opened => self.open_turn(key, mark);
        clean(epoch: Epoch, bounds: CleaningLimits) -> Cleaned => self.clean_both(epoch, bounds);
        forget(bot: i64, user: i64, now: Millis) -> u64 => self.forget_both(bot, user, now);
        backup(_to: &'a Path) -> () => async { Err(StoreError::Unsupported(NO_BACKUP)) };
    }

    fn commit(&self, epoch: Epoch, mut commit: Commit) -> Answer<'_, Committed> {
        match commit.writes.take() {
            Some(writes) => Box::pin(self.decide(epoch, commit, writes)),
            None => self.inner().commit(epoch, commit),
        }
    }

    fn write(&self, writes: DomainWrites) -> Answer<'_, ()> {
        self.database.store().write(writes)
    }

    fn has_jobs_in_sql(&self) -> bool {
        true
    }

    fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()> {
        Box::pin(async move {
            // A message that was redirected to another chat is still to be sent.
            let is_done = |settled: &&Settled| !matches!(settled.outcome, Settlement::Moved { .. });
            self.note_settled(settled.iter().filter(is_done).map(|settled| settled.id));
            self.inner().settle(epoch, settled, at).await
        })
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            let redis = self.inner().close().await;
            redis.and(self.database.store().close().await)
        })
    }
}

const STATE_OVERRIDDEN: &str = "the conversation was reset or imported while its turn wrote to the database; the writes are \
                                done, and the turn's messages are sent, but the state stays as it was changed";

const DECISIONS_TAKE_LONG: &str = "turns take long to be decided; the person is forgotten later";

const NO_BACKUP: &str = "back up Redis and the database with their own tools, Redis first: decisions that are only in the \
                         database are then carried out again";
