//! The end of a turn: everything it wants, as one thing to commit.

use super::Script;
use super::conversation::{Frame, Slot};
use super::play::Play;
use super::press::REMEMBERED_FOR;
use crate::clock::Millis;
use crate::store::{StateChange, Stored};
use crate::telegram::{AnswerCallback, Destination, IntoOutgoing, Tag};
use crate::turn::{Outcome, TurnError};

impl Play<'_> {
    pub fn finish(mut self, stored: Option<Stored>) -> Result<Outcome, TurnError> {
        self.turn.wishes.check()?;
        // An answer to a slot that was never begun leaves nothing behind.
        let empty: Vec<Box<str>> =
            self.turn.talk.slots.iter().filter(|slot| is_empty(slot)).map(|slot| slot.name.clone()).collect();
        empty.iter().for_each(|slot| self.turn.talk.close(slot));
        let now = self.turn.now;
        self.turn.talk.forget_old(now);
        self.note_album();
        self.note_offers();
        self.slide();
        let mut wishes = std::mem::take(&mut self.turn.wishes);
        let timers = wishes.take_timers(|by| self.turn.talk.asker(by))?;
        let effects = wishes.take_effects(|by| self.turn.talk.asker(by))?;
        if let Some(query) = self.turn.callback().filter(|_| self.answers) {
            let answer = match wishes.answer.take() {
                Some((text, true)) => AnswerCallback::new(query).text(text).alert(),
                Some((text, false)) => AnswerCallback::new(query).text(text),
                None => AnswerCallback::new(query),
            };
            let answer =
                answer.into_outgoing(&Destination::chat(self.turn.key.chat), &Tag::of(&self.turn.key, self.turn.made));
            wishes.outgoing.push(answer.map_err(TurnError::failed)?);
        }
        let writes = wishes.take_writes();
        let after = self.turn.talk.front_place();
        let transition = (self.before != after).then(|| (self.before.clone(), after, self.by));
        let state = self.state(stored)?;
        let Self { hearing, lost_result, .. } = self;
        let outgoing = wishes.outgoing;
        Ok(Outcome { state, outgoing, timers, effects, transition, writes, hearing, lost_result })
    }

    /// Where slots must be told apart, the one that spoke remembers that it offered buttons in this turn.
    fn note_offers(&mut self) {
        if self.turn.talk.slots.len() < 2 {
            return;
        }
        let made = self.turn.made;
        let tag = Tag::of(&self.turn.key, self.turn.made).put("");
        // Both kinds of tag begin so: `~version~` and `~version+~`.
        let start = format!("\"{}", tag.trim_end_matches('~'));
        let offers = self.turn.wishes.outgoing.iter().any(|outgoing| outgoing.body.contains(&start));
        let slot = self.turn.talk.slot_mut(&self.turn.slot).filter(|_| offers);
        if let Some(slot) = slot.filter(|slot| slot.since().is_some_and(|since| since != made)) {
            slot.offer(made);
        }
    }

    /// An album that somebody has heard and that leaves nothing open is remembered all the same: items of it may
    /// follow.
    fn note_album(&mut self) {
        let talk = &mut self.turn.talk;
        if !talk.slots.is_empty() {
            talk.albums_until = None;
        } else if self.by == "album" && !self.acted.is_empty() {
            talk.albums_until = Some(self.turn.now.plus(REMEMBERED_FOR));
        }
    }

    /// A person's input lets the dialogue that heard it live on, and those that wait for it; so does whatever leads it
    /// on. That the life of a child is over leads its parent nowhere.
    fn slide(&mut self) {
        let now = self.turn.now;
        let made = self.turn.made;
        let script = self.script;
        if self.is_by_person {
            self.live_on();
            let slot = self.turn.talk.slot_mut(&self.turn.slot);
            let waiting = slot.and_then(|slot| slot.stack.split_last_mut()).map(|(_, waiting)| waiting);
            waiting.into_iter().flatten().for_each(|frame| frame.until = end(script, frame, now));
        }
        for slot in &mut self.turn.talk.slots {
            let was_entered = slot.stack.last().is_some_and(|top| top.entry == made);
            if was_entered || (slot.since() == Some(made) && !self.is_timeout) {
                slot.until = until(self.script, slot, self.turn.now);
            }
        }
    }

    /// The life of the turn's slot starts anew.
    pub fn live_on(&mut self) {
        if let Some(slot) = self.turn.talk.slot_mut(&self.turn.slot) {
            slot.until = until(self.script, slot, self.turn.now);
        }
    }

    /// The dialogue that has just called a child keeps what was left of its own life.
    pub fn wait_for_child(&mut self) {
        let Some(slot) = self.turn.talk.slot_mut(&self.turn.slot) else { return };
        let left = slot.until.take();
        if let [.., parent, _] = &mut slot.stack[..] {
            parent.until = left.or_else(|| end(self.script, parent, self.turn.now));
        }
    }

    /// The dialogue that speaks again has what was left of its own life.
    pub fn live_on_as_before(&mut self) {
        let Some(slot) = self.turn.talk.slot_mut(&self.turn.slot) else { return };
        if let Some(top) = slot.stack.last_mut() {
            slot.until = top.until.take().or_else(|| end(self.script, top, self.turn.now));
        }
    }

    fn state(&self, stored: Option<Stored>) -> Result<StateChange, TurnError> {
        let talk = &self.turn.talk;
        if talk.is_over() {
            return Ok(if stored.is_some() { StateChange::Clear } else { StateChange::Keep });
        }
        let made = talk.to_stored().map_err(TurnError::failed)?;
        if stored.is_some_and(|stored| stored.value == made.value && stored.expires_at == made.expires_at) {
            return Ok(StateChange::Keep);
        }
        Ok(StateChange::Set(made))
    }
}

fn is_empty(slot: &Slot) -> bool {
    slot.stack.is_empty() && slot.kept.is_empty()
}

/// When the life of what stands in a slot is over, if it begins now. A draft is kept for the longest of the lives in
/// it.
fn until(script: &Script, slot: &Slot, now: Millis) -> Option<Millis> {
    if let Some(top) = slot.stack.last() {
        return end(script, top, now);
    }
    let ends: Option<Vec<Millis>> = slot.kept.iter().map(|frame| end(script, frame, now)).collect();
    ends?.into_iter().max()
}

/// When the life of a dialogue is over, if it begins now; none if it waits for ever.
fn end(script: &Script, frame: &Frame, now: Millis) -> Option<Millis> {
    Some(now.plus(script.flow(&frame.dialogue)?.life?))
}
