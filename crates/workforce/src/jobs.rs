//! Work that comes again and again, by the bot's own durable timers.
//!
//! Each job has a timer of a conversation that is nobody's. When it is due, one commit sets it anew and asks for the
//! work; so only the instance that leads works, a crash in between loses neither, and a restart repeats at most one run.
//!
//! A page that has left work for a job in its commit asks for it by [`soon`], and answers without waiting for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opora::bot::{Bot, NotRunning};
use opora::clock::Millis;
use opora::effects::{Asked, EffectError};
use opora::key::DialogueKey;
use opora::prelude::*;
use opora::store::StoreError;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::error::Elapsed;

use crate::application::App;
use crate::domain::NotWritten;
use crate::rooms::{Job, Rooms};

const EFFECT: &str = "job";
/// How long after a start jobs run for the first time: what people want goes first.
const FIRST_AFTER: Duration = Duration::from_secs(2);
/// How long a run of [`soon`] may take: one that hangs, for example on a dead connection, must not stop its job.
const SOON_WITHIN: Duration = Duration::from_secs(120);
/// How often an instance that stands by looks whether it leads by now.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The runs of jobs in this process: one at a time of each job.
#[derive(Debug, Default)]
pub struct Runs(Mutex<HashMap<&'static str, Arc<Run>>>);

#[derive(Debug, Default)]
struct Run {
    /// A run was asked for by [`soon`] and has not begun yet.
    is_wanted: AtomicBool,
    /// Held by the run that is under way.
    under_way: tokio::sync::Mutex<()>,
}

impl Run {
    /// Does what [`soon`] was asked for, alone and within [`SOON_WITHIN`].
    async fn wanted<F: Future<Output = anyhow::Result<()>>>(&self, work: impl FnOnce() -> F) -> anyhow::Result<()> {
        let _alone = self.under_way.lock().await;
        // A commit from now on may come too late for this run, and needs another one.
        self.is_wanted.store(false, Ordering::Release);
        tokio::time::timeout(SOON_WITHIN, work()).await?
    }
}

impl Runs {
    fn of(&self, job: &'static str) -> Arc<Run> {
        Arc::clone(self.0.lock().entry(job).or_default())
    }
}

/// Lets a dialogue hear the timers of all jobs.
pub fn hear<S: States>(dialogue: Dialogue<S>, rooms: &Rooms) -> Dialogue<S> {
    rooms.jobs().iter().fold(dialogue, |dialogue, job| dialogue.start(timer(timer_of(job)), due::<S>))
}

/// Lets a bot carry jobs out.
pub fn work(app: &App, bot: Bot) -> Bot {
    let app = app.clone();
    bot.effect(EFFECT, move |asked| carry_out(app.clone(), asked))
}

/// Sets the timers of all jobs once the bot leads; ends then, or when it is dropped.
pub async fn begin(app: &App) {
    let key = key(app.bot_id);
    for job in app.rooms.jobs() {
        loop {
            match app.bot.timer(&key, &timer_of(&job), FIRST_AFTER, &()).await {
                Ok(()) => break,
                Err(NotRunning::NotLeading) => {}
                Err(error) => tracing::warn!(%error, job = job.name, "a job could not be set; trying again"),
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

/// Runs a job now, beside its schedule, and does not wait for it. What it shall do is committed already: if the process ends
/// first, or another instance leads, the schedule does it.
pub fn soon(app: &App, name: &str) {
    if !app.bot.is_running() {
        return;
    }
    let Some(job) = app.rooms.jobs().into_iter().find(|job| job.name == name) else { return };
    let run = app.runs.of(job.name);
    // A run that has not begun yet will see what this caller has committed.
    if run.is_wanted.swap(true, Ordering::AcqRel) {
        return;
    }
    let app = app.clone();
    tokio::spawn(async move {
        match run.wanted(|| (job.run)(app)).await {
            Ok(()) => {}
            Err(error) if error.is::<Elapsed>() => {
                tracing::warn!(job = job.name, "a job took too long; its schedule runs it again");
            }
            Err(error) => {
                tracing::debug!(
                    job = job.name,
                    error = format!("{error:#}"),
                    "a job failed; its schedule runs it again"
                );
            }
        }
    });
}

/// The conversation that is nobody's.
pub fn key(bot: i64) -> DialogueKey {
    DialogueKey { bot, chat: 0, user: 0, thread: 0, business: Box::default() }
}

/// What a job wrote about one of many, if it was written. One that cannot be written keeps no other from its turn; a
/// database that is away ends the run.
pub fn done<T>(written: Result<T, NotWritten>, what: &'static str, id: i64) -> anyhow::Result<Option<T>> {
    match written {
        Ok(done) => Ok(Some(done)),
        // Somebody was faster.
        Err(NotWritten::Refused(refusal)) => {
            tracing::debug!(refusal, what, id, "a job skips a row that has changed meanwhile");
            Ok(None)
        }
        Err(NotWritten::Failed(StoreError::WritesFailed(error))) => {
            tracing::error!(%error, what, id, "a job passes over one that it cannot write; it is tried again");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn timer_of(job: &Job) -> String {
    format!("job:{}", job.name)
}

async fn due<S: States>(turn: &mut Turn, timer: Timer) -> Step<S> {
    let app = turn.context::<App>();
    let job = app.rooms.jobs().into_iter().find(|job| timer_of(job) == *timer.name);
    let Some(job) = job else { return Ok(Next::Stay) };
    turn.timer(timer.name, next_run(&job, turn.now()), &());
    turn.effect_without_outcome(EFFECT, &job.name);
    Ok(Next::Stay)
}

/// The next whole multiple of its time, so that instances agree on it.
fn next_run(job: &Job, now: Millis) -> Millis {
    let every_ms = i64::try_from(job.every.as_millis()).unwrap_or(i64::MAX).max(1);
    Millis((now.0 / every_ms + 1).saturating_mul(every_ms))
}

async fn carry_out(app: App, asked: Asked) -> Result<Value, EffectError> {
    let name: String = asked.read()?;
    // A job that an update has taken away may still be asked for.
    let Some(job) = app.rooms.jobs().into_iter().find(|job| job.name == name) else { return Ok(Value::Null) };
    let run = app.runs.of(job.name);
    // A run that a page has asked for does the work. Waiting for it would hold a place that all jobs share.
    let Ok(_alone) = run.under_way.try_lock() else { return Ok(Value::Null) };
    match (job.run)(app.clone()).await {
        Ok(()) => tracing::debug!(job = job.name, "a job is done"),
        Err(error) => tracing::warn!(job = job.name, error = format!("{error:#}"), "a job failed; it will run again"),
    }
    Ok(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_run_that_hangs_ends_and_lets_the_next_begin() {
        let run = Run::default();
        run.wanted(std::future::pending::<anyhow::Result<()>>).await.unwrap_err();
        assert!(run.under_way.try_lock().is_ok());
        run.wanted(async || Ok(())).await.unwrap();
    }

    #[test]
    fn the_next_run_is_at_the_next_multiple() {
        let hour = Job { name: "x", every: Duration::from_secs(3600), run: |_| Box::pin(async { Ok(()) }) };
        assert_eq!(next_run(&hour, Millis(0)), Millis(3_600_000));
        assert_eq!(next_run(&hour, Millis(3_599_999)), Millis(3_600_000));
        assert_eq!(next_run(&hour, Millis(3_600_000)), Millis(7_200_000));
    }
}
