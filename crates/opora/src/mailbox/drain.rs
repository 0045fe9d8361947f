//! The task of a conversation: it runs turns one after another, until no input waits.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::Notify;

use super::{QueuedInput, Shared};
use crate::key::ConversationKey;
use crate::store::Seq;

/// Telegram's largest album. A full album need not wait for more items.
const MAX_ALBUM_ITEMS: usize = 10;

/// What the task of a conversation does next.
enum NextAction {
    Process(QueuedInput),
    Reload,
    LoadOverflow { after: Seq, overflow: usize },
    Done,
}

/// Runs the turns of a conversation until no input waits.
pub(super) async fn drain(shared: Arc<Shared>, key: ConversationKey) {
    loop {
        match shared.next_action(&key) {
            NextAction::Done => return,
            NextAction::LoadOverflow { after, overflow } => shared.load_overflow(&key, after, overflow).await,
            NextAction::Reload => shared.reload(&key).await,
            NextAction::Process(input) => {
                let inputs = match input.album() {
                    Some(album) => shared.gather(&key, input, &album).await,
                    None => vec![input],
                };
                let count = inputs.len();
                let seqs: Vec<_> =
                    if shared.shares_inbox { inputs.iter().filter_map(QueuedInput::seq).collect() } else { Vec::new() };
                if !shared.closed.load(Ordering::Acquire) {
                    shared.process(&key, inputs).await;
                }
                if !seqs.is_empty() {
                    shared.release_rows(&key, &seqs);
                }
                shared.subtract_waiting(count);
            }
        }
    }
}

impl Shared {
    /// Runs the turn of one input. A panic does not end the task, so that later inputs are processed.
    async fn process(&self, key: &ConversationKey, inputs: Vec<QueuedInput>) {
        let turn = async { self.processor.process(key, inputs).await };
        if AssertUnwindSafe(turn).catch_unwind().await.is_err() {
            tracing::error!(%key, "unexpected panic in a turn; its input waits for the next start");
        }
    }

    fn next_action(&self, key: &ConversationKey) -> NextAction {
        let mut boxes = self.boxes.lock();
        let Some(mailbox) = boxes.get_mut(key) else { return NextAction::Done };
        if self.closed.load(Ordering::Acquire) {
            boxes.remove(key);
            return NextAction::Done;
        }
        if mailbox.take_reload() {
            return NextAction::Reload;
        }
        if let Some(input) = mailbox.take() {
            return NextAction::Process(input);
        }
        if mailbox.overflow > 0 {
            let first = mailbox.first_overflow.unwrap_or_default();
            return NextAction::LoadOverflow { after: Seq(first.0.saturating_sub(1)), overflow: mailbox.overflow };
        }
        boxes.remove(key);
        NextAction::Done
    }

    /// Reads the inputs that did not fit into the queue from the inbox.
    async fn load_overflow(&self, key: &ConversationKey, after: Seq, overflow: usize) {
        let limit = self.settings.max_per_conversation;
        let rows = match self.store.waiting_for(key, after, limit).await {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!(%key, %error, "cannot read the inbox; trying again");
                tokio::time::sleep(Duration::from_secs(1)).await;
                return;
            }
        };
        let mut boxes = self.boxes.lock();
        let Some(mailbox) = boxes.get_mut(key) else { return };
        // An input that was added during the read may be missing in the rows. Then the inbox is read once more.
        let is_all = rows.len() < limit && mailbox.overflow == overflow;
        let overflow = if is_all { 0 } else { mailbox.overflow.saturating_sub(rows.len()).max(1) };
        let counted = std::mem::replace(&mut mailbox.overflow, overflow);
        let count = rows.len() + overflow;
        let earlier = mailbox.first_overflow.filter(|first| *first <= after);
        let read_to = rows.last().map(|last| last.seq);
        if let Some(last) = read_to {
            mailbox.loaded = (after, last);
        }
        mailbox.first_overflow = match read_to {
            _ if is_all => None,
            Some(last) => earlier.or(Some(Seq(last.0 + 1))),
            None => mailbox.first_overflow,
        };
        mailbox.queue.extend(rows.into_iter().map(QueuedInput::Inbox));
        if count > counted {
            self.waiting.fetch_add(count - counted, Ordering::Relaxed);
        } else {
            self.subtract_waiting(counted - count);
        }
    }

    /// Waits until no item of an album has arrived for a while, and takes its items out of the queue.
    async fn gather(&self, key: &ConversationKey, first: QueuedInput, album: &str) -> Vec<QueuedInput> {
        let arrived = Arc::new(Notify::new());
        let mut inputs = vec![first];
        loop {
            self.reload_for_album(key).await;
            {
                let mut boxes = self.boxes.lock();
                let Some(mailbox) = boxes.get_mut(key) else { return inputs };
                let queue = std::mem::take(&mut mailbox.queue);
                for input in queue {
                    let is_item = inputs.len() < MAX_ALBUM_ITEMS && input.album().as_deref() == Some(album);
                    if is_item { inputs.push(input) } else { mailbox.queue.push(input) }
                }
                mailbox.gathering = Some(Arc::clone(&arrived));
            }
            let is_full = inputs.len() >= MAX_ALBUM_ITEMS || self.closed.load(Ordering::Acquire);
            let quiet = is_full || tokio::time::timeout(self.settings.album_quiet, arrived.notified()).await.is_err();
            if quiet {
                if let Some(mailbox) = self.boxes.lock().get_mut(key) {
                    mailbox.gathering = None;
                }
                inputs.sort_by_key(QueuedInput::update_id);
                return inputs;
            }
        }
    }
}
