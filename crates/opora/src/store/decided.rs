//! Conversations in Redis, the application's tables in SQL: a turn's writes happen once, whatever ends in between.
//!
//! A turn without writes is Redis' alone. One with writes is *decided* in SQL: a single transaction checks the fence, runs
//! the writes and keeps the whole commit as a record, one for each conversation. From then on the turn stands; then it is
//! carried out in Redis, which remembers that. Whoever opens a conversation, or takes over, finds a record that is not
//! carried out and carries it out first. Records stay for as long as marks do, so they also bring back what a Redis has
//! forgotten.
//!
//! What turns without writes did and Redis has forgotten is not brought back: `appendfsync` says how much that can be.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join, try_join};
use parking_lot::Mutex;
use tokio::sync::{RwLock, RwLockWriteGuard};

use self::keep::Record;
use self::recent::Recent;
use self::record::Decision;
use super::redis::{CarriedOut, LoggedRedis, RedisBackend};
use super::{
    Answer, Bounds, Cleaned, Commit, Committed, ConversationRow, DomainWrites, Epoch, Holder, Lease, LeaseAnswer, Mark,
    Opened, Parked, RedisStore, Settled, Settlement, SqlDatabase, StateChange, Store, StoreError, StoreLayer,
    StoreResult,
};
use crate::clock::Millis;
use crate::failpoints;
use crate::key::DialogueKey;

mod adopting;
mod database;
mod keep;
mod private;
mod recent;
mod record;
mod tables;
mod takeover;

pub(super) use self::keep::unless_decided;

/// How long a cleaning waits for turns that are being decided, and for those of which nobody knows; who comes meanwhile waits
/// with it.
const CLEANS_WITHIN: Duration = Duration::from_secs(1);

/// Keeps conversations in a Redis and carries the application's writes out in an SQL database, once for each turn.
///
/// While the database is away, turns with writes wait, and so do those of conversations that are not in memory. While Redis
/// is away everybody waits, unless there is a journal: [`Journal::open_beside`](super::Journal::open_beside).
#[derive(Debug)]
pub struct DecidedStore {
    redis: LoggedRedis,
    database: Arc<SqlDatabase>,
    /// Conversations whose last decision of this process may not be carried out, or not be known here as decided.
    unsure: Mutex<HashSet<DialogueKey>>,
    /// Shared by turns from the first look at Redis until they are carried out there. A cleaning has it alone: of a
    /// conversation that Redis does not know, the floor of versions says whether a turn was carried out, and a cleaning
    /// raises it.
    deciding: RwLock<()>,
    settled: Mutex<Recent>,
    /// The epochs to which the fences of bots were raised here.
    raised: Mutex<HashMap<i64, Epoch>>,
}

impl DecidedStore {
    /// Puts the two together; what is missing of the database's tables is made.
    pub async fn open(redis: RedisStore, database: impl Into<SqlDatabase>) -> StoreResult<Self> {
        let database = Arc::new(database.into());
        Self::make_tables(&database).await?;
        Ok(Self::beside(redis.0, database))
    }

    pub(super) async fn make_tables(database: &SqlDatabase) -> StoreResult<()> {
        tables::TABLES.make(database).await
    }

    /// Puts the two together where the tables are made.
    pub(super) fn beside(redis: LoggedRedis, database: Arc<SqlDatabase>) -> Self {
        Self {
            redis,
            database,
            unsure: Mutex::default(),
            deciding: RwLock::default(),
            settled: Mutex::default(),
            raised: Mutex::default(),
        }
    }

    pub(super) fn redis(&self) -> &RedisBackend {
        &self.redis
    }

    /// The conversations of a bot of which a turn may be decided that Redis does not know of.
    pub(super) fn unsure_of(&self, bot: i64) -> Vec<DialogueKey> {
        self.unsure.lock().iter().filter(|key| key.bot == bot).cloned().collect()
    }

    /// Whether a turn of this conversation may be decided that Redis does not know of.
    pub(super) fn is_unsure(&self, key: &DialogueKey) -> bool {
        self.unsure.lock().contains(key)
    }

    /// The last epoch under which this process has wanted to decide a bot's turns.
    pub(super) fn raised(&self, bot: i64) -> Option<Epoch> {
        self.raised.lock().get(&bot).copied()
    }

    async fn open_turn(&self, key: &DialogueKey, mark: Option<&Mark>) -> StoreResult<Opened> {
        // Who holds no lease, as a tool, only looks.
        let Some(epoch) = self.redis.last_epoch(key.bot) else { return self.inner().open(key, mark).await };
        let is_unsure = self.is_unsure(key);
        if is_unsure {
            self.database.wait_for_decisions(key).await?;
        }
        let ((opened, reached), decided) =
            try_join(self.redis.open_decided(key, mark), self.database.decided_to(key)).await?;
        let is_behind = reached.zip(decided).is_some_and(|(reached, decided)| reached < decided);
        if is_behind && let Some(decision) = self.database.decision(key).await? {
            tracing::warn!(%key, version = decision.commit.to().0, "Redis does not know of a turn; it is brought back");
            self.bring_back(epoch, decision).await?;
        }
        if is_unsure {
            self.unsure.lock().remove(key);
        }
        if is_behind { self.inner().open(key, mark).await } else { Ok(opened) }
    }

    /// Carries a decision out that Redis does not know, or knows no more.
    async fn bring_back(&self, epoch: Epoch, mut decision: Decision) -> StoreResult<()> {
        // What Redis has forgotten of this process' own, its courier may have sent.
        decision.leave_out(&self.settled.lock());
        let carried_out = self.redis.carry_out(epoch, &mut decision.commit, &decision.numbers).await?;
        self.drop_secrets(&mut decision).await?;
        if matches!(carried_out, CarriedOut::Moved) {
            self.tell_moved(epoch, decision.commit).await;
        }
        Ok(())
    }

    /// Takes secret messages out of a record. Redis has them in its outbox from now on, and the record outlives that.
    async fn drop_secrets(&self, decision: &mut Decision) -> StoreResult<()> {
        if !decision.leave_secrets_out() {
            return Ok(());
        }
        let body = serde_json::to_string(decision).map_err(|error| StoreError::WritesFailed(error.into()))?;
        let key = decision.commit.key.clone();
        let to = decision.commit.to();
        self.database.replace_decision(&key, to, body).await
    }

    /// A conversation was reset or imported between a decision and its being carried out. The state that the turn wanted
    /// goes to the operator.
    async fn tell_moved(&self, epoch: Epoch, commit: Commit) {
        let key = &commit.key;
        tracing::warn!(%key, version = commit.to().0, "a conversation was changed while a turn wrote; its state stays so");
        let StateChange::Set(stored) = &commit.state else { return };
        let key = key.clone();
        let stored = Some(stored.clone());
        let updated_at = commit.at;
        let row = ConversationRow { key, version: commit.to(), stored, updated_at };
        let parked = Parked { at: commit.at, ..Parked::state(&row, MOVED.to_owned()) };
        if let Err(error) = self.inner().park(epoch, Vec::new(), parked, Vec::new()).await {
            tracing::error!(key = %commit.key, %error, "the state that a turn wanted could not be kept for the operator");
        }
    }

    /// Commits a turn with writes.
    async fn decide(&self, epoch: Epoch, commit: Commit, writes: DomainWrites) -> StoreResult<Committed> {
        let _deciding = self.deciding.read().await;
        self.redis.stands(epoch, &commit).await?;
        let numbers = self.redis.numbers_for(epoch, &commit)?;
        failpoints::hit(failpoints::STORE_BEFORE_WRITES).await;
        let key = commit.key.clone();
        let mut decision = Decision::new(epoch, commit, numbers);
        let record = Record::of(&decision)?;
        self.unsure.lock().insert(key.clone());
        if let Err(error) = self.database.decide(record, writes).await {
            return Err(self.undecided(epoch, decision, error).await);
        }
        failpoints::hit(failpoints::STORE_AFTER_WRITES).await;
        let carried_out = self.redis.carry_out(epoch, &mut decision.commit, &decision.numbers).await?;
        if let Err(error) = self.drop_secrets(&mut decision).await {
            // The turn stands; the next lease takes them out.
            tracing::warn!(%key, %error, "secret messages stay in the record of a turn for now");
        }
        match carried_out {
            CarriedOut::Done(committed) | CarriedOut::Known(committed) => {
                self.unsure.lock().remove(&key);
                Ok(committed)
            }
            CarriedOut::Moved => {
                // Nobody here knows the state that it has now: whoever opens it next finds out.
                self.tell_moved(epoch, decision.commit).await;
                // The caller looks again, and finds that the input is taken.
                Err(StoreError::Unavailable(MOVED.into()))
            }
        }
    }

    /// A decision was not made, or nobody knows.
    async fn undecided(&self, epoch: Epoch, decision: Decision, error: StoreError) -> StoreError {
        if matches!(error, StoreError::Unavailable(_)) {
            // Somebody may have looked meanwhile, and found nothing yet.
            self.unsure.lock().insert(decision.commit.key);
            return error;
        }
        let key = decision.commit.key.clone();
        if matches!(error, StoreError::AlreadyTaken)
            && let Err(error) = self.take_again(epoch, decision.commit).await
        {
            // What was decided on that input stands, and Redis does not know it yet.
            self.unsure.lock().insert(key);
            return error;
        }
        self.unsure.lock().remove(&key);
        if matches!(error, StoreError::WritesFailed(_))
            && let Some(lost) = self.database.lost().await
        {
            // No turn is at fault: none is given up.
            return lost;
        }
        error
    }

    /// An input was decided on before, which Redis has forgotten: it leaves, and its turn is not run again.
    async fn take_again(&self, epoch: Epoch, commit: Commit) -> StoreResult<()> {
        let Opened::At { version, .. } = self.open_turn(&commit.key, None).await? else { return Ok(()) };
        let again = Commit { takes: commit.takes, ..Commit::new(commit.key, version, commit.at) };
        match self.inner().commit(epoch, again).await {
            Ok(_) | Err(StoreError::AlreadyTaken) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Renews the lease, which is Redis' alone to give; but with another database nothing that was decided is known, and no
    /// turn would say so before it fails.
    async fn renew_both(&self, bot: i64, epoch: Epoch) -> StoreResult<()> {
        let (renewed, lost) = join(self.inner().renew(bot, epoch), self.database.lost()).await;
        lost.map_or(renewed, Err)
    }

    /// The records go with the marks.
    async fn clean_both(&self, epoch: Epoch, bounds: Bounds) -> StoreResult<Cleaned> {
        let bot = self.redis.bot_of(epoch)?;
        let Some(mut cleaned) = self.clean_redis(bot, epoch, bounds).await? else {
            tracing::warn!(bot, "turns take long to be decided; old rows are removed later");
            return Ok(Cleaned::default());
        };
        cleaned.aged += self.database.clean(bot, epoch, bounds.marks_before).await?;
        Ok(cleaned)
    }

    /// Forgets a person in Redis while nothing is being decided, and then the records of the person's conversations.
    async fn forget_both(&self, bot: i64, user: i64, now: Millis) -> StoreResult<u64> {
        let Some(_alone) = self.decide_nothing(bot).await? else {
            return Err(StoreError::Unavailable(TURNS_TAKE_LONG.into()));
        };
        let gone = self.inner().forget(bot, user, now).await?;
        Ok(gone + self.database.forget_decisions(bot, user).await?)
    }

    /// Cleans Redis while nothing is being decided, and once it knows of everything that was; none if that takes too long.
    async fn clean_redis(&self, bot: i64, epoch: Epoch, bounds: Bounds) -> StoreResult<Option<Cleaned>> {
        let Some(_alone) = self.decide_nothing(bot).await? else { return Ok(None) };
        self.inner().clean(epoch, bounds).await.map(Some)
    }

    /// Keeps turns of this process from being decided, once Redis knows of all that were; none if that takes too long.
    async fn decide_nothing(&self, bot: i64) -> StoreResult<Option<RwLockWriteGuard<'_, ()>>> {
        let nothing_is_decided = async {
            let alone = self.deciding.write().await;
            let unsure = self.unsure_of(bot);
            for key in &unsure {
                self.database.wait_for_decisions(key).await?;
            }
            StoreResult::Ok((alone, unsure))
        };
        // One whose writes hang keeps the others waiting for this no longer than that. What comes then is not let go: Redis
        // might still do it while others decide, or have done it with nobody here to say so.
        let Ok(waited) = tokio::time::timeout(CLEANS_WITHIN, nothing_is_decided).await else { return Ok(None) };
        let (alone, unsure) = waited?;
        for key in unsure {
            self.open_turn(&key, None).await?;
        }
        Ok(Some(alone))
    }
}

impl StoreLayer for DecidedStore {
    fn inner(&self) -> &dyn Store {
        &self.redis
    }

    fn describe(&self) -> String {
        format!("{}; what turns write is kept {}", self.inner().describe(), self.database.describe())
    }

    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer> {
        Box::pin(self.claim_both(bot, holder, seen))
    }

    fn renew(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        Box::pin(self.renew_both(bot, epoch))
    }

    fn open<'a>(&'a self, key: &'a DialogueKey, mark: Option<&'a Mark>) -> Answer<'a, Opened> {
        Box::pin(self.open_turn(key, mark))
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

    fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()> {
        Box::pin(async move {
            // One that was moved to another chat is still to be sent.
            let is_done = |settled: &&Settled| !matches!(settled.outcome, Settlement::Moved { .. });
            self.settled.lock().note(settled.iter().filter(is_done).map(|settled| settled.id));
            self.inner().settle(epoch, settled, at).await
        })
    }

    fn clean(&self, epoch: Epoch, bounds: Bounds) -> Answer<'_, Cleaned> {
        Box::pin(self.clean_both(epoch, bounds))
    }

    fn forget(&self, bot: i64, user: i64, now: Millis) -> Answer<'_, u64> {
        Box::pin(self.forget_both(bot, user, now))
    }

    fn backup<'a>(&'a self, _to: &'a Path) -> Answer<'a, ()> {
        Box::pin(async { Err(StoreError::Unsupported(NO_BACKUP)) })
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            let redis = self.inner().close().await;
            redis.and(self.database.store().close().await)
        })
    }
}

const MOVED: &str = "the conversation was reset or imported while its turn wrote to the database; the writes are done, \
                     and what the turn said is sent, but the state stays as it was changed";

const TURNS_TAKE_LONG: &str = "turns take long to be decided; the person is forgotten later";

const NO_BACKUP: &str = "a Redis and a database are copied by their own means, and Redis first: what the database then \
                         knows more of, its records carry over";
