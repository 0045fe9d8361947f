//! What a commit asks for, kept back from what went into it.

use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{EffectId, EffectRow, OutboxId, OutboxRow, StateChange, Stored, TimerChange};
use crate::turn::Outcome;

/// What is needed after a commit of what went into it.
pub(super) struct After {
    pub(super) stored: Option<Stored>,
    pub(super) outgoing: Vec<OutboxRow>,
    pub(super) effects: Vec<EffectRow>,
    /// The earliest timer or end of life that the turn has set.
    pub(super) first_due: Option<Millis>,
}

impl After {
    pub(super) fn of(outcome: &Outcome, before: Option<Stored>, key: &DialogueKey, at: Millis) -> Self {
        let stored = match &outcome.state {
            StateChange::Keep => before,
            StateChange::Set(stored) => Some(stored.clone()),
            StateChange::Clear => None,
        };
        let outgoing = outcome.outgoing.iter().map(|outgoing| OutboxRow {
            id: OutboxId::default(),
            key: key.clone(),
            outgoing: outgoing.clone(),
            was_sending: false,
            at,
        });
        let effects = outcome.effects.iter().map(|effect| EffectRow {
            id: EffectId::default(),
            key: key.clone(),
            effect: effect.clone(),
            at,
        });
        let timers = outcome.timers.iter().filter_map(|timer| match timer {
            TimerChange::Set { due_at, .. } => Some(*due_at),
            TimerChange::Cancel(_) => None,
        });
        let first_due = timers.chain(stored.as_ref().and_then(|stored| stored.expires_at)).min();
        Self { outgoing: outgoing.collect(), effects: effects.collect(), first_due, stored }
    }
}
