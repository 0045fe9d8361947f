//! A chat without Telegram: people send and press, the script answers, and a test checks what they see.
//!
//! Turns run as in a bot, one at a time and on a real store, but in this process and without HTTP. Time stands still
//! until [`Stage::advance`]. Effects do not run: a test says how they end. A failed check panics and shows the whole
//! chat.
//!
//! ```
//! # use opora::prelude::*;
//! # use opora::testing::chat::Stage;
//! # #[derive(Clone, Debug, Serialize, Deserialize, States)]
//! # enum Greeting { Name }
//! # async fn start(turn: &mut Turn, _: Command) -> Step<Greeting> { turn.say("Your name?"); Ok(Next::Go(Greeting::Name)) }
//! # async fn name(turn: &mut Turn, name: String) -> Step<Greeting> { turn.say(format!("Hello, {name}!")); Ok(Next::End) }
//! # fn greeting() -> Dialogue<Greeting> {
//! #     Dialogue::new().start(command("start"), start).on(Greeting::NAME, text(), name)
//! # }
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let stage = Stage::new(greeting());
//! let anna = stage.person("Anna");
//! anna.sends("/start").await;
//! anna.sees("Your name?");
//! anna.sends("Anna").await;
//! anna.sees("Hello, Anna!");
//! assert_eq!(anna.state().await, None);
//! # }
//! ```

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;

use self::view::ChatViews;
use crate::clock::Clock;
use crate::dialogue::Script;
use crate::jobs::{CARRIER, Workers};
use crate::key::ConversationKey;
use crate::store::{Epoch, Holder, JobRow, LeaseAnswer, MemoryStore, Opened, ParkedTurn, Store};
use crate::testing::jobs::JobStage;
use crate::tls_provider;
use crate::turn::Context;

pub use self::person::ChatUser;

mod person;
mod run;
mod view;

/// The id of the bot.
const BOT: i64 = 7;

/// A bot and its people in this process. Clones share it.
#[derive(Clone, Debug)]
pub struct Stage(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    script: Arc<Script>,
    context: Arc<Context>,
    store: Arc<dyn Store>,
    clock: Clock,
    views: Mutex<ChatViews>,
    epoch: tokio::sync::OnceCell<Epoch>,
}

impl Stage {
    /// A stage for a dialogue or a whole script.
    ///
    /// # Panics
    /// If the script has mistakes; the message lists all of them.
    pub fn new(script: impl Into<Script>) -> Self {
        Self::with(script, Context::new())
    }

    /// A stage whose handlers get these values of the application.
    ///
    /// # Panics
    /// If the script has mistakes; the message lists all of them.
    pub fn with(script: impl Into<Script>, context: Context) -> Self {
        Self::on(script, context, Arc::new(MemoryStore::new()), super::clock_at_noon())
    }

    /// A stage on another store, for applications that write to its database, with a clock set by hand.
    ///
    /// # Panics
    /// If the script has mistakes; the message lists all of them.
    pub fn on(script: impl Into<Script>, context: Context, store: Arc<dyn Store>, clock: Clock) -> Self {
        // As in a bot: handlers may have HTTP clients of their own.
        tls_provider::install();
        let script = script.into();
        if let Err(mistakes) = script.check() {
            panic!("the script has mistakes:\n- {}", mistakes.join("\n- "));
        }
        let script = Arc::new(script);
        let context = Arc::new(context);
        Self(Arc::new(Inner { script, context, store, clock, views: Mutex::default(), epoch: Default::default() }))
    }

    /// A new person in a private chat.
    #[must_use]
    pub fn person(&self, name: &str) -> ChatUser {
        let id = self.0.views.lock().new_person();
        ChatUser::new(self.clone(), id, name)
    }

    /// The clock, which only the test moves.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Moves the clock, and runs the timers and expiries of that time.
    pub async fn advance(&self, time: Duration) {
        self.0.clock.advance(time);
        self.catch_up().await;
    }

    /// The unfinished effects: their kinds and requests.
    pub async fn pending_effects(&self) -> Vec<(String, Value)> {
        let rows = self.effects().await;
        let rows = rows.into_iter().filter(|row| *row.effect.kind != *CARRIER);
        rows.map(|row| {
            (row.effect.kind.to_string(), run::json(crate::store::requester::effect_request(&row.effect.body)))
        })
        .collect()
    }

    /// Finishes the oldest effect of this kind with a result.
    ///
    /// # Panics
    /// If there is no such effect.
    pub async fn finish_effect(&self, kind: &str, result: Value) {
        self.end_effect(kind, Ok(result)).await;
    }

    /// Fails the oldest effect of this kind for good.
    ///
    /// # Panics
    /// If there is no such effect.
    pub async fn fail_effect(&self, kind: &str, reason: &str) {
        self.end_effect(kind, Err(reason.to_owned())).await;
    }

    /// Runs the jobs that are due, also those that the dialogues have enqueued, with these functions. Returns the jobs
    /// that ran, as they are then.
    pub async fn run_jobs(&self, workers: &Workers) -> Vec<JobRow> {
        self.bring_jobs().await;
        let inner = &self.0;
        let stage = JobStage::under(
            (BOT, self.epoch().await),
            workers.clone(),
            (Arc::clone(&inner.context), Arc::clone(&inner.store), inner.clock.clone()),
        );
        stage.run_due().await
    }

    /// The reasons of unhandled outcomes, timers and alarms, which an operator finds among parked turns.
    pub async fn unhandled(&self) -> Vec<String> {
        let parked = self.ok(self.0.store.parked(Some(BOT), usize::MAX).await);
        parked.into_iter().filter(ParkedTurn::is_unhandled).map(|parked| parked.reason).collect()
    }

    /// Another process of the bot takes over: everything in memory is lost.
    pub async fn restart(&self) -> Self {
        let inner = &self.0;
        let views = Mutex::new(std::mem::take(&mut *inner.views.lock()));
        let seen = self.ok(inner.store.lease(BOT).await);
        let restarted = Self(Arc::new(Inner {
            script: Arc::clone(&inner.script),
            context: Arc::clone(&inner.context),
            store: Arc::clone(&inner.store),
            clock: inner.clock.clone(),
            views,
            epoch: Default::default(),
        }));
        let granted = self.ok(inner.store.claim(BOT, &holder("after"), seen.as_ref()).await);
        if let LeaseAnswer::Granted(epoch) = granted {
            // The cell is new, so setting it cannot fail.
            let _ = restarted.0.epoch.set(epoch);
        }
        restarted
    }

    /// The state of a conversation as `dialogue:state`; none if no dialogue is open.
    pub async fn state(&self, key: &ConversationKey) -> Option<String> {
        match self.ok(self.0.store.open(key, None).await) {
            Opened::At { stored: Some(stored), .. } => stored.states.first().map(ToString::to_string),
            _ => None,
        }
    }

    #[cfg(test)]
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    async fn epoch(&self) -> Epoch {
        let claim = || async {
            match self.ok(self.0.store.claim(BOT, &holder("first"), None).await) {
                LeaseAnswer::Granted(epoch) => epoch,
                LeaseAnswer::Held(lease) => panic!("the store of this stage belongs to {:?}", lease.holder),
            }
        };
        *self.0.epoch.get_or_init(claim).await
    }

    fn ok<T, E: std::fmt::Display>(&self, answer: Result<T, E>) -> T {
        answer.unwrap_or_else(|error| panic!("the stage's store failed: {error}"))
    }
}

/// A stage does not renew its lease, so the lease is longer than a test.
pub(super) fn holder(token: &str) -> Holder {
    Holder { host: "stage".into(), ttl_ms: 30_000, ..super::holder(token) }
}
