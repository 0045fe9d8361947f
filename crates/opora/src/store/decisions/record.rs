//! The decision record: a turn's whole commit, stored in SQL.

use serde::{Deserialize, Serialize};

use crate::key::ConversationKey;
use crate::store::{Commit, Epoch, Generations, InputRef, OutboxId, StoreError, StoreResult};

/// The format of a record that this version writes and reads.
const FORM: u32 = 1;

/// A decided turn: the application's writes are done.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Decision {
    form: u32,
    /// The epoch that decided it.
    pub(super) epoch: Epoch,
    /// The ids of its messages, timers, effects and transition, in this order. They are the same each time it is
    /// carried out.
    pub(super) numbers: Vec<i64>,
    /// Up to where every input of the conversation had left the inbox with this turn. A Redis that lost earlier turns
    /// still has their inputs, and this turn's state is past them.
    pub(super) inbox_floor: String,
    /// The commit without the application's writes.
    pub(super) commit: Commit,
}

impl Decision {
    pub(super) fn new(epoch: Epoch, commit: Commit, numbers: Vec<i64>, inbox_floor: String) -> Self {
        Self { form: FORM, epoch, numbers, inbox_floor, commit }
    }

    /// Removes messages that were settled already. The ids of messages come first in `numbers`.
    pub(super) fn remove_settled(&mut self, settled: &Generations<OutboxId, ()>) {
        let mut index = 0;
        while index < self.commit.outgoing.len().min(self.numbers.len()) {
            if settled.get(&OutboxId(self.numbers[index])).is_some() {
                self.numbers.remove(index);
                self.commit.outgoing.remove(index);
            } else {
                index += 1;
            }
        }
    }

    /// Removes secret messages. True if there were any.
    pub(super) fn remove_secrets(&mut self) -> bool {
        let before = self.commit.outgoing.len();
        for index in (0..before).rev() {
            if self.commit.outgoing[index].extras.secret && index < self.numbers.len() {
                self.numbers.remove(index);
                self.commit.outgoing.remove(index);
            }
        }
        self.commit.outgoing.len() < before
    }

    pub(super) fn has_secrets(&self) -> bool {
        self.commit.outgoing.iter().any(|outgoing| outgoing.extras.secret)
    }

    /// Keys that identify its inputs within the bot.
    pub(super) fn inputs(&self) -> Result<Vec<String>, serde_json::Error> {
        self.commit.processed.iter().map(input).collect()
    }

    /// Reads a record of a conversation.
    pub(super) fn read(key: &ConversationKey, body: &str) -> StoreResult<Self> {
        let unreadable = |source| StoreError::Unreadable { key: key.clone(), source };
        match serde_json::from_str::<Self>(body) {
            Ok(decision) if decision.form == FORM => Ok(decision),
            Ok(decision) => Err(unreadable(format!("unknown format {} of a decision", decision.form).into())),
            Err(error) => Err(unreadable(error.into())),
        }
    }
}

/// The key that identifies an input within its bot.
pub(super) fn input(input_ref: &InputRef) -> Result<String, serde_json::Error> {
    match input_ref {
        InputRef::Update { mark, .. } | InputRef::DirectUpdate(mark) => {
            serde_json::to_string(&("update", mark.update_id, &mark.identity))
        }
        InputRef::Outcome(seq) => serde_json::to_string(&("outcome", seq)),
        InputRef::Timer(id) => serde_json::to_string(&("timer", id)),
        InputRef::Parked(id) => serde_json::to_string(&("parked", id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Millis;
    use crate::store::{
        Effect, IfUnsure, Mark, Outgoing, OutgoingExtras, Seq, StateChange, StateName, StoredState, TimerChange,
        TimerId, Transition, Version,
    };

    fn everything() -> Commit {
        let state_name = |state: &str| StateName { dialogue: "d".into(), state: state.into() };
        let mark = Mark { bot: 7, update_id: 1, identity: "message:1\u{0}".into() };
        let outgoing = Outgoing {
            chat: Some(5),
            method: "sendMessage".into(),
            body: "{}".into(),
            extras: OutgoingExtras {
                if_unsure: IfUnsure::Drop,
                label: Some("menu".into()),
                low_priority: true,
                ..OutgoingExtras::default()
            },
        };
        Commit {
            processed: vec![
                InputRef::Update { seq: Seq(3), mark: mark.clone() },
                InputRef::DirectUpdate(mark),
                InputRef::Timer(TimerId(4)),
            ],
            state: StateChange::Set(StoredState {
                value: "{}".into(),
                states: vec![state_name("a")],
                expires_at: Some(Millis(9)),
            }),
            outgoing: vec![outgoing],
            timers: vec![
                TimerChange::Set { name: "remind".into(), due_at: Millis(8), body: "{}".into() },
                TimerChange::Cancel("close".into()),
            ],
            effects: vec![Effect { kind: "download".into(), body: "{}".into() }],
            transition: Some(Transition { from: None, to: Some(state_name("a")), by: "text".into(), took_us: 3 }),
            ..Commit::new(ConversationKey::private(7, 5), Version(2), Millis(1))
        }
    }

    #[test]
    fn a_record_reads_back_whole() {
        let decision = Decision::new(Epoch(2), everything(), vec![10, 26, 42, 58], String::new());
        let body = serde_json::to_string(&decision).unwrap();
        assert!(!body.contains('\u{0}'), "PostgreSQL keeps no NUL");
        let read = Decision::read(&decision.commit.key, &body).unwrap();
        assert_eq!(format!("{read:?}"), format!("{decision:?}"));
    }

    #[test]
    fn settled_messages_are_removed_with_their_ids() {
        let mut decision = Decision::new(Epoch(2), everything(), vec![10, 26, 42, 58], String::new());
        let mut settled = Generations::new(10);
        [26, 42].into_iter().for_each(|id| settled.put(OutboxId(id), ()));
        decision.remove_settled(&settled);
        assert_eq!((decision.commit.outgoing.len(), decision.numbers.len()), (1, 4), "these are not ids of messages");
        settled.put(OutboxId(10), ());
        decision.remove_settled(&settled);
        assert_eq!((decision.commit.outgoing.len(), &*decision.numbers), (0, &[26, 42, 58][..]));
    }

    #[test]
    fn a_record_of_a_later_format_is_refused() {
        let mut decision = Decision::new(Epoch(2), everything(), Vec::new(), String::new());
        decision.form = 2;
        let body = serde_json::to_string(&decision).unwrap();
        for body in [&*body, "{}", "what"] {
            let refused = Decision::read(&decision.commit.key, body);
            assert!(matches!(refused, Err(StoreError::Unreadable { .. })), "{refused:?}");
        }
    }

    #[test]
    fn an_update_is_one_input_waiting_or_direct() {
        let inputs = Decision::new(Epoch(2), everything(), Vec::new(), String::new()).inputs().unwrap();
        assert_eq!(inputs[0], inputs[1]);
        assert_eq!(inputs[2], r#"["timer",4]"#);
    }
}
