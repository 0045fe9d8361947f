//! How many jobs of each queue may start now.

use std::collections::BTreeMap;
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

/// A token bucket. It begins empty, so that a new leader does not exceed the rate together with the former one.
#[derive(Debug)]
struct Allowance {
    jobs: f64,
    per_ms: f64,
    max: f64,
    at: Millis,
}

impl Allowance {
    fn new((jobs, within): (u32, Duration), at: Millis) -> Self {
        let max = f64::from(jobs.max(1));
        Self { jobs: 0.0, per_ms: max / (within.as_secs_f64() * 1000.0).max(1.0), max, at }
    }

    fn refill(&mut self, now: Millis) {
        let passed = now.since(self.at).as_secs_f64() * 1000.0;
        self.jobs = (self.jobs + passed * self.per_ms).min(self.max);
        self.at = self.at.max(now);
    }

    /// How long until the next job may start.
    fn wait(&self) -> Duration {
        Duration::from_secs_f64(((1.0 - self.jobs) / self.per_ms / 1000.0).clamp(0.001, 3600.0))
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
                allowance.refill(now);
                // The fraction of a job is not enough.
                room = room.min(allowance.jobs as usize);
            }
            room
        };
        let rooms = self.0.iter_mut().map(|(name, queue)| (name.clone(), room(queue)));
        rooms.filter(|(_, room)| *room > 0).collect()
    }

    pub(super) fn started(&mut self, queue: &str) {
        if let Some(queue) = self.0.get_mut(queue) {
            queue.running += 1;
            if let Some(allowance) = &mut queue.allowance {
                allowance.jobs -= 1.0;
            }
        }
    }

    pub(super) fn ended(&mut self, queue: &str) {
        if let Some(queue) = self.0.get_mut(queue) {
            queue.running = queue.running.saturating_sub(1);
        }
    }

    /// How long until a rate allows another job to start; none if no rate holds one back.
    pub(super) fn next_allowance(&self) -> Option<Duration> {
        let waits = self.0.values().filter(|queue| queue.running < queue.settings.concurrency);
        waits.filter_map(|queue| queue.allowance.as_ref()).filter(|all| all.jobs < 1.0).map(Allowance::wait).min()
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
        (0..room).for_each(|_| queues.started("mail"));
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
        assert_eq!(queues.next_allowance(), Some(Duration::from_millis(100)));
        let mut started = 0;
        for step in 1..=100 {
            started += start_all(&mut queues, NOON.plus(Duration::from_millis(100 * step)));
        }
        assert_eq!(started, 100);
    }
}
