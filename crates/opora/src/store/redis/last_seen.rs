//! The last-seen record: what an instance remembers of its Redis, to notice that it came back empty or older.
//!
//! Every change counts up a counter in its partition header, and every write carries the highest count that this
//! instance has seen: the server refuses the write if its own count is lower. Counts, generation and highest version
//! are also stored in a file, at most once a second, for a restarted instance, and in the leader's lease, for standbys.
//! A loss stops the bot until an operator has decided, unless only the last moments are missing that a server with
//! `appendfsync everysec` may lose.
//!
//! Nothing here repairs anything: a loss is counted and reported.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};

use super::address::AfterLoss;
use crate::clock::{Clock, Millis};
use crate::store::last_seen::LastSeenFile;

pub(super) use self::bot_progress::BotProgress;
pub use self::loss::RedisLoss;
pub(super) use self::loss::{find_loss, read_generation, read_progress};

mod accept;
mod bot_progress;
mod loss;

/// How often the record is saved.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);

/// The last-seen record of one store, as it is saved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LastSeenRecord {
    /// Empty if any generation is accepted.
    pub(super) generation: String,
    /// The highest epoch that was granted to this instance or seen in a lease.
    pub(super) epoch: i64,
    pub(super) bots: BTreeMap<i64, BotRecord>,
}

/// What was seen of one bot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BotRecord {
    /// The number of writes by partition, then the number of delivered inputs by partition.
    pub(super) commits: Vec<i64>,
    /// The same counts about two seconds before the last change: a server with `everysec` has flushed these.
    pub(super) flushed: Vec<i64>,
    /// The highest version of a conversation.
    pub(super) highest_version: i64,
    /// When the last change was seen.
    pub(super) at: Millis,
}

/// What a leader has seen of its bot, as stored in its lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LeaderView {
    generation: String,
    commits: Vec<i64>,
    highest_version: i64,
}

/// The last-seen record in memory.
#[derive(Debug)]
pub(super) struct LastSeen {
    pub(super) clock: Clock,
    pub(super) after_loss: AfterLoss,
    generation: Mutex<String>,
    epoch: AtomicI64,
    bots: RwLock<HashMap<i64, Arc<BotProgress>>>,
    file: Option<LastSeenFile>,
    // How often this process has accepted a loss.
    pub(super) losses_accepted: AtomicU64,
    // Whether the last save failed, so that a failure is logged once.
    is_failing: AtomicBool,
    saved: Mutex<Option<LastSeenRecord>>,
}

impl LastSeen {
    /// Reads the record from the file, if there is one, and saves it there from now on.
    pub(super) async fn load(file: Option<LastSeenFile>, after_loss: AfterLoss) -> io::Result<Arc<Self>> {
        let stored = match &file {
            Some(file) => file.load().await?,
            None => None,
        };
        let record = stored.map_or_else(LastSeenRecord::default, |stored| {
            serde_json::from_str(&stored).unwrap_or_else(|error| {
                tracing::error!(%error, "cannot read the last-seen record of Redis: a loss may go unnoticed");
                LastSeenRecord::default()
            })
        });
        let clock = Clock::machine();
        let progress = |of_bot: &BotRecord| Arc::new(BotProgress::new(of_bot, clock.now()));
        let last_seen = Arc::new(Self {
            generation: Mutex::new(record.generation.clone()),
            epoch: AtomicI64::new(record.epoch),
            bots: RwLock::new(record.bots.iter().map(|(bot, of_bot)| (*bot, progress(of_bot))).collect()),
            file,
            clock: clock.clone(),
            after_loss,
            losses_accepted: AtomicU64::new(0),
            is_failing: AtomicBool::new(false),
            saved: Mutex::default(),
        });
        if last_seen.file.is_some() {
            tokio::spawn(save_regularly(Arc::downgrade(&last_seen)));
        }
        Ok(last_seen)
    }

    /// What was seen of a bot.
    pub(super) fn progress_of(&self, bot: i64) -> Arc<BotProgress> {
        if let Some(seen) = self.bots.read().get(&bot) {
            return Arc::clone(seen);
        }
        let new = || Arc::new(BotProgress::new(&BotRecord::default(), self.clock.now()));
        Arc::clone(self.bots.write().entry(bot).or_insert_with(new))
    }

    /// Notes the number of writes that a partition has reported.
    pub(super) fn note(&self, bot: i64, partition: usize, number: i64) {
        self.progress_of(bot).note(partition, number, self.clock.now());
    }

    /// Notes the number of delivered inputs that a partition has reported.
    pub(super) fn note_delivered(&self, bot: i64, partition: usize, number: i64) {
        self.progress_of(bot).note_delivered(partition, number, self.clock.now());
    }

    /// The precondition of a delivery: the numbers of writes and of delivered inputs that were seen in the partition.
    pub(super) fn delivery_precondition(&self, bot: i64, partition: usize) -> String {
        let seen = self.progress_of(bot);
        format!("{}:{}", seen.writes_seen(partition), seen.deliveries_seen(partition))
    }

    /// The precondition of a write: its fencing token, and the number of writes that were seen in the partition.
    pub(super) fn write_precondition(&self, bot: i64, partition: usize, fencing_token: &str) -> String {
        format!("{fencing_token}:{}", self.progress_of(bot).writes_seen(partition))
    }

    /// The expected generation; empty if any is accepted.
    pub(super) fn generation(&self) -> String {
        self.generation.lock().clone()
    }

    pub(super) fn expect_generation(&self, generation: &str) {
        generation.clone_into(&mut self.generation.lock());
    }

    /// The highest epoch that was granted here or seen.
    pub(super) fn epoch(&self) -> i64 {
        self.epoch.load(Ordering::Acquire)
    }

    pub(super) fn note_epoch(&self, epoch: i64) {
        self.epoch.fetch_max(epoch, Ordering::AcqRel);
    }

    /// Notes another instance's lease and what its holder has seen, unless it is about another generation.
    pub(super) fn note_lease(&self, bot: i64, epoch: i64, view: &LeaderView) {
        if view.generation == self.generation() {
            self.note_epoch(epoch);
            self.progress_of(bot).note_view(&view.commits, view.highest_version, self.clock.now());
        }
    }

    /// What was seen here, for the lease.
    pub(super) fn view(&self, bot: i64) -> LeaderView {
        let BotRecord { commits, highest_version, .. } = self.progress_of(bot).record();
        LeaderView { generation: self.generation(), commits, highest_version }
    }

    /// The record to save.
    pub(super) fn record(&self) -> LastSeenRecord {
        let bots = self.bots.read();
        let bots = bots.iter().map(|(bot, seen)| (*bot, seen.record())).collect();
        LastSeenRecord { generation: self.generation(), epoch: self.epoch(), bots }
    }

    /// Saves the record, if it has changed.
    pub(super) async fn save(&self) {
        let Some(file) = &self.file else { return };
        let record = self.record();
        if self.saved.lock().as_ref() == Some(&record) {
            return;
        }
        let saved = merge_into(file, record.clone()).await;
        let was_failing = self.is_failing.swap(saved.is_err(), Ordering::Relaxed);
        match saved {
            Ok(()) => *self.saved.lock() = Some(record),
            Err(error) if !was_failing => {
                tracing::error!(%error, "cannot save the last-seen record of Redis: a loss may go unnoticed");
            }
            Err(_) => {}
        }
    }
}

impl LastSeenRecord {
    /// Merges two records of one store. If the generations differ, the first one counts.
    fn merge(&mut self, other: Self) {
        if *self == Self::default() {
            *self = other;
            return;
        }
        if self.generation != other.generation {
            return;
        }
        self.epoch = self.epoch.max(other.epoch);
        for (bot, record) in other.bots {
            self.bots.entry(bot).or_default().merge(&record);
        }
    }
}

impl BotRecord {
    fn merge(&mut self, other: &Self) {
        for (ours, theirs) in [(&mut self.commits, &other.commits), (&mut self.flushed, &other.flushed)] {
            ours.resize(ours.len().max(theirs.len()), 0);
            ours.iter_mut().zip(theirs).for_each(|(ours, theirs)| *ours = (*ours).max(*theirs));
        }
        (self.highest_version, self.at) = (self.highest_version.max(other.highest_version), self.at.max(other.at));
    }
}

/// Merges a record into the file: another instance on this machine may use the same file.
async fn merge_into(file: &LastSeenFile, mut record: LastSeenRecord) -> io::Result<()> {
    // A file that cannot be read is replaced.
    let stored = file.load().await.ok().flatten();
    if let Some(stored) = stored.and_then(|stored| serde_json::from_str(&stored).ok()) {
        record.merge(stored);
    }
    file.save(serde_json::to_string(&record)?).await
}

/// Saves the record regularly, until it is dropped.
async fn save_regularly(last_seen: Weak<LastSeen>) {
    loop {
        tokio::time::sleep(SAVE_INTERVAL).await;
        let Some(last_seen) = last_seen.upgrade() else { return };
        last_seen.save().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_failed_save_is_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let load_file = async || LastSeenFile::new(&data, "redis").load().await.ok().flatten();
        let last_seen = LastSeen::load(Some(LastSeenFile::new(&data, "redis")), AfterLoss::default()).await.unwrap();
        // A file is in the way of the folder.
        std::fs::write(&data, "").unwrap();
        last_seen.note(7, 0, 1);
        last_seen.save().await;
        assert_eq!(load_file().await, None);
        std::fs::remove_file(&data).unwrap();
        last_seen.save().await;
        let record: LastSeenRecord = serde_json::from_str(&load_file().await.unwrap()).unwrap();
        assert_eq!(record.bots[&7].commits[0], 1, "also if nothing changed meanwhile");
    }

    #[tokio::test]
    async fn two_instances_can_share_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let one = async || {
            let file = LastSeenFile::new(folder.path(), "redis");
            let last_seen = LastSeen::load(Some(file), AfterLoss::default()).await.unwrap();
            last_seen.expect_generation("a");
            last_seen
        };
        let leader = one().await;
        let standby = one().await;
        for step in 1..=20 {
            leader.note(7, 0, step);
            leader.progress_of(7).note_version(step);
            leader.save().await;
            standby.note(7, 1, 100 + step);
            standby.note_epoch(step);
            standby.save().await;
        }
        let LastSeenRecord { epoch, bots, .. } = one().await.record();
        assert_eq!((epoch, bots[&7].commits[0], bots[&7].commits[1], bots[&7].highest_version), (20, 20, 120, 20));
    }

    #[tokio::test]
    async fn an_unreadable_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = LastSeenFile::new(folder.path(), "redis");
        for broken in ["", "{\"generation\":\"a\",\"ep"] {
            file.save(broken.to_owned()).await.unwrap();
            let last_seen = LastSeen::load(Some(file.clone()), AfterLoss::default()).await.unwrap();
            assert_eq!(last_seen.record(), LastSeenRecord::default());
            last_seen.note(7, 0, 1);
            last_seen.save().await;
            let record: LastSeenRecord = serde_json::from_str(&file.load().await.unwrap().unwrap()).unwrap();
            assert_eq!(record, last_seen.record());
        }
    }

    #[tokio::test]
    async fn a_standby_learns_from_the_lease_of_its_generation() {
        let last_seen = async |generation: &str| {
            let last_seen = LastSeen::load(None, AfterLoss::default()).await.unwrap();
            last_seen.expect_generation(generation);
            last_seen
        };
        let leader = last_seen("a").await;
        let standby = last_seen("a").await;
        let other = last_seen("b").await;
        leader.note(7, 3, 12);
        leader.progress_of(7).note_version(5);
        standby.note(7, 4, 1);
        for watching in [&standby, &other] {
            watching.note_lease(7, 9, &leader.view(7));
        }
        let LastSeenRecord { epoch, bots, .. } = standby.record();
        assert_eq!((epoch, bots[&7].commits[3], bots[&7].commits[4], bots[&7].highest_version), (9, 12, 1, 5));
        assert_eq!(other.record(), LastSeenRecord { generation: "b".to_owned(), ..LastSeenRecord::default() });
    }

    #[test]
    fn merging_keeps_the_higher_counts_of_one_generation() {
        let of = |generation: &str, commits: i64| LastSeenRecord {
            generation: generation.to_owned(),
            epoch: commits,
            bots: [(7, BotRecord { commits: vec![commits], highest_version: 3, ..BotRecord::default() })].into(),
        };
        let mut record = LastSeenRecord::default();
        record.merge(of("a", 2));
        record.merge(of("a", 5));
        record.merge(of("b", 9));
        assert_eq!(record, of("a", 5));
    }
}
