//! Inputs that wait, and the marks by which a repeated one is recognised.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use super::age::ByAge;
use super::shelves::later;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{InboxRow, Mark, Seq};

/// The inbox of a bot.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    rows: BTreeMap<Seq, InboxRow>,
    by_key: BTreeSet<(DialogueKey, Seq)>,
}

/// The marks of a bot: of updates that wait, and of those that were taken.
#[derive(Debug, Default)]
pub(super) struct Marks {
    // None while it waits; the time since it was taken.
    taken_at: HashMap<Arc<Mark>, Option<Millis>>,
    by_age: ByAge<OldMark>,
    count: u64,
}

/// A taken mark; those of one moment in the order in which they were taken.
#[derive(Debug)]
struct OldMark {
    number: u64,
    mark: Arc<Mark>,
}

impl PartialEq for OldMark {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for OldMark {}

impl PartialOrd for OldMark {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OldMark {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.number.cmp(&other.number)
    }
}

impl Inbox {
    pub(super) fn put(&mut self, row: InboxRow) {
        self.by_key.insert((row.incoming.key.clone(), row.seq));
        self.rows.insert(row.seq, row);
    }

    pub(super) fn remove(&mut self, seq: Seq) {
        if let Some(row) = self.rows.remove(&seq) {
            self.by_key.remove(&(row.incoming.key, seq));
        }
    }

    pub(super) fn has(&self, seq: Seq) -> bool {
        self.rows.contains_key(&seq)
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn after(&self, after: Seq, limit: usize) -> Vec<InboxRow> {
        later(&self.rows, after).take(limit).cloned().collect()
    }

    pub(super) fn of_key_after(&self, key: &DialogueKey, after: Seq, limit: usize) -> Vec<InboxRow> {
        let rest = (Bound::Excluded((key.clone(), after)), Bound::Unbounded);
        let of_key = self.by_key.range(rest).take_while(|(of, _)| of == key);
        of_key.filter_map(|(_, seq)| self.rows.get(seq)).take(limit).cloned().collect()
    }
}

impl Marks {
    /// Notes that an update waits; false if it was known.
    pub(super) fn wait(&mut self, mark: &Mark) -> bool {
        if self.taken_at.contains_key(mark) {
            return false;
        }
        self.taken_at.insert(Arc::new(mark.clone()), None);
        true
    }

    pub(super) fn is_taken(&self, mark: &Mark) -> bool {
        self.taken_at.get(mark).is_some_and(Option::is_some)
    }

    pub(super) fn take(&mut self, mark: Mark, at: Millis) {
        let entry = self.taken_at.entry(Arc::new(mark));
        if let Entry::Occupied(taken) = &entry
            && taken.get().is_some()
        {
            return;
        }
        self.count += 1;
        self.by_age.add(at, OldMark { number: self.count, mark: Arc::clone(entry.key()) });
        entry.insert_entry(Some(at));
    }

    pub(super) fn forget_before(&mut self, before: Millis, limit: usize) -> usize {
        let old = self.by_age.take_before(before, limit);
        self.forget(&old);
        old.len()
    }

    pub(super) fn forget_above(&mut self, most: usize) {
        let old = self.by_age.take_above(most);
        self.forget(&old);
    }

    fn forget(&mut self, old: &[OldMark]) {
        for OldMark { mark, .. } in old {
            self.taken_at.remove(mark);
        }
    }
}
