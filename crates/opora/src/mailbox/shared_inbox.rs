//! Mailboxes of an inbox that other instances fill too.
//!
//! A mailbox reads its inputs from the inbox, in the order of the inbox. An announcement only says which conversation
//! to read. So no input overtakes another because this instance knew of it first, and no row is taken up twice.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Mailbox, Mailboxes, QueuedInput, Shared, drain};
use crate::key::ConversationKey;
use crate::store::{InboxRow, Seq};

/// Pause before the inbox is read again after an error.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// When the inbox has to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reload {
    #[default]
    No,
    /// When the queue is empty: the inbox has more inputs than fit into the queue.
    WhenEmpty,
    /// Before the next turn: the inbox may have a row that comes before those in the queue.
    BeforeNextTurn,
}

impl Mailboxes {
    /// Makes the mailbox of a conversation read the inbox before its next turn.
    pub(crate) fn check_inbox(&self, key: &ConversationKey) {
        let shared = &self.0;
        if shared.closed.load(Ordering::Acquire) {
            return;
        }
        let mut boxes = shared.boxes.lock();
        if let Some(mailbox) = boxes.get_mut(key) {
            mailbox.reload = Reload::BeforeNextTurn;
            return mailbox.notify_gathering();
        }
        boxes.insert(key.clone(), Mailbox { reload: Reload::BeforeNextTurn, ..Mailbox::default() });
        drop(boxes);
        shared.turns.spawn(drain(shared.clone(), key.clone()));
    }
}

impl Mailbox {
    /// Inserts a row in order. False if it is held already, or has to stay in the inbox behind others.
    pub(super) fn put_in_order(&mut self, row: InboxRow, limit: usize) -> bool {
        if self.held.contains(&row.seq) {
            return false;
        }
        if self.reload != Reload::No || self.queue.len() >= limit {
            self.reload = self.reload.max(Reload::WhenEmpty);
            return false;
        }
        self.insert(row);
        true
    }

    fn insert(&mut self, row: InboxRow) {
        let is_later = |input: &QueuedInput| input.seq().is_some_and(|seq| seq > row.seq);
        let index = self.queue.iter().position(is_later).unwrap_or(self.queue.len());
        self.held.push(row.seq);
        self.queue.insert(index, QueuedInput::Inbox(row));
        self.notify_gathering();
    }

    /// Whether the inbox has to be read before the next input. Resets that.
    pub(super) fn take_reload(&mut self) -> bool {
        let is_due =
            self.reload == Reload::BeforeNextTurn || (self.reload == Reload::WhenEmpty && self.queue.is_empty());
        if is_due {
            self.reload = Reload::No;
        }
        is_due
    }
}

impl Shared {
    /// Reads the first inputs of a conversation from the inbox, and queues those that are not held.
    pub(super) async fn reload(&self, key: &ConversationKey) {
        let limit = self.settings.max_per_conversation;
        let rows = match self.store.waiting_for(key, Seq(i64::MIN), limit).await {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!(%key, %error, "cannot read the inbox; trying again");
                tokio::time::sleep(RETRY_PAUSE).await;
                if let Some(mailbox) = self.boxes.lock().get_mut(key) {
                    mailbox.reload = Reload::BeforeNextTurn;
                }
                return;
            }
        };
        let mut boxes = self.boxes.lock();
        let Some(mailbox) = boxes.get_mut(key) else { return };
        let has_more = rows.len() >= limit;
        let new = rows.into_iter().filter(|row| !mailbox.held.contains(&row.seq)).collect::<Vec<_>>();
        self.waiting.fetch_add(new.len(), Ordering::Relaxed);
        new.into_iter().for_each(|row| mailbox.insert(row));
        if has_more {
            mailbox.reload = mailbox.reload.max(Reload::WhenEmpty);
        }
    }

    /// Reads the inbox while an album is gathered, if it may have new rows.
    pub(super) async fn reload_for_album(&self, key: &ConversationKey) {
        let has_news = |mailbox: &mut Mailbox| mailbox.reload == Reload::BeforeNextTurn && mailbox.take_reload();
        let is_due = self.boxes.lock().get_mut(key).is_some_and(has_news);
        if is_due {
            self.reload(key).await;
        }
    }

    /// Notes that these rows are not in memory any more.
    pub(super) fn release_rows(&self, key: &ConversationKey, seqs: &[Seq]) {
        if let Some(mailbox) = self.boxes.lock().get_mut(key) {
            mailbox.held.retain(|seq| !seqs.contains(seq));
        }
    }
}
