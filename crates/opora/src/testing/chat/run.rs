//! Runs turns on a stage: as in a bot, but at once.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::Value;

use super::{BOT, Stage};
use crate::jobs::{CARRIER, place_in_commit};
use crate::key::ConversationKey;
use crate::store::requester::outcome_body;
use crate::store::{
    Commit, EffectId, EffectRow, Incoming, InputRef, NewJob, Opened, Origin, ParkedTurn, Receipt, Settled, Settlement,
    StoreError,
};
use crate::turn::{Handling, TurnError, TurnInput, TurnStart};
use crate::update::Update;

/// How often the application's writes may refuse a turn.
const MAX_REFUSALS: usize = 5;
const PAGE: usize = 1000;

impl Stage {
    /// Handles an update.
    pub(super) async fn update(&self, key: &ConversationKey, body: Value) {
        self.catch_up().await;
        let raw = body.to_string();
        let update = Update::read(&raw).unwrap_or_else(|error| panic!("{error}: {raw}"));
        self.turn(key, TurnInput::Update(Arc::new(update)), Vec::new()).await;
    }

    /// Handles an album.
    pub(super) async fn album(&self, key: &ConversationKey, bodies: Vec<Value>) {
        self.catch_up().await;
        let read =
            |body: &Value| Arc::new(Update::read(&body.to_string()).unwrap_or_else(|error| panic!("{error}: {body}")));
        self.turn(key, TurnInput::Album(bodies.iter().map(read).collect()), Vec::new()).await;
    }

    /// Runs the timers and expiries that are due.
    pub(super) async fn catch_up(&self) {
        let store = &self.0.store;
        loop {
            let now = self.0.clock.now();
            let timers = self.ok(store.due_timers(BOT, now, PAGE).await);
            let expired = self.ok(store.expired(BOT, now, PAGE).await);
            if timers.is_empty() && expired.is_empty() {
                return;
            }
            for timer in timers {
                let input = TurnInput::Timer { name: timer.name, body: timer.body };
                self.turn(&timer.key, input, vec![InputRef::Timer(timer.id)]).await;
            }
            for key in expired {
                self.turn(&key, TurnInput::Expired, Vec::new()).await;
            }
        }
    }

    pub(super) async fn effects(&self) -> Vec<EffectRow> {
        self.ok(self.0.store.effects(BOT, EffectId::default(), PAGE).await)
    }

    /// Brings the jobs of turns to the store's jobs, as a bot does.
    pub(super) async fn bring_jobs(&self) {
        for row in self.effects().await.into_iter().filter(|row| *row.effect.kind == *CARRIER) {
            let job: NewJob = serde_json::from_str(crate::store::requester::effect_request(&row.effect.body))
                .unwrap_or_else(|error| panic!("a job cannot be read: {error}"));
            let job = NewJob { once: Some(row.id.0.to_string().into()), ..job };
            self.ok(self.0.store.enqueue_jobs(BOT, vec![job], self.0.clock.now()).await);
            self.end_effect(CARRIER, Ok(Value::Null)).await;
        }
    }

    pub(super) async fn end_effect(&self, kind: &str, result: Result<Value, String>) {
        let found = self.effects().await.into_iter().find(|row| *row.effect.kind == *kind);
        let row = found.unwrap_or_else(|| panic!("there is no effect `{kind}`"));
        let body = outcome_body(kind, &row.effect.body, result.as_ref());
        let key = row.key.clone();
        let at = self.0.clock.now();
        let incoming = Incoming { key, origin: Origin::Outcome(row.id), body: body.as_str().into(), at };
        let epoch = self.epoch().await;
        let receipt = self.ok(self.0.store.finish_effect(epoch, row.id, incoming).await);
        let input = TurnInput::outcome(&body).unwrap_or_else(|error| panic!("{error}"));
        if let Receipt::New(seq) = receipt {
            self.turn(&row.key, input, vec![InputRef::Outcome(seq)]).await;
        }
    }

    /// Runs a turn. After a failure it runs the turn that tells the person.
    async fn turn(&self, key: &ConversationKey, input: TurnInput, processed: Vec<InputRef>) {
        match self.attempt(key, input.clone(), processed.clone()).await {
            Ok(()) => {}
            Err(TurnError::Unreadable(_)) => {
                self.handle_failure(key, input.clone().unreadable(), Vec::new()).await;
                self.handle_failure(key, input, processed).await;
            }
            Err(TurnError::Failed(reason)) => {
                self.handle_failure(key, input.failed(reason.to_string()), processed).await
            }
        }
    }

    async fn handle_failure(&self, key: &ConversationKey, input: TurnInput, processed: Vec<InputRef>) {
        let outcome = self.attempt(key, input, processed).await;
        outcome.unwrap_or_else(|error| panic!("the turn after a failed turn failed: {error}"));
    }

    async fn attempt(
        &self,
        key: &ConversationKey,
        input: TurnInput,
        processed: Vec<InputRef>,
    ) -> Result<(), TurnError> {
        let mut refusal = None;
        for _ in 0..MAX_REFUSALS {
            let Opened::At { version, stored } = self.ok(self.0.store.open(key, None).await) else { return Ok(()) };
            let now = self.0.clock.now();
            let context = Arc::clone(&self.0.context);
            let start = TurnStart {
                key: key.clone(),
                version,
                stored,
                input: input.clone(),
                now,
                refusal,
                context,
                destination: None,
            };
            let run = AssertUnwindSafe(self.0.script.run(start)).catch_unwind();
            let mut outcome = run.await.unwrap_or_else(|_| Err(TurnError::failed("the handler panicked")))?;
            place_in_commit(&mut outcome, &*self.0.store, (key.bot, now))?;
            if let Handling::Unhandled(reason) = outcome.handling {
                self.park_unhandled(key, &input, (processed, reason)).await;
                return Ok(());
            }
            let turn = Commit { processed: processed.clone(), ..Commit::new(key.clone(), version, now) };
            let commit = outcome.into_commit(turn, 0);
            let original = commit.outgoing.clone();
            match self.0.store.commit(self.epoch().await, commit).await {
                Ok(committed) => {
                    let labelled = self.0.views.lock().show(original);
                    let settled = committed.outbox.into_iter().zip(labelled);
                    let settled = settled.map(|(id, labelled)| Settled { id, outcome: Settlement::Sent { labelled } });
                    self.ok(self.0.store.settle(self.epoch().await, settled.collect(), now).await);
                    return Ok(());
                }
                Err(StoreError::Refused(reason)) => refusal = Some(reason),
                Err(error) => panic!("a commit failed: {error}"),
            }
        }
        Err(TurnError::failed("its writes were refused too often"))
    }

    /// Parks an unhandled input, as a bot does.
    async fn park_unhandled(
        &self,
        key: &ConversationKey,
        input: &TurnInput,
        (processed, reason): (Vec<InputRef>, String),
    ) {
        let kind = format!("{}{}", ParkedTurn::UNHANDLED, input.name());
        let parked =
            ParkedTurn { at: self.0.clock.now(), ..ParkedTurn::new(key.clone(), &kind, String::new(), reason, 1) };
        self.ok(self.0.store.park(self.epoch().await, processed, parked, Vec::new()).await);
    }
}

pub(super) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("not JSON: {error}: {text}"))
}
