//! Settles what an earlier holder of the lease has sent and had no time to settle.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{BATCH, Labelled};
use crate::clock::Millis;
use crate::store::{Epoch, OutboxId, Settled, Settlement, Store, StoreError, StoreResult};

/// How often that is tried, and the pause in between: shorter than a lease, longer than a connection that broke takes.
const TRIES: usize = 4;
const PAUSE: Duration = Duration::from_millis(300);

pub(super) fn sent(id: OutboxId, labelled: Option<(i64, Box<str>, i64)>) -> Settled {
    Settled { id, outcome: Settlement::Sent { labelled } }
}

/// Settles what was sent before.
pub(super) async fn settle(store: &dyn Store, epoch: Epoch, sent: Vec<Settled>, at: Millis) -> StoreResult<()> {
    patiently(|| store.settle(epoch, sent.clone(), at)).await
}

/// Settles what was sent before under labels. Only what still waits: of what does not, somebody else has sent it again since,
/// and its label names a later message.
pub(super) async fn settle_labelled(store: &dyn Store, bot: i64, epoch: Epoch, noted: &[Labelled]) -> StoreResult<()> {
    let mut noted: BTreeMap<OutboxId, i64> = noted.iter().map(|[id, message]| (OutboxId(*id), *message)).collect();
    while let Some((first, _)) = noted.first_key_value() {
        let before = OutboxId(first.0.saturating_sub(1));
        let rows = patiently(|| store.unsent(bot, before, BATCH)).await?;
        let read_to = rows.last().map(|row| row.id).filter(|_| rows.len() >= BATCH);
        let (mut settled, mut at) = (Vec::new(), Millis::default());
        for row in rows {
            if let Some(message) = noted.remove(&row.id) {
                let label = row.outgoing.chat.zip(row.outgoing.label).map(|(chat, label)| (chat, label, message));
                settled.push(sent(row.id, label));
                at = at.max(row.at);
            }
        }
        if !settled.is_empty() {
            settle(store, epoch, settled, at).await?;
        }
        noted = read_to.map(|read_to| noted.split_off(&read_to)).unwrap_or_default();
    }
    Ok(())
}

/// Asks a store a few times. A connection that breaks just now must not make all that was sent come again.
async fn patiently<T, F: Future<Output = StoreResult<T>>>(ask: impl Fn() -> F) -> StoreResult<T> {
    for _ in 1..TRIES {
        match ask().await {
            Err(StoreError::Unavailable(_)) => tokio::time::sleep(PAUSE).await,
            answer => return answer,
        }
    }
    ask().await
}
