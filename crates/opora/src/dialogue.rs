//! Dialogues: an enum of states, and plain functions that handle what is heard in them.
//!
//! Who hears an input: of the handlers that take it, the one for the narrowest kind; of equally narrow ones the state's
//! own, then one for [anywhere](Dialogue::anywhere) in the dialogue, then the [entries](Dialogue::start) of all
//! dialogues. So `/start` works in a state that takes [`any`](crate::input::any), and a caption of the menu is never
//! taken for a name; but a state that handles `/start` itself does.
//!
//! ```
//! use opora::prelude::*;
//!
//! #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
//! #[serde(tag = "at", rename_all = "snake_case")]
//! enum Greeting {
//!     Name,
//!     Age(Age),
//! }
//!
//! #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
//! struct Age {
//!     name: String,
//! }
//!
//! async fn start(turn: &mut Turn, _: Command) -> Step<Greeting> {
//!     turn.say("What is your name?");
//!     Ok(Next::Go(Greeting::Name))
//! }
//!
//! async fn name(turn: &mut Turn, name: String) -> Step<Greeting> {
//!     turn.say("How old are you?");
//!     Ok(Next::Go(Greeting::Age(Age { name })))
//! }
//!
//! async fn age(turn: &mut Turn, state: Age, age: String) -> Step<Greeting> {
//!     turn.say(format!("{} is {age}.", state.name));
//!     Ok(Next::End)
//! }
//!
//! fn greeting() -> Dialogue<Greeting> {
//!     Dialogue::new()
//!         .start(command("start"), start)
//!         .on(Greeting::NAME, text(), name)
//!         .on(Greeting::AGE, text(), age)
//! }
//! # assert_eq!(Script::from(greeting()).check(), Ok(()));
//! ```
//!
//! Nothing here stores or sends: [`Script`] turns an input into what should be committed, and the runtime commits it.

use std::any::{TypeId, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::input::{Failure, Input, Kind, Outcome, Returned, returned};
use crate::store::BoxError;
use crate::turn::Turn;

use self::flow::Flow;
use self::handler::repeated_type;
use self::route::{Route, act, ask_act};

pub use self::handler::{Fields, Handler, Question};
pub use self::hooks::Guard;
pub use self::next::{Child, Next, Step};
pub use self::script::Script;
pub use self::states::{At, States};
pub use self::stored::WrittenState;
pub use self::texts::{BuiltInTexts, Text, Texts};

pub(crate) use self::conversation::{Conversation, Frame, SLOTS_MAX};
#[cfg(test)]
mod tests;

mod asked;
mod check;
mod conversation;
mod finish;
mod flow;
mod handler;
mod hooks;
mod next;
mod play;
mod press;
mod route;
mod script;
mod shift;
mod states;
mod stored;
mod texts;
mod trouble;

/// A dialogue over the states `S`, and who handles what in them.
///
/// Handlers are `async fn(&mut Turn, <what the state carries>, <the input>) -> Step<S>`.
pub struct Dialogue<S: States> {
    flow: Flow,
    states: PhantomData<fn() -> S>,
}

/// What becomes of a dialogue when a turn of it has failed for good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Its step is cleared, so that nobody is stuck; the draft is kept for the dialogue's life, and the person gets
    /// "Try again" and "Cancel".
    #[default]
    KeepDraft,
    /// It stays where it is, and the person is asked to answer once more.
    Stay,
    /// It ends, and the person is told.
    End,
}

impl<S: States> Dialogue<S> {
    /// A dialogue that handles nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { flow: Flow::of::<S>(), states: PhantomData }
    }

    /// A way into the dialogue, such as `/start`: it works in every state of every dialogue, and when nothing is open.
    /// [`Next::Go`] begins this dialogue in place of what is open in the foreground; [`Next::Stay`] disturbs nothing.
    #[must_use]
    pub fn start<I, H>(mut self, kind: Kind<I>, handler: H) -> Self
    where
        I: Send + 'static,
        H: for<'t> Handler<'t, (), I, S> + 'static,
    {
        self.flow.entries.push(Route::new(kind, handler, route::no_state));
        self
    }

    /// Handles a kind of input in one state. The handler gets what the state carries.
    #[must_use]
    pub fn on<F, I, H>(mut self, at: At<S, F>, kind: Kind<I>, handler: H) -> Self
    where
        F: Fields,
        I: Send + 'static,
        H: for<'t> Handler<'t, F, I, S> + 'static,
    {
        let take = at.take;
        let mut types = F::types();
        types.push((TypeId::of::<I>(), type_name::<I>()));
        if let Some(index) = self.checked_index(at.name, &format!("the handler of {}", kind.what), &types) {
            let fields = move |turn: &Turn, depth| Ok(take(route::state(turn, depth)?));
            self.flow.at[index].push(Route::new(kind, handler, fields));
        }
        self
    }

    /// Handles a kind of input in every state of this dialogue, such as a button for Back. The handler gets the state.
    #[must_use]
    pub fn anywhere<I, H>(mut self, kind: Kind<I>, handler: H) -> Self
    where
        I: Send + 'static,
        H: for<'t> Handler<'t, (S,), I, S> + 'static,
    {
        self.flow.anywhere.push(Route::new(kind, handler, route::whole_state));
        self
    }

    /// What a state asks, whichever way it is entered: by [`Next::Go`], by Back, after a failure, or as a child.
    /// It is `async fn(&mut Turn, <what the state carries>) -> Result<(), BoxError>`.
    #[must_use]
    pub fn ask<F, Q>(mut self, at: At<S, F>, question: Q) -> Self
    where
        F: Fields,
        Q: for<'t> Question<'t, F> + 'static,
    {
        if let Some(index) = self.checked_index(at.name, "the question", &F::types()) {
            self.flow.asks[index] = Some(ask_act(at.take, question));
        }
        self
    }

    /// Handles the end of a child dialogue in the state that waited for it.
    #[must_use]
    pub fn returned<F, H>(self, at: At<S, F>, handler: H) -> Self
    where
        F: Fields,
        H: for<'t> Handler<'t, F, Returned, S> + 'static,
    {
        self.on(at, returned(), handler)
    }

    /// Handles whatever a person does that nobody else handles. Without this, a state with a question says that it was
    /// not understood and asks again.
    #[must_use]
    pub fn otherwise<H>(mut self, handler: H) -> Self
    where
        H: for<'t> Handler<'t, (S,), Input, S> + 'static,
    {
        self.flow.otherwise = Some(act(handler, route::whole_state, |input| Some(input.clone())));
        self
    }

    /// How long the dialogue lives after the person's last input. By default a day.
    #[must_use]
    pub fn life(mut self, life: Duration) -> Self {
        self.flow.life = Some(life);
        self
    }

    /// The dialogue waits for ever. Its states pile up in the store when people leave.
    #[must_use]
    pub fn without_end(mut self) -> Self {
        self.flow.life = None;
        self
    }

    /// Handles the end of the dialogue's life: `async fn(&mut Turn, S) -> Step<S>`. [`Next::Stay`] and [`Next::End`]
    /// end it; [`Next::Go`] gives it another life. Without this, the person is told. Of a child, its parent hears that
    /// it has [returned](Self::returned), and lives on for as long as it would have.
    #[must_use]
    pub fn timeout<H>(mut self, handler: H) -> Self
    where
        H: for<'t> Handler<'t, (), S, S> + 'static,
    {
        self.flow.timeout = Some(route::boxed(move |turn, depth, _| {
            let state = route::state(turn, depth)?;
            Ok(route::run(handler.call(turn, (), state)))
        }));
        self
    }

    /// What becomes of the dialogue when a turn of it has failed for good.
    #[must_use]
    pub fn on_error(mut self, policy: OnError) -> Self {
        self.flow.on_error = policy;
        self
    }

    /// Handles a turn that has failed for good, in a turn of its own and in place of [`Dialogue::on_error`]. The
    /// handler gets the state that the failed turn started from.
    #[must_use]
    pub fn failed<H>(mut self, handler: H) -> Self
    where
        H: for<'t> Handler<'t, (S,), Failure, S> + 'static,
    {
        let failure = |input: &Input| match input {
            Input::Failed(failure) => Some(failure.clone()),
            _ => None,
        };
        self.flow.failed = Some(act(handler, route::whole_state, failure));
        self
    }

    /// Handles outcomes of this dialogue's effects whose state has ended or does not hear them, so that what they
    /// brought can be cleared away. An entry for the outcome goes first. [`Next::Stay`] is the answer to give.
    #[must_use]
    pub fn late<H>(mut self, handler: H) -> Self
    where
        H: for<'t> Handler<'t, (), Outcome, S> + 'static,
    {
        let outcome = |input: &Input| match input {
            Input::Outcome(outcome) => Some(outcome.clone()),
            _ => None,
        };
        self.flow.late = Some(act(handler, route::no_state, outcome));
        self
    }

    /// Is asked when nothing is open and nobody handles what a person does: perhaps the application's database knows
    /// where the two were. [`Next::Go`] restores that state, which then hears the input; [`Next::Stay`] knows nothing.
    #[must_use]
    pub fn restore<H>(mut self, hook: H) -> Self
    where
        H: for<'t> Handler<'t, (), Input, S> + 'static,
    {
        self.flow.restore = Some(act(hook, route::no_state, |input| Some(input.clone())));
        self
    }

    /// Brings a stored state from this version of its shape to the next one.
    #[must_use]
    pub fn upcast(
        mut self,
        from_version: u32,
        upcast: impl Fn(Value) -> Result<Value, BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.flow.upcasts.insert(from_version, Box::new(upcast));
        self
    }

    /// How many states Back remembers. By default 16; 0 turns Back off.
    #[must_use]
    pub fn history(mut self, states_max: usize) -> Self {
        self.flow.history_max = states_max;
        self
    }

    /// Says that this dialogue calls another as its child, so that it is checked at the start that the other is there.
    #[must_use]
    pub fn calls<C: States>(mut self) -> Self {
        self.flow.calls.push(C::DIALOGUE);
        self
    }

    /// Loads what was stored in this version of the shape, for golden files.
    pub(crate) fn load(&self, stored: &RawValue, schema: u32) -> Result<(), BoxError> {
        self.flow.load(stored, schema).map(drop)
    }

    /// The place of a state whose handler takes values of these types. What is wrong with the handler is noted.
    fn checked_index(&mut self, state: &str, handler: &str, types: &[(TypeId, &'static str)]) -> Option<usize> {
        let dialogue = S::DIALOGUE;
        let index = self.flow.index(state);
        if index.is_none() {
            self.flow.mistakes.push(format!("dialogue `{dialogue}` has no state `{state}`, but a handler for it"));
        }
        if let Some(repeated) = repeated_type(types) {
            self.flow.mistakes.push(format!(
                "state `{state}` of dialogue `{dialogue}`: {handler} takes two values of the type `{repeated}`, which \
                 could be swapped unnoticed; put the fields of the state into a struct"
            ));
        }
        index
    }
}

impl<S: States> Default for Dialogue<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: States> fmt::Debug for Dialogue<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialogue").field("name", &S::DIALOGUE).field("states", &S::NAMES).finish_non_exhaustive()
    }
}
