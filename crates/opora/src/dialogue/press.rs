//! Pressed buttons: which are still valid, and in which track.
//!
//! A button with a tag is valid while the state that offered it is open, and for one press unless it is repeatable. A
//! button that an entry handles stays valid later, too. If its press leaves nothing open, the conversation remembers
//! the press, until the person does something else or an hour has passed. A button without a tag is valid wherever a
//! handler takes it.

use std::time::Duration;

use super::conversation::Pressed;
use super::interruptions::{CANCEL_DATA, TRY_AGAIN_DATA};
use super::run::{NO_HANDLER, ScriptRun};
use super::script::HandledBy;
use super::texts::Texts;
use crate::input::Input;
use crate::store::Version;
use crate::telegram::Tag;
use crate::turn::{Handling, TurnError};

/// How long a press of an entry's button, or an album, is remembered if nothing is open. Repeated updates arrive within
/// this time; after it, a second press is meant.
pub(super) const REMEMBERED_FOR: Duration = Duration::from_secs(3600);

impl ScriptRun<'_> {
    pub async fn press(&mut self, tagged_data: &str, input: &Input) -> Result<(), TurnError> {
        if !self.passes_guard(input).await? {
            return Ok(());
        }
        self.is_by_person = true;
        let pressed = Tag::parse(tagged_data);
        let Some(version) = pressed.version else {
            self.select_foreground();
            // A press without a handler is answered and does nothing else.
            self.is_by_person = self.handle(input).await?;
            if self.is_by_person {
                self.turn.conversation.pressed = None;
            } else {
                self.handling = Handling::Ignored(NO_HANDLER);
            }
            return Ok(());
        };
        if pressed.is_of(&self.turn.key) && (pressed.data == TRY_AGAIN_DATA || pressed.data == CANCEL_DATA) {
            return self.decide_on_draft(version, pressed.data == TRY_AGAIN_DATA).await;
        }
        let offered = if pressed.is_of(&self.turn.key) {
            self.track_of_button(version, input)?
        } else {
            // A button of another person: only entries handle it.
            self.select_foreground();
            self.is_for_entry(input).then(|| self.turn.track.clone())
        };
        let Some(track) = offered else {
            self.answer_stale_press().await;
            return Ok(());
        };
        let conversation = &mut self.turn.conversation;
        let is_used = conversation.tracks.iter().any(|track| track.is_used(tagged_data));
        if is_used || conversation.was_just_pressed(tagged_data, self.turn.now) {
            self.answer_stale_press().await;
            return Ok(());
        }
        conversation.pressed = None;
        self.turn.track = track;
        self.handle(input).await?;
        if !pressed.repeatable && !self.turn.output.refused {
            self.mark_used(tagged_data, input);
        }
        Ok(())
    }

    /// The track in which a button is valid and has a handler; the foreground if an entry handles it.
    pub fn track_of_button(&mut self, version: Version, input: &Input) -> Result<Option<Box<str>>, TurnError> {
        let conversation = &self.turn.conversation;
        let mut exact: Vec<Box<str>> = Vec::new();
        let mut possible: Vec<Box<str>> = Vec::new();
        for track in &conversation.tracks {
            let Some(valid_from) = track.buttons_valid_from() else { continue };
            if valid_from == version || track.offers.contains(&version) {
                exact.push(track.name.clone());
            } else if valid_from <= version {
                possible.push(track.name.clone());
            }
        }
        let mut candidates = if exact.is_empty() { possible } else { exact };
        candidates.sort_by_key(|name| *name != conversation.front);
        for track in candidates {
            self.turn.track = track;
            self.upgrade_top()?;
            if let Some(HandledBy::Handler(..)) = self.script.find_handler(self.top(), input) {
                return Ok(Some(self.turn.track.clone()));
            }
        }
        self.select_foreground();
        Ok(self.is_for_entry(input).then(|| self.turn.track.clone()))
    }

    /// Whether an entry handles the input.
    fn is_for_entry(&self, input: &Input) -> bool {
        matches!(self.script.find_handler(None, input), Some(HandledBy::Handler(..)))
    }

    /// Records a press that must not work again. After a transition the version makes the button stale, so only presses
    /// without one, and those of entries, are recorded.
    fn mark_used(&mut self, tagged_data: &str, input: &Input) {
        let new_version = self.turn.new_version;
        let is_for_entry = self.is_for_entry(input);
        match self.turn.conversation.track_mut(&self.turn.track) {
            Some(track) if is_for_entry || track.buttons_valid_from().is_some_and(|from| from != new_version) => {
                track.mark_used(tagged_data);
            }
            None if is_for_entry => {
                let until = self.turn.now.plus(REMEMBERED_FOR);
                self.turn.conversation.pressed = Some(Pressed { data: tagged_data.into(), until });
            }
            _ => {}
        }
    }

    async fn answer_stale_press(&mut self) {
        self.is_by_person = false;
        let text = self.own_text(Texts::stale_button).await;
        self.turn.toast(text);
    }

    async fn decide_on_draft(&mut self, offered: Version, is_try_again: bool) -> Result<(), TurnError> {
        let Some(track) = self.turn.conversation.draft_offered_at(offered).map(|track| track.name.clone()) else {
            self.answer_stale_press().await;
            return Ok(());
        };
        self.turn.track = track;
        if is_try_again {
            return self.resume_draft().await;
        }
        self.cancel().await
    }
}
