//! Tells the store what became of rows, as many at once as there are.
//!
//! No lane waits for this: the next row goes while the last is being settled. What cannot be told now is kept and told
//! later. If the process ends before, the sent log tells the next instance on this machine; an instance on another machine
//! sends them again.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::courier::Shared;
use crate::failpoints;
use crate::store::{Settled, Settlement};

/// So many rows go to the store in one step.
const BATCH: usize = 1000;

/// What is to be told: first noted, so that an end of the process cannot take it, then settled.
#[derive(Debug, Default)]
pub(super) struct Settler {
    sent: Step,
    noted: Step,
}

/// Rows that wait for a step, and whether it works on some.
#[derive(Debug, Default)]
struct Step {
    queue: Mutex<Queue>,
    some: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    rows: Vec<Settled>,
    is_working: bool,
}

impl Settler {
    pub fn push(&self, settled: Settled) {
        self.sent.push([settled]);
    }

    /// Everything is told.
    pub fn is_idle(&self) -> bool {
        // In the order of the way: what leaves the first step is in the second before.
        self.sent.is_idle() && self.noted.is_idle()
    }
}

impl Step {
    fn push(&self, settled: impl IntoIterator<Item = Settled>) {
        self.queue.lock().rows.extend(settled);
        self.some.notify_one();
    }

    fn is_idle(&self) -> bool {
        let queue = self.queue.lock();
        queue.rows.is_empty() && !queue.is_working
    }

    fn take(&self) -> Vec<Settled> {
        let mut queue = self.queue.lock();
        let batch = if queue.rows.len() > BATCH {
            let rest = queue.rows.split_off(BATCH);
            std::mem::replace(&mut queue.rows, rest)
        } else {
            std::mem::take(&mut queue.rows)
        };
        queue.is_working = !batch.is_empty();
        batch
    }
}

/// Notes sends for as long as the courier works.
pub(super) async fn run_notes(shared: Arc<Shared>) {
    let Settler { sent, noted } = &shared.settler;
    loop {
        let batch = sent.take();
        if batch.is_empty() {
            sent.some.notified().await;
            continue;
        }
        if let Err(error) = shared.store.log_sent(shared.epoch, &batch).await {
            // They are settled in a moment: only a process that is killed before that would send them again.
            tracing::debug!(bot = shared.bot, %error, "cannot log what was sent");
        }
        noted.push(batch);
    }
}

/// Settles rows for as long as the courier works.
pub(super) async fn run(shared: Arc<Shared>) {
    let noted = &shared.settler.noted;
    loop {
        let batch = noted.take();
        if batch.is_empty() {
            shared.progress.notify_waiters();
            noted.some.notified().await;
            continue;
        }
        shared.persist("settle rows", || shared.store.settle(shared.epoch, batch.clone(), shared.clock.now())).await;
        failpoints::hit(failpoints::OUTBOX_AFTER_SETTLE).await;
        let is_final = |settled: &&Settled| !matches!(settled.outcome, Settlement::Moved { .. });
        let is_behind = {
            let mut lanes = shared.lanes.lock();
            lanes.memory.settled(batch.iter().filter(is_final).map(|settled| settled.id));
            lanes.memory.is_behind()
        };
        if is_behind {
            shared.loader.notify_one();
        }
        shared.show_waiting();
    }
}
