//! How many jobs of each queue may start now.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::QueueSettings;
use crate::clock::Millis;

/// The queues of a runner.
#[derive(Debug)]
pub(super) struct Queues(BTreeMap<Box<str>, Queue>);

#[derive(Debug)]
struct Queue {
    settings: QueueSettings,
    running: usize,
    allowance: Option<Allowance>,
}

/// Counts the starts within the time of a rate.
#[derive(Debug)]
struct Allowance {
    max: usize,
    within: Duration,
    /// The latest starts, at most `max`.
    starts: VecDeque<Millis>,
}

impl Allowance {
    /// The jobs of the former leader count as if they had started evenly until now.
    fn new((max, within): (u32, Duration), now: Millis) -> Self {
        let max = max.max(1);
        let starts = (0..max).map(|number| now.minus(within * number / max)).rev().collect();
        Self { max: max as usize, within, starts }
    }

    /// How many jobs may start.
    fn room(&mut self, now: Millis) -> usize {
        let over = now.minus(self.within);
        while self.starts.front().is_some_and(|start| *start <= over) {
            self.starts.pop_front();
        }
        self.max.saturating_sub(self.starts.len())
    }

    /// How long until the next job may start; none if it may start now.
    fn wait(&self, now: Millis) -> Option<Duration> {
        let first = self.starts.front().filter(|_| self.starts.len() >= self.max)?;
        Some(first.plus(self.within).since(now).max(Duration::from_millis(1)))
    }
}

impl Queues {
    pub(super) fn new(settings: &BTreeMap<Box<str>, QueueSettings>, now: Millis) -> Self {
        let queue = |settings: &QueueSettings| {
            let allowance = settings.rate.map(|rate| Allowance::new(rate, now));
            Queue { settings: *settings, running: 0, allowance }
        };
        Self(settings.iter().map(|(name, settings)| (name.clone(), queue(settings))).collect())
    }

    /// The queues in which jobs may start, and how many of each.
    pub(super) fn room(&mut self, now: Millis) -> Vec<(Box<str>, usize)> {
        let room = |queue: &mut Queue| {
            let mut room = queue.settings.concurrency.max(1).saturating_sub(queue.running);
            if let Some(allowance) = &mut queue.allowance {
                room = room.min(allowance.room(now));
            }
            room
        };
        let rooms = self.0.iter_mut().map(|(name, queue)| (name.clone(), room(queue)));
        rooms.filter(|(_, room)| *room > 0).collect()
    }

    pub(super) fn started(&mut self, queue: &str, now: Millis) {
        if let Some(queue) = self.0.get_mut(queue) {
            queue.running += 1;
            if let Some(allowance) = &mut queue.allowance {
                allowance.starts.push_back(now);
            }
        }
    }

    pub(super) fn ended(&mut self, queue: &str) {
        if let Some(queue) = self.0.get_mut(queue) {
            queue.running = queue.running.saturating_sub(1);
        }
    }

    /// How long until a rate allows another job to start; none if no rate holds one back.
    pub(super) fn next_allowance(&self, now: Millis) -> Option<Duration> {
        let waits = self.0.values().filter(|queue| queue.running < queue.settings.concurrency);
        waits.filter_map(|queue| queue.allowance.as_ref()?.wait(now)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::NOON;

    fn queues(settings: QueueSettings) -> Queues {
        Queues::new(&BTreeMap::from([("mail".into(), settings)]), NOON)
    }

    fn start_all(queues: &mut Queues, now: Millis) -> usize {
        let room = queues.room(now).first().map_or(0, |(_, room)| *room);
        (0..room).for_each(|_| queues.started("mail", now));
        room
    }

    #[test]
    fn a_queue_has_room_up_to_its_concurrency() {
        let mut queues = queues(QueueSettings::concurrency(3));
        assert_eq!(start_all(&mut queues, NOON), 3);
        assert!(queues.room(NOON).is_empty());
        queues.ended("mail");
        assert_eq!(start_all(&mut queues, NOON), 1);
    }

    #[test]
    fn a_rate_holds_from_the_first_moment() {
        let mut queues = queues(QueueSettings::concurrency(100).rate(10, Duration::from_secs(1)));
        assert_eq!(start_all(&mut queues, NOON), 0);
        assert_eq!(queues.next_allowance(NOON), Some(Duration::from_millis(100)));
        let mut started = 0;
        for step in 1..=100 {
            started += start_all(&mut queues, NOON.plus(Duration::from_millis(100 * step)));
        }
        assert_eq!(started, 100);
    }

    #[test]
    fn a_rate_is_never_exceeded_after_a_quiet_time() {
        let mut queues = queues(QueueSettings::concurrency(100).rate(10, Duration::from_secs(1)));
        let quiet = NOON.plus(Duration::from_secs(60));
        assert_eq!(start_all(&mut queues, quiet), 10);
        assert_eq!(start_all(&mut queues, quiet.plus(Duration::from_millis(999))), 0);
        assert_eq!(start_all(&mut queues, quiet.plus(Duration::from_secs(1))), 10);
    }
}
