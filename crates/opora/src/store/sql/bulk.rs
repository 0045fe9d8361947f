//! What a group writes: for each table the rows of all its operations.

use super::failure::GroupFailed;
use super::rows::Rows;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{Stored, Version};

/// The unit by which ends of life are indexed.
const MINUTE_MS: i64 = 60_000;

/// Rows by what happens to them.
#[derive(Debug, Default)]
pub(in crate::store) struct Bulk {
    /// `bot`.
    pub(in crate::store) renewed: Rows,
    /// `seq`.
    pub(in crate::store) inputs_gone: Rows,
    /// `bot, update_id, identity, taken_at`.
    pub(in crate::store) marks: Rows,
    /// `seq, bot, key, update_id, identity, effect, body, at`.
    pub(in crate::store) inputs: Rows,
    /// The same, of inputs that any instance delivers: another one may deliver the same at the same time.
    pub(in crate::store) delivered: Rows,
    /// `seq`, of those.
    pub(in crate::store) delivered_places: Rows,
    /// The last place in the inbox that was given, for a store that counts them in a row of its own.
    pub(in crate::store) last_place: Rows,
    /// `bot, update_id, identity`, of inputs that may be there, also since a moment ago.
    pub(in crate::store) fresh_gone: Rows,
    /// `key, bot, chat, user, thread, business, version, value, places, dialogue, state, expires_at, updated_at, from,
    /// expires_minute`.
    pub(in crate::store) changed: Rows,
    /// `key, bot, chat, user, thread, business, version, updated_at, from`, of conversations whose state stays.
    pub(in crate::store) kept: Rows,
    /// `key, expires_minute`, of conversations that changed: once more, for a store that writes it apart.
    pub(in crate::store) expiry: Rows,
    /// `id, bot, key, chat, method, body, rest, at`.
    pub(in crate::store) outbox: Rows,
    /// `once, bot, at`.
    pub(in crate::store) posts: Rows,
    /// `id`.
    pub(in crate::store) sending: Rows,
    /// `id`, of what surely was not sent.
    pub(in crate::store) not_sent: Rows,
    /// `id, reason`.
    pub(in crate::store) failed: Rows,
    /// `id`, of what was sent and what failed.
    pub(in crate::store) unsent_gone: Rows,
    /// `bot, chat, label, message, at`.
    pub(in crate::store) labels: Rows,
    /// `bot, id, from, to`.
    pub(in crate::store) moved: Rows,
    /// `id`.
    pub(in crate::store) timers_gone: Rows,
    /// `key, name`, of timers that are not set anew.
    pub(in crate::store) timers_cancelled: Rows,
    /// `id, bot, key, name, due_at, body`; each replaces one of its name.
    pub(in crate::store) timers: Rows,
    /// `id`.
    pub(in crate::store) effects_gone: Rows,
    /// `id, bot, key, kind, body, at`.
    pub(in crate::store) effects: Rows,
    /// `id, bot, key, version, at, from_place, to_place, cause, took_us`.
    pub(in crate::store) transitions: Rows,
    /// `id`.
    pub(in crate::store) parked_gone: Rows,
    /// `id, bot, key, kind, body, reason, attempts, at, retry`.
    pub(in crate::store) parked: Rows,
}

impl Bulk {
    /// Adds a conversation with its new state, or none.
    pub(in crate::store) fn change(
        &mut self,
        text: &str,
        key: &DialogueKey,
        (from, version): (Version, Version),
        stored: Option<&Stored>,
        updated_at: Millis,
    ) -> Result<(), GroupFailed> {
        let DialogueKey { bot, chat, user, thread, business } = key;
        let places = stored.map_or(Ok("[]".to_owned()), |stored| serde_json::to_string(&stored.places))?;
        let foreground = stored.and_then(|stored| stored.places.first());
        let (dialogue, state) = (foreground.map(|place| &place.dialogue), foreground.map(|place| &place.state));
        let value = stored.map(|stored| &stored.value);
        let expires_at = stored.and_then(|stored| stored.expires_at);
        let minute = expires_at.map(|at| at.0.div_euclid(MINUTE_MS));
        self.changed.add(&(
            text, bot, chat, user, thread, business, version, value, places, dialogue, state, expires_at, updated_at,
            from, minute,
        ))?;
        Ok(self.expiry.add(&(text, minute))?)
    }

    /// Adds a conversation whose state stays.
    pub(in crate::store) fn keep(
        &mut self,
        text: &str,
        key: &DialogueKey,
        (from, version): (Version, Version),
        updated_at: Millis,
    ) -> Result<(), GroupFailed> {
        let DialogueKey { bot, chat, user, thread, business } = key;
        Ok(self.kept.add(&(text, bot, chat, user, thread, business, version, updated_at, from))?)
    }
}
