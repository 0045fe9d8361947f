//! Where a dialogue goes: what a handler's answer does to the conversation.

use super::conversation::{Frame, STACK_MAX, Slot};
use super::flow::Flow;
use super::next::{Child, Move, Written};
use super::play::Play;
use crate::input::{Input, Returned};
use crate::turn::TurnError;

/// How a handler was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Via {
    /// By an entry: where it leads takes the place of what is open.
    Entry,
    /// By the dialogue that speaks: where it leads is where that goes.
    State,
}

/// What is left to do after a move.
enum After {
    Done,
    /// The state asks its question, if it has one.
    Ask,
    /// The same; without a question the person is told that the dialogue goes on.
    GoOn,
    /// The parent hears that its child has ended.
    Return(Returned),
}

/// Children that end at once, one after another, in one turn.
const RETURNS_MAX: usize = 16;

impl<'s> Play<'s> {
    /// Goes where a handler says, and on, until somebody waits for the person again.
    pub async fn apply(&mut self, flow: &'s Flow, via: Via, next: Move) -> Result<(), TurnError> {
        let mut after = self.shift(flow, via, next)?;
        for _ in 0..RETURNS_MAX {
            match after {
                After::Done => return self.ask_opened().await,
                After::Ask => {
                    self.ask().await?;
                    return self.ask_opened().await;
                }
                After::GoOn => {
                    self.go_on().await?;
                    return self.ask_opened().await;
                }
                After::Return(returned) => after = self.give_back(returned).await?,
            }
        }
        Err(TurnError::failed(format!("more than {RETURNS_MAX} dialogues ended in one turn")))
    }

    /// The dialogue goes on where it was before.
    pub async fn go_on(&mut self) -> Result<(), TurnError> {
        if !self.ask().await? {
            self.tell(|texts, language| texts.go_on(language)).await;
        }
        Ok(())
    }

    /// Lets the parent, which speaks again, hear of its child's end.
    async fn give_back(&mut self, returned: Returned) -> Result<After, TurnError> {
        self.refresh_top()?;
        let input = Input::Returned(returned);
        let Some((flow, top)) = self.speaking().zip(self.top()) else { return Ok(After::Done) };
        let Some((which, _)) = flow.at(&top.at, &input) else {
            if let Input::Returned(Returned { dialogue, value: Some(_) }) = input {
                self.lost_result = Some(dialogue);
            }
            return Ok(After::GoOn);
        };
        let depth = self.turn.talk.slot(&self.turn.slot).map_or(0, |slot| slot.stack.len() - 1);
        self.acted = flow.name;
        let next = flow.play(which, &mut self.turn, depth, &input)?.await?;
        self.shift(flow, Via::State, next)
    }

    /// Dialogues that a handler has opened beside its own ask their first questions.
    async fn ask_opened(&mut self) -> Result<(), TurnError> {
        for slot in std::mem::take(&mut self.turn.wishes.opened) {
            let here = std::mem::replace(&mut self.turn.slot, slot);
            if let Some(top) = self.top() {
                self.script.registered(&top.dialogue)?;
            }
            self.ask().await?;
            self.turn.slot = here;
        }
        Ok(())
    }

    fn shift(&mut self, flow: &'s Flow, via: Via, next: Move) -> Result<After, TurnError> {
        match (via, next) {
            (_, Move::Stay) => Ok(After::Done),
            (_, Move::Again) => Ok(After::Ask),
            (Via::Entry, Move::Keep(state) | Move::Go(state)) => {
                self.begin(flow, state);
                Ok(After::Ask)
            }
            (Via::Entry, Move::End) => {
                self.turn.talk.close(&self.turn.slot);
                Ok(After::Done)
            }
            (Via::Entry, Move::Call(state, child)) => {
                if let Some(state) = state {
                    self.begin(flow, state);
                }
                self.call(child)
            }
            (Via::State, Move::Keep(state)) if self.top().is_some_and(|top| *top.at == *state.name) => {
                if let Some(top) = self.turn.talk.top_mut(&self.turn.slot) {
                    top.state = state.state;
                }
                Ok(After::Done)
            }
            (Via::State, Move::Keep(state) | Move::Go(state)) => {
                self.go(flow, state);
                Ok(After::Ask)
            }
            (Via::State, Move::End) => Ok(self.end()),
            (Via::State, Move::Call(state, child)) => {
                if let Some(state) = state {
                    self.go(flow, state);
                }
                self.call(child)
            }
            (_, Move::Back) => Ok(self.back()),
        }
    }

    /// What a dialogue that waits for its child may do when a timer or an outcome reaches it.
    pub fn apply_below(&mut self, flow: &'s Flow, depth: usize, next: Move) -> Result<(), TurnError> {
        let made = self.turn.made;
        let slot = self.turn.talk.slot_mut(&self.turn.slot);
        let Some(frame) = slot.and_then(|slot| slot.stack.get_mut(depth)) else { return Ok(()) };
        match next {
            Move::Stay | Move::Again => Ok(()),
            Move::Keep(state) if *frame.at == *state.name => {
                frame.state = state.state;
                Ok(())
            }
            Move::Keep(state) | Move::Go(state) => {
                frame.go(state.name.into(), state.state, made, flow.history_max);
                Ok(())
            }
            Move::Back | Move::End | Move::Call(..) => {
                let name = flow.name;
                Err(TurnError::failed(format!("`{name}` waits for its child: it can only stay, keep or go")))
            }
        }
    }

    /// Begins a dialogue that the application's restore hook knows; false if it knows nothing.
    pub fn begin_restored(&mut self, flow: &'s Flow, next: Move) -> Result<bool, TurnError> {
        match next {
            Move::Go(state) | Move::Keep(state) => {
                self.begin(flow, state);
                Ok(true)
            }
            Move::Stay | Move::End => Ok(false),
            Move::Again | Move::Back | Move::Call(..) => {
                Err(TurnError::failed(format!("the restore hook of `{}` can only go or stay", flow.name)))
            }
        }
    }

    /// Begins a dialogue in place of what is open in the turn's slot.
    fn begin(&mut self, flow: &Flow, state: Written) {
        let made = self.turn.made;
        let slot = self.slot();
        slot.kept.clear();
        slot.stack.clear();
        slot.stack.push(Frame {
            dialogue: flow.name.into(),
            schema: flow.schema,
            at: state.name.into(),
            state: state.state,
            entry: made,
            history: Vec::new(),
            until: None,
        });
        // What ended here has nothing to do with how long this one lives.
        slot.until = None;
        slot.entered(made);
    }

    fn go(&mut self, flow: &Flow, state: Written) {
        let made = self.turn.made;
        let slot = self.slot();
        if let Some(top) = slot.stack.last_mut() {
            top.go(state.name.into(), state.state, made, flow.history_max);
        }
        slot.entered(made);
    }

    fn back(&mut self) -> After {
        let made = self.turn.made;
        let slot = self.slot();
        match slot.stack.last_mut().map(Frame::back) {
            Some(true) => {
                slot.entered(made);
                After::GoOn
            }
            Some(false) if slot.stack.len() > 1 => self.end(),
            Some(false) => After::Ask,
            None => After::Done,
        }
    }

    fn end(&mut self) -> After {
        let made = self.turn.made;
        let slot = self.slot();
        let ended = slot.stack.pop();
        if slot.stack.is_empty() {
            let name = self.turn.slot.clone();
            self.turn.talk.close(&name);
            return After::Done;
        }
        slot.came_back(made);
        let value = self.turn.take_given();
        self.live_on_as_before();
        ended.map_or(After::Done, |ended| After::Return(Returned { dialogue: ended.dialogue, value }))
    }

    fn call(&mut self, child: Child) -> Result<After, TurnError> {
        self.script.registered(child.dialogue)?;
        let made = self.turn.made;
        let frame = Frame::begin(child, made).map_err(TurnError::failed)?;
        let slot = self.slot();
        if slot.stack.len() >= STACK_MAX {
            return Err(TurnError::failed(format!("more than {STACK_MAX} dialogues would wait for one another")));
        }
        slot.kept.clear();
        slot.stack.push(frame);
        slot.entered(made);
        self.wait_for_child();
        Ok(After::Ask)
    }

    /// The turn's slot; it is there from now on.
    fn slot(&mut self) -> &mut Slot {
        self.turn.talk.slot_or_new(&self.turn.slot)
    }
}
