//! What a turn wants, until it commits.

use serde_json::value::RawValue;

use super::{Asker, TurnError, Wrapped, effect_body};
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

/// A change to a timer; who asks is known only when the turn has ended.
#[derive(Debug)]
pub(crate) enum Timing {
    Set { slot: Box<str>, name: Box<str>, due_at: Millis, body: Box<RawValue> },
    Cancel { slot: Box<str>, name: Box<str> },
}

/// Work outside; who asks is known only when the turn has ended.
#[derive(Debug)]
pub(crate) struct Asking {
    slot: Box<str>,
    kind: Box<str>,
    body: Box<RawValue>,
}

impl Wishes {
    pub fn put(&mut self, outgoing: Outgoing) {
        if self.outgoing.len() >= WISHES_MAX {
            return self.fail(format!("a turn says too much: more than {WISHES_MAX} messages"));
        }
        self.outgoing.push(outgoing);
    }

    pub fn time(&mut self, timing: Timing) {
        if self.timers.len() >= WISHES_MAX {
            return self.fail(format!("a turn sets more than {WISHES_MAX} timers"));
        }
        self.timers.push(timing);
    }

    pub fn ask(&mut self, slot: Box<str>, kind: Box<str>, body: Box<RawValue>) {
        if self.effects.len() >= WISHES_MAX {
            return self.fail(format!("a turn asks for more than {WISHES_MAX} effects"));
        }
        self.effects.push(Asking { slot, kind, body });
    }

    pub fn fail(&mut self, reason: impl Into<String>) {
        self.trouble.get_or_insert_with(|| reason.into());
    }

    /// An error if anything that was wanted cannot be.
    pub fn check(&mut self) -> Result<(), TurnError> {
        self.trouble.take().map_or(Ok(()), |trouble| Err(TurnError::failed(trouble)))
    }

    /// The timers, with who asked.
    pub fn take_timers(&mut self, asker: impl Fn(&str) -> Asker) -> Result<Vec<TimerChange>, TurnError> {
        let timers = std::mem::take(&mut self.timers).into_iter().map(|timing| match timing {
            Timing::Set { slot, name, due_at, body } => {
                let body = wrapped(asker(&slot), &body)?;
                Ok(TimerChange::Set { name: stored_name(&slot, name), due_at, body })
            }
            Timing::Cancel { slot, name } => Ok(TimerChange::Cancel(stored_name(&slot, name))),
        });
        timers.collect()
    }

    /// The effects, with who asked and each with its key.
    pub fn take_effects(&mut self, asker: impl Fn(&str) -> Asker) -> Result<Vec<Effect>, TurnError> {
        let effects = std::mem::take(&mut self.effects).into_iter().map(|Asking { slot, kind, body }| {
            let body = effect_body(asker(&slot), &body).map_err(TurnError::failed)?;
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
fn stored_name(slot: &str, name: Box<str>) -> Box<str> {
    if slot.is_empty() { name } else { format!("{slot}/{name}").into() }
}

fn wrapped(by: Asker, body: &RawValue) -> Result<Box<str>, TurnError> {
    let text = serde_json::to_string(&Wrapped { by, body }).map_err(TurnError::failed)?;
    Ok(text.into())
}
