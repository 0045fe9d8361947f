//! Settles what an earlier leader has sent and not settled.

use std::collections::BTreeMap;
use std::time::Duration;

use super::files::Record;
use crate::clock::Millis;
use crate::store::{Epoch, OutboxId, Settled, Settlement, Store, StoreError, StoreResult};

/// Rows that are read and settled in one step.
const BATCH: usize = 1000;
/// Attempts, and the pause between them: shorter in total than a lease, longer than a reconnect takes.
const ATTEMPTS: usize = 4;
const PAUSE: Duration = Duration::from_millis(300);

/// Settles the logged rows that are still unsent. Other rows are settled already, perhaps after another machine sent
/// them again; then their label names a later message.
pub(super) async fn settle_waiting(store: &dyn Store, bot: i64, epoch: Epoch, records: Vec<Record>) -> StoreResult<()> {
    let mut logged: BTreeMap<OutboxId, i64> = records.iter().map(|record| (record.id, record.message)).collect();
    while let Some((first, _)) = logged.first_key_value() {
        let before = OutboxId(first.0.saturating_sub(1));
        let rows = with_retries(|| store.unsent(bot, before, BATCH)).await?;
        let read_to = rows.last().map(|row| row.id).filter(|_| rows.len() >= BATCH);
        let mut settled = Vec::new();
        let mut at = Millis::default();
        for row in rows {
            let Some(message) = logged.remove(&row.id) else { continue };
            let label = row.outgoing.chat.zip(row.outgoing.extras.label).filter(|_| message != 0);
            let labelled = label.map(|(chat, label)| (chat, label, message));
            settled.push(Settled { id: row.id, outcome: Settlement::Sent { labelled } });
            at = at.max(row.at);
        }
        if !settled.is_empty() {
            with_retries(|| store.settle(epoch, settled.clone(), at)).await?;
        }
        logged = read_to.map(|read_to| logged.split_off(&read_to)).unwrap_or_default();
    }
    Ok(())
}

/// Retries a store call, so that a broken connection does not cause everything to be sent again.
async fn with_retries<T, F: Future<Output = StoreResult<T>>>(ask: impl Fn() -> F) -> StoreResult<T> {
    for _ in 1..ATTEMPTS {
        match ask().await {
            Err(StoreError::Unavailable(_)) => tokio::time::sleep(PAUSE).await,
            answer => return answer,
        }
    }
    ask().await
}
