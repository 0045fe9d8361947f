//! The end of a turn: everything it wants, as one thing to commit.

use super::conversation::Slot;
use super::play::Play;
use crate::clock::Millis;
use crate::store::{StateChange, Stored};
use crate::telegram::{AnswerCallback, Destination, IntoOutgoing, Tag};
use crate::turn::{Asker, Outcome, TurnError};

impl Play<'_> {
    pub fn finish(mut self, stored: Option<Stored>) -> Result<Outcome, TurnError> {
        self.turn.wishes.check()?;
        // An answer to a slot that was never begun leaves nothing behind.
        let empty: Vec<Box<str>> =
            self.turn.talk.slots.iter().filter(|slot| is_empty(slot)).map(|slot| slot.name.clone()).collect();
        empty.iter().for_each(|slot| self.turn.talk.close(slot));
        let now = self.turn.now;
        self.turn.talk.pressed.take_if(|pressed| pressed.until <= now);
        self.note_offers();
        self.slide();
        let state = |slot: &str| {
            let top = self.turn.talk.top(slot)?;
            Some(Asker { slot: slot.into(), dialogue: top.dialogue.clone(), entry: top.entry })
        };
        let mut wishes = std::mem::take(&mut self.turn.wishes);
        let timers = wishes.take_timers(|slot| state(slot).unwrap_or_else(|| Asker::nobody(slot)))?;
        // An outcome that no state waits for is still the dialogue's whose handler asked: as a late one.
        let late = |slot: &str| Asker { slot: slot.into(), dialogue: self.acted.into(), entry: self.turn.made };
        let effects = wishes.take_effects(|slot| state(slot).unwrap_or_else(|| late(slot)))?;
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
        Ok(Outcome { state, outgoing: wishes.outgoing, timers, effects, transition, writes })
    }

    /// Where slots must be told apart, the one that spoke remembers that it offered buttons in this turn.
    fn note_offers(&mut self) {
        if self.turn.talk.slots.len() < 2 {
            return;
        }
        let (made, tag) = (self.turn.made, Tag::of(&self.turn.key, self.turn.made).put(""));
        // Both kinds of tag begin so: `~version~` and `~version+~`.
        let start = format!("\"{}", tag.trim_end_matches('~'));
        let offers = self.turn.wishes.outgoing.iter().any(|outgoing| outgoing.body.contains(&start));
        let slot = self.turn.talk.slot_mut(&self.turn.slot).filter(|_| offers);
        if let Some(slot) = slot.filter(|slot| slot.since().is_some_and(|since| since != made)) {
            slot.offer(made);
        }
    }

    /// A person's input lets the dialogue that heard it live on; so does whatever leads it on.
    fn slide(&mut self) {
        if self.is_by_person {
            self.live_on();
        }
        let (now, made, script) = (self.turn.now, self.turn.made, self.script);
        for slot in &mut self.turn.talk.slots {
            if slot.since() == Some(made) {
                slot.until = until(script, slot, now);
            }
        }
    }

    /// The life of the turn's slot starts anew.
    pub fn live_on(&mut self) {
        let (now, script) = (self.turn.now, self.script);
        if let Some(slot) = self.turn.talk.slot_mut(&self.turn.slot) {
            slot.until = until(script, slot, now);
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

fn until(script: &super::Script, slot: &Slot, now: Millis) -> Option<Millis> {
    let frame = slot.stack.last().or(slot.kept.last())?;
    Some(now.plus(script.flow(&frame.dialogue)?.life()?))
}
