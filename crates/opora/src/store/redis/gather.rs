//! One list out of those of all partitions, in order.
//!
//! Each partition is read in pages, and a page is asked for only when the former is used up: a short answer needs no
//! long ones, and a long one reads little twice.

use std::collections::VecDeque;
use std::future::Future;

use futures_util::future::try_join_all;

use super::keys::PARTITIONS;
use crate::store::StoreResult;

/// The bounds of what is asked of a partition at once.
const PAGE_LEAST: usize = 16;
pub(super) const PAGE_MOST: usize = 512;

/// A row and the text that it is ordered by.
pub(super) type Placed<T> = (String, T);

/// The rows of a partition that were read and not yet given.
struct Lane<T> {
    partition: usize,
    rows: VecDeque<Placed<T>>,
    after: String,
    is_read: bool,
}

/// The page for an answer of which all rows are wanted.
pub(super) fn page_for(limit: usize) -> usize {
    (limit / (PARTITIONS / 2)).clamp(PAGE_LEAST, PAGE_MOST)
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
    R: Future<Output = StoreResult<Vec<Placed<T>>>>,
{
    let lane = |partition| Lane { partition, rows: VecDeque::new(), after: after.to_owned(), is_read: false };
    let mut lanes: Vec<Lane<T>> = (0..PARTITIONS).map(lane).collect();
    let mut found = Vec::new();
    while found.len() < limit {
        refill(&mut lanes, page, &read).await?;
        if !give(&mut lanes, limit, &wanted, &mut found) {
            break;
        }
    }
    Ok(found)
}

async fn refill<T, R>(lanes: &mut [Lane<T>], page: usize, read: &impl Fn(usize, String, usize) -> R) -> StoreResult<()>
where
    R: Future<Output = StoreResult<Vec<Placed<T>>>>,
{
    let empty = lanes.iter_mut().filter(|lane| lane.rows.is_empty() && !lane.is_read);
    let filled = empty.map(async |lane| {
        let rows = read(lane.partition, lane.after.clone(), page).await?;
        lane.is_read = rows.len() < page;
        lane.after = rows.last().map(|(place, _)| place.clone()).unwrap_or_default();
        lane.rows = rows.into();
        Ok(())
    });
    try_join_all(filled).await.map(drop)
}

/// Gives rows as long as it is known which comes next; false if there are no more.
fn give<T>(lanes: &mut [Lane<T>], limit: usize, wanted: impl Fn(&T) -> bool, to: &mut Vec<T>) -> bool {
    while to.len() < limit {
        if lanes.iter().any(|lane| lane.rows.is_empty() && !lane.is_read) {
            return true;
        }
        let filled = lanes.iter_mut().filter(|lane| !lane.rows.is_empty());
        let first = filled.min_by(|one, other| one.rows[0].0.cmp(&other.rows[0].0));
        let Some((_, row)) = first.and_then(|lane| lane.rows.pop_front()) else { return false };
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
    async fn pages_of_all_partitions_come_in_one_order() {
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
