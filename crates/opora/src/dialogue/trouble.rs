//! When a dialogue cannot go on by itself: it failed, its life is over, or its person wants out.

use super::OnError;
use super::flow::Which;
use super::next::Move;
use super::play::Play;
use super::shift::Via;
use super::texts::Texts;
use crate::asking::Asker;
use crate::input::{Failure, Input};
use crate::telegram::{Button, Say, Tag};
use crate::turn::{Hearing, TurnError};
use crate::update::{Content, Update};

/// The data of the button that takes a kept draft up.
pub(super) const AGAIN: &str = "opora:again";
/// The data of the button that drops a kept draft.
pub(super) const CANCEL: &str = "opora:cancel";

/// Why a question is not asked again.
const NOTHING_OPEN: &str = "nothing_open";

/// A dialogue that waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parent {
    Lives,
    /// Its own life is over as well.
    Over,
}

impl Play<'_> {
    /// Finds the dialogue whose turn was parked; false if it is gone and nobody waits for anything.
    pub fn find_failed(&mut self, update: Option<&Update>, by: Option<&Asker>) -> Result<bool, TurnError> {
        self.turn.slot = self.turn.talk.front.clone();
        if let Some(by) = by {
            let stack = self.turn.talk.slot(&by.slot).map(|slot| &slot.stack[..]).unwrap_or_default();
            let waits = stack.iter().any(|frame| frame.dialogue == by.dialogue && frame.entry == by.entry);
            self.turn.slot = by.slot.clone();
            return Ok(waits);
        }
        if let Some(over) = self.over().filter(|_| update.is_none()) {
            self.turn.slot = over;
        }
        if let Some(Content::Callback(query)) = update.map(|update| &update.content) {
            let pressed = Tag::read(query.data.as_deref().unwrap_or_default());
            let version = pressed.version.filter(|_| pressed.is_of(&self.turn.key));
            let offered = match (version, update) {
                (Some(version), Some(update)) => self.offered_by(version, &Input::of(update))?,
                _ => None,
            };
            self.turn.slot = offered.unwrap_or_else(|| self.turn.talk.front.clone());
        }
        Ok(true)
    }

    /// A turn was parked: nobody stays stuck, and what was entered is not lost.
    pub async fn failed(&mut self, reason: String) -> Result<(), TurnError> {
        // Whatever failed, the person gets the whole life to take it up again.
        self.is_by_person = true;
        if self.top().is_none() {
            let kept = self.turn.talk.slot(&self.turn.slot).is_some_and(|slot| !slot.kept.is_empty());
            if kept {
                self.offer_again().await;
            } else {
                self.tell_last(Texts::failed_and_ended).await;
            }
            return Ok(());
        }
        self.refresh_top()?;
        let Some(flow) = self.speaking() else { return Ok(()) };
        if flow.has(Which::Failed, "") {
            let input = Input::Failed(Failure { reason });
            return self.act(flow, Which::Failed, Via::State, &input).await;
        }
        match flow.on_error {
            OnError::KeepDraft => {
                let made = self.turn.made;
                if let Some(slot) = self.turn.talk.slot_mut(&self.turn.slot) {
                    slot.keep_draft(made);
                }
                self.offer_again().await;
            }
            OnError::Stay => {
                self.tell(Texts::failed).await;
                self.go_on().await?;
            }
            OnError::End => {
                self.turn.talk.close(&self.turn.slot);
                self.tell_last(Texts::failed_and_ended).await;
            }
        }
        Ok(())
    }

    /// What was said last may not fit what is stored: the person is asked where the dialogue stands.
    pub async fn again(&mut self) -> Result<(), TurnError> {
        self.turn.slot = self.turn.talk.front.clone();
        if self.top().is_none() {
            self.hearing = Hearing::Ignored(NOTHING_OPEN);
            return Ok(());
        }
        self.refresh_top()?;
        self.go_on().await
    }

    /// Offers to take a kept draft up, or to drop it.
    pub async fn offer_again(&mut self) {
        let again = Button::new(self.sentence(Texts::try_again).await, AGAIN);
        let cancel = Button::new(self.sentence(Texts::cancel).await, CANCEL);
        let text = self.sentence(Texts::failed).await;
        self.turn.say(Say::text(text).buttons([[again, cancel]]));
    }

    pub async fn take_up_draft(&mut self) -> Result<(), TurnError> {
        let made = self.turn.made;
        if let Some(slot) = self.turn.talk.slot_mut(&self.turn.slot) {
            slot.stack = std::mem::take(&mut slot.kept);
            slot.entered(made);
        }
        self.refresh_top()?;
        self.go_on().await
    }

    /// Ends what is open in the turn's slot, and what was kept there.
    pub async fn cancel(&mut self) {
        let slot = self.turn.talk.slot(&self.turn.slot);
        if slot.is_some_and(|slot| !slot.stack.is_empty() || !slot.kept.is_empty()) {
            self.turn.talk.close(&self.turn.slot);
            self.tell_last(Texts::cancelled).await;
        } else {
            self.tell_last(Texts::nothing_to_cancel).await;
        }
    }

    /// Ends a dialogue whose life is over; one at a time, so that it is known which of them fails.
    pub async fn expired(&mut self) -> Result<(), TurnError> {
        let Some(slot) = self.over() else { return Ok(()) };
        self.turn.slot = slot;
        self.expire().await
    }

    /// The first dialogue whose life is over.
    fn over(&self) -> Option<Box<str>> {
        let is_over = |until| until <= self.turn.now;
        let slot = self.turn.talk.slots.iter().find(|slot| slot.until.is_some_and(is_over))?;
        Some(slot.name.clone())
    }

    async fn expire(&mut self) -> Result<(), TurnError> {
        self.refresh_top()?;
        let Some(flow) = self.speaking() else {
            // A draft that nobody took up goes without a word: its person was asked.
            self.turn.talk.close(&self.turn.slot);
            return Ok(());
        };
        let parent = self.parent();
        if flow.has(Which::Timeout, "") {
            self.acted = flow.name;
            let depth = self.turn.talk.slot(&self.turn.slot).map_or(0, |slot| slot.stack.len() - 1);
            let next = flow.play(Which::Timeout, &mut self.turn, depth, &Input::Timeout)?.await?;
            if matches!(next, Move::Keep(_) | Move::Go(_) | Move::Call(..)) {
                // Also where only values change: it has been given another life.
                self.live_on();
                return self.apply(flow, Via::State, next).await;
            }
        } else if parent != Some(Parent::Over) {
            // Who goes on with the parent needs no command to begin anew.
            let command = self.script.beginning(Some(flow.name)).filter(|_| parent.is_none());
            let over = |texts: &dyn Texts, language: &str| texts.timed_out(language, command.as_deref());
            match parent {
                None => self.tell_last(over).await,
                Some(_) => self.tell(over).await,
            }
        }
        match parent {
            None => self.turn.talk.close(&self.turn.slot),
            Some(Parent::Lives) => self.apply(flow, Via::State, Move::End).await?,
            Some(Parent::Over) => self.leave_child(),
        }
        Ok(())
    }

    /// Whether somebody waits for the dialogue that speaks, and is still alive.
    fn parent(&self) -> Option<Parent> {
        let slot = self.turn.talk.slot(&self.turn.slot)?;
        let [.., parent, _] = &slot.stack[..] else { return None };
        let is_over = parent.until.is_some_and(|until| until <= self.turn.now);
        Some(if is_over { Parent::Over } else { Parent::Lives })
    }

    /// Ends a child whose parent's life is over, too. The parent hears of its own end in a turn of its own, and of
    /// nothing else.
    fn leave_child(&mut self) {
        let made = self.turn.made;
        if let Some(slot) = self.turn.talk.slot_mut(&self.turn.slot) {
            slot.stack.pop();
            slot.came_back(made);
        }
        self.live_on_as_before();
    }
}
