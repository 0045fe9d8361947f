//! Due rows are delivered, even if many are delivered already; cleaning of unhandled inputs.

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use super::maintenance::MAX_UNHANDLED;
use super::*;
use crate::mailbox::{InputProcessor, MailboxSettings};
use crate::store::{Commit, Epoch, LeaseAnswer, MemoryStore, Opened, ParkedTurn, TimerChange};
use crate::testing::{NOON, clock_at_noon, holder};

const BOT: i64 = 1;

/// Counts the turns that start, and lets none end.
struct Endless(Semaphore);

impl InputProcessor for Endless {
    fn process<'a>(&'a self, _: &'a ConversationKey, _: Vec<QueuedInput>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.0.add_permits(1);
            std::future::pending().await
        })
    }
}

impl Endless {
    /// Waits until that many more turns have started.
    async fn started(&self, turns: u32) {
        let started = tokio::time::timeout(Duration::from_secs(60), self.0.acquire_many(turns)).await;
        started.expect("turns do not start").unwrap().forget();
    }
}

async fn epoch(store: &Arc<dyn Store>) -> Epoch {
    let Ok(LeaseAnswer::Granted(epoch)) = store.claim(BOT, &holder("t"), None).await else { panic!("no lease") };
    epoch
}

/// Sets a timer that is due at that time for each of these people.
async fn timers(store: &Arc<dyn Store>, epoch: Epoch, people: std::ops::Range<i64>, due_at: Millis) {
    for person in people {
        let key = ConversationKey::private(BOT, person);
        let Opened::At { version, .. } = store.open(&key, None).await.unwrap() else { panic!("taken") };
        let timer = TimerChange::Set { name: "tea".into(), due_at, body: "null".into() };
        let commit = Commit { timers: vec![timer], ..Commit::new(key, version, NOON) };
        store.commit(epoch, commit).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn turns_that_hang_do_not_block_other_timers() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let epoch = epoch(&store).await;
    let clock = clock_at_noon();
    let processor = Arc::new(Endless(Semaphore::new(0)));
    let mailboxes = Mailboxes::new(Arc::clone(&processor) as _, Arc::clone(&store), MailboxSettings::default());
    let schedule = Schedule {
        bot: BOT,
        store: Arc::clone(&store),
        clock: clock.clone(),
        mailboxes,
        handle: ScheduleHandle::default(),
    };
    timers(&store, epoch, 1..1201, NOON).await;
    schedule.tick().await.unwrap();
    processor.started(1200).await;
    // All of these are still in the store, before the next one.
    timers(&store, epoch, 2001..2002, NOON.plus(Duration::from_secs(1))).await;
    clock.advance(Duration::from_secs(1));
    schedule.tick().await.unwrap();
    processor.started(1).await;
    schedule.tick().await.unwrap();
    tokio::task::yield_now().await;
    assert_eq!(processor.0.available_permits(), 0, "nothing is delivered twice");
}

#[tokio::test(start_paused = true)]
async fn no_more_timers_are_delivered_than_mailboxes_hold() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let epoch = epoch(&store).await;
    let clock = clock_at_noon();
    let processor = Arc::new(Endless(Semaphore::new(0)));
    let settings = MailboxSettings { max_waiting: 700, ..MailboxSettings::default() };
    let mailboxes = Mailboxes::new(Arc::clone(&processor) as _, Arc::clone(&store), settings);
    let schedule =
        Schedule { bot: BOT, store: Arc::clone(&store), clock, mailboxes, handle: ScheduleHandle::default() };
    timers(&store, epoch, 1..2001, NOON).await;
    schedule.tick().await.unwrap();
    schedule.tick().await.unwrap();
    // Only the page that filled the mailboxes.
    processor.started(1000).await;
    tokio::task::yield_now().await;
    assert_eq!(processor.0.available_permits(), 0);
}

#[tokio::test(start_paused = true)]
async fn unhandled_inputs_do_not_displace_failed_turns() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let epoch = epoch(&store).await;
    let clock = clock_at_noon();
    let park = async |kind: &str| {
        let parked = ParkedTurn::new(ConversationKey::private(BOT, 1), kind, String::new(), String::new(), 1);
        store.park(epoch, Vec::new(), ParkedTurn { at: NOON, ..parked }, Vec::new()).await.unwrap().id
    };
    let failed = park("update").await;
    let oldest = park("unhandled_outcome").await;
    for _ in 0..MAX_UNHANDLED {
        park("unhandled_outcome").await;
    }
    let processor = Arc::new(Endless(Semaphore::new(0)));
    let mailboxes = Mailboxes::new(processor, Arc::clone(&store), MailboxSettings::default());
    let retention = Retention::default();
    let job_retention = crate::jobs::JobRetention::default();
    let maintenance =
        Maintenance { bot: BOT, epoch, store: Arc::clone(&store), clock, mailboxes, retention, job_retention };
    maintenance.clean().await.unwrap();
    assert!(store.operator().parked_by_id(failed).await.unwrap().is_some());
    assert!(store.operator().parked_by_id(oldest).await.unwrap().is_none());
    assert_eq!(store.parked(None, usize::MAX).await.unwrap().len(), MAX_UNHANDLED + 1);
}
