//! Unsent and failed messages, labels, and keys of posts.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::age::ByAge;
use super::data::later;
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::operator::is_of_person;
use crate::store::{FailedRow, IfUnsure, OutboxId, OutboxRow, Outgoing, Settled, Settlement};

#[derive(Debug, Default)]
pub(super) struct Outbox {
    unsent: BTreeMap<OutboxId, OutboxRow>,
    failed: HashMap<OutboxId, FailedRow>,
    failed_by_age: ByAge<OutboxId>,
    labels: HashMap<i64, HashMap<Box<str>, Labelled>>,
    labels_by_age: ByAge<(i64, Box<str>)>,
    posted: HashSet<Box<str>>,
    posted_by_age: ByAge<Box<str>>,
}

/// The message that was last sent under a label.
#[derive(Debug)]
struct Labelled {
    message: i64,
    at: Millis,
}

impl Outbox {
    pub(super) fn put(&mut self, row: OutboxRow) {
        self.unsent.insert(row.id, row);
    }

    /// Records the key of a post; false if it was posted before.
    pub(super) fn note_post(&mut self, once: &str, at: Millis) -> bool {
        if self.posted.contains(once) {
            return false;
        }
        self.posted.insert(once.into());
        self.posted_by_age.add(at, once.into());
        true
    }

    pub(super) fn after(&self, after: OutboxId, limit: usize) -> Vec<OutboxRow> {
        later(&self.unsent, after).take(limit).cloned().collect()
    }

    pub(super) fn sending(&mut self, ids: &[OutboxId]) {
        for id in ids {
            if let Some(row) = self.unsent.get_mut(id) {
                row.was_sending = row.outgoing.extras.if_unsure == IfUnsure::Drop;
            }
        }
    }

    pub(super) fn not_sent(&mut self, ids: &[OutboxId]) {
        for id in ids {
            if let Some(row) = self.unsent.get_mut(id) {
                row.was_sending = false;
            }
        }
    }

    pub(super) fn settle(&mut self, Settled { id, outcome }: Settled, at: Millis) {
        match outcome {
            Settlement::Sent { labelled } => {
                self.unsent.remove(&id);
                if let Some((chat, label, message)) = labelled {
                    self.label(chat, label, Labelled { message, at });
                }
            }
            Settlement::Failed(reason) => {
                if let Some(OutboxRow { key, outgoing, at, .. }) = self.unsent.remove(&id) {
                    self.failed_by_age.add(at, id);
                    let outgoing = outgoing.after_failure();
                    self.failed.insert(id, FailedRow { id, key, outgoing, reason, at });
                }
            }
            Settlement::Moved { from, to } => self.moved(id, from, to),
        }
    }

    /// Removes messages from and to a person, and the labels of the person's chat. Returns the number removed.
    pub(super) fn forget_person(&mut self, user: i64) -> u64 {
        let is_theirs =
            |key: &ConversationKey, outgoing: &Outgoing| is_of_person(key, user) || outgoing.chat == Some(user);
        let before = self.unsent.len() + self.failed.len();
        self.unsent.retain(|_, row| !is_theirs(&row.key, &row.outgoing));
        let failed = &mut self.failed;
        let by_age = &mut self.failed_by_age;
        failed.retain(|id, row| {
            let stays = !is_theirs(&row.key, &row.outgoing);
            if !stays {
                by_age.remove(row.at, *id);
            }
            stays
        });
        let labels = self.labels.remove(&user).unwrap_or_default();
        let removed = before - self.unsent.len() - self.failed.len() + labels.len();
        for (label, labelled) in labels {
            self.labels_by_age.remove(labelled.at, (user, label));
        }
        removed as u64
    }

    fn label(&mut self, chat: i64, label: Box<str>, labelled: Labelled) {
        let at = labelled.at;
        if let Some(former) = self.labels.entry(chat).or_default().insert(label.clone(), labelled) {
            self.labels_by_age.remove(former.at, (chat, label.clone()));
        }
        self.labels_by_age.add(at, (chat, label));
    }

    fn moved(&mut self, id: OutboxId, from: i64, to: i64) {
        for (_, row) in self.unsent.range_mut(id..).filter(|(_, row)| row.outgoing.chat == Some(from)) {
            row.outgoing.redirect(to);
        }
        // Telegram refused it, so it was not sent.
        self.not_sent(&[id]);
    }

    pub(super) fn labelled(&self, chat: i64, label: &str) -> Option<i64> {
        self.labels.get(&chat)?.get(label).map(|labelled| labelled.message)
    }

    pub(super) fn len(&self) -> usize {
        self.unsent.len()
    }

    pub(super) fn failed_after(&self, after: Option<(Millis, OutboxId)>, limit: usize) -> Vec<FailedRow> {
        self.failed_by_age.after(after).filter_map(|id| self.failed.get(id)).take(limit).cloned().collect()
    }

    pub(super) fn failed(&self) -> usize {
        self.failed.len()
    }

    pub(super) fn oldest(&self) -> Option<Millis> {
        self.unsent.first_key_value().map(|(_, row)| row.at)
    }

    pub(super) fn forget_posts_before(&mut self, before: Millis, limit: usize) -> usize {
        let old = self.posted_by_age.take_before(before, limit);
        self.forget_posts(&old)
    }

    pub(super) fn forget_labels_before(&mut self, before: Millis, limit: usize) -> usize {
        let old = self.labels_by_age.take_before(before, limit);
        self.forget_labels(&old)
    }

    pub(super) fn forget_failed_before(&mut self, before: Millis, limit: usize) -> usize {
        let old = self.failed_by_age.take_before(before, limit);
        self.forget_failed(&old)
    }

    /// Removes the oldest failed messages, labels and keys of posts above their limits.
    pub(super) fn forget_above(&mut self, failed_most: usize, names_most: usize) {
        let old = self.failed_by_age.take_above(failed_most);
        self.forget_failed(&old);
        let old = self.labels_by_age.take_above(names_most);
        self.forget_labels(&old);
        let old = self.posted_by_age.take_above(names_most);
        self.forget_posts(&old);
    }

    fn forget_posts(&mut self, old: &[Box<str>]) -> usize {
        old.iter().for_each(|once| {
            self.posted.remove(once);
        });
        old.len()
    }

    fn forget_labels(&mut self, old: &[(i64, Box<str>)]) -> usize {
        for (chat, label) in old {
            if let Some(labels) = self.labels.get_mut(chat) {
                labels.remove(label);
                if labels.is_empty() {
                    self.labels.remove(chat);
                }
            }
        }
        old.len()
    }

    fn forget_failed(&mut self, old: &[OutboxId]) -> usize {
        old.iter().for_each(|id| {
            self.failed.remove(id);
        });
        old.len()
    }
}
