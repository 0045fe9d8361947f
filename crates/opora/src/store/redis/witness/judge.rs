//! Whether a server still has what was seen of it.

use std::collections::BTreeSet;
use std::fmt;

use futures_util::future::{try_join, try_join_all};

use super::{BotRecord, Witness};
use crate::instance::utc;
use crate::store::redis::RedisBackend;
use crate::store::redis::address::AfterLoss;
use crate::store::redis::keys::{Keys, PARTITIONS, Thing};
use crate::store::redis::wire::Wire;
use crate::store::{StoreError, StoreResult};

/// What the operator can do.
const CHOICES: &str = "Nothing was written. Either restore its data and start again; or accept what is there with \
                       `opora state accept`, and what is missing is gone";

/// What a Redis lacks of what was seen of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisLoss {
    /// The bot whose rooms lack something.
    pub bot: i64,
    /// About how many changes are missing.
    pub missing: i64,
    /// It is empty, or another one: nothing of what was seen is there.
    pub is_other: bool,
    /// All that is missing is younger than what a server with `appendfsync everysec` may lose.
    pub is_recent: bool,
    /// All that is missing was delivered by some instance and not taken yet.
    pub is_of_deliveries: bool,
    /// What was expected and what was found, in words.
    pub what: String,
}

impl fmt::Display for RedisLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl RedisLoss {
    pub(in crate::store::redis) fn into_error(self) -> StoreError {
        StoreError::Lost { what: format!("{}. {CHOICES}", self.what) }
    }
}

/// What a server has of a bot.
#[derive(Debug)]
pub(in crate::store::redis) struct Found {
    pub(in crate::store::redis) generation: String,
    /// The writes of each partition; behind them, what was delivered to each.
    pub(in crate::store::redis) counts: Vec<i64>,
}

impl RedisBackend {
    /// Asks whether anything of a bot's is missing; takes note of what is there if not.
    pub(in crate::store::redis) async fn loss_of(&self, bot: i64) -> StoreResult<Option<RedisLoss>> {
        let found = look(&self.wire, &self.keys, bot).await?;
        let loss = judge(&self.witness, bot, &found, &self.wire.address.to_string());
        if loss.is_none() {
            self.witness.of(bot).note_found(&found.counts, self.witness.clock.now());
            self.witness.expect_generation(&found.generation);
        }
        Ok(loss)
    }

    /// Before a term begins: a loss ends it, unless it is one after which the bot goes on by itself.
    pub(in crate::store::redis) async fn verify(&self, bot: i64) -> StoreResult<()> {
        match self.loss_of(bot).await? {
            Some(loss) => self.go_on_after(loss).await,
            None => Ok(()),
        }
    }

    /// Goes on after a loss, if it is one after which that is done.
    pub(in crate::store::redis) async fn go_on_after(&self, loss: RedisLoss) -> StoreResult<()> {
        if !goes_on(self.witness.after_loss, &loss) {
            return Err(loss.into_error());
        }
        self.accept(&loss).await?;
        tracing::error!(
            bot = loss.bot,
            missing = loss.missing,
            what = %loss,
            "Redis has lost its latest changes; the bot goes on with what is there"
        );
        metrics::counter!("opora_redis_changes_lost_total").increment(u64::try_from(loss.missing).unwrap_or(0));
        Ok(())
    }
}

fn goes_on(after_loss: AfterLoss, loss: &RedisLoss) -> bool {
    match after_loss {
        _ if loss.is_other => false,
        AfterLoss::GoOnIfRecent => loss.is_recent,
        AfterLoss::GoOn => true,
        AfterLoss::Stop => false,
    }
}

/// Asks a server what it has.
pub(in crate::store::redis) async fn look(wire: &Wire, keys: &Keys, bot: i64) -> StoreResult<Found> {
    let rooms = keys.rooms(bot);
    let numbers = (0..PARTITIONS).map(async |partition| {
        let mut command = redis::cmd("HMGET");
        command.arg(rooms.one(partition, Thing::Room)).arg(&["commits", "delivered"]);
        wire.ask::<(Option<i64>, Option<i64>)>(&command).await
    });
    let (generation, numbers) = try_join(generation(wire, keys), try_join_all(numbers)).await?;
    let (commits, delivered): (Vec<_>, Vec<_>) = numbers.into_iter().unzip();
    Ok(Found { generation, counts: commits.into_iter().chain(delivered).map(Option::unwrap_or_default).collect() })
}

/// The generations of all partitions; one, if they were made together.
pub(in crate::store::redis) async fn generation(wire: &Wire, keys: &Keys) -> StoreResult<String> {
    let read = (0..PARTITIONS)
        .map(async |partition| wire.ask::<Option<String>>(redis::cmd("GET").arg(keys.generation(partition))).await);
    let all: BTreeSet<String> = try_join_all(read).await?.into_iter().map(Option::unwrap_or_default).collect();
    Ok(all.into_iter().collect::<Vec<_>>().join("+"))
}

/// Compares what is there with what was seen.
pub(in crate::store::redis) fn judge(witness: &Witness, bot: i64, found: &Found, place: &str) -> Option<RedisLoss> {
    let expected = witness.generation();
    let BotRecord { commits, settled, at, .. } = witness.of(bot).record();
    let lacks: Vec<i64> = commits.iter().zip(&found.counts).map(|(seen, there)| (seen - there).max(0)).collect();
    let missing: i64 = lacks.iter().sum();
    let seen: i64 = commits.iter().sum();
    let there: i64 = found.counts.iter().sum();
    // Of one that nobody ever led with nothing can be missing.
    let was_used = seen > 0 || witness.epoch() > 0;
    let is_other = was_used && !expected.is_empty() && expected != found.generation;
    if !is_other && missing == 0 {
        return None;
    }
    let is_recent = !is_other && settled.iter().zip(&found.counts).all(|(settled, there)| there >= settled);
    let how = match (is_other, found.generation.is_empty()) {
        (true, true) => "is empty".to_owned(),
        (true, false) => format!("holds another content (generation {}, expected {expected})", found.generation),
        _ => "is older than what this bot has written".to_owned(),
    };
    let what = format!(
        "the Redis at {place} {how}: of bot {bot} {seen} changes were seen, the last at {}, and {there} are there; about \
         {missing} are missing",
        utc(at)
    );
    let is_of_deliveries = !is_other && lacks.iter().take(PARTITIONS).all(|lacking| *lacking == 0);
    Some(RedisLoss { bot, missing, is_other, is_recent, is_of_deliveries, what })
}
