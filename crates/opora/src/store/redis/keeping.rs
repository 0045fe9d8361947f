//! Time and age: timers, ends of lives, and what is kept for a time only.

use std::sync::atomic::Ordering;

use futures_util::future::try_join_all;

use super::RedisBackend;
use super::keys::{PARTITIONS, Thing, partition_of_id};
use super::numbers::Own;
use super::ordered::{id_of, key_of};
use super::progress::Written;
use super::rows::{self, unreadable};
use super::wire::Call;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{Bounds, Cleaned, Epoch, ParkedId, StoreResult, TimerRow};

/// How many rows of a kind one call of `clean` removes in a partition: the server does nothing else meanwhile.
const CLEAN_LIMIT: usize = 500;

impl RedisBackend {
    pub(super) async fn timers_due(&self, bot: i64, now: Millis, limit: usize) -> StoreResult<Vec<TimerRow>> {
        let rooms = self.keys.rooms(bot);
        let keys = |partition| [Thing::Timers, Thing::Timer].map(|thing| rooms.one(partition, thing).to_owned());
        let keys: Vec<_> = (0..PARTITIONS).map(keys).collect();
        let args = || vec![now.0.to_string(), limit.to_string()];
        let calls = keys.iter().map(|keys| Call { function: "due_timers", keys, args: args() });
        let mut due = Vec::new();
        for answer in self.wire.call_all(calls.collect()).await? {
            for pair in answer.chunks_exact(2) {
                due.push(rows::read_timer(bot, &pair[0], &pair[1]).map_err(unreadable)?);
            }
        }
        due.sort_by_key(|timer| (timer.due_at, timer.id));
        due.truncate(limit);
        Ok(due)
    }

    pub(super) async fn lives_over(&self, bot: i64, now: Millis, limit: usize) -> StoreResult<Vec<DialogueKey>> {
        let rooms = self.keys.rooms(bot);
        let pages = (0..PARTITIONS).map(async |partition| {
            let mut command = redis::cmd("ZRANGEBYSCORE");
            command.arg(rooms.one(partition, Thing::Ends)).arg("-inf").arg(now.0);
            command.arg("WITHSCORES").arg("LIMIT").arg(0).arg(limit);
            self.wire.ask::<Vec<(String, f64)>>(&command).await
        });
        let mut over = Vec::new();
        for (name, end) in try_join_all(pages).await?.into_iter().flatten() {
            let key = key_of(bot, &name).ok_or_else(|| unreadable("an end of life names no conversation"))?;
            over.push((end as i64, key));
        }
        over.sort();
        over.truncate(limit);
        Ok(over.into_iter().map(|(_, key)| key).collect())
    }

    pub(super) async fn earliest_due(&self, bot: i64) -> StoreResult<Option<Millis>> {
        let rooms = self.keys.rooms(bot);
        let lists = (0..PARTITIONS).flat_map(|partition| [(partition, Thing::Timers), (partition, Thing::Ends)]);
        let earliest = lists.map(async |(partition, list)| {
            let mut command = redis::cmd("ZRANGE");
            command.arg(rooms.one(partition, list)).arg(0).arg(0).arg("WITHSCORES");
            self.wire.ask::<Vec<(String, f64)>>(&command).await
        });
        let all = try_join_all(earliest).await?;
        Ok(all.into_iter().flatten().map(|(_, at)| Millis(at as i64)).min())
    }

    pub(super) async fn clean_all(&self, epoch: Epoch, bounds: Bounds) -> StoreResult<Cleaned> {
        let own = self.numbers.own(epoch)?;
        let Bounds { marks_before, records_before, parked_most, marks_live } = bounds;
        let live_ms = marks_live.map(|live| live.as_millis().to_string()).unwrap_or_default();
        let args = || {
            let before = [marks_before, records_before].map(|before| before.0.to_string());
            let [marks, records] = before;
            vec![own.text(), marks, records, CLEAN_LIMIT.to_string(), live_ms.clone()]
        };
        let parts = (0..PARTITIONS).map(|partition| (partition, args())).collect();
        let answers = self.write_rooms("clean", own.bot, Thing::Posts, parts).await?;
        self.all_done(&own, &answers).await?;
        let ended = sum(&answers, 1)?;
        self.ended_cleaned.fetch_add(ended, Ordering::AcqRel);
        let mut cleaned = Cleaned { aged: sum(&answers, 0)?, parked: 0 };
        let surplus = self.surplus_parked(own.bot, parked_most).await?;
        if !surplus.is_empty() {
            cleaned.parked = self.drop_parked_rows(own.bot, Some(&own), surplus).await?;
        }
        Ok(cleaned)
    }

    /// The oldest parked turns of a bot beyond a number.
    async fn surplus_parked(&self, bot: i64, most: usize) -> StoreResult<Vec<ParkedId>> {
        let surplus = self.count(bot, Thing::Parked).await?.saturating_sub(most).min(CLEAN_LIMIT);
        if surplus == 0 {
            return Ok(Vec::new());
        }
        let read = |row: &str| Ok(ParkedId(super::packed::split_row(row)?.0));
        self.rows_after(bot, Thing::Parked, 0, surplus, read).await
    }

    /// Drops parked turns; how many of them were there. The operator does it without a lease.
    pub(super) async fn drop_parked_rows(&self, bot: i64, own: Option<&Own>, ids: Vec<ParkedId>) -> StoreResult<u64> {
        let mut parts = vec![vec![own.map(Own::text).unwrap_or_default()]; PARTITIONS];
        ids.iter().for_each(|id| parts[partition_of_id(id.0)].push(id_of(id.0)));
        let parts = parts.into_iter().enumerate().filter(|(_, args)| args.len() > 1);
        let answers = self.write_rooms("drop_parked", bot, Thing::Retry, parts.collect()).await?;
        for answer in &answers {
            self.done(bot, own.map(|own| own.epoch).unwrap_or_default(), &answer.word).await?;
        }
        sum(&answers, 0)
    }

    /// How many ended conversations were cleaned away here.
    pub(in crate::store) fn ended_cleaned(&self) -> u64 {
        self.ended_cleaned.load(Ordering::Acquire)
    }
}

/// The numbers at a place of the answers, together.
pub(super) fn sum(answers: &[Written], place: usize) -> StoreResult<u64> {
    let number = |answer: &Written| answer.more.get(place).and_then(|number| number.parse::<u64>().ok());
    answers.iter().map(number).sum::<Option<u64>>().ok_or_else(|| unreadable("a count is not a number"))
}
