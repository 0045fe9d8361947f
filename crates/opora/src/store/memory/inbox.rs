//! Waiting inputs, and the marks of known updates.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use super::age::ByAge;
use super::data::later;
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::operator::is_of_person;
use crate::store::{InboxRow, Mark, Seq};

#[derive(Debug, Default)]
pub(super) struct Inbox {
    rows: BTreeMap<Seq, InboxRow>,
    by_key: BTreeSet<(ConversationKey, Seq)>,
}

/// The marks of a bot's waiting and processed updates.
#[derive(Debug, Default)]
pub(super) struct Marks {
    known: HashMap<Arc<Mark>, Status>,
    /// Processed updates, in the order in which they were processed.
    by_age: ByAge<(u64, Arc<Mark>)>,
    count: u64,
}

/// The status of a known update.
#[derive(Debug)]
enum Status {
    Waiting(Seq),
    Processed,
}

impl Inbox {
    pub(super) fn put(&mut self, row: InboxRow) {
        self.by_key.insert((row.incoming.key.clone(), row.seq));
        self.rows.insert(row.seq, row);
    }

    pub(super) fn oldest(&self) -> Option<Millis> {
        self.rows.first_key_value().map(|(_, row)| row.incoming.at)
    }

    pub(super) fn remove(&mut self, seq: Seq) {
        if let Some(row) = self.rows.remove(&seq) {
            self.by_key.remove(&(row.incoming.key, seq));
        }
    }

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

    pub(super) fn of_key_after(&self, key: &ConversationKey, after: Seq, limit: usize) -> Vec<InboxRow> {
        let rest = (Bound::Excluded((key.clone(), after)), Bound::Unbounded);
        let of_key = self.by_key.range(rest).take_while(|(of, _)| of == key);
        of_key.filter_map(|(_, seq)| self.rows.get(seq)).take(limit).cloned().collect()
    }
}

impl Marks {
    /// Whether an update waits or was processed.
    pub(super) fn knows(&self, mark: &Mark) -> bool {
        self.known.contains_key(mark)
    }

    /// Records the inbox position of an update.
    pub(super) fn wait(&mut self, mark: &Mark, seq: Seq) {
        self.known.insert(Arc::new(mark.clone()), Status::Waiting(seq));
    }

    /// The inbox position of an update, if it waits.
    pub(super) fn waiting(&self, mark: &Mark) -> Option<Seq> {
        match self.known.get(mark) {
            Some(Status::Waiting(seq)) => Some(*seq),
            Some(Status::Processed) | None => None,
        }
    }

    pub(super) fn is_processed(&self, mark: &Mark) -> bool {
        matches!(self.known.get(mark), Some(Status::Processed))
    }

    pub(super) fn take(&mut self, mark: Mark, at: Millis) {
        let entry = self.known.entry(Arc::new(mark));
        if let Entry::Occupied(known) = &entry
            && matches!(known.get(), Status::Processed)
        {
            return;
        }
        self.count += 1;
        self.by_age.add(at, (self.count, Arc::clone(entry.key())));
        entry.insert_entry(Status::Processed);
    }

    pub(super) fn forget_before(&mut self, before: Millis, limit: usize) -> usize {
        let old = self.by_age.take_before(before, limit);
        self.forget(&old);
        old.len()
    }

    pub(super) fn forget_above(&mut self, max: usize) {
        let old = self.by_age.take_above(max);
        self.forget(&old);
    }

    fn forget(&mut self, old: &[(u64, Arc<Mark>)]) {
        for (_, mark) in old {
            self.known.remove(mark);
        }
    }
}
