//! An inbox into which others put updates too.

use super::*;
use crate::store::{Commit, Opened, Version};

/// Notes what it reads and takes it, as a turn does.
struct Taker {
    notes: Arc<Notes>,
    store: Arc<dyn Store>,
    epoch: Epoch,
}

impl Reader for Taker {
    fn process<'a>(&'a self, key: &'a DialogueKey, letters: Vec<Letter>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let takes = letters.iter().filter_map(Letter::taken).collect();
            self.notes.process(key, letters).await;
            let Ok(Opened::At { version: Version(from), .. }) = self.store.open(key, None).await else {
                panic!("no conversation")
            };
            let commit = Commit { takes, ..Commit::new(key.clone(), Version(from), Millis(0)) };
            self.store.commit(self.epoch, commit).await.unwrap();
        })
    }
}

async fn scene(settings: MailboxSettings) -> Scene {
    let mut scene = Scene::new(settings).await;
    let notes = Arc::clone(&scene.notes);
    let store = Arc::clone(&scene.store);
    let taker = Taker { notes, store, epoch: scene.epoch };
    scene.mailboxes = Mailboxes::with(Arc::new(taker), Arc::clone(&scene.store), settings, true);
    scene
}

#[tokio::test(start_paused = true)]
async fn what_another_has_stored_before_is_not_overtaken() {
    let scene = scene(MailboxSettings::default()).await;
    scene.receives(1, 7, "by another").await;
    let (key, _) = scene.receives(1, 8, "here, a moment later").await;
    scene.mailboxes.look(&key);
    assert_eq!(scene.read(2).await, [(1, vec![7]), (1, vec![8])]);
}

#[tokio::test(start_paused = true)]
async fn a_row_that_is_in_memory_is_not_taken_in_again() {
    let scene = scene(MailboxSettings::default()).await;
    let (key, slow) = scene.receives(1, 1, "slow").await;
    scene.mailboxes.deliver(key.clone(), slow.clone());
    tokio::task::yield_now().await;
    let (_, second) = scene.receives(1, 2, "next").await;
    for _ in 0..3 {
        scene.mailboxes.look(&key);
        scene.mailboxes.deliver(key.clone(), slow.clone());
        scene.mailboxes.deliver(key.clone(), second.clone());
        tokio::task::yield_now().await;
    }
    scene.notes.slow.notify_one();
    assert_eq!(scene.read(2).await, [(1, vec![1]), (1, vec![2])]);
    scene.mailboxes.look(&key);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((scene.notes.read.lock().len(), scene.mailboxes.waiting()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn more_than_fits_is_read_in_the_order_of_the_inbox() {
    let scene = scene(MailboxSettings { per_dialogue: 4, ..MailboxSettings::default() }).await;
    let (key, _) = scene.receives(1, 1, "slow").await;
    scene.mailboxes.look(&key);
    tokio::task::yield_now().await;
    for id in 2..40 {
        let (key, letter) = scene.receives(1, id, "text").await;
        // Some are known here at once, of others one hears later.
        if id % 3 == 0 {
            scene.mailboxes.deliver(key, letter);
        } else {
            scene.mailboxes.look(&key);
        }
    }
    scene.notes.slow.notify_one();
    assert_eq!(scene.read(39).await, (1..40).map(|id| (1, vec![id])).collect::<Vec<_>>());
    scene.mailboxes.close().await;
    assert_eq!((scene.notes.read.lock().len(), scene.mailboxes.waiting()), (39, 0));
}

#[tokio::test(start_paused = true)]
async fn items_of_an_album_that_others_have_stored_are_one_input() {
    let scene = scene(MailboxSettings::default()).await;
    for id in [1, 3, 2] {
        let (key, _) = scene.receives(1, id, &item(id)).await;
        scene.mailboxes.look(&key);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert_eq!(scene.read(1).await, [(1, vec![1, 2, 3])]);
    assert_eq!(scene.mailboxes.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn while_the_store_is_away_one_looks_again() {
    let store = FaultyStore::new(Arc::new(MemoryStore::new()));
    store.fail_next("waiting_for", 3, Trouble::Before);
    let scene = Scene::on(Arc::new(store), MailboxSettings::default()).await;
    let mailboxes =
        Mailboxes::with(Arc::clone(&scene.notes) as _, Arc::clone(&scene.store), MailboxSettings::default(), true);
    let (key, _) = scene.receives(1, 1, "text").await;
    mailboxes.look(&key);
    assert_eq!(scene.read(1).await, [(1, vec![1])]);
}
