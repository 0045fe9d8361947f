//! Turns on aiogram's keys: lock, read, and commit together with them.

use super::super::NO_WRITES;
use super::super::connection::Call;
use super::super::held_leases::HeldLease;
use super::super::keys::{KeyKind, partition_of};
use super::super::ordered::name_of;
use super::super::rounds::commit_args;
use super::super::turns::{IdSource, TurnEncoder};
use super::Shared;
use super::snapshot::{AiogramKeys, Snapshot};
use crate::aiogram::{Data, Record, conversion};
use crate::clock::Millis;
use crate::failpoints;
use crate::key::ConversationKey;
use crate::store::{
    Commit, Committed, Epoch, Mark, Opened, StateChange, StateName, StoreError, StoreResult, StoredState, Transition,
    Version,
};

/// `by` of a transition that aiogram has made.
const BY: &str = "aiogram";

/// What a commit does with aiogram's keys.
struct Change<'a> {
    /// The expected hash of the keys; `None` means the noted one.
    expected: Option<&'a str>,
    /// What is written; `None` leaves the keys as they are.
    record: Option<Record>,
    /// Whether the lock is released.
    releases_lock: bool,
}

impl Shared {
    pub(super) async fn enter_turn(
        &self,
        epoch: Epoch,
        key: &ConversationKey,
        mark: Option<&Mark>,
        now: Millis,
    ) -> StoreResult<Opened> {
        let lease = self.redis.held_leases.get(epoch, key.bot)?;
        loop {
            let Some(snapshot) = self.lock(&lease, key, mark).await? else { return Ok(Opened::AlreadyProcessed) };
            let version = snapshot.version();
            let stored = self.stored(&snapshot)?;
            if !snapshot.is_unchanged {
                match self.adopt(&lease, &snapshot, stored.clone(), now).await {
                    // A process without the lock changed the keys: read again.
                    Err(StoreError::Overtaken(_)) => continue,
                    done => done?,
                };
            }
            self.hold(&lease, key, version, snapshot.raw)?;
            return Ok(Opened::At { version, stored });
        }
    }

    pub(super) async fn commit_turn(&self, epoch: Epoch, commit: Commit) -> StoreResult<Committed> {
        let lease = self.redis.held_leases.get(epoch, commit.key.bot)?;
        let locked_turn = self.locked_turns.lock().remove(&commit.key);
        let stored = match &commit.state {
            StateChange::Keep => None,
            StateChange::Set(stored) => Some(Some(stored)),
            StateChange::Clear => Some(None),
        };
        let record = match stored {
            None => None,
            Some(stored) => {
                let existing = match locked_turn.filter(|turn| turn.version == commit.from) {
                    Some(turn) => turn.raw,
                    None => self.keys_at_version(&commit.key, commit.from).await?,
                };
                Some(self.record(stored, &existing)?)
            }
        };
        self.send(&lease, commit, Change { expected: None, record, releases_lock: true }).await
    }

    /// Commits aiogram's change as a version.
    async fn adopt(
        &self,
        lease: &HeldLease,
        snapshot: &Snapshot,
        stored: Option<StoredState>,
        now: Millis,
    ) -> StoreResult<Committed> {
        let key = snapshot.row.key.clone();
        let from = foreground_state(snapshot.row.stored.as_ref());
        let to = foreground_state(stored.as_ref());
        tracing::debug!(%key, version = snapshot.version().0, "adopting a change by aiogram");
        let moved = from != to;
        let transition = Transition { from, to, by: BY.into(), took_us: 0 };
        let commit = Commit {
            state: stored.map_or(StateChange::Clear, StateChange::Set),
            transition: moved.then_some(transition),
            ..Commit::new(key, snapshot.row.version, now)
        };
        self.send(lease, commit, Change { expected: Some(&snapshot.note), record: None, releases_lock: false }).await
    }

    /// aiogram's keys, if they are those of this version.
    async fn keys_at_version(&self, key: &ConversationKey, version: Version) -> StoreResult<AiogramKeys> {
        let snapshot = self.read_snapshot(key, None).await?;
        let snapshot = snapshot.filter(|snapshot| snapshot.is_unchanged && snapshot.row.version == version);
        snapshot.map(|snapshot| snapshot.raw).ok_or_else(|| StoreError::Overtaken(key.clone()))
    }

    /// The contents of aiogram's keys for a state.
    pub(super) fn record(&self, stored: Option<&StoredState>, existing: &AiogramKeys) -> StoreResult<Record> {
        let translate = match (stored, self.translate.as_deref()) {
            // Without a mapping only an ended conversation can be written.
            (None, None) => return Ok(Record::default()),
            _ => self.translate()?,
        };
        let existing_data = existing.data().map_err(StoreError::WritesFailed)?;
        conversion::to_record(stored, translate, &existing_data).map_err(StoreError::WritesFailed)
    }

    async fn send(&self, lease: &HeldLease, commit: Commit, change: Change<'_>) -> StoreResult<Committed> {
        let key = commit.key.clone();
        if commit.writes.is_some() {
            return Err(StoreError::Unsupported(NO_WRITES));
        }
        let partition = partition_of(&key);
        let (turn, committed) = TurnEncoder::new(IdSource::Next(lease), &commit).encode(&commit)?;
        let precondition = self.redis.last_seen.write_precondition(lease.bot, partition, &lease.fencing_token);
        let operation = if change.record.is_some() { "write" } else { "keep" };
        let token = if change.releases_lock { self.token(lease) } else { String::new() };
        let mut args = vec![name_of(&key), change.expected.unwrap_or("noted").to_owned(), token, operation.to_owned()];
        args.extend(self.encode_record(&change.record.unwrap_or_default()));
        args.push(precondition);
        args.extend(commit_args(vec![turn], Vec::new()));
        drop(commit);
        failpoints::hit(failpoints::STORE_IN_COMMIT).await;
        let keys = self.keys(&key, KeyKind::Retry)?;
        let answer = self.redis.connection.call(Call { function: "aiogram_commit", keys: &keys, args }).await?;
        let answer = self.redis.writer.read_answer(lease.bot, partition, answer)?;
        self.redis.check_commit_word(lease.epoch, &key, &answer.word).await?;
        lease.seen.note_version(committed.version.0);
        Ok(committed)
    }

    /// A record as arguments of the server's functions: state, data, and the TTL of each.
    pub(super) fn encode_record(&self, record: &Record) -> [String; 4] {
        let text = |text: String| if text.is_empty() { text } else { format!("p{text}") };
        let data = |data: &Data| if data.is_empty() { String::new() } else { data.to_string() };
        let ttl =
            |ttl: Option<std::time::Duration>| ttl.map(|ttl| ttl.as_secs().max(1).to_string()).unwrap_or_default();
        let state = text(record.state.to_string());
        let data = text(data(&record.data));
        [state, data, ttl(self.layout.state_ttl), ttl(self.layout.data_ttl)]
    }
}

/// The foreground state.
fn foreground_state(stored: Option<&StoredState>) -> Option<StateName> {
    stored.and_then(|stored| stored.states.first()).cloned()
}
