//! Reads rows back from the store: those that did not fit into memory, and those that an earlier instance has left.

use std::sync::Arc;

use super::courier::Shared;
use crate::store::{OutboxRow, Settled, Settlement};

/// Why a message is not sent that was in the act and is to be sent once at most.
const MAY_BE_SENT: &str = "it may have been sent when an instance ended, and it is not to be sent twice";

/// Reads rows from the store whenever some are missing and there is room.
pub(super) async fn run(shared: Arc<Shared>) {
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
        let rows = shared.persist("read rows", || shared.store.unsent(shared.bot, after, page)).await;
        let unsure = shared.lanes.lock().take_page(rows, page);
        unsure.into_iter().for_each(|row| drop_unsure(&shared, row));
        shared.ready.notify_one();
        shared.urgent.notify_one();
        shared.show_waiting();
    }
}

fn drop_unsure(shared: &Shared, row: OutboxRow) {
    shared.tell_failed(&row, MAY_BE_SENT.into(), false);
    shared.settler.push(Settled { id: row.id, outcome: Settlement::Failed(MAY_BE_SENT.into()) });
}
