//! Order, isolation, limits and albums.

use std::time::Duration;

use super::*;
use crate::clock::Millis;
use crate::store::MemoryStore;
use crate::store::{Epoch, Incoming, LeaseAnswer, Mark, Receipt};
use crate::testing::faulty::{Fault, FaultyStore};
use crate::testing::holder;

mod shared_inbox;

const BOT: i64 = 1;

/// Records the inputs it processes. A body with `slow` waits for a notification, and one with `panic` panics.
#[derive(Default)]
struct Recorder {
    processed: Mutex<Vec<(i64, Vec<i64>)>>,
    changed: Notify,
    slow: Notify,
}

impl InputProcessor for Recorder {
    fn process<'a>(&'a self, key: &'a ConversationKey, inputs: Vec<QueuedInput>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let says = |word| matches!(&inputs[0], QueuedInput::Inbox(row) if row.incoming.body.contains(word));
            if says("slow") {
                self.slow.notified().await;
            }
            assert!(!says("panic"), "as asked");
            let ids = inputs.iter().map(|input| input.update_id().unwrap_or(-1)).collect();
            self.processed.lock().push((key.user, ids));
            self.changed.notify_waiters();
        })
    }
}

struct Scene {
    recorder: Arc<Recorder>,
    store: Arc<dyn Store>,
    mailboxes: Mailboxes,
    epoch: Epoch,
}

impl Scene {
    async fn new(settings: MailboxSettings) -> Self {
        Self::on(Arc::new(MemoryStore::new()), settings).await
    }

    async fn on(store: Arc<dyn Store>, settings: MailboxSettings) -> Self {
        let recorder = Arc::new(Recorder::default());
        let Ok(LeaseAnswer::Granted(epoch)) = store.claim(BOT, &holder("t"), None).await else { panic!("no lease") };
        let mailboxes = Mailboxes::new(Arc::clone(&recorder) as Arc<dyn InputProcessor>, Arc::clone(&store), settings);
        Self { recorder, store, mailboxes, epoch }
    }

    async fn receives(&self, user: i64, update_id: i64, body: &str) -> (ConversationKey, QueuedInput) {
        let key = ConversationKey::private(BOT, user);
        let mark = Mark { bot: BOT, update_id, identity: format!("message:{user}:{update_id}").into() };
        let incoming = Incoming { key: key.clone(), origin: Origin::Update(mark), body: body.into(), at: Millis(0) };
        let receipts = self.store.receive(self.epoch, vec![incoming.clone()]).await.unwrap();
        let Receipt::New(seq) = receipts[0] else { panic!("known already") };
        (key, QueuedInput::Inbox(InboxRow { seq, incoming }))
    }

    async fn gets(&self, user: i64, update_id: i64, body: &str) {
        let (key, input) = self.receives(user, update_id, body).await;
        self.mailboxes.deliver(key, input);
    }

    /// Waits until that many inputs have been processed, and returns them.
    async fn processed(&self, count: usize) -> Vec<(i64, Vec<i64>)> {
        let all = async {
            loop {
                let changed = self.recorder.changed.notified();
                if self.recorder.processed.lock().len() >= count {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(Duration::from_secs(600), all).await.expect("too few inputs were processed");
        self.recorder.processed.lock().clone()
    }
}

fn item(update_id: i64) -> String {
    format!(
        r#"{{"update_id":{update_id},"message":{{"message_id":{update_id},"date":1,"chat":{{"id":1,"type":"private"}},"media_group_id":"g"}}}}"#
    )
}

#[tokio::test(start_paused = true)]
async fn the_queued_update_with_the_lowest_id_goes_first() {
    let scene = Scene::new(MailboxSettings::default()).await;
    for (id, body) in [(5, "slow"), (9, "a"), (7, "b"), (8, "c")] {
        scene.gets(1, id, body).await;
        tokio::task::yield_now().await;
    }
    scene.recorder.slow.notify_one();
    assert_eq!(scene.processed(4).await, [(1, vec![5]), (1, vec![7]), (1, vec![8]), (1, vec![9])]);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_continues_after_a_panic() {
    let scene = Scene::new(MailboxSettings::default()).await;
    for (id, body) in [(1, "panic"), (2, "a")] {
        scene.gets(1, id, body).await;
    }
    assert_eq!(scene.processed(1).await, [(1, vec![2])]);
    scene.gets(1, 3, "b").await;
    assert_eq!(scene.processed(2).await, [(1, vec![2]), (1, vec![3])]);
    scene.mailboxes.close().await;
    assert_eq!(scene.mailboxes.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_slow_conversation_delays_no_other() {
    let scene = Scene::new(MailboxSettings::default()).await;
    scene.gets(1, 1, "slow").await;
    scene.gets(1, 2, "next").await;
    for user in 2..100 {
        scene.gets(user, user, "quick").await;
    }
    assert!(scene.processed(98).await.iter().all(|(user, _)| *user != 1));
    scene.recorder.slow.notify_one();
    assert_eq!(scene.processed(100).await[98..], [(1, vec![1]), (1, vec![2])]);
}

#[tokio::test(start_paused = true)]
async fn the_overflow_is_read_from_the_inbox_in_order_and_once() {
    let scene = Scene::new(MailboxSettings { max_per_conversation: 4, ..MailboxSettings::default() }).await;
    scene.gets(1, 1, "slow").await;
    tokio::task::yield_now().await;
    for id in 2..40 {
        scene.gets(1, id, "text").await;
    }
    assert_eq!(scene.mailboxes.waiting(), 39);
    scene.recorder.slow.notify_one();
    // The rows stay in this store because nothing commits. Each is processed once nevertheless.
    let processed = scene.processed(39).await;
    assert_eq!(processed, (1..40).map(|id| (1, vec![id])).collect::<Vec<_>>());
    scene.mailboxes.close().await;
    assert_eq!((scene.recorder.processed.lock().len(), scene.mailboxes.waiting()), (39, 0));
}

#[tokio::test(start_paused = true)]
async fn album_items_are_one_input_and_a_text_between_them_waits() {
    let scene = Scene::new(MailboxSettings::default()).await;
    scene.gets(1, 1, &item(1)).await;
    scene.gets(1, 2, "between").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    scene.gets(1, 4, &item(4)).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    scene.gets(1, 3, &item(3)).await;
    assert_eq!(scene.processed(2).await, [(1, vec![1, 3, 4]), (1, vec![2])]);
}

#[tokio::test(start_paused = true)]
async fn the_intake_pauses_while_too_many_inputs_wait() {
    let scene = Scene::new(MailboxSettings { max_waiting: 3, ..MailboxSettings::default() }).await;
    for id in 1..=3 {
        scene.gets(1, id, "slow").await;
    }
    assert!(scene.mailboxes.is_full());
    assert!(tokio::time::timeout(Duration::from_secs(1), scene.mailboxes.wait_for_room()).await.is_err());
    scene.recorder.slow.notify_one();
    tokio::time::timeout(Duration::from_secs(1), scene.mailboxes.wait_for_room()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn closing_finishes_the_running_turn_and_starts_no_other() {
    let scene = Scene::new(MailboxSettings::default()).await;
    scene.gets(1, 1, "slow").await;
    scene.gets(1, 2, "next").await;
    tokio::task::yield_now().await;
    let closing = scene.mailboxes.clone();
    let closed = tokio::spawn(async move { closing.close().await });
    tokio::task::yield_now().await;
    assert!(!closed.is_finished());
    scene.recorder.slow.notify_one();
    closed.await.unwrap();
    assert_eq!(*scene.recorder.processed.lock(), [(1, vec![1])]);
    scene.gets(1, 3, "late").await;
    assert_eq!(scene.recorder.processed.lock().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_overflow_is_found_when_it_arrived_out_of_order() {
    let scene = Scene::new(MailboxSettings { max_per_conversation: 2, ..MailboxSettings::default() }).await;
    scene.gets(1, 1, "slow").await;
    tokio::task::yield_now().await;
    let (key, late) = scene.receives(1, 2, "delayed").await;
    scene.gets(1, 3, "a").await;
    scene.gets(1, 4, "b").await;
    scene.mailboxes.deliver(key, late);
    scene.recorder.slow.notify_one();
    let mut processed = scene.processed(4).await;
    processed.sort();
    assert_eq!(processed[1], (1, vec![2]));
}

#[tokio::test(start_paused = true)]
async fn the_intake_resumes_when_the_overflow_was_overcounted() {
    let store = FaultyStore::new(Arc::new(MemoryStore::new()));
    // The delay lets the intake check the limit before the overflow is counted again.
    store.fail_next("waiting_for", 1, Fault::Delay(Duration::from_millis(10)));
    let settings = MailboxSettings { max_per_conversation: 2, max_waiting: 3, ..MailboxSettings::default() };
    let scene = Scene::on(Arc::new(store), settings).await;
    scene.gets(1, 1, "slow").await;
    tokio::task::yield_now().await;
    scene.gets(1, 2, "queued").await;
    scene.gets(1, 3, "queued").await;
    let (key, input) = scene.receives(1, 4, "stays").await;
    for _ in 0..3 {
        scene.mailboxes.deliver(key.clone(), input.clone());
    }
    let waiting = scene.mailboxes.clone();
    let room = tokio::spawn(async move { waiting.wait_for_room().await });
    tokio::task::yield_now().await;
    scene.recorder.slow.notify_one();
    assert_eq!(scene.processed(4).await.len(), 4);
    tokio::time::timeout(Duration::from_secs(1), room).await.expect("the intake is never woken").unwrap();
}
