//! A dialogue without the type of its states, as a script holds it: its settings and handlers.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;

use super::conversation::Frame;
use super::next::ErasedState;
use super::route::{ErasedHandler, HandlerFuture, Route, no_such_handler};
use super::{OnError, States};
use crate::input::{Input, InputPattern};
use crate::store::BoxError;
use crate::turn::{RunningHandler, Turn, TurnError};

/// How long a dialogue waits for input by default.
const EXPIRES_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// How many states Back remembers by default.
const HISTORY_MAX: usize = 16;

/// Names one handler of a dialogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandlerRef {
    Entry(usize),
    AnyState(usize),
    /// The index of the state and of the handler.
    State(usize, usize),
    Ask,
    Fallback,
    Expiry,
    Cancel,
    LateOutcome,
    Failed,
    Restore,
}

impl HandlerRef {
    /// Whether the handler gets the open state.
    fn needs_state(self) -> bool {
        !matches!(self, Self::Entry(_) | Self::LateOutcome | Self::Restore)
    }
}

type Upcast = Box<dyn Fn(Value) -> Result<Value, BoxError> + Send + Sync>;

/// A dialogue, its types erased.
pub(super) struct DialogueDefinition {
    pub name: &'static str,
    /// The version of the states that this program writes.
    pub schema: u32,
    pub states: &'static [&'static str],
    pub expires_after: Option<Duration>,
    pub history_max: usize,
    pub on_error: OnError,
    pub calls: Vec<&'static str>,
    /// Mistakes found while handlers were registered, each as a sentence.
    pub mistakes: Vec<String>,
    pub entries: Vec<Route>,
    pub any_state: Vec<Route>,
    /// One list for each state.
    pub at: Vec<Vec<Route>>,
    pub asks: Vec<Option<ErasedHandler>>,
    pub fallback: Option<ErasedHandler>,
    pub expiry: Option<ErasedHandler>,
    pub cancel: Option<ErasedHandler>,
    pub late_outcome: Option<ErasedHandler>,
    pub failed: Option<ErasedHandler>,
    pub restore: Option<ErasedHandler>,
    pub upcasts: BTreeMap<u32, Upcast>,
    /// Reads a state of the current version and writes it again.
    rewrite: fn(&str) -> Result<ErasedState, BoxError>,
}

impl DialogueDefinition {
    /// A dialogue without handlers.
    pub fn new<S: States>() -> Self {
        Self {
            name: S::DIALOGUE,
            schema: S::VERSION,
            states: S::NAMES,
            expires_after: Some(EXPIRES_AFTER),
            history_max: HISTORY_MAX,
            on_error: OnError::default(),
            calls: Vec::new(),
            mistakes: Vec::new(),
            entries: Vec::new(),
            any_state: Vec::new(),
            at: S::NAMES.iter().map(|_| Vec::new()).collect(),
            asks: S::NAMES.iter().map(|_| None).collect(),
            fallback: None,
            expiry: None,
            cancel: None,
            late_outcome: None,
            failed: None,
            restore: None,
            upcasts: BTreeMap::new(),
            rewrite: |text| Ok(ErasedState::from_state(&serde_json::from_str::<S>(text)?)?),
        }
    }

    /// The index of a state.
    pub fn index(&self, state: &str) -> Option<usize> {
        self.states.iter().position(|known| *known == state)
    }

    /// Versions before the current one that have no upcast.
    pub fn gaps(&self) -> Vec<u32> {
        // The first upcast may be from a later version: earlier ones may never have been stored.
        let first = self.upcasts.keys().next().copied().unwrap_or(self.schema);
        (first..self.schema).filter(|version| !self.upcasts.contains_key(version)).collect()
    }

    /// The handler, if it is registered. `at` is the state of a question.
    fn find(&self, handler: HandlerRef, at: &str) -> Option<&ErasedHandler> {
        match handler {
            HandlerRef::Entry(index) => Some(&self.entries[index].handler),
            HandlerRef::AnyState(index) => Some(&self.any_state[index].handler),
            HandlerRef::State(state, index) => Some(&self.at[state][index].handler),
            HandlerRef::Ask => self.asks[self.index(at)?].as_ref(),
            HandlerRef::Fallback => self.fallback.as_ref(),
            HandlerRef::Expiry => self.expiry.as_ref(),
            HandlerRef::Cancel => self.cancel.as_ref(),
            HandlerRef::LateOutcome => self.late_outcome.as_ref(),
            HandlerRef::Failed => self.failed.as_ref(),
            HandlerRef::Restore => self.restore.as_ref(),
        }
    }

    pub fn has(&self, handler: HandlerRef, at: &str) -> bool {
        self.find(handler, at).is_some()
    }

    /// The entry that handles an input.
    pub fn entry(&self, input: &Input) -> Option<(HandlerRef, &InputPattern)> {
        first_match(&self.entries, input).map(|(index, pattern)| (HandlerRef::Entry(index), pattern))
    }

    /// The handler for any state that handles an input.
    pub fn any_state(&self, input: &Input) -> Option<(HandlerRef, &InputPattern)> {
        first_match(&self.any_state, input).map(|(index, pattern)| (HandlerRef::AnyState(index), pattern))
    }

    /// The state's own handler of an input.
    pub fn at(&self, state: &str, input: &Input) -> Option<(HandlerRef, &InputPattern)> {
        let state = self.index(state)?;
        first_match(&self.at[state], input).map(|(index, pattern)| (HandlerRef::State(state, index), pattern))
    }

    /// Starts a handler. `depth` is the index in the track's stack of the frame whose state it gets.
    pub fn run<'t>(
        &self,
        handler: HandlerRef,
        turn: &'t mut Turn,
        depth: usize,
        input: &Input,
    ) -> Result<HandlerFuture<'t>, TurnError> {
        let frame = turn.conversation.track(&turn.track).and_then(|track| track.stack.get(depth));
        let at = frame.map_or("", |frame| &frame.at);
        let erased = self.find(handler, at).ok_or_else(|| no_such_handler(self.name, input))?;
        let state_depth = handler.needs_state().then_some(depth);
        turn.running_handler = RunningHandler { dialogue: self.name, track: turn.track.clone(), depth: state_depth };
        erased(turn, depth, input)
    }

    /// Upgrades a frame to the current version of the states.
    pub fn upgrade(&self, frame: &mut Frame) -> Result<(), TurnError> {
        if frame.schema == self.schema && self.states.contains(&&*frame.at) {
            return Ok(());
        }
        let unreadable = |error: BoxError| {
            let Frame { at, schema, .. } = &*frame;
            TurnError::Unreadable(format!("state `{at}` of `{}` in version {schema}: {error}", self.name))
        };
        let written = self.load(&frame.state, frame.schema).map_err(unreadable)?;
        // History that cannot be read is dropped: the dialogue goes on without it.
        let history = std::mem::take(&mut frame.history).into_iter().rev().map_while(|mut past| {
            let written = self.load(&past.state, frame.schema).ok()?;
            past.at = written.name.into();
            past.state = written.state;
            Some(past)
        });
        let mut history: Vec<_> = history.collect();
        history.reverse();
        frame.at = written.name.into();
        frame.state = written.state;
        frame.history = history;
        frame.schema = self.schema;
        Ok(())
    }

    /// Loads a state that was stored in this version, and upgrades it.
    pub fn load(&self, stored: &RawValue, schema: u32) -> Result<ErasedState, BoxError> {
        if schema == self.schema {
            return (self.rewrite)(stored.get());
        }
        if schema > self.schema {
            return Err(format!("it was written by a newer program; this one knows version {}", self.schema).into());
        }
        let mut value: Value = serde_json::from_str(stored.get())?;
        for version in schema..self.schema {
            let upcast =
                self.upcasts.get(&version).ok_or_else(|| format!("there is no upcast from version {version}"))?;
            // A panic on old data counts as an error.
            let upgraded = catch_unwind(AssertUnwindSafe(|| upcast(value)));
            value = upgraded.unwrap_or_else(|_| Err(format!("the upcast from version {version} panicked").into()))?;
        }
        (self.rewrite)(&value.to_string())
    }
}

fn first_match<'a>(routes: &'a [Route], input: &Input) -> Option<(usize, &'a InputPattern)> {
    let found = routes.iter().enumerate().find(|(_, route)| route.matches(input));
    found.map(|(index, route)| (index, &route.pattern))
}
