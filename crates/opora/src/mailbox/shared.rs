//! Mailboxes of an inbox into which others put updates too.
//!
//! What waits is read from the store, conversation by conversation and in the order of the inbox: whoever says that
//! something has come only says where to look. So nothing is overtaken by what this instance happens to know first, and
//! a row that is in memory already is not taken in again.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Letter, Mailbox, Mailboxes, Shared, drain};
use crate::key::DialogueKey;
use crate::store::{InboxRow, Seq};

/// How long to wait before the store is asked again.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Whether the store has to be asked for what waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Look {
    #[default]
    No,
    /// More waits than fits into the queue.
    WhenEmpty,
    /// Before the next turn: something may have come that goes before what is in the queue.
    Now,
}

impl Mailboxes {
    /// Something of a conversation may wait in the store.
    pub(crate) fn look(&self, key: &DialogueKey) {
        let shared = &self.0;
        if shared.closed.load(Ordering::Acquire) {
            return;
        }
        let mut boxes = shared.boxes.lock();
        if let Some(mailbox) = boxes.get_mut(key) {
            mailbox.look = Look::Now;
            if let Some(gathering) = &mailbox.gathering {
                gathering.notify_one();
            }
            return;
        }
        boxes.insert(key.clone(), Mailbox { look: Look::Now, ..Mailbox::default() });
        drop(boxes);
        shared.turns.spawn(drain(shared.clone(), key.clone()));
    }
}

impl Mailbox {
    /// Puts a row in its place, unless it is there or stays in the store behind others; true if it was put.
    pub(super) fn put_in_place(&mut self, row: InboxRow, limit: usize) -> bool {
        if self.held.contains(&row.seq) {
            return false;
        }
        if self.look != Look::No || self.queue.len() >= limit {
            self.look = self.look.max(Look::WhenEmpty);
            return false;
        }
        self.insert(row);
        true
    }

    fn insert(&mut self, row: InboxRow) {
        let is_later = |letter: &Letter| letter.seq().is_some_and(|seq| seq > row.seq);
        let place = self.queue.iter().position(is_later).unwrap_or(self.queue.len());
        self.held.push(row.seq);
        self.queue.insert(place, Letter::Inbox(row));
        if let Some(gathering) = &self.gathering {
            gathering.notify_one();
        }
    }

    /// Whether the store has to be asked before the next letter; it counts as asked then.
    pub(super) fn looks_now(&mut self) -> bool {
        let now = self.look == Look::Now || (self.look == Look::WhenEmpty && self.queue.is_empty());
        if now {
            self.look = Look::No;
        }
        now
    }
}

impl Shared {
    /// Takes in what waits in the store and is not here.
    pub(super) async fn look_up(&self, key: &DialogueKey) {
        let limit = self.settings.per_dialogue;
        let rows = match self.store.waiting_for(key, Seq(i64::MIN), limit).await {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!(%key, %error, "cannot read what waits; trying again");
                tokio::time::sleep(LOOK_AGAIN_AFTER).await;
                if let Some(mailbox) = self.boxes.lock().get_mut(key) {
                    mailbox.look = Look::Now;
                }
                return;
            }
        };
        let mut boxes = self.boxes.lock();
        let Some(mailbox) = boxes.get_mut(key) else { return };
        let is_page = rows.len() >= limit;
        let new = rows.into_iter().filter(|row| !mailbox.held.contains(&row.seq)).collect::<Vec<_>>();
        self.waiting.fetch_add(new.len(), Ordering::Relaxed);
        new.into_iter().for_each(|row| mailbox.insert(row));
        if is_page {
            mailbox.look = mailbox.look.max(Look::WhenEmpty);
        }
    }

    /// The same if it has to be done before an album is complete.
    pub(super) async fn look_up_if_told(&self, key: &DialogueKey) {
        let is_told =
            self.boxes.lock().get_mut(key).is_some_and(|mailbox| mailbox.look == Look::Now && mailbox.looks_now());
        if is_told {
            self.look_up(key).await;
        }
    }

    /// These letters are in memory no more.
    pub(super) fn let_go(&self, key: &DialogueKey, seqs: &[Seq]) {
        if let Some(mailbox) = self.boxes.lock().get_mut(key) {
            mailbox.held.retain(|seq| !seqs.contains(seq));
        }
    }
}
