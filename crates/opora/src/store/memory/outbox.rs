//! Messages that wait to be sent, and what is remembered of those that were.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::age::ByAge;
use super::shelves::later;
use crate::clock::Millis;
use crate::store::{IfUnsure, OutboxId, OutboxRow, Outgoing, Settled, Settlement};

/// The outbox of a bot.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    unsent: BTreeMap<OutboxId, OutboxRow>,
    failed: BTreeMap<OutboxId, Failed>,
    failed_by_age: ByAge<OutboxId>,
    labels: HashMap<i64, HashMap<Box<str>, i64>>,
    posted: HashSet<Box<str>>,
    posted_by_age: ByAge<Box<str>>,
}

/// A message that could not be sent.
#[derive(Debug)]
#[expect(dead_code, reason = "kept so that a debugger shows what failed and why")]
struct Failed {
    row: OutboxRow,
    reason: Box<str>,
}

impl Outbox {
    pub(super) fn put(&mut self, row: OutboxRow) {
        self.unsent.insert(row.id, row);
    }

    /// Notes a post's name; false if it was posted before.
    pub(super) fn first_time(&mut self, once: &str, at: Millis) -> bool {
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
                row.was_sending = row.outgoing.if_unsure == IfUnsure::Drop;
            }
        }
    }

    pub(super) fn settle(&mut self, Settled { id, outcome }: Settled) {
        match outcome {
            Settlement::Sent { labelled } => {
                self.unsent.remove(&id);
                if let Some((chat, label, message)) = labelled {
                    self.labels.entry(chat).or_default().insert(label, message);
                }
            }
            Settlement::Failed(reason) => {
                if let Some(row) = self.unsent.remove(&id) {
                    self.failed_by_age.add(row.at, id);
                    self.failed.insert(id, Failed { row, reason });
                }
            }
            Settlement::Moved { from, to } => self.moved(id, from, to),
        }
    }

    fn moved(&mut self, id: OutboxId, from: i64, to: i64) {
        for (_, row) in self.unsent.range_mut(id..).filter(|(_, row)| row.outgoing.chat == Some(from)) {
            redirect(&mut row.outgoing, to);
        }
        // Telegram refused it: this one was not sent.
        if let Some(row) = self.unsent.get_mut(&id) {
            row.was_sending = false;
        }
    }

    pub(super) fn labelled(&self, chat: i64, label: &str) -> Option<i64> {
        self.labels.get(&chat)?.get(label).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.unsent.len()
    }

    pub(super) fn failed(&self) -> usize {
        self.failed.len()
    }

    pub(super) fn oldest(&self) -> Option<Millis> {
        self.unsent.first_key_value().map(|(_, row)| row.at)
    }

    pub(super) fn forget_posts_before(&mut self, before: Millis, limit: usize) -> usize {
        let old = self.posted_by_age.take_before(before, limit);
        old.iter().for_each(|once| {
            self.posted.remove(once);
        });
        old.len()
    }

    pub(super) fn forget_failed_before(&mut self, before: Millis, limit: usize) -> usize {
        let old = self.failed_by_age.take_before(before, limit);
        old.iter().for_each(|id| {
            self.failed.remove(id);
        });
        old.len()
    }
}

/// Sends a call to another chat.
fn redirect(outgoing: &mut Outgoing, to: i64) {
    outgoing.chat = Some(to);
    // A body that is no JSON object names no chat.
    if let Ok(serde_json::Value::Object(mut body)) = serde_json::from_str(&outgoing.body)
        && let Some(chat) = body.get_mut("chat_id")
    {
        *chat = to.into();
        outgoing.body = serde_json::Value::Object(body).to_string().into();
    }
}
