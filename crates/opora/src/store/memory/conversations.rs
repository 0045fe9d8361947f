//! Conversations, their versions and states.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use super::age::ByAge;
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::operator::is_of_person;
use crate::store::{ConversationRow, Filter, StateChange, StateCount, StateName, StoredState, Version};

#[derive(Debug, Default)]
pub(super) struct Conversations {
    by_key: BTreeMap<ConversationKey, Conversation>,
    index: Index,
    // The version floor: no removed conversation had a higher version.
    floor: Version,
}

#[derive(Debug)]
struct Conversation {
    version: Version,
    stored: Option<StoredState>,
    updated_at: Millis,
}

/// Indexes over all conversations.
#[derive(Debug, Default)]
struct Index {
    expiring: ByAge<ConversationKey>,
    ended: ByAge<ConversationKey>,
    by_state: HashMap<StateName, i64>,
    active: i64,
}

impl Conversations {
    pub(super) fn at(&self, key: &ConversationKey) -> (Version, Option<&StoredState>) {
        match self.by_key.get(key) {
            Some(conversation) => (conversation.version, conversation.stored.as_ref()),
            None => (self.floor, None),
        }
    }

    /// Applies a change and returns the next version.
    pub(super) fn change(&mut self, key: ConversationKey, change: StateChange, at: Millis) -> Version {
        let version = Version(self.at(&key).0.0 + 1);
        match (change, self.by_key.get_mut(&key)) {
            (StateChange::Keep, Some(open)) if open.stored.is_some() => {
                open.version = version;
                open.updated_at = at;
            }
            (StateChange::Set(stored), _) => self.write(key, version, Some(stored), at),
            // A conversation that is not open stays ended.
            (StateChange::Keep | StateChange::Clear, _) => self.write(key, version, None, at),
        }
        version
    }

    pub(super) fn reset(&mut self, key: &ConversationKey, now: Millis) -> bool {
        let open = self.at(key).1.is_some();
        if open {
            self.change(key.clone(), StateChange::Clear, now);
        }
        open
    }

    /// Ends the open conversations of a person. Returns their number.
    pub(super) fn forget_person(&mut self, user: i64, now: Millis) -> u64 {
        let open = self.by_key.iter().filter(|(key, open)| open.stored.is_some() && is_of_person(key, user));
        let keys: Vec<_> = open.map(|(key, _)| key.clone()).collect();
        keys.iter().filter(|key| self.reset(key, now)).count() as u64
    }

    pub(super) fn import(&mut self, row: &ConversationRow, replace: bool) -> bool {
        let (version, stored) = self.at(&row.key);
        if stored.is_some() && !replace {
            return false;
        }
        // A running turn must be overtaken, and no version is repeated.
        let version = row.version.max(Version(version.0 + 1));
        self.write(row.key.clone(), version, row.stored.clone(), row.updated_at);
        true
    }

    fn write(&mut self, key: ConversationKey, version: Version, stored: Option<StoredState>, updated_at: Millis) {
        let new = Conversation { version, stored, updated_at };
        if let Some(old) = self.by_key.get(&key) {
            self.index.remove(&key, old);
        }
        self.index.add(&key, &new);
        self.by_key.insert(key, new);
    }

    /// The number of open conversations, in total and by the state in the foreground.
    pub(super) fn counts(&self) -> (i64, impl Iterator<Item = StateCount>) {
        let by_state = self.index.by_state.iter();
        let counts = by_state.map(|(state, count)| StateCount { state: state.clone(), conversations: *count });
        (self.index.active, counts)
    }

    pub(super) fn expired(&self, now: Millis, limit: usize) -> Vec<ConversationKey> {
        self.index.expiring.until(now).take(limit).cloned().collect()
    }

    pub(super) fn earliest_expiry(&self) -> Option<Millis> {
        self.index.expiring.earliest()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    pub(super) fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<&'a ConversationKey>,
    ) -> impl Iterator<Item = ConversationRow> + 'a {
        let rest = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let all = self.by_key.range::<ConversationKey, _>(rest);
        all.filter(|(key, open)| filter.matches(key, open.stored.as_ref())).map(|(key, conversation)| ConversationRow {
            key: key.clone(),
            version: conversation.version,
            stored: conversation.stored.clone(),
            updated_at: conversation.updated_at,
        })
    }

    /// Removes conversations that ended before a time, and raises the version floor.
    pub(super) fn forget_ended_before(&mut self, before: Millis, limit: usize) -> usize {
        let old = self.index.ended.take_before(before, limit);
        self.forget(&old);
        old.len()
    }

    /// Removes the conversations that ended first, above a number.
    pub(super) fn forget_ended_above(&mut self, max: usize) {
        let old = self.index.ended.take_above(max);
        self.forget(&old);
    }

    fn forget(&mut self, ended: &[ConversationKey]) {
        for key in ended {
            if let Some(gone) = self.by_key.remove(key) {
                self.floor = self.floor.max(gone.version);
            }
        }
    }
}

impl Index {
    fn add(&mut self, key: &ConversationKey, new: &Conversation) {
        let Some(stored) = &new.stored else { return self.ended.add(new.updated_at, key.clone()) };
        self.active += 1;
        if let Some(expires_at) = stored.expires_at {
            self.expiring.add(expires_at, key.clone());
        }
        let Some(state) = stored.states.first() else { return };
        match self.by_state.get_mut(state) {
            Some(count) => *count += 1,
            None => {
                self.by_state.insert(state.clone(), 1);
            }
        }
    }

    fn remove(&mut self, key: &ConversationKey, old: &Conversation) {
        let Some(stored) = &old.stored else { return self.ended.remove(old.updated_at, key.clone()) };
        self.active -= 1;
        if let Some(expires_at) = stored.expires_at {
            self.expiring.remove(expires_at, key.clone());
        }
        let Some(state) = stored.states.first() else { return };
        match self.by_state.get_mut(state) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                self.by_state.remove(state);
            }
        }
    }
}
