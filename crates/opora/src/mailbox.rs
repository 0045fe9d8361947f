//! One queue for each conversation.
//!
//! Turns of one conversation run in order, one at a time. A slow conversation does not delay others. The order is that
//! of the inbox; of the updates in a queue, the lowest `update_id` goes first. Queues are bounded: inputs that do not
//! fit stay in the inbox and are read from there later. Items of an album are gathered into one input.
//!
//! Nothing here is durable. Every input is in the store until its turn has committed, or is a direct update that
//! Telegram still has.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

pub(crate) use self::direct::{DirectUpdate, DurabilityLatch};
use self::drain::drain;
use self::shared_inbox::Reload;
use crate::key::ConversationKey;
use crate::store::{InboxRow, Incoming, InputRef, Origin, ParkedTurn, Seq, Store, TimerRow};
use crate::update;

mod direct;
mod drain;
mod shared_inbox;

/// An input that waits for its turn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum QueuedInput {
    /// An update or an outcome from the inbox.
    Inbox(InboxRow),
    /// An update that is not stored in the inbox first.
    Direct(DirectUpdate),
    /// A timer that is due.
    Timer(TimerRow),
    /// The conversation expires.
    Expired,
    /// A parked turn that the operator retries.
    Retry(ParkedTurn),
}

impl QueuedInput {
    /// What the commit of this input marks as processed.
    pub(crate) fn input_ref(&self) -> Option<InputRef> {
        match self {
            Self::Inbox(row) => Some(match &row.incoming.origin {
                Origin::Update(mark) => InputRef::Update { seq: row.seq, mark: mark.clone() },
                Origin::Outcome(_) => InputRef::Outcome(row.seq),
            }),
            Self::Direct(update) => update.incoming.mark().cloned().map(InputRef::DirectUpdate),
            Self::Timer(timer) => Some(InputRef::Timer(timer.id)),
            Self::Retry(parked) => Some(InputRef::Parked(parked.id)),
            Self::Expired => None,
        }
    }

    /// The update or the outcome; none for other inputs.
    pub(crate) fn incoming(&self) -> Option<&Incoming> {
        match self {
            Self::Inbox(row) => Some(&row.incoming),
            Self::Direct(update) => Some(&update.incoming),
            Self::Timer(_) | Self::Expired | Self::Retry(_) => None,
        }
    }

    /// Notes that the input is durable, so that a direct update may be acknowledged.
    pub(crate) fn mark_durable(&self) {
        if let Self::Direct(update) = self {
            update.mark_durable();
        }
    }

    /// Notes that a handler starts or ends. The intake waits for handlers of direct updates less long than for commits.
    pub(crate) fn set_handler_running(&self, is_running: bool) {
        if let Self::Direct(update) = self {
            update.set_handler_running(is_running);
        }
    }

    fn update_id(&self) -> Option<i64> {
        Some(self.incoming()?.mark()?.update_id)
    }

    fn seq(&self) -> Option<Seq> {
        match self {
            Self::Inbox(row) => Some(row.seq),
            _ => None,
        }
    }

    fn album(&self) -> Option<String> {
        self.update_id()?;
        update::media_group(&self.incoming()?.body)
    }
}

/// Runs the turns of inputs.
pub(crate) trait InputProcessor: Send + Sync + 'static {
    /// Runs the turn of one input. Several inputs are the items of one album.
    fn process<'a>(&'a self, key: &'a ConversationKey, inputs: Vec<QueuedInput>) -> BoxFuture<'a, ()>;
}

/// Settings of the mailboxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailboxSettings {
    /// How many inputs of one conversation are in memory. More stay in the inbox.
    pub max_per_conversation: usize,
    /// How many inputs of all conversations may wait before the intake pauses.
    pub max_waiting: usize,
    /// How long no item of an album may arrive before its turn starts.
    pub album_quiet: Duration,
    /// Whether the turn of an idle conversation starts before its update is stored. Telegram keeps the update until the
    /// turn commits, or until a slow turn's update is stored. Otherwise every update is stored in the inbox first.
    pub direct_updates: bool,
}

impl Default for MailboxSettings {
    fn default() -> Self {
        Self {
            max_per_conversation: 64,
            max_waiting: 20_000,
            album_quiet: Duration::from_millis(500),
            direct_updates: true,
        }
    }
}

/// All mailboxes of a bot. Clones share them.
#[derive(Clone)]
pub(crate) struct Mailboxes(Arc<Shared>);

struct Shared {
    processor: Arc<dyn InputProcessor>,
    store: Arc<dyn Store>,
    settings: MailboxSettings,
    /// Other instances store updates in the inbox too.
    shares_inbox: bool,
    boxes: Mutex<HashMap<ConversationKey, Mailbox>>,
    /// Inputs that wait in memory or in the inbox, for the intake's limit.
    waiting: AtomicUsize,
    has_room: Notify,
    closed: AtomicBool,
    turns: TaskTracker,
}

/// The queue of a conversation with inputs. An idle conversation has none.
#[derive(Default)]
struct Mailbox {
    queue: Vec<QueuedInput>,
    /// Rows after the first and up to the second number were read from the inbox, not delivered.
    loaded: (Seq, Seq),
    /// How many inputs stayed in the inbox because the queue was full.
    overflow: usize,
    /// The first row of the overflow. Rows are not delivered in order, because updates and outcomes take different
    /// paths.
    first_overflow: Option<Seq>,
    /// The running direct update. No input behind it may become durable before it.
    direct: Option<DirectUpdate>,
    /// Notified of every new input while an album is gathered.
    gathering: Option<Arc<Notify>>,
    /// With a shared inbox: the rows in memory, also those whose turn is running.
    held: Vec<Seq>,
    /// With a shared inbox: whether the inbox has to be read.
    reload: Reload,
}

impl Mailboxes {
    /// Mailboxes with an inbox that is not shared.
    #[cfg(test)]
    pub(crate) fn new(processor: Arc<dyn InputProcessor>, store: Arc<dyn Store>, settings: MailboxSettings) -> Self {
        Self::with(processor, store, settings, false)
    }

    /// With `shares_inbox`, other instances store updates in the inbox too.
    pub(crate) fn with(
        processor: Arc<dyn InputProcessor>,
        store: Arc<dyn Store>,
        settings: MailboxSettings,
        shares_inbox: bool,
    ) -> Self {
        Self(Arc::new(Shared {
            processor,
            store,
            settings,
            shares_inbox,
            boxes: Mutex::default(),
            waiting: AtomicUsize::new(0),
            has_room: Notify::new(),
            closed: AtomicBool::new(false),
            turns: TaskTracker::new(),
        }))
    }

    /// Adds an input to the queue of its conversation. Starts its turn if the conversation is idle.
    pub(crate) fn deliver(&self, key: ConversationKey, input: QueuedInput) {
        let shared = &self.0;
        if shared.closed.load(Ordering::Acquire) {
            return;
        }
        let mut boxes = shared.boxes.lock();
        if let Some(mailbox) = boxes.get_mut(&key) {
            if shared.put(mailbox, input) {
                shared.waiting.fetch_add(1, Ordering::Relaxed);
            }
            return;
        }
        shared.waiting.fetch_add(1, Ordering::Relaxed);
        let mut mailbox = Mailbox::default();
        shared.put(&mut mailbox, input);
        boxes.insert(key.clone(), mailbox);
        drop(boxes);
        shared.turns.spawn(drain(Arc::clone(shared), key));
    }

    /// Starts the turn of a direct update if its conversation is idle. Otherwise the update has to be stored, and if
    /// the error holds a running direct update, that one has to be stored before it.
    pub(crate) fn deliver_direct(
        &self,
        key: &ConversationKey,
        update: impl FnOnce() -> DirectUpdate,
    ) -> Result<DirectUpdate, Option<DirectUpdate>> {
        let shared = &self.0;
        if shared.closed.load(Ordering::Acquire) {
            return Err(None);
        }
        let mut boxes = shared.boxes.lock();
        if let Some(mailbox) = boxes.get(key) {
            return Err(mailbox.direct.clone().filter(|running| !running.is_durable()));
        }
        let update = update();
        let queue = vec![QueuedInput::Direct(update.clone())];
        let mailbox = Mailbox { queue, direct: Some(update.clone()), ..Mailbox::default() };
        shared.waiting.fetch_add(1, Ordering::Relaxed);
        boxes.insert(key.clone(), mailbox);
        drop(boxes);
        shared.turns.spawn(drain(Arc::clone(shared), key.clone()));
        Ok(update)
    }

    /// Whether so many inputs wait that the intake should pause.
    pub(crate) fn is_full(&self) -> bool {
        self.0.waiting.load(Ordering::Relaxed) >= self.0.settings.max_waiting
    }

    /// Waits until fewer inputs wait than the limit.
    pub(crate) async fn wait_for_room(&self) {
        while self.is_full() {
            let notified = self.0.has_room.notified();
            if self.is_full() {
                notified.await;
            }
        }
    }

    /// Finishes the running turns and starts no others. Waiting inputs stay in the store.
    pub(crate) async fn close(&self) {
        self.0.closed.store(true, Ordering::Release);
        self.0.boxes.lock().values().for_each(Mailbox::notify_gathering);
        self.0.turns.close();
        self.0.turns.wait().await;
    }

    /// How many inputs wait, in memory and in the inbox.
    pub(crate) fn waiting(&self) -> usize {
        self.0.waiting.load(Ordering::Relaxed)
    }
}

impl Mailbox {
    /// Adds an input to the queue, or to the overflow. False if it was read already.
    fn put(&mut self, input: QueuedInput, limit: usize) -> bool {
        // Only rows of the inbox can overflow, because only they can be read again.
        if let Some(seq) = input.seq() {
            if self.loaded.0 < seq && seq <= self.loaded.1 {
                return false;
            }
            if self.overflow > 0 || self.queue.len() >= limit {
                self.overflow += 1;
                self.first_overflow = Some(self.first_overflow.map_or(seq, |first| first.min(seq)));
                return true;
            }
        }
        self.queue.push(input);
        self.notify_gathering();
        true
    }

    fn notify_gathering(&self) {
        if let Some(gathering) = &self.gathering {
            gathering.notify_one();
        }
    }

    /// Takes the next input: the first one, or if that is an update, the update with the lowest id.
    fn take(&mut self) -> Option<QueuedInput> {
        let first = self.queue.first()?;
        let index = match first.update_id() {
            None => 0,
            Some(_) => {
                let updates = self.queue.iter().enumerate().filter_map(|(at, input)| Some((input.update_id()?, at)));
                updates.min().map_or(0, |(_, at)| at)
            }
        };
        Some(self.queue.remove(index))
    }
}

impl Shared {
    fn put(&self, mailbox: &mut Mailbox, input: QueuedInput) -> bool {
        match input {
            QueuedInput::Inbox(row) if self.shares_inbox => {
                mailbox.put_in_order(row, self.settings.max_per_conversation)
            }
            input => mailbox.put(input, self.settings.max_per_conversation),
        }
    }

    /// Subtracts inputs from the number that wait.
    fn subtract_waiting(&self, inputs: usize) {
        let before = self.waiting.fetch_sub(inputs, Ordering::Relaxed);
        if before >= self.settings.max_waiting {
            self.has_room.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests;
