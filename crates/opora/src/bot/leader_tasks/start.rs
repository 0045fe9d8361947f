//! Starts the tasks of a leader.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::LeaderTasks;
use crate::bot::handle::Running;
use crate::bot::runtime::BotRuntime;
use crate::bot::{OnEvent, Settings};
use crate::effects::{DOWNLOAD, Downloads, Effects};
use crate::engine::{Engine, TurnMeters, UnhandledReporter};
use crate::instance::Leadership;
use crate::intake::{InboxWrites, Intake, StartEarly};
use crate::jobs::{CARRIER, Carrier, JobRunner, RunnerHandle, RunnerStop};
use crate::key::ConversationKey;
use crate::mailbox::{Mailboxes, QueuedInput};
use crate::outbox::{Courier, CourierSettings, FailureNotice, SendEvent};
use crate::schedule::{Maintenance, Schedule, ScheduleHandle};
use crate::store::{Opened, StateCache};

/// How long jobs wait after a panic of their runner.
const RUNNER_RESTART_PAUSE: Duration = Duration::from_secs(1);

/// An effect's conversation and outcome.
type Outcome = (ConversationKey, QueuedInput);

impl LeaderTasks {
    pub(in crate::bot) fn start(runtime: &BotRuntime, leadership: &Leadership) -> Self {
        let running = Running {
            bot: runtime.bot,
            epoch: leadership.epoch,
            store: Arc::clone(&runtime.store),
            courier: start_courier(runtime, leadership),
            clock: runtime.clock.clone(),
            schedule: ScheduleHandle::default(),
            jobs: RunnerHandle::default(),
        };
        let (outcome_sender, outcomes) = mpsc::unbounded_channel();
        let effects = effects(runtime, &running, outcome_sender);
        let give_up = CancellationToken::new();
        let engine = engine(runtime, leadership, &running, &effects, &give_up);
        let store = Arc::clone(&runtime.store);
        let mailboxes = Mailboxes::with(Arc::new(engine), store, runtime.settings.mailboxes, runtime.shares_inbox());
        let begin_schedule = CancellationToken::new();
        let stop_schedule = CancellationToken::new();
        let stop_jobs = RunnerStop::default();
        let schedule = run_schedule(runtime, &running, &mailboxes, (begin_schedule.clone(), stop_schedule.clone()));
        let jobs = run_jobs(runner(runtime, &running), stop_jobs.clone(), begin_schedule.clone());
        Self {
            schedule: tokio::spawn(schedule),
            stop_jobs,
            jobs: AbortOnDropHandle::new(tokio::spawn(jobs)),
            outcomes: tokio::spawn(deliver_outcomes(outcomes, mailboxes.clone())),
            intake: intake(runtime, &running, mailboxes),
            running,
            effects,
            give_up,
            begin_schedule,
            stop_schedule,
        }
    }
}

/// The courier. It sends the messages of earlier instances first.
fn start_courier(runtime: &BotRuntime, leadership: &Leadership) -> Courier {
    let courier = Courier::new(
        courier_settings(&runtime.settings),
        Arc::clone(&runtime.api),
        Arc::clone(&runtime.store),
        runtime.bot,
        leadership.epoch,
        Arc::new(leadership.remaining()),
        runtime.clock.clone(),
        forward_events(runtime.on_event.clone(), leadership.lost.clone()),
    );
    courier.set_failure_notice(failure_notice(runtime));
    courier.reload();
    courier
}

/// The application's effects and the library's own.
fn effects(runtime: &BotRuntime, running: &Running, outcomes: mpsc::UnboundedSender<Outcome>) -> Effects {
    let Running { bot, epoch, store, clock, .. } = running;
    let mut registry = runtime.effects.clone();
    let downloads = Downloads {
        api: Arc::clone(&runtime.api),
        settings: runtime.settings.downloads.clone(),
        epoch: *epoch,
        is_swept: Arc::default(),
    };
    registry.add(DOWNLOAD, move |request| downloads.clone().run(request));
    let carrier = Carrier { bot: *bot, store: Arc::clone(store), clock: clock.clone(), runner: running.jobs.clone() };
    registry.add(CARRIER, move |request| carrier.clone().run(request));
    // A job is not lost because its store is away for long.
    registry.set_attempts(CARRIER, u32::MAX);
    Effects::new((*bot, *epoch), registry, Arc::clone(store), clock.clone(), runtime.settings.effects, outcomes)
}

fn engine(
    runtime: &BotRuntime,
    leadership: &Leadership,
    running: &Running,
    effects: &Effects,
    give_up: &CancellationToken,
) -> Engine {
    let store = &runtime.store;
    let settings = runtime.settings.turns;
    Engine {
        epoch: leadership.epoch,
        script: Arc::clone(&runtime.script),
        context: Arc::clone(&runtime.context),
        store: Arc::clone(store),
        clock: runtime.clock.clone(),
        courier: running.courier.clone(),
        effects: effects.clone(),
        schedule: running.schedule.clone(),
        jobs: running.jobs.clone(),
        settings,
        unhandled: UnhandledReporter::default(),
        meters: TurnMeters::new(&runtime.script),
        cache: StateCache::new(if store.is_shared_with_other_programs() { 0 } else { settings.cached }),
        lost: leadership.lost.clone(),
        give_up: give_up.clone(),
    }
}

fn runner(runtime: &BotRuntime, running: &Running) -> JobRunner {
    JobRunner {
        bot: running.bot,
        epoch: running.epoch,
        store: Arc::clone(&running.store),
        clock: running.clock.clone(),
        workers: Arc::clone(&runtime.workers),
        schedules: Arc::clone(&runtime.schedules),
        values: Arc::clone(&runtime.context),
        handle: running.jobs.clone(),
    }
}

fn intake(runtime: &BotRuntime, running: &Running, mailboxes: Mailboxes) -> Intake {
    Intake {
        bot: running.bot,
        epoch: running.epoch,
        store: Arc::clone(&running.store),
        clock: running.clock.clone(),
        mailboxes,
        unsure: Arc::default(),
        start_early: Arc::new(StartEarly::new(runtime.settings.mailboxes.direct_updates)),
        inbox_writes: InboxWrites::default(),
    }
}

/// Runs the schedule and the maintenance after `begin` and until `stop`.
fn run_schedule(
    runtime: &BotRuntime,
    running: &Running,
    mailboxes: &Mailboxes,
    (begin, stop): (CancellationToken, CancellationToken),
) -> impl Future<Output = ()> + Send + use<> {
    let Running { bot, epoch, store, clock, .. } = running;
    let schedule = Schedule {
        bot: *bot,
        store: Arc::clone(store),
        clock: clock.clone(),
        mailboxes: mailboxes.clone(),
        handle: running.schedule.clone(),
    };
    let maintenance = Maintenance {
        bot: *bot,
        epoch: *epoch,
        store: Arc::clone(store),
        clock: clock.clone(),
        mailboxes: mailboxes.clone(),
        retention: runtime.settings.retention,
        job_retention: runtime.settings.jobs,
    };
    async move {
        if stop.run_until_cancelled(begin.cancelled()).await.is_some() {
            // The stop does not wait for this task, because nothing is lost if it ends early.
            tokio::spawn(maintenance.run(stop.clone()));
            schedule.run(stop).await;
        }
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
