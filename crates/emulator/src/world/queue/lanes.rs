//! Which waiting update a webhook may be sent next, known without looking at those that must wait.
//!
//! An update that is ready when it comes stands in its lane, and only the first of a lane may go; one that a fault
//! delays goes alone when its moment comes. An update that is under way still holds its lane.

use std::collections::{BTreeSet, HashMap};

use super::{Lane, Queued};

#[derive(Debug, Default)]
pub(super) struct Lanes {
    lines: HashMap<Lane, BTreeSet<u64>>,
    /// May go now, oldest first.
    ready: BTreeSet<u64>,
    /// May go at a moment.
    delayed: BTreeSet<(i64, u64)>,
}

impl Lanes {
    /// Adds an update that is newer than all others.
    pub fn add(&mut self, update: &Queued) {
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

    /// Takes an update off; the next of its lane may go.
    pub fn remove(&mut self, update: &Queued) {
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

    /// The numbers of those that go now.
    pub fn take(&mut self, most: usize, now_ms: i64) -> Vec<u64> {
        while let Some((ready_ms, number)) = self.delayed.first().copied()
            && ready_ms <= now_ms
        {
            self.delayed.pop_first();
            self.ready.insert(number);
        }
        std::iter::from_fn(|| self.ready.pop_first()).take(most).collect()
    }

    /// An update that went came back: it goes again at its moment.
    pub fn put_back(&mut self, update: &Queued) {
        self.delayed.insert((update.ready_ms, update.number));
    }

    /// The next moment after now when an update becomes ready.
    pub fn next_ready_ms(&self, now_ms: i64) -> Option<i64> {
        self.delayed.range((now_ms.saturating_add(1), 0)..).next().map(|(ready_ms, _)| *ready_ms)
    }
}
