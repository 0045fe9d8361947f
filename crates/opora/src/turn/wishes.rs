//! What a turn wants, until it commits.

use serde_json::value::RawValue;

use super::TurnError;
use crate::asking::{Asker, Speaker, Wrapped, alarm_name, alarm_of, effect_body, timer_of_nobody};
use crate::clock::Millis;
use crate::store::{DomainWrites, Effect, Outgoing, TimerChange};

/// The most that one turn may want of each: messages, timers, effects.
const WISHES_MAX: usize = 100;

/// What a turn wants.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    pub outgoing: Vec<Outgoing>,
    pub timers: Vec<Timing>,
    pub effects: Vec<Asking>,
    pub writes: Vec<DomainWrites>,
    /// The text for the pressed button, and whether it is an alert.
    pub answer: Option<(String, bool)>,
    /// The input was refused: a pressed button is not used up.
    pub refused: bool,
    /// What a child gives back.
    pub given: Option<Box<RawValue>>,
    /// Slots that were opened.
    pub opened: Vec<Box<str>>,
    /// The first thing that cannot be.
    trouble: Option<String>,
}

/// A change to a timer or an alarm. The state that a timer is bound to is known only when the turn has ended.
#[derive(Debug)]
pub(crate) enum Timing {
    Set { by: Speaker, name: Box<str>, due_at: Millis, body: Box<RawValue> },
    Cancel { by: Speaker, name: Box<str> },
    SetAlarm { name: Box<str>, due_at: Millis, body: Box<RawValue> },
    CancelAlarm { name: Box<str> },
}

/// Work outside; the state that waits for it is known only when the turn has ended.
#[derive(Debug)]
pub(crate) struct Asking {
    pub by: Speaker,
    pub kind: Box<str>,
    pub body: Box<RawValue>,
    /// No handler waits for its success.
    pub unawaited: bool,
}

impl Wishes {
    pub fn put(&mut self, outgoing: Outgoing) {
        if self.outgoing.len() >= WISHES_MAX {
            return self.fail(format!("a turn says too much: more than {WISHES_MAX} messages"));
        }
        self.outgoing.push(outgoing);
    }

    pub fn time(&mut self, timing: Timing) {
        if let Timing::Set { name, .. } = &timing
            && alarm_of(name).is_some()
        {
            return self.fail(format!("a timer cannot be called `{name}`: that is the name of an alarm"));
        }
        if self.timers.len() >= WISHES_MAX {
            return self.fail(format!("a turn sets more than {WISHES_MAX} timers"));
        }
        self.timers.push(timing);
    }

    pub fn ask(&mut self, asking: Asking) {
        if self.effects.len() >= WISHES_MAX {
            return self.fail(format!("a turn asks for more than {WISHES_MAX} effects"));
        }
        self.effects.push(asking);
    }

    pub fn fail(&mut self, reason: impl Into<String>) {
        self.trouble.get_or_insert_with(|| reason.into());
    }

    /// An error if anything that was wanted cannot be.
    pub fn check(&mut self) -> Result<(), TurnError> {
        self.trouble.take().map_or(Ok(()), |trouble| Err(TurnError::failed(trouble)))
    }

    /// The timers and alarms, each timer with the dialogue that asked.
    pub fn take_timers(&mut self, asker: impl Fn(&Speaker) -> Asker) -> Result<Vec<TimerChange>, TurnError> {
        let mut changes = Vec::with_capacity(self.timers.len());
        for timing in std::mem::take(&mut self.timers) {
            match timing {
                Timing::Set { by, name, due_at, body } => {
                    let by = asker(&by);
                    let name = stored_name(&by.slot, &name);
                    changes.push(TimerChange::Set { name, due_at, body: wrapped(by, &body)? });
                }
                Timing::Cancel { by, name } => {
                    let bound = asker(&by);
                    changes.push(TimerChange::Cancel(stored_name(&bound.slot, &name)));
                    // The state that the handler was given has ended in this turn; its timers have names of their own.
                    if !bound.is_bound() && by.depth.is_some() && !by.slot.is_empty() {
                        changes.push(TimerChange::Cancel(stored_name(&by.slot, &name)));
                    }
                }
                Timing::SetAlarm { name, due_at, body } => {
                    let body = timer_of_nobody(&body).map_err(TurnError::failed)?.into();
                    changes.push(TimerChange::Set { name: alarm_name(&name).into(), due_at, body });
                }
                Timing::CancelAlarm { name } => changes.push(TimerChange::Cancel(alarm_name(&name).into())),
            }
        }
        Ok(changes)
    }

    /// The effects, with the dialogue that asked and each with its key.
    pub fn take_effects(&mut self, asker: impl Fn(&Speaker) -> Asker) -> Result<Vec<Effect>, TurnError> {
        let effects = std::mem::take(&mut self.effects).into_iter().map(|Asking { by, kind, body, unawaited }| {
            let body = effect_body(asker(&by), unawaited, &body).map_err(TurnError::failed)?;
            Ok(Effect { kind, body: body.into() })
        });
        effects.collect()
    }

    /// All writes as one, in their order.
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

/// Timers of dialogues side by side do not meet.
fn stored_name(slot: &str, name: &str) -> Box<str> {
    if slot.is_empty() { name.into() } else { format!("{slot}/{name}").into() }
}

fn wrapped(by: Asker, body: &RawValue) -> Result<Box<str>, TurnError> {
    let text = serde_json::to_string(&Wrapped { by, body }).map_err(TurnError::failed)?;
    Ok(text.into())
}
