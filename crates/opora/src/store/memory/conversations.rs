//! Conversations, their versions and states.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use super::age::ByAge;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::operator::is_of_person;
use crate::store::{ConversationRow, Filter, Place, PlaceCount, StateChange, Stored, Version};

/// The conversations of a bot.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    by_key: BTreeMap<DialogueKey, Conversation>,
    index: Index,
    // No version of a conversation that was dropped is above this, so that one begun anew does not restart.
    floor: Version,
}

#[derive(Debug)]
struct Conversation {
    version: Version,
    stored: Option<Stored>,
    updated_at: Millis,
}

/// What is asked of all conversations together.
#[derive(Debug, Default)]
struct Index {
    expiring: ByAge<DialogueKey>,
    ended: ByAge<DialogueKey>,
    by_place: HashMap<Place, i64>,
    active: i64,
}

impl Conversations {
    pub(super) fn at(&self, key: &DialogueKey) -> (Version, Option<&Stored>) {
        match self.by_key.get(key) {
            Some(conversation) => (conversation.version, conversation.stored.as_ref()),
            None => (self.floor, None),
        }
    }

    /// Makes the next version.
    pub(super) fn change(&mut self, key: DialogueKey, change: StateChange, at: Millis) -> Version {
        let version = Version(self.at(&key).0.0 + 1);
        match (change, self.by_key.get_mut(&key)) {
            (StateChange::Keep, Some(open)) if open.stored.is_some() => {
                open.version = version;
                open.updated_at = at;
            }
            (StateChange::Set(stored), _) => self.write(key, version, Some(stored), at),
            // What is not open stays so.
            (StateChange::Keep | StateChange::Clear, _) => self.write(key, version, None, at),
        }
        version
    }

    pub(super) fn reset(&mut self, key: &DialogueKey, now: Millis) -> bool {
        let open = self.at(key).1.is_some();
        if open {
            self.change(key.clone(), StateChange::Clear, now);
        }
        open
    }

    /// Ends the open conversations of a person; how many there were.
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
        // A turn under way must notice, and no version comes twice.
        let version = row.version.max(Version(version.0 + 1));
        self.write(row.key.clone(), version, row.stored.clone(), row.updated_at);
        true
    }

    fn write(&mut self, key: DialogueKey, version: Version, stored: Option<Stored>, updated_at: Millis) {
        let new = Conversation { version, stored, updated_at };
        if let Some(old) = self.by_key.get(&key) {
            self.index.remove(&key, old);
        }
        self.index.add(&key, &new);
        self.by_key.insert(key, new);
    }

    /// Open conversations, in all and by the place in the foreground.
    pub(super) fn counts(&self) -> (i64, impl Iterator<Item = PlaceCount>) {
        let by_place = self.index.by_place.iter();
        let counts = by_place.map(|(place, count)| PlaceCount { place: place.clone(), conversations: *count });
        (self.index.active, counts)
    }

    pub(super) fn expired(&self, now: Millis, limit: usize) -> Vec<DialogueKey> {
        self.index.expiring.until(now).take(limit).cloned().collect()
    }

    pub(super) fn earliest_end(&self) -> Option<Millis> {
        self.index.expiring.earliest()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    pub(super) fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<&'a DialogueKey>,
    ) -> impl Iterator<Item = ConversationRow> + 'a {
        let rest = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let all = self.by_key.range::<DialogueKey, _>(rest);
        all.filter(|(key, open)| filter.shows(key, open.stored.as_ref())).map(|(key, conversation)| ConversationRow {
            key: key.clone(),
            version: conversation.version,
            stored: conversation.stored.clone(),
            updated_at: conversation.updated_at,
        })
    }

    /// Drops conversations that ended before a time; the floor keeps their versions from coming again.
    pub(super) fn forget_ended_before(&mut self, before: Millis, limit: usize) -> usize {
        let old = self.index.ended.take_before(before, limit);
        self.forget(&old);
        old.len()
    }

    /// Drops the conversations that ended first, above a number.
    pub(super) fn forget_ended_above(&mut self, most: usize) {
        let old = self.index.ended.take_above(most);
        self.forget(&old);
    }

    fn forget(&mut self, ended: &[DialogueKey]) {
        for key in ended {
            if let Some(gone) = self.by_key.remove(key) {
                self.floor = self.floor.max(gone.version);
            }
        }
    }
}

impl Index {
    fn add(&mut self, key: &DialogueKey, new: &Conversation) {
        let Some(stored) = &new.stored else { return self.ended.add(new.updated_at, key.clone()) };
        self.active += 1;
        if let Some(expires_at) = stored.expires_at {
            self.expiring.add(expires_at, key.clone());
        }
        let Some(place) = stored.places.first() else { return };
        match self.by_place.get_mut(place) {
            Some(count) => *count += 1,
            None => {
                self.by_place.insert(place.clone(), 1);
            }
        }
    }

    fn remove(&mut self, key: &DialogueKey, old: &Conversation) {
        let Some(stored) = &old.stored else { return self.ended.remove(old.updated_at, key.clone()) };
        self.active -= 1;
        if let Some(expires_at) = stored.expires_at {
            self.expiring.remove(expires_at, key.clone());
        }
        let Some(place) = stored.places.first() else { return };
        match self.by_place.get_mut(place) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                self.by_place.remove(place);
            }
        }
    }
}
