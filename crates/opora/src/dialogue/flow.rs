//! A dialogue with its type put away, as a script holds it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;

use super::conversation::Frame;
use super::route::{Act, Route, Running};
use super::{Dialogue, OnError, States};
use crate::asking::Speaker;
use crate::input::{Input, What};
use crate::store::BoxError;
use crate::turn::{Turn, TurnError};

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

/// A dialogue of any states.
pub(super) trait Flow: Send + Sync {
    fn name(&self) -> &'static str;
    /// The version of the shape that this program writes.
    fn schema(&self) -> u32;
    fn states(&self) -> &'static [&'static str];
    fn life(&self) -> Option<Duration>;
    fn history_max(&self) -> usize;
    fn on_error(&self) -> OnError;
    fn calls(&self) -> &[&'static str];
    /// What is wrong with single handlers, each as a sentence.
    fn mistakes(&self) -> &[String];
    /// What entries take, in order; and whether only some of it.
    fn entries(&self) -> Vec<(&What, bool)>;
    fn everywhere(&self) -> Vec<(&What, bool)>;
    /// What a state's own handlers take, in order; and whether only some of it.
    fn heard_at(&self, state: usize) -> Vec<(&What, bool)>;
    /// Versions before the current one that have no upcast.
    fn gaps(&self) -> Vec<u32>;
    fn has(&self, which: Which, at: &str) -> bool;

    fn entry(&self, input: &Input) -> Option<(Which, &What)>;
    /// The handler for anywhere that takes an input.
    fn anywhere(&self, input: &Input) -> Option<(Which, &What)>;
    /// The state's own handler that takes an input.
    fn at(&self, state: &str, input: &Input) -> Option<(Which, &What)>;

    /// Brings a frame to the shape that this program knows.
    fn refresh(&self, frame: &mut Frame) -> Result<(), TurnError>;
    /// Starts a handler. `depth` is the place in the slot's stack of the frame whose state it gets.
    fn play<'t>(&self, which: Which, turn: &'t mut Turn, depth: usize, input: &Input)
    -> Result<Running<'t>, TurnError>;
}

impl<S: States> Flow for Dialogue<S> {
    fn name(&self) -> &'static str {
        S::DIALOGUE
    }

    fn schema(&self) -> u32 {
        S::VERSION
    }

    fn states(&self) -> &'static [&'static str] {
        S::NAMES
    }

    fn life(&self) -> Option<Duration> {
        self.life
    }

    fn history_max(&self) -> usize {
        self.history_max
    }

    fn on_error(&self) -> OnError {
        self.on_error
    }

    fn calls(&self) -> &[&'static str] {
        &self.calls
    }

    fn mistakes(&self) -> &[String] {
        &self.mistakes
    }

    fn entries(&self) -> Vec<(&What, bool)> {
        takes(&self.entries)
    }

    fn everywhere(&self) -> Vec<(&What, bool)> {
        takes(&self.anywhere)
    }

    fn heard_at(&self, state: usize) -> Vec<(&What, bool)> {
        takes(&self.at[state])
    }

    fn gaps(&self) -> Vec<u32> {
        // Nothing is wrong with a first upcast from a later version: earlier ones may never have been stored.
        let first = self.upcasts.keys().next().copied().unwrap_or(S::VERSION);
        (first..S::VERSION).filter(|version| !self.upcasts.contains_key(version)).collect()
    }

    fn has(&self, which: Which, at: &str) -> bool {
        match which {
            Which::Ask => self.index(at).is_some_and(|index| self.asks[index].is_some()),
            Which::Otherwise => self.otherwise.is_some(),
            Which::Timeout => self.timeout.is_some(),
            Which::Late => self.late.is_some(),
            Which::Failed => self.failed.is_some(),
            Which::Restore => self.restore.is_some(),
            Which::Entry(_) | Which::Anywhere(_) | Which::State(..) => true,
        }
    }

    fn entry(&self, input: &Input) -> Option<(Which, &What)> {
        find(&self.entries, input).map(|(index, what)| (Which::Entry(index), what))
    }

    fn anywhere(&self, input: &Input) -> Option<(Which, &What)> {
        find(&self.anywhere, input).map(|(index, what)| (Which::Anywhere(index), what))
    }

    fn at(&self, state: &str, input: &Input) -> Option<(Which, &What)> {
        let state = self.index(state)?;
        find(&self.at[state], input).map(|(index, what)| (Which::State(state, index), what))
    }

    fn refresh(&self, frame: &mut Frame) -> Result<(), TurnError> {
        if frame.schema == S::VERSION && S::NAMES.contains(&&*frame.at) {
            return Ok(());
        }
        let unreadable = |error: BoxError| {
            let Frame { at, schema, .. } = &*frame;
            TurnError::Unreadable(format!("state `{at}` of `{}` in version {schema}: {error}", S::DIALOGUE))
        };
        let (at, state) = self.upcasted(&frame.state, frame.schema).map_err(unreadable)?;
        // A state to go back to that cannot be read is not worth ending the dialogue for.
        let history = std::mem::take(&mut frame.history).into_iter().rev().map_while(|mut past| {
            let (at, state) = self.upcasted(&past.state, frame.schema).ok()?;
            past.at = at.into();
            past.state = state;
            Some(past)
        });
        let mut history: Vec<_> = history.collect();
        history.reverse();
        frame.at = at.into();
        frame.state = state;
        frame.history = history;
        frame.schema = S::VERSION;
        Ok(())
    }

    fn play<'t>(
        &self,
        which: Which,
        turn: &'t mut Turn,
        depth: usize,
        input: &Input,
    ) -> Result<Running<'t>, TurnError> {
        let misfit = || TurnError::failed(format!("`{}` has no such handler for {}", S::DIALOGUE, input.name()));
        let state = if which.needs_state() { Some(state_of::<S>(turn, depth)?) } else { None };
        let depth = which.needs_state().then_some(depth);
        turn.speaker = Speaker { dialogue: S::DIALOGUE, slot: turn.slot.clone(), depth };
        let act: &Act<S> = match which {
            Which::Entry(index) => &self.entries[index].act,
            Which::Anywhere(index) => &self.anywhere[index].act,
            Which::State(state, index) => &self.at[state][index].act,
            Which::Ask => {
                let index = state.as_ref().and_then(|state| self.index(state.name()));
                index.and_then(|index| self.asks[index].as_ref()).ok_or_else(misfit)?
            }
            Which::Otherwise => self.otherwise.as_ref().ok_or_else(misfit)?,
            Which::Timeout => self.timeout.as_ref().ok_or_else(misfit)?,
            Which::Late => self.late.as_ref().ok_or_else(misfit)?,
            Which::Failed => self.failed.as_ref().ok_or_else(misfit)?,
            Which::Restore => self.restore.as_ref().ok_or_else(misfit)?,
        };
        act(turn, state, input).ok_or_else(misfit)
    }
}

impl<S: States> Dialogue<S> {
    /// Loads what was stored in this version of the shape; for golden files, too.
    pub(crate) fn load(&self, stored: &RawValue, schema: u32) -> Result<S, BoxError> {
        if schema == S::VERSION {
            return Ok(serde_json::from_str(stored.get())?);
        }
        if schema > S::VERSION {
            return Err(format!("it was written by a newer program; this one knows version {}", S::VERSION).into());
        }
        let mut value: Value = serde_json::from_str(stored.get())?;
        for version in schema..S::VERSION {
            let upcast =
                self.upcasts.get(&version).ok_or_else(|| format!("there is no upcast from version {version}"))?;
            // It judges what an older program wrote: a panic means as little as an error.
            let brought = catch_unwind(AssertUnwindSafe(|| upcast(value)));
            value = brought.unwrap_or_else(|_| Err(format!("the upcast from version {version} panicked").into()))?;
        }
        Ok(serde_json::from_value(value)?)
    }

    fn upcasted(&self, stored: &RawValue, schema: u32) -> Result<(&'static str, Box<RawValue>), BoxError> {
        let state = self.load(stored, schema)?;
        Ok((state.name(), serde_json::value::to_raw_value(&state)?))
    }
}

fn takes<S: States>(routes: &[Route<S>]) -> Vec<(&What, bool)> {
    routes.iter().map(|route| (&route.what, route.partial)).collect()
}

fn find<'a, S: States>(routes: &'a [Route<S>], input: &Input) -> Option<(usize, &'a What)> {
    let found = routes.iter().enumerate().find(|(_, route)| route.takes(input));
    found.map(|(index, route)| (index, &route.what))
}

fn state_of<S: States>(turn: &Turn, depth: usize) -> Result<S, TurnError> {
    let frame = turn.talk.slot(&turn.slot).and_then(|slot| slot.stack.get(depth));
    let frame = frame.ok_or_else(|| TurnError::failed(format!("`{}` is not open", S::DIALOGUE)))?;
    serde_json::from_str(frame.state.get()).map_err(|error| {
        let what = format!("state `{}` of `{}` in version {}: {error}", frame.at, S::DIALOGUE, frame.schema);
        // What this very turn wrote is the handler's mistake: nothing that is stored is to blame.
        if frame.entry == turn.made { TurnError::failed(what) } else { TurnError::Unreadable(what) }
    })
}
