//! What is due is delivered, however much is under way already.

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use super::upkeep::UNHEARD_MOST;
use super::*;
use crate::mailbox::{MailboxSettings, Reader};
use crate::store::{Commit, Epoch, LeaseAnswer, MemoryStore, Opened, Parked, TimerChange};
use crate::testing::{NOON, clock_at_noon, holder};

const BOT: i64 = 1;

/// Notes whose turns have begun, and lets none end.
struct Endless(Semaphore);

impl Reader for Endless {
    fn process<'a>(&'a self, _: &'a DialogueKey, _: Vec<Letter>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.0.add_permits(1);
            std::future::pending().await
        })
    }
}

impl Endless {
    /// Waits until so many turns more have begun.
    async fn begun(&self, turns: u32) {
        let begun = tokio::time::timeout(Duration::from_secs(60), self.0.acquire_many(turns)).await;
        begun.expect("turns that do not begin").unwrap().forget();
    }
}

async fn epoch(store: &Arc<dyn Store>) -> Epoch {
    let Ok(LeaseAnswer::Granted(epoch)) = store.claim(BOT, &holder("t"), None).await else { panic!("no lease") };
    epoch
}

/// Sets a timer that is due at that time for each of these people.
async fn timers(store: &Arc<dyn Store>, epoch: Epoch, people: std::ops::Range<i64>, due_at: Millis) {
    for person in people {
        let key = DialogueKey::private(BOT, person);
        let Opened::At { version, .. } = store.open(&key, None).await.unwrap() else { panic!("taken") };
        let timer = TimerChange::Set { name: "tea".into(), due_at, body: "null".into() };
        let commit = Commit { timers: vec![timer], ..Commit::new(key, version, NOON) };
        store.commit(epoch, commit).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn turns_that_hang_keep_no_other_timer_from_firing() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let epoch = epoch(&store).await;
    let clock = clock_at_noon();
    let reader = Arc::new(Endless(Semaphore::new(0)));
    let mailboxes = Mailboxes::new(Arc::clone(&reader) as _, Arc::clone(&store), MailboxSettings::default());
    let schedule =
        Schedule { bot: BOT, store: Arc::clone(&store), clock: clock.clone(), mailboxes, wakeup: Wakeup::default() };
    timers(&store, epoch, 1..1201, NOON).await;
    schedule.tick().await.unwrap();
    reader.begun(1200).await;
    // All of these are still in the store, and before the next one.
    timers(&store, epoch, 2001..2002, NOON.plus(Duration::from_secs(1))).await;
    clock.advance(Duration::from_secs(1));
    schedule.tick().await.unwrap();
    reader.begun(1).await;
    schedule.tick().await.unwrap();
    tokio::task::yield_now().await;
    assert_eq!(reader.0.available_permits(), 0, "nothing is delivered twice");
}

#[tokio::test(start_paused = true)]
async fn no_more_is_delivered_than_the_mailboxes_hold() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let epoch = epoch(&store).await;
    let clock = clock_at_noon();
    let reader = Arc::new(Endless(Semaphore::new(0)));
    let settings = MailboxSettings { in_all: 700, ..MailboxSettings::default() };
    let mailboxes = Mailboxes::new(Arc::clone(&reader) as _, Arc::clone(&store), settings);
    let schedule = Schedule { bot: BOT, store: Arc::clone(&store), clock, mailboxes, wakeup: Wakeup::default() };
    timers(&store, epoch, 1..2001, NOON).await;
    schedule.tick().await.unwrap();
    schedule.tick().await.unwrap();
    // The page that filled them up, and no other.
    reader.begun(1000).await;
    tokio::task::yield_now().await;
    assert_eq!(reader.0.available_permits(), 0);
}

#[tokio::test(start_paused = true)]
async fn too_many_unheard_inputs_push_no_failed_turn_out() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let epoch = epoch(&store).await;
    let clock = clock_at_noon();
    let park = async |kind: &str| {
        let parked = Parked::new(DialogueKey::private(BOT, 1), kind, String::new(), String::new(), 1);
        store.park(epoch, Vec::new(), Parked { at: NOON, ..parked }, Vec::new()).await.unwrap().id
    };
    let failed = park("update").await;
    let oldest = park("unheard_outcome").await;
    for _ in 0..UNHEARD_MOST {
        park("unheard_outcome").await;
    }
    let reader = Arc::new(Endless(Semaphore::new(0)));
    let mailboxes = Mailboxes::new(reader, Arc::clone(&store), MailboxSettings::default());
    let retention = Retention::default();
    Upkeep { bot: BOT, epoch, store: Arc::clone(&store), clock, mailboxes, retention }.clean().await.unwrap();
    assert!(store.operator().parked_one(failed).await.unwrap().is_some());
    assert!(store.operator().parked_one(oldest).await.unwrap().is_none());
    assert_eq!(store.parked(None, usize::MAX).await.unwrap().len(), UNHEARD_MOST + 1);
}
