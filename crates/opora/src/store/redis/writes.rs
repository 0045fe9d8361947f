//! Writes to partitions, with the counter that shows a loss.
//!
//! A partition counts its writes, and each answer has the count. The next write carries the highest count that was
//! seen, so that a server that came back older refuses it. Losses are handled elsewhere.

use super::RedisBackend;
use super::connection::Call;
use super::keys::KeyKind;
use super::rows::unreadable;
use crate::store::StoreResult;

/// Functions whose first argument is a fencing token.
const NEEDS_LEASE: [&str; 18] = [
    "receive",
    "park",
    "carry_out",
    "finish_effect",
    "sending",
    "not_sent",
    "sent",
    "settle",
    "redirect",
    "post",
    "post_unsure",
    "fail",
    "clean",
    "drop_parked",
    "start_jobs",
    "update_jobs",
    "prune_jobs",
    "tick_jobs",
];

/// The answer to a write: its word, and what follows the counter.
#[derive(Debug)]
pub(super) struct WriteAnswer {
    pub(super) word: String,
    pub(super) rest: Vec<String>,
}

impl RedisBackend {
    /// Calls a function that writes to a partition of a bot, with its keys up to `last`.
    pub(super) async fn write_partition(
        &self,
        function: &'static str,
        (bot, partition): (i64, usize),
        last: KeyKind,
        mut args: Vec<String>,
    ) -> StoreResult<WriteAnswer> {
        let bot_keys = self.keys.bot_keys(bot);
        self.add_writes_seen(function, (bot, partition), &mut args);
        let answer = self.connection.call(Call { function, keys: bot_keys.up_to(partition, last), args }).await?;
        self.read_answer(bot, partition, answer)
    }

    /// Calls a function in several partitions of a bot, concurrently. Answers are in the order of `parts`.
    pub(super) async fn write_partitions(
        &self,
        function: &'static str,
        bot: i64,
        last: KeyKind,
        parts: Vec<(usize, Vec<String>)>,
    ) -> StoreResult<Vec<WriteAnswer>> {
        let bot_keys = self.keys.bot_keys(bot);
        let partitions: Vec<usize> = parts.iter().map(|(partition, _)| *partition).collect();
        let call = |(partition, mut args): (usize, Vec<String>)| {
            self.add_writes_seen(function, (bot, partition), &mut args);
            Call { function, keys: bot_keys.up_to(partition, last), args }
        };
        let answers = self.connection.call_all(parts.into_iter().map(call).collect()).await?;
        let placed = partitions.into_iter().zip(answers);
        placed.map(|(partition, answer)| self.read_answer(bot, partition, answer)).collect()
    }

    /// Extends the fencing token of a write by the number of writes that were seen in its partition.
    fn add_writes_seen(&self, function: &str, (bot, partition): (i64, usize), args: &mut [String]) {
        // An operator's write has no token.
        if let Some(token) = args.first_mut().filter(|token| !token.is_empty() && NEEDS_LEASE.contains(&function)) {
            *token = self.last_seen.write_precondition(bot, partition, token);
        }
    }

    /// Reads an answer, and notes the counters in it.
    pub(super) fn read_answer(&self, bot: i64, partition: usize, answer: Vec<String>) -> StoreResult<WriteAnswer> {
        let mut answer = answer.into_iter();
        let status = answer.next().ok_or_else(|| unreadable("a function answered nothing"))?;
        // A refusal has no counter; a delivery has two.
        if let Some(numbers) = answer.next() {
            let (writes, delivered) = numbers.split_once(':').map_or((&*numbers, None), |(one, two)| (one, Some(two)));
            self.last_seen.note(bot, partition, writes.parse().map_err(unreadable)?);
            if let Some(delivered) = delivered {
                self.last_seen.note_delivered(bot, partition, delivered.parse().map_err(unreadable)?);
            }
        }
        Ok(WriteAnswer { word: status, rest: answer.collect() })
    }
}
