//! Failed turns, expired dialogues and `/cancel`.

use super::OnError;
use super::definition::HandlerRef;
use super::next::ErasedNext;
use super::run::ScriptRun;
use super::texts::Texts;
use super::transition::Via;
use crate::input::{Failure, Input};
use crate::store::requester::Requester;
use crate::telegram::{Button, Say, Tag};
use crate::turn::{Handling, TurnError};
use crate::update::{Content, Update};

/// Data of the button that resumes a draft.
pub(super) const TRY_AGAIN_DATA: &str = "opora:again";
/// Data of the button that drops a draft.
pub(super) const CANCEL_DATA: &str = "opora:cancel";

/// Reason of an ignored request to ask again.
const NOTHING_OPEN: &str = "nothing_open";

/// Whether the parent of an expired child is still active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ParentStatus {
    Active,
    Expired,
}

impl ScriptRun<'_> {
    /// Selects the track whose turn was parked. False if the dialogue that waited for its result is gone.
    pub fn find_failed_track(&mut self, update: Option<&Update>, by: Option<&Requester>) -> Result<bool, TurnError> {
        self.select_foreground();
        if let Some(by) = by {
            let stack = self.turn.conversation.track(&by.track).map(|track| &track.stack[..]).unwrap_or_default();
            let is_waiting = stack.iter().any(|frame| frame.dialogue == by.dialogue && frame.entry == by.entry);
            self.turn.track = by.track.clone();
            return Ok(is_waiting);
        }
        if let Some(expired) = self.expired_track().filter(|_| update.is_none()) {
            self.turn.track = expired;
        }
        if let Some(Content::Callback(query)) = update.map(|update| &update.content) {
            let pressed = Tag::parse(query.data.as_deref().unwrap_or_default());
            let version = pressed.version.filter(|_| pressed.is_of(&self.turn.key));
            let offered = match (version, update) {
                (Some(version), Some(update)) => self.track_of_button(version, &Input::from_update(update))?,
                _ => None,
            };
            self.turn.track = offered.unwrap_or_else(|| self.turn.conversation.front.clone());
        }
        Ok(true)
    }

    /// Handles a parked turn by the dialogue's own handler or its [`OnError`] policy.
    pub async fn failed(&mut self, reason: String) -> Result<(), TurnError> {
        // The person gets the whole time until the expiry to try again.
        self.is_by_person = true;
        if self.top().is_none() {
            let has_draft = self.turn.conversation.track(&self.turn.track).is_some_and(|track| !track.kept.is_empty());
            if has_draft {
                self.offer_draft().await;
            } else {
                self.say_last_text(Texts::failed_and_ended).await;
            }
            return Ok(());
        }
        self.upgrade_top()?;
        let Some(definition) = self.top_definition() else { return Ok(()) };
        if definition.has(HandlerRef::Failed, "") {
            let input = Input::Failed(Failure { reason });
            return self.run_handler(definition, HandlerRef::Failed, &input).await;
        }
        match definition.on_error {
            OnError::KeepDraft => {
                let new_version = self.turn.new_version;
                if let Some(track) = self.turn.conversation.track_mut(&self.turn.track) {
                    track.keep_draft(new_version);
                }
                self.offer_draft().await;
            }
            OnError::Stay => {
                self.say_text(Texts::failed).await;
                self.ask_or_continue().await?;
            }
            OnError::End => {
                self.turn.conversation.close(&self.turn.track);
                self.say_last_text(Texts::failed_and_ended).await;
            }
        }
        Ok(())
    }

    /// Asks the question of the foreground again, because the last message may not fit the stored state.
    pub async fn ask_again(&mut self) -> Result<(), TurnError> {
        self.select_foreground();
        if self.top().is_none() {
            self.handling = Handling::Ignored(NOTHING_OPEN);
            return Ok(());
        }
        self.upgrade_top()?;
        self.ask_or_continue().await
    }

    /// Offers to resume a draft or to drop it.
    pub async fn offer_draft(&mut self) {
        let resume = Button::new(self.own_text(Texts::try_again).await, TRY_AGAIN_DATA);
        let cancel = Button::new(self.own_text(Texts::cancel).await, CANCEL_DATA);
        let text = self.own_text(Texts::failed).await;
        self.turn.say(Say::text(text).buttons([[resume, cancel]]));
    }

    pub async fn resume_draft(&mut self) -> Result<(), TurnError> {
        let new_version = self.turn.new_version;
        if let Some(track) = self.turn.conversation.track_mut(&self.turn.track) {
            track.stack = std::mem::take(&mut track.kept);
            track.entered(new_version);
        }
        self.upgrade_top()?;
        self.ask_or_continue().await
    }

    /// Ends what is open in the turn's track, and its draft. The dialogue on top says what it leaves behind.
    pub async fn cancel(&mut self) -> Result<(), TurnError> {
        let track = self.turn.conversation.track(&self.turn.track);
        if track.is_none_or(|track| track.stack.is_empty() && track.kept.is_empty()) {
            self.say_last_text(Texts::nothing_to_cancel).await;
            return Ok(());
        }
        match self.top_definition().filter(|definition| definition.has(HandlerRef::Cancel, "")) {
            Some(definition) => {
                self.handled_by = definition.name;
                let depth = self.depth();
                definition.run(HandlerRef::Cancel, &mut self.turn, depth, &Input::Expired)?.await?;
            }
            None => self.say_last_text(Texts::cancelled).await,
        }
        self.turn.conversation.close(&self.turn.track);
        Ok(())
    }

    /// Ends one expired dialogue. Others get turns of their own, so that it is known which of them fails.
    pub async fn expired(&mut self) -> Result<(), TurnError> {
        let Some(track) = self.expired_track() else { return Ok(()) };
        self.turn.track = track;
        self.expire().await
    }

    /// The first expired track.
    fn expired_track(&self) -> Option<Box<str>> {
        let is_expired = |until| until <= self.turn.now;
        let track = self.turn.conversation.tracks.iter().find(|track| track.until.is_some_and(is_expired))?;
        Some(track.name.clone())
    }

    async fn expire(&mut self) -> Result<(), TurnError> {
        self.upgrade_top()?;
        let Some(definition) = self.top_definition() else {
            // A draft is dropped silently: the person was asked about it before.
            self.turn.conversation.close(&self.turn.track);
            return Ok(());
        };
        let parent = self.parent_status();
        if definition.has(HandlerRef::Expiry, "") {
            self.handled_by = definition.name;
            let depth = self.depth();
            let next = definition.run(HandlerRef::Expiry, &mut self.turn, depth, &Input::Expired)?.await?;
            if matches!(next, ErasedNext::StayWith(_) | ErasedNext::Go(_) | ErasedNext::Call(..)) {
                // The handler has prolonged the dialogue, even if only values change.
                self.restart_expiry();
                return self.apply(definition, Via::State, next).await;
            }
        } else if parent != Some(ParentStatus::Expired) {
            // No command to start again is shown if the parent continues.
            let command = self.script.start_command(Some(definition.name)).filter(|_| parent.is_none());
            let text = |texts: &dyn Texts, language: &str| texts.expired(language, command.as_deref());
            match parent {
                None => self.say_last_text(text).await,
                Some(_) => self.say_text(text).await,
            }
        }
        match parent {
            None => self.turn.conversation.close(&self.turn.track),
            Some(ParentStatus::Active) => self.apply(definition, Via::State, ErasedNext::End).await?,
            Some(ParentStatus::Expired) => self.drop_child(),
        }
        Ok(())
    }

    /// The status of the top dialogue's parent. None if it has none.
    fn parent_status(&self) -> Option<ParentStatus> {
        let track = self.turn.conversation.track(&self.turn.track)?;
        let [.., parent, _] = &track.stack[..] else { return None };
        let is_expired = parent.until.is_some_and(|until| until <= self.turn.now);
        Some(if is_expired { ParentStatus::Expired } else { ParentStatus::Active })
    }

    /// Ends a child whose parent has expired too. The parent's expiry is a turn of its own; it gets no return value.
    fn drop_child(&mut self) {
        let new_version = self.turn.new_version;
        if let Some(track) = self.turn.conversation.track_mut(&self.turn.track) {
            track.stack.pop();
            track.returned_from_child(new_version);
        }
        self.restore_expiry();
    }
}
