//! What an instance has seen of its Redis, so that one that comes back empty or older is noticed.
//!
//! Every change of a room counts up a number there, and every write brings along the number that this instance has seen:
//! the server refuses it where it has fewer, before anything is written. The numbers, the generation and the highest
//! version are kept in a file as well, at most once a second, so that also a restarted instance knows them; and who leads
//! says them in its lease, so that those who stand by know them too. Missing is not new: what is lost stops the bot until an operator has decided, unless it is the last moments that a server with
//! `appendfsync everysec` may lose.
//!
//! Nothing here repairs anything: what is gone is counted and told.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};

use super::address::AfterLoss;
use crate::clock::{Clock, Millis};
use crate::store::witness::FileWitness;

pub use self::judge::RedisLoss;
pub(super) use self::judge::{generation, judge, look};
pub(super) use self::seen::Seen;

mod accept;
mod judge;
mod seen;

/// How often what was seen is kept.
const KEEP_EVERY: Duration = Duration::from_secs(1);

/// What was seen of one store, as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Empty if whatever is there next is to be taken for it.
    pub(super) generation: String,
    /// The highest epoch that was given to this instance, or that it has seen another one have.
    pub(super) epoch: i64,
    pub(super) bots: BTreeMap<i64, BotRecord>,
}

/// What was seen of one bot's rooms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BotRecord {
    /// The number of writes by partition, and behind them what was delivered to each.
    pub(super) commits: Vec<i64>,
    /// The same about two seconds before the last of them.
    pub(super) settled: Vec<i64>,
    /// The highest version of a conversation.
    pub(super) top: i64,
    /// When the last change was seen.
    pub(super) at: Millis,
}

/// What a leader has seen of its bot's rooms, as its lease says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct View {
    generation: String,
    commits: Vec<i64>,
    top: i64,
}

/// What this instance has seen.
#[derive(Debug)]
pub(super) struct Witness {
    pub(super) clock: Clock,
    pub(super) after_loss: AfterLoss,
    generation: Mutex<String>,
    epoch: AtomicI64,
    bots: RwLock<HashMap<i64, Arc<Seen>>>,
    file: Option<FileWitness>,
    // How often a loss was accepted by this opening of the store.
    pub(super) accepted: AtomicU64,
    // For the log: whether keeping fails.
    is_failing: AtomicBool,
    kept: Mutex<Option<Record>>,
}

impl Witness {
    /// Reads what the file has, if there is one, and keeps there what is seen from now on.
    pub(super) async fn load(file: Option<FileWitness>, after_loss: AfterLoss) -> io::Result<Arc<Self>> {
        let kept = match &file {
            Some(file) => file.load().await?,
            None => None,
        };
        let record = kept.map_or_else(Record::default, |kept| {
            serde_json::from_str(&kept).unwrap_or_else(|error| {
                tracing::error!(%error, "what was seen of Redis before cannot be read: its loss may go unnoticed");
                Record::default()
            })
        });
        let clock = Clock::machine();
        let seen = |(bot, of_bot): (i64, &BotRecord)| (bot, Arc::new(Seen::of(of_bot, clock.now())));
        let witness = Arc::new(Self {
            generation: Mutex::new(record.generation.clone()),
            epoch: AtomicI64::new(record.epoch),
            bots: RwLock::new(record.bots.iter().map(|(bot, of_bot)| seen((*bot, of_bot))).collect()),
            file,
            clock: clock.clone(),
            after_loss,
            accepted: AtomicU64::new(0),
            is_failing: AtomicBool::new(false),
            kept: Mutex::default(),
        });
        if witness.file.is_some() {
            tokio::spawn(keep_on(Arc::downgrade(&witness)));
        }
        Ok(witness)
    }

    /// What was seen of a bot.
    pub(super) fn of(&self, bot: i64) -> Arc<Seen> {
        if let Some(seen) = self.bots.read().get(&bot) {
            return Arc::clone(seen);
        }
        let fresh = || Arc::new(Seen::of(&BotRecord::default(), self.clock.now()));
        Arc::clone(self.bots.write().entry(bot).or_insert_with(fresh))
    }

    /// A room answered that it has had so many writes.
    pub(super) fn note(&self, bot: i64, partition: usize, number: i64) {
        self.of(bot).note(partition, number, self.clock.now());
    }

    /// A room answered that so much was delivered to it.
    pub(super) fn note_delivered(&self, bot: i64, partition: usize, number: i64) {
        self.of(bot).note_delivered(partition, number, self.clock.now());
    }

    /// What a delivery to a room says of itself: how many writes of the room were seen, and how much was delivered there.
    pub(super) fn delivery_pass(&self, bot: i64, partition: usize) -> String {
        let seen = self.of(bot);
        format!("{}:{}", seen.least(partition), seen.least_delivered(partition))
    }

    /// What a write to a room says of itself: the epoch, and how many writes of the room were seen.
    pub(super) fn pass(&self, bot: i64, partition: usize, epoch: &str) -> String {
        format!("{epoch}:{}", self.of(bot).least(partition))
    }

    /// The generation that is expected; empty if any will do.
    pub(super) fn generation(&self) -> String {
        self.generation.lock().clone()
    }

    pub(super) fn expect_generation(&self, generation: &str) {
        generation.clone_into(&mut self.generation.lock());
    }

    /// The highest epoch that was given here or seen.
    pub(super) fn epoch(&self) -> i64 {
        self.epoch.load(Ordering::Acquire)
    }

    pub(super) fn saw_epoch(&self, epoch: i64) {
        self.epoch.fetch_max(epoch, Ordering::AcqRel);
    }

    /// Takes note of another's lease, and of what its holder has seen. Of another content nothing is to be known here.
    pub(super) fn saw_lease(&self, bot: i64, epoch: i64, view: &View) {
        if view.generation == self.generation() {
            self.saw_epoch(epoch);
            self.of(bot).note_view(&view.commits, view.top, self.clock.now());
        }
    }

    /// What a lease says of what was seen here.
    pub(super) fn view(&self, bot: i64) -> View {
        let BotRecord { commits, top, .. } = self.of(bot).record();
        View { generation: self.generation(), commits, top }
    }

    /// Everything as it is to be kept.
    pub(super) fn record(&self) -> Record {
        let bots = self.bots.read();
        let bots = bots.iter().map(|(bot, seen)| (*bot, seen.record())).collect();
        Record { generation: self.generation(), epoch: self.epoch(), bots }
    }

    /// Keeps what was seen, if that is news.
    pub(super) async fn keep(&self) {
        let Some(file) = &self.file else { return };
        let record = self.record();
        if self.kept.lock().as_ref() == Some(&record) {
            return;
        }
        let kept = add_to(file, record.clone()).await;
        let was_failing = self.is_failing.swap(kept.is_err(), Ordering::Relaxed);
        match kept {
            Ok(()) => *self.kept.lock() = Some(record),
            Err(error) if !was_failing => {
                tracing::error!(%error, "cannot keep what was seen of Redis: its loss may go unnoticed");
            }
            Err(_) => {}
        }
    }
}

impl Record {
    /// Puts two records of one store together; of different generations the first counts.
    fn add(&mut self, other: Self) {
        if *self == Self::default() {
            *self = other;
            return;
        }
        if self.generation != other.generation {
            return;
        }
        self.epoch = self.epoch.max(other.epoch);
        for (bot, theirs) in other.bots {
            self.bots.entry(bot).or_default().add(&theirs);
        }
    }
}

impl BotRecord {
    /// What either has seen.
    fn add(&mut self, other: &Self) {
        for (ours, theirs) in [(&mut self.commits, &other.commits), (&mut self.settled, &other.settled)] {
            ours.resize(ours.len().max(theirs.len()), 0);
            ours.iter_mut().zip(theirs).for_each(|(ours, theirs)| *ours = (*ours).max(*theirs));
        }
        (self.top, self.at) = (self.top.max(other.top), self.at.max(other.at));
    }
}

/// Adds a record to what is kept: another instance of this machine may keep there what it has seen.
async fn add_to(file: &FileWitness, mut record: Record) -> io::Result<()> {
    // What cannot be read is replaced.
    let kept = file.load().await.ok().flatten();
    if let Some(kept) = kept.and_then(|kept| serde_json::from_str(&kept).ok()) {
        record.add(kept);
    }
    file.keep(serde_json::to_string(&record)?).await
}

/// Keeps what is seen for as long as somebody holds it.
async fn keep_on(witness: Weak<Witness>) {
    loop {
        tokio::time::sleep(KEEP_EVERY).await;
        let Some(witness) = witness.upgrade() else { return };
        witness.keep().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_that_could_not_be_written_is_written_later() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let kept = async || FileWitness::of(&data, "redis").load().await.ok().flatten();
        let witness = Witness::load(Some(FileWitness::of(&data, "redis")), AfterLoss::default()).await.unwrap();
        // A file is in the way of the folder.
        std::fs::write(&data, "").unwrap();
        witness.note(7, 0, 1);
        witness.keep().await;
        assert_eq!(kept().await, None);
        std::fs::remove_file(&data).unwrap();
        witness.keep().await;
        let kept: Record = serde_json::from_str(&kept().await.unwrap()).unwrap();
        assert_eq!(kept.bots[&7].commits[0], 1, "also where nothing new was seen");
    }

    #[tokio::test]
    async fn two_that_keep_in_one_file_forget_nothing_of_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let one = async || {
            let file = FileWitness::of(folder.path(), "redis");
            let witness = Witness::load(Some(file), AfterLoss::default()).await.unwrap();
            witness.expect_generation("a");
            witness
        };
        let leader = one().await;
        let standby = one().await;
        for step in 1..=20 {
            leader.note(7, 0, step);
            leader.of(7).note_version(step);
            leader.keep().await;
            standby.note(7, 1, 100 + step);
            standby.saw_epoch(step);
            standby.keep().await;
        }
        let Record { epoch, bots, .. } = one().await.record();
        assert_eq!((epoch, bots[&7].commits[0], bots[&7].commits[1], bots[&7].top), (20, 20, 120, 20));
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_read_stops_nobody_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = FileWitness::of(folder.path(), "redis");
        for broken in ["", "{\"generation\":\"a\",\"ep"] {
            file.keep(broken.to_owned()).await.unwrap();
            let witness = Witness::load(Some(file.clone()), AfterLoss::default()).await.unwrap();
            assert_eq!(witness.record(), Record::default());
            witness.note(7, 0, 1);
            witness.keep().await;
            let kept: Record = serde_json::from_str(&file.load().await.unwrap().unwrap()).unwrap();
            assert_eq!(kept, witness.record());
        }
    }

    #[tokio::test]
    async fn what_a_leader_has_seen_is_taken_over_unless_it_is_of_another_content() {
        let witness = async |generation: &str| {
            let witness = Witness::load(None, AfterLoss::default()).await.unwrap();
            witness.expect_generation(generation);
            witness
        };
        let leader = witness("a").await;
        let standby = witness("a").await;
        let other = witness("b").await;
        leader.note(7, 3, 12);
        leader.of(7).note_version(5);
        standby.note(7, 4, 1);
        for watching in [&standby, &other] {
            watching.saw_lease(7, 9, &leader.view(7));
        }
        let Record { epoch, bots, .. } = standby.record();
        assert_eq!((epoch, bots[&7].commits[3], bots[&7].commits[4], bots[&7].top), (9, 12, 1, 5));
        assert_eq!(other.record(), Record { generation: "b".to_owned(), ..Record::default() });
    }

    #[test]
    fn of_two_records_the_further_one_counts_unless_they_are_of_different_stores() {
        let of = |generation: &str, commits: i64| Record {
            generation: generation.to_owned(),
            epoch: commits,
            bots: [(7, BotRecord { commits: vec![commits], top: 3, ..BotRecord::default() })].into(),
        };
        let mut record = Record::default();
        record.add(of("a", 2));
        record.add(of("a", 5));
        record.add(of("b", 9));
        assert_eq!(record, of("a", 5));
    }
}
