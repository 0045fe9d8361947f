//! Notes the ticks of schedules, and enqueues their jobs.
//!
//! The store has the last tick of each schedule. A tick and its jobs are one step, under the lease: so a tick is run
//! once, whichever instance led at its time.

use std::collections::HashMap;
use std::time::Duration;

use super::runner::JobRunner;
use crate::clock::Millis;
use crate::store::{StoreResult, Tick, enqueued_jobs};

/// A noted tick that is further in the future comes from a wrong clock. Without a limit its schedule would be silent
/// until then.
const LONGEST_AHEAD: Duration = Duration::from_secs(24 * 3600);

/// The ticks that this process knows of.
#[derive(Debug, Default)]
pub(super) struct Scheduler {
    /// The last noted tick of each schedule; none before they were read.
    noted: Option<HashMap<Box<str>, Millis>>,
}

impl Scheduler {
    /// Enqueues the jobs of all ticks until now. Returns the time of the next tick, and whether jobs were enqueued.
    pub(super) async fn tick(&mut self, runner: &JobRunner) -> StoreResult<(Option<Millis>, bool)> {
        if runner.schedules.is_empty() {
            return Ok((None, false));
        }
        let noted = match &mut self.noted {
            Some(noted) => noted,
            unread => unread.insert(runner.store.job_ticks(runner.bot).await?.into_iter().collect()),
        };
        let now = runner.clock.now();
        let mut next: Option<Millis> = None;
        let mut has_enqueued = false;
        for schedule in &*runner.schedules {
            let from = noted.get(schedule.name()).copied();
            let due = match from {
                // A new schedule begins now.
                None => Some((now, Vec::new())),
                Some(from) if from > now.plus(LONGEST_AHEAD) => {
                    let name = schedule.name();
                    tracing::warn!(
                        schedule = name,
                        noted = from.0,
                        "the noted tick is in the future: the clock was wrong"
                    );
                    Some((now, Vec::new()))
                }
                Some(from) => schedule.due(from, now),
            };
            let Some((to, ticks)) = due else {
                next = [next, from.and_then(|from| schedule.next_after(from))].into_iter().flatten().min();
                continue;
            };
            let jobs: Vec<_> = ticks.into_iter().map(|tick| schedule.job_at(tick)).collect();
            let tick = Tick { schedule: schedule.name().into(), from, to, now };
            if !runner.store.tick_jobs(runner.bot, runner.epoch, tick, jobs.clone()).await? {
                // The answer to an earlier attempt was lost.
                self.noted = None;
                return Ok((Some(now), true));
            }
            enqueued_jobs::count(enqueued_jobs::kinds(&jobs));
            has_enqueued |= !jobs.is_empty();
            noted.insert(schedule.name().into(), to);
            next = [next, schedule.next_after(to)].into_iter().flatten().min();
        }
        Ok((next, has_enqueued))
    }

    /// Reads the ticks again, because the answer to a tick was lost.
    pub(super) fn forget(&mut self) {
        self.noted = None;
    }
}
