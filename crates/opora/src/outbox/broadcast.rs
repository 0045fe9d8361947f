//! One message for many chats.
//!
//! Recipients are posted to the outbox page by page. The broadcast's id makes sure that a page is posted only once, so
//! a broadcast continues after a restart. Its rows are sent like others, but dialogues go first, and it uses only a
//! part of Telegram's limits. In an effect it may take longer than the effect's deadline, and an attempt that posted a
//! page does not count as failed: see [`crate::progress`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::courier::{Courier, posted_rows};
use super::limits::SendLimits;
use crate::key::ConversationKey;
use crate::progress;
use crate::store::{StoreError, Version};
use crate::telegram::{Destination, IntoOutgoing, Say, SayError, Tag};

/// Recipients per page. With one page a second, dialogues can use a third of Telegram's 30 messages.
const PAGE_SIZE: usize = 20;
const PAGE_INTERVAL: Duration = Duration::from_secs(1);

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
    /// The number of recipients. None until all are posted.
    pub total: Option<u64>,
    /// Recipients whose message was posted to the outbox.
    pub posted: u64,
    /// Of these, sent since this process started.
    pub sent: u64,
    /// Of these, failed since this process started.
    pub failed: u64,
    /// Of the failed ones, chats that cannot be reached any more: the person has blocked the bot or deleted the
    /// account.
    pub unreachable: u64,
    /// Of these, posted before this process started, or read back from the store since. Only the outbox knows their
    /// results.
    pub unknown: u64,
}

/// Why a broadcast stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BroadcastError {
    /// The message is invalid.
    #[error(transparent)]
    Say(#[from] SayError),
    /// The store failed. Posted rows stay posted.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The instance does not lead any more. Posted rows stay posted.
    #[error("the bot has stopped")]
    Stopped,
}

/// The counts of a broadcast.
#[derive(Debug, Default)]
pub(super) struct Tally {
    total: AtomicU64,
    is_complete: std::sync::atomic::AtomicBool,
    posted: AtomicU64,
    sent: AtomicU64,
    failed: AtomicU64,
    unreachable: AtomicU64,
    unknown: AtomicU64,
}

/// Watches a broadcast while it runs.
#[derive(Clone, Debug)]
pub struct Watch(Arc<Tally>);

impl<I: Iterator<Item = i64>> Broadcast<I> {
    /// A message to these chats. A broadcast with the same id and the same chats in the same order continues where it
    /// stopped, as long as the store keeps its marks. Buttons have no tags, because no turn sends them.
    pub fn new(id: impl Into<String>, say: Say, recipients: impl IntoIterator<IntoIter = I, Item = i64>) -> Self {
        Self {
            id: id.into(),
            say: say.untagged().low_priority(),
            recipients: recipients.into_iter(),
            tally: Arc::default(),
        }
    }

    /// A handle for its progress, also for other tasks.
    pub fn watch(&self) -> Watch {
        Watch(Arc::clone(&self.tally))
    }

    /// Posts all recipients, with pauses for dialogues. Ends when the last is in the outbox; the [`Watch`] shows when
    /// it is sent.
    ///
    /// # Errors
    /// If the message is invalid, the store fails, or the bot stops. The caller retries with the same id.
    pub(crate) async fn run(mut self, courier: &Courier) -> Result<Progress, BroadcastError> {
        let is_limited = courier.shared().settings.limits == SendLimits::Telegram;
        for page in 0_u64.. {
            let chats: Vec<i64> = self.recipients.by_ref().take(PAGE_SIZE).collect();
            let Some(count) = u64::try_from(chats.len()).ok().filter(|count| *count > 0) else { break };
            if !progress::alive_while(courier.has_room(PAGE_SIZE)).await {
                return Err(BroadcastError::Stopped);
            }
            let is_new = self.post(courier, page, &chats).await?;
            self.tally.total.fetch_add(count, Ordering::Relaxed);
            self.tally.posted.fetch_add(count, Ordering::Relaxed);
            if is_new {
                progress::report_advance();
            } else {
                progress::report_alive();
                self.tally.unknown.fetch_add(count, Ordering::Relaxed);
            }
            if is_new && is_limited {
                tokio::time::sleep(PAGE_INTERVAL).await;
            }
        }
        self.tally.is_complete.store(true, Ordering::Relaxed);
        Ok(self.watch().progress())
    }

    /// Posts a page to the outbox. False if it was posted before.
    async fn post(&self, courier: &Courier, page: u64, chats: &[i64]) -> Result<bool, BroadcastError> {
        let shared = courier.shared();
        let row = |chat: &i64| {
            let key = ConversationKey { user: (*chat).max(0), ..ConversationKey::private(shared.bot, *chat) };
            let outgoing = self.say.clone().into_outgoing(&Destination::chat(*chat), &Tag::new(Version(0)))?;
            Ok((key, outgoing))
        };
        let rows: Vec<_> = chats.iter().map(row).collect::<Result<_, SayError>>()?;
        let once = format!("broadcast:{}:{page}", self.id);
        // If only the answer was lost, the rows are stored; the courier reads them back.
        let at = shared.clock.now();
        let posted = shared.store.post(shared.epoch, &once, rows.clone(), at).await;
        let ids = posted.inspect_err(|_| courier.reload())?;
        let is_new = !ids.is_empty();
        courier.enqueue_broadcast(posted_rows(ids, rows, at), &self.tally);
        Ok(is_new)
    }
}

impl Watch {
    /// The current progress.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let read = |count: &AtomicU64| count.load(Ordering::Acquire);
        let Tally { total, is_complete, posted, sent, failed, unreachable, unknown } = &*self.0;
        Progress {
            total: is_complete.load(Ordering::Relaxed).then(|| read(total)),
            posted: read(posted),
            sent: read(sent),
            failed: read(failed),
            unreachable: read(unreachable),
            unknown: read(unknown),
        }
    }
}

impl Tally {
    pub fn sent(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    pub fn failed(&self, is_chat_unreachable: bool) {
        // Before the failure: a reader that sees the failure sees its reason.
        self.unreachable.fetch_add(is_chat_unreachable.into(), Ordering::Release);
        self.failed.fetch_add(1, Ordering::Release);
    }

    /// Counts a row that did not fit into memory. It will be read from the store without this tally.
    pub fn lost_row(&self) {
        self.unknown.fetch_add(1, Ordering::Relaxed);
    }
}
