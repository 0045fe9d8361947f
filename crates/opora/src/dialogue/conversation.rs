//! A conversation as it is stored: its tracks, their open dialogues, states and history.
//!
//! Empty fields are not written and unknown fields are ignored, so an older program reads what a newer one wrote as
//! long as the states themselves load. States are parsed only when they are needed.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Child;
use crate::clock::Millis;
use crate::store::requester::Requester;
use crate::store::{StateName, StoredState, Version};
use crate::turn::RunningHandler;

/// How many tracks a conversation may have.
pub(crate) const TRACKS_MAX: usize = 8;
/// How many dialogues may be on the stack of one track.
pub(crate) const STACK_MAX: usize = 8;
const USED_MAX: usize = 16;
const OFFERS_MAX: usize = 16;
const ALBUMS_MAX: usize = 4;

/// The state of one conversation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Conversation {
    /// The foreground: the track that gets texts.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub front: Box<str>,
    /// The last one was opened or brought to the front last.
    pub tracks: Vec<Track>,
    /// Recent albums, to recognise their late items.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub albums: Vec<Box<str>>,
    /// Until when `albums` are remembered while nothing is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub albums_until: Option<Millis>,
    /// The person's language, for turns without an update.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub language: Box<str>,
    /// Whether a handler chose `language`. It then overrides the language of the person's Telegram.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_language_chosen: bool,
    /// The last pressed button of an entry, if it left nothing open. A second tap on it is ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressed: Option<Pressed>,
}

/// A button that was just pressed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pressed {
    /// The data with its tag, as Telegram sends it.
    pub data: Box<str>,
    /// When it may be pressed again.
    pub until: Millis,
}

/// A track: a dialogue, and below it on the stack the parents that wait for it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Track {
    /// Empty for the main track.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub name: Box<str>,
    /// The last frame is the top: the dialogue that gets inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame>,
    /// Data of the buttons that were pressed since the state was entered, with their tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub used: Vec<Box<str>>,
    /// Later turns of this state that offered buttons. Recorded only if there are several tracks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<Version>,
    /// The turn in which a child returned to the top dialogue. 0 if the state was entered later.
    #[serde(default, skip_serializing_if = "Version::is_zero")]
    pub returned: Version,
    /// When the track expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Millis>,
    /// The draft: the stack that "Try again" resumes after a failed turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Frame>,
    /// The turn that kept the draft. Buttons offered before it belong to an earlier draft.
    #[serde(default, skip_serializing_if = "Version::is_zero")]
    pub kept_since: Version,
}

/// A dialogue on the stack of a track.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Frame {
    pub dialogue: Box<str>,
    /// The version of `state` and `history`, [`States::VERSION`](super::States::VERSION).
    pub schema: u32,
    /// The state's name.
    pub at: Box<str>,
    pub state: Box<RawValue>,
    /// The turn that entered the state.
    pub entry: Version,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Past>,
    /// When a parent that waits for its child expires. The expiry of the top frame is `Track::until`.
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
    pub fn track(&self, name: &str) -> Option<&Track> {
        self.tracks.iter().find(|track| *track.name == *name)
    }

    pub fn track_mut(&mut self, name: &str) -> Option<&mut Track> {
        self.tracks.iter_mut().find(|track| *track.name == *name)
    }

    pub fn track_or_new(&mut self, name: &str) -> &mut Track {
        let index = self.tracks.iter().position(|track| *track.name == *name).unwrap_or_else(|| {
            self.tracks.push(Track { name: name.into(), ..Track::default() });
            self.tracks.len() - 1
        });
        &mut self.tracks[index]
    }

    pub fn top(&self, track: &str) -> Option<&Frame> {
        self.track(track)?.stack.last()
    }

    pub fn top_mut(&mut self, track: &str) -> Option<&mut Frame> {
        self.track_mut(track)?.stack.last_mut()
    }

    /// The requester of a handler's timers and effects: its own dialogue, in the state that it has now.
    pub fn requester(&self, by: &RunningHandler) -> Requester {
        let found = match by.depth {
            Some(depth) => self.track(&by.track).and_then(|track| Some((track, track.stack.get(depth)?))),
            None => self.find_open(by),
        };
        match found.filter(|(_, frame)| *frame.dialogue == *by.dialogue) {
            Some((track, Frame { dialogue, entry, .. })) => {
                Requester { track: track.name.clone(), dialogue: dialogue.clone(), entry: *entry }
            }
            None => Requester::without_state(by.dialogue),
        }
    }

    /// The open frame of a dialogue: in the handler's track, otherwise in the foreground, otherwise in any track.
    fn find_open(&self, by: &RunningHandler) -> Option<(&Track, &Frame)> {
        let near = self.track(&by.track).into_iter().chain(self.track(&self.front));
        near.chain(self.tracks.iter().rev()).find_map(|track| {
            let frame = track.stack.iter().rev().find(|frame| *frame.dialogue == *by.dialogue)?;
            Some((track, frame))
        })
    }

    /// The state of the foreground.
    pub fn front_state(&self) -> Option<StateName> {
        self.top(&self.front).map(Frame::state_name)
    }

    /// The states of all open dialogues, the foreground first.
    pub fn open_states(&self) -> Vec<StateName> {
        let front = self.tracks.iter().filter(|track| track.name == self.front);
        let others = self.tracks.iter().filter(|track| track.name != self.front);
        front.chain(others).flat_map(|track| track.stack.iter().rev().map(Frame::state_name)).collect()
    }

    /// Makes a track the foreground. False if there is no such track.
    pub fn bring_to_front(&mut self, name: &str) -> bool {
        let Some(index) = self.tracks.iter().position(|track| *track.name == *name) else { return false };
        let track = self.tracks.remove(index);
        self.front = track.name.clone();
        self.tracks.push(track);
        true
    }

    /// Removes a track. If it was the foreground, the previous one becomes the foreground again.
    pub fn close(&mut self, name: &str) {
        self.tracks.retain(|track| *track.name != *name);
        if *self.front == *name {
            self.front = self.tracks.last().map(|track| track.name.clone()).unwrap_or_default();
        }
    }

    /// Whether this was the last pressed button, a short time ago.
    pub fn was_just_pressed(&self, data: &str, now: Millis) -> bool {
        self.pressed.as_ref().is_some_and(|pressed| *pressed.data == *data && now < pressed.until)
    }

    /// The conversation as a store keeps it.
    pub fn to_stored(&self) -> Result<StoredState, serde_json::Error> {
        let expiries = self.tracks.iter().filter_map(|track| track.until);
        let pressed = self.pressed.as_ref().map(|pressed| pressed.until);
        let expires_at = expiries.chain(pressed).chain(self.albums_until).min();
        Ok(StoredState { value: serde_json::to_string(self)?.into(), states: self.open_states(), expires_at })
    }

    /// Whether nothing is open and nothing has to be remembered.
    pub fn is_over(&self) -> bool {
        self.tracks.is_empty() && self.pressed.is_none() && self.albums_until.is_none()
    }

    /// The track whose draft was offered at this version: the youngest that existed then.
    pub fn draft_offered_at(&self, offered: Version) -> Option<&Track> {
        let with_draft = self.tracks.iter().filter(|track| !track.kept.is_empty() && track.kept_since <= offered);
        with_draft.max_by_key(|track| track.kept_since)
    }

    /// Forgets the pressed button and the albums whose time is over.
    pub fn forget_expired(&mut self, now: Millis) {
        self.pressed.take_if(|pressed| pressed.until <= now);
        if self.albums_until.take_if(|until| *until <= now).is_some() {
            self.albums.clear();
        }
    }

    /// Remembers an album. False if it is known already.
    pub fn remember_album(&mut self, id: &str) -> bool {
        if self.albums.iter().any(|known| **known == *id) {
            return false;
        }
        push_bounded(&mut self.albums, id.into(), ALBUMS_MAX);
        true
    }
}

impl Track {
    /// Records that the top dialogue entered a state. Earlier buttons become stale.
    pub fn entered(&mut self, entry: Version) {
        self.used.clear();
        self.offers.clear();
        self.returned = Version::default();
        if let Some(top) = self.stack.last_mut() {
            top.entry = entry;
        }
    }

    /// Records that a child returned to the top dialogue. The child's buttons become stale. The parent's state is not
    /// entered again, so its timers and outcomes still reach it.
    pub fn returned_from_child(&mut self, version: Version) {
        self.used.clear();
        self.offers.clear();
        self.returned = version;
    }

    /// The first turn whose buttons are valid. None if nothing is open.
    pub fn buttons_valid_from(&self) -> Option<Version> {
        self.stack.last().map(|top| top.entry.max(self.returned))
    }

    /// Turns the stack into a draft.
    pub fn keep_draft(&mut self, version: Version) {
        self.kept = std::mem::take(&mut self.stack);
        self.kept_since = version;
        self.used.clear();
        self.offers.clear();
    }

    pub fn mark_used(&mut self, data: &str) {
        push_bounded(&mut self.used, data.into(), USED_MAX);
    }

    pub fn offer(&mut self, version: Version) {
        push_bounded(&mut self.offers, version, OFFERS_MAX);
    }

    pub fn is_used(&self, data: &str) -> bool {
        self.used.iter().any(|used| **used == *data)
    }
}

impl Frame {
    /// The frame of a dialogue that begins.
    pub fn begin(child: Child, entry: Version) -> Result<Self, String> {
        let Child { dialogue, schema, name, state } = child;
        let state = state.map_err(|error| format!("state `{name}` of `{dialogue}` cannot be written: {error}"))?;
        Ok(Self { dialogue: dialogue.into(), schema, at: name.into(), state, entry, history: Vec::new(), until: None })
    }

    pub fn state_name(&self) -> StateName {
        StateName { dialogue: self.dialogue.clone(), state: self.at.clone() }
    }

    /// Goes to a state and adds the former one to the history, which keeps `history_max` states.
    pub fn go(&mut self, at: Box<str>, state: Box<RawValue>, entry: Version, history_max: usize) {
        let past = Past { at: std::mem::replace(&mut self.at, at), state: std::mem::replace(&mut self.state, state) };
        push_bounded(&mut self.history, past, history_max);
        self.entry = entry;
    }

    /// Goes back to the last state of the history. False if it is empty.
    pub fn back(&mut self) -> bool {
        let Some(past) = self.history.pop() else { return false };
        self.at = past.at;
        self.state = past.state;
        true
    }
}

/// Adds to a bounded list. It drops its oldest values.
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
    fn empty_fields_are_not_written() {
        let track = Track { stack: vec![frame("form", "name")], ..Track::default() };
        let conversation = Conversation { tracks: vec![track], ..Conversation::default() };
        assert_eq!(
            serde_json::to_string(&conversation).unwrap(),
            r#"{"tracks":[{"stack":[{"dialogue":"form","schema":1,"at":"name","state":"name","entry":3}]}]}"#
        );
    }

    #[test]
    fn bounded_lists_drop_their_oldest_values() {
        let mut list = vec![1, 2, 3];
        push_bounded(&mut list, 4, 3);
        assert_eq!(list, [2, 3, 4]);
        push_bounded(&mut list, 5, 2);
        assert_eq!(list, [4, 5]);
        push_bounded(&mut list, 6, 0);
        assert_eq!(list, [4, 5]);
    }

    #[test]
    fn closing_the_foreground_brings_back_the_previous_track() {
        let mut conversation = Conversation::default();
        for name in ["", "a", "b"] {
            conversation.track_or_new(name).stack.push(frame(name, "x"));
        }
        assert!(conversation.bring_to_front("a"));
        assert!(!conversation.bring_to_front("c"));
        conversation.close("a");
        assert_eq!(&*conversation.front, "b");
        conversation.close("");
        assert_eq!(&*conversation.front, "b");
        assert_eq!(conversation.open_states().len(), 1);
    }
}
