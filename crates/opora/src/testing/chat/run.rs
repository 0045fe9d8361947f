//! Turns on a stage: as in a bot, but at once.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Value, json};

use super::{BOT, Stage};
use crate::key::DialogueKey;
use crate::store::{
    Commit, EffectId, EffectRow, Incoming, Opened, Origin, Parked, Receipt, Settled, Settlement, StoreError, Taken,
    Transition,
};
use crate::turn::{Event, Hearing, Moment, Outcome, TurnError};
use crate::update::Update;

/// How often the application's writes may refuse one turn.
const REFUSALS_MAX: usize = 5;
const PAGE: usize = 1000;

impl Stage {
    /// An update arrives.
    pub(super) async fn update(&self, key: &DialogueKey, body: Value) {
        self.catch_up().await;
        let raw = body.to_string();
        let update = Update::read(&raw).unwrap_or_else(|error| panic!("{error}: {raw}"));
        self.turn(key, Event::Update(Arc::new(update)), Vec::new()).await;
    }

    /// The items of an album arrive.
    pub(super) async fn album(&self, key: &DialogueKey, bodies: Vec<Value>) {
        self.catch_up().await;
        let read =
            |body: &Value| Arc::new(Update::read(&body.to_string()).unwrap_or_else(|error| panic!("{error}: {body}")));
        self.turn(key, Event::Album(bodies.iter().map(read).collect()), Vec::new()).await;
    }

    /// Lets timers and ends of life happen that are due by now.
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
                let event = Event::Timer { name: timer.name, body: timer.body };
                self.turn(&timer.key, event, vec![Taken::Timer(timer.id)]).await;
            }
            for key in expired {
                self.turn(&key, Event::Expired, Vec::new()).await;
            }
        }
    }

    pub(super) async fn effects(&self) -> Vec<EffectRow> {
        self.ok(self.0.store.effects(BOT, EffectId::default(), PAGE).await)
    }

    pub(super) async fn end_effect(&self, kind: &str, result: Result<Value, String>) {
        let found = self.effects().await.into_iter().find(|row| *row.effect.kind == *kind);
        let row = found.unwrap_or_else(|| panic!("nobody asked for `{kind}`"));
        let asked = json(&row.effect.body);
        let body = json!({"kind": kind, "asked": asked, "ok": result.as_ref().ok(), "failed": result.as_ref().err()});
        let key = row.key.clone();
        let at = self.0.clock.now();
        let incoming = Incoming { key, origin: Origin::Outcome(row.id), body: body.to_string().into(), at };
        let epoch = self.epoch().await;
        let receipt = self.ok(self.0.store.finish_effect(epoch, row.id, incoming).await);
        let event = Event::outcome(&body.to_string()).unwrap_or_else(|error| panic!("{error}"));
        if let Receipt::New(seq) = receipt {
            self.turn(&row.key, event, vec![Taken::Outcome(seq)]).await;
        }
    }

    /// One turn; one that fails is followed by the turn that helps its person.
    async fn turn(&self, key: &DialogueKey, event: Event, takes: Vec<Taken>) {
        match self.attempt(key, event.clone(), takes.clone()).await {
            Ok(()) => {}
            Err(TurnError::Unreadable(_)) => {
                self.helped(key, event.clone().unreadable(), Vec::new()).await;
                self.helped(key, event, takes).await;
            }
            Err(TurnError::Failed(reason)) => self.helped(key, event.failed(reason.to_string()), takes).await,
        }
    }

    async fn helped(&self, key: &DialogueKey, event: Event, takes: Vec<Taken>) {
        let outcome = self.attempt(key, event, takes).await;
        outcome.unwrap_or_else(|error| panic!("the turn after a failed turn failed: {error}"));
    }

    async fn attempt(&self, key: &DialogueKey, event: Event, takes: Vec<Taken>) -> Result<(), TurnError> {
        let mut refusal = None;
        for _ in 0..REFUSALS_MAX {
            let Opened::At { version, stored } = self.ok(self.0.store.open(key, None).await) else { return Ok(()) };
            let now = self.0.clock.now();
            let context = Arc::clone(&self.0.context);
            let moment =
                Moment { key: key.clone(), version, stored, event: event.clone(), now, refusal, context, place: None };
            let run = AssertUnwindSafe(self.0.script.run(moment)).catch_unwind();
            let outcome = run.await.unwrap_or_else(|_| Err(TurnError::failed("the handler panicked")))?;
            let Outcome { state, outgoing, timers, effects, transition, writes, hearing, lost_result: _ } = outcome;
            if let Hearing::Unheard(reason) = hearing {
                self.keep_unheard(key, &event, (takes, reason)).await;
                return Ok(());
            }
            let transition = transition.map(|(from, to, by)| Transition { from, to, by: by.into(), took_us: 0 });
            let said = outgoing.clone();
            let commit = Commit {
                key: key.clone(),
                from: version,
                takes: takes.clone(),
                state,
                outgoing,
                timers,
                effects,
                transition,
                writes,
                at: now,
            };
            match self.0.store.commit(self.epoch().await, commit).await {
                Ok(committed) => {
                    let labelled = self.0.rooms.lock().show(said);
                    let settled = committed.outbox.into_iter().zip(labelled);
                    let settled = settled.map(|(id, labelled)| Settled { id, outcome: Settlement::Sent { labelled } });
                    self.ok(self.0.store.settle(self.epoch().await, settled.collect(), now).await);
                    return Ok(());
                }
                Err(StoreError::Refused(reason)) => refusal = Some(reason),
                Err(error) => panic!("a commit failed: {error}"),
            }
        }
        Err(TurnError::failed("its writes were refused again and again"))
    }

    /// As a bot does: the input becomes a row for the operator.
    async fn keep_unheard(&self, key: &DialogueKey, event: &Event, (takes, reason): (Vec<Taken>, String)) {
        let kind = format!("{}{}", Parked::UNHEARD, event.name());
        let parked = Parked { at: self.0.clock.now(), ..Parked::new(key.clone(), &kind, String::new(), reason, 1) };
        self.ok(self.0.store.park(self.epoch().await, takes, parked, Vec::new()).await);
    }
}

pub(super) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("not JSON: {error}: {text}"))
}
