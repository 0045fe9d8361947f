//! Removes old notices that were sent, every night.

use std::time::Duration;

use opora::store::WriteError;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::notice;
use crate::application::App;
use crate::domain::Transaction;
use crate::jobs::{self, scheduled_job};

/// How long a notice is kept after it was written.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// How many rows one commit removes.
const BATCH_SIZE: u64 = 1_000;

scheduled_job! { pub PruneNotices = "old-notices" in jobs::DEFAULT }

/// The job.
pub async fn prune(app: App) -> anyhow::Result<()> {
    let before = app.clock.now().minus(MAX_AGE).0;
    let mut removed = 0;
    loop {
        let old = notice::Entity::find().filter(notice::Column::IsTold.eq(true));
        let old = old.filter(notice::Column::CreatedAt.lt(before)).order_by_asc(notice::Column::Id);
        let ids = old.select_only().column(notice::Column::Id).limit(BATCH_SIZE).into_tuple();
        let ids: Vec<i64> = ids.all(app.domain.read()).await?;
        let count = ids.len() as u64;
        if count > 0 {
            app.domain.write(move |db| Box::pin(remove(db, ids))).await?;
            removed += count;
        }
        if count < BATCH_SIZE {
            tracing::debug!(removed, "old notices removed");
            return Ok(());
        }
    }
}

async fn remove(db: &Transaction<'_, '_>, ids: Vec<i64>) -> Result<(), WriteError> {
    notice::Entity::delete_many().filter(notice::Column::Id.is_in(ids)).exec(db).await?;
    Ok(())
}
