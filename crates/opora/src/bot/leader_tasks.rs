//! The tasks of a leader: how they start, and how they stop.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::handle::Running;
use super::runtime::{BotRuntime, PAGE};
use crate::clock::Stopwatch;
use crate::effects::Effects;
use crate::intake::Intake;
use crate::jobs::RunnerStop;
use crate::key::ConversationKey;
use crate::store::Filter;
use crate::telegram::{Destination, IntoOutgoing, Say, Tag};

mod start;

/// How long running turns may take before the lease is claimed again. Meanwhile no new turn starts.
const RECLAIM_DEADLINE: Duration = Duration::from_secs(2);

/// How long running jobs that are ended by the stop may take to be put back.
const PUT_BACK_TIMEOUT: Duration = Duration::from_secs(1);

/// How the tasks stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopKind {
    /// The bot stops.
    InOrder,
    /// The store moved; the bot claims the lease again.
    Reclaim,
    /// The lease is lost: nothing more may be sent.
    LeaseLost,
}

/// The tasks that run while the bot leads.
pub(super) struct LeaderTasks {
    pub(super) running: Running,
    pub(super) effects: Effects,
    pub(super) intake: Intake,
    /// Ends turns that wait for the store.
    pub(super) give_up: CancellationToken,
    /// The schedule starts after the stored inputs are in their mailboxes, so that no timer overtakes an older input.
    pub(super) begin_schedule: CancellationToken,
    stop_schedule: CancellationToken,
    schedule: JoinHandle<()>,
    stop_jobs: RunnerStop,
    /// Ends with these tasks, so that no job runs on after a stop at once.
    jobs: AbortOnDropHandle<()>,
    outcomes: JoinHandle<()>,
}

impl LeaderTasks {
    /// Stops the tasks in order, within the deadline.
    pub(super) async fn stop(mut self, runtime: &BotRuntime, kind: StopKind) {
        let longest = if kind == StopKind::Reclaim { RECLAIM_DEADLINE } else { Duration::MAX };
        let deadline = runtime.settings.stop.deadline.min(longest);
        let watch = Stopwatch::start();
        let remaining = || deadline.saturating_sub(watch.elapsed());
        tracing::info!(deadline_s = deadline.as_secs(), "stopping: no more updates and timers; finishing turns");
        self.stop_schedule.cancel();
        self.stop_jobs.drain.cancel();
        // The schedule only reads and delivers, so nothing is lost if it is aborted.
        if tokio::time::timeout(remaining(), &mut self.schedule).await.is_err() {
            self.schedule.abort();
        }
        if tokio::time::timeout(remaining(), self.intake.mailboxes.close()).await.is_err() {
            self.give_up.cancel();
            tracing::warn!("some turns did not finish in time; their inputs wait for the next start");
        }
        // The rest of the time is for effects and messages.
        self.stop_running_jobs(kind, remaining() / 2).await;
        self.effects.close().await;
        self.outcomes.abort();
        if runtime.settings.stop.tell_people && kind == StopKind::InOrder {
            let result = tokio::time::timeout(remaining(), self.tell_people(runtime)).await;
            if result.is_err() {
                tracing::warn!("not all people could be told about the stop in time");
            }
        }
        // Without the lease nothing may be sent; the new leader sends it.
        let timeout = if kind == StopKind::LeaseLost { Duration::ZERO } else { remaining() };
        self.running.courier.drain(timeout).await;
    }

    /// Waits for running jobs, and puts slow ones back. Without the lease the next leader does that.
    async fn stop_running_jobs(&mut self, kind: StopKind, remaining: Duration) {
        if kind != StopKind::LeaseLost {
            if tokio::time::timeout(remaining, &mut self.jobs).await.is_ok() {
                return;
            }
            self.stop_jobs.put_back.cancel();
            if tokio::time::timeout(PUT_BACK_TIMEOUT, &mut self.jobs).await.is_ok() {
                return;
            }
        }
        self.jobs.abort();
    }

    /// Tells people in the middle of a dialogue that the bot will be back. These messages are not stored: a message
    /// that is not sent in time is dropped.
    async fn tell_people(&self, runtime: &BotRuntime) {
        let filter = Filter { bot: Some(runtime.bot), ..Filter::default() };
        let mut after: Option<ConversationKey> = None;
        let mut sent_count = 0;
        loop {
            let rows = match runtime.store.list(&filter, after.as_ref(), PAGE).await {
                Ok(rows) => rows,
                Err(error) => return tracing::warn!(%error, "cannot tell people about the stop"),
            };
            let Some(last) = rows.last() else { break };
            after = Some(last.key.clone());
            let people = rows.iter().map(|row| row.key.user).collect();
            let languages = runtime.script.languages_of(&runtime.context, people).await;
            let notices = rows.iter().filter_map(|row| {
                let text = runtime
                    .script
                    .restart_notice(row.stored.as_ref()?, languages.get(&row.key.user).map(String::as_str))?;
                let notice =
                    Say::text(text).silent().into_outgoing(&Destination::from(&row.key), &Tag::new(row.version));
                Some((row.key.clone(), notice.ok()?))
            });
            let notices: Vec<_> = notices.collect();
            sent_count += notices.len();
            self.running.courier.enqueue_unstored(notices);
        }
        tracing::info!(people = sent_count, "telling people in the middle of a dialogue about the stop");
    }
}
