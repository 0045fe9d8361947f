//! What refused commits leave behind in a store that does not undo them completely.

use opora::key::ConversationKey;
use opora::store::{
    Commit, EffectId, EffectRow, InputRef, Mark, OutboxId, OutboxRow, Seq, StateChange, StoredState, TimerChange,
    TimerId, TimerRow, TransitionRow, Version,
};

use super::Piece;

#[derive(Debug, Default)]
pub struct Leftovers {
    pub states: Vec<(ConversationKey, StoredState)>,
    pub outbox: Vec<OutboxRow>,
    pub timers: Vec<TimerRow>,
    pub effects: Vec<EffectRow>,
    pub transitions: Vec<TransitionRow>,
    pub rows_taken: Vec<Seq>,
    pub delivered: Vec<Seq>,
    pub marks_taken: Vec<Mark>,
}

impl Leftovers {
    /// The part of a commit that stays when the rest is refused.
    pub fn of(piece: Piece, commit: &Commit) -> Self {
        let mut remains = Self::default();
        let (key, at) = (|| commit.key.clone(), commit.at);
        match (piece, &commit.state, &commit.timers[..]) {
            (Piece::State, StateChange::Set(stored), _) => remains.states.push((key(), stored.clone())),
            (Piece::Outgoing, ..) => remains.outbox.extend(commit.outgoing.iter().map(|outgoing| OutboxRow {
                id: OutboxId(i64::MAX),
                key: key(),
                outgoing: outgoing.clone(),
                was_sending: false,
                at,
            })),
            (Piece::Timer, _, [TimerChange::Set { name, due_at, body }]) => remains.timers.push(TimerRow {
                id: TimerId(i64::MAX),
                key: key(),
                name: name.clone(),
                due_at: *due_at,
                body: body.clone(),
            }),
            (Piece::Effect, ..) => remains.effects.extend(commit.effects.iter().map(|effect| EffectRow {
                id: EffectId(i64::MAX),
                key: key(),
                effect: effect.clone(),
                at,
            })),
            (Piece::Transition, ..) => remains.transitions.extend(commit.transition.iter().map(|transition| {
                let (from, to) = (transition.from.clone(), transition.to.clone());
                let (by, took_us) = (transition.by.to_string(), transition.took_us);
                TransitionRow { id: i64::MAX, key: key(), version: Version(1), at, from, to, by, took_us }
            })),
            (Piece::Take | Piece::Mark, ..) => remains.take(piece, &commit.processed),
            _ => (),
        }
        remains
    }

    fn take(&mut self, piece: Piece, processed: &[InputRef]) {
        for taken in processed {
            match (piece, taken) {
                (Piece::Take, InputRef::Update { seq, .. } | InputRef::Outcome(seq)) => self.rows_taken.push(*seq),
                (Piece::Mark, InputRef::Update { mark, .. }) => self.marks_taken.push(mark.clone()),
                _ => (),
            }
        }
    }
}
