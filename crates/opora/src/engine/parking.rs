//! Parks what cannot be done, and helps its person in a turn of its own.
//!
//! A parked row is the operator's: nothing here runs it again.

use super::failure::{Failure, NotCommitted};
use super::{Engine, Work, letters};
use crate::key::DialogueKey;
use crate::mailbox::Letter;
use crate::outbox::posted_rows;
use crate::store::{Commit, ConversationRow, Opened, Outgoing, Parked, ParkedId, SetAside, StateChange, StoreError};
use crate::turn::Event;

/// What came of parking an input.
pub(super) enum Parking {
    /// It is parked; under which number, unless the answer was lost.
    Done(Option<ParkedId>),
    /// A turn had taken it before.
    TakenBefore,
    /// The bot stops: it stays where it is.
    NotNow,
}

impl Engine {
    /// Parks an input that cannot be read; if it was a press, it is answered all the same.
    pub(super) async fn park_unread(&self, key: &DialogueKey, letters: &[Letter], failure: Failure) {
        let parked = letters::parked(key, letters, failure.words.clone(), 1);
        if let Parking::Done(id) = self.park(letters, parked, letters::unread_answers(letters)).await {
            tell(key, id, 1, &failure, "an input cannot be read and is parked");
        }
    }

    /// Parks a turn that keeps failing, and then helps its person in a turn of its own. A pressed button is answered
    /// with the parking, whatever comes of that turn.
    pub(super) async fn give_up(&self, work: Work<'_>, failure: Failure) {
        let parked = letters::parked(work.key, work.letters, failure.words.clone(), work.failures);
        let id = match self.park(work.letters, parked, letters::callback_answers(&work.event)).await {
            Parking::Done(id) => id,
            Parking::TakenBefore => return self.taken_before(&work).await,
            Parking::NotNow => return,
        };
        tell(work.key, id, work.failures, &failure, "a turn keeps failing and is parked");
        metrics::counter!("opora_turns_total", "outcome" => "parked").increment(1);
        self.afterwards(Work::new(work.key, &[], work.event.failed(failure.words))).await;
    }

    /// Runs a turn without an input of its own. If that fails too, the conversation is ended, so that its person is not
    /// stuck; the operator finds its state in the parked row.
    async fn afterwards(&self, mut work: Work<'_>) {
        let mut failures = 0;
        while failures < self.settings.attempts {
            let reason = match self.attempt(&mut work).await {
                Ok(()) => return,
                Err(reason) => reason,
            };
            self.cache.forget(work.key);
            match reason {
                NotCommitted::Stop => return self.lost.cancel(),
                NotCommitted::Taken => return self.taken_before(&work).await,
                NotCommitted::Wait(error) => {
                    if !self.wait(&mut work, &error).await {
                        return;
                    }
                }
                _ => failures += 1,
            }
        }
        tracing::error!(key = %work.key, "a conversation could not be helped and is ended");
        if let Err(error) = self.end(work.key).await {
            tracing::error!(key = %work.key, %error, "a conversation could not be ended");
        }
    }

    /// Ends a conversation, with a copy of its state for the operator.
    async fn end(&self, key: &DialogueKey) -> Result<(), StoreError> {
        let ended = self.try_to_end(key).await;
        ended.and(self.store.abandon_turn(self.epoch, key).await)
    }

    async fn try_to_end(&self, key: &DialogueKey) -> Result<(), StoreError> {
        let opened = self.store.open_for_turn(self.epoch, key, None, self.clock.now()).await?;
        let Opened::At { version, stored } = opened else { return Ok(()) };
        if let Some(stored) = stored {
            let reason = "its person could not be helped".to_owned();
            let key = key.clone();
            let updated_at = self.clock.now();
            let copy = Parked::state(&ConversationRow { key, version, stored: Some(stored), updated_at }, reason);
            if !matches!(self.park(&[], copy, Vec::new()).await, Parking::Done(_)) {
                return Ok(());
            }
        }
        let end = Commit::new(key.clone(), version, self.clock.now());
        self.store.commit(self.epoch, Commit { state: StateChange::Clear, ..end }).await?;
        Ok(())
    }

    /// Keeps a copy of a state that cannot be read for the operator, tells the person, and ends it. False when the bot
    /// stops before there is a copy: then nothing is touched.
    pub(super) async fn set_aside(&self, work: &Work<'_>, row: ConversationRow, failure: Failure) -> bool {
        let copy = Parked::state(&row, failure.words.clone());
        let Parking::Done(id) = self.park(&[], copy, Vec::new()).await else { return false };
        tell(work.key, id, 1, &failure, "a stored state cannot be read and is set aside");
        self.afterwards(Work::new(work.key, &[], work.event.clone().unreadable())).await;
        true
    }

    /// Sets an input aside, waiting for the store if need be; `said` goes out with it.
    pub(super) async fn park(&self, letters: &[Letter], parked: Parked, said: Vec<Outgoing>) -> Parking {
        let key = parked.key.clone();
        let mut work = Work::new(&key, letters, Event::Expired);
        loop {
            let parked = Parked { at: self.clock.now(), ..parked.clone() };
            let at = parked.at;
            match self.store.park(self.epoch, work.takes.clone(), parked, said.clone()).await {
                Ok(SetAside { id, outbox }) => {
                    let said = said.into_iter().map(|outgoing| (key.clone(), outgoing));
                    self.courier.enqueue(posted_rows(outbox, said, at));
                    return Parking::Done(Some(id));
                }
                // After a lost answer it may be this very call that took it.
                Err(StoreError::AlreadyTaken) if work.waits > 0 => {
                    self.look_again();
                    return Parking::Done(None);
                }
                Err(StoreError::AlreadyTaken) => return Parking::TakenBefore,
                Err(error) if error.ends_the_lease() => {
                    self.lost.cancel();
                    return Parking::NotNow;
                }
                Err(error) => {
                    if !self.wait(&mut work, &error).await {
                        return Parking::NotNow;
                    }
                }
            }
        }
    }
}

/// Tells of something parked: the kind of failure for everybody, its words for who looks closely.
fn tell(key: &DialogueKey, id: Option<ParkedId>, attempts: u32, failure: &Failure, what: &'static str) {
    let parked = id.map(|id| id.0);
    let Failure { kind, words } = failure;
    tracing::error!(%key, parked, attempts, %kind, "{what}");
    tracing::debug!(%key, parked, %words, "why it is parked");
}
