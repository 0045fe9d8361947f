//! The courier: takes committed rows and answers for them until they are settled.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use metrics::{Counter, Gauge};
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::broadcast::Tally;
use super::labels::Labels;
use super::lanes::{Item, Lanes};
use super::loader;
use super::memory::Memory;
use super::pace::Pace;
use super::refused::Apology;
use super::settler::{self, Settler};
use super::{CourierSettings, SendEvent, worker};
use crate::clock::{Clock, Millis, Stopwatch};
use crate::key::DialogueKey;
use crate::store::{Epoch, OutboxId, OutboxRow, Outgoing, Store};
use crate::telegram::Api;

/// How long settling may take after a stop's deadline: what was sent should be known as sent.
const SETTLING_PATIENCE: Duration = Duration::from_secs(1);

/// Sends rows of the outbox. Clones share one; when the last is gone, sending ends.
#[derive(Clone)]
pub(crate) struct Courier {
    shared: Arc<Shared>,
    _ends_tasks: Arc<DropGuard>,
}

/// What a stop leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drained {
    /// Rows in memory that stay for the next start.
    pub left: usize,
    /// The store has more of them.
    pub more: bool,
}

/// What the courier's tasks share.
pub(super) struct Shared {
    pub settings: CourierSettings,
    pub api: Arc<dyn Api>,
    pub store: Arc<dyn Store>,
    pub bot: i64,
    pub epoch: Epoch,
    /// How long the lease lasts for sure.
    pub lease: Arc<dyn Fn() -> Duration + Send + Sync>,
    pub clock: Clock,
    pub events: mpsc::UnboundedSender<SendEvent>,
    pub lanes: Mutex<Lanes>,
    pub pace: Pace,
    pub labels: Mutex<Labels>,
    pub settler: Settler,
    /// A row of a lane may go.
    pub ready: Notify,
    /// A row outside of order may go.
    pub urgent: Notify,
    /// The timer has to look again when to wake.
    pub timer: Notify,
    /// Rows are missing, or there is room.
    pub loader: Notify,
    /// Something was sent or settled.
    pub progress: Notify,
    pub stop: CancellationToken,
    pub meters: Meters,
    /// What a person is told whose question was refused; nothing until it is given.
    pub apology: OnceLock<Apology>,
    token_was_refused: AtomicBool,
    /// The number of the next row that no store has.
    unstored: AtomicI64,
}

/// Looked up once: the names are hashed each time otherwise.
pub(super) struct Meters {
    pub sent: Counter,
    pub failed: Counter,
    pub retries: Counter,
    pub waiting: Gauge,
}

impl Courier {
    /// Starts to work for the holder of `epoch`. `lease` says how long the lease lasts for sure. Must be called within
    /// a Tokio runtime. Rows of earlier instances come with [`Courier::reload`].
    #[expect(clippy::too_many_arguments, reason = "everything it works with, given once")]
    #[must_use]
    pub fn new(
        settings: CourierSettings,
        api: Arc<dyn Api>,
        store: Arc<dyn Store>,
        bot: i64,
        epoch: Epoch,
        lease: Arc<dyn Fn() -> Duration + Send + Sync>,
        clock: Clock,
        events: mpsc::UnboundedSender<SendEvent>,
    ) -> Self {
        let stop = CancellationToken::new();
        let memory = Memory::new(settings.max_rows, OutboxId(epoch.first_number()));
        let shared = Arc::new(Shared {
            settings,
            api,
            store,
            bot,
            epoch,
            lease,
            clock,
            events,
            lanes: Mutex::new(Lanes::new(settings.limits, memory)),
            pace: Pace::default(),
            labels: Mutex::new(Labels::new(settings.max_rows)),
            settler: Settler::default(),
            ready: Notify::new(),
            urgent: Notify::new(),
            timer: Notify::new(),
            loader: Notify::new(),
            progress: Notify::new(),
            stop: stop.clone(),
            meters: Meters::new(),
            apology: OnceLock::new(),
            token_was_refused: AtomicBool::new(false),
            unstored: AtomicI64::new(-1),
        });
        shared.start();
        Self { shared, _ends_tasks: Arc::new(stop.drop_guard()) }
    }

    /// Takes rows that were committed, in the order of their commits.
    pub fn enqueue(&self, rows: impl IntoIterator<Item = OutboxRow>) {
        self.shared.bring(rows.into_iter().map(|row| Item::new(row, None)));
    }

    /// Takes rows of a turn: if Telegram refuses one for good, the person of its conversation is told.
    pub fn enqueue_of_turn(&self, rows: Vec<OutboxRow>) {
        self.shared.bring(rows.into_iter().map(|row| Item { is_of_turn: true, ..Item::new(row, None) }));
    }

    /// Says how people are told of refused messages of their turns; the first word counts.
    pub fn apologise_by(&self, apology: Apology) {
        // It is said once, when everything is put together.
        let _ = self.shared.apology.set(apology);
    }

    /// Takes calls that are of use only now and that no store has: what is not sent when this instance ends never is.
    pub fn enqueue_unstored(&self, calls: Vec<(DialogueKey, Outgoing)>) {
        self.shared.bring_unstored(calls);
    }

    /// Looks into the store for rows that nobody has brought: what earlier instances left unsent, or what a commit
    /// holds whose answer was lost. Returns at once; the store is read in the background, and again until it answers.
    pub fn reload(&self) {
        self.shared.lanes.lock().memory.reload();
        self.shared.loader.notify_one();
    }

    /// Ends the work: sends what may go now, tries nothing again, settles what was sent, and stops. What is under way
    /// at the deadline is left, and is sent again by the next instance.
    pub async fn drain(&self, deadline: Duration) -> Drained {
        let shared = &self.shared;
        let watch = Stopwatch::start();
        shared.lanes.lock().drain();
        shared.ready.notify_one();
        // Who waits for room shall not bring more.
        shared.progress.notify_waiters();
        let sends = shared.until(|| shared.lanes.lock().is_idle());
        let in_time = tokio::time::timeout(deadline, sends).await.unwrap_or(false);
        let patience = deadline.saturating_sub(watch.elapsed()) + SETTLING_PATIENCE;
        let settling = shared.until(|| shared.settler.is_idle());
        let settled = tokio::time::timeout(patience, settling).await.unwrap_or(false);
        shared.stop.cancel();
        let lanes = shared.lanes.lock();
        let drained = Drained { left: lanes.memory.len(), more: lanes.memory.is_behind() };
        tracing::info!(
            bot = shared.bot,
            left = drained.left,
            more = drained.more,
            in_time,
            settled,
            "the courier has stopped"
        );
        drained
    }

    /// How many rows wait in memory or are not settled yet.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.shared.lanes.lock().memory.len()
    }

    /// Waits until the courier holds few rows and misses none, so that a broadcast does not push others out; false if
    /// it stops.
    pub(super) async fn has_room(&self, rows: usize) -> bool {
        let shared = &self.shared;
        let has_room = || {
            let lanes = shared.lanes.lock();
            let has_room = !lanes.memory.is_behind() && lanes.memory.has_room(rows.max(shared.settings.max_rows / 2));
            has_room || lanes.is_draining()
        };
        shared.until(has_room).await && !shared.stop.is_cancelled() && !shared.lanes.lock().is_draining()
    }

    /// The same for a broadcast, which lets others go first.
    pub(super) fn enqueue_low(&self, rows: impl Iterator<Item = OutboxRow>, tally: &Arc<Tally>) {
        self.shared.bring(rows.map(|row| Item::new(row, Some(Arc::clone(tally)))));
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }
}

impl Shared {
    fn start(self: &Arc<Self>) {
        let many = self.settings.concurrent.max(1);
        for _ in 0..many {
            self.spawn(worker::run(Arc::clone(self)));
        }
        // A quarter as many again, so that answers to buttons never wait for messages.
        for _ in 0..many.div_ceil(4) {
            self.spawn(worker::run_urgent(Arc::clone(self)));
        }
        self.spawn(worker::run_timer(Arc::clone(self)));
        self.spawn(settler::run_notes(Arc::clone(self)));
        self.spawn(settler::run(Arc::clone(self)));
        self.spawn(loader::run(Arc::clone(self)));
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        tokio::spawn(async move { stop.run_until_cancelled_owned(task).await });
    }

    /// Takes calls that no store has.
    pub fn bring_unstored(&self, calls: Vec<(DialogueKey, Outgoing)>) {
        let at = self.clock.now();
        let rows = calls.into_iter().map(|(key, outgoing)| {
            // A number that no store gives: to settle it changes nothing there.
            let id = OutboxId(self.unstored.fetch_sub(1, Ordering::Relaxed));
            OutboxRow { id, key, outgoing, was_sending: false, at }
        });
        self.bring(rows.map(|row| Item::new(row, None)));
    }

    pub fn bring(&self, items: impl Iterator<Item = Item>) {
        let brought = self.lanes.lock().bring(items);
        // Not only when something is settled: while nothing can be sent, this is what tells.
        self.show_waiting();
        // A worker that finds more wakes the next.
        if brought.ordered {
            self.ready.notify_one();
        }
        if brought.urgent {
            self.urgent.notify_one();
        }
        if brought.behind {
            self.loader.notify_one();
        }
    }

    /// Waits until something is so; asked again whenever something was sent or settled. False if the work ends before.
    async fn until(&self, is_so: impl Fn() -> bool) -> bool {
        loop {
            let progress = self.progress.notified();
            tokio::pin!(progress);
            progress.as_mut().enable();
            if is_so() {
                return true;
            }
            tokio::select! {
                () = progress => {}
                () = self.stop.cancelled() => return false,
            }
        }
    }

    pub fn show_waiting(&self) {
        let waiting = self.lanes.lock().memory.len();
        self.meters.waiting.set(u32::try_from(waiting).map_or(f64::MAX, f64::from));
    }

    /// Another instance has the lease: nothing more is sent.
    pub fn fenced(&self) {
        if !self.stop.is_cancelled() {
            tracing::error!(bot = self.bot, epoch = self.epoch.0, "another instance has the lease; sending ends");
            self.tell(SendEvent::Fenced);
            self.stop.cancel();
        }
    }

    pub fn token_refused(&self) {
        if !self.token_was_refused.swap(true, Ordering::Relaxed) {
            tracing::error!(bot = self.bot, "Telegram refuses the bot's token; nothing is sent until it is taken");
            self.tell(SendEvent::TokenRefused);
        }
    }

    /// Says that a row failed. That people block a bot is no error.
    pub fn tell_failed(&self, row: &OutboxRow, reason: Box<str>, chat_is_dead: bool) {
        let OutboxRow { id, key, outgoing: call, .. } = row;
        if chat_is_dead {
            tracing::info!(%key, id = id.0, chat = call.chat, %reason, "a chat can no longer be reached");
        } else {
            tracing::error!(%key, id = id.0, chat = call.chat, method = &*call.method, %reason, "a message cannot be sent");
        }
        let method = call.method.clone();
        self.tell(SendEvent::Failed { id: *id, key: key.clone(), chat: call.chat, method, reason });
    }

    pub fn tell(&self, event: SendEvent) {
        // Nobody has to listen.
        let _ = self.events.send(event);
    }
}

/// The rows of what was posted, by the ids that the store gave. Something that was posted before has no ids.
pub(crate) fn posted_rows(
    ids: Vec<OutboxId>,
    posted: impl IntoIterator<Item = (DialogueKey, Outgoing)>,
    at: Millis,
) -> impl Iterator<Item = OutboxRow> {
    let row = move |(id, (key, outgoing))| OutboxRow { id, key, outgoing, was_sending: false, at };
    ids.into_iter().zip(posted).map(row)
}

impl Meters {
    fn new() -> Self {
        Self {
            sent: metrics::counter!("opora_sends_total", "outcome" => "sent"),
            failed: metrics::counter!("opora_sends_total", "outcome" => "failed"),
            retries: metrics::counter!("opora_send_retries_total"),
            waiting: metrics::gauge!("opora_outbox_waiting"),
        }
    }
}

impl fmt::Debug for Courier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Courier").field("bot", &self.shared.bot).finish_non_exhaustive()
    }
}
