//! A turn on aiogram's keys: locked, read, and committed together with them.

use super::super::NO_WRITES;
use super::super::keys::{Thing, partition_of};
use super::super::numbers::Own;
use super::super::ordered::name_of;
use super::super::rounds::together;
use super::super::turns::{Draft, Supply};
use super::super::wire::Call;
use super::Shared;
use super::look::{Raw, Seen};
use crate::aiogram::{Data, Record, shape};
use crate::clock::Millis;
use crate::failpoints;
use crate::key::DialogueKey;
use crate::store::{
    Commit, Committed, Epoch, Mark, Opened, Place, StateChange, StoreError, StoreResult, Stored, Transition, Version,
};

/// Who has changed a state that no turn here did, for the records.
const BY: &str = "aiogram";

/// What becomes of aiogram's keys in a commit.
struct Change<'a> {
    /// What stands there in short; none means what was noted.
    expected: Option<&'a str>,
    /// What is written; none leaves them as they are.
    record: Option<Record>,
    /// Lets go of the lock.
    is_last: bool,
}

impl Shared {
    pub(super) async fn enter_turn(
        &self,
        epoch: Epoch,
        key: &DialogueKey,
        mark: Option<&Mark>,
        now: Millis,
    ) -> StoreResult<Opened> {
        let own = self.redis.numbers.own_of(epoch, key.bot)?;
        loop {
            let Some(seen) = self.lock(&own, key, mark).await? else { return Ok(Opened::AlreadyTaken) };
            let version = seen.version();
            let stored = self.stored(&seen)?;
            if !seen.is_noted {
                match self.adopt(&own, &seen, stored.clone(), now).await {
                    // Somebody without a lock was at it.
                    Err(StoreError::Overtaken(_)) => continue,
                    done => done?,
                };
            }
            self.hold(&own, key, version, seen.raw)?;
            return Ok(Opened::At { version, stored });
        }
    }

    pub(super) async fn commit_turn(&self, epoch: Epoch, commit: Commit) -> StoreResult<Committed> {
        let own = self.redis.numbers.own_of(epoch, commit.key.bot)?;
        let held = self.held.lock().remove(&commit.key);
        let stored = match &commit.state {
            StateChange::Keep => None,
            StateChange::Set(stored) => Some(Some(stored)),
            StateChange::Clear => Some(None),
        };
        let record = match stored {
            None => None,
            Some(stored) => {
                let there = match held.filter(|held| held.version == commit.from) {
                    Some(held) => held.raw,
                    None => self.raw_at(&commit.key, commit.from).await?,
                };
                Some(self.record(stored, &there)?)
            }
        };
        self.send(&own, commit, Change { expected: None, record, is_last: true }).await
    }

    /// Makes a version of what aiogram has left.
    async fn adopt(&self, own: &Own, seen: &Seen, stored: Option<Stored>, now: Millis) -> StoreResult<Committed> {
        let key = seen.row.key.clone();
        let from = front(seen.row.stored.as_ref());
        let to = front(stored.as_ref());
        tracing::debug!(%key, version = seen.version().0, "takes over what aiogram has changed");
        let moved = from != to;
        let transition = Transition { from, to, by: BY.into(), took_us: 0 };
        let commit = Commit {
            state: stored.map_or(StateChange::Clear, StateChange::Set),
            transition: moved.then_some(transition),
            ..Commit::new(key, seen.row.version, now)
        };
        self.send(own, commit, Change { expected: Some(&seen.note), record: None, is_last: false }).await
    }

    /// What stands in aiogram's keys, if that is this version.
    async fn raw_at(&self, key: &DialogueKey, version: Version) -> StoreResult<Raw> {
        let seen = self.look(key, None).await?;
        let seen = seen.filter(|seen| seen.is_noted && seen.row.version == version);
        seen.map(|seen| seen.raw).ok_or_else(|| StoreError::Overtaken(key.clone()))
    }

    /// What a conversation is in aiogram's keys.
    pub(super) fn record(&self, stored: Option<&Stored>, there: &Raw) -> StoreResult<Record> {
        let translate = match (stored, self.translate.as_deref()) {
            // Without a mapping all that can be said is that it is over.
            (None, None) => return Ok(Record::default()),
            _ => self.translate()?,
        };
        let there = there.data().map_err(StoreError::WritesFailed)?;
        shape::record_of(stored, translate, &there).map_err(StoreError::WritesFailed)
    }

    async fn send(&self, own: &Own, commit: Commit, change: Change<'_>) -> StoreResult<Committed> {
        let key = commit.key.clone();
        if commit.writes.is_some() {
            return Err(StoreError::Unsupported(NO_WRITES));
        }
        let partition = partition_of(&key);
        let (turn, committed) = Draft::of(Supply::Own(own), &commit).whole(&commit)?;
        let pass = self.redis.witness.pass(own.bot, partition, &own.pass());
        let word = if change.record.is_some() { "write" } else { "keep" };
        let token = if change.is_last { self.token(own) } else { String::new() };
        let mut args = vec![name_of(&key), change.expected.unwrap_or("noted").to_owned(), token, word.to_owned()];
        args.extend(self.said(&change.record.unwrap_or_default()));
        args.extend(together(pass, vec![turn], Vec::new()));
        drop(commit);
        failpoints::hit(failpoints::STORE_IN_COMMIT).await;
        let keys = self.keys(&key, Thing::Retry)?;
        let answer = self.redis.wire.call(Call { function: "aiogram_commit", keys: &keys, args }).await?;
        let answer = self.redis.read_written(own.bot, partition, answer)?;
        self.redis.judge(own.epoch, &key, &answer.word).await?;
        own.seen.note_version(committed.version.0);
        Ok(committed)
    }

    /// A record as the server's functions take it: state, data, and how long each lives.
    pub(super) fn said(&self, record: &Record) -> [String; 4] {
        let text = |text: String| if text.is_empty() { text } else { format!("p{text}") };
        let data = |data: &Data| if data.is_empty() { String::new() } else { data.to_string() };
        let ttl =
            |ttl: Option<std::time::Duration>| ttl.map(|ttl| ttl.as_secs().max(1).to_string()).unwrap_or_default();
        let state = text(record.state.to_string());
        let data = text(data(&record.data));
        [state, data, ttl(self.layout.state_ttl), ttl(self.layout.data_ttl)]
    }
}

/// The place in the foreground.
fn front(stored: Option<&Stored>) -> Option<Place> {
    stored.and_then(|stored| stored.places.first()).cloned()
}
