//! Timers, expiry of conversations, and cleaning.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use futures_util::future::try_join_all;

use super::RedisBackend;
use super::connection::Call;
use super::held_leases::HeldLease;
use super::keys::{KeyKind, PARTITIONS, partition_of_id};
use super::ordered::{id_of, key_of};
use super::rows::{self, unreadable};
use super::writes::WriteAnswer;
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{Cleaned, CleaningLimits, Epoch, ParkedId, StoreResult, TimerRow};

/// How many rows of a kind one cleaning removes in a partition: the server does nothing else meanwhile.
const CLEAN_LIMIT: usize = 500;

impl RedisBackend {
    pub(super) async fn timers_due(&self, bot: i64, now: Millis, limit: usize) -> StoreResult<Vec<TimerRow>> {
        let bot_keys = self.keys.bot_keys(bot);
        let keys = |partition| bot_keys.owned(partition, [KeyKind::Timers, KeyKind::TimerRows]);
        let keys: Vec<_> = (0..PARTITIONS).map(keys).collect();
        let args = || vec![now.0.to_string(), limit.to_string()];
        let calls = keys.iter().map(|keys| Call { function: "due_timers", keys, args: args() });
        let mut due = Vec::new();
        for answer in self.connection.call_all(calls.collect()).await? {
            for pair in answer.chunks_exact(2) {
                due.push(rows::read_timer(bot, &pair[0], &pair[1]).map_err(unreadable)?);
            }
        }
        due.sort_by_key(|timer| (timer.due_at, timer.id));
        due.truncate(limit);
        Ok(due)
    }

    pub(super) async fn expired_conversations(
        &self,
        bot: i64,
        now: Millis,
        limit: usize,
    ) -> StoreResult<Vec<ConversationKey>> {
        let bot_keys = self.keys.bot_keys(bot);
        let pages = (0..PARTITIONS).map(async |partition| {
            let mut command = redis::cmd("ZRANGEBYSCORE");
            command.arg(bot_keys.key(partition, KeyKind::Expiries)).arg("-inf").arg(now.0);
            command.arg("WITHSCORES").arg("LIMIT").arg(0).arg(limit);
            self.connection.query::<Vec<(String, f64)>>(&command).await
        });
        let mut expired = Vec::new();
        for (name, end) in try_join_all(pages).await?.into_iter().flatten() {
            let key = key_of(bot, &name).ok_or_else(|| unreadable("an expiry names no conversation"))?;
            expired.push((end as i64, key));
        }
        expired.sort();
        expired.truncate(limit);
        Ok(expired.into_iter().map(|(_, key)| key).collect())
    }

    pub(super) async fn earliest_due(&self, bot: i64) -> StoreResult<Option<Millis>> {
        let bot_keys = self.keys.bot_keys(bot);
        let lists =
            (0..PARTITIONS).flat_map(|partition| [(partition, KeyKind::Timers), (partition, KeyKind::Expiries)]);
        let earliest = lists.map(async |(partition, list)| {
            let mut command = redis::cmd("ZRANGE");
            command.arg(bot_keys.key(partition, list)).arg(0).arg(0).arg("WITHSCORES");
            self.connection.query::<Vec<(String, f64)>>(&command).await
        });
        let all = try_join_all(earliest).await?;
        Ok(all.into_iter().flatten().map(|(_, at)| Millis(at as i64)).min())
    }

    pub(super) async fn clean_all(&self, epoch: Epoch, bounds: CleaningLimits) -> StoreResult<Cleaned> {
        let lease = self.held_leases.by_epoch(epoch)?;
        let CleaningLimits { marks_before, records_before, max_parked, mark_ttl } = bounds;
        let live_ms = mark_ttl.map(|live| live.as_millis().to_string()).unwrap_or_default();
        let args = || {
            let before = [marks_before, records_before].map(|before| before.0.to_string());
            let [marks, records] = before;
            vec![marks, records, CLEAN_LIMIT.to_string(), live_ms.clone()]
        };
        let parts = (0..PARTITIONS).map(|partition| (partition, args())).collect();
        let token = Some(&*lease.fencing_token);
        let answers = self.writer.write_all("clean", token, lease.bot, KeyKind::Posts, parts).await?;
        self.check_all(&lease, &answers).await?;
        let ended = sum(&answers, 1)?;
        self.ended_cleaned.fetch_add(ended, Ordering::AcqRel);
        let mut cleaned = Cleaned { aged: sum(&answers, 0)?, parked: 0 };
        let surplus = self.surplus_parked(lease.bot, max_parked).await?;
        if !surplus.is_empty() {
            cleaned.parked = self.drop_parked_rows(lease.bot, Some(&lease), surplus).await?;
        }
        Ok(cleaned)
    }

    /// The oldest parked turns of a bot beyond a limit.
    async fn surplus_parked(&self, bot: i64, max: usize) -> StoreResult<Vec<ParkedId>> {
        let surplus = self.count(bot, KeyKind::Parked).await?.saturating_sub(max).min(CLEAN_LIMIT);
        if surplus == 0 {
            return Ok(Vec::new());
        }
        let read = |row: &str| Ok(ParkedId(super::packed::split_row(row)?.0));
        self.rows_after(bot, KeyKind::Parked, 0, surplus, read).await
    }

    /// Drops parked turns. Returns how many there were. An operator needs no lease.
    pub(super) async fn drop_parked_rows(
        &self,
        bot: i64,
        lease: Option<&HeldLease>,
        ids: Vec<ParkedId>,
    ) -> StoreResult<u64> {
        // The function takes an empty precondition for an operator's.
        let head = if lease.is_some() { Vec::new() } else { vec![String::new()] };
        let mut parts = BTreeMap::new();
        for id in ids {
            parts.entry(partition_of_id(id.0)).or_insert_with(|| head.clone()).push(id_of(id.0));
        }
        let token = lease.map(|lease| &*lease.fencing_token);
        let parts = parts.into_iter().collect();
        let answers = self.writer.write_all("drop_parked", token, bot, KeyKind::Retry, parts).await?;
        for answer in &answers {
            self.check_word(bot, lease.map(|lease| lease.epoch).unwrap_or_default(), &answer.word).await?;
        }
        sum(&answers, 0)
    }

    /// How many ended conversations this process has cleaned.
    pub(crate) fn ended_cleaned(&self) -> u64 {
        self.ended_cleaned.load(Ordering::Acquire)
    }
}

/// The sum of the numbers at a position of the answers.
pub(super) fn sum(answers: &[WriteAnswer], place: usize) -> StoreResult<u64> {
    let number = |answer: &WriteAnswer| answer.rest.get(place).and_then(|number| number.parse::<u64>().ok());
    answers.iter().map(number).sum::<Option<u64>>().ok_or_else(|| unreadable("a count is not a number"))
}
