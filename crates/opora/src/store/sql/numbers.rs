//! The numbers of outbox rows, effects, timers, parked turns and transitions. Places in the inbox are the database's to
//! give, because instances without an epoch fill it too.
//!
//! An epoch belongs to one lease of the whole database, and its numbers to one process, so they are counted in memory. A
//! block of them is reserved in the lease's row first: a process that opens its database anew goes on behind the block, and
//! no number is given twice, also if its row is gone by then.

use std::collections::HashMap;

use crate::store::Epoch;

/// So many at once: a reservation is one statement in a million rows.
pub(in crate::store) const BLOCK: i64 = 1 << 20;

/// The blocks in use.
#[derive(Debug, Default)]
pub(in crate::store) struct Numbers(HashMap<Epoch, Block>);

#[derive(Debug)]
struct Block {
    last: i64,
    end: i64,
}

impl Numbers {
    /// Takes up a block that was reserved durably, or in the transaction that uses it; `end` is its last number.
    pub(in crate::store) fn add(&mut self, epoch: Epoch, size: i64, end: i64) {
        let end = epoch.first_number() + end;
        self.0.insert(epoch, Block { last: end - size, end });
    }

    /// Whether so many are reserved already.
    pub(in crate::store) fn has(&self, epoch: Epoch, wanted: i64) -> bool {
        self.0.get(&epoch).is_some_and(|block| block.end - block.last >= wanted)
    }

    /// The next number; they are reserved before.
    pub(in crate::store) fn next(&mut self, epoch: Epoch) -> i64 {
        let first = epoch.first_number();
        let block = self.0.entry(epoch).or_insert(Block { last: first, end: first });
        block.last += 1;
        block.last
    }

    /// Forgets the blocks, because the transaction that reserved one of them may have come to nothing.
    pub(in crate::store) fn forget(&mut self) {
        self.0.clear();
    }
}
