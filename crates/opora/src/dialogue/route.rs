//! A handler together with what it takes, its types put away.

use std::future::Future;

use futures_util::future::BoxFuture;

use super::next::Move;
use super::{Handler, Next, Question, States, Step};
use crate::input::{Input, Kind, What};
use crate::store::BoxError;
use crate::turn::{Turn, TurnError};

/// A handler at work.
pub(super) type Running<'t> = BoxFuture<'t, Result<Move, BoxError>>;

/// A handler. The number is the place in the slot's stack of the frame whose state it gets.
pub(super) type Act = Box<dyn for<'t> Fn(&'t mut Turn, usize, &Input) -> Result<Running<'t>, TurnError> + Send + Sync>;

/// A kind of input and its handler.
pub(super) struct Route {
    pub what: What,
    /// Only some inputs of the kind are taken: this route shadows none.
    pub partial: bool,
    takes: Box<dyn Fn(&Input) -> bool + Send + Sync>,
    pub act: Act,
}

impl Route {
    pub fn new<S, F, I, H>(
        kind: Kind<I>,
        handler: H,
        fields: impl Fn(&Turn, usize) -> Result<Option<F>, TurnError> + Send + Sync + 'static,
    ) -> Self
    where
        S: States,
        I: Send + 'static,
        H: for<'t> Handler<'t, F, I, S> + 'static,
    {
        let what = kind.what.clone();
        let partial = kind.partial;
        let reader = kind.clone();
        let takes = Box::new(move |input: &Input| kind.takes(input));
        Self { what, partial, takes, act: act(handler, fields, move |input| reader.read(input)) }
    }

    pub fn takes(&self, input: &Input) -> bool {
        (self.takes)(input)
    }
}

/// A handler with the ways to what it gets.
pub(super) fn act<S, F, I, H>(
    handler: H,
    fields: impl Fn(&Turn, usize) -> Result<Option<F>, TurnError> + Send + Sync + 'static,
    read: impl Fn(&Input) -> Option<I> + Send + Sync + 'static,
) -> Act
where
    S: States,
    H: for<'t> Handler<'t, F, I, S> + 'static,
{
    boxed(move |turn, depth, input| match fields(turn, depth)?.zip(read(input)) {
        Some((fields, input)) => Ok(run(handler.call(turn, fields, input))),
        None => Err(misfit(S::DIALOGUE, input)),
    })
}

/// A question with the way to the fields that it gets.
pub(super) fn ask_act<S, F, Q>(take: fn(S) -> Option<F>, question: Q) -> Act
where
    S: States,
    F: 'static,
    Q: for<'t> Question<'t, F> + 'static,
{
    boxed(move |turn, depth, input| {
        let fields = take(state(turn, depth)?).ok_or_else(|| misfit(S::DIALOGUE, input))?;
        let asking = question.call(turn, fields);
        Ok(run(async move { asking.await.map(|()| Next::<S>::Stay) }))
    })
}

/// Only names the type, which the compiler cannot guess for a closure.
pub(super) fn boxed<A>(act: A) -> Act
where
    A: for<'t> Fn(&'t mut Turn, usize, &Input) -> Result<Running<'t>, TurnError> + Send + Sync + 'static,
{
    Box::new(act)
}

/// A handler's future, with the state that it leads to written at its end.
pub(super) fn run<'t, S: States>(handler: impl Future<Output = Step<S>> + Send + 't) -> Running<'t> {
    Box::pin(async move { Ok(Move::of(handler.await?)?) })
}

/// No state, for handlers that get none.
pub(super) fn no_state(_: &Turn, _: usize) -> Result<Option<()>, TurnError> {
    Ok(Some(()))
}

/// The whole state at this place in the slot's stack.
pub(super) fn whole_state<S: States>(turn: &Turn, depth: usize) -> Result<Option<(S,)>, TurnError> {
    Ok(Some((state(turn, depth)?,)))
}

/// The state at this place in the slot's stack.
pub(super) fn state<S: States>(turn: &Turn, depth: usize) -> Result<S, TurnError> {
    let frame = turn.talk.slot(&turn.slot).and_then(|slot| slot.stack.get(depth));
    let frame = frame.ok_or_else(|| TurnError::failed(format!("`{}` is not open", S::DIALOGUE)))?;
    serde_json::from_str(frame.state.get()).map_err(|error| {
        let what = format!("state `{}` of `{}` in version {}: {error}", frame.at, S::DIALOGUE, frame.schema);
        // What this very turn wrote is the handler's mistake: nothing that is stored is to blame.
        if frame.entry == turn.made { TurnError::failed(what) } else { TurnError::Unreadable(what) }
    })
}

pub(super) fn misfit(dialogue: &str, input: &Input) -> TurnError {
    TurnError::failed(format!("`{dialogue}` has no such handler for {}", input.name()))
}
