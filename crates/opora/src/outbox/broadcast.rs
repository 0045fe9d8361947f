//! The same message for many chats.
//!
//! Recipients go into the outbox page by page, each page once: under a broadcast's id a page is never posted again, so
//! after a restart the same broadcast goes on where it stopped. From the outbox on, its rows are like others, except
//! that dialogues go first, and that it takes only a part of what Telegram allows. Inside an effect it may be longer
//! than the effect's deadline, and a try that posted a page does not count as failed: see [`crate::progress`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::courier::{Courier, posted_rows};
use super::limits::SendLimits;
use crate::key::DialogueKey;
use crate::progress;
use crate::store::{StoreError, Version};
use crate::telegram::{Destination, IntoOutgoing, Say, SayError, Tag};

/// Recipients to a page. With one page a second, a third of Telegram's 30 messages stays for dialogues.
const PAGE: usize = 20;
const EACH: Duration = Duration::from_secs(1);

/// A message for many chats; [`Handle::broadcast`](crate::bot::Handle::broadcast) posts it.
#[derive(Debug)]
pub struct Broadcast<I> {
    id: String,
    say: Say,
    recipients: I,
    tally: Arc<Tally>,
}

/// How far a broadcast has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// All recipients, once they have all been gone through.
    pub total: Option<u64>,
    /// Recipients whose message is in the outbox, or has left it.
    pub posted: u64,
    /// Of these, sent since this process started.
    pub sent: u64,
    /// Of these, failed since this process started.
    pub failed: u64,
    /// Of these, posted before this process started, or read back from the store since: what became of them, only the
    /// outbox tells.
    pub untold: u64,
}

/// Why a broadcast stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BroadcastError {
    /// The message cannot be said.
    #[error(transparent)]
    Say(#[from] SayError),
    /// The store refused; what was posted stays posted.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The bot does not lead any more; what was posted stays posted.
    #[error("the bot has stopped")]
    Stopped,
}

/// What became of a broadcast's rows.
#[derive(Debug, Default)]
pub(super) struct Tally {
    total: AtomicU64,
    is_complete: std::sync::atomic::AtomicBool,
    posted: AtomicU64,
    sent: AtomicU64,
    failed: AtomicU64,
    untold: AtomicU64,
}

/// Watches a broadcast while it runs.
#[derive(Clone, Debug)]
pub struct Watch(Arc<Tally>);

impl<I: Iterator<Item = i64>> Broadcast<I> {
    /// A message to chats. `id` names the broadcast: the same id with the same chats in the same order goes on where it
    /// stopped, within the time for which the store keeps marks. Buttons carry no tag, since no turn says them.
    pub fn new(id: impl Into<String>, say: Say, recipients: impl IntoIterator<IntoIter = I, Item = i64>) -> Self {
        Self { id: id.into(), say: say.untagged(), recipients: recipients.into_iter(), tally: Arc::default() }
    }

    /// Tells how far it has come, also from another task.
    pub fn watch(&self) -> Watch {
        Watch(Arc::clone(&self.tally))
    }

    /// Posts all recipients, with room for dialogues between the pages. Ends when the last is in the outbox; the
    /// [`Watch`] tells when it is sent.
    ///
    /// # Errors
    /// If the message cannot be said, the store refuses, or the bot stops. A store that does not answer is waited for
    /// by the caller: a new broadcast under the same id goes on.
    pub(crate) async fn run(mut self, courier: &Courier) -> Result<Progress, BroadcastError> {
        let paced = courier.shared().settings.limits == SendLimits::Telegram;
        for page in 0_u64.. {
            let chats: Vec<i64> = self.recipients.by_ref().take(PAGE).collect();
            let Some(count) = u64::try_from(chats.len()).ok().filter(|count| *count > 0) else { break };
            if !progress::alive_while(courier.has_room(PAGE)).await {
                return Err(BroadcastError::Stopped);
            }
            let is_new = self.post(courier, page, &chats).await?;
            self.tally.total.fetch_add(count, Ordering::Relaxed);
            self.tally.posted.fetch_add(count, Ordering::Relaxed);
            if is_new {
                progress::advanced();
            } else {
                progress::alive();
                self.tally.untold.fetch_add(count, Ordering::Relaxed);
            }
            if is_new && paced {
                tokio::time::sleep(EACH).await;
            }
        }
        self.tally.is_complete.store(true, Ordering::Relaxed);
        Ok(self.watch().progress())
    }

    /// Puts a page into the outbox; false if it was there before.
    async fn post(&self, courier: &Courier, page: u64, chats: &[i64]) -> Result<bool, BroadcastError> {
        let shared = courier.shared();
        let row = |chat: &i64| {
            let key = DialogueKey { user: (*chat).max(0), ..DialogueKey::private(shared.bot, *chat) };
            let outgoing = self.say.clone().into_outgoing(&Destination::chat(*chat), &Tag::new(Version(0)))?;
            Ok((key, outgoing))
        };
        let rows: Vec<_> = chats.iter().map(row).collect::<Result<_, SayError>>()?;
        let once = format!("broadcast:{}:{page}", self.id);
        // If only the answer was lost, the rows are there, and the same page is not posted again.
        let at = shared.clock.now();
        let posted = shared.store.post(shared.epoch, &once, rows.clone(), at).await;
        let ids = posted.inspect_err(|_| courier.reload())?;
        let is_new = !ids.is_empty();
        courier.enqueue_low(posted_rows(ids, rows, at), &self.tally);
        Ok(is_new)
    }
}

impl Watch {
    /// How far it has come.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Tally { total, is_complete, posted, sent, failed, untold } = &*self.0;
        Progress {
            total: is_complete.load(Ordering::Relaxed).then(|| read(total)),
            posted: read(posted),
            sent: read(sent),
            failed: read(failed),
            untold: read(untold),
        }
    }
}

impl Tally {
    pub fn sent(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    pub fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// A row went back to the store, and comes from there without this tally.
    pub fn lost_sight(&self) {
        self.untold.fetch_add(1, Ordering::Relaxed);
    }
}
