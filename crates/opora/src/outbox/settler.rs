//! Tells the store what became of rows, as many at once as there are.
//!
//! No lane waits for this: the next row goes while the last is being settled. What cannot be told now is kept and told
//! later; if the process ends before, the next instance sends those rows again.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::courier::Shared;
use super::verdict::backoff;
use crate::failpoints;
use crate::store::{Settled, Settlement, StoreError};

/// So many rows go to the store in one step.
const BATCH: usize = 1000;
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// What is to be told.
#[derive(Debug, Default)]
pub(super) struct Settler {
    queue: Mutex<Queue>,
    some: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    rows: Vec<Settled>,
    is_telling: bool,
}

impl Settler {
    pub fn push(&self, settled: Settled) {
        self.queue.lock().rows.push(settled);
        self.some.notify_one();
    }

    /// Everything is told.
    pub fn is_idle(&self) -> bool {
        let queue = self.queue.lock();
        queue.rows.is_empty() && !queue.is_telling
    }

    fn take(&self) -> Vec<Settled> {
        let mut queue = self.queue.lock();
        let batch = if queue.rows.len() > BATCH {
            let rest = queue.rows.split_off(BATCH);
            std::mem::replace(&mut queue.rows, rest)
        } else {
            std::mem::take(&mut queue.rows)
        };
        queue.is_telling = !batch.is_empty();
        batch
    }
}

/// Settles rows for as long as the courier works.
pub(super) async fn run(shared: Arc<Shared>) {
    loop {
        let batch = shared.settler.take();
        if batch.is_empty() {
            shared.progress.notify_waiters();
            shared.settler.some.notified().await;
            continue;
        }
        if !tell(&shared, &batch).await {
            return shared.fenced();
        }
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

/// Tells the store until it has heard; false if another instance has taken over.
async fn tell(shared: &Shared, batch: &[Settled]) -> bool {
    let mut failures = 0;
    loop {
        match shared.store.settle(shared.epoch, batch.to_vec()).await {
            Ok(()) => return true,
            Err(StoreError::Fenced { .. }) => return false,
            Err(error) => {
                failures += 1;
                if failures == 1 {
                    tracing::warn!(bot = shared.bot, rows = batch.len(), %error, "cannot settle sent rows; trying on");
                }
                tokio::time::sleep(backoff(failures, LONGEST_WAIT)).await;
            }
        }
    }
}
