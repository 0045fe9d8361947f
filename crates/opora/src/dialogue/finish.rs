//! The end of a turn: collects its output and the new state for the commit.

use super::Script;
use super::conversation::{Frame, Track};
use super::press::REMEMBERED_FOR;
use super::run::ScriptRun;
use crate::clock::Millis;
use crate::store::{StateChange, StoredState};
use crate::telegram::{AnswerCallback, Destination, IntoOutgoing, Tag};
use crate::turn::{TurnError, TurnResult};

impl ScriptRun<'_> {
    pub fn finish(mut self, stored: Option<StoredState>) -> Result<TurnResult, TurnError> {
        self.turn.output.check()?;
        // A track may have been created without a dialogue.
        let tracks = self.turn.conversation.tracks.iter();
        let empty: Vec<Box<str>> = tracks.filter(|track| is_empty(track)).map(|track| track.name.clone()).collect();
        empty.iter().for_each(|track| self.turn.conversation.close(track));
        let now = self.turn.now;
        self.turn.conversation.forget_expired(now);
        self.remember_album();
        self.record_offers();
        self.extend_expiry();
        let mut output = std::mem::take(&mut self.turn.output);
        let timers = output.take_timers(|by| self.turn.conversation.requester(by))?;
        let effects = output.take_effects(|by| self.turn.conversation.requester(by))?;
        if let Some(query) = self.turn.callback().filter(|_| self.answers) {
            let answer = match output.answer.take() {
                Some((text, true)) => AnswerCallback::new(query).text(text).alert(),
                Some((text, false)) => AnswerCallback::new(query).text(text),
                None => AnswerCallback::new(query),
            };
            let tag = Tag::for_conversation(&self.turn.key, self.turn.new_version);
            let answer = answer.into_outgoing(&Destination::chat(self.turn.key.chat), &tag);
            output.outgoing.push(answer.map_err(TurnError::failed)?);
        }
        let writes = output.take_writes();
        let after = self.turn.conversation.front_state();
        let transition = (self.before != after).then(|| (self.before.clone(), after, self.trigger));
        let state = self.state_change(stored)?;
        let Self { handling, lost_result, .. } = self;
        let outgoing = output.outgoing;
        let jobs = output.jobs;
        Ok(TurnResult { state, outgoing, timers, effects, jobs, transition, writes, handling, lost_result })
    }

    /// Records on the track that it offered buttons in this turn. Needed only if there are several tracks.
    fn record_offers(&mut self) {
        if self.turn.conversation.tracks.len() < 2 {
            return;
        }
        let new_version = self.turn.new_version;
        let tag = Tag::for_conversation(&self.turn.key, new_version).apply("");
        // Common beginning of both kinds of tag: `~version~` and `~version+~`.
        let start = format!("\"{}", tag.trim_end_matches('~'));
        let offers = self.turn.output.outgoing.iter().any(|outgoing| outgoing.body.contains(&start));
        let track = self.turn.conversation.track_mut(&self.turn.track).filter(|_| offers);
        if let Some(track) = track.filter(|track| track.buttons_valid_from().is_some_and(|from| from != new_version)) {
            track.offer(new_version);
        }
    }

    /// Keeps the id of a handled album for a while even if nothing is open, because late items of it may follow.
    fn remember_album(&mut self) {
        let conversation = &mut self.turn.conversation;
        if !conversation.tracks.is_empty() {
            conversation.albums_until = None;
        } else if self.trigger == "album" && !self.handled_by.is_empty() {
            conversation.albums_until = Some(self.turn.now.plus(REMEMBERED_FOR));
        }
    }

    /// A person's input restarts the expiry of the dialogue that handled it and of the parents that wait for it. So
    /// does a transition, except the return to a parent whose child has expired.
    fn extend_expiry(&mut self) {
        let now = self.turn.now;
        let new_version = self.turn.new_version;
        let script = self.script;
        if self.is_by_person {
            self.restart_expiry();
            let track = self.turn.conversation.track_mut(&self.turn.track);
            let waiting = track.and_then(|track| track.stack.split_last_mut()).map(|(_, waiting)| waiting);
            waiting.into_iter().flatten().for_each(|frame| frame.until = frame_expiry(script, frame, now));
        }
        for track in &mut self.turn.conversation.tracks {
            let was_entered = track.stack.last().is_some_and(|top| top.entry == new_version);
            if was_entered || (track.buttons_valid_from() == Some(new_version) && !self.is_expiry) {
                track.until = track_expiry(self.script, track, self.turn.now);
            }
        }
    }

    /// Restarts the expiry of the turn's track.
    pub fn restart_expiry(&mut self) {
        if let Some(track) = self.turn.conversation.track_mut(&self.turn.track) {
            track.until = track_expiry(self.script, track, self.turn.now);
        }
    }

    /// Moves the expiry of the track to the parent that has just called a child.
    pub fn keep_parent_expiry(&mut self) {
        let Some(track) = self.turn.conversation.track_mut(&self.turn.track) else { return };
        let until = track.until.take();
        if let [.., parent, _] = &mut track.stack[..] {
            parent.until = until.or_else(|| frame_expiry(self.script, parent, self.turn.now));
        }
    }

    /// Gives the track the expiry of the parent that its child has returned to.
    pub fn restore_expiry(&mut self) {
        let Some(track) = self.turn.conversation.track_mut(&self.turn.track) else { return };
        if let Some(top) = track.stack.last_mut() {
            track.until = top.until.take().or_else(|| frame_expiry(self.script, top, self.turn.now));
        }
    }

    fn state_change(&self, stored: Option<StoredState>) -> Result<StateChange, TurnError> {
        let conversation = &self.turn.conversation;
        if conversation.is_over() {
            return Ok(if stored.is_some() { StateChange::Clear } else { StateChange::Keep });
        }
        let new = conversation.to_stored().map_err(TurnError::failed)?;
        if stored.is_some_and(|stored| stored.value == new.value && stored.expires_at == new.expires_at) {
            return Ok(StateChange::Keep);
        }
        Ok(StateChange::Set(new))
    }
}

fn is_empty(track: &Track) -> bool {
    track.stack.is_empty() && track.kept.is_empty()
}

/// When a track expires if its time starts now. A draft expires when the last of its dialogues would.
fn track_expiry(script: &Script, track: &Track, now: Millis) -> Option<Millis> {
    if let Some(top) = track.stack.last() {
        return frame_expiry(script, top, now);
    }
    let ends: Option<Vec<Millis>> = track.kept.iter().map(|frame| frame_expiry(script, frame, now)).collect();
    ends?.into_iter().max()
}

/// When a dialogue expires if its time starts now. None if it never does.
fn frame_expiry(script: &Script, frame: &Frame, now: Millis) -> Option<Millis> {
    Some(now.plus(script.definition(&frame.dialogue)?.expires_after?))
}
