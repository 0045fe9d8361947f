//! Work outside that turns ask for.
//!
//! A turn records its wish in its commit; the work is done afterwards, at least once, under a key that stays the same
//! over retries and restarts; its outcome enters the conversation as an input like any other. So no handler waits on
//! the network, and a crash in between loses nothing.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::Clock;
use crate::failpoints;
use crate::key::DialogueKey;
use crate::mailbox::Letter;
use crate::store::{BoxError, EffectId, EffectRow, Epoch, InboxRow, Incoming, Origin, Receipt, Seq, Store};

use self::held::Held;

pub use self::download::{DownloadSettings, Downloaded};

mod download;
mod held;
#[cfg(test)]
mod tests;
mod tries;

pub(crate) use self::download::{DOWNLOAD, DownloadWish, Downloads};

/// A wish that is being carried out.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The same for every try of this wish, also after a restart, and that of no other wish: pass it on where the other
    /// side can recognise it.
    pub key: String,
    /// The conversation that asked.
    pub dialogue: DialogueKey,
    /// What it asked for, as JSON.
    pub body: Box<str>,
    /// Which try this is, from 1. It is 1 again after a try in which a broadcast got further: such a try is not
    /// counted.
    pub attempt: u32,
    /// No other try follows if this one fails and gets no further: what it would have gone on from is not needed any
    /// more.
    pub is_last: bool,
}

impl Asked {
    /// What it asked for.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, EffectError> {
        serde_json::from_str(&self.body)
            .map_err(|error| EffectError::Final(format!("the wish cannot be read: {error}")))
    }
}

/// Why work outside has not been done.
#[derive(Debug)]
pub enum EffectError {
    /// It may work later: try again.
    Retry(BoxError),
    /// It will never work: tell the dialogue.
    Final(String),
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for EffectError {
    fn from(error: E) -> Self {
        Self::Retry(Box::new(error))
    }
}

type Runner = Arc<dyn Fn(Asked) -> BoxFuture<'static, Result<Value, EffectError>> + Send + Sync>;

/// The kinds of work that can be asked for.
#[derive(Clone, Default)]
pub(crate) struct Register {
    runners: HashMap<Box<str>, Runner>,
    /// Of kinds that are not tried as often as others.
    attempts: HashMap<Box<str>, u32>,
}

impl Register {
    pub(crate) fn add<F, R>(&mut self, kind: &str, run: F)
    where
        F: Fn(Asked) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, EffectError>> + Send + 'static,
    {
        self.runners.insert(kind.into(), Arc::new(move |asked| Box::pin(run(asked))));
    }

    pub(crate) fn set_attempts(&mut self, kind: &str, attempts: u32) {
        self.attempts.insert(kind.into(), attempts);
    }
}

impl fmt::Debug for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.runners.keys()).finish()
    }
}

/// How work outside is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectSettings {
    /// How much of each kind is under way at once: work that hangs holds up its own kind alone.
    pub at_once: usize,
    /// How often one wish is tried before its failure is final, unless its kind says; see
    /// [`Bot::attempts`](crate::bot::Bot::attempts). A restart counts anew.
    pub attempts: u32,
    /// The wait before the second try; it doubles with each.
    pub backoff: Duration,
    /// The longest wait.
    pub longest_backoff: Duration,
    /// How long one try may take. A broadcast inside of it may take longer: for it, this is the longest time without a
    /// sign of life.
    pub deadline: Duration,
}

impl Default for EffectSettings {
    fn default() -> Self {
        Self {
            at_once: 16,
            attempts: 8,
            backoff: Duration::from_millis(500),
            longest_backoff: Duration::from_secs(60),
            deadline: Duration::from_secs(300),
        }
    }
}

/// Carries out what turns have asked for. Clones share it.
#[derive(Clone)]
pub(crate) struct Effects(Arc<Shared>);

struct Shared {
    bot: i64,
    epoch: Epoch,
    register: Register,
    store: Arc<dyn Store>,
    clock: Clock,
    settings: EffectSettings,
    outcomes: mpsc::UnboundedSender<(DialogueKey, Letter)>,
    held: Mutex<Held>,
    /// Of each kind.
    places: HashMap<Box<str>, Semaphore>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// How many wishes are read from the store at once.
const PAGE: usize = 500;
/// How many wishes of a kind are held in memory, most of which wait for a place or for their next try; the rest waits
/// in the store.
const HELD_MOST: usize = 1000;

impl Effects {
    pub(crate) fn new(
        (bot, epoch): (i64, Epoch),
        register: Register,
        store: Arc<dyn Store>,
        clock: Clock,
        settings: EffectSettings,
        outcomes: mpsc::UnboundedSender<(DialogueKey, Letter)>,
    ) -> Self {
        let places = register.runners.keys().map(|kind| (kind.clone(), Semaphore::new(settings.at_once)));
        Self(Arc::new(Shared {
            bot,
            epoch,
            places: places.collect(),
            register,
            store,
            clock,
            held: Mutex::new(Held::new(HELD_MOST.max(settings.at_once), EffectId(epoch.first_number()))),
            settings,
            outcomes,
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        }))
    }

    /// Starts on wishes that were just committed.
    pub(crate) fn enqueue(&self, rows: Vec<EffectRow>) {
        for row in rows {
            if self.0.held.lock().bring(row.id, &row.effect.kind) {
                self.0.tasks.spawn(Arc::clone(&self.0).carry_out(row));
            }
        }
    }

    /// Starts on what the store holds and nobody works on: after a start, or after a commit whose answer was lost.
    pub(crate) fn reload(&self) {
        self.0.held.lock().want();
        self.0.load_if_wanted();
    }

    /// Ends what is under way, without waiting for its end.
    pub(crate) fn let_go(&self) {
        self.0.stop.cancel();
    }

    /// Ends what is under way; it will be done after the next start.
    pub(crate) async fn close(&self) {
        self.let_go();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

impl Shared {
    fn load_if_wanted(self: &Arc<Self>) {
        if self.held.lock().begin_loading() {
            let shared = Arc::clone(self);
            let stop = self.stop.clone();
            self.tasks.spawn(async move { stop.run_until_cancelled(shared.load()).await });
        }
    }

    /// Reads wishes from the store, and takes up those for whose kind there is room, until none of these is missing.
    async fn load(self: Arc<Self>) {
        while self.held.lock().begin_pass() {
            let mut after = EffectId::default();
            loop {
                self.held.lock().begin_page();
                match self.store.effects(self.bot, after, PAGE).await {
                    Ok(rows) => {
                        let last = rows.last().map(|row| row.id);
                        for row in rows {
                            if self.held.lock().read(row.id, &row.effect.kind) {
                                self.tasks.spawn(Arc::clone(&self).carry_out(row));
                            }
                        }
                        self.held.lock().end_page();
                        let Some(last) = last else { break };
                        after = last;
                    }
                    Err(error) => {
                        self.held.lock().end_page();
                        tracing::warn!(%error, "cannot read which effects wait; trying again");
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                }
            }
        }
    }

    async fn carry_out(self: Arc<Self>, row: EffectRow) {
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = self.to_the_end(&row) => {}
        }
        self.held.lock().finished(row.id, &row.effect.kind);
        self.load_if_wanted();
    }

    async fn to_the_end(&self, row: &EffectRow) {
        let outcome = self.outcome(row).await;
        failpoints::hit(failpoints::EFFECT_AFTER_RUN).await;
        let asked = RawValue::from_string(row.effect.body.clone().into()).ok();
        let body = serde_json::json!({
            "kind": row.effect.kind,
            "asked": asked,
            "ok": outcome.as_ref().ok(),
            "failed": outcome.as_ref().err(),
        });
        let incoming = Incoming {
            key: row.key.clone(),
            origin: Origin::Outcome(row.id),
            body: body.to_string().into(),
            at: self.clock.now(),
        };
        let mut is_unsure = false;
        loop {
            match self.store.finish_effect(self.epoch, row.id, incoming.clone()).await {
                Ok(Receipt::New(seq)) => {
                    let letter = Letter::Inbox(InboxRow { seq, incoming });
                    // Nobody listens only when the bot stops; then the inbox has it.
                    let _ = self.outcomes.send((row.key.clone(), letter));
                    return;
                }
                // An earlier try was carried out, and its answer was lost: nobody has been told.
                Ok(Receipt::Known) if is_unsure => return self.pass_on_stored(row).await,
                Ok(Receipt::Known) => return,
                Err(error) if error.ends_the_lease() => return,
                Err(error) => {
                    is_unsure = true;
                    tracing::warn!(effect = row.id.0, %error, "cannot store an outcome; trying again");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }

    /// Passes on an outcome that lies in the inbox already.
    async fn pass_on_stored(&self, row: &EffectRow) {
        let mut after = Seq(i64::MIN);
        loop {
            match self.store.waiting_for(&row.key, after, PAGE).await {
                Ok(rows) => {
                    let Some(last) = rows.last() else { return };
                    after = last.seq;
                    let found = rows.into_iter().find(|waits| waits.incoming.origin == Origin::Outcome(row.id));
                    if let Some(found) = found {
                        let _ = self.outcomes.send((row.key.clone(), Letter::Inbox(found)));
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
