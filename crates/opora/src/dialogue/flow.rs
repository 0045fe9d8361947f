//! A dialogue without the type of its states, as a script holds it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;

use super::conversation::Frame;
use super::next::Written;
use super::route::{Act, Route, Running, misfit};
use super::{OnError, States};
use crate::asking::Speaker;
use crate::input::{Input, What};
use crate::store::BoxError;
use crate::turn::{Turn, TurnError};

/// The life of a dialogue that says nothing else.
const LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// How many states Back remembers if the dialogue says nothing else.
const HISTORY_MAX: usize = 16;

/// Which handler of a dialogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Entry(usize),
    Anywhere(usize),
    /// The state's and the handler's place.
    State(usize, usize),
    Ask,
    Otherwise,
    Timeout,
    Late,
    Failed,
    Restore,
}

impl Which {
    /// The handler gets the state that is open.
    fn needs_state(self) -> bool {
        !matches!(self, Self::Entry(_) | Self::Late | Self::Restore)
    }
}

type Upcast = Box<dyn Fn(Value) -> Result<Value, BoxError> + Send + Sync>;

/// A dialogue of any states.
pub(super) struct Flow {
    pub name: &'static str,
    /// The version of the shape that this program writes.
    pub schema: u32,
    pub states: &'static [&'static str],
    pub life: Option<Duration>,
    pub history_max: usize,
    pub on_error: OnError,
    pub calls: Vec<&'static str>,
    /// What is wrong with single handlers, each as a sentence.
    pub mistakes: Vec<String>,
    pub entries: Vec<Route>,
    pub anywhere: Vec<Route>,
    /// One list for each of the states.
    pub at: Vec<Vec<Route>>,
    pub asks: Vec<Option<Act>>,
    pub otherwise: Option<Act>,
    pub timeout: Option<Act>,
    pub late: Option<Act>,
    pub failed: Option<Act>,
    pub restore: Option<Act>,
    pub upcasts: BTreeMap<u32, Upcast>,
    /// Reads a state of the current version, and writes it as this program does.
    rewrite: fn(&str) -> Result<Written, BoxError>,
}

impl Flow {
    /// A dialogue over these states that handles nothing yet.
    pub fn of<S: States>() -> Self {
        Self {
            name: S::DIALOGUE,
            schema: S::VERSION,
            states: S::NAMES,
            life: Some(LIFE),
            history_max: HISTORY_MAX,
            on_error: OnError::default(),
            calls: Vec::new(),
            mistakes: Vec::new(),
            entries: Vec::new(),
            anywhere: Vec::new(),
            at: S::NAMES.iter().map(|_| Vec::new()).collect(),
            asks: S::NAMES.iter().map(|_| None).collect(),
            otherwise: None,
            timeout: None,
            late: None,
            failed: None,
            restore: None,
            upcasts: BTreeMap::new(),
            rewrite: |text| Ok(Written::of(&serde_json::from_str::<S>(text)?)?),
        }
    }

    /// The place of a state.
    pub fn index(&self, state: &str) -> Option<usize> {
        self.states.iter().position(|known| *known == state)
    }

    /// Versions before the current one that have no upcast.
    pub fn gaps(&self) -> Vec<u32> {
        // Nothing is wrong with a first upcast from a later version: earlier ones may never have been stored.
        let first = self.upcasts.keys().next().copied().unwrap_or(self.schema);
        (first..self.schema).filter(|version| !self.upcasts.contains_key(version)).collect()
    }

    /// The handler, if there is one; `at` is the state of a question.
    fn act(&self, which: Which, at: &str) -> Option<&Act> {
        match which {
            Which::Entry(index) => Some(&self.entries[index].act),
            Which::Anywhere(index) => Some(&self.anywhere[index].act),
            Which::State(state, index) => Some(&self.at[state][index].act),
            Which::Ask => self.asks[self.index(at)?].as_ref(),
            Which::Otherwise => self.otherwise.as_ref(),
            Which::Timeout => self.timeout.as_ref(),
            Which::Late => self.late.as_ref(),
            Which::Failed => self.failed.as_ref(),
            Which::Restore => self.restore.as_ref(),
        }
    }

    pub fn has(&self, which: Which, at: &str) -> bool {
        self.act(which, at).is_some()
    }

    /// The entry that takes an input.
    pub fn entry(&self, input: &Input) -> Option<(Which, &What)> {
        find(&self.entries, input).map(|(index, what)| (Which::Entry(index), what))
    }

    /// The handler for anywhere that takes an input.
    pub fn anywhere(&self, input: &Input) -> Option<(Which, &What)> {
        find(&self.anywhere, input).map(|(index, what)| (Which::Anywhere(index), what))
    }

    /// The state's own handler that takes an input.
    pub fn at(&self, state: &str, input: &Input) -> Option<(Which, &What)> {
        let state = self.index(state)?;
        find(&self.at[state], input).map(|(index, what)| (Which::State(state, index), what))
    }

    /// Starts a handler. `depth` is the place in the slot's stack of the frame whose state it gets.
    pub fn play<'t>(
        &self,
        which: Which,
        turn: &'t mut Turn,
        depth: usize,
        input: &Input,
    ) -> Result<Running<'t>, TurnError> {
        let frame = turn.talk.slot(&turn.slot).and_then(|slot| slot.stack.get(depth));
        let act = self.act(which, frame.map_or("", |frame| &frame.at)).ok_or_else(|| misfit(self.name, input))?;
        let speaks_at = which.needs_state().then_some(depth);
        turn.speaker = Speaker { dialogue: self.name, slot: turn.slot.clone(), depth: speaks_at };
        act(turn, depth, input)
    }

    /// Brings a frame to the shape that this program knows.
    pub fn refresh(&self, frame: &mut Frame) -> Result<(), TurnError> {
        if frame.schema == self.schema && self.states.contains(&&*frame.at) {
            return Ok(());
        }
        let unreadable = |error: BoxError| {
            let Frame { at, schema, .. } = &*frame;
            TurnError::Unreadable(format!("state `{at}` of `{}` in version {schema}: {error}", self.name))
        };
        let written = self.load(&frame.state, frame.schema).map_err(unreadable)?;
        // A state to go back to that cannot be read is not worth ending the dialogue for.
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

    /// Loads what was stored in this version of the shape; for golden files, too.
    pub fn load(&self, stored: &RawValue, schema: u32) -> Result<Written, BoxError> {
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
            // It judges what an older program wrote: a panic means as little as an error.
            let brought = catch_unwind(AssertUnwindSafe(|| upcast(value)));
            value = brought.unwrap_or_else(|_| Err(format!("the upcast from version {version} panicked").into()))?;
        }
        (self.rewrite)(&value.to_string())
    }
}

fn find<'a>(routes: &'a [Route], input: &Input) -> Option<(usize, &'a What)> {
    let found = routes.iter().enumerate().find(|(_, route)| route.takes(input));
    found.map(|(index, route)| (index, &route.what))
}
