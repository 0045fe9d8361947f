//! Pressed buttons: which still count, and for whom.
//!
//! A button with a tag counts while the state entry that offered it lasts, and once unless it says otherwise. An entry's
//! button counts also later, for it leads into a dialogue from anywhere. Data without a tag is judged by the state alone.

use super::flow::Which;
use super::play::Play;
use super::script::Way;
use super::texts::Texts;
use super::trouble::{AGAIN, CANCEL};
use crate::input::Input;
use crate::store::Version;
use crate::telegram::Tag;
use crate::turn::TurnError;

impl Play<'_> {
    pub async fn press(&mut self, whole: &str, input: &Input) -> Result<(), TurnError> {
        self.is_by_person = true;
        let pressed = Tag::read(whole);
        let Some(version) = pressed.version else {
            self.turn.slot = self.turn.talk.front.clone();
            // A press of nobody's is answered and nothing else.
            self.is_by_person = self.hear(input).await?;
            return Ok(());
        };
        if pressed.data == AGAIN || pressed.data == CANCEL {
            return self.decide_on_draft(pressed.data == AGAIN).await;
        }
        let Some((slot, is_entry)) = self.offered_by(version, input)? else {
            self.stale();
            return Ok(());
        };
        if self.turn.talk.slots.iter().any(|slot| slot.is_used_up(whole)) {
            self.stale();
            return Ok(());
        }
        self.turn.slot = slot;
        self.hear(input).await?;
        if !pressed.repeatable && !self.turn.wishes.refused {
            self.use_up(whole, is_entry);
        }
        Ok(())
    }

    /// The slot that a button belongs to while it counts there and somebody hears it; and whether it is an entry's.
    pub fn offered_by(&mut self, version: Version, input: &Input) -> Result<Option<(Box<str>, bool)>, TurnError> {
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
            if let Some(Way::Flow(_, which)) = self.script.way(self.top(), input) {
                return Ok(Some((self.turn.slot.clone(), matches!(which, Which::Entry(_)))));
            }
        }
        self.turn.slot = self.turn.talk.front.clone();
        let entry = matches!(self.script.way(None, input), Some(Way::Flow(..)));
        Ok(entry.then(|| (self.turn.slot.clone(), true)))
    }

    /// A press that led on is stale by its version already; only one that did not, or an entry's, must be remembered.
    fn use_up(&mut self, whole: &str, is_entry: bool) {
        let made = self.turn.made;
        let Some(slot) = self.turn.talk.slot_mut(&self.turn.slot) else { return };
        if is_entry || slot.since().is_some_and(|since| since != made) {
            slot.use_up(whole);
        }
    }

    fn stale(&mut self) {
        self.is_by_person = false;
        let text = self.sentence(Texts::stale_button);
        self.turn.toast(text);
    }

    async fn decide_on_draft(&mut self, again: bool) -> Result<(), TurnError> {
        let mut slots = self.turn.talk.slots.iter().rev();
        let Some(slot) = slots.find(|slot| !slot.kept.is_empty()).map(|slot| slot.name.clone()) else {
            self.stale();
            return Ok(());
        };
        self.turn.slot = slot;
        if again {
            return self.take_up_draft().await;
        }
        self.cancel();
        Ok(())
    }
}
