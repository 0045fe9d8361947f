//! Jobs: work that repeats on a schedule, driven by durable timers of the bot.
//!
//! Each job has a timer in the system conversation. When it fires, one commit sets the next timer and requests the
//! effect that runs the job. So only the leader runs jobs, a crash loses nothing, and a restart repeats at most one
//! run.
//!
//! A page that has committed work for a job calls [`run_soon`], and responds without waiting for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opora::bot::{Bot, HandleError};
use opora::clock::Millis;
use opora::effects::{EffectError, EffectRequest};
use opora::key::ConversationKey;
use opora::prelude::*;
use opora::store::StoreError;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::error::Elapsed;

use crate::application::App;
use crate::domain::NotWritten;
use crate::rooms::{Job, Rooms};

const EFFECT: &str = "job";
/// The delay of the first run after a start, so that people's requests go first.
const FIRST_RUN_DELAY: Duration = Duration::from_secs(2);
/// The time limit of a run by [`run_soon`]. A run that hangs, for example on a dead connection, must not block its job.
const SOON_TIMEOUT: Duration = Duration::from_secs(120);
/// How often a standby checks whether it leads.
const LEADER_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The runs of jobs in this process, one at a time for each job.
#[derive(Debug, Default)]
pub struct JobRuns(Mutex<HashMap<&'static str, Arc<JobRun>>>);

#[derive(Debug, Default)]
struct JobRun {
    /// [`run_soon`] has requested a run that has not started yet.
    is_requested: AtomicBool,
    /// Held by the current run.
    under_way: tokio::sync::Mutex<()>,
}

impl JobRun {
    /// Does a run that [`run_soon`] requested, exclusively and within [`SOON_TIMEOUT`].
    async fn run_requested<F: Future<Output = anyhow::Result<()>>>(
        &self,
        work: impl FnOnce() -> F,
    ) -> anyhow::Result<()> {
        let _guard = self.under_way.lock().await;
        // Later commits may come too late for this run and need another one.
        self.is_requested.store(false, Ordering::Release);
        tokio::time::timeout(SOON_TIMEOUT, work()).await?
    }
}

impl JobRuns {
    fn run_of(&self, job: &'static str) -> Arc<JobRun> {
        Arc::clone(self.0.lock().entry(job).or_default())
    }
}

/// Handles the timers of all jobs in a dialogue.
pub fn handle_timers<S: States>(dialogue: Dialogue<S>, rooms: &Rooms) -> Dialogue<S> {
    rooms.jobs().iter().fold(dialogue, |dialogue, job| dialogue.start(timer(timer_of(job)), timer_fired::<S>))
}

/// Registers the effect that runs jobs.
pub fn register_effect(app: &App, bot: Bot) -> Bot {
    let app = app.clone();
    bot.effect(EFFECT, move |request| run_job(app.clone(), request))
}

/// Sets the timers of all jobs once the bot leads, then returns.
pub async fn start_timers(app: &App) {
    let key = system_conversation(app.bot_id);
    for job in app.rooms.jobs() {
        loop {
            match app.bot.timer(&key, &timer_of(&job), FIRST_RUN_DELAY, &()).await {
                Ok(()) => break,
                Err(HandleError::NotLeading) => {}
                Err(error) => tracing::warn!(%error, job = job.name, "a job's timer could not be set; trying again"),
            }
            tokio::time::sleep(LEADER_POLL_INTERVAL).await;
        }
    }
}

/// Runs a job now, in addition to its schedule, without waiting for it. Its work is committed already: if the process
/// ends first, or another instance leads, the scheduled run does it.
pub fn run_soon(app: &App, name: &str) {
    if !app.bot.is_running() {
        return;
    }
    let Some(job) = app.rooms.jobs().into_iter().find(|job| job.name == name) else { return };
    let run = app.runs.run_of(job.name);
    // A run that has not started yet will see what this caller has committed.
    if run.is_requested.swap(true, Ordering::AcqRel) {
        return;
    }
    let app = app.clone();
    tokio::spawn(async move {
        match run.run_requested(|| (job.run)(app)).await {
            Ok(()) => {}
            Err(error) if error.is::<Elapsed>() => {
                tracing::warn!(job = job.name, "a job timed out; its schedule runs it again");
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

/// The key of the system conversation.
pub fn system_conversation(bot: i64) -> ConversationKey {
    ConversationKey { bot, chat: 0, user: 0, thread: 0, business: Box::default() }
}

/// The result of a job's write for one of many rows; None if the row was skipped. A row that cannot be written does not
/// stop the others; an unavailable database ends the run.
pub fn written_or_skipped<T>(written: Result<T, NotWritten>, what: &'static str, id: i64) -> anyhow::Result<Option<T>> {
    match written {
        Ok(done) => Ok(Some(done)),
        // The row has changed meanwhile.
        Err(NotWritten::Refused(refusal)) => {
            tracing::debug!(refusal, what, id, "a job skips a row that has changed");
            Ok(None)
        }
        Err(NotWritten::Failed(StoreError::WritesFailed(error))) => {
            tracing::error!(%error, what, id, "a job skips a row that it cannot write; the next run tries again");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn timer_of(job: &Job) -> String {
    format!("job:{}", job.name)
}

async fn timer_fired<S: States>(turn: &mut Turn, timer: Timer) -> Step<S> {
    let app = turn.context::<App>();
    let job = app.rooms.jobs().into_iter().find(|job| timer_of(job) == *timer.name);
    let Some(job) = job else { return Ok(Next::Stay) };
    turn.timer(timer.name, next_run(&job, turn.now()), &());
    turn.effect_without_outcome(EFFECT, &job.name);
    Ok(Next::Stay)
}

/// The next multiple of the interval, so that all instances agree on it.
fn next_run(job: &Job, now: Millis) -> Millis {
    let every_ms = i64::try_from(job.every.as_millis()).unwrap_or(i64::MAX).max(1);
    Millis((now.0 / every_ms + 1).saturating_mul(every_ms))
}

async fn run_job(app: App, request: EffectRequest) -> Result<Value, EffectError> {
    let name: String = request.read()?;
    // A job that was removed by an upgrade may still be requested.
    let Some(job) = app.rooms.jobs().into_iter().find(|job| job.name == name) else { return Ok(Value::Null) };
    let run = app.runs.run_of(job.name);
    // A run by [`run_soon`] is under way and does the work. Waiting would occupy a worker that all jobs share.
    let Ok(_guard) = run.under_way.try_lock() else { return Ok(Value::Null) };
    match (job.run)(app.clone()).await {
        Ok(()) => tracing::debug!(job = job.name, "job finished"),
        Err(error) => tracing::warn!(job = job.name, error = format!("{error:#}"), "a job failed; it will run again"),
    }
    Ok(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_hanging_run_times_out_and_the_next_starts() {
        let run = JobRun::default();
        run.run_requested(std::future::pending::<anyhow::Result<()>>).await.unwrap_err();
        assert!(run.under_way.try_lock().is_ok());
        run.run_requested(async || Ok(())).await.unwrap();
    }

    #[test]
    fn the_next_run_is_at_the_next_multiple_of_the_interval() {
        let hour = Job { name: "x", every: Duration::from_secs(3600), run: |_| Box::pin(async { Ok(()) }) };
        assert_eq!(next_run(&hour, Millis(0)), Millis(3_600_000));
        assert_eq!(next_run(&hour, Millis(3_599_999)), Millis(3_600_000));
        assert_eq!(next_run(&hour, Millis(3_600_000)), Millis(7_200_000));
    }
}
