//! Order, isolation, bounds and albums.

use std::time::Duration;

use super::*;
use crate::clock::Millis;
use crate::store::MemoryStore;
use crate::store::{Epoch, Incoming, LeaseAnswer, Mark, Receipt};
use crate::testing::faulty::{FaultyStore, Trouble};
use crate::testing::holder;

mod shared;

const BOT: i64 = 1;

/// Notes what it reads; a text that says `slow` waits until it is let go, and one that says `panic` panics.
#[derive(Default)]
struct Notes {
    read: Mutex<Vec<(i64, Vec<i64>)>>,
    changed: Notify,
    slow: Notify,
}

impl Reader for Notes {
    fn process<'a>(&'a self, key: &'a DialogueKey, letters: Vec<Letter>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let says = |word| matches!(&letters[0], Letter::Inbox(row) if row.incoming.body.contains(word));
            if says("slow") {
                self.slow.notified().await;
            }
            assert!(!says("panic"), "as asked");
            let ids = letters.iter().map(|letter| letter.update_id().unwrap_or(-1)).collect();
            self.read.lock().push((key.user, ids));
            self.changed.notify_waiters();
        })
    }
}

struct Scene {
    notes: Arc<Notes>,
    store: Arc<dyn Store>,
    mailboxes: Mailboxes,
    epoch: Epoch,
}

impl Scene {
    async fn new(settings: MailboxSettings) -> Self {
        Self::on(Arc::new(MemoryStore::new()), settings).await
    }

    async fn on(store: Arc<dyn Store>, settings: MailboxSettings) -> Self {
        let notes = Arc::new(Notes::default());
        let Ok(LeaseAnswer::Granted(epoch)) = store.claim(BOT, &holder("t"), None).await else { panic!("no lease") };
        let mailboxes = Mailboxes::new(Arc::clone(&notes) as Arc<dyn Reader>, Arc::clone(&store), settings);
        Self { notes, store, mailboxes, epoch }
    }

    async fn receives(&self, user: i64, update_id: i64, body: &str) -> (DialogueKey, Letter) {
        let key = DialogueKey::private(BOT, user);
        let mark = Mark { bot: BOT, update_id, identity: format!("message:{user}:{update_id}").into() };
        let incoming = Incoming { key: key.clone(), origin: Origin::Update(mark), body: body.into(), at: Millis(0) };
        let receipts = self.store.receive(self.epoch, vec![incoming.clone()]).await.unwrap();
        let Receipt::New(seq) = receipts[0] else { panic!("known already") };
        (key, Letter::Inbox(InboxRow { seq, incoming }))
    }

    async fn gets(&self, user: i64, update_id: i64, body: &str) {
        let (key, letter) = self.receives(user, update_id, body).await;
        self.mailboxes.deliver(key, letter);
    }

    /// Waits until so many inputs have been read, and answers them.
    async fn read(&self, count: usize) -> Vec<(i64, Vec<i64>)> {
        let all = async {
            loop {
                let changed = self.notes.changed.notified();
                if self.notes.read.lock().len() >= count {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(Duration::from_secs(600), all).await.expect("too few inputs were read");
        self.notes.read.lock().clone()
    }
}

fn item(update_id: i64) -> String {
    format!(
        r#"{{"update_id":{update_id},"message":{{"message_id":{update_id},"date":1,"chat":{{"id":1,"type":"private"}},"media_group_id":"g"}}}}"#
    )
}

#[tokio::test(start_paused = true)]
async fn of_updates_that_wait_together_the_lower_id_goes_first() {
    let scene = Scene::new(MailboxSettings::default()).await;
    for (id, body) in [(5, "slow"), (9, "a"), (7, "b"), (8, "c")] {
        scene.gets(1, id, body).await;
        tokio::task::yield_now().await;
    }
    scene.notes.slow.notify_one();
    assert_eq!(scene.read(4).await, [(1, vec![5]), (1, vec![7]), (1, vec![8]), (1, vec![9])]);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_goes_on_behind_a_reader_that_panics() {
    let scene = Scene::new(MailboxSettings::default()).await;
    for (id, body) in [(1, "panic"), (2, "a")] {
        scene.gets(1, id, body).await;
    }
    assert_eq!(scene.read(1).await, [(1, vec![2])]);
    scene.gets(1, 3, "b").await;
    assert_eq!(scene.read(2).await, [(1, vec![2]), (1, vec![3])]);
    scene.mailboxes.close().await;
    assert_eq!(scene.mailboxes.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_slow_conversation_delays_nobody_else() {
    let scene = Scene::new(MailboxSettings::default()).await;
    scene.gets(1, 1, "slow").await;
    scene.gets(1, 2, "next").await;
    for user in 2..100 {
        scene.gets(user, user, "quick").await;
    }
    assert!(scene.read(98).await.iter().all(|(user, _)| *user != 1));
    scene.notes.slow.notify_one();
    assert_eq!(scene.read(100).await[98..], [(1, vec![1]), (1, vec![2])]);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_into_a_queue_is_read_from_the_store_in_order_and_once() {
    let scene = Scene::new(MailboxSettings { per_dialogue: 4, ..MailboxSettings::default() }).await;
    scene.gets(1, 1, "slow").await;
    tokio::task::yield_now().await;
    for id in 2..40 {
        scene.gets(1, id, "text").await;
    }
    assert_eq!(scene.mailboxes.waiting(), 39);
    scene.notes.slow.notify_one();
    // The rows stay in this store because nothing commits; each is read once all the same.
    let read = scene.read(39).await;
    assert_eq!(read, (1..40).map(|id| (1, vec![id])).collect::<Vec<_>>());
    scene.mailboxes.close().await;
    assert_eq!((scene.notes.read.lock().len(), scene.mailboxes.waiting()), (39, 0));
}

#[tokio::test(start_paused = true)]
async fn items_of_an_album_are_one_input_and_a_text_between_them_waits() {
    let scene = Scene::new(MailboxSettings::default()).await;
    scene.gets(1, 1, &item(1)).await;
    scene.gets(1, 2, "between").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    scene.gets(1, 4, &item(4)).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    scene.gets(1, 3, &item(3)).await;
    assert_eq!(scene.read(2).await, [(1, vec![1, 3, 4]), (1, vec![2])]);
}

#[tokio::test(start_paused = true)]
async fn the_intake_pauses_while_too_much_waits() {
    let scene = Scene::new(MailboxSettings { in_all: 3, ..MailboxSettings::default() }).await;
    for id in 1..=3 {
        scene.gets(1, id, "slow").await;
    }
    assert!(scene.mailboxes.is_full());
    assert!(tokio::time::timeout(Duration::from_secs(1), scene.mailboxes.room()).await.is_err());
    scene.notes.slow.notify_one();
    tokio::time::timeout(Duration::from_secs(1), scene.mailboxes.room()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn closing_finishes_the_turn_under_way_and_starts_no_other() {
    let scene = Scene::new(MailboxSettings::default()).await;
    scene.gets(1, 1, "slow").await;
    scene.gets(1, 2, "next").await;
    tokio::task::yield_now().await;
    let closing = scene.mailboxes.clone();
    let closed = tokio::spawn(async move { closing.close().await });
    tokio::task::yield_now().await;
    assert!(!closed.is_finished());
    scene.notes.slow.notify_one();
    closed.await.unwrap();
    assert_eq!(*scene.notes.read.lock(), [(1, vec![1])]);
    scene.gets(1, 3, "late").await;
    assert_eq!(scene.notes.read.lock().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_stays_in_the_store_is_found_also_when_it_came_out_of_order() {
    let scene = Scene::new(MailboxSettings { per_dialogue: 2, ..MailboxSettings::default() }).await;
    scene.gets(1, 1, "slow").await;
    tokio::task::yield_now().await;
    let (key, late) = scene.receives(1, 2, "on a longer way").await;
    scene.gets(1, 3, "a").await;
    scene.gets(1, 4, "b").await;
    scene.mailboxes.deliver(key, late);
    scene.notes.slow.notify_one();
    let mut read = scene.read(4).await;
    read.sort();
    assert_eq!(read[1], (1, vec![2]));
}

#[tokio::test(start_paused = true)]
async fn the_intake_goes_on_when_fewer_letters_had_stayed_than_were_counted() {
    let store = FaultyStore::new(Arc::new(MemoryStore::new()));
    // So the intake looks, and still finds too much, before they are counted anew.
    store.fail_next("waiting_for", 1, Trouble::Delay(Duration::from_millis(10)));
    let settings = MailboxSettings { per_dialogue: 2, in_all: 3, ..MailboxSettings::default() };
    let scene = Scene::on(Arc::new(store), settings).await;
    scene.gets(1, 1, "slow").await;
    tokio::task::yield_now().await;
    scene.gets(1, 2, "queued").await;
    scene.gets(1, 3, "queued").await;
    let (key, letter) = scene.receives(1, 4, "stays").await;
    for _ in 0..3 {
        scene.mailboxes.deliver(key.clone(), letter.clone());
    }
    let waiting = scene.mailboxes.clone();
    let room = tokio::spawn(async move { waiting.room().await });
    tokio::task::yield_now().await;
    scene.notes.slow.notify_one();
    assert_eq!(scene.read(4).await.len(), 4);
    tokio::time::timeout(Duration::from_secs(1), room).await.expect("the intake is never woken").unwrap();
}
