//! Updates that wait for the bot.
//!
//! Ids rise by one from a random start. A message waits for 24 hours, a callback query for 150 seconds. Above 100,000
//! waiting updates new ones are dropped. An update that a fault delays, repeats or holds back is marked late. It
//! survives the confirmation of higher ids, because a fault must not lose updates.
//!
//! Ids may repeat, so each waiting update also has a unique number, in order of arrival. Calls do not scan the whole
//! queue, unless ids restarted or an update is late.

mod lanes;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use self::lanes::Lanes;
use super::update::{AllowedUpdates, UpdateKind};

/// The highest id. Clients read numbers as 64-bit floats.
pub const MAX_ID: i64 = 1 << 52;
const MAX_WAITING: usize = 100_000;
/// An offset further ahead of the newest id than this is ignored.
const MAX_AHEAD: i64 = 10;
/// The first id is a random number of nine digits, as in Telegram.
const FIRST_IDS: std::ops::Range<i64> = 100_000_000..999_000_000;

/// Updates of one lane are delivered in order. There is no order between lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Lane {
    Chat(i64),
    Presses(i64),
}

#[derive(Clone, Debug)]
pub struct QueuedUpdate {
    /// The position in the queue, assigned by `push`.
    pub number: u64,
    pub id: i64,
    pub kind: UpdateKind,
    pub lane: Lane,
    pub expires_ms: i64,
    /// Not delivered before this time, because of a fault's delay or a webhook's backoff.
    pub ready_ms: i64,
    /// Queued by a fault: stays until it is delivered once, whatever was confirmed.
    pub late: bool,
    pub delivered: bool,
    pub in_flight: bool,
    pub attempts: u32,
    /// The whole `Update`.
    pub json: Bytes,
}

#[derive(Debug)]
pub struct Queue {
    waiting: BTreeMap<u64, QueuedUpdate>,
    next_number: u64,
    next_id: i64,
    lanes: Lanes,
    in_flight: usize,
    /// No update expires before this time.
    first_expiry_ms: i64,
    /// Whether ids rise and no update is late, so that confirmed updates are at the head.
    in_order: bool,
    /// Updates held back until another update of this chat, or of any chat, overtakes them.
    held: Vec<(u64, Option<i64>)>,
    pub allowed: AllowedUpdates,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            next_number: 0,
            next_id: fastrand::i64(FIRST_IDS),
            lanes: Lanes::default(),
            in_flight: 0,
            first_expiry_ms: i64::MAX,
            in_order: true,
            held: Vec::new(),
            allowed: AllowedUpdates::default(),
        }
    }
}

impl QueuedUpdate {
    /// A new update.
    pub fn new(id: i64, kind: UpdateKind, lane: Lane, now_ms: i64, json: Bytes) -> Self {
        Self {
            number: 0,
            id,
            kind,
            lane,
            expires_ms: now_ms + kind.ttl_ms(),
            ready_ms: 0,
            late: false,
            delivered: false,
            in_flight: false,
            attempts: 0,
            json,
        }
    }
}

impl Queue {
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether another update fits. If not, it is dropped, as by Telegram.
    pub fn has_room(&self) -> bool {
        self.waiting.len() < MAX_WAITING
    }

    pub fn next_id(&self) -> i64 {
        self.next_id
    }

    pub fn set_next_id(&mut self, id: i64) {
        self.next_id = id.clamp(1, MAX_ID);
    }

    /// The id for a new update.
    pub fn take_id(&mut self) -> i64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Restarts ids from a lower one, as Telegram may do after a week without updates.
    pub fn restart_ids(&mut self) {
        self.next_id = fastrand::i64(1..self.next_id.max(2));
    }

    /// Adds an update at the end; returns it with its number.
    pub fn push(&mut self, update: QueuedUpdate) -> &QueuedUpdate {
        let number = self.next_number;
        self.next_number += 1;
        let update = QueuedUpdate { number, ..update };
        let last = self.waiting.last_key_value().map_or(0, |(_, last)| last.id);
        self.in_order = (self.in_order || self.waiting.is_empty()) && !update.late && last < update.id;
        self.first_expiry_ms = self.first_expiry_ms.min(update.expires_ms);
        self.lanes.add(&update);
        self.waiting.entry(number).or_insert(update)
    }

    /// Holds an update back until another one of this chat, or of any chat, overtakes it.
    pub fn hold(&mut self, number: u64, chat: Option<i64>) {
        self.held.push((number, chat));
    }

    /// Removes the updates that wait for an update of this chat. The caller pushes them again behind it.
    pub fn take_held(&mut self, chat: i64) -> Vec<QueuedUpdate> {
        if self.held.is_empty() {
            return Vec::new();
        }
        let on_hold = |update: &QueuedUpdate| !update.delivered && !update.in_flight;
        self.held.retain(|(number, _)| self.waiting.get(number).is_some_and(on_hold));
        let goes = |(_, only): &mut (u64, Option<i64>)| only.is_none_or(|only| only == chat);
        let numbers: Vec<u64> = self.held.extract_if(.., goes).map(|(number, _)| number).collect();
        let let_go = numbers.into_iter().filter_map(|number| self.remove(number));
        let_go.map(|update| QueuedUpdate { ready_ms: 0, ..update }).collect()
    }

    /// Removes expired updates; returns their numbers.
    pub fn expire(&mut self, now_ms: i64) -> Vec<u64> {
        if now_ms < self.first_expiry_ms {
            return Vec::new();
        }
        let gone = self.remove_all(|update| update.expires_ms <= now_ms);
        self.first_expiry_ms = self.waiting.values().map(|update| update.expires_ms).min().unwrap_or(i64::MAX);
        gone
    }

    /// Removes the updates below the offset of a `getUpdates` call; returns their numbers. `-N` keeps only the last N.
    pub fn confirm(&mut self, offset: i64) -> Vec<u64> {
        if offset <= 0 {
            let keep = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
            let surplus = if offset == 0 { 0 } else { self.waiting.len().saturating_sub(keep) };
            return std::iter::from_fn(|| self.remove_first()).take(surplus).collect();
        }
        let believed = offset <= self.next_id + MAX_AHEAD;
        if !believed && offset > self.highest().saturating_add(1 + MAX_AHEAD) {
            return Vec::new();
        }
        // An offset beyond the newest id follows an id from before a restart of ids, or a replayed one. It confirms
        // only updates that were delivered.
        let confirmed = |update: &QueuedUpdate| update.id < offset && (update.delivered || believed && !update.late);
        if !self.in_order {
            return self.remove_all(confirmed);
        }
        let mut gone = Vec::new();
        while self.waiting.first_key_value().is_some_and(|(_, first)| confirmed(first)) {
            gone.extend(self.remove_first());
        }
        gone
    }

    /// The next updates for a poller, marked as delivered.
    pub fn poll(&mut self, limit: usize, now_ms: i64) -> Vec<(i64, Bytes)> {
        let ready = self.waiting.values_mut().filter(|update| update.ready_ms <= now_ms).take(limit);
        ready
            .map(|update| {
                update.delivered = true;
                (update.id, update.json.clone())
            })
            .collect()
    }

    /// When the next delayed update becomes ready, if there is one.
    pub fn next_ready_ms(&self, now_ms: i64) -> Option<i64> {
        self.lanes.next_ready_ms(now_ms)
    }

    /// Takes the next updates for a webhook, at most one of each lane at a time.
    pub fn take_for_webhook(&mut self, most: usize, now_ms: i64) -> Vec<QueuedUpdate> {
        let numbers = self.lanes.take(most.saturating_sub(self.in_flight), now_ms);
        self.in_flight += numbers.len();
        let mut taken = Vec::with_capacity(numbers.len());
        for number in numbers {
            if let Some(update) = self.waiting.get_mut(&number) {
                update.in_flight = true;
                taken.push(update.clone());
            }
        }
        taken
    }

    /// Removes an update that a webhook accepted.
    pub fn delivered(&mut self, number: u64) {
        self.remove(number);
    }

    /// Schedules an update that a webhook did not accept again, at `ready_ms`.
    pub fn not_delivered(&mut self, number: u64, ready_ms: i64) {
        if let Some(update) = self.waiting.get_mut(&number).filter(|update| update.in_flight) {
            update.in_flight = false;
            update.attempts += 1;
            update.ready_ms = ready_ms;
            self.in_flight -= 1;
            self.lanes.put_back(update);
        }
    }

    /// Makes all updates deliverable again, after the webhook was changed or deleted.
    pub fn clear_in_flight(&mut self) {
        self.lanes = Lanes::default();
        self.in_flight = 0;
        for update in self.waiting.values_mut() {
            update.in_flight = false;
            if !update.late || update.attempts > 0 {
                update.ready_ms = 0;
            }
            self.lanes.add(update);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &QueuedUpdate> {
        self.waiting.values()
    }

    pub fn clear(&mut self) -> Vec<u64> {
        self.remove_all(|_| true)
    }

    fn highest(&self) -> i64 {
        self.waiting.values().map(|update| update.id).max().unwrap_or(0)
    }

    fn remove_all(&mut self, gone: impl Fn(&QueuedUpdate) -> bool) -> Vec<u64> {
        let numbers: Vec<u64> = self.waiting.values().filter(|it| gone(it)).map(|it| it.number).collect();
        for number in &numbers {
            self.remove(*number);
        }
        numbers
    }

    fn remove_first(&mut self) -> Option<u64> {
        let number = *self.waiting.first_key_value()?.0;
        self.remove(number).map(|update| update.number)
    }

    fn remove(&mut self, number: u64) -> Option<QueuedUpdate> {
        let update = self.waiting.remove(&number)?;
        self.in_flight -= usize::from(update.in_flight);
        self.lanes.remove(&update);
        Some(update)
    }
}
