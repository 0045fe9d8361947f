//! Dialogues: an enum of states, and plain functions that handle inputs in them.
//!
//! Of all handlers that match an input, the one with the narrowest kind runs. Of equally narrow ones, the state's own
//! handler wins, then a handler for [any state](Dialogue::on_any_state) of the dialogue, then the
//! [entries](Dialogue::start) of all dialogues. So `/start` works in a state that takes [`any`](crate::input::any), and
//! the text of a menu button is never taken for a name; but a state can handle `/start` itself.
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
//! Nothing here stores or sends: [`Script`] turns an input into a result that the runtime commits.

use std::any::{TypeId, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::input::{Failure, Input, Kind, Outcome, Returned, only, returned};
use crate::store::BoxError;
use crate::turn::Turn;

use self::definition::DialogueDefinition;
use self::handler::repeated_type;
use self::route::{Route, erase, erase_question};

pub use self::handler::{Fields, Handler, Question};
pub use self::hooks::Guard;
pub use self::next::{Child, Next, Step};
pub use self::script::Script;
pub use self::states::{At, States};
pub use self::stored::WrittenState;
pub use self::texts::{BuiltInTexts, Text, Texts};

pub(crate) use self::conversation::{Conversation, Frame, TRACKS_MAX};
#[cfg(test)]
mod tests;

mod check;
mod conversation;
mod definition;
mod finish;
mod handler;
mod hooks;
mod interruptions;
mod next;
mod press;
mod requested_inputs;
mod route;
mod run;
mod script;
mod states;
mod stored;
mod texts;
mod transition;

/// A dialogue over the states `S`, with its handlers.
///
/// Handlers are `async fn(&mut Turn, <the values of the state>, <the input>) -> Step<S>`.
#[must_use]
pub struct Dialogue<S: States> {
    definition: DialogueDefinition,
    states: PhantomData<fn() -> S>,
}

/// What happens to a dialogue when one of its turns has failed for good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Its state becomes a draft, kept until the dialogue expires. The person gets "Try again" and "Cancel".
    #[default]
    KeepDraft,
    /// It stays in its state, and the person is asked to answer again.
    Stay,
    /// It ends, and the person is told.
    End,
}

impl<S: States> Dialogue<S> {
    /// A dialogue without handlers.
    pub fn new() -> Self {
        Self { definition: DialogueDefinition::new::<S>(), states: PhantomData }
    }

    /// Adds an entry, such as `/start`. It works in every state of every dialogue, and when nothing is open.
    /// [`Next::Go`] begins this dialogue in place of what is open in the foreground; [`Next::Stay`] changes nothing.
    pub fn start<I, H>(mut self, kind: Kind<I>, handler: H) -> Self
    where
        I: Send + 'static,
        H: for<'t> Handler<'t, (), I, S> + 'static,
    {
        self.definition.entries.push(Route::new(kind, handler, route::no_state));
        self
    }

    /// Handles a kind of input in one state. The handler gets the values of the state.
    pub fn on<F, I, H>(mut self, at: At<S, F>, kind: Kind<I>, handler: H) -> Self
    where
        F: Fields,
        I: Send + 'static,
        H: for<'t> Handler<'t, F, I, S> + 'static,
    {
        let take = at.take;
        let mut types = F::types();
        types.push((TypeId::of::<I>(), type_name::<I>()));
        if let Some(index) = self.checked_index(at.name, &format!("the handler of {}", kind.pattern), &types) {
            let fields = move |turn: &Turn, depth| Ok(take(route::state(turn, depth)?));
            self.definition.at[index].push(Route::new(kind, handler, fields));
        }
        self
    }

    /// Handles a kind of input in every state of this dialogue, such as a button for Back. The handler gets the state.
    pub fn on_any_state<I, H>(mut self, kind: Kind<I>, handler: H) -> Self
    where
        I: Send + 'static,
        H: for<'t> Handler<'t, (S,), I, S> + 'static,
    {
        self.definition.any_state.push(Route::new(kind, handler, route::whole_state));
        self
    }

    /// Sets the question of a state. It is asked whenever the state is entered: by [`Next::Go`], by Back, after a
    /// failure, or as a child. It is `async fn(&mut Turn, <the values of the state>) -> Result<(), BoxError>`.
    pub fn ask<F, Q>(mut self, at: At<S, F>, question: Q) -> Self
    where
        F: Fields,
        Q: for<'t> Question<'t, F> + 'static,
    {
        if let Some(index) = self.checked_index(at.name, "the question", &F::types()) {
            self.definition.asks[index] = Some(erase_question(at.take, question));
        }
        self
    }

    /// Handles the end of a child dialogue, in the state that waited for it.
    pub fn on_returned<F, H>(self, at: At<S, F>, handler: H) -> Self
    where
        F: Fields,
        H: for<'t> Handler<'t, F, Returned, S> + 'static,
    {
        self.on(at, returned(), handler)
    }

    /// Handles a person's input that no other handler takes. Without this, the bot says that the input does not fit,
    /// and asks the state's question again.
    pub fn fallback<H>(mut self, handler: H) -> Self
    where
        H: for<'t> Handler<'t, (S,), Input, S> + 'static,
    {
        self.definition.fallback = Some(erase(handler, route::whole_state, |input| Some(input.clone())));
        self
    }

    /// Sets how long after the person's last input the dialogue expires. One day by default.
    pub fn expires_after(mut self, idle: Duration) -> Self {
        self.definition.expires_after = Some(idle);
        self
    }

    /// The dialogue never expires. States of people who left stay in the store for ever.
    pub fn never_expires(mut self) -> Self {
        self.definition.expires_after = None;
        self
    }

    /// Handles the expiry of the dialogue: `async fn(&mut Turn, S) -> Step<S>`. [`Next::Stay`] and [`Next::End`] end
    /// it; [`Next::Go`] prolongs it. Without this, the person is told. If a child expires, its parent gets
    /// [`Returned`](Self::on_returned) and keeps its own expiry.
    pub fn on_expiry<H>(mut self, handler: H) -> Self
    where
        H: for<'t> Handler<'t, (), S, S> + 'static,
    {
        self.definition.expiry = Some(route::boxed(move |turn, depth, _| {
            let state = route::state(turn, depth)?;
            Ok(route::run(handler.call(turn, (), state)))
        }));
        self
    }

    /// Says what a cancelled dialogue leaves behind, in place of the general text:
    /// `async fn(&mut Turn, S) -> Result<(), BoxError>`. The cancel command then ends everything that is open in the
    /// foreground. Of a child and its parent, only the child is asked.
    pub fn on_cancel<Q>(mut self, farewell: Q) -> Self
    where
        Q: for<'t> Question<'t, (S,)> + 'static,
    {
        self.definition.cancel = Some(erase_question(|state: S| Some((state,)), farewell));
        self
    }

    /// Sets what happens when a turn of the dialogue has failed for good.
    pub fn on_error(mut self, policy: OnError) -> Self {
        self.definition.on_error = policy;
        self
    }

    /// Handles a turn that has failed for good, in a turn of its own and in place of [`Dialogue::on_error`]. The
    /// handler gets the state that the failed turn started from.
    pub fn on_failed_turn<H>(mut self, handler: H) -> Self
    where
        H: for<'t> Handler<'t, (S,), Failure, S> + 'static,
    {
        self.definition.failed = Some(erase(handler, route::whole_state, only!(Failed)));
        self
    }

    /// Handles outcomes of this dialogue's effects whose state has ended or has no handler for them, for instance to
    /// delete what they produced. An entry for the outcome takes precedence. Return [`Next::Stay`].
    pub fn on_late_outcome<H>(mut self, handler: H) -> Self
    where
        H: for<'t> Handler<'t, (), Outcome, S> + 'static,
    {
        self.definition.late_outcome = Some(erase(handler, route::no_state, only!(Outcome)));
        self
    }

    /// Sets a hook for a person's input when nothing is open and no entry handles it: the application's database may
    /// know the state. [`Next::Go`] restores that state, which then gets the input; [`Next::Stay`] restores nothing.
    pub fn restore<H>(mut self, hook: H) -> Self
    where
        H: for<'t> Handler<'t, (), Input, S> + 'static,
    {
        self.definition.restore = Some(erase(hook, route::no_state, |input| Some(input.clone())));
        self
    }

    /// Upgrades a stored state from this version to the next one.
    pub fn upcast(
        mut self,
        from_version: u32,
        upcast: impl Fn(Value) -> Result<Value, BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.definition.upcasts.insert(from_version, Box::new(upcast));
        self
    }

    /// Sets how many states Back remembers. 16 by default; 0 turns Back off.
    pub fn history(mut self, states_max: usize) -> Self {
        self.definition.history_max = states_max;
        self
    }

    /// Declares that this dialogue calls another as its child. The start checks that the other is registered.
    pub fn calls<C: States>(mut self) -> Self {
        self.definition.calls.push(C::DIALOGUE);
        self
    }

    /// Loads a state that was stored in this version, for golden files.
    pub(crate) fn load(&self, stored: &RawValue, schema: u32) -> Result<(), BoxError> {
        self.definition.load(stored, schema).map(drop)
    }

    /// The index of a state. Records a mistake if the state is unknown or its handler takes two values of one type.
    fn checked_index(&mut self, state: &str, handler: &str, types: &[(TypeId, &'static str)]) -> Option<usize> {
        let dialogue = S::DIALOGUE;
        let index = self.definition.index(state);
        if index.is_none() {
            let mistake = format!("dialogue `{dialogue}` has no state `{state}`, but a handler for it");
            self.definition.mistakes.push(mistake);
        }
        if let Some(repeated) = repeated_type(types) {
            self.definition.mistakes.push(format!(
                "state `{state}` of dialogue `{dialogue}`: {handler} takes two values of the type `{repeated}`, which \
                 could be swapped by mistake; put the fields of the state into a struct"
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
