//! Stores the results of sends, in batches.
//!
//! No lane waits for this: the next row is sent while the last is settled. Results are kept until the store has them.
//! If the process ends before, the sent log tells the next instance on this machine; an instance on another machine
//! sends the rows again.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::courier::Shared;
use crate::failpoints;
use crate::store::{Settled, Settlement};

/// How many rows are settled at once.
const BATCH: usize = 1000;

/// The results of sends: first written to the sent log, then settled.
#[derive(Debug, Default)]
pub(super) struct Settler {
    sent: Stage,
    logged: Stage,
}

/// Rows that wait for a stage.
#[derive(Debug, Default)]
struct Stage {
    queue: Mutex<Queue>,
    added: Notify,
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

    /// Whether all results are stored.
    pub fn is_idle(&self) -> bool {
        // In this order: a row is in the second stage before it leaves the first.
        self.sent.is_idle() && self.logged.is_idle()
    }
}

impl Stage {
    fn push(&self, settled: impl IntoIterator<Item = Settled>) {
        self.queue.lock().rows.extend(settled);
        self.added.notify_one();
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

/// Writes results to the sent log while the courier runs.
pub(super) async fn run_sent_log(shared: Arc<Shared>) {
    let Settler { sent, logged } = &shared.settler;
    loop {
        let batch = sent.take();
        if batch.is_empty() {
            sent.added.notified().await;
            continue;
        }
        if let Err(error) = shared.store.log_sent(shared.epoch, &batch).await {
            // They are settled in a moment. Only if the process is killed before that, they are sent again.
            tracing::debug!(bot = shared.bot, %error, "cannot write the sent log");
        }
        logged.push(batch);
    }
}

/// Settles rows while the courier runs.
pub(super) async fn run(shared: Arc<Shared>) {
    let logged = &shared.settler.logged;
    loop {
        let batch = logged.take();
        if batch.is_empty() {
            shared.progress.notify_waiters();
            logged.added.notified().await;
            continue;
        }
        shared
            .retry_store("settle rows", || shared.store.settle(shared.epoch, batch.clone(), shared.clock.now()))
            .await;
        failpoints::hit(failpoints::OUTBOX_AFTER_SETTLE).await;
        let is_final = |settled: &&Settled| !matches!(settled.outcome, Settlement::Moved { .. });
        let is_behind = {
            let mut lanes = shared.lanes.lock();
            lanes.loaded.settled(batch.iter().filter(is_final).map(|settled| settled.id));
            lanes.loaded.is_behind()
        };
        if is_behind {
            shared.loader.notify_one();
        }
        shared.update_waiting_gauge();
    }
}
