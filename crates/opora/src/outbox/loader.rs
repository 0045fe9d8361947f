//! Reads rows back from the store: those that did not fit into memory, and those that an earlier instance has left.

use std::sync::Arc;
use std::time::Duration;

use super::courier::Shared;
use super::verdict::backoff;
use crate::store::{OutboxRow, Settled, Settlement};

const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// Why a message is not sent that was in the act and is to be sent once at most.
const MAY_BE_SENT: &str = "it may have been sent when an instance ended, and it is not to be sent twice";

/// Reads rows from the store whenever some are missing and there is room.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut failures = 0;
    loop {
        let page = shared.settings.page.clamp(1, shared.settings.max_rows.max(1));
        let after = {
            let mut lanes = shared.lanes.lock();
            let wanted = !lanes.is_draining() && lanes.memory.has_room(page);
            if wanted { lanes.memory.begin_page() } else { None }
        };
        let Some(after) = after else {
            shared.loader.notified().await;
            continue;
        };
        match shared.store.unsent(shared.bot, after, page).await {
            Ok(rows) => {
                failures = 0;
                let unsure = shared.lanes.lock().take_page(rows, page);
                unsure.into_iter().for_each(|row| drop_unsure(&shared, row));
                shared.ready.notify_one();
                shared.urgent.notify_one();
                shared.show_waiting();
            }
            Err(error) => {
                shared.lanes.lock().memory.abandon_page(after);
                if error.ends_the_lease() {
                    return shared.fenced();
                }
                failures += 1;
                if failures == 1 {
                    tracing::warn!(bot = shared.bot, %error, "cannot read the outbox; trying on");
                }
                tokio::time::sleep(backoff(failures, LONGEST_WAIT)).await;
            }
        }
    }
}

fn drop_unsure(shared: &Shared, row: OutboxRow) {
    shared.tell_failed(&row, MAY_BE_SENT.into(), false);
    shared.settler.push(Settled { id: row.id, outcome: Settlement::Failed(MAY_BE_SENT.into()) });
}
