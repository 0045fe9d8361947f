//! Merges the lists of all partitions into one, in order.
//!
//! Each partition is read in pages, and a page only when the former is used up: a short answer needs no large pages.

use std::collections::VecDeque;
use std::future::Future;

use futures_util::future::try_join_all;

use super::keys::PARTITIONS;
use crate::store::StoreResult;

/// The smallest and largest page.
const MIN_PAGE: usize = 16;
pub(super) const MAX_PAGE: usize = 512;

/// A row and its sort key.
pub(super) type Keyed<T> = (String, T);

/// The rows of a partition that were read and not merged yet.
struct PartitionCursor<T> {
    partition: usize,
    rows: VecDeque<Keyed<T>>,
    after: String,
    is_read: bool,
}

/// The page size for an answer that wants all rows.
pub(super) fn page_for(limit: usize) -> usize {
    (limit / (PARTITIONS / 2)).clamp(MIN_PAGE, MAX_PAGE)
}

/// The first `limit` rows after `after` that are `wanted`. `read` gives a page of a partition: partition, after, limit.
pub(super) async fn gather<T, R>(
    after: &str,
    limit: usize,
    page: usize,
    wanted: impl Fn(&T) -> bool,
    read: impl Fn(usize, String, usize) -> R,
) -> StoreResult<Vec<T>>
where
    R: Future<Output = StoreResult<Vec<Keyed<T>>>>,
{
    let cursor =
        |partition| PartitionCursor { partition, rows: VecDeque::new(), after: after.to_owned(), is_read: false };
    let mut cursors: Vec<PartitionCursor<T>> = (0..PARTITIONS).map(cursor).collect();
    let mut found = Vec::new();
    while found.len() < limit {
        refill(&mut cursors, page, &read).await?;
        if !merge(&mut cursors, limit, &wanted, &mut found) {
            break;
        }
    }
    Ok(found)
}

async fn refill<T, R>(
    cursors: &mut [PartitionCursor<T>],
    page: usize,
    read: &impl Fn(usize, String, usize) -> R,
) -> StoreResult<()>
where
    R: Future<Output = StoreResult<Vec<Keyed<T>>>>,
{
    let empty = cursors.iter_mut().filter(|cursor| cursor.rows.is_empty() && !cursor.is_read);
    let filled = empty.map(async |cursor| {
        let rows = read(cursor.partition, cursor.after.clone(), page).await?;
        cursor.is_read = rows.len() < page;
        cursor.after = rows.last().map(|(place, _)| place.clone()).unwrap_or_default();
        cursor.rows = rows.into();
        Ok(())
    });
    try_join_all(filled).await.map(drop)
}

/// Merges rows until a partition has to be read again. False if there are no more rows.
fn merge<T>(cursors: &mut [PartitionCursor<T>], limit: usize, wanted: impl Fn(&T) -> bool, to: &mut Vec<T>) -> bool {
    while to.len() < limit {
        if cursors.iter().any(|cursor| cursor.rows.is_empty() && !cursor.is_read) {
            return true;
        }
        let filled = cursors.iter_mut().filter(|cursor| !cursor.rows.is_empty());
        let first = filled.min_by(|one, other| one.rows[0].0.cmp(&other.rows[0].0));
        let Some((_, row)) = first.and_then(|cursor| cursor.rows.pop_front()) else { return false };
        if wanted(&row) {
            to.push(row);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pages_of_all_partitions_are_merged_in_order() {
        let read = |partition: usize, after: String, limit: usize| async move {
            let of_partition = (1..=3_000_usize).filter(|row| row % 7 == partition);
            let rows = of_partition.map(|row| (format!("{row:05}"), row)).filter(|(place, _)| *place > after);
            Ok(rows.take(limit).collect::<Vec<_>>())
        };
        let all = gather("", 10_000, page_for(10_000), |_| true, read).await.unwrap();
        assert_eq!(all, (1..=3_000).collect::<Vec<_>>());
        let some = gather("01000", 5, 16, |row| row % 2 == 0, read).await.unwrap();
        assert_eq!(some, [1_002, 1_004, 1_006, 1_008, 1_010]);
        assert_eq!(gather("", 0, 16, |_| true, read).await.unwrap(), Vec::<usize>::new());
    }
}
