//! Settles what an earlier holder of the lease has sent and not settled.

use std::collections::BTreeMap;
use std::time::Duration;

use super::files::Record;
use crate::clock::Millis;
use crate::store::{Epoch, OutboxId, Settled, Settlement, Store, StoreError, StoreResult};

/// How many rows are read and settled in one step.
const BATCH: usize = 1000;
/// How often a store is asked, and the pause in between: shorter than a lease, longer than a broken connection takes.
const TRIES: usize = 4;
const PAUSE: Duration = Duration::from_millis(300);

/// Settles those of the logged rows that still wait. A row that does not wait is settled, perhaps by another machine that has
/// sent it again: then its label names a later message.
pub(super) async fn settle_waiting(store: &dyn Store, bot: i64, epoch: Epoch, records: Vec<Record>) -> StoreResult<()> {
    let mut logged: BTreeMap<OutboxId, i64> = records.iter().map(|record| (record.id, record.message)).collect();
    while let Some((first, _)) = logged.first_key_value() {
        let before = OutboxId(first.0.saturating_sub(1));
        let rows = patiently(|| store.unsent(bot, before, BATCH)).await?;
        let read_to = rows.last().map(|row| row.id).filter(|_| rows.len() >= BATCH);
        let mut settled = Vec::new();
        let mut at = Millis::default();
        for row in rows {
            let Some(message) = logged.remove(&row.id) else { continue };
            let label = row.outgoing.chat.zip(row.outgoing.label).filter(|_| message != 0);
            let labelled = label.map(|(chat, label)| (chat, label, message));
            settled.push(Settled { id: row.id, outcome: Settlement::Sent { labelled } });
            at = at.max(row.at);
        }
        if !settled.is_empty() {
            patiently(|| store.settle(epoch, settled.clone(), at)).await?;
        }
        logged = read_to.map(|read_to| logged.split_off(&read_to)).unwrap_or_default();
    }
    Ok(())
}

/// Asks a store a few times. A connection that breaks now must not make everything be sent again.
async fn patiently<T, F: Future<Output = StoreResult<T>>>(ask: impl Fn() -> F) -> StoreResult<T> {
    for _ in 1..TRIES {
        match ask().await {
            Err(StoreError::Unavailable(_)) => tokio::time::sleep(PAUSE).await,
            answer => return answer,
        }
    }
    ask().await
}
