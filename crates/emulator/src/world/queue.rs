//! Updates that wait for the bot.
//!
//! Ids rise by one from a random start. A message waits for 24 hours, a callback query for 150 seconds; above 100,000
//! waiting updates new ones are dropped. What a fault delays or repeats is kept aside and survives the confirmation of
//! higher ids, for a fault must not lose anything by itself.

use std::collections::VecDeque;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::update::{AllowedUpdates, UpdateKind};

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
    waiting: VecDeque<Queued>,
    next_id: i64,
    pub allowed: AllowedUpdates,
    /// How many were dropped because too many waited.
    pub dropped: u64,
}

impl Default for Queue {
    fn default() -> Self {
        let next_id = fastrand::i64(FIRST_IDS);
        Self { waiting: VecDeque::new(), next_id, allowed: AllowedUpdates::default(), dropped: 0 }
    }
}

impl Queue {
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn next_id(&self) -> i64 {
        self.next_id
    }

    pub fn set_next_id(&mut self, id: i64) {
        self.next_id = id;
    }

    /// The id for a new update, if there is room for it.
    pub fn take_id(&mut self) -> Option<i64> {
        if self.waiting.len() >= MAX_WAITING {
            self.dropped += 1;
            return None;
        }
        self.next_id += 1;
        Some(self.next_id - 1)
    }

    /// Telegram may begin anew with a lower id after a week of silence.
    pub fn restart_ids(&mut self) {
        self.next_id = fastrand::i64(1..self.next_id.max(2));
    }

    pub fn push(&mut self, update: Queued) {
        self.waiting.push_back(update);
    }

    /// Lets the last two change places.
    pub fn swap_last(&mut self) {
        if let Some(last) = self.waiting.len().checked_sub(1).filter(|last| *last > 0) {
            self.waiting.swap(last - 1, last);
        }
    }

    /// Forgets what has expired; says which.
    pub fn expire(&mut self, now_ms: i64) -> Vec<i64> {
        if self.waiting.iter().all(|update| now_ms < update.expires_ms) {
            return Vec::new();
        }
        let (kept, gone): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.waiting).into_iter().partition(|update| now_ms < update.expires_ms);
        self.waiting = kept;
        gone.iter().map(|update| update.id).collect()
    }

    /// Confirms what lies below the offset of a `getUpdates` call; says which. `-N` keeps the last N only.
    pub fn confirm(&mut self, offset: i64) -> Vec<i64> {
        let below = match offset {
            0 => return Vec::new(),
            1.. if offset > self.next_id + MAX_AHEAD || offset < self.lowest() - MAX_WAITING as i64 => {
                return Vec::new();
            }
            1.. => offset,
            _ => {
                let keep = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX).min(self.waiting.len());
                return self.waiting.drain(..self.waiting.len() - keep).map(|update| update.id).collect();
            }
        };
        let confirmed = |update: &Queued| update.id < below && (update.delivered || !update.late);
        // The usual case: everything that is confirmed stands at the head.
        let mut gone = Vec::new();
        while let Some(update) = self.waiting.pop_front_if(|update| confirmed(update)) {
            gone.push(update.id);
        }
        if self.waiting.iter().any(confirmed) {
            gone.extend(self.waiting.iter().filter(|update| confirmed(update)).map(|update| update.id));
            self.waiting.retain(|update| !confirmed(update));
        }
        gone
    }

    /// The next updates for a poller, marked delivered.
    pub fn poll(&mut self, limit: usize, now_ms: i64) -> Vec<(i64, Bytes)> {
        let ready = self.waiting.iter_mut().filter(|update| update.ready_ms <= now_ms).take(limit);
        ready
            .map(|update| {
                update.delivered = true;
                (update.id, update.json.clone())
            })
            .collect()
    }

    /// When the next delayed update becomes ready, if one is delayed.
    pub fn next_ready_ms(&self, now_ms: i64) -> Option<i64> {
        self.waiting.iter().map(|update| update.ready_ms).filter(|ready| *ready > now_ms).min()
    }

    /// Takes the next updates for a webhook: one a lane, those before it delivered.
    pub fn take_for_webhook(&mut self, most: usize, now_ms: i64) -> Vec<Queued> {
        let in_flight: Vec<Lane> =
            self.waiting.iter().filter(|update| update.in_flight).map(|update| update.lane).collect();
        let room = most.saturating_sub(in_flight.len());
        let mut busy: std::collections::HashSet<Lane> = in_flight.into_iter().collect();
        let mut taken = Vec::new();
        for update in &mut self.waiting {
            if taken.len() == room {
                break;
            }
            // A lane whose first update waits for its next try waits with it; a fault's delay delays only itself.
            let free = !update.in_flight && (update.late || busy.insert(update.lane));
            if free && update.ready_ms <= now_ms {
                update.in_flight = true;
                taken.push(update.clone());
            }
        }
        taken
    }

    /// A webhook took the update.
    pub fn delivered(&mut self, id: i64) {
        if let Some(at) = self.waiting.iter().position(|update| update.id == id && update.in_flight) {
            self.waiting.remove(at);
        }
    }

    /// A webhook did not take the update: again at `ready_ms`.
    pub fn not_delivered(&mut self, id: i64, ready_ms: i64) {
        if let Some(update) = self.waiting.iter_mut().find(|update| update.id == id && update.in_flight) {
            update.in_flight = false;
            update.attempts += 1;
            update.ready_ms = ready_ms;
        }
    }

    /// Nothing is under way any more: the webhook was set anew or taken off.
    pub fn land_all(&mut self) {
        for update in &mut self.waiting {
            update.in_flight = false;
            if !update.late {
                update.ready_ms = 0;
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Queued> {
        self.waiting.iter()
    }

    /// Takes off what is known to be taken; for reading a journal.
    pub fn forget(&mut self, ids: &[i64]) {
        self.waiting.retain(|update| !ids.contains(&update.id));
    }

    pub fn clear(&mut self) -> Vec<i64> {
        self.waiting.drain(..).map(|update| update.id).collect()
    }

    fn lowest(&self) -> i64 {
        self.waiting.iter().map(|update| update.id).min().unwrap_or(self.next_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(ids: impl IntoIterator<Item = i64>) -> Queue {
        let mut queue = Queue::default();
        for id in ids {
            queue.set_next_id(id + 1);
            queue.push(update(id));
        }
        queue
    }

    fn update(id: i64) -> Queued {
        Queued {
            id,
            kind: UpdateKind::Message,
            lane: Lane::Chat(id % 2),
            expires_ms: 1000,
            ready_ms: 0,
            late: false,
            delivered: false,
            in_flight: false,
            attempts: 0,
            json: Bytes::new(),
        }
    }

    fn ids(queue: &mut Queue) -> Vec<i64> {
        queue.poll(100, 0).into_iter().map(|(id, _)| id).collect()
    }

    #[test]
    fn an_offset_confirms_what_is_below_it() {
        let mut queue = queue(10..15);
        assert_eq!(queue.confirm(12), [10, 11]);
        assert_eq!(ids(&mut queue), [12, 13, 14]);
    }

    #[test]
    fn a_negative_offset_keeps_the_last() {
        let mut queue = queue(10..15);
        queue.confirm(-2);
        assert_eq!(ids(&mut queue), [13, 14]);
    }

    #[test]
    fn an_offset_far_away_confirms_nothing() {
        let mut queue = queue(10..15);
        queue.confirm(15 + MAX_AHEAD + 1);
        assert_eq!(queue.len(), 5);
        queue.confirm(15 + MAX_AHEAD);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn a_late_update_survives_the_confirmation_of_higher_ids_until_it_was_delivered() {
        let mut queue = queue(10..12);
        queue.push(Queued { late: true, ready_ms: 500, ..update(9) });
        queue.set_next_id(12);
        assert_eq!(ids(&mut queue), [10, 11]);
        queue.confirm(12);
        assert_eq!(queue.poll(100, 500).len(), 1);
        queue.confirm(12);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn a_webhook_gets_one_update_a_lane_at_a_time() {
        let mut queue = queue(10..15);
        let taken = |queue: &mut Queue| queue.take_for_webhook(40, 0).iter().map(|it| it.id).collect::<Vec<_>>();
        assert_eq!(taken(&mut queue), [10, 11]);
        assert!(taken(&mut queue).is_empty());
        queue.delivered(10);
        queue.not_delivered(11, 700);
        assert_eq!(taken(&mut queue), [12]);
    }

    #[test]
    fn an_expired_update_is_forgotten() {
        let mut queue = queue(10..12);
        assert!(queue.expire(999).is_empty());
        assert_eq!(queue.expire(1000), [10, 11]);
    }
}
