//! What a handler returns: the next step of its dialogue.

use serde_json::value::RawValue;

use super::States;
use crate::store::BoxError;

/// What a dialogue does after a handler.
#[derive(Clone, Debug)]
pub enum Next<S> {
    /// Stay in the state. Buttons stay valid.
    Stay,
    /// Stay in the state and [ask](super::Dialogue::ask) its question again.
    AskAgain,
    /// Stay in the state with other values. Buttons, timers and effects stay valid.
    StayWith(S),
    /// Go to another state, or enter the same one again. Earlier buttons become stale.
    Go(S),
    /// Go back to the previous state and [ask](super::Dialogue::ask) its question. From the first state of a child, go
    /// back to the parent.
    Back,
    /// End. A child returns to its parent, with the value of
    /// [`Turn::set_return_value`](crate::turn::Turn::set_return_value).
    End,
    /// Begin a child dialogue and wait for it, in this state if one is given. See [`Next::call`].
    Call(Option<S>, Child),
}

/// What a handler returns; any error can be raised with `?`.
pub type Step<S> = Result<Next<S>, BoxError>;

/// A dialogue that is about to begin.
#[derive(Clone, Debug)]
pub struct Child {
    pub(crate) dialogue: &'static str,
    pub(crate) schema: u32,
    pub(crate) name: &'static str,
    /// Serialized at once, because `Child` does not know the type. An error is raised when the turn ends.
    pub(crate) state: Result<Box<RawValue>, String>,
}

impl Child {
    /// A dialogue that begins in this state.
    pub fn at<C: States>(state: &C) -> Self {
        Self {
            dialogue: C::DIALOGUE,
            schema: C::VERSION,
            name: state.name(),
            state: serde_json::value::to_raw_value(state).map_err(|error| error.to_string()),
        }
    }
}

impl<S> Next<S> {
    /// Begins a child dialogue in this state; the parent waits where it is.
    pub fn call<C: States>(child: C) -> Self {
        Self::Call(None, Child::at(&child))
    }

    /// Goes to `state` and begins a child dialogue; the parent waits there.
    pub fn go_and_call<C: States>(state: S, child: C) -> Self {
        Self::Call(Some(state), Child::at(&child))
    }
}

/// [`Next`] without its type: its states are serialized.
pub(crate) type ErasedNext = Next<ErasedState>;

/// A serialized state.
#[derive(Debug)]
pub(crate) struct ErasedState {
    pub name: &'static str,
    pub state: Box<RawValue>,
}

impl ErasedState {
    pub fn from_state<S: States>(state: &S) -> Result<Self, serde_json::Error> {
        Ok(Self { name: state.name(), state: serde_json::value::to_raw_value(state)? })
    }
}

impl<S: States> Next<S> {
    /// The same step with serialized states.
    pub(crate) fn erased(self) -> Result<ErasedNext, serde_json::Error> {
        Ok(match self {
            Self::Stay => Next::Stay,
            Self::AskAgain => Next::AskAgain,
            Self::StayWith(state) => Next::StayWith(ErasedState::from_state(&state)?),
            Self::Go(state) => Next::Go(ErasedState::from_state(&state)?),
            Self::Back => Next::Back,
            Self::End => Next::End,
            Self::Call(state, child) => Next::Call(state.as_ref().map(ErasedState::from_state).transpose()?, child),
        })
    }
}
