//! The set timers.

use std::collections::{BTreeMap, HashMap};

use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::operator::is_of_person;
use crate::store::{TimerId, TimerRow};

#[derive(Debug, Default)]
pub(super) struct Timers {
    by_time: BTreeMap<(Millis, TimerId), TimerRow>,
    due_at: HashMap<TimerId, Millis>,
    // A conversation has few timers: a list is the cheapest index.
    by_name: HashMap<ConversationKey, Vec<(Box<str>, TimerId)>>,
}

impl Timers {
    /// Sets a timer, and replaces one of the same name.
    pub(super) fn set(&mut self, row: TimerRow) {
        self.cancel(&row.key, &row.name);
        self.by_name.entry(row.key.clone()).or_default().push((row.name.clone(), row.id));
        self.due_at.insert(row.id, row.due_at);
        self.by_time.insert((row.due_at, row.id), row);
    }

    pub(super) fn cancel(&mut self, key: &ConversationKey, name: &str) {
        let named = self.by_name.get(key).and_then(|named| named.iter().find(|(known, _)| **known == *name));
        if let Some((_, id)) = named {
            self.remove(*id);
        }
    }

    pub(super) fn remove(&mut self, id: TimerId) {
        let Some(due_at) = self.due_at.remove(&id) else { return };
        let Some(row) = self.by_time.remove(&(due_at, id)) else { return };
        if let Some(named) = self.by_name.get_mut(&row.key) {
            named.retain(|(_, known)| *known != id);
            if named.is_empty() {
                self.by_name.remove(&row.key);
            }
        }
    }

    /// Removes the timers of a person. Returns their number.
    pub(super) fn forget_person(&mut self, user: i64) -> u64 {
        let named = self.by_name.iter().filter(|(key, _)| is_of_person(key, user));
        let ids: Vec<_> = named.flat_map(|(_, timers)| timers.iter().map(|(_, id)| *id)).collect();
        ids.iter().for_each(|id| self.remove(*id));
        ids.len() as u64
    }

    pub(super) fn has(&self, id: TimerId) -> bool {
        self.due_at.contains_key(&id)
    }

    pub(super) fn len(&self) -> usize {
        self.due_at.len()
    }

    pub(super) fn due(&self, now: Millis, limit: usize) -> Vec<TimerRow> {
        let until_now = self.by_time.range(..=(now, TimerId(i64::MAX)));
        until_now.take(limit).map(|(_, row)| row.clone()).collect()
    }

    pub(super) fn earliest(&self) -> Option<Millis> {
        self.by_time.first_key_value().map(|((due_at, _), _)| *due_at)
    }
}
