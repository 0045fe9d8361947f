//! The courier: sends committed rows and settles them.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use metrics::{Counter, Gauge};
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::broadcast::Tally;
use super::concurrency::Concurrency;
use super::failure_notice::FailureNotice;
use super::lanes::{Lanes, QueuedRow};
use super::loaded_rows::LoadedRows;
use super::loader;
use super::settler::{self, Settler};
use super::{CourierSettings, SendEvent, worker};
use crate::clock::{Clock, Millis, Stopwatch};
use crate::key::ConversationKey;
use crate::store::{Epoch, Generations, OutboxId, OutboxRow, Outgoing, Store};
use crate::telegram::Api;

/// How long settling may take after the deadline of a stop, so that sent rows are known as sent.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(1);

/// Sends rows of the outbox. Clones share one courier. It stops when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct Courier {
    shared: Arc<Shared>,
    _stop_on_drop: Arc<DropGuard>,
}

/// What a stop leaves unsent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drained {
    /// Rows in memory that the next instance sends.
    pub left: usize,
    /// Whether the store has more of them.
    pub more: bool,
}

/// State that the courier's tasks share.
pub(super) struct Shared {
    pub settings: CourierSettings,
    pub api: Arc<dyn Api>,
    pub store: Arc<dyn Store>,
    pub bot: i64,
    pub epoch: Epoch,
    /// The remaining time of the lease.
    pub lease: Arc<dyn Fn() -> Duration + Send + Sync>,
    pub clock: Clock,
    pub events: mpsc::UnboundedSender<SendEvent>,
    pub lanes: Mutex<Lanes>,
    pub concurrency: Concurrency,
    /// The ids of the messages sent last, by chat and label, for edits that follow soon. A generation is larger than
    /// the number of unsettled rows, so a label that is not here is in the store.
    pub labels: Mutex<Generations<(i64, Box<str>), i64>>,
    pub settler: Settler,
    /// Wakes a worker: a lane may have a row to send.
    pub ready: Notify,
    /// Wakes an urgent worker: a call outside of order waits.
    pub urgent: Notify,
    /// Wakes the timer task to compute its next deadline.
    pub timer: Notify,
    /// Wakes the loader: rows are missing, or there is room.
    pub loader: Notify,
    /// Notified when something was sent or settled.
    pub progress: Notify,
    pub stop: CancellationToken,
    pub meters: Meters,
    /// Makes the text for a person whose message was refused. Set at the start.
    pub failure_notice: OnceLock<FailureNotice>,
    token_was_refused: AtomicBool,
    /// The id of the next row that is not in the store. Negative.
    next_unstored_id: AtomicI64,
}

/// Metrics, looked up once because a lookup hashes the name.
pub(super) struct Meters {
    pub sent: Counter,
    pub failed: Counter,
    pub retries: Counter,
    pub waiting: Gauge,
}

impl Courier {
    /// Starts the courier for the leader with this epoch. `lease` returns the remaining time of the lease. Must be
    /// called in a Tokio runtime. [`Courier::reload`] loads the rows of earlier instances.
    #[expect(clippy::too_many_arguments, reason = "all its parts, given once")]
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
        let loaded = LoadedRows::new(settings.max_rows, OutboxId(epoch.first_number()));
        let shared = Arc::new(Shared {
            settings,
            api,
            store,
            bot,
            epoch,
            lease,
            clock,
            events,
            lanes: Mutex::new(Lanes::new(settings.limits, loaded)),
            concurrency: Concurrency::default(),
            labels: Mutex::new(Generations::new(settings.max_rows.max(1))),
            settler: Settler::default(),
            ready: Notify::new(),
            urgent: Notify::new(),
            timer: Notify::new(),
            loader: Notify::new(),
            progress: Notify::new(),
            stop: stop.clone(),
            meters: Meters::new(),
            failure_notice: OnceLock::new(),
            token_was_refused: AtomicBool::new(false),
            next_unstored_id: AtomicI64::new(-1),
        });
        shared.start();
        Self { shared, _stop_on_drop: Arc::new(stop.drop_guard()) }
    }

    /// Adds committed rows, in the order of their commits.
    pub fn enqueue(&self, rows: impl IntoIterator<Item = OutboxRow>) {
        self.shared.add_rows(rows.into_iter().map(|row| QueuedRow::new(row, None)));
    }

    /// Adds rows of a turn. If Telegram refuses one for good, the person gets a failure notice.
    pub fn enqueue_of_turn(&self, rows: Vec<OutboxRow>) {
        self.shared.add_rows(rows.into_iter().map(|row| QueuedRow { is_of_turn: true, ..QueuedRow::new(row, None) }));
    }

    /// Sets how the failure notice for a refused message is made.
    pub fn set_failure_notice(&self, failure_notice: FailureNotice) {
        // Set only once, at the start.
        let _ = self.shared.failure_notice.set(failure_notice);
    }

    /// Adds calls that are not stored, because they are useful only now. Unsent ones are lost with the instance.
    pub fn enqueue_unstored(&self, calls: Vec<(ConversationKey, Outgoing)>) {
        self.shared.add_unstored(calls);
    }

    /// Starts to read unsent rows from the store: those of earlier instances, and those of a commit whose answer was
    /// lost. Returns at once; the store is read in the background, with retries.
    pub fn reload(&self) {
        self.shared.reload();
    }

    /// Stops: sends what may be sent now, retries nothing, and settles sent rows. Calls that are in flight at the
    /// deadline are abandoned; the next instance sends them again.
    pub async fn drain(&self, deadline: Duration) -> Drained {
        let shared = &self.shared;
        let watch = Stopwatch::start();
        shared.lanes.lock().drain();
        shared.ready.notify_one();
        // Ends the wait of broadcasts for room.
        shared.progress.notify_waiters();
        let sends = shared.wait_for(|| shared.lanes.lock().is_idle());
        let in_time = tokio::time::timeout(deadline, sends).await.unwrap_or(false);
        let settle_timeout = deadline.saturating_sub(watch.elapsed()) + SETTLE_TIMEOUT;
        let settling = shared.wait_for(|| shared.settler.is_idle());
        let settled = tokio::time::timeout(settle_timeout, settling).await.unwrap_or(false);
        shared.stop.cancel();
        let lanes = shared.lanes.lock();
        let drained = Drained { left: lanes.loaded.len(), more: lanes.loaded.is_behind() };
        shared.meters.waiting.set(0);
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

    /// How many rows in memory are not settled.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.shared.lanes.lock().loaded.len()
    }

    /// Waits until the courier holds few rows and has read all of the store, so that a broadcast does not displace
    /// others. False if it stops.
    pub(super) async fn has_room(&self, rows: usize) -> bool {
        let shared = &self.shared;
        let has_room = || {
            let lanes = shared.lanes.lock();
            let has_room = !lanes.loaded.is_behind() && lanes.loaded.has_room(rows.max(shared.settings.max_rows / 2));
            has_room || lanes.is_draining()
        };
        shared.wait_for(has_room).await && !shared.stop.is_cancelled() && !shared.lanes.lock().is_draining()
    }

    /// Adds rows of a broadcast.
    pub(super) fn enqueue_broadcast(&self, rows: impl Iterator<Item = OutboxRow>, tally: &Arc<Tally>) {
        self.shared.add_rows(rows.map(|row| QueuedRow::new(row, Some(Arc::clone(tally)))));
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }
}

impl Shared {
    fn start(self: &Arc<Self>) {
        let workers = self.settings.concurrent.max(1);
        for _ in 0..workers {
            self.spawn(worker::run(Arc::clone(self)));
        }
        // Extra workers, so that answers to buttons never wait for messages.
        for _ in 0..workers.div_ceil(4) {
            self.spawn(worker::run_urgent(Arc::clone(self)));
        }
        self.spawn(worker::run_timer(Arc::clone(self)));
        self.spawn(settler::run_sent_log(Arc::clone(self)));
        self.spawn(settler::run(Arc::clone(self)));
        self.spawn(loader::run(Arc::clone(self)));
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        tokio::spawn(async move { stop.run_until_cancelled_owned(task).await });
    }

    /// See [`Courier::reload`].
    pub fn reload(&self) {
        self.lanes.lock().loaded.reload();
        self.loader.notify_one();
    }

    /// Adds calls that are not stored.
    pub fn add_unstored(&self, calls: Vec<(ConversationKey, Outgoing)>) {
        let at = self.clock.now();
        let rows = calls.into_iter().map(|(key, outgoing)| {
            // No store has negative ids: settling this one changes nothing.
            let id = OutboxId(self.next_unstored_id.fetch_sub(1, Ordering::Relaxed));
            OutboxRow { id, key, outgoing, was_sending: false, at }
        });
        self.add_rows(rows.map(|row| QueuedRow::new(row, None)));
    }

    pub fn add_rows(&self, items: impl Iterator<Item = QueuedRow>) {
        let wakeups = self.lanes.lock().add_rows(items);
        // Also here, because nothing is settled while nothing can be sent.
        self.update_waiting_gauge();
        // One is enough: a worker that finds more rows wakes the next.
        if wakeups.ordered {
            self.ready.notify_one();
        }
        if wakeups.urgent {
            self.urgent.notify_one();
        }
        if wakeups.behind {
            self.loader.notify_one();
        }
    }

    /// Waits for a condition, which is checked after each send and settlement. False if the courier stops before.
    async fn wait_for(&self, condition: impl Fn() -> bool) -> bool {
        loop {
            let progress = self.progress.notified();
            tokio::pin!(progress);
            progress.as_mut().enable();
            if condition() {
                return true;
            }
            tokio::select! {
                () = progress => {}
                () = self.stop.cancelled() => return false,
            }
        }
    }

    pub fn update_waiting_gauge(&self) {
        let waiting = self.lanes.lock().loaded.len();
        self.meters.waiting.set(u32::try_from(waiting).map_or(f64::MAX, f64::from));
    }

    /// Stops sending, because another instance has the lease.
    pub fn fenced(&self) {
        if !self.stop.is_cancelled() {
            tracing::error!(bot = self.bot, epoch = self.epoch.0, "another instance has the lease; sending stops");
            self.emit(SendEvent::Fenced);
            self.stop.cancel();
        }
    }

    pub fn token_refused(&self) {
        if !self.token_was_refused.swap(true, Ordering::Relaxed) {
            tracing::error!(bot = self.bot, "Telegram refuses the bot's token; nothing is sent until it is accepted");
            self.emit(SendEvent::TokenRefused);
        }
    }

    /// Logs and emits that a row failed. It is no error that people block a bot.
    pub fn report_failed(&self, row: &OutboxRow, reason: Box<str>, is_chat_unreachable: bool) {
        let OutboxRow { id, key, outgoing: call, .. } = row;
        if is_chat_unreachable {
            tracing::info!(%key, id = id.0, chat = call.chat, %reason, "a chat can no longer be reached");
        } else {
            tracing::error!(%key, id = id.0, chat = call.chat, method = &*call.method, %reason, "a message cannot be sent");
        }
        let method = call.method.clone();
        self.emit(SendEvent::Failed { id: *id, key: key.clone(), chat: call.chat, method, reason });
    }

    pub fn emit(&self, event: SendEvent) {
        // The receiver may be gone.
        let _ = self.events.send(event);
    }
}

/// The posted rows with the ids from the store. A post that the store had already has no ids.
pub(crate) fn posted_rows(
    ids: Vec<OutboxId>,
    posted: impl IntoIterator<Item = (ConversationKey, Outgoing)>,
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
