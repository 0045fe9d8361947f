//! Finds the next updates for a webhook without scanning the ones that must wait.
//!
//! Only the first update of a lane may be posted, and an update in flight still blocks its lane. An update that a fault
//! delays is outside of the lanes: it is posted when its time comes.

use std::collections::{BTreeSet, HashMap};

use super::{Lane, QueuedUpdate};

#[derive(Debug, Default)]
pub(super) struct Lanes {
    lines: HashMap<Lane, BTreeSet<u64>>,
    /// Numbers that may be posted now, oldest first.
    ready: BTreeSet<u64>,
    /// Times and numbers of delayed updates.
    delayed: BTreeSet<(i64, u64)>,
}

impl Lanes {
    /// Adds an update that is newer than all others.
    pub fn add(&mut self, update: &QueuedUpdate) {
        if update.ready_ms > 0 {
            self.delayed.insert((update.ready_ms, update.number));
            return;
        }
        let line = self.lines.entry(update.lane).or_default();
        if line.is_empty() {
            self.ready.insert(update.number);
        }
        line.insert(update.number);
    }

    /// Removes an update; the next one of its lane may be posted.
    pub fn remove(&mut self, update: &QueuedUpdate) {
        self.ready.remove(&update.number);
        self.delayed.remove(&(update.ready_ms, update.number));
        let Some(line) = self.lines.get_mut(&update.lane) else { return };
        let was_first = line.first() == Some(&update.number);
        line.remove(&update.number);
        match line.first() {
            Some(next) if was_first => {
                self.ready.insert(*next);
            }
            Some(_) => {}
            None => {
                self.lines.remove(&update.lane);
            }
        }
    }

    /// Takes the numbers of at most `most` updates to post now.
    pub fn take(&mut self, most: usize, now_ms: i64) -> Vec<u64> {
        while let Some((ready_ms, number)) = self.delayed.first().copied()
            && ready_ms <= now_ms
        {
            self.delayed.pop_first();
            self.ready.insert(number);
        }
        std::iter::from_fn(|| self.ready.pop_first()).take(most).collect()
    }

    /// Schedules an update that was not accepted again, at its `ready_ms`.
    pub fn put_back(&mut self, update: &QueuedUpdate) {
        self.delayed.insert((update.ready_ms, update.number));
    }

    /// The next time after now at which an update becomes ready.
    pub fn next_ready_ms(&self, now_ms: i64) -> Option<i64> {
        self.delayed.range((now_ms.saturating_add(1), 0)..).next().map(|(ready_ms, _)| *ready_ms)
    }
}
