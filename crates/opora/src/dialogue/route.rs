//! A handler together with what it takes, its types put away.

use std::future::Future;

use futures_util::future::BoxFuture;

use super::next::Move;
use super::{Handler, Next, Question, States, Step};
use crate::input::{Input, Kind, What};
use crate::store::BoxError;
use crate::turn::Turn;

/// A handler at work.
pub(super) type Running<'t> = BoxFuture<'t, Result<Move, BoxError>>;

/// A handler, given the state where one is open. None if the state or the input is not what it takes.
pub(super) type Act<S> = Box<dyn for<'t> Fn(&'t mut Turn, Option<S>, &Input) -> Option<Running<'t>> + Send + Sync>;

/// A kind of input and its handler.
pub(super) struct Route<S> {
    pub what: What,
    /// Only some inputs of the kind are taken: this route shadows none.
    pub partial: bool,
    takes: Box<dyn Fn(&Input) -> bool + Send + Sync>,
    pub act: Act<S>,
}

impl<S: States> Route<S> {
    pub fn new<F, I, H>(
        kind: Kind<I>,
        handler: H,
        fields: impl Fn(Option<S>) -> Option<F> + Send + Sync + 'static,
    ) -> Self
    where
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
    fields: impl Fn(Option<S>) -> Option<F> + Send + Sync + 'static,
    read: impl Fn(&Input) -> Option<I> + Send + Sync + 'static,
) -> Act<S>
where
    S: States,
    H: for<'t> Handler<'t, F, I, S> + 'static,
{
    boxed(move |turn, state, input| Some(run(handler.call(turn, fields(state)?, read(input)?))))
}

/// A question with the way to the fields that it gets.
pub(super) fn ask_act<S, F, Q>(take: fn(S) -> Option<F>, question: Q) -> Act<S>
where
    S: States,
    F: 'static,
    Q: for<'t> Question<'t, F> + 'static,
{
    boxed(move |turn, state, _| {
        let asking = question.call(turn, take(state?)?);
        Some(run(async move { asking.await.map(|()| Next::<S>::Stay) }))
    })
}

/// Only names the type, which the compiler cannot guess for a closure.
pub(super) fn boxed<S, A>(act: A) -> Act<S>
where
    A: for<'t> Fn(&'t mut Turn, Option<S>, &Input) -> Option<Running<'t>> + Send + Sync + 'static,
{
    Box::new(act)
}

/// A handler's future, with the state that it leads to written at its end.
pub(super) fn run<'t, S: States>(handler: impl Future<Output = Step<S>> + Send + 't) -> Running<'t> {
    Box::pin(async move { Ok(Move::of(handler.await?)?) })
}
