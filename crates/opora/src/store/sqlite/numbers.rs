//! The numbers of inbox rows, outbox rows, effects, timers, parked turns and transitions.
//!
//! An epoch belongs to one lease of the whole file, and its numbers to one process, so they are counted in memory. A
//! block of them is reserved in the lease's row first: a process that opens its file anew goes on behind the block, and
//! no number is given twice, also if its row is gone by then.

use std::collections::HashMap;

use sqlx::{Row, SqliteConnection};

use crate::store::Epoch;

/// So many at once: a reservation is one statement in a million rows.
const BLOCK: i64 = 1 << 20;

/// The blocks in use.
#[derive(Debug, Default)]
pub(super) struct Numbers(HashMap<Epoch, Block>);

#[derive(Debug)]
struct Block {
    last: i64,
    end: i64,
}

impl Numbers {
    /// Sees to it that `wanted` numbers can be taken under this epoch.
    pub(super) async fn reserve(
        &mut self,
        connection: &mut SqliteConnection,
        epoch: Epoch,
        wanted: i64,
    ) -> Result<(), sqlx::Error> {
        if self.0.get(&epoch).is_some_and(|block| block.end - block.last >= wanted) {
            return Ok(());
        }
        let size = wanted.max(BLOCK);
        let reserved = sqlx::query("UPDATE opora_leases SET numbers = numbers + ?2 WHERE epoch = ?1 RETURNING numbers")
            .bind(epoch.0)
            .bind(size)
            .fetch_optional(connection)
            .await?;
        // Without a lease the operations are refused, and take no number.
        if let Some(row) = reserved {
            let end = epoch.first_number() + row.get::<i64, _>(0);
            self.0.insert(epoch, Block { last: end - size, end });
        }
        Ok(())
    }

    /// The next number; they are reserved before.
    pub(super) fn next(&mut self, epoch: Epoch) -> i64 {
        let first = epoch.first_number();
        let block = self.0.entry(epoch).or_insert(Block { last: first, end: first });
        block.last += 1;
        block.last
    }

    /// Forgets the blocks, because the transaction that reserved one of them may have come to nothing.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}
