//! Pressed buttons: which still count, and for whom.
//!
//! A button with a tag counts while the state entry that offered it lasts, and once unless it says otherwise. An
//! entry's button counts also later, for it leads into a dialogue from anywhere; where it leaves nothing open that
//! could remember the press, the conversation does, until its person does something else or an hour has passed. Data
//! without a tag is judged by the state alone.

use std::time::Duration;

use super::conversation::Pressed;
use super::play::{NO_HANDLER, Play};
use super::script::Way;
use super::texts::Texts;
use super::trouble::{AGAIN, CANCEL};
use crate::input::Input;
use crate::store::Version;
use crate::telegram::Tag;
use crate::turn::{Hearing, TurnError};

/// For how long an entry's button that has left nothing open does not act again, and an album is known. What waited
/// while the bot was down comes within this; a person who comes back later means it.
pub(super) const REMEMBERED_FOR: Duration = Duration::from_secs(3600);

impl Play<'_> {
    pub async fn press(&mut self, whole: &str, input: &Input) -> Result<(), TurnError> {
        if !self.is_let_in(input).await? {
            return Ok(());
        }
        self.is_by_person = true;
        let pressed = Tag::read(whole);
        let Some(version) = pressed.version else {
            self.turn.slot = self.turn.talk.front.clone();
            // A press of nobody's is answered and nothing else.
            self.is_by_person = self.hear(input).await?;
            if self.is_by_person {
                self.turn.talk.pressed = None;
            } else {
                self.hearing = Hearing::Ignored(NO_HANDLER);
            }
            return Ok(());
        };
        if pressed.is_of(&self.turn.key) && (pressed.data == AGAIN || pressed.data == CANCEL) {
            return self.decide_on_draft(version, pressed.data == AGAIN).await;
        }
        let offered = if pressed.is_of(&self.turn.key) {
            self.offered_by(version, input)?
        } else {
            // Somebody else's: only what an entry hears is everybody's.
            self.turn.slot = self.turn.talk.front.clone();
            self.leads_in(input).then(|| self.turn.slot.clone())
        };
        let Some(slot) = offered else {
            self.stale().await;
            return Ok(());
        };
        let talk = &mut self.turn.talk;
        if talk.slots.iter().any(|slot| slot.is_used_up(whole)) || talk.was_just_pressed(whole, self.turn.now) {
            self.stale().await;
            return Ok(());
        }
        talk.pressed = None;
        self.turn.slot = slot;
        self.hear(input).await?;
        if !pressed.repeatable && !self.turn.wishes.refused {
            self.use_up(whole, input);
        }
        Ok(())
    }

    /// The slot that a button belongs to while it counts there, or as an entry's, and somebody hears it.
    pub fn offered_by(&mut self, version: Version, input: &Input) -> Result<Option<Box<str>>, TurnError> {
        let talk = &self.turn.talk;
        let exact = |entry: Version, offers: &[Version]| entry == version || offers.contains(&version);
        let mut exactly: Vec<Box<str>> = Vec::new();
        let mut roughly: Vec<Box<str>> = Vec::new();
        for slot in &talk.slots {
            let Some(since) = slot.since() else { continue };
            if exact(since, &slot.offers) {
                exactly.push(slot.name.clone());
            } else if since <= version {
                roughly.push(slot.name.clone());
            }
        }
        let mut candidates = if exactly.is_empty() { roughly } else { exactly };
        candidates.sort_by_key(|name| *name != talk.front);
        for slot in candidates {
            self.turn.slot = slot;
            self.refresh_top()?;
            if let Some(Way::Flow(..)) = self.script.way(self.top(), input) {
                return Ok(Some(self.turn.slot.clone()));
            }
        }
        self.turn.slot = self.turn.talk.front.clone();
        Ok(self.leads_in(input).then(|| self.turn.slot.clone()))
    }

    /// An entry hears this, whatever is open.
    fn leads_in(&self, input: &Input) -> bool {
        matches!(self.script.way(None, input), Some(Way::Flow(..)))
    }

    /// A press that led on is stale by its version already; only one that did not, or that an entry hears, must be
    /// remembered.
    fn use_up(&mut self, whole: &str, input: &Input) {
        let made = self.turn.made;
        let leads_in = self.leads_in(input);
        match self.turn.talk.slot_mut(&self.turn.slot) {
            Some(slot) if leads_in || slot.since().is_some_and(|since| since != made) => slot.use_up(whole),
            None if leads_in => {
                let until = self.turn.now.plus(REMEMBERED_FOR);
                self.turn.talk.pressed = Some(Pressed { data: whole.into(), until });
            }
            _ => {}
        }
    }

    async fn stale(&mut self) {
        self.is_by_person = false;
        let text = self.sentence(Texts::stale_button).await;
        self.turn.toast(text);
    }

    async fn decide_on_draft(&mut self, offered: Version, again: bool) -> Result<(), TurnError> {
        let Some(slot) = self.turn.talk.kept_at(offered).map(|slot| slot.name.clone()) else {
            self.stale().await;
            return Ok(());
        };
        self.turn.slot = slot;
        if again {
            return self.take_up_draft().await;
        }
        self.cancel().await;
        Ok(())
    }
}
