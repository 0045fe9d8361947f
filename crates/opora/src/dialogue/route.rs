//! Handlers with their types erased, and the inputs that they handle.

use std::future::Future;

use futures_util::future::BoxFuture;

use super::next::ErasedNext;
use super::{Handler, Next, Question, States, Step};
use crate::input::{Input, InputPattern, Kind};
use crate::store::BoxError;
use crate::turn::{Turn, TurnError};

/// The future of a handler.
pub(super) type HandlerFuture<'t> = BoxFuture<'t, Result<ErasedNext, BoxError>>;

/// A handler. The number is the index in the track's stack of the frame whose state it gets.
pub(super) type ErasedHandler =
    Box<dyn for<'t> Fn(&'t mut Turn, usize, &Input) -> Result<HandlerFuture<'t>, TurnError> + Send + Sync>;

/// A kind of input and its handler.
pub(super) struct Route {
    pub pattern: InputPattern,
    /// Whether only some inputs of the pattern are handled. Such a route shadows no other.
    pub partial: bool,
    matches: Box<dyn Fn(&Input) -> bool + Send + Sync>,
    pub handler: ErasedHandler,
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
        let pattern = kind.pattern.clone();
        let partial = kind.partial;
        let reader = kind.clone();
        let matches = Box::new(move |input: &Input| kind.matches(input));
        Self { pattern, partial, matches, handler: erase(handler, fields, move |input| reader.read(input)) }
    }

    pub fn matches(&self, input: &Input) -> bool {
        (self.matches)(input)
    }
}

/// Erases the types of a handler. `fields` and `read` get its arguments.
pub(super) fn erase<S, F, I, H>(
    handler: H,
    fields: impl Fn(&Turn, usize) -> Result<Option<F>, TurnError> + Send + Sync + 'static,
    read: impl Fn(&Input) -> Option<I> + Send + Sync + 'static,
) -> ErasedHandler
where
    S: States,
    H: for<'t> Handler<'t, F, I, S> + 'static,
{
    boxed(move |turn, depth, input| match fields(turn, depth)?.zip(read(input)) {
        Some((fields, input)) => Ok(run(handler.call(turn, fields, input))),
        None => Err(no_such_handler(S::DIALOGUE, input)),
    })
}

/// Erases the types of a question.
pub(super) fn erase_question<S, F, Q>(take: fn(S) -> Option<F>, question: Q) -> ErasedHandler
where
    S: States,
    F: 'static,
    Q: for<'t> Question<'t, F> + 'static,
{
    boxed(move |turn, depth, input| {
        let fields = take(state(turn, depth)?).ok_or_else(|| no_such_handler(S::DIALOGUE, input))?;
        let asking = question.call(turn, fields);
        Ok(run(async move { asking.await.map(|()| Next::<S>::Stay) }))
    })
}

/// Boxes a closure. It names the type, which the compiler cannot infer.
pub(super) fn boxed<A>(handler: A) -> ErasedHandler
where
    A: for<'t> Fn(&'t mut Turn, usize, &Input) -> Result<HandlerFuture<'t>, TurnError> + Send + Sync + 'static,
{
    Box::new(handler)
}

/// Boxes a handler's future and serializes the state that it returns.
pub(super) fn run<'t, S: States>(handler: impl Future<Output = Step<S>> + Send + 't) -> HandlerFuture<'t> {
    Box::pin(async move { Ok(handler.await?.erased()?) })
}

/// No state, for handlers that get none.
pub(super) fn no_state(_: &Turn, _: usize) -> Result<Option<()>, TurnError> {
    Ok(Some(()))
}

/// The state at this index of the track's stack, for handlers that take it whole.
pub(super) fn whole_state<S: States>(turn: &Turn, depth: usize) -> Result<Option<(S,)>, TurnError> {
    Ok(Some((state(turn, depth)?,)))
}

/// The state at this index of the track's stack.
pub(super) fn state<S: States>(turn: &Turn, depth: usize) -> Result<S, TurnError> {
    let frame = turn.conversation.track(&turn.track).and_then(|track| track.stack.get(depth));
    let frame = frame.ok_or_else(|| TurnError::failed(format!("`{}` is not open", S::DIALOGUE)))?;
    serde_json::from_str(frame.state.get()).map_err(|error| {
        let description = format!("state `{}` of `{}` in version {}: {error}", frame.at, S::DIALOGUE, frame.schema);
        // A state of this turn was written by its handler: the stored data is not to blame.
        if frame.entry == turn.new_version {
            TurnError::failed(description)
        } else {
            TurnError::Unreadable(description)
        }
    })
}

pub(super) fn no_such_handler(dialogue: &str, input: &Input) -> TurnError {
    TurnError::failed(format!("`{dialogue}` has no such handler for {}", input.name()))
}
