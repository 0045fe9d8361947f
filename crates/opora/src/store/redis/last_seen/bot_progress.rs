//! The counters that were seen of one bot, now and about two seconds ago.
//!
//! Each partition has two: writes under a lease, and inputs that any instance has delivered.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::BotRecord;
use crate::clock::Millis;
use crate::store::redis::keys::PARTITIONS;

/// The most that a server with `appendfsync everysec` may lose.
const EVERYSEC: Duration = Duration::from_secs(2);
/// The time between two snapshots of the counters.
const SNAPSHOT_INTERVAL: Duration = Duration::from_millis(250);

/// The number of writes by partition, then the number of delivered inputs by partition.
type Counts = [i64; COUNTS];
const COUNTS: usize = 2 * PARTITIONS;

/// The counters that were seen of one bot.
#[derive(Debug)]
pub(crate) struct BotProgress {
    counts: [AtomicI64; COUNTS],
    highest_version: AtomicI64,
    last_change: AtomicI64,
    last_snapshot: AtomicI64,
    // Earlier counters, oldest first: the newest snapshot that is old enough, and all younger ones.
    snapshots: Mutex<VecDeque<(Millis, Counts)>>,
}

impl BotProgress {
    pub(crate) fn new(record: &BotRecord, now: Millis) -> Self {
        let numbers = |from: &[i64]| std::array::from_fn(|at| from.get(at).copied().unwrap_or_default());
        let commits: Counts = numbers(&record.commits);
        let flushed: Counts = numbers(&record.flushed);
        let at = if record.at.0 > 0 { record.at } else { now };
        Self {
            counts: commits.map(AtomicI64::new),
            highest_version: AtomicI64::new(record.highest_version),
            last_change: AtomicI64::new(at.0),
            last_snapshot: AtomicI64::new(at.0),
            snapshots: Mutex::new([(at.minus(EVERYSEC), flushed)].into()),
        }
    }

    /// Notes the number of writes that a partition has reported.
    pub(crate) fn note(&self, partition: usize, number: i64, now: Millis) {
        self.count(partition, number, now);
    }

    /// Notes the number of delivered inputs that a partition has reported.
    pub(crate) fn note_delivered(&self, partition: usize, number: i64, now: Millis) {
        self.count(PARTITIONS + partition, number, now);
    }

    fn count(&self, place: usize, number: i64, now: Millis) {
        let last = self.last_snapshot.load(Ordering::Acquire);
        if now.since(Millis(last)) >= SNAPSHOT_INTERVAL
            && self.last_snapshot.compare_exchange(last, now.0, Ordering::AcqRel, Ordering::Acquire).is_ok()
        {
            self.take_snapshot(now);
        }
        // Answers of concurrent calls arrive in any order.
        self.counts[place].fetch_max(number, Ordering::AcqRel);
        self.last_change.fetch_max(now.0, Ordering::AcqRel);
    }

    /// Notes all counters as the server has them now.
    pub(crate) fn note_found(&self, numbers: &[i64], now: Millis) {
        numbers.iter().take(COUNTS).enumerate().for_each(|(place, number)| self.count(place, *number, now));
    }

    /// Notes counters that the leader has seen, as its lease says now.
    pub(crate) fn note_view(&self, numbers: &[i64], highest_version: i64, now: Millis) {
        self.note_version(highest_version);
        let ours = self.numbers();
        let pairs = || numbers.iter().zip(ours);
        if pairs().any(|(theirs, ours)| *theirs > ours) {
            self.note_found(numbers, now);
        } else if pairs().all(|(theirs, ours)| *theirs == ours) {
            self.note_unchanged(now);
        }
    }

    /// Notes that nothing has changed since the last change: once that is old enough, the server has flushed it.
    fn note_unchanged(&self, now: Millis) {
        let last = Millis(self.last_change.load(Ordering::Acquire));
        if now.since(last) >= EVERYSEC && self.record().flushed != self.numbers() {
            self.snapshots.lock().push_back((last, self.numbers()));
            self.last_change.fetch_max(now.0, Ordering::AcqRel);
        }
    }

    /// Notes the version of a conversation.
    pub(crate) fn note_version(&self, version: i64) {
        self.highest_version.fetch_max(version, Ordering::AcqRel);
    }

    /// The highest version that was seen of any conversation.
    pub(crate) fn highest_version(&self) -> i64 {
        self.highest_version.load(Ordering::Acquire)
    }

    /// How many writes of a partition were seen.
    pub(crate) fn writes_seen(&self, partition: usize) -> i64 {
        self.counts[partition].load(Ordering::Acquire)
    }

    /// How many inputs delivered to a partition were seen.
    pub(crate) fn deliveries_seen(&self, partition: usize) -> i64 {
        self.counts[PARTITIONS + partition].load(Ordering::Acquire)
    }

    pub(crate) fn record(&self) -> BotRecord {
        let last = Millis(self.last_change.load(Ordering::Acquire));
        let old_enough = last.minus(EVERYSEC);
        let snapshots = self.snapshots.lock();
        let flushed = snapshots.iter().rev().find(|(at, _)| *at <= old_enough).or(snapshots.front());
        BotRecord {
            commits: self.numbers().to_vec(),
            flushed: flushed.map(|(_, numbers)| numbers.to_vec()).unwrap_or_default(),
            highest_version: self.highest_version(),
            at: last,
        }
    }

    fn numbers(&self) -> Counts {
        std::array::from_fn(|place| self.counts[place].load(Ordering::Acquire))
    }

    fn take_snapshot(&self, now: Millis) {
        let mut snapshots = self.snapshots.lock();
        snapshots.push_back((now, self.numbers()));
        while snapshots.get(1).is_some_and(|(at, _)| *at <= now.minus(EVERYSEC)) {
            snapshots.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_before_the_last_two_seconds_are_known() {
        let progress = BotProgress::new(&BotRecord::default(), Millis(1_000));
        for step in 0..40 {
            progress.note(3, step + 1, Millis(1_000 + step * 100));
        }
        let record = progress.record();
        assert_eq!((record.commits[3], record.at), (40, Millis(4_900)));
        assert!((15..=20).contains(&record.flushed[3]), "{}", record.flushed[3]);
        assert!(progress.snapshots.lock().len() < 12);
        let reloaded = BotProgress::new(&record, Millis(99_000)).record();
        assert_eq!(reloaded, record, "a restart changes nothing");
    }

    #[test]
    fn unchanged_counters_count_as_flushed_after_a_while() {
        let progress = BotProgress::new(&BotRecord::default(), Millis(0));
        let view = [5; COUNTS];
        for (now, flushed) in [(10_000, 0), (11_000, 0), (12_000, 5), (30_000, 5)] {
            progress.note_view(&view, 3, Millis(now));
            let record = progress.record();
            assert_eq!((record.commits[0], record.flushed[0], record.highest_version), (5, flushed, 3), "at {now}");
        }
        assert_eq!(progress.record().at, Millis(12_000), "unchanged counters are noted once");
    }

    #[test]
    fn answers_may_come_in_any_order() {
        let progress = BotProgress::new(&BotRecord::default(), Millis(0));
        [5, 7, 6].iter().for_each(|number| progress.note(0, *number, Millis(1)));
        assert_eq!(progress.writes_seen(0), 7);
    }
}
