//! The record of a decision: a turn's whole commit, as it is kept in SQL.

use serde::{Deserialize, Serialize};

use super::recent::Recent;
use crate::key::DialogueKey;
use crate::store::{Commit, Epoch, OutboxId, StoreError, StoreResult, Taken};

/// The form of a record that this version writes and reads.
const FORM: u32 = 1;

/// A turn that stands, because the application's writes are done.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Decision {
    form: u32,
    /// Who decided it.
    pub(super) epoch: Epoch,
    /// The numbers of its messages, timers, effects and transition, in this order: whenever it is carried out, they are
    /// the same.
    pub(super) numbers: Vec<i64>,
    /// Everything but the application's writes.
    pub(super) commit: Commit,
}

impl Decision {
    pub(super) fn new(epoch: Epoch, commit: Commit, numbers: Vec<i64>) -> Self {
        Self { form: FORM, epoch, numbers, commit }
    }

    /// Leaves out the messages that were settled already; theirs are the first numbers.
    pub(super) fn leave_out(&mut self, settled: &Recent) {
        let mut place = 0;
        while place < self.commit.outgoing.len().min(self.numbers.len()) {
            if settled.has(OutboxId(self.numbers[place])) {
                self.numbers.remove(place);
                self.commit.outgoing.remove(place);
            } else {
                place += 1;
            }
        }
    }

    /// Leaves out the messages that are secret; whether there were any.
    pub(super) fn leave_secrets_out(&mut self) -> bool {
        let before = self.commit.outgoing.len();
        for place in (0..before).rev() {
            if self.commit.outgoing[place].secret && place < self.numbers.len() {
                self.numbers.remove(place);
                self.commit.outgoing.remove(place);
            }
        }
        self.commit.outgoing.len() < before
    }

    /// Whether it holds secret messages.
    pub(super) fn has_secrets(&self) -> bool {
        self.commit.outgoing.iter().any(|outgoing| outgoing.secret)
    }

    /// What recognises the inputs that it takes, among those of its bot.
    pub(super) fn inputs(&self) -> Result<Vec<String>, serde_json::Error> {
        self.commit.takes.iter().map(input).collect()
    }

    /// Reads a record of a conversation.
    pub(super) fn read(key: &DialogueKey, body: &str) -> StoreResult<Self> {
        let unreadable = |source| StoreError::Unreadable { key: key.clone(), source };
        match serde_json::from_str::<Self>(body) {
            Ok(decision) if decision.form == FORM => Ok(decision),
            Ok(decision) => Err(unreadable(format!("a decision has the form {}", decision.form).into())),
            Err(error) => Err(unreadable(error.into())),
        }
    }
}

/// What recognises an input among those of its bot.
pub(super) fn input(taken: &Taken) -> Result<String, serde_json::Error> {
    match taken {
        Taken::Update { mark, .. } | Taken::Fresh(mark) => {
            serde_json::to_string(&("update", mark.update_id, &mark.identity))
        }
        Taken::Outcome(seq) => serde_json::to_string(&("outcome", seq)),
        Taken::Timer(id) => serde_json::to_string(&("timer", id)),
        Taken::Parked(id) => serde_json::to_string(&("parked", id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Millis;
    use crate::store::{
        Effect, IfUnsure, Mark, Outgoing, Place, Seq, StateChange, Stored, TimerChange, TimerId, Transition, Version,
    };

    fn everything() -> Commit {
        let place = |state: &str| Place { dialogue: "d".into(), state: state.into() };
        let mark = Mark { bot: 7, update_id: 1, identity: "message:1\u{0}".into() };
        let outgoing = Outgoing {
            chat: Some(5),
            method: "sendMessage".into(),
            body: "{}".into(),
            uploads: Vec::new(),
            if_unsure: IfUnsure::Drop,
            label: Some("menu".into()),
            edits_label: None,
            secret: false,
        };
        Commit {
            takes: vec![
                Taken::Update { seq: Seq(3), mark: mark.clone() },
                Taken::Fresh(mark),
                Taken::Timer(TimerId(4)),
            ],
            state: StateChange::Set(Stored {
                value: "{}".into(),
                places: vec![place("a")],
                expires_at: Some(Millis(9)),
            }),
            outgoing: vec![outgoing],
            timers: vec![
                TimerChange::Set { name: "remind".into(), due_at: Millis(8), body: "{}".into() },
                TimerChange::Cancel("close".into()),
            ],
            effects: vec![Effect { kind: "download".into(), body: "{}".into() }],
            transition: Some(Transition { from: None, to: Some(place("a")), by: "text".into(), took_us: 3 }),
            ..Commit::new(DialogueKey::private(7, 5), Version(2), Millis(1))
        }
    }

    #[test]
    fn a_record_reads_back_whole() {
        let decision = Decision::new(Epoch(2), everything(), vec![10, 26, 42, 58]);
        let body = serde_json::to_string(&decision).unwrap();
        assert!(!body.contains('\u{0}'), "PostgreSQL keeps no NUL");
        let read = Decision::read(&decision.commit.key, &body).unwrap();
        assert_eq!(format!("{read:?}"), format!("{decision:?}"));
    }

    #[test]
    fn a_message_that_was_settled_is_left_out_and_the_other_numbers_stay() {
        let mut decision = Decision::new(Epoch(2), everything(), vec![10, 26, 42, 58]);
        let mut settled = Recent::default();
        settled.note([26, 42].map(OutboxId).into_iter());
        decision.leave_out(&settled);
        assert_eq!((decision.commit.outgoing.len(), decision.numbers.len()), (1, 4), "these are no messages' numbers");
        settled.note(std::iter::once(OutboxId(10)));
        decision.leave_out(&settled);
        assert_eq!((decision.commit.outgoing.len(), &*decision.numbers), (0, &[26, 42, 58][..]));
    }

    #[test]
    fn a_record_of_a_later_form_is_told_apart() {
        let mut decision = Decision::new(Epoch(2), everything(), Vec::new());
        decision.form = 2;
        let body = serde_json::to_string(&decision).unwrap();
        for body in [&*body, "{}", "what"] {
            let refused = Decision::read(&decision.commit.key, body);
            assert!(matches!(refused, Err(StoreError::Unreadable { .. })), "{refused:?}");
        }
    }

    #[test]
    fn an_update_is_one_input_whether_it_waited_or_not() {
        let inputs = Decision::new(Epoch(2), everything(), Vec::new()).inputs().unwrap();
        assert_eq!(inputs[0], inputs[1]);
        assert_eq!(inputs[2], r#"["timer",4]"#);
    }
}
