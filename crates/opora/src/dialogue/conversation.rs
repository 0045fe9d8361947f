//! A conversation as it is stored: which dialogues are open, where each stands, and how it got there.
//!
//! Fields that are empty are not written, and fields that are not known are not minded: an older program reads what a
//! newer one wrote as long as the states themselves load. States stay unread until somebody needs them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Child;
use crate::asking::{Asker, Speaker};
use crate::clock::Millis;
use crate::store::{Place, Stored, Version};

/// Dialogues side by side in one conversation.
pub(crate) const SLOTS_MAX: usize = 8;
/// Dialogues that wait for one another in one slot.
pub(crate) const STACK_MAX: usize = 8;
const USED_MAX: usize = 16;
const OFFERS_MAX: usize = 16;
const ALBUMS_MAX: usize = 4;

/// Everything that is open under one key.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Conversation {
    /// The slot that hears texts.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub front: Box<str>,
    /// The last is the one that was opened or brought to the front last.
    pub slots: Vec<Slot>,
    /// Albums that were heard of late, so that stragglers are known as such.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub albums: Vec<Box<str>>,
    /// How long they are remembered where the last of them has left nothing open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub albums_until: Option<Millis>,
    /// The person's language, for when time speaks and not the person.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub language: Box<str>,
    /// It was chosen here, whatever the person's Telegram says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_language_chosen: bool,
    /// An entry's button that was pressed last and has left nothing open: a second tap must find that out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressed: Option<Pressed>,
}

/// A button that was just pressed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pressed {
    /// As Telegram sends it.
    pub data: Box<str>,
    /// When it may be pressed anew.
    pub until: Millis,
}

/// A dialogue, with those that wait for it below.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Slot {
    /// Empty for the one that is always there.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub name: Box<str>,
    /// The last is the one that speaks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame>,
    /// Buttons that were pressed since the state was entered, as Telegram sends them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub used: Vec<Box<str>>,
    /// Later turns of this state that offered buttons; kept only where slots must be told apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<Version>,
    /// The turn in which the speaking dialogue came back from its child; 0 if its own entry is later.
    #[serde(default, skip_serializing_if = "Version::is_zero")]
    pub returned: Version,
    /// When its life is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Millis>,
    /// What stood here when a turn failed for good: the draft that "Try again" takes up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Frame>,
    /// The turn that kept it: what was offered before is about an earlier draft.
    #[serde(default, skip_serializing_if = "Version::is_zero")]
    pub kept_since: Version,
}

/// One dialogue and where it stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Frame {
    pub dialogue: Box<str>,
    /// The version of the shape that `state` and `history` have.
    pub schema: u32,
    /// The state's name.
    pub at: Box<str>,
    pub state: Box<RawValue>,
    /// The turn that entered the state.
    pub entry: Version,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Past>,
    /// When its own life is over, while it waits for a child; of the one that speaks, the slot knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Millis>,
}

/// A state that Back goes to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Past {
    pub at: Box<str>,
    pub state: Box<RawValue>,
}

impl Conversation {
    pub fn slot(&self, name: &str) -> Option<&Slot> {
        self.slots.iter().find(|slot| *slot.name == *name)
    }

    pub fn slot_mut(&mut self, name: &str) -> Option<&mut Slot> {
        self.slots.iter_mut().find(|slot| *slot.name == *name)
    }

    pub fn slot_or_new(&mut self, name: &str) -> &mut Slot {
        let index = self.slots.iter().position(|slot| *slot.name == *name).unwrap_or_else(|| {
            self.slots.push(Slot { name: name.into(), ..Slot::default() });
            self.slots.len() - 1
        });
        &mut self.slots[index]
    }

    pub fn top(&self, slot: &str) -> Option<&Frame> {
        self.slot(slot)?.stack.last()
    }

    pub fn top_mut(&mut self, slot: &str) -> Option<&mut Frame> {
        self.slot_mut(slot)?.stack.last_mut()
    }

    /// Who asks for what a handler wanted: its own dialogue in the state that it stands in now, never another one.
    pub fn asker(&self, by: &Speaker) -> Asker {
        let found = match by.depth {
            Some(depth) => self.slot(&by.slot).and_then(|slot| Some((slot, slot.stack.get(depth)?))),
            None => self.find_open(by),
        };
        match found.filter(|(_, frame)| *frame.dialogue == *by.dialogue) {
            Some((slot, Frame { dialogue, entry, .. })) => {
                Asker { slot: slot.name.clone(), dialogue: dialogue.clone(), entry: *entry }
            }
            None => Asker::without_state(by.dialogue),
        }
    }

    /// The open state of a dialogue: first where its handler ran, then in the foreground, then anywhere.
    fn find_open(&self, by: &Speaker) -> Option<(&Slot, &Frame)> {
        let near = self.slot(&by.slot).into_iter().chain(self.slot(&self.front));
        near.chain(self.slots.iter().rev()).find_map(|slot| {
            let frame = slot.stack.iter().rev().find(|frame| *frame.dialogue == *by.dialogue)?;
            Some((slot, frame))
        })
    }

    /// Where the foreground stands.
    pub fn front_place(&self) -> Option<Place> {
        self.top(&self.front).map(Frame::place)
    }

    /// Every open dialogue, the foreground first.
    pub fn places(&self) -> Vec<Place> {
        let front = self.slots.iter().filter(|slot| slot.name == self.front);
        let others = self.slots.iter().filter(|slot| slot.name != self.front);
        front.chain(others).flat_map(|slot| slot.stack.iter().rev().map(Frame::place)).collect()
    }

    /// Brings a slot to the front; false if nothing is open there.
    pub fn bring_to_front(&mut self, name: &str) -> bool {
        let Some(index) = self.slots.iter().position(|slot| *slot.name == *name) else { return false };
        let slot = self.slots.remove(index);
        self.front = slot.name.clone();
        self.slots.push(slot);
        true
    }

    /// Ends a slot. If it was in front, the one that was there last comes back.
    pub fn close(&mut self, name: &str) {
        self.slots.retain(|slot| *slot.name != *name);
        if *self.front == *name {
            self.front = self.slots.last().map(|slot| slot.name.clone()).unwrap_or_default();
        }
    }

    /// Whether this very button was the last that was pressed, a short time ago.
    pub fn was_just_pressed(&self, data: &str, now: Millis) -> bool {
        self.pressed.as_ref().is_some_and(|pressed| *pressed.data == *data && now < pressed.until)
    }

    /// As a store keeps it.
    pub fn to_stored(&self) -> Result<Stored, serde_json::Error> {
        let lives = self.slots.iter().filter_map(|slot| slot.until);
        let pressed = self.pressed.as_ref().map(|pressed| pressed.until);
        let expires_at = lives.chain(pressed).chain(self.albums_until).min();
        Ok(Stored { value: serde_json::to_string(self)?.into(), places: self.places(), expires_at })
    }

    /// Nothing is open, and there is nothing to remember.
    pub fn is_over(&self) -> bool {
        self.slots.is_empty() && self.pressed.is_none() && self.albums_until.is_none()
    }

    /// The slot whose kept draft was offered at a version: the youngest that was there by then.
    pub fn kept_at(&self, offered: Version) -> Option<&Slot> {
        let kept = self.slots.iter().filter(|slot| !slot.kept.is_empty() && slot.kept_since <= offered);
        kept.max_by_key(|slot| slot.kept_since)
    }

    /// Forgets what was to be remembered only until now.
    pub fn forget_old(&mut self, now: Millis) {
        self.pressed.take_if(|pressed| pressed.until <= now);
        if self.albums_until.take_if(|until| *until <= now).is_some() {
            self.albums.clear();
        }
    }

    /// Remembers an album; false if it was heard before.
    pub fn hear_album(&mut self, id: &str) -> bool {
        if self.albums.iter().any(|known| **known == *id) {
            return false;
        }
        push_bounded(&mut self.albums, id.into(), ALBUMS_MAX);
        true
    }
}

impl Slot {
    /// The speaking dialogue has entered a state anew: what was offered before is void.
    pub fn entered(&mut self, entry: Version) {
        self.used.clear();
        self.offers.clear();
        self.returned = Version::default();
        if let Some(top) = self.stack.last_mut() {
            top.entry = entry;
        }
    }

    /// The speaking dialogue is back from its child. The child's buttons are void, but its own state is the one that it
    /// left: what it has asked for still reaches it.
    pub fn came_back(&mut self, version: Version) {
        self.used.clear();
        self.offers.clear();
        self.returned = version;
    }

    /// The turn since which buttons of the speaking dialogue count; none if nothing is open.
    pub fn since(&self) -> Option<Version> {
        self.stack.last().map(|top| top.entry.max(self.returned))
    }

    /// Puts what stands here away as a draft.
    pub fn keep_draft(&mut self, version: Version) {
        self.kept = std::mem::take(&mut self.stack);
        self.kept_since = version;
        self.used.clear();
        self.offers.clear();
    }

    pub fn use_up(&mut self, data: &str) {
        push_bounded(&mut self.used, data.into(), USED_MAX);
    }

    pub fn offer(&mut self, version: Version) {
        push_bounded(&mut self.offers, version, OFFERS_MAX);
    }

    pub fn is_used_up(&self, data: &str) -> bool {
        self.used.iter().any(|used| **used == *data)
    }
}

impl Frame {
    /// A dialogue that begins.
    pub fn begin(child: Child, entry: Version) -> Result<Self, String> {
        let Child { dialogue, schema, name, state } = child;
        let state = state.map_err(|error| format!("state `{name}` of `{dialogue}` cannot be written: {error}"))?;
        Ok(Self { dialogue: dialogue.into(), schema, at: name.into(), state, entry, history: Vec::new(), until: None })
    }

    pub fn place(&self) -> Place {
        Place { dialogue: self.dialogue.clone(), state: self.at.clone() }
    }

    /// Goes to a state; the one before is remembered for Back, as far as `history_max` allows.
    pub fn go(&mut self, at: Box<str>, state: Box<RawValue>, entry: Version, history_max: usize) {
        let past = Past { at: std::mem::replace(&mut self.at, at), state: std::mem::replace(&mut self.state, state) };
        push_bounded(&mut self.history, past, history_max);
        self.entry = entry;
    }

    /// Goes back; false if there is nothing to go back to.
    pub fn back(&mut self) -> bool {
        let Some(past) = self.history.pop() else { return false };
        self.at = past.at;
        self.state = past.state;
        true
    }
}

/// Adds to a list that forgets its oldest.
fn push_bounded<T>(list: &mut Vec<T>, value: T, max: usize) {
    if max == 0 {
        return;
    }
    if list.len() >= max {
        list.drain(..=list.len() - max);
    }
    list.push(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(dialogue: &str, at: &str) -> Frame {
        let state = serde_json::value::to_raw_value(at).unwrap();
        let dialogue = dialogue.into();
        let at = at.into();
        let entry = Version(3);
        Frame { dialogue, schema: 1, at, state, entry, history: Vec::new(), until: None }
    }

    #[test]
    fn only_what_is_there_is_written() {
        let slot = Slot { stack: vec![frame("form", "name")], ..Slot::default() };
        let talk = Conversation { slots: vec![slot], ..Conversation::default() };
        assert_eq!(
            serde_json::to_string(&talk).unwrap(),
            r#"{"slots":[{"stack":[{"dialogue":"form","schema":1,"at":"name","state":"name","entry":3}]}]}"#
        );
    }

    #[test]
    fn lists_forget_their_oldest() {
        let mut list = vec![1, 2, 3];
        push_bounded(&mut list, 4, 3);
        assert_eq!(list, [2, 3, 4]);
        push_bounded(&mut list, 5, 2);
        assert_eq!(list, [4, 5]);
        push_bounded(&mut list, 6, 0);
        assert_eq!(list, [4, 5]);
    }

    #[test]
    fn when_the_front_closes_the_one_that_was_there_last_comes_back() {
        let mut talk = Conversation::default();
        for name in ["", "a", "b"] {
            talk.slot_or_new(name).stack.push(frame(name, "x"));
        }
        assert!(talk.bring_to_front("a"));
        assert!(!talk.bring_to_front("c"));
        talk.close("a");
        assert_eq!(&*talk.front, "b");
        talk.close("");
        assert_eq!(&*talk.front, "b");
        assert_eq!(talk.places().len(), 1);
    }
}
