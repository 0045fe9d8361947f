//! What remains to do after a commit.

use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{EffectId, EffectRow, OutboxId, OutboxRow, StateChange, StoredState, TimerChange};
use crate::turn::TurnResult;

/// The parts of a turn that are needed after its commit.
pub(super) struct PostCommit {
    pub(super) stored: Option<StoredState>,
    pub(super) outgoing: Vec<OutboxRow>,
    pub(super) effects: Vec<EffectRow>,
    /// The earliest timer or expiry that the turn has set.
    pub(super) first_due: Option<Millis>,
}

impl PostCommit {
    pub(super) fn new(result: &TurnResult, before: Option<StoredState>, key: &ConversationKey, at: Millis) -> Self {
        let stored = match &result.state {
            StateChange::Keep => before,
            StateChange::Set(stored) => Some(stored.clone()),
            StateChange::Clear => None,
        };
        let outgoing = result.outgoing.iter().map(|outgoing| OutboxRow {
            id: OutboxId::default(),
            key: key.clone(),
            outgoing: outgoing.clone(),
            was_sending: false,
            at,
        });
        let effects = result.effects.iter().map(|effect| EffectRow {
            id: EffectId::default(),
            key: key.clone(),
            effect: effect.clone(),
            at,
        });
        let timers = result.timers.iter().filter_map(|timer| match timer {
            TimerChange::Set { due_at, .. } => Some(*due_at),
            TimerChange::Cancel(_) => None,
        });
        let first_due = timers.chain(stored.as_ref().and_then(|stored| stored.expires_at)).min();
        Self { outgoing: outgoing.collect(), effects: effects.collect(), first_due, stored }
    }
}
