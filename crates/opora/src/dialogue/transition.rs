//! Applies what a handler returned to the conversation: the next state, a child, or the end.

use super::conversation::{Frame, STACK_MAX, Track};
use super::definition::DialogueDefinition;
use super::next::{Child, ErasedNext, ErasedState};
use super::run::ScriptRun;
use crate::input::{Input, Returned};
use crate::turn::TurnError;

/// How a handler was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Via {
    /// By an entry: its state replaces what is open.
    Entry,
    /// By a handler of the dialogue on top of the track.
    State,
}

/// What is left to do after a transition.
enum FollowUp {
    Done,
    /// Ask the question of the state, if it has one.
    Ask,
    /// The same, but a state without a question says that the dialogue continues.
    Continue,
    /// Tell the parent that its child has ended.
    Return(Returned),
}

/// How many children may end one after another in one turn.
const RETURNS_MAX: usize = 16;

impl<'s> ScriptRun<'s> {
    /// Applies a handler's result, and those of the parents that it returns to.
    pub async fn apply(
        &mut self,
        definition: &'s DialogueDefinition,
        via: Via,
        next: ErasedNext,
    ) -> Result<(), TurnError> {
        let mut follow_up = self.apply_next(definition, via, next)?;
        for _ in 0..RETURNS_MAX {
            match follow_up {
                FollowUp::Done => return self.ask_opened().await,
                FollowUp::Ask => {
                    self.ask().await?;
                    return self.ask_opened().await;
                }
                FollowUp::Continue => {
                    self.ask_or_continue().await?;
                    return self.ask_opened().await;
                }
                FollowUp::Return(returned) => follow_up = self.return_to_parent(returned).await?,
            }
        }
        Err(TurnError::failed(format!("more than {RETURNS_MAX} dialogues ended in one turn")))
    }

    /// Asks the question of the open state, or says that the dialogue continues.
    pub async fn ask_or_continue(&mut self) -> Result<(), TurnError> {
        if !self.ask().await? {
            self.say_text(|texts, language| texts.answer_again(language)).await;
        }
        Ok(())
    }

    /// Runs the parent's handler for the end of its child.
    async fn return_to_parent(&mut self, returned: Returned) -> Result<FollowUp, TurnError> {
        self.upgrade_top()?;
        let input = Input::Returned(returned);
        let Some((definition, top)) = self.top_definition().zip(self.top()) else { return Ok(FollowUp::Done) };
        let Some((handler, _)) = definition.at(&top.at, &input) else {
            if let Input::Returned(Returned { dialogue, value: Some(_) }) = input {
                self.lost_result = Some(dialogue);
            }
            return Ok(FollowUp::Continue);
        };
        let depth = self.depth();
        self.handled_by = definition.name;
        let next = definition.run(handler, &mut self.turn, depth, &input)?.await?;
        self.apply_next(definition, Via::State, next)
    }

    /// Asks the first questions of the tracks that a handler has opened.
    async fn ask_opened(&mut self) -> Result<(), TurnError> {
        for track in std::mem::take(&mut self.turn.output.opened) {
            let previous_track = std::mem::replace(&mut self.turn.track, track);
            if let Some(top) = self.top() {
                self.script.check_registered(&top.dialogue)?;
            }
            self.ask().await?;
            self.turn.track = previous_track;
        }
        Ok(())
    }

    fn apply_next(
        &mut self,
        definition: &'s DialogueDefinition,
        via: Via,
        next: ErasedNext,
    ) -> Result<FollowUp, TurnError> {
        match (via, next) {
            (_, ErasedNext::Stay) => Ok(FollowUp::Done),
            (_, ErasedNext::AskAgain) => Ok(FollowUp::Ask),
            (Via::Entry, ErasedNext::StayWith(state) | ErasedNext::Go(state)) => {
                self.begin(definition, state);
                Ok(FollowUp::Ask)
            }
            (Via::Entry, ErasedNext::End) => {
                self.turn.conversation.close(&self.turn.track);
                Ok(FollowUp::Done)
            }
            (Via::Entry, ErasedNext::Call(state, child)) => {
                if let Some(state) = state {
                    self.begin(definition, state);
                }
                self.call(child)
            }
            (Via::State, ErasedNext::StayWith(state)) if self.top().is_some_and(|top| *top.at == *state.name) => {
                if let Some(top) = self.turn.conversation.top_mut(&self.turn.track) {
                    top.state = state.state;
                }
                Ok(FollowUp::Done)
            }
            (Via::State, ErasedNext::StayWith(state) | ErasedNext::Go(state)) => {
                self.go(definition, state);
                Ok(FollowUp::Ask)
            }
            (Via::State, ErasedNext::End) => Ok(self.end()),
            (Via::State, ErasedNext::Call(state, child)) => {
                if let Some(state) = state {
                    self.go(definition, state);
                }
                self.call(child)
            }
            (_, ErasedNext::Back) => Ok(self.back()),
        }
    }

    /// Applies the result of a handler whose dialogue waits for its child: a timer or an outcome reached it.
    pub fn apply_to_waiting(
        &mut self,
        definition: &'s DialogueDefinition,
        depth: usize,
        next: ErasedNext,
    ) -> Result<(), TurnError> {
        let new_version = self.turn.new_version;
        let track = self.turn.conversation.track_mut(&self.turn.track);
        let Some(frame) = track.and_then(|track| track.stack.get_mut(depth)) else { return Ok(()) };
        match next {
            ErasedNext::Stay | ErasedNext::AskAgain => Ok(()),
            ErasedNext::StayWith(state) if *frame.at == *state.name => {
                frame.state = state.state;
                Ok(())
            }
            ErasedNext::StayWith(state) | ErasedNext::Go(state) => {
                frame.go(state.name.into(), state.state, new_version, definition.history_max);
                Ok(())
            }
            ErasedNext::Back | ErasedNext::End | ErasedNext::Call(..) => {
                let name = definition.name;
                Err(TurnError::failed(format!(
                    "`{name}` waits for its child: it can only stay, change its values or go to a state"
                )))
            }
        }
    }

    /// Begins a dialogue in the state that the restore hook returned. False if it returned none.
    pub fn begin_restored(&mut self, definition: &'s DialogueDefinition, next: ErasedNext) -> Result<bool, TurnError> {
        match next {
            ErasedNext::Go(state) | ErasedNext::StayWith(state) => {
                self.begin(definition, state);
                Ok(true)
            }
            ErasedNext::Stay | ErasedNext::End => Ok(false),
            ErasedNext::AskAgain | ErasedNext::Back | ErasedNext::Call(..) => {
                Err(TurnError::failed(format!("the restore hook of `{}` can only go or stay", definition.name)))
            }
        }
    }

    /// Begins a dialogue in place of what is open in the turn's track.
    fn begin(&mut self, definition: &DialogueDefinition, state: ErasedState) {
        let new_version = self.turn.new_version;
        let track = self.track();
        track.kept.clear();
        track.stack.clear();
        track.stack.push(Frame {
            dialogue: definition.name.into(),
            schema: definition.schema,
            at: state.name.into(),
            state: state.state,
            entry: new_version,
            history: Vec::new(),
            until: None,
        });
        // The expiry of the replaced dialogue does not count for this one.
        track.until = None;
        track.entered(new_version);
    }

    fn go(&mut self, definition: &DialogueDefinition, state: ErasedState) {
        let new_version = self.turn.new_version;
        let track = self.track();
        if let Some(top) = track.stack.last_mut() {
            top.go(state.name.into(), state.state, new_version, definition.history_max);
        }
        track.entered(new_version);
    }

    fn back(&mut self) -> FollowUp {
        let new_version = self.turn.new_version;
        let track = self.track();
        match track.stack.last_mut().map(Frame::back) {
            Some(true) => {
                track.entered(new_version);
                FollowUp::Continue
            }
            Some(false) if track.stack.len() > 1 => self.end(),
            Some(false) => FollowUp::Ask,
            None => FollowUp::Done,
        }
    }

    fn end(&mut self) -> FollowUp {
        let new_version = self.turn.new_version;
        let track = self.track();
        let ended = track.stack.pop();
        if track.stack.is_empty() {
            let name = self.turn.track.clone();
            self.turn.conversation.close(&name);
            return FollowUp::Done;
        }
        track.returned_from_child(new_version);
        let value = self.turn.take_return_value();
        self.restore_expiry();
        ended.map_or(FollowUp::Done, |ended| FollowUp::Return(Returned { dialogue: ended.dialogue, value }))
    }

    fn call(&mut self, child: Child) -> Result<FollowUp, TurnError> {
        self.script.check_registered(child.dialogue)?;
        let new_version = self.turn.new_version;
        let frame = Frame::begin(child, new_version).map_err(TurnError::failed)?;
        let track = self.track();
        if track.stack.len() >= STACK_MAX {
            return Err(TurnError::failed(format!("more than {STACK_MAX} dialogues would wait for one another")));
        }
        track.kept.clear();
        track.stack.push(frame);
        track.entered(new_version);
        self.keep_parent_expiry();
        Ok(FollowUp::Ask)
    }

    /// The turn's track. Creates it if needed.
    fn track(&mut self) -> &mut Track {
        self.turn.conversation.track_or_new(&self.turn.track)
    }
}
