//! Reads rows from the store: those that did not fit into memory, and those of earlier instances.

use std::sync::Arc;

use super::courier::Shared;
use crate::store::{OutboxRow, Settled, Settlement};

/// Reason of a failed row that an earlier instance may have sent and that must not be sent twice.
const MAY_HAVE_BEEN_SENT: &str = "an earlier instance may have sent it, and it must not be sent twice";

/// Reads rows from the store whenever some are missing and there is room.
pub(super) async fn run(shared: Arc<Shared>) {
    loop {
        let page = shared.settings.page.clamp(1, shared.settings.max_rows.max(1));
        let after = {
            let mut lanes = shared.lanes.lock();
            let can_read = !lanes.is_draining() && lanes.loaded.has_room(page);
            if can_read { lanes.loaded.begin_page() } else { None }
        };
        let Some(after) = after else {
            shared.loader.notified().await;
            continue;
        };
        let rows = shared.retry_store("read rows", || shared.store.unsent(shared.bot, after, page)).await;
        let unsure = shared.lanes.lock().take_page(rows, page);
        unsure.into_iter().for_each(|row| drop_unsure(&shared, row));
        shared.ready.notify_one();
        shared.urgent.notify_one();
        shared.update_waiting_gauge();
    }
}

fn drop_unsure(shared: &Shared, row: OutboxRow) {
    shared.report_failed(&row, MAY_HAVE_BEEN_SENT.into(), false);
    shared.settler.push(Settled { id: row.id, outcome: Settlement::Failed(MAY_HAVE_BEEN_SENT.into()) });
}
