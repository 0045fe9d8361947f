//! Updates that wait for the bot.
//!
//! Ids rise by one from a random start. A message waits for 24 hours, a callback query for 150 seconds; above 100,000
//! waiting updates new ones are dropped. What a fault delays, repeats or holds back is marked late and survives the
//! confirmation of higher ids, for a fault must not lose anything by itself.
//!
//! An id may come twice, so a waiting update is known by a number of its own, in the order of coming. No call looks at
//! all that waits, unless ids went back or something is late.

mod lanes;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use self::lanes::Lanes;
use super::update::{AllowedUpdates, UpdateKind};

/// No id is above this: clients read numbers as 64-bit floats.
pub const MAX_ID: i64 = 1 << 52;
const MAX_WAITING: usize = 100_000;
/// An offset further ahead than this is not believed.
const MAX_AHEAD: i64 = 10;
/// Like Telegram's, the first id is a random number of nine digits.
const FIRST_IDS: std::ops::Range<i64> = 100_000_000..999_000_000;

/// Within a lane updates are delivered in order; Telegram promises no order between lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Lane {
    Chat(i64),
    Presses(i64),
}

#[derive(Clone, Debug)]
pub struct Queued {
    /// Its place in the queue; given when it is pushed.
    pub number: u64,
    pub id: i64,
    pub kind: UpdateKind,
    pub lane: Lane,
    pub expires_ms: i64,
    /// Not before this moment: a fault's delay or a webhook's backoff.
    pub ready_ms: i64,
    /// Put here by a fault: lives until it was delivered once, whatever was confirmed.
    pub late: bool,
    pub delivered: bool,
    pub in_flight: bool,
    pub attempts: u32,
    /// The whole `Update`.
    pub json: Bytes,
}

#[derive(Debug)]
pub struct Queue {
    waiting: BTreeMap<u64, Queued>,
    next_number: u64,
    next_id: i64,
    lanes: Lanes,
    in_flight: usize,
    /// Nothing expires before this moment.
    first_expiry_ms: i64,
    /// Every id is above the one before and nothing is late: what an offset confirms stands at the head.
    in_order: bool,
    /// Held back until an update comes that may go ahead: of this chat, or of any.
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

impl Queued {
    /// An update that came now.
    pub fn new(id: i64, kind: UpdateKind, lane: Lane, now_ms: i64, json: Bytes) -> Self {
        Self {
            number: 0,
            id,
            kind,
            lane,
            expires_ms: now_ms + kind.life_ms(),
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

    /// Whether one more may wait; if not, it is dropped, as by Telegram.
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

    /// Telegram may begin anew with a lower id after a week of silence.
    pub fn restart_ids(&mut self) {
        self.next_id = fastrand::i64(1..self.next_id.max(2));
    }

    /// Puts an update behind all others; gives it back with its number.
    pub fn push(&mut self, update: Queued) -> &Queued {
        let number = self.next_number;
        self.next_number += 1;
        let update = Queued { number, ..update };
        let last = self.waiting.last_key_value().map_or(0, |(_, last)| last.id);
        self.in_order = (self.in_order || self.waiting.is_empty()) && !update.late && last < update.id;
        self.first_expiry_ms = self.first_expiry_ms.min(update.expires_ms);
        self.lanes.add(&update);
        self.waiting.entry(number).or_insert(update)
    }

    /// Holds an update back until one of this chat, or of any, goes ahead of it.
    pub fn hold(&mut self, number: u64, chat: Option<i64>) {
        self.held.push((number, chat));
    }

    /// Takes out what an update of this chat goes ahead of; to be pushed again behind it.
    pub fn take_held(&mut self, chat: i64) -> Vec<Queued> {
        if self.held.is_empty() {
            return Vec::new();
        }
        let on_hold = |update: &Queued| !update.delivered && !update.in_flight;
        self.held.retain(|(number, _)| self.waiting.get(number).is_some_and(on_hold));
        let goes = |(_, only): &mut (u64, Option<i64>)| only.is_none_or(|only| only == chat);
        let numbers: Vec<u64> = self.held.extract_if(.., goes).map(|(number, _)| number).collect();
        let let_go = numbers.into_iter().filter_map(|number| self.remove(number));
        let_go.map(|update| Queued { ready_ms: 0, ..update }).collect()
    }

    /// Forgets what has expired; says which.
    pub fn expire(&mut self, now_ms: i64) -> Vec<u64> {
        if now_ms < self.first_expiry_ms {
            return Vec::new();
        }
        let gone = self.remove_all(|update| update.expires_ms <= now_ms);
        self.first_expiry_ms = self.waiting.values().map(|update| update.expires_ms).min().unwrap_or(i64::MAX);
        gone
    }

    /// Confirms what lies below the offset of a `getUpdates` call; says which. `-N` keeps the last N only.
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
        // Beyond the newest id it follows one from before the ids restarted, or a replayed one, and says nothing of
        // what the bot has not seen.
        let confirmed = |update: &Queued| update.id < offset && (update.delivered || believed && !update.late);
        if !self.in_order {
            return self.remove_all(confirmed);
        }
        let mut gone = Vec::new();
        while self.waiting.first_key_value().is_some_and(|(_, first)| confirmed(first)) {
            gone.extend(self.remove_first());
        }
        gone
    }

    /// The next updates for a poller, marked delivered.
    pub fn poll(&mut self, limit: usize, now_ms: i64) -> Vec<(i64, Bytes)> {
        let ready = self.waiting.values_mut().filter(|update| update.ready_ms <= now_ms).take(limit);
        ready
            .map(|update| {
                update.delivered = true;
                (update.id, update.json.clone())
            })
            .collect()
    }

    /// When the next delayed update becomes ready, if one is delayed.
    pub fn next_ready_ms(&self, now_ms: i64) -> Option<i64> {
        self.lanes.next_ready_ms(now_ms)
    }

    /// Takes the next updates for a webhook: one a lane, those before it delivered.
    pub fn take_for_webhook(&mut self, most: usize, now_ms: i64) -> Vec<Queued> {
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

    /// A webhook took the update.
    pub fn delivered(&mut self, number: u64) {
        self.remove(number);
    }

    /// A webhook did not take the update: again at `ready_ms`.
    pub fn not_delivered(&mut self, number: u64, ready_ms: i64) {
        if let Some(update) = self.waiting.get_mut(&number).filter(|update| update.in_flight) {
            update.in_flight = false;
            update.attempts += 1;
            update.ready_ms = ready_ms;
            self.in_flight -= 1;
            self.lanes.put_back(update);
        }
    }

    /// Nothing is under way any more: the webhook was set anew or taken off.
    pub fn land_all(&mut self) {
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

    pub fn iter(&self) -> impl Iterator<Item = &Queued> {
        self.waiting.values()
    }

    pub fn clear(&mut self) -> Vec<u64> {
        self.remove_all(|_| true)
    }

    fn highest(&self) -> i64 {
        self.waiting.values().map(|update| update.id).max().unwrap_or(0)
    }

    fn remove_all(&mut self, gone: impl Fn(&Queued) -> bool) -> Vec<u64> {
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

    fn remove(&mut self, number: u64) -> Option<Queued> {
        let update = self.waiting.remove(&number)?;
        self.in_flight -= usize::from(update.in_flight);
        self.lanes.remove(&update);
        Some(update)
    }
}
