//! Effects: work outside of turns.
//!
//! A turn stores an effect in its commit. The effect runs afterwards, at least once, with a key that stays the same
//! over retries and restarts. Its outcome becomes an input of the conversation. So no handler waits for the network,
//! and a crash loses nothing.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::Clock;
use crate::failpoints;
use crate::key::ConversationKey;
use crate::mailbox::QueuedInput;
use crate::store::requester::outcome_body;
use crate::store::{BoxError, EffectId, EffectRow, Epoch, InboxRow, Incoming, Origin, Receipt, Seq, Store};

use self::held_effects::HeldEffects;

pub use self::download::{DownloadSettings, Downloaded};

mod attempts;
mod download;
mod held_effects;
#[cfg(test)]
mod tests;

pub(crate) use self::download::{DOWNLOAD, DownloadRequest, Downloads};

/// One attempt of an effect, for the function that runs it.
#[derive(Clone, Debug)]
pub struct EffectRequest {
    /// The idempotency key. It is unique to this effect and the same for every attempt, also after a restart. Pass it
    /// to the other side.
    pub key: String,
    /// The conversation that requested the effect.
    pub conversation: ConversationKey,
    /// The request, as JSON.
    pub body: Box<str>,
    /// The number of this attempt, from 1. An attempt in which a broadcast advanced is not counted, so the next one is
    /// 1 again.
    pub attempt: u32,
    /// Whether no other attempt follows if this one fails without progress. Then partial results can be removed.
    pub is_last: bool,
}

impl EffectRequest {
    /// Reads the request.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, EffectError> {
        serde_json::from_str(&self.body)
            .map_err(|error| EffectError::Final(format!("the request cannot be read: {error}")))
    }
}

/// Why an attempt of an effect failed.
#[derive(Debug)]
pub enum EffectError {
    /// It may succeed later: try again.
    Retry(BoxError),
    /// It will never succeed: the outcome is a failure.
    Final(String),
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for EffectError {
    fn from(error: E) -> Self {
        Self::Retry(Box::new(error))
    }
}

type Runner = Arc<dyn Fn(EffectRequest) -> BoxFuture<'static, Result<Value, EffectError>> + Send + Sync>;

/// The kinds of effects and the functions that run them.
#[derive(Clone, Default)]
pub(crate) struct EffectRegistry {
    runners: HashMap<Box<str>, Runner>,
    /// Numbers of attempts for kinds that differ from the default.
    attempts: HashMap<Box<str>, u32>,
}

impl EffectRegistry {
    pub(crate) fn add<F, R>(&mut self, kind: &str, run: F)
    where
        F: Fn(EffectRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, EffectError>> + Send + 'static,
    {
        self.runners.insert(kind.into(), Arc::new(move |request| Box::pin(run(request))));
    }

    pub(crate) fn set_attempts(&mut self, kind: &str, attempts: u32) {
        self.attempts.insert(kind.into(), attempts);
    }
}

impl fmt::Debug for EffectRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.runners.keys()).finish()
    }
}

/// Settings of effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectSettings {
    /// How many effects of each kind run at once. Effects that hang delay only their own kind.
    pub concurrency: usize,
    /// How many attempts an effect has before it fails for good. A restart starts from 1 again. See also
    /// [`Bot::effect_attempts`](crate::bot::Bot::effect_attempts).
    pub attempts: u32,
    /// The pause before the second attempt. It doubles with each attempt.
    pub backoff: Duration,
    /// The longest pause.
    pub longest_backoff: Duration,
    /// How long an attempt may take. For a broadcast inside of it, this is the longest time without progress.
    pub deadline: Duration,
}

impl Default for EffectSettings {
    fn default() -> Self {
        Self {
            concurrency: 16,
            attempts: 8,
            backoff: Duration::from_millis(500),
            longest_backoff: Duration::from_secs(60),
            deadline: Duration::from_secs(300),
        }
    }
}

/// Runs effects. Clones share it.
#[derive(Clone)]
pub(crate) struct Effects(Arc<Shared>);

struct Shared {
    bot: i64,
    epoch: Epoch,
    registry: EffectRegistry,
    store: Arc<dyn Store>,
    clock: Clock,
    settings: EffectSettings,
    outcomes: mpsc::UnboundedSender<(ConversationKey, QueuedInput)>,
    held: Mutex<HeldEffects>,
    /// Limits the concurrency of each kind.
    permits: HashMap<Box<str>, Semaphore>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// How many effects are read from the store at once.
const PAGE: usize = 500;
/// How many effects of a kind are in memory. Most of them wait for a permit or for their next attempt. More stay in the
/// store.
const MAX_HELD: usize = 1000;

impl Effects {
    pub(crate) fn new(
        (bot, epoch): (i64, Epoch),
        registry: EffectRegistry,
        store: Arc<dyn Store>,
        clock: Clock,
        settings: EffectSettings,
        outcomes: mpsc::UnboundedSender<(ConversationKey, QueuedInput)>,
    ) -> Self {
        let permits = registry.runners.keys().map(|kind| (kind.clone(), Semaphore::new(settings.concurrency)));
        Self(Arc::new(Shared {
            bot,
            epoch,
            permits: permits.collect(),
            registry,
            store,
            clock,
            held: Mutex::new(HeldEffects::new(MAX_HELD.max(settings.concurrency), EffectId(epoch.first_number()))),
            settings,
            outcomes,
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        }))
    }

    /// Starts effects that were just committed.
    pub(crate) fn enqueue(&self, rows: Vec<EffectRow>) {
        for row in rows {
            if self.0.held.lock().add_committed(row.id, &row.effect.kind) {
                self.0.tasks.spawn(Arc::clone(&self.0).run_effect(row));
            }
        }
    }

    /// Starts stored effects that do not run yet: after a start, or after a commit whose answer was lost.
    pub(crate) fn reload(&self) {
        self.0.held.lock().request_load();
        self.0.load_if_requested();
    }

    /// Aborts the running effects without waiting.
    pub(crate) fn abort(&self) {
        self.0.stop.cancel();
    }

    /// Aborts the running effects and waits for their end. They run again after the next start.
    pub(crate) async fn close(&self) {
        self.abort();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

impl Shared {
    fn load_if_requested(self: &Arc<Self>) {
        if self.held.lock().begin_loading() {
            let shared = Arc::clone(self);
            let stop = self.stop.clone();
            self.tasks.spawn(async move { stop.run_until_cancelled(shared.load()).await });
        }
    }

    /// Reads effects from the store and starts those whose kind has room. Repeats that while another load is requested.
    async fn load(self: Arc<Self>) {
        while self.held.lock().begin_pass() {
            let mut after = EffectId::default();
            loop {
                self.held.lock().begin_page();
                match self.store.effects(self.bot, after, PAGE).await {
                    Ok(rows) => {
                        let last = rows.last().map(|row| row.id);
                        for row in rows {
                            if self.held.lock().add_stored(row.id, &row.effect.kind) {
                                self.tasks.spawn(Arc::clone(&self).run_effect(row));
                            }
                        }
                        self.held.lock().end_page();
                        let Some(last) = last else { break };
                        after = last;
                    }
                    Err(error) => {
                        self.held.lock().end_page();
                        tracing::warn!(%error, "cannot read the stored effects; trying again");
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                }
            }
        }
    }

    async fn run_effect(self: Arc<Self>, row: EffectRow) {
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = self.run_and_store_outcome(&row) => {}
        }
        self.held.lock().finished(row.id, &row.effect.kind);
        self.load_if_requested();
    }

    async fn run_and_store_outcome(&self, row: &EffectRow) {
        let outcome = self.outcome(row).await;
        failpoints::hit(failpoints::EFFECT_AFTER_RUN).await;
        let key = row.key.clone();
        let body = outcome_body(&row.effect.kind, &row.effect.body, outcome.as_ref());
        let incoming = Incoming { key, origin: Origin::Outcome(row.id), body: body.into(), at: self.clock.now() };
        let mut is_unsure = false;
        loop {
            match self.store.finish_effect(self.epoch, row.id, incoming.clone()).await {
                Ok(Receipt::New(seq)) => {
                    let input = QueuedInput::Inbox(InboxRow { seq, incoming });
                    // An error means that the bot stops. Then the outcome stays in the inbox.
                    let _ = self.outcomes.send((row.key.clone(), input));
                    return;
                }
                // An earlier write succeeded although its answer was lost, so the outcome was not delivered yet.
                Ok(Receipt::Known) if is_unsure => return self.deliver_stored_outcome(row).await,
                Ok(Receipt::Known) => return,
                Err(error) if error.ends_lease() => return,
                Err(error) => {
                    is_unsure = true;
                    tracing::warn!(effect = row.id.0, %error, "cannot store an outcome; trying again");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }

    /// Delivers an outcome that is in the inbox already.
    async fn deliver_stored_outcome(&self, row: &EffectRow) {
        let mut after = Seq(i64::MIN);
        loop {
            match self.store.waiting_for(&row.key, after, PAGE).await {
                Ok(rows) => {
                    let Some(last) = rows.last() else { return };
                    after = last.seq;
                    let found = rows.into_iter().find(|stored| stored.incoming.origin == Origin::Outcome(row.id));
                    if let Some(found) = found {
                        let _ = self.outcomes.send((row.key.clone(), QueuedInput::Inbox(found)));
                        return;
                    }
                }
                Err(error) => {
                    tracing::warn!(effect = row.id.0, %error, "cannot read a stored outcome; trying again");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }
}
