//! Writes to partitions, with the counter that shows a loss.
//!
//! A partition counts its writes, and each answer has the count. The next write carries the highest count that was
//! seen, so that a server that came back older refuses it. Losses are handled elsewhere.

use std::sync::Arc;

use super::connection::{Call, Connection};
use super::keys::{KeyKind, Keys};
use super::last_seen::LastSeen;
use super::rows::unreadable;
use crate::store::StoreResult;

/// Calls functions with the keys of a partition.
#[derive(Clone, Debug)]
pub(super) struct PartitionWriter {
    pub(super) connection: Arc<Connection>,
    pub(super) keys: Arc<Keys>,
    pub(super) last_seen: Arc<LastSeen>,
}

/// The answer to a write: its word, and what follows the counter.
#[derive(Debug)]
pub(super) struct WriteAnswer {
    pub(super) word: String,
    pub(super) rest: Vec<String>,
}

impl PartitionWriter {
    /// Calls a function with the keys of a partition of a bot, up to `last`.
    pub(super) async fn call(
        &self,
        function: &'static str,
        (bot, partition): (i64, usize),
        last: KeyKind,
        args: Vec<String>,
    ) -> StoreResult<Vec<String>> {
        let bot_keys = self.keys.bot_keys(bot);
        self.connection.call(Call { function, keys: bot_keys.up_to(partition, last), args }).await
    }

    /// Calls a function that writes. Under a fencing token its first argument is the precondition of the write.
    pub(super) async fn write(
        &self,
        function: &'static str,
        fencing_token: Option<&str>,
        (bot, partition): (i64, usize),
        last: KeyKind,
        args: Vec<String>,
    ) -> StoreResult<WriteAnswer> {
        let args = self.fenced(fencing_token, (bot, partition), args);
        self.read_answer(bot, partition, self.call(function, (bot, partition), last, args).await?)
    }

    /// Calls a function that writes in several partitions, concurrently. Answers are in the order of `parts`.
    pub(super) async fn write_all(
        &self,
        function: &'static str,
        fencing_token: Option<&str>,
        bot: i64,
        last: KeyKind,
        parts: Vec<(usize, Vec<String>)>,
    ) -> StoreResult<Vec<WriteAnswer>> {
        let bot_keys = self.keys.bot_keys(bot);
        let partitions: Vec<usize> = parts.iter().map(|(partition, _)| *partition).collect();
        let call = |(partition, args): (usize, Vec<String>)| {
            let args = self.fenced(fencing_token, (bot, partition), args);
            Call { function, keys: bot_keys.up_to(partition, last), args }
        };
        let answers = self.connection.call_all(parts.into_iter().map(call).collect()).await?;
        let placed = partitions.into_iter().zip(answers);
        placed.map(|(partition, answer)| self.read_answer(bot, partition, answer)).collect()
    }

    /// Puts the precondition of a write under a fencing token in front of its arguments.
    fn fenced(
        &self,
        fencing_token: Option<&str>,
        (bot, partition): (i64, usize),
        mut args: Vec<String>,
    ) -> Vec<String> {
        if let Some(token) = fencing_token {
            args.insert(0, self.last_seen.write_precondition(bot, partition, token));
        }
        args
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
