//! What a turn wants of time, of the world outside and of the application's tables.

use futures_util::future::BoxFuture;
use serde::Serialize;

use super::wishes::{Asking, Timing};
use super::{Turn, When};
use crate::effects::{DOWNLOAD, DownloadWish};
use crate::store::{Database, DomainWrites, WriteError};

/// What is wanted of time and of the world outside.
impl Turn {
    /// Sets a timer, in place of one of the same name. It is bound to the state that its own dialogue is left in by
    /// this turn: when it fires, that state hears it as [`timer`](crate::input::timer). If the state has ended by then,
    /// nothing happens.
    ///
    /// If this turn leaves no state of the dialogue open, the timer is bound to none: an
    /// [entry](crate::dialogue::Dialogue::start) for that timer hears it, whatever is open by then. So it is where an
    /// entry answers [`Next::Stay`](crate::dialogue::Next::Stay) while another dialogue is open. What shall outlive
    /// states, such as a reminder, is an [`alarm`](Self::alarm).
    pub fn timer(&mut self, name: impl Into<Box<str>>, when: impl Into<When>, body: &impl Serialize) {
        let due_at = when.into().by(self.now);
        match serde_json::value::to_raw_value(body) {
            Ok(body) => self.wishes.time(Timing::Set { by: self.speaker.clone(), name: name.into(), due_at, body }),
            Err(error) => self.wishes.fail(format!("the body of a timer cannot be written: {error}")),
        }
    }

    /// Cancels a timer, if there is one of that name.
    pub fn cancel_timer(&mut self, name: impl Into<Box<str>>) {
        self.wishes.time(Timing::Cancel { by: self.speaker.clone(), name: name.into() });
    }

    /// Sets an alarm, in place of one of the same name. It belongs to the conversation and outlives every state: when
    /// it goes off, an [entry](crate::dialogue::Dialogue::start) for [`alarm`](crate::input::alarm) hears it, whatever
    /// is open by then; a state in the foreground that handles it itself goes first. Alarms and timers of the same name
    /// do not meet. A [`Handle`](crate::bot::Handle::alarm) sets the same alarms outside of turns.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use opora::prelude::*;
    /// # #[derive(Clone, Debug, Serialize, Deserialize, States)]
    /// # enum Booking { Confirm }
    /// async fn booked(turn: &mut Turn, _: Command) -> Step<Booking> {
    ///     let id = 42;
    ///     turn.alarm(format!("reminder:{id}"), Duration::from_secs(3600), &"at seven");
    ///     Ok(Next::Stay)
    /// }
    ///
    /// async fn remind(turn: &mut Turn, alarm: Alarm) -> Step<Booking> {
    ///     turn.say(format!("Booking {}: {}", alarm.rest, alarm.body::<String>()?));
    ///     Ok(Next::Stay)
    /// }
    ///
    /// let booking = Dialogue::<Booking>::new().start(command("book"), booked).start(alarm("reminder:"), remind);
    /// ```
    pub fn alarm(&mut self, name: impl Into<Box<str>>, when: impl Into<When>, body: &impl Serialize) {
        let due_at = when.into().by(self.now);
        match serde_json::value::to_raw_value(body) {
            Ok(body) => self.wishes.time(Timing::SetAlarm { name: name.into(), due_at, body }),
            Err(error) => self.wishes.fail(format!("the body of an alarm cannot be written: {error}")),
        }
    }

    /// Cancels an alarm of the conversation, if there is one of that name.
    pub fn cancel_alarm(&mut self, name: impl Into<Box<str>>) {
        self.wishes.time(Timing::CancelAlarm { name: name.into() });
    }

    /// Asks for work outside, by the name under which it is registered with the bot. It is done after the commit. The
    /// [`outcome`](crate::input::outcome) belongs to the dialogue whose handler asks, and no other hears it: the state
    /// that this turn leaves the dialogue in; if that state has ended, or does not hear it, an
    /// [entry](crate::dialogue::Dialogue::start) of the dialogue for the outcome, then its handler for
    /// [late](crate::dialogue::Dialogue::late) ones. An outcome that none of them hears is kept for the operator.
    pub fn effect(&mut self, kind: impl Into<Box<str>>, body: &impl Serialize) {
        self.ask(kind.into(), body, false);
    }

    /// Asks for work outside whose outcome no handler waits for: a success ends there. A failure for good is an outcome
    /// like any other.
    pub fn effect_without_outcome(&mut self, kind: impl Into<Box<str>>, body: &impl Serialize) {
        self.ask(kind.into(), body, true);
    }

    fn ask(&mut self, kind: Box<str>, body: &impl Serialize, unawaited: bool) {
        match serde_json::value::to_raw_value(body) {
            Ok(body) => self.wishes.ask(Asking { by: self.speaker.clone(), kind, body, unawaited }),
            Err(error) => self.wishes.fail(format!("the body of an effect cannot be written: {error}")),
        }
    }

    /// Asks for a file to be fetched onto the disk; the outcome, of kind `download`, is a
    /// [`Downloaded`](crate::effects::Downloaded).
    pub fn download(&mut self, file_id: impl Into<String>, max_bytes: u64) {
        self.effect(DOWNLOAD, &DownloadWish { file_id: file_id.into(), max_bytes });
    }

    /// Writes to the application's tables within this turn's commit: SQL only, and short. Writes run in the order in
    /// which they were asked for. A [`Refusal`](crate::store::Refusal) undoes the turn and asks its handler again, see
    /// [`Turn::refused`].
    ///
    /// ```
    /// # use opora::prelude::*;
    /// # fn f(turn: &mut Turn, hours: i64) {
    /// turn.transact(move |database| Box::pin(async move {
    ///     sqlx::query("INSERT INTO worked (hours) VALUES (?)").bind(hours).execute(database.sqlite()).await?;
    ///     Ok(())
    /// }));
    /// # }
    /// ```
    pub fn transact<F>(&mut self, run: F)
    where
        F: for<'c> FnOnce(&'c mut Database<'_>) -> BoxFuture<'c, Result<(), WriteError>> + Send + 'static,
    {
        self.wishes.writes.push(DomainWrites::new(run));
    }
}
