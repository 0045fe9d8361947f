//! The lock of aiogram's `RedisEventIsolation`, as `redis-py` takes it: a key with a token and an expiry.
//!
//! Our locks expire soon and are extended while a turn runs, so that a killed process does not block others for long.
//! The token contains the epoch: if that epoch is fenced, the next leader takes the lock at once. Our commit compares
//! the keys that it overwrites; aiogram does not. So a turn that lost its lock to another process counts as overtaken:
//! that process may have read the keys already and would overwrite the turn's result.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::super::connection::Call;
use super::super::held_leases::HeldLease;
use super::super::keys::KeyKind;
use super::super::ordered::name_of;
use super::super::rows;
use super::snapshot::{AiogramKeys, Snapshot};
use super::{AiogramStore, Shared};
use crate::clock::Stopwatch;
use crate::key::ConversationKey;
use crate::store::{Epoch, Mark, StoreError, StoreResult, Version};

/// How long a lock lasts unless it is extended.
const LOCK_TTL: Duration = Duration::from_secs(6);
/// How often the locks of running turns are extended.
const EXTEND_INTERVAL: Duration = Duration::from_secs(2);
/// How long a lock is extended at most. aiogram's own locks expire after this time.
const MAX_LOCK_TIME: Duration = Duration::from_secs(60);
/// The first and the longest pause before another attempt to take a lock.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const MAX_PAUSE: Duration = Duration::from_millis(50);
/// How long to wait for a lock before the turn fails; it is tried again then.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// A running turn that holds its conversation's lock.
pub(super) struct LockedTurn {
    lock: String,
    token: String,
    since: Stopwatch,
    /// The version and keys that it has read.
    pub(super) version: Version,
    pub(super) raw: AiogramKeys,
}

impl AiogramStore {
    /// Starts the task that extends locks, once.
    pub(super) fn extend_locks(&self) {
        if !self.0.is_extending.swap(true, Ordering::Relaxed) {
            tokio::spawn(extend_all(Arc::downgrade(&self.0)));
        }
    }
}

impl Shared {
    /// Locks a conversation and reads it. `None` if the input was processed before.
    pub(super) async fn lock(
        &self,
        lease: &HeldLease,
        key: &ConversationKey,
        mark: Option<&Mark>,
    ) -> StoreResult<Option<Snapshot>> {
        let keys = self.keys(key, KeyKind::Marks)?;
        let ours = self.token_prefix(lease);
        let token = self.token(lease);
        let lasts_ms = LOCK_TTL.as_millis().to_string();
        let args = vec![
            lease.fencing_token.to_string(),
            ours,
            token,
            lasts_ms,
            name_of(key),
            mark.map(rows::mark).unwrap_or_default(),
        ];
        let watch = Stopwatch::start();
        let mut pause = FIRST_PAUSE;
        loop {
            let call = Call { function: "aiogram_enter", keys: &keys, args: args.clone() };
            let answer = self.redis.connection.call(call).await?;
            match answer.first().map(String::as_str) {
                Some("locked") if watch.elapsed() < LOCK_TIMEOUT => {
                    // Random, so that waiting turns do not retry at the same time.
                    tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64())).await;
                    pause = (pause * 2).min(MAX_PAUSE);
                }
                Some("locked") => {
                    let [_, _, lock] = self.names_of(key)?;
                    return Err(StoreError::Locked { lock });
                }
                Some("fenced") => {
                    return self.redis.check_word(lease.bot, lease.epoch, "fenced").await.map(|()| None);
                }
                _ => return Snapshot::read(key, &answer),
            }
        }
    }

    /// Notes a running turn.
    pub(super) fn hold(
        &self,
        lease: &HeldLease,
        key: &ConversationKey,
        version: Version,
        raw: AiogramKeys,
    ) -> StoreResult<()> {
        let [_, _, lock] = self.names_of(key)?;
        let locked_turn = LockedTurn { lock, token: self.token(lease), since: Stopwatch::start(), version, raw };
        self.locked_turns.lock().insert(key.clone(), locked_turn);
        Ok(())
    }

    pub(super) async fn leave_turn(&self, epoch: Epoch, key: &ConversationKey) -> StoreResult<()> {
        self.locked_turns.lock().remove(key);
        let lease = self.redis.held_leases.get(epoch, key.bot)?;
        let [_, _, lock] = self.names_of(key)?;
        let call = Call { function: "aiogram_leave", keys: &[lock], args: vec![self.token(&lease)] };
        self.redis.connection.call(call).await.map(drop)
    }

    /// The names of aiogram's keys for a conversation: state, data, lock.
    pub(super) fn names_of(&self, key: &ConversationKey) -> StoreResult<[String; 3]> {
        self.layout.names(key).map_err(|error| StoreError::Unavailable(error.into()))
    }

    /// The token of this process's locks under an epoch.
    pub(super) fn token(&self, lease: &HeldLease) -> String {
        format!("{}{}:{}", self.token_prefix(lease), lease.epoch.0, self.instance)
    }

    /// The prefix of the tokens of all instances of this bot.
    fn token_prefix(&self, lease: &HeldLease) -> String {
        format!("opora:{}:{}:", self.redis.connection.address.prefix, lease.bot)
    }

    async fn extend(&self) -> StoreResult<()> {
        let is_due =
            |turn: &&LockedTurn| turn.since.elapsed() >= EXTEND_INTERVAL && turn.since.elapsed() < MAX_LOCK_TIME;
        let locks: HashMap<String, String> = {
            let locked_turns = self.locked_turns.lock();
            locked_turns.values().filter(is_due).map(|turn| (turn.lock.clone(), turn.token.clone())).collect()
        };
        if locks.is_empty() {
            return Ok(());
        }
        let (keys, tokens): (Vec<_>, Vec<_>) = locks.into_iter().unzip();
        let args = std::iter::once(LOCK_TTL.as_millis().to_string()).chain(tokens).collect();
        self.redis.connection.call(Call { function: "aiogram_extend", keys: &keys, args }).await.map(drop)
    }
}

/// Extends locks until the store is gone.
async fn extend_all(shared: Weak<Shared>) {
    loop {
        tokio::time::sleep(EXTEND_INTERVAL).await;
        let Some(shared) = shared.upgrade() else { return };
        if let Err(error) = shared.extend().await {
            tracing::debug!(%error, "cannot extend the locks of running turns");
        }
    }
}
