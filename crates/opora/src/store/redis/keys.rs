//! Where everything lies: the names of all keys.
//!
//! What belongs to a chat lies in one of sixteen partitions, and every key of a partition bears its tag `{prefix:N}`, so
//! that a Cluster keeps them together. Within a partition each bot has a room: the same lists and tables for each.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::key::DialogueKey;
use crate::store::hash::hash_of;

/// How many partitions there are, for ever: the numbers of rows say theirs by their lowest bits.
pub(super) const PARTITIONS: usize = 1 << PARTITION_BITS;
/// How many bits of a number name its partition.
pub(super) const PARTITION_BITS: u32 = 4;

macro_rules! things {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What a room keeps, in the order in which the server's functions get the keys: what every turn needs first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Thing {
            $($(#[$doc])* $name,)*
        }

        impl Thing {
            /// All of them with the last part of their keys.
            pub(super) const ALL: &'static [(Self, &'static str)] = &[$((Self::$name, $text),)*];
        }
    };
}

things! {
    /// Hash: `epoch`, the one that may write; `token`, that of its lease in short; `floor`, no version of a forgotten conversation is above it;
    /// `commits`, how many writes it has seen; `held`, if it had conversations at the last cleaning; `least`,
    /// below which no turn begins, where something was lost; `last`, the last place in the inbox that was given;
    /// `delivered`, how many inputs any instance has put there; `marks_ms`, how long marks live without a new one.
    Room = "room",
    /// List of messages to send.
    Outbox = "outbox",
    /// Set of messages in the act of sending.
    Sending = "sending",
    /// Hash: conversations by name.
    Conv = "conv",
    /// Marks of updates that were taken, by that time. They expire soon; see `expiry` for the others.
    Marks = "marks",
    /// List of their names, in order.
    Index = "index",
    /// Hash: open conversations by the place in the foreground, and all of them as `*`.
    Counts = "counts",
    /// Names by the end of their life.
    Ends = "ends",
    /// Names of ended conversations by the time of their last turn.
    Ended = "ended",
    /// Hash: marks of updates that wait, and where.
    Waits = "waits",
    /// List of inputs.
    Inbox = "inbox",
    /// The same by conversation.
    Queue = "queue",
    /// List of transitions.
    Moves = "moves",
    /// Timers by their time.
    Timers = "timers",
    /// Hash: timers by id.
    Timer = "timer",
    /// Hash: the ids of timers by conversation and name.
    Names = "names",
    /// List of effects.
    Effects = "effects",
    /// List of parked turns.
    Parked = "parked",
    /// Set of those that are to run again.
    Retry = "retry",
    /// Messages that could not be sent, by the time at which they were said.
    Failed = "failed",
    /// Hash: messages by chat and label.
    Labels = "labels",
    /// The same by their age.
    LabelAges = "label_ages",
    /// Names of posts by their time.
    Posts = "posts",
    /// Hash: what stood in aiogram's keys when a conversation's version was made, in short.
    Notes = "notes",
}

/// The names of one store's keys.
#[derive(Debug)]
pub(super) struct Keys {
    prefix: Box<str>,
    // One entry for each bot that this process works for or looks at.
    rooms: RwLock<HashMap<i64, Arc<Rooms>>>,
}

/// The rooms of a bot, one in each partition.
#[derive(Debug)]
pub(super) struct Rooms(Vec<Vec<String>>);

impl Keys {
    pub(super) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.into(), rooms: RwLock::default() }
    }

    /// Which form the keys have.
    pub(super) fn layout(&self) -> String {
        format!("{{{}}}:layout", self.prefix)
    }

    /// The last epoch that was given, of all bots.
    pub(super) fn epochs(&self) -> String {
        format!("{{{}}}:epochs", self.prefix)
    }

    /// The bots that were ever here.
    pub(super) fn bots(&self) -> String {
        format!("{{{}}}:bots", self.prefix)
    }

    pub(super) fn lease(&self, bot: i64) -> String {
        format!("{{{}:lease:{bot}}}", self.prefix)
    }

    /// The channel on which it is told what was delivered to a bot.
    pub(super) fn arrivals(&self, bot: i64) -> String {
        format!("{}:arrivals:{bot}", self.prefix)
    }

    /// What tells a partition from one that was emptied and made anew.
    pub(super) fn generation(&self, partition: usize) -> String {
        format!("{{{}:{partition}}}:generation", self.prefix)
    }

    /// The rooms of a bot.
    pub(super) fn rooms(&self, bot: i64) -> Arc<Rooms> {
        if let Some(rooms) = self.rooms.read().get(&bot) {
            return Arc::clone(rooms);
        }
        let name = |partition: usize, text: &str| format!("{{{}:{partition}}}:{bot}:{text}", self.prefix);
        let room = |partition| Thing::ALL.iter().map(|(_, text)| name(partition, text)).collect();
        let rooms = Arc::new(Rooms((0..PARTITIONS).map(room).collect()));
        Arc::clone(self.rooms.write().entry(bot).or_insert(rooms))
    }
}

impl Rooms {
    /// The keys of a room up to one, as the server's functions take them.
    pub(super) fn up_to(&self, partition: usize, last: Thing) -> &[String] {
        &self.0[partition][..=last as usize]
    }

    /// One key.
    pub(super) fn one(&self, partition: usize, thing: Thing) -> &str {
        &self.0[partition][thing as usize]
    }
}

/// The partition of a conversation: that of its chat.
pub(super) fn partition_of(key: &DialogueKey) -> usize {
    partition_of_chat(key.bot, key.chat)
}

/// The partition of a chat.
pub(super) fn partition_of_chat(bot: i64, chat: i64) -> usize {
    partition_by(&[bot.to_le_bytes(), chat.to_le_bytes()].concat())
}

/// The partition of a post: all its rows lie there, so that they come together or not at all.
pub(super) fn partition_of_post(once: &str) -> usize {
    partition_by(once.as_bytes())
}

/// The partition that a row's number names.
pub(super) fn partition_of_id(id: i64) -> usize {
    // The lowest bits of any number are a partition.
    (id & (PARTITIONS as i64 - 1)) as usize
}

fn partition_by(bytes: &[u8]) -> usize {
    // The highest bits have seen every byte.
    (hash_of(bytes) >> (u64::BITS - PARTITION_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_never_changes() {
        let key = DialogueKey::private(7_000_000_001, 101);
        let places: Vec<_> = (1..=6).map(|chat| partition_of_chat(7, chat)).collect();
        assert_eq!((partition_of(&key), partition_of_post("news")), (4, 14));
        assert_eq!(places, [11, 5, 7, 1, 3, 13]);
    }

    #[test]
    fn chats_spread_over_all_partitions() {
        let mut chats = [0; PARTITIONS];
        (1..=16_000).for_each(|chat| chats[partition_of_chat(7_000_000_001, chat)] += 1);
        assert!(chats.iter().all(|number| (700..1_300).contains(number)), "{chats:?}");
    }

    #[test]
    fn keys_of_a_partition_bear_its_tag() {
        let rooms = Keys::new("opora").rooms(7);
        assert_eq!(rooms.one(3, Thing::Conv), "{opora:3}:7:conv");
        assert_eq!(rooms.up_to(15, Thing::Notes).len(), Thing::ALL.len());
        assert!(Thing::ALL.iter().enumerate().all(|(place, (thing, _))| *thing as usize == place));
    }
}
