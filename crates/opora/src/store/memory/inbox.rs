//! Inputs that wait, and the marks by which a repeated one is recognised.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use super::age::ByAge;
use super::shelves::later;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::operator::is_of_person;
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
    known: HashMap<Arc<Mark>, Known>,
    by_age: ByAge<OldMark>,
    count: u64,
}

/// What is known of an update.
#[derive(Debug)]
enum Known {
    Waits(Seq),
    Taken,
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

    /// The rows of a person.
    pub(super) fn of_person(&self, user: i64) -> Vec<InboxRow> {
        self.rows.values().filter(|row| is_of_person(&row.incoming.key, user)).cloned().collect()
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
    /// Whether an update waits or was taken.
    pub(super) fn knows(&self, mark: &Mark) -> bool {
        self.known.contains_key(mark)
    }

    /// Notes where an update waits.
    pub(super) fn wait(&mut self, mark: &Mark, seq: Seq) {
        self.known.insert(Arc::new(mark.clone()), Known::Waits(seq));
    }

    /// Where an update waits, if it does.
    pub(super) fn waiting(&self, mark: &Mark) -> Option<Seq> {
        match self.known.get(mark) {
            Some(Known::Waits(seq)) => Some(*seq),
            Some(Known::Taken) | None => None,
        }
    }

    pub(super) fn is_taken(&self, mark: &Mark) -> bool {
        matches!(self.known.get(mark), Some(Known::Taken))
    }

    pub(super) fn take(&mut self, mark: Mark, at: Millis) {
        let entry = self.known.entry(Arc::new(mark));
        if let Entry::Occupied(known) = &entry
            && matches!(known.get(), Known::Taken)
        {
            return;
        }
        self.count += 1;
        self.by_age.add(at, OldMark { number: self.count, mark: Arc::clone(entry.key()) });
        entry.insert_entry(Known::Taken);
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
            self.known.remove(mark);
        }
    }
}
