//! Everything that works while a bot leads: how it is put together, and how it stops.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::handle::Running;
use super::life::{Life, PAGE};
use super::{OnEvent, Settings};
use crate::clock::Stopwatch;
use crate::effects::{DOWNLOAD, Downloads, Effects};
use crate::engine::{Engine, Unheard};
use crate::instance::Leadership;
use crate::intake::{Arriving, Haste, Intake};
use crate::key::DialogueKey;
use crate::mailbox::{Letter, Mailboxes};
use crate::outbox::{Apology, Courier, CourierSettings, SendEvent};
use crate::schedule::{Schedule, Upkeep, Wakeup};
use crate::store::{Filter, Opened, StateCache};
use crate::telegram::{Destination, IntoOutgoing, Say, Tag};

/// How long running turns may take when the lease is claimed again: people wait meanwhile.
const RECLAIM_WITHIN: Duration = Duration::from_secs(2);

/// Why everything stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    /// The bot stops.
    InOrder,
    /// The store goes on elsewhere, and the bot with it.
    Reclaim,
    /// The lease is over: nothing more may be sent.
    WithoutLease,
}

/// Everything that works while the bot leads.
pub(super) struct Works {
    pub(super) running: Running,
    pub(super) effects: Effects,
    pub(super) intake: Intake,
    pub(super) cut: CancellationToken,
    /// Time speaks only after what was left to do is in its queues, so that no timer overtakes an older input.
    pub(super) begin_schedule: CancellationToken,
    stop_schedule: CancellationToken,
    schedule: JoinHandle<()>,
    outcomes: JoinHandle<()>,
}

impl Works {
    pub(super) fn start(life: &Life, leadership: &Leadership) -> Self {
        let bot = life.bot;
        let epoch = leadership.epoch;
        let store = &life.store;
        let clock = &life.clock;
        let settings = &life.settings;
        let courier = Courier::new(
            courier_settings(settings),
            Arc::clone(&life.api),
            Arc::clone(store),
            bot,
            epoch,
            Arc::new(leadership.remaining()),
            clock.clone(),
            events(life.on_event.clone(), leadership.lost.clone()),
        );
        courier.apologise_by(apology(life));
        // What earlier instances have left goes before anything that is said from now on.
        courier.reload();
        let mut register = life.effects.clone();
        let downloads = Downloads {
            api: Arc::clone(&life.api),
            settings: settings.downloads.clone(),
            epoch,
            is_swept: Arc::default(),
        };
        register.add(DOWNLOAD, move |asked| downloads.clone().run(asked));
        let (outcome_sender, outcomes) = mpsc::unbounded_channel();
        let effects =
            Effects::new((bot, epoch), register, Arc::clone(store), clock.clone(), settings.effects, outcome_sender);
        let wakeup = Wakeup::default();
        let cut = CancellationToken::new();
        let engine = Engine {
            epoch,
            script: Arc::clone(&life.script),
            context: Arc::clone(&life.context),
            store: Arc::clone(store),
            clock: clock.clone(),
            courier: courier.clone(),
            effects: effects.clone(),
            wakeup: wakeup.clone(),
            settings: settings.turns,
            unheard: Unheard::default(),
            cache: StateCache::new(if store.is_shared_with_other_programs() { 0 } else { settings.turns.cached }),
            lost: leadership.lost.clone(),
            cut: cut.clone(),
        };
        let mailboxes = Mailboxes::with(Arc::new(engine), Arc::clone(store), settings.mailboxes, life.shares_inbox());
        let schedule = Schedule {
            bot,
            store: Arc::clone(store),
            clock: clock.clone(),
            mailboxes: mailboxes.clone(),
            wakeup: wakeup.clone(),
        };
        let upkeep = Upkeep {
            bot,
            epoch,
            store: Arc::clone(store),
            clock: clock.clone(),
            mailboxes: mailboxes.clone(),
            retention: settings.retention,
        };
        let begin_schedule = CancellationToken::new();
        let stop_schedule = CancellationToken::new();
        let begin = begin_schedule.clone();
        let stop = stop_schedule.clone();
        let schedule = async move {
            if stop.run_until_cancelled(begin.cancelled()).await.is_some() {
                // It is not waited for: nothing is lost if it is let go.
                tokio::spawn(upkeep.run(stop.clone()));
                schedule.run(stop).await;
            }
        };
        Self {
            running: Running { bot, epoch, store: Arc::clone(store), courier, clock: clock.clone(), wakeup },
            effects,
            schedule: tokio::spawn(schedule),
            outcomes: tokio::spawn(pass_on(outcomes, mailboxes.clone())),
            intake: Intake {
                bot,
                epoch,
                store: Arc::clone(store),
                clock: clock.clone(),
                mailboxes,
                unsure: Arc::default(),
                haste: Arc::new(Haste::new(settings.mailboxes.at_once)),
                arriving: Arriving::default(),
            },
            cut,
            begin_schedule,
            stop_schedule,
        }
    }

    /// Stops in order, each step within the deadline that is left.
    pub(super) async fn stop(mut self, life: &Life, closing: Closing) {
        let longest = if closing == Closing::Reclaim { RECLAIM_WITHIN } else { Duration::MAX };
        let deadline = life.settings.stop.deadline.min(longest);
        let watch = Stopwatch::start();
        let left = || deadline.saturating_sub(watch.elapsed());
        tracing::info!(deadline_s = deadline.as_secs(), "stopping: no more updates and timers; finishing turns");
        self.stop_schedule.cancel();
        // It only reads and delivers: nothing is lost if it has to be let go.
        if tokio::time::timeout(left(), &mut self.schedule).await.is_err() {
            self.schedule.abort();
        }
        if tokio::time::timeout(left(), self.intake.mailboxes.close()).await.is_err() {
            self.cut.cancel();
            tracing::warn!("some turns did not finish in time; their inputs wait for the next start");
        }
        self.effects.close().await;
        self.outcomes.abort();
        if life.settings.stop.tell_people && closing == Closing::InOrder {
            let told = tokio::time::timeout(left(), self.tell_people(life)).await;
            if told.is_err() {
                tracing::warn!("not everybody could be told about the stop in time");
            }
        }
        // Without the lease nothing may be sent: the one who has it does.
        let patience = if closing == Closing::WithoutLease { Duration::ZERO } else { left() };
        self.running.courier.drain(patience).await;
    }

    /// Tells everybody in the middle of a dialogue that the bot will be back. It is true only now, so nothing of it is
    /// stored: what does not leave in time never does.
    async fn tell_people(&self, life: &Life) {
        let filter = Filter { bot: Some(life.bot), ..Filter::default() };
        let mut after: Option<DialogueKey> = None;
        let mut told = 0;
        loop {
            let rows = match life.store.list(&filter, after.as_ref(), PAGE).await {
                Ok(rows) => rows,
                Err(error) => return tracing::warn!(%error, "cannot tell people about the stop"),
            };
            let Some(last) = rows.last() else { break };
            after = Some(last.key.clone());
            let people = rows.iter().map(|row| row.key.user).collect();
            let chosen = life.script.languages_of(&life.context, people).await;
            let notices = rows.iter().filter_map(|row| {
                let text =
                    life.script.restart_notice(row.stored.as_ref()?, chosen.get(&row.key.user).map(String::as_str))?;
                let notice =
                    Say::text(text).silent().into_outgoing(&Destination::from(&row.key), &Tag::new(row.version));
                Some((row.key.clone(), notice.ok()?))
            });
            let notices: Vec<_> = notices.collect();
            told += notices.len();
            self.running.courier.enqueue_unstored(notices);
        }
        tracing::info!(people = told, "people in the middle of a dialogue are told, as far as there is time");
    }
}

/// What a person is told whose question Telegram has refused, in the language of the conversation.
fn apology(life: &Life) -> Apology {
    let script = Arc::clone(&life.script);
    let context = Arc::clone(&life.context);
    let store = Arc::clone(&life.store);
    Arc::new(move |key| {
        let script = Arc::clone(&script);
        let context = Arc::clone(&context);
        let store = Arc::clone(&store);
        Box::pin(async move {
            let stored = match store.open(&key, None).await {
                Ok(Opened::At { stored, .. }) => stored,
                _ => None,
            };
            script.not_shown(&context, key.user, stored).await
        })
    })
}

/// The courier's settings. It stops sending some time before the lease is over; of a short lease that is a part.
fn courier_settings(settings: &Settings) -> CourierSettings {
    let usual = CourierSettings::default();
    CourierSettings { limits: settings.limits, lease_margin: usual.lease_margin.min(settings.lease.ttl / 4), ..usual }
}

/// Outcomes of effects go to the mailboxes.
async fn pass_on(mut outcomes: mpsc::UnboundedReceiver<(DialogueKey, Letter)>, mailboxes: Mailboxes) {
    while let Some((key, letter)) = outcomes.recv().await {
        mailboxes.deliver(key, letter);
    }
}

/// Events of the courier go to the application.
fn events(listener: Option<OnEvent>, lost: CancellationToken) -> mpsc::UnboundedSender<SendEvent> {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(event) = receiver.recv().await {
            if matches!(event, SendEvent::Fenced) {
                lost.cancel();
            } else if let Some(listener) = &listener
                && std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| listener(event))).is_err()
            {
                tracing::error!(
                    "the application's listener for events of sending panicked; it is told of the next ones"
                );
            }
        }
    });
    sender
}
