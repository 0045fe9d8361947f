//! One queue for each conversation.
//!
//! Turns of one conversation run in order, one at a time; a slow one delays nobody else. The order is that of the
//! inbox; of updates that wait together the lower `update_id` goes first. Queues are bounded: what does not fit stays
//! in the store's inbox and is read from there when its turn comes. Items of an album are gathered into one input.
//!
//! Nothing here is durable, and nothing needs to be: every letter lies in the store until its turn has committed, or is
//! fresh and still with Telegram.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use self::drain::drain;
pub(crate) use self::fresh::{Arrivals, Fresh};
use self::shared::Look;
use crate::key::DialogueKey;
use crate::store::{InboxRow, Incoming, Origin, Parked, Seq, Store, Taken, TimerRow};
use crate::update;

mod drain;
mod fresh;
mod shared;

/// An input of a conversation, on its way to a turn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Letter {
    /// An update or an outcome from the inbox.
    Inbox(InboxRow),
    /// An update that did not wait for the inbox.
    Fresh(Fresh),
    /// A timer that is due.
    Timer(TimerRow),
    /// The conversation's life is over.
    Expired,
    /// A parked turn that the operator wants to run again.
    Retry(Parked),
}

impl Letter {
    /// What a commit says it has used up.
    pub(crate) fn taken(&self) -> Option<Taken> {
        match self {
            Self::Inbox(row) => Some(match &row.incoming.origin {
                Origin::Update(mark) => Taken::Update { seq: row.seq, mark: mark.clone() },
                Origin::Outcome(_) => Taken::Outcome(row.seq),
            }),
            Self::Fresh(fresh) => fresh.mark().cloned().map(Taken::Fresh),
            Self::Timer(timer) => Some(Taken::Timer(timer.id)),
            Self::Retry(parked) => Some(Taken::Parked(parked.id)),
            Self::Expired => None,
        }
    }

    /// The update or the outcome that it is.
    pub(crate) fn incoming(&self) -> Option<&Incoming> {
        match self {
            Self::Inbox(row) => Some(&row.incoming),
            Self::Fresh(fresh) => Some(&fresh.incoming),
            Self::Timer(_) | Self::Expired | Self::Retry(_) => None,
        }
    }

    /// What it says is kept for good: a fresh one may be acknowledged.
    pub(crate) fn durable(&self) {
        if let Self::Fresh(fresh) = self {
            fresh.durable();
        }
    }

    /// A handler begins with it, or is done: whoever waits for a fresh one waits less for a handler than for a commit.
    pub(crate) fn in_hand(&self, is_in_hand: bool) {
        if let Self::Fresh(fresh) = self {
            fresh.in_hand(is_in_hand);
        }
    }

    fn update_id(&self) -> Option<i64> {
        match &self.incoming()?.origin {
            Origin::Update(mark) => Some(mark.update_id),
            Origin::Outcome(_) => None,
        }
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

/// Takes letters through their turns.
pub(crate) trait Reader: Send + Sync + 'static {
    /// Takes one input through its turn; several letters are the items of one album.
    fn process<'a>(&'a self, key: &'a DialogueKey, letters: Vec<Letter>) -> BoxFuture<'a, ()>;
}

/// Bounds and waits of the mailboxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailboxSettings {
    /// How many inputs of one conversation are held in memory; more stay in the store.
    pub per_dialogue: usize,
    /// How many inputs may wait in all before the intake pauses.
    pub in_all: usize,
    /// How long an album must have been quiet before its turn.
    pub album_quiet: Duration,
    /// Whether the turn of an idle conversation begins while its update is still with Telegram, which is told once the
    /// turn has committed. Otherwise every update is in the inbox first.
    pub at_once: bool,
}

impl Default for MailboxSettings {
    fn default() -> Self {
        Self { per_dialogue: 64, in_all: 20_000, album_quiet: Duration::from_millis(500), at_once: true }
    }
}

/// All mailboxes of a bot. Clones share them.
#[derive(Clone)]
pub(crate) struct Mailboxes(Arc<Shared>);

struct Shared {
    reader: Arc<dyn Reader>,
    store: Arc<dyn Store>,
    settings: MailboxSettings,
    /// Others put updates into the inbox too.
    shares_inbox: bool,
    boxes: Mutex<HashMap<DialogueKey, Mailbox>>,
    /// Letters that wait in memory or have stayed in the store, for the intake's limit.
    waiting: AtomicUsize,
    room: Notify,
    closed: AtomicBool,
    turns: TaskTracker,
}

/// A conversation with something to do; one that is idle has none.
#[derive(Default)]
struct Mailbox {
    queue: Vec<Letter>,
    /// The places after the first and up to the second were read from the store, not delivered.
    loaded: (Seq, Seq),
    /// How many letters have stayed in the store since the queue was full.
    stayed: usize,
    /// The first place of those. Places do not come in order: an outcome and an update come on different ways.
    first_stayed: Option<Seq>,
    /// The fresh letter under way: nothing that stands behind it may become durable before it.
    fresh: Option<Fresh>,
    /// Told of every new letter while an album is gathered.
    gathering: Option<Arc<Notify>>,
    /// Of an inbox that is shared: the rows that are in memory, also those whose turn is under way.
    held: Vec<Seq>,
    /// Of an inbox that is shared: whether the store has to be asked.
    look: Look,
}

impl Mailboxes {
    /// Mailboxes of an inbox that nobody else fills.
    #[cfg(test)]
    pub(crate) fn new(reader: Arc<dyn Reader>, store: Arc<dyn Store>, settings: MailboxSettings) -> Self {
        Self::with(reader, store, settings, false)
    }

    /// `shares_inbox` says that others put updates into the inbox too.
    pub(crate) fn with(
        reader: Arc<dyn Reader>,
        store: Arc<dyn Store>,
        settings: MailboxSettings,
        shares_inbox: bool,
    ) -> Self {
        Self(Arc::new(Shared {
            reader,
            store,
            settings,
            shares_inbox,
            boxes: Mutex::default(),
            waiting: AtomicUsize::new(0),
            room: Notify::new(),
            closed: AtomicBool::new(false),
            turns: TaskTracker::new(),
        }))
    }

    /// Puts a letter into its conversation's queue, and starts on it if nothing else is under way there.
    pub(crate) fn deliver(&self, key: DialogueKey, letter: Letter) {
        let shared = &self.0;
        if shared.closed.load(Ordering::Acquire) {
            return;
        }
        let mut boxes = shared.boxes.lock();
        if let Some(mailbox) = boxes.get_mut(&key) {
            if shared.put(mailbox, letter) {
                shared.waiting.fetch_add(1, Ordering::Relaxed);
            }
            return;
        }
        shared.waiting.fetch_add(1, Ordering::Relaxed);
        let mut mailbox = Mailbox::default();
        shared.put(&mut mailbox, letter);
        boxes.insert(key.clone(), mailbox);
        drop(boxes);
        shared.turns.spawn(drain(Arc::clone(shared), key));
    }

    /// Starts on a fresh letter if its conversation is idle. If it is not, whatever becomes of the update has to be
    /// stored after the fresh letter that is answered, if one is.
    pub(crate) fn deliver_fresh(
        &self,
        key: &DialogueKey,
        fresh: impl FnOnce() -> Fresh,
    ) -> Result<Fresh, Option<Fresh>> {
        let shared = &self.0;
        if shared.closed.load(Ordering::Acquire) {
            return Err(None);
        }
        let mut boxes = shared.boxes.lock();
        if let Some(mailbox) = boxes.get(key) {
            return Err(mailbox.fresh.clone().filter(|before| !before.is_durable()));
        }
        let fresh = fresh();
        let mailbox =
            Mailbox { queue: vec![Letter::Fresh(fresh.clone())], fresh: Some(fresh.clone()), ..Mailbox::default() };
        shared.waiting.fetch_add(1, Ordering::Relaxed);
        boxes.insert(key.clone(), mailbox);
        drop(boxes);
        shared.turns.spawn(drain(Arc::clone(shared), key.clone()));
        Ok(fresh)
    }

    /// Whether so much waits that the intake should pause.
    pub(crate) fn is_full(&self) -> bool {
        self.0.waiting.load(Ordering::Relaxed) >= self.0.settings.in_all
    }

    /// Waits until there is room again.
    pub(crate) async fn room(&self) {
        while self.is_full() {
            let room = self.0.room.notified();
            if self.is_full() {
                room.await;
            }
        }
    }

    /// Lets the turns under way finish and starts no others; what waits stays in the store.
    pub(crate) async fn close(&self) {
        self.0.closed.store(true, Ordering::Release);
        for mailbox in self.0.boxes.lock().values() {
            if let Some(gathering) = &mailbox.gathering {
                gathering.notify_one();
            }
        }
        self.0.turns.close();
        self.0.turns.wait().await;
    }

    /// How many letters wait, also those that have stayed in the store.
    pub(crate) fn waiting(&self) -> usize {
        self.0.waiting.load(Ordering::Relaxed)
    }
}

impl Mailbox {
    /// Puts a letter into the queue, or notes that it stays in the store; false if it is known already.
    fn put(&mut self, letter: Letter, limit: usize) -> bool {
        // A letter from the inbox that does not fit can be read from there again; the others come back by themselves.
        if let Some(seq) = letter.seq() {
            if self.loaded.0 < seq && seq <= self.loaded.1 {
                return false;
            }
            if self.stayed > 0 || self.queue.len() >= limit {
                self.stayed += 1;
                self.first_stayed = Some(self.first_stayed.map_or(seq, |first| first.min(seq)));
                return true;
            }
        }
        self.queue.push(letter);
        if let Some(gathering) = &self.gathering {
            gathering.notify_one();
        }
        true
    }

    /// The next letter: the first, or of the updates that wait with it the one with the lowest id.
    fn take(&mut self) -> Option<Letter> {
        let first = self.queue.first()?;
        let index = match first.update_id() {
            None => 0,
            Some(_) => {
                let updates = self.queue.iter().enumerate().filter_map(|(at, letter)| Some((letter.update_id()?, at)));
                updates.min().map_or(0, |(_, at)| at)
            }
        };
        Some(self.queue.remove(index))
    }
}

impl Shared {
    fn put(&self, mailbox: &mut Mailbox, letter: Letter) -> bool {
        match letter {
            Letter::Inbox(row) if self.shares_inbox => mailbox.put_in_place(row, self.settings.per_dialogue),
            letter => mailbox.put(letter, self.settings.per_dialogue),
        }
    }

    /// So many letters wait no longer.
    fn done(&self, letters: usize) {
        let before = self.waiting.fetch_sub(letters, Ordering::Relaxed);
        if before >= self.settings.in_all {
            self.room.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests;
