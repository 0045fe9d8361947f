//! A state from elsewhere, put into a store as if a turn had led there.
//!
//! For imports. A bot's own turns need none of this.

use serde_json::value::RawValue;

use super::States;
use super::conversation::{Conversation, Frame, Slot};
use crate::clock::Millis;
use crate::store::{Place, Stored, Version};

/// A state of a dialogue in its written form.
#[derive(Clone, Debug)]
pub struct WrittenState {
    /// The dialogue and the state, by their stable names.
    pub place: Place,
    /// The version of the dialogue's shape, [`States::VERSION`].
    pub schema: u32,
    /// The state as serde writes it.
    pub state: Box<RawValue>,
}

impl WrittenState {
    /// Writes a state.
    pub fn of<S: States>(state: &S) -> Result<Self, serde_json::Error> {
        let place = Place { dialogue: S::DIALOGUE.into(), state: state.name().into() };
        Ok(Self { place, schema: S::VERSION, state: serde_json::value::to_raw_value(state)? })
    }

    /// A conversation in which this alone is open. Buttons of turns before `entry` are stale in it. Without an end, its
    /// life begins with the person's next input.
    pub fn stored(self, entry: Version, until: Option<Millis>) -> Result<Stored, serde_json::Error> {
        self.conversation(entry, until).to_stored()
    }

    pub(crate) fn conversation(self, entry: Version, until: Option<Millis>) -> Conversation {
        let Self { place: Place { dialogue, state: at }, schema, state } = self;
        let frame = Frame { dialogue, schema, at, state, entry, history: Vec::new(), until: None };
        let slot = Slot { stack: vec![frame], until, ..Slot::default() };
        Conversation { slots: vec![slot], ..Conversation::default() }
    }
}
