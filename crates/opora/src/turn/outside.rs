//! Timers, alarms, effects, jobs and SQL writes of a turn.

use futures_util::future::BoxFuture;
use serde::Serialize;

use super::output::{RequestedEffect, RequestedTimer};
use super::{Turn, When};
use crate::effects::{DOWNLOAD, DownloadRequest};
use crate::store::{Database, DomainWrites, NewJob, WriteError};

/// Timers, alarms, effects and SQL writes.
impl Turn {
    /// Sets a timer and replaces one of the same name. It is bound to the state in which this turn leaves its dialogue:
    /// that state gets it as [`timer`](crate::input::timer). If the state has ended when the timer fires, nothing
    /// happens.
    ///
    /// If this turn leaves no state of the dialogue open, the timer is not bound: an
    /// [entry](crate::dialogue::Dialogue::start) for that timer gets it, whatever is open then. That is so if an entry
    /// returns [`Next::Stay`](crate::dialogue::Next::Stay) while another dialogue is open. Use an
    /// [`alarm`](Self::alarm) for something that outlives states, such as a reminder.
    pub fn timer(&mut self, name: impl Into<Box<str>>, when: impl Into<When>, body: &impl Serialize) {
        let due_at = when.into().resolve(self.now);
        match serde_json::value::to_raw_value(body) {
            Ok(body) => self.output.add_timer(RequestedTimer::Set {
                by: self.running_handler.clone(),
                name: name.into(),
                due_at,
                body,
            }),
            Err(error) => self.output.fail(format!("the body of a timer cannot be written: {error}")),
        }
    }

    /// Cancels a timer, if there is one of that name.
    pub fn cancel_timer(&mut self, name: impl Into<Box<str>>) {
        self.output.add_timer(RequestedTimer::Cancel { by: self.running_handler.clone(), name: name.into() });
    }

    /// Sets an alarm and replaces one of the same name. It belongs to the conversation and outlives every state. When
    /// it goes off, the foreground gets it if its state handles it; otherwise an
    /// [entry](crate::dialogue::Dialogue::start) for [`alarm`](crate::input::alarm) does. Alarms and timers may have
    /// the same name. A [`Handle`](crate::bot::Handle::alarm) sets the same alarms outside of turns.
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
        let due_at = when.into().resolve(self.now);
        match serde_json::value::to_raw_value(body) {
            Ok(body) => self.output.add_timer(RequestedTimer::SetAlarm { name: name.into(), due_at, body }),
            Err(error) => self.output.fail(format!("the body of an alarm cannot be written: {error}")),
        }
    }

    /// Cancels an alarm of the conversation, if there is one of that name.
    pub fn cancel_alarm(&mut self, name: impl Into<Box<str>>) {
        self.output.add_timer(RequestedTimer::CancelAlarm { name: name.into() });
    }

    /// Asks for an effect, by the name under which it is registered with the bot. It runs after the commit. Only the
    /// dialogue of this handler gets the [`outcome`](crate::input::outcome): the state in which this turn leaves the
    /// dialogue; if that state has ended or has no handler for it, an [entry](crate::dialogue::Dialogue::start) of the
    /// dialogue for the outcome; then its handler for [late outcomes](crate::dialogue::Dialogue::on_late_outcome). An
    /// unhandled outcome is kept for the operator.
    pub fn effect(&mut self, kind: impl Into<Box<str>>, body: &impl Serialize) {
        self.request_effect(kind.into(), body, false);
    }

    /// Asks for an effect whose success needs no handler. A failure for good is an outcome like any other.
    pub fn effect_without_outcome(&mut self, kind: impl Into<Box<str>>, body: &impl Serialize) {
        self.request_effect(kind.into(), body, true);
    }

    fn request_effect(&mut self, kind: Box<str>, body: &impl Serialize, unawaited: bool) {
        match serde_json::value::to_raw_value(body) {
            Ok(body) => {
                self.output.add_effect(RequestedEffect { by: self.running_handler.clone(), kind, body, unawaited })
            }
            Err(error) => self.output.fail(format!("the body of an effect cannot be written: {error}")),
        }
    }

    /// Enqueues a job. It is stored in the commit of this turn, and runs afterwards. A job that repeats another one, by
    /// [`Unique`](crate::jobs::Unique), is not added.
    pub fn enqueue(&mut self, job: impl Into<NewJob>) {
        self.output.add_job(job.into());
    }

    /// Asks to download a file to the disk. The outcome, of kind `download`, is a
    /// [`Downloaded`](crate::effects::Downloaded).
    pub fn download(&mut self, file_id: impl Into<String>, max_bytes: u64) {
        self.effect(DOWNLOAD, &DownloadRequest { file_id: file_id.into(), max_bytes });
    }

    /// Writes to the application's tables within this turn's commit: only SQL, and short. Writes run in the order of
    /// the calls. A [`Refusal`](crate::store::Refusal) rolls the turn back and runs its handler again, see
    /// [`Turn::refusal`].
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
        self.output.writes.push(DomainWrites::new(run));
    }
}
