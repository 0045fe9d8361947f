//! What a handler answers: where the dialogue goes next.

use serde_json::value::RawValue;

use super::States;
use crate::store::BoxError;

/// Where a dialogue goes after a turn.
#[derive(Clone, Debug)]
pub enum Next<S> {
    /// It stays where it is; buttons that were offered stay valid.
    Stay,
    /// It stays where it is and [asks](super::Dialogue::ask) again.
    Again,
    /// It stays in its step with other values; buttons that were offered stay valid, and so do timers and effects.
    Keep(S),
    /// It goes to another state, or to the same one anew: buttons that were offered before are stale.
    Go(S),
    /// It goes back to the state before, and [asks](super::Dialogue::ask) again. From the first state of a child it
    /// goes back to the parent.
    Back,
    /// It ends. A child returns to its parent, with what [`Turn::give_back`](crate::turn::Turn::give_back) was given.
    End,
    /// A child dialogue begins and this one waits for it, in this state if one is given. See [`Next::call`].
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
    /// Written at once, because its type is not known to who carries it; an error is raised when the turn ends.
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

/// [`Next`] without its type: states are written.
#[derive(Debug)]
pub(crate) enum Move {
    Stay,
    Again,
    Keep(Written),
    Go(Written),
    Back,
    End,
    Call(Option<Written>, Child),
}

/// A state as it is stored.
#[derive(Debug)]
pub(crate) struct Written {
    pub name: &'static str,
    pub state: Box<RawValue>,
}

impl Written {
    pub fn of<S: States>(state: &S) -> Result<Self, serde_json::Error> {
        Ok(Self { name: state.name(), state: serde_json::value::to_raw_value(state)? })
    }
}

impl Move {
    pub fn of<S: States>(next: Next<S>) -> Result<Self, serde_json::Error> {
        Ok(match next {
            Next::Stay => Self::Stay,
            Next::Again => Self::Again,
            Next::Keep(state) => Self::Keep(Written::of(&state)?),
            Next::Go(state) => Self::Go(Written::of(&state)?),
            Next::Back => Self::Back,
            Next::End => Self::End,
            Next::Call(state, child) => Self::Call(state.as_ref().map(Written::of).transpose()?, child),
        })
    }
}
