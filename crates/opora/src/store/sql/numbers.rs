//! The ids of outbox rows, effects, timers, parked turns and transitions. Inbox positions come from the database,
//! because instances without an epoch fill the inbox too.
//!
//! An epoch belongs to one process, so its ids are counted in memory. A block of ids is reserved in the lease's row
//! first. A process that reopens its database continues after the block, so no id is given twice, not even if its row
//! is gone.

use std::collections::HashMap;

use super::columns::values;
use super::statements::numbers;
use crate::store::{Database, Epoch};

/// The size of a block: one reservation per million rows.
const BLOCK: i64 = 1 << 20;

#[derive(Debug, Default)]
pub(crate) struct Numbers(HashMap<Epoch, Block>);

#[derive(Debug)]
struct Block {
    last: i64,
    end: i64,
}

impl Numbers {
    /// Reserves ids, so that `wanted` are available under this epoch.
    pub(crate) async fn reserve(&mut self, epoch: Epoch, wanted: i64, mut database: Database<'_>) -> sqlx::Result<()> {
        const RESERVE: &str = "UPDATE opora_leases SET numbers = numbers + $2 WHERE epoch = $1 RETURNING numbers";
        if self.has(epoch, wanted) {
            return Ok(());
        }
        let size = wanted.max(BLOCK);
        // Without a lease the operations are refused and need no ids.
        if let Some([end]) = numbers(&mut database, RESERVE, values![epoch.0, size]).await? {
            self.add(epoch, size, end);
        }
        Ok(())
    }

    /// Adds a block that is reserved durably, or in the transaction that uses it. `end` is its last number.
    fn add(&mut self, epoch: Epoch, size: i64, end: i64) {
        let end = epoch.first_number() + end;
        self.0.insert(epoch, Block { last: end - size, end });
    }

    pub(crate) fn has(&self, epoch: Epoch, wanted: i64) -> bool {
        self.0.get(&epoch).is_some_and(|block| block.end - block.last >= wanted)
    }

    /// The next number. The caller has reserved it.
    pub(crate) fn next(&mut self, epoch: Epoch) -> i64 {
        let first = epoch.first_number();
        let block = self.0.entry(epoch).or_insert(Block { last: first, end: first });
        block.last += 1;
        block.last
    }

    /// Forgets all blocks, because the transaction that reserved one may have been rolled back.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}
