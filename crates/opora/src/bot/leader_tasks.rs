//! The tasks of a leader: how they start, and how they stop.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::handle::Running;
use super::runtime::{BotRuntime, PAGE};
use super::{OnEvent, Settings};
use crate::clock::Stopwatch;
use crate::effects::{DOWNLOAD, Downloads, Effects};
use crate::engine::{Engine, TurnMeters, UnhandledReporter};
use crate::instance::Leadership;
use crate::intake::{InboxWrites, Intake, StartEarly};
use crate::jobs::{CARRIER, Carrier, JobRunner, RunnerHandle, RunnerStop};
use crate::key::ConversationKey;
use crate::mailbox::{Mailboxes, QueuedInput};
use crate::outbox::{Courier, CourierSettings, FailureNotice, SendEvent};
use crate::schedule::{Maintenance, Schedule, ScheduleHandle};
use crate::store::{Filter, Opened, StateCache};
use crate::telegram::{Destination, IntoOutgoing, Say, Tag};

/// How long running turns may take before the lease is claimed again. Meanwhile no new turn starts.
const RECLAIM_DEADLINE: Duration = Duration::from_secs(2);

/// How long running jobs that are ended by the stop may take to be put back.
const PUT_BACK_TIMEOUT: Duration = Duration::from_secs(1);

/// How long jobs wait after a panic of their runner.
const RUNNER_RESTART_PAUSE: Duration = Duration::from_secs(1);

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
    pub(super) fn start(runtime: &BotRuntime, leadership: &Leadership) -> Self {
        let bot = runtime.bot;
        let epoch = leadership.epoch;
        let store = &runtime.store;
        let clock = &runtime.clock;
        let settings = &runtime.settings;
        let courier = Courier::new(
            courier_settings(settings),
            Arc::clone(&runtime.api),
            Arc::clone(store),
            bot,
            epoch,
            Arc::new(leadership.remaining()),
            clock.clone(),
            forward_events(runtime.on_event.clone(), leadership.lost.clone()),
        );
        courier.set_failure_notice(failure_notice(runtime));
        // Messages of earlier instances are sent first.
        courier.reload();
        let mut registry = runtime.effects.clone();
        let downloads = Downloads {
            api: Arc::clone(&runtime.api),
            settings: settings.downloads.clone(),
            epoch,
            is_swept: Arc::default(),
        };
        registry.add(DOWNLOAD, move |request| downloads.clone().run(request));
        let job_handle = RunnerHandle::default();
        let carrier = Carrier { bot, store: Arc::clone(store), clock: clock.clone(), runner: job_handle.clone() };
        registry.add(CARRIER, move |request| carrier.clone().run(request));
        // A job is not lost because its store is away for long.
        registry.set_attempts(CARRIER, u32::MAX);
        let (outcome_sender, outcomes) = mpsc::unbounded_channel();
        let effects =
            Effects::new((bot, epoch), registry, Arc::clone(store), clock.clone(), settings.effects, outcome_sender);
        let handle = ScheduleHandle::default();
        let give_up = CancellationToken::new();
        let engine = Engine {
            epoch,
            script: Arc::clone(&runtime.script),
            context: Arc::clone(&runtime.context),
            store: Arc::clone(store),
            clock: clock.clone(),
            courier: courier.clone(),
            effects: effects.clone(),
            schedule: handle.clone(),
            jobs: job_handle.clone(),
            settings: settings.turns,
            unhandled: UnhandledReporter::default(),
            meters: TurnMeters::new(&runtime.script),
            cache: StateCache::new(if store.is_shared_with_other_programs() { 0 } else { settings.turns.cached }),
            lost: leadership.lost.clone(),
            give_up: give_up.clone(),
        };
        let mailboxes =
            Mailboxes::with(Arc::new(engine), Arc::clone(store), settings.mailboxes, runtime.shares_inbox());
        let schedule = Schedule {
            bot,
            store: Arc::clone(store),
            clock: clock.clone(),
            mailboxes: mailboxes.clone(),
            handle: handle.clone(),
        };
        let maintenance = Maintenance {
            bot,
            epoch,
            store: Arc::clone(store),
            clock: clock.clone(),
            mailboxes: mailboxes.clone(),
            retention: settings.retention,
            job_retention: settings.jobs,
        };
        let runner = JobRunner {
            bot,
            epoch,
            store: Arc::clone(store),
            clock: clock.clone(),
            workers: Arc::clone(&runtime.workers),
            schedules: Arc::clone(&runtime.schedules),
            values: Arc::clone(&runtime.context),
            handle: job_handle.clone(),
        };
        let stop_jobs = RunnerStop::default();
        let begin_schedule = CancellationToken::new();
        let jobs = run_jobs(runner, stop_jobs.clone(), begin_schedule.clone());
        let stop_schedule = CancellationToken::new();
        let begin = begin_schedule.clone();
        let stop = stop_schedule.clone();
        let schedule = async move {
            if stop.run_until_cancelled(begin.cancelled()).await.is_some() {
                // The stop does not wait for this task, because nothing is lost if it ends early.
                tokio::spawn(maintenance.run(stop.clone()));
                schedule.run(stop).await;
            }
        };
        Self {
            running: Running {
                bot,
                epoch,
                store: Arc::clone(store),
                courier,
                clock: clock.clone(),
                schedule: handle,
                jobs: job_handle,
            },
            effects,
            schedule: tokio::spawn(schedule),
            stop_jobs,
            jobs: AbortOnDropHandle::new(tokio::spawn(jobs)),
            outcomes: tokio::spawn(deliver_outcomes(outcomes, mailboxes.clone())),
            intake: Intake {
                bot,
                epoch,
                store: Arc::clone(store),
                clock: clock.clone(),
                mailboxes,
                unsure: Arc::default(),
                start_early: Arc::new(StartEarly::new(settings.mailboxes.direct_updates)),
                inbox_writes: InboxWrites::default(),
            },
            give_up,
            begin_schedule,
            stop_schedule,
        }
    }

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

/// Makes the failure notice for a message that Telegram refused, in the language of the conversation.
fn failure_notice(runtime: &BotRuntime) -> FailureNotice {
    let script = Arc::clone(&runtime.script);
    let context = Arc::clone(&runtime.context);
    let store = Arc::clone(&runtime.store);
    Arc::new(move |key| {
        let script = Arc::clone(&script);
        let context = Arc::clone(&context);
        let store = Arc::clone(&store);
        Box::pin(async move {
            let stored = match store.open(&key, None).await {
                Ok(Opened::At { stored, .. }) => stored,
                _ => None,
            };
            script.refused_message_notice(&context, key.user, stored).await
        })
    })
}

/// The courier's settings. The courier stops sending before the lease expires, at most a quarter of the lease early.
fn courier_settings(settings: &Settings) -> CourierSettings {
    let defaults = CourierSettings::default();
    CourierSettings {
        limits: settings.limits,
        lease_margin: defaults.lease_margin.min(settings.lease.ttl / 4),
        ..defaults
    }
}

/// Runs jobs after the stored inputs are in their mailboxes: people go first.
async fn run_jobs(runner: JobRunner, stop: RunnerStop, begin: CancellationToken) {
    if stop.drain.run_until_cancelled(begin.cancelled()).await.is_none() {
        return;
    }
    while let Err(panic) = AbortOnDropHandle::new(tokio::spawn(runner.clone().run(stop.clone()))).await {
        tracing::error!(%panic, "the runner of jobs has panicked; starting it again");
        tokio::time::sleep(RUNNER_RESTART_PAUSE).await;
    }
}

/// Delivers outcomes of effects to the mailboxes.
async fn deliver_outcomes(mut outcomes: mpsc::UnboundedReceiver<(ConversationKey, QueuedInput)>, mailboxes: Mailboxes) {
    while let Some((key, input)) = outcomes.recv().await {
        mailboxes.deliver(key, input);
    }
}

/// Passes send events of the courier to the application's listener.
fn forward_events(listener: Option<OnEvent>, lost: CancellationToken) -> mpsc::UnboundedSender<SendEvent> {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(event) = receiver.recv().await {
            if matches!(event, SendEvent::Fenced) {
                lost.cancel();
            } else if let Some(listener) = &listener
                && std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| listener(event))).is_err()
            {
                tracing::error!("the application's listener for send events panicked; it stays registered");
            }
        }
    });
    sender
}
