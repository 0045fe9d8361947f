//! Serialized states, for imports from other programs.

use serde_json::value::RawValue;

use super::States;
use super::conversation::{Conversation, Frame, Track};
use crate::clock::Millis;
use crate::store::{StateName, StoredState, Version};

/// A serialized state of a dialogue.
#[derive(Clone, Debug)]
pub struct WrittenState {
    /// The stable names of dialogue and state.
    pub name: StateName,
    /// The version of the dialogue's states, [`States::VERSION`].
    pub schema: u32,
    /// The state as serde writes it.
    pub state: Box<RawValue>,
}

impl WrittenState {
    /// Serializes a state.
    pub fn from_state<S: States>(state: &S) -> Result<Self, serde_json::Error> {
        let name = StateName { dialogue: S::DIALOGUE.into(), state: state.name().into() };
        Ok(Self { name, schema: S::VERSION, state: serde_json::value::to_raw_value(state)? })
    }

    /// A conversation in which only this state is open. Buttons of turns before `entry` are stale. `until` is its
    /// expiry; without one, the time starts with the person's next input.
    pub fn stored(self, entry: Version, until: Option<Millis>) -> Result<StoredState, serde_json::Error> {
        self.conversation(entry, until).to_stored()
    }

    pub(crate) fn conversation(self, entry: Version, until: Option<Millis>) -> Conversation {
        let Self { name: StateName { dialogue, state: at }, schema, state } = self;
        let frame = Frame { dialogue, schema, at, state, entry, history: Vec::new(), until: None };
        let track = Track { stack: vec![frame], until, ..Track::default() };
        Conversation { tracks: vec![track], ..Conversation::default() }
    }
}
