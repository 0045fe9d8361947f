//! The numbers of changes that were seen of one bot's rooms, and how they stood a moment ago.
//!
//! Each room has two: one counts its writes, the other what any instance has delivered there.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::BotRecord;
use crate::clock::Millis;
use crate::store::redis::keys::PARTITIONS;

/// What a server that writes its file each second may lose at most.
const EVERYSEC: Duration = Duration::from_secs(2);
/// How far apart the looks back are.
const LOOKS_BACK_EVERY: Duration = Duration::from_millis(250);

/// The writes of each partition; behind them, what was delivered to each.
pub(in crate::store::redis) type Numbers = [i64; COUNTS];
const COUNTS: usize = 2 * PARTITIONS;

/// What was seen of one bot.
#[derive(Debug)]
pub(in crate::store::redis) struct Seen {
    counts: [AtomicI64; COUNTS],
    top: AtomicI64,
    last: AtomicI64,
    looked: AtomicI64,
    // The numbers at some times, the oldest first: the newest that is old enough, and all younger ones.
    before: Mutex<VecDeque<(Millis, Numbers)>>,
}

impl Seen {
    /// As it was kept.
    pub(in crate::store::redis) fn of(record: &BotRecord, now: Millis) -> Self {
        let numbers = |from: &[i64]| std::array::from_fn(|at| from.get(at).copied().unwrap_or_default());
        let commits: Numbers = numbers(&record.commits);
        let settled: Numbers = numbers(&record.settled);
        let at = if record.at.0 > 0 { record.at } else { now };
        Self {
            counts: commits.map(AtomicI64::new),
            top: AtomicI64::new(record.top),
            last: AtomicI64::new(at.0),
            looked: AtomicI64::new(at.0),
            before: Mutex::new([(at.minus(EVERYSEC), settled)].into()),
        }
    }

    /// A room answered that it has had so many writes.
    pub(in crate::store::redis) fn note(&self, partition: usize, number: i64, now: Millis) {
        self.count(partition, number, now);
    }

    /// A room answered that so much was delivered to it.
    pub(in crate::store::redis) fn note_delivered(&self, partition: usize, number: i64, now: Millis) {
        self.count(PARTITIONS + partition, number, now);
    }

    fn count(&self, place: usize, number: i64, now: Millis) {
        let looked = self.looked.load(Ordering::Acquire);
        if now.since(Millis(looked)) >= LOOKS_BACK_EVERY
            && self.looked.compare_exchange(looked, now.0, Ordering::AcqRel, Ordering::Acquire).is_ok()
        {
            self.look_back(now);
        }
        // Answers of calls that were on their way together come in any order.
        self.counts[place].fetch_max(number, Ordering::AcqRel);
        self.last.fetch_max(now.0, Ordering::AcqRel);
    }

    /// All numbers as the server has them now.
    pub(in crate::store::redis) fn note_found(&self, numbers: &[i64], now: Millis) {
        numbers.iter().take(COUNTS).enumerate().for_each(|(place, number)| self.count(place, *number, now));
    }

    /// Somebody else has seen these numbers, and the server still says so now.
    pub(in crate::store::redis) fn note_view(&self, numbers: &[i64], top: i64, now: Millis) {
        self.note_version(top);
        let ours = self.numbers();
        let pairs = || numbers.iter().zip(ours);
        if pairs().any(|(theirs, ours)| *theirs > ours) {
            self.note_found(numbers, now);
        } else if pairs().all(|(theirs, ours)| *theirs == ours) {
            self.settle(now);
        }
    }

    /// What was seen at the last change is still there: once it is old enough, a server does not lose it any more.
    fn settle(&self, now: Millis) {
        let last = Millis(self.last.load(Ordering::Acquire));
        if now.since(last) >= EVERYSEC && self.record().settled != self.numbers() {
            self.before.lock().push_back((last, self.numbers()));
            self.last.fetch_max(now.0, Ordering::AcqRel);
        }
    }

    /// A conversation had this version.
    pub(in crate::store::redis) fn note_version(&self, version: i64) {
        self.top.fetch_max(version, Ordering::AcqRel);
    }

    /// The highest version that a conversation had.
    pub(in crate::store::redis) fn top(&self) -> i64 {
        self.top.load(Ordering::Acquire)
    }

    /// How many writes a room has had at least.
    pub(in crate::store::redis) fn least(&self, partition: usize) -> i64 {
        self.counts[partition].load(Ordering::Acquire)
    }

    /// How much was delivered to a room at least.
    pub(in crate::store::redis) fn least_delivered(&self, partition: usize) -> i64 {
        self.counts[PARTITIONS + partition].load(Ordering::Acquire)
    }

    pub(in crate::store::redis) fn record(&self) -> BotRecord {
        let last = Millis(self.last.load(Ordering::Acquire));
        let old_enough = last.minus(EVERYSEC);
        let before = self.before.lock();
        let settled = before.iter().rev().find(|(at, _)| *at <= old_enough).or(before.front());
        BotRecord {
            commits: self.numbers().to_vec(),
            settled: settled.map(|(_, numbers)| numbers.to_vec()).unwrap_or_default(),
            top: self.top(),
            at: last,
        }
    }

    fn numbers(&self) -> Numbers {
        std::array::from_fn(|place| self.counts[place].load(Ordering::Acquire))
    }

    fn look_back(&self, now: Millis) {
        let mut before = self.before.lock();
        before.push_back((now, self.numbers()));
        while before.get(1).is_some_and(|(at, _)| *at <= now.minus(EVERYSEC)) {
            before.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_known_what_stood_two_seconds_before_the_last_change() {
        let seen = Seen::of(&BotRecord::default(), Millis(1_000));
        for step in 0..40 {
            seen.note(3, step + 1, Millis(1_000 + step * 100));
        }
        let record = seen.record();
        assert_eq!((record.commits[3], record.at), (40, Millis(4_900)));
        assert!((15..=20).contains(&record.settled[3]), "{}", record.settled[3]);
        assert!(seen.before.lock().len() < 12);
        let again = Seen::of(&record, Millis(99_000)).record();
        assert_eq!(again, record, "a restart changes nothing");
    }

    #[test]
    fn what_a_lease_says_for_long_enough_is_not_recent_any_more() {
        let seen = Seen::of(&BotRecord::default(), Millis(0));
        let view = [5; COUNTS];
        for (now, settled) in [(10_000, 0), (11_000, 0), (12_000, 5), (30_000, 5)] {
            seen.note_view(&view, 3, Millis(now));
            let record = seen.record();
            assert_eq!((record.commits[0], record.settled[0], record.top), (5, settled, 3), "at {now}");
        }
        assert_eq!(seen.record().at, Millis(12_000), "what is no news is not noted each time");
    }

    #[test]
    fn answers_may_come_in_any_order() {
        let seen = Seen::of(&BotRecord::default(), Millis(0));
        [5, 7, 6].iter().for_each(|number| seen.note(0, *number, Millis(1)));
        assert_eq!(seen.least(0), 7);
    }
}
