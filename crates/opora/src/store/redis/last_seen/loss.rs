//! Compares a server with the last-seen record.

use std::collections::BTreeSet;
use std::fmt;

use futures_util::future::{try_join, try_join_all};

use super::{BotRecord, LastSeen};
use crate::clock::utc;
use crate::store::redis::RedisBackend;
use crate::store::redis::address::AfterLoss;
use crate::store::redis::connection::Connection;
use crate::store::redis::keys::{KeyKind, Keys, PARTITIONS};
use crate::store::{StoreError, StoreResult};

/// What an operator can do.
const CHOICES: &str = "Nothing was written. Either restore its data and start again, or accept the loss with \
                       `opora state accept`";

/// What a Redis has lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisLoss {
    /// The bot that lost data.
    pub bot: i64,
    /// About how many changes are missing.
    pub missing: i64,
    /// The Redis is empty or has another generation: everything is missing.
    pub is_other_data: bool,
    /// No more is missing than a server with `appendfsync everysec` may lose.
    pub is_recent: bool,
    /// Only delivered inputs are missing that no turn has processed yet.
    pub is_only_deliveries: bool,
    /// What was expected and what was found, for people.
    pub description: String,
}

impl fmt::Display for RedisLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description)
    }
}

impl RedisLoss {
    pub(crate) fn into_error(self) -> StoreError {
        StoreError::Lost { what: format!("{}. {CHOICES}", self.description) }
    }
}

/// The progress of a bot as the server has it.
#[derive(Debug)]
pub(crate) struct ServerProgress {
    pub(crate) generation: String,
    /// The number of writes by partition, then the number of delivered inputs by partition.
    pub(crate) counts: Vec<i64>,
}

impl RedisBackend {
    /// Checks whether data of a bot is missing. If not, notes the server's progress.
    pub(crate) async fn loss_of(&self, bot: i64) -> StoreResult<Option<RedisLoss>> {
        let found = read_progress(&self.connection, &self.keys, bot).await?;
        let loss = find_loss(&self.last_seen, bot, &found, &self.connection.address.to_string());
        if loss.is_none() {
            self.last_seen.progress_of(bot).note_found(&found.counts, self.last_seen.clock.now());
            self.last_seen.expect_generation(&found.generation);
        }
        Ok(loss)
    }

    /// Checks for a loss before a lease is claimed. Fails unless the bot may go on after it.
    pub(crate) async fn verify(&self, bot: i64) -> StoreResult<()> {
        match self.loss_of(bot).await? {
            Some(loss) => self.continue_after(loss).await,
            None => Ok(()),
        }
    }

    /// Accepts a loss if the settings say so. Fails otherwise.
    pub(crate) async fn continue_after(&self, loss: RedisLoss) -> StoreResult<()> {
        if !may_continue(self.last_seen.after_loss, &loss) {
            return Err(loss.into_error());
        }
        self.accept(&loss).await?;
        tracing::error!(
            bot = loss.bot,
            missing = loss.missing,
            what = %loss,
            "Redis has lost its latest changes; the bot goes on"
        );
        metrics::counter!("opora_redis_changes_lost_total").increment(u64::try_from(loss.missing).unwrap_or(0));
        Ok(())
    }
}

fn may_continue(after_loss: AfterLoss, loss: &RedisLoss) -> bool {
    match after_loss {
        _ if loss.is_other_data => false,
        AfterLoss::GoOnIfRecent => loss.is_recent,
        AfterLoss::GoOn => true,
        AfterLoss::Stop => false,
    }
}

/// Reads a bot's progress from the server.
pub(crate) async fn read_progress(connection: &Connection, keys: &Keys, bot: i64) -> StoreResult<ServerProgress> {
    let bot_keys = keys.bot_keys(bot);
    let numbers = (0..PARTITIONS).map(async |partition| {
        let mut command = redis::cmd("HMGET");
        command.arg(bot_keys.key(partition, KeyKind::Header)).arg(&["commits", "delivered"]);
        connection.query::<(Option<i64>, Option<i64>)>(&command).await
    });
    let (generation, numbers) = try_join(read_generation(connection, keys), try_join_all(numbers)).await?;
    let (commits, delivered): (Vec<_>, Vec<_>) = numbers.into_iter().unzip();
    Ok(ServerProgress {
        generation,
        counts: commits.into_iter().chain(delivered).map(Option::unwrap_or_default).collect(),
    })
}

/// Reads the generations of all partitions. They are one unless some partitions were emptied.
pub(crate) async fn read_generation(connection: &Connection, keys: &Keys) -> StoreResult<String> {
    let read = (0..PARTITIONS).map(async |partition| {
        connection.query::<Option<String>>(redis::cmd("GET").arg(keys.generation(partition))).await
    });
    let all: BTreeSet<String> = try_join_all(read).await?.into_iter().map(Option::unwrap_or_default).collect();
    Ok(all.into_iter().collect::<Vec<_>>().join("+"))
}

/// Compares the server's progress with the last-seen record.
pub(crate) fn find_loss(last_seen: &LastSeen, bot: i64, found: &ServerProgress, address: &str) -> Option<RedisLoss> {
    let expected = last_seen.generation();
    let BotRecord { commits, flushed, at, .. } = last_seen.progress_of(bot).record();
    let missing_by_counter: Vec<i64> =
        commits.iter().zip(&found.counts).map(|(seen, found)| (seen - found).max(0)).collect();
    let missing: i64 = missing_by_counter.iter().sum();
    let seen: i64 = commits.iter().sum();
    let found_count: i64 = found.counts.iter().sum();
    // Nothing can be missing if no instance was ever leader.
    let was_used = seen > 0 || last_seen.epoch() > 0;
    let is_other_data = was_used && !expected.is_empty() && expected != found.generation;
    if !is_other_data && missing == 0 {
        return None;
    }
    let is_recent = !is_other_data && flushed.iter().zip(&found.counts).all(|(flushed, found)| found >= flushed);
    let condition = match (is_other_data, found.generation.is_empty()) {
        (true, true) => "is empty".to_owned(),
        (true, false) => format!("holds another content (generation {}, expected {expected})", found.generation),
        _ => "is older than what this bot has written".to_owned(),
    };
    let description = format!(
        "the Redis at {address} {condition}: of bot {bot} {seen} changes were seen, the last at {}, and {found_count} are \
         there; about {missing} are missing",
        utc(at)
    );
    let is_only_deliveries = !is_other_data && missing_by_counter.iter().take(PARTITIONS).all(|missing| *missing == 0);
    Some(RedisLoss { bot, missing, is_other_data, is_recent, is_only_deliveries, description })
}
