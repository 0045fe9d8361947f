//! The output of a turn, collected while its handlers run.

use serde_json::value::RawValue;

use super::{RunningHandler, TurnError};
use crate::clock::Millis;
use crate::store::requester::{Requester, WithRequester, alarm_name, alarm_of, effect_body, unbound_timer_body};
use crate::store::{DomainWrites, Effect, NewJob, Outgoing, TimerChange};

/// How many messages, timers, effects and jobs one turn may have, each.
const OUTPUTS_MAX: usize = 100;

/// What a turn asks for: messages, timers, effects, SQL writes.
#[derive(Debug, Default)]
pub(crate) struct TurnOutput {
    pub outgoing: Vec<Outgoing>,
    pub timers: Vec<RequestedTimer>,
    pub effects: Vec<RequestedEffect>,
    pub writes: Vec<DomainWrites>,
    pub jobs: Vec<NewJob>,
    /// The text for the pressed button, and whether it is an alert.
    pub answer: Option<(String, bool)>,
    /// Whether the handler refused the input. A pressed button then stays usable.
    pub refused: bool,
    /// The value that a child returns to its parent.
    pub return_value: Option<Box<RawValue>>,
    /// Names of the tracks that were opened.
    pub opened: Vec<Box<str>>,
    /// The first mistake of a handler. It fails the turn.
    mistake: Option<String>,
}

/// A change to a timer or an alarm. The state that a timer is bound to is known only at the end of the turn.
#[derive(Debug)]
pub(crate) enum RequestedTimer {
    Set { by: RunningHandler, name: Box<str>, due_at: Millis, body: Box<RawValue> },
    Cancel { by: RunningHandler, name: Box<str> },
    SetAlarm { name: Box<str>, due_at: Millis, body: Box<RawValue> },
    CancelAlarm { name: Box<str> },
}

/// An effect. The state that waits for its outcome is known only at the end of the turn.
#[derive(Debug)]
pub(crate) struct RequestedEffect {
    pub by: RunningHandler,
    pub kind: Box<str>,
    pub body: Box<RawValue>,
    /// Whether no handler waits for its success.
    pub unawaited: bool,
}

impl TurnOutput {
    pub fn add_message(&mut self, outgoing: Outgoing) {
        if self.outgoing.len() >= OUTPUTS_MAX {
            return self.fail(format!("a turn says more than {OUTPUTS_MAX} messages"));
        }
        self.outgoing.push(outgoing);
    }

    pub fn add_timer(&mut self, timer: RequestedTimer) {
        if let RequestedTimer::Set { name, .. } = &timer
            && alarm_of(name).is_some()
        {
            return self.fail(format!("a timer cannot be called `{name}`: that is the name of an alarm"));
        }
        if self.timers.len() >= OUTPUTS_MAX {
            return self.fail(format!("a turn sets more than {OUTPUTS_MAX} timers"));
        }
        self.timers.push(timer);
    }

    pub fn add_effect(&mut self, effect: RequestedEffect) {
        if self.effects.len() >= OUTPUTS_MAX {
            return self.fail(format!("a turn asks for more than {OUTPUTS_MAX} effects"));
        }
        self.effects.push(effect);
    }

    pub fn add_job(&mut self, job: NewJob) {
        if let Some(mistake) = &job.mistake {
            return self.fail(mistake.clone());
        }
        if self.jobs.len() >= OUTPUTS_MAX {
            return self.fail(format!("a turn enqueues more than {OUTPUTS_MAX} jobs"));
        }
        self.jobs.push(job);
    }

    pub fn fail(&mut self, reason: impl Into<String>) {
        self.mistake.get_or_insert_with(|| reason.into());
    }

    /// An error if a handler made a mistake.
    pub fn check(&mut self) -> Result<(), TurnError> {
        self.mistake.take().map_or(Ok(()), |mistake| Err(TurnError::failed(mistake)))
    }

    /// Takes the timers, with their requesters, and the alarms.
    pub fn take_timers(
        &mut self,
        requester: impl Fn(&RunningHandler) -> Requester,
    ) -> Result<Vec<TimerChange>, TurnError> {
        let mut changes = Vec::with_capacity(self.timers.len());
        for timer in std::mem::take(&mut self.timers) {
            match timer {
                RequestedTimer::Set { by, name, due_at, body } => {
                    let by = requester(&by);
                    let name = stored_name(&by.track, &name);
                    changes.push(TimerChange::Set { name, due_at, body: wrapped(by, &body)? });
                }
                RequestedTimer::Cancel { by, name } => {
                    let bound = requester(&by);
                    changes.push(TimerChange::Cancel(stored_name(&bound.track, &name)));
                    // The handler's state has ended in this turn. Its timer is stored under the name of its track.
                    if !bound.is_bound() && by.depth.is_some() && !by.track.is_empty() {
                        changes.push(TimerChange::Cancel(stored_name(&by.track, &name)));
                    }
                }
                RequestedTimer::SetAlarm { name, due_at, body } => {
                    let body = unbound_timer_body(&body).map_err(TurnError::failed)?.into();
                    changes.push(TimerChange::Set { name: alarm_name(&name).into(), due_at, body });
                }
                RequestedTimer::CancelAlarm { name } => changes.push(TimerChange::Cancel(alarm_name(&name).into())),
            }
        }
        Ok(changes)
    }

    /// Takes the effects, with their requesters and keys.
    pub fn take_effects(&mut self, requester: impl Fn(&RunningHandler) -> Requester) -> Result<Vec<Effect>, TurnError> {
        let effects =
            std::mem::take(&mut self.effects).into_iter().map(|RequestedEffect { by, kind, body, unawaited }| {
                let body = effect_body(requester(&by), unawaited, &body).map_err(TurnError::failed)?;
                Ok(Effect { kind, body: body.into() })
            });
        effects.collect()
    }

    /// Takes all writes as one, in their order.
    pub fn take_writes(&mut self) -> Option<DomainWrites> {
        let mut all = std::mem::take(&mut self.writes);
        if all.len() < 2 {
            return all.pop();
        }
        Some(DomainWrites::new(move |database| {
            Box::pin(async move {
                for writes in all {
                    writes.run(database).await?;
                }
                Ok(())
            })
        }))
    }
}

/// The stored name of a timer: timers of different tracks may have the same name.
fn stored_name(track: &str, name: &str) -> Box<str> {
    if track.is_empty() { name.into() } else { format!("{track}/{name}").into() }
}

fn wrapped(by: Requester, body: &RawValue) -> Result<Box<str>, TurnError> {
    let text = serde_json::to_string(&WithRequester { by, body }).map_err(TurnError::failed)?;
    Ok(text.into())
}
