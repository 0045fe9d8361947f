//! The names of all keys.
//!
//! Everything of a chat is in one of sixteen partitions. Every key of a partition has the hash tag `{prefix:N}`, so
//! that a Cluster keeps them together. Each bot has the same set of keys in every partition.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::key::ConversationKey;
use crate::store::hash::hash_of;

/// The number of partitions. It can never change: the lowest bits of a row id are its partition.
pub(super) const PARTITIONS: usize = 1 << PARTITION_BITS;
/// How many bits of a row id are its partition.
pub(super) const PARTITION_BITS: u32 = 4;

macro_rules! key_kinds {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The keys of a bot in a partition, in the order in which functions get them: those that every turn needs
        /// first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum KeyKind {
            $($(#[$doc])* $name,)*
        }

        impl KeyKind {
            /// All kinds, with the last part of their keys.
            pub(super) const ALL: &'static [(Self, &'static str)] = &[$((Self::$name, $text),)*];
        }
    };
}

key_kinds! {
    /// The partition header, a hash. `epoch`: the epoch that may write; `token`: the hash of its lease's token;
    /// `floor`: no version of a forgotten conversation is above it; `least`: the version floor after an accepted loss,
    /// which no turn starts below; `commits`: the number of writes; `delivered`: the number of inputs that any instance
    /// has delivered; `held`: set if there were conversations at the last cleaning; `last`: the last inbox id;
    /// `marks_ms`: how long marks live after the newest one.
    Header = "room",
    /// List of messages to send.
    Outbox = "outbox",
    /// Set of messages that are being sent.
    Sending = "sending",
    /// Hash: conversations by name.
    Conversations = "conv",
    /// Marks of processed updates, by time. They expire soon; see `expiry` for the other keys.
    Marks = "marks",
    /// Sorted list of the names of conversations.
    Index = "index",
    /// Hash: the number of open conversations by foreground state, and of all open ones as `*`.
    StateCounts = "counts",
    /// Names of conversations by expiry.
    Expiries = "ends",
    /// Names of ended conversations by the time of their last turn.
    Ended = "ended",
    /// Hash: inbox ids of waiting updates, by mark.
    WaitingMarks = "waits",
    /// List of inputs.
    Inbox = "inbox",
    /// Sorted list of inbox ids by conversation.
    ConversationQueue = "queue",
    /// List of transitions.
    Transitions = "moves",
    /// Timer ids by due time.
    Timers = "timers",
    /// Hash: timers by id.
    TimerRows = "timer",
    /// Hash: timer ids by conversation and name.
    TimerNames = "names",
    /// List of effects.
    Effects = "effects",
    /// List of parked turns.
    Parked = "parked",
    /// Set of parked turns that are to run again.
    Retry = "retry",
    /// Failed messages, by the time of their turn.
    Failed = "failed",
    /// Hash: message ids by chat and label.
    Labels = "labels",
    /// Labels by age.
    LabelAges = "label_ages",
    /// Names of posts by their time.
    Posts = "posts",
    /// Hash: a hash of aiogram's keys when the present version of a conversation was made.
    AiogramNotes = "notes",
    /// Hash: jobs by id. This and the following keys are in one partition only.
    Jobs = "jobs",
    /// List of the ids of all jobs.
    JobIndex = "job_index",
    /// Ids of scheduled jobs, by their time.
    JobsDue = "jobs_due",
    /// List of available jobs: queue, priority, time, id.
    JobsReady = "jobs_ready",
    /// List of available jobs: queue, name, time, id.
    JobAges = "job_ages",
    /// Hash: ids of running jobs, and whether they are to be cancelled.
    JobsRunning = "jobs_running",
    /// Ids of finished jobs, by their end.
    JobsFinished = "jobs_finished",
    /// Ids of finished jobs with a result, by their end.
    JobResults = "job_results",
    /// List of the keys by which jobs are unique, with their ids.
    JobKeys = "job_keys",
    /// Hash: the number of jobs by queue, name and state.
    JobCounts = "job_counts",
    /// Set of paused queues.
    JobPaused = "job_paused",
    /// Hash: the last tick of each schedule.
    JobTicks = "job_ticks",
}

/// The names of one store's keys.
#[derive(Debug)]
pub(super) struct Keys {
    prefix: Box<str>,
    // One entry for each bot that this process works for or reads.
    bot_keys: RwLock<HashMap<i64, Arc<BotKeys>>>,
}

/// The keys of a bot: by partition, then by [`KeyKind`].
#[derive(Debug)]
pub(super) struct BotKeys(Vec<Vec<String>>);

impl Keys {
    pub(super) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.into(), bot_keys: RwLock::default() }
    }

    /// The key that holds the version of the layout.
    pub(super) fn layout(&self) -> String {
        format!("{{{}}}:layout", self.prefix)
    }

    /// The key of the last epoch that was granted, for all bots.
    pub(super) fn epochs(&self) -> String {
        format!("{{{}}}:epochs", self.prefix)
    }

    /// The set of all bots that ever used this store.
    pub(super) fn bots(&self) -> String {
        format!("{{{}}}:bots", self.prefix)
    }

    pub(super) fn lease(&self, bot: i64) -> String {
        format!("{{{}:lease:{bot}}}", self.prefix)
    }

    /// The channel for announcements of deliveries to a bot.
    pub(super) fn arrivals(&self, bot: i64) -> String {
        format!("{}:arrivals:{bot}", self.prefix)
    }

    /// The key of a partition's generation.
    pub(super) fn generation(&self, partition: usize) -> String {
        format!("{{{}:{partition}}}:generation", self.prefix)
    }

    pub(super) fn bot_keys(&self, bot: i64) -> Arc<BotKeys> {
        if let Some(bot_keys) = self.bot_keys.read().get(&bot) {
            return Arc::clone(bot_keys);
        }
        let name = |partition: usize, text: &str| format!("{{{}:{partition}}}:{bot}:{text}", self.prefix);
        let of_partition = |partition| KeyKind::ALL.iter().map(|(_, text)| name(partition, text)).collect();
        let bot_keys = Arc::new(BotKeys((0..PARTITIONS).map(of_partition).collect()));
        Arc::clone(self.bot_keys.write().entry(bot).or_insert(bot_keys))
    }
}

impl BotKeys {
    /// The keys of a partition up to and including `last`, as the functions take them.
    pub(super) fn up_to(&self, partition: usize, last: KeyKind) -> &[String] {
        &self.0[partition][..=last as usize]
    }

    /// Copies of some keys of a partition.
    pub(super) fn owned<const N: usize>(&self, partition: usize, kinds: [KeyKind; N]) -> [String; N] {
        kinds.map(|kind| self.key(partition, kind).to_owned())
    }

    pub(super) fn key(&self, partition: usize, kind: KeyKind) -> &str {
        &self.0[partition][kind as usize]
    }
}

/// The partition of a conversation: that of its chat.
pub(super) fn partition_of(key: &ConversationKey) -> usize {
    partition_of_chat(key.bot, key.chat)
}

pub(super) fn partition_of_chat(bot: i64, chat: i64) -> usize {
    partition_by(&[bot.to_le_bytes(), chat.to_le_bytes()].concat())
}

/// The partition of a post. All its rows are there, so that they are stored together or not at all.
pub(super) fn partition_of_post(once: &str) -> usize {
    partition_by(once.as_bytes())
}

/// The partition of a row id.
pub(super) fn partition_of_id(id: i64) -> usize {
    (id & (PARTITIONS as i64 - 1)) as usize
}

fn partition_by(bytes: &[u8]) -> usize {
    // Every byte has changed the highest bits.
    (hash_of(bytes) >> (u64::BITS - PARTITION_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_never_changes() {
        let key = ConversationKey::private(7_000_000_001, 101);
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
    fn keys_of_a_partition_have_its_tag() {
        let bot_keys = Keys::new("opora").bot_keys(7);
        assert_eq!(bot_keys.key(3, KeyKind::Conversations), "{opora:3}:7:conv");
        assert_eq!(bot_keys.up_to(15, KeyKind::JobTicks).len(), KeyKind::ALL.len());
        assert!(KeyKind::ALL.iter().enumerate().all(|(place, (kind, _))| *kind as usize == place));
    }
}
