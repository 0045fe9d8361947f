//! A chat without Telegram: people send and press, the script answers, and a test looks at what they see.
//!
//! Turns run as they do in a bot, one at a time and over a real store, but in this process and without HTTP. Time
//! stands still until [`Stage::passes`]. Work outside is not done: a test says how it ended. A look that finds
//! something else panics and shows the whole chat.
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

use self::room::Rooms;
use crate::clock::Clock;
use crate::dialogue::Script;
use crate::key::DialogueKey;
use crate::store::{Epoch, Holder, LeaseAnswer, MemoryStore, Opened, Parked, Store};
use crate::tls_provider;
use crate::turn::Context;

pub use self::person::Someone;

mod person;
mod room;
mod run;

/// The bot's own id on every stage.
const BOT: i64 = 7;

/// A bot and its people, in this process. Clones share it.
#[derive(Clone, Debug)]
pub struct Stage(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    script: Arc<Script>,
    context: Arc<Context>,
    store: Arc<dyn Store>,
    clock: Clock,
    rooms: Mutex<Rooms>,
    epoch: tokio::sync::OnceCell<Epoch>,
}

impl Stage {
    /// A stage for a dialogue or a whole script.
    ///
    /// # Panics
    /// If the script has mistakes: with all of them.
    pub fn new(script: impl Into<Script>) -> Self {
        Self::with(script, Context::new())
    }

    /// A stage whose handlers reach these values of the application's.
    ///
    /// # Panics
    /// If the script has mistakes: with all of them.
    pub fn with(script: impl Into<Script>, context: Context) -> Self {
        Self::on(script, context, Arc::new(MemoryStore::new()), super::clock_at_noon())
    }

    /// A stage over another store, as for applications that write to its database, and a clock set by hand.
    ///
    /// # Panics
    /// If the script has mistakes: with all of them.
    pub fn on(script: impl Into<Script>, context: Context, store: Arc<dyn Store>, clock: Clock) -> Self {
        // What a bot does when it is made; handlers may have clients of their own.
        tls_provider::install();
        let script = script.into();
        if let Err(mistakes) = script.check() {
            panic!("the script has mistakes:\n- {}", mistakes.join("\n- "));
        }
        let script = Arc::new(script);
        let context = Arc::new(context);
        Self(Arc::new(Inner { script, context, store, clock, rooms: Mutex::default(), epoch: Default::default() }))
    }

    /// Somebody who has not said anything yet, in a private chat.
    #[must_use]
    pub fn person(&self, name: &str) -> Someone {
        let id = self.0.rooms.lock().new_person();
        Someone::new(self.clone(), id, name)
    }

    /// The clock, which only a test moves.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Moves the clock, and lets every timer and every end of life in that time happen.
    pub async fn passes(&self, time: Duration) {
        self.0.clock.advance(time);
        self.catch_up().await;
    }

    /// Work that was asked for and is not done yet, as its kind and what was asked.
    pub async fn asked(&self) -> Vec<(String, Value)> {
        let rows = self.effects().await;
        rows.into_iter()
            .map(|row| (row.effect.kind.to_string(), run::json(crate::asking::wish(&row.effect.body))))
            .collect()
    }

    /// The oldest work of this kind is done, and brought this.
    ///
    /// # Panics
    /// If nobody asked for such work.
    pub async fn finishes(&self, kind: &str, brought: Value) {
        self.end_effect(kind, Ok(brought)).await;
    }

    /// The oldest work of this kind has failed for good.
    ///
    /// # Panics
    /// If nobody asked for such work.
    pub async fn fails(&self, kind: &str, reason: &str) {
        self.end_effect(kind, Err(reason.to_owned())).await;
    }

    /// Outcomes, timers and alarms that no handler has heard, in words: what an operator finds among parked turns.
    pub async fn unheard(&self) -> Vec<String> {
        let parked = self.ok(self.0.store.parked(Some(BOT), usize::MAX).await);
        parked.into_iter().filter(Parked::is_unheard).map(|parked| parked.reason).collect()
    }

    /// Another process of the bot takes over: whatever was only in memory is gone.
    pub async fn restarts(&self) -> Self {
        let inner = &self.0;
        let rooms = Mutex::new(std::mem::take(&mut *inner.rooms.lock()));
        let seen = self.ok(inner.store.lease(BOT).await);
        let fresh = Self(Arc::new(Inner {
            script: Arc::clone(&inner.script),
            context: Arc::clone(&inner.context),
            store: Arc::clone(&inner.store),
            clock: inner.clock.clone(),
            rooms,
            epoch: Default::default(),
        }));
        let granted = self.ok(inner.store.claim(BOT, &holder("after"), seen.as_ref()).await);
        if let LeaseAnswer::Granted(epoch) = granted {
            // Nobody else has seen this cell yet.
            let _ = fresh.0.epoch.set(epoch);
        }
        fresh
    }

    /// Where a conversation stands, as `dialogue:state`; none if nothing is open.
    pub async fn state(&self, key: &DialogueKey) -> Option<String> {
        match self.ok(self.0.store.open(key, None).await) {
            Opened::At { stored: Some(stored), .. } => stored.places.first().map(ToString::to_string),
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

/// A stage renews nothing, so its lease lasts longer than a test.
fn holder(token: &str) -> Holder {
    Holder { host: "stage".into(), ttl_ms: 30_000, ..super::holder(token) }
}
