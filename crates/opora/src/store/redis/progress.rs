//! Every write to a room, and how far the room has come with it.
//!
//! A room counts its writes, and each answer says the number. The highest that was seen goes along with the next write, so
//! that a server which came back older refuses it. Nothing is judged here.

use super::RedisBackend;
use super::keys::Thing;
use super::rows::unreadable;
use super::wire::Call;
use crate::store::StoreResult;

/// Functions whose first argument is a lease.
const UNDER_A_LEASE: [&str; 14] = [
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
];

/// A write's answer: its word, how many writes the room has seen, and what the function adds.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) word: String,
    pub(super) more: Vec<String>,
}

impl RedisBackend {
    /// Calls a function that writes to a room; the keys go along up to `last`.
    pub(super) async fn write_room(
        &self,
        function: &'static str,
        (bot, partition): (i64, usize),
        last: Thing,
        mut args: Vec<String>,
    ) -> StoreResult<Written> {
        let rooms = self.keys.rooms(bot);
        self.say_what_was_seen(function, (bot, partition), &mut args);
        let answer = self.wire.call(Call { function, keys: rooms.up_to(partition, last), args }).await?;
        self.read_written(bot, partition, answer)
    }

    /// The same in several rooms of a bot, all on their way at once; answers come in their order.
    pub(super) async fn write_rooms(
        &self,
        function: &'static str,
        bot: i64,
        last: Thing,
        parts: Vec<(usize, Vec<String>)>,
    ) -> StoreResult<Vec<Written>> {
        let rooms = self.keys.rooms(bot);
        let partitions: Vec<usize> = parts.iter().map(|(partition, _)| *partition).collect();
        let call = |(partition, mut args): (usize, Vec<String>)| {
            self.say_what_was_seen(function, (bot, partition), &mut args);
            Call { function, keys: rooms.up_to(partition, last), args }
        };
        let answers = self.wire.call_all(parts.into_iter().map(call).collect()).await?;
        let placed = partitions.into_iter().zip(answers);
        placed.map(|(partition, answer)| self.read_written(bot, partition, answer)).collect()
    }

    /// Adds to the lease of a write how many writes of its room were seen.
    fn say_what_was_seen(&self, function: &str, (bot, partition): (i64, usize), args: &mut [String]) {
        // An operator's has no lease.
        if let Some(lease) = args.first_mut().filter(|lease| !lease.is_empty() && UNDER_A_LEASE.contains(&function)) {
            *lease = self.witness.pass(bot, partition, lease);
        }
    }

    /// Reads an answer, and notes how far the room has come.
    pub(super) fn read_written(&self, bot: i64, partition: usize, answer: Vec<String>) -> StoreResult<Written> {
        let mut answer = answer.into_iter();
        let word = answer.next().ok_or_else(|| unreadable("a function answered nothing"))?;
        // A refusal says no number; a delivery says a second one.
        if let Some(numbers) = answer.next() {
            let (writes, delivered) = numbers.split_once(':').map_or((&*numbers, None), |(one, two)| (one, Some(two)));
            self.witness.note(bot, partition, writes.parse().map_err(unreadable)?);
            if let Some(delivered) = delivered {
                self.witness.note_delivered(bot, partition, delivered.parse().map_err(unreadable)?);
            }
        }
        Ok(Written { word, more: answer.collect() })
    }
}
