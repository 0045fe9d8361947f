//! The lock of aiogram's `RedisEventIsolation`, as `redis-py` takes it: a key with a token and an end.
//!
//! Ours end soon and are extended while a turn is under way, so that nobody waits long for a process that is gone. The token
//! names the epoch: where that may not write any more, the next holder of the lease takes the lock at once. A commit
//! compares what it overwrites in any case; aiogram does not. So a turn that has lost its lock to somebody else is overtaken:
//! what it wrote would be overwritten by whoever has read the keys before.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::super::keys::Thing;
use super::super::numbers::Own;
use super::super::ordered::name_of;
use super::super::rows;
use super::super::wire::Call;
use super::look::{Raw, Seen};
use super::{AiogramStore, Shared};
use crate::clock::Stopwatch;
use crate::key::DialogueKey;
use crate::store::{Epoch, Mark, StoreError, StoreResult, Version};

/// How long a lock lasts that nobody extends.
const LASTS: Duration = Duration::from_secs(6);
/// How often locks of turns under way are extended.
const EXTENDED_EVERY: Duration = Duration::from_secs(2);
/// A lock is not extended beyond this; aiogram's own end then, whatever its bot does.
const AT_MOST: Duration = Duration::from_secs(60);
/// The first and the longest wait for a lock that somebody else holds.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// How long a lock is waited for before the turn is told; it asks again then.
const PATIENCE: Duration = Duration::from_secs(5);

/// A turn under way.
pub(super) struct Held {
    lock: String,
    token: String,
    since: Stopwatch,
    /// What it has seen.
    pub(super) version: Version,
    pub(super) raw: Raw,
}

impl AiogramStore {
    /// Sees to it that locks are extended as long as the store is there.
    pub(super) fn extend_locks(&self) {
        if !self.0.is_extending.swap(true, Ordering::Relaxed) {
            tokio::spawn(extend_all(Arc::downgrade(&self.0)));
        }
    }
}

impl Shared {
    /// Locks a conversation and looks at it; none if the input was taken before.
    pub(super) async fn lock(&self, own: &Own, key: &DialogueKey, mark: Option<&Mark>) -> StoreResult<Option<Seen>> {
        let keys = self.keys(key, Thing::Marks)?;
        let ours = self.family(own);
        let token = self.token(own);
        let lasts_ms = LASTS.as_millis().to_string();
        let args = vec![own.text(), ours, token, lasts_ms, name_of(key), mark.map(rows::mark).unwrap_or_default()];
        let asked = Stopwatch::start();
        let mut pause = FIRST_PAUSE;
        loop {
            let call = Call { function: "aiogram_enter", keys: &keys, args: args.clone() };
            let answer = self.redis.wire.call(call).await?;
            match answer.first().map(String::as_str) {
                Some("locked") if asked.elapsed() < PATIENCE => {
                    // Not all at once, if several wait.
                    tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64())).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Some("locked") => {
                    let [_, _, lock] = self.names_of(key)?;
                    return Err(StoreError::Locked { lock });
                }
                Some("fenced") => return self.redis.done(own.bot, own.epoch, "fenced").await.map(|()| None),
                _ => return Seen::read(key, &answer),
            }
        }
    }

    /// Notes that a turn is under way.
    pub(super) fn hold(&self, own: &Own, key: &DialogueKey, version: Version, raw: Raw) -> StoreResult<()> {
        let [_, _, lock] = self.names_of(key)?;
        let held = Held { lock, token: self.token(own), since: Stopwatch::start(), version, raw };
        self.held.lock().insert(key.clone(), held);
        Ok(())
    }

    pub(super) async fn leave_turn(&self, epoch: Epoch, key: &DialogueKey) -> StoreResult<()> {
        self.held.lock().remove(key);
        let own = self.redis.numbers.own_of(epoch, key.bot)?;
        let [_, _, lock] = self.names_of(key)?;
        let call = Call { function: "aiogram_leave", keys: &[lock], args: vec![self.token(&own)] };
        self.redis.wire.call(call).await.map(drop)
    }

    /// What aiogram calls the keys of a conversation: state, data, lock.
    fn names_of(&self, key: &DialogueKey) -> StoreResult<[String; 3]> {
        self.layout.names(key).map_err(|error| StoreError::Unavailable(error.into()))
    }

    /// The token of this opening's locks under an epoch.
    pub(super) fn token(&self, own: &Own) -> String {
        format!("{}{}:{}", self.family(own), own.epoch.0, self.instance)
    }

    /// What the tokens of all instances of this bot begin with.
    fn family(&self, own: &Own) -> String {
        format!("opora:{}:{}:", self.redis.wire.address.prefix, own.bot)
    }

    async fn extend(&self) -> StoreResult<()> {
        let old = |held: &&Held| held.since.elapsed() >= EXTENDED_EVERY && held.since.elapsed() < AT_MOST;
        let locks: HashMap<String, String> = {
            let held = self.held.lock();
            held.values().filter(old).map(|held| (held.lock.clone(), held.token.clone())).collect()
        };
        if locks.is_empty() {
            return Ok(());
        }
        let (keys, tokens): (Vec<_>, Vec<_>) = locks.into_iter().unzip();
        let args = std::iter::once(LASTS.as_millis().to_string()).chain(tokens).collect();
        self.redis.wire.call(Call { function: "aiogram_extend", keys: &keys, args }).await.map(drop)
    }
}

/// Extends locks until the store is gone.
async fn extend_all(shared: Weak<Shared>) {
    loop {
        tokio::time::sleep(EXTENDED_EVERY).await;
        let Some(shared) = shared.upgrade() else { return };
        if let Err(error) = shared.extend().await {
            tracing::debug!(%error, "locks of turns under way could not be extended");
        }
    }
}
