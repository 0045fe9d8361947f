//! An inbox that other instances fill too.

use super::*;
use crate::store::{Commit, Opened, Version};

/// Records the inputs it processes and commits them, as a turn does.
struct Committer {
    recorder: Arc<Recorder>,
    store: Arc<dyn Store>,
    epoch: Epoch,
}

impl InputProcessor for Committer {
    fn process<'a>(&'a self, key: &'a ConversationKey, inputs: Vec<QueuedInput>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let processed = inputs.iter().filter_map(QueuedInput::input_ref).collect();
            self.recorder.process(key, inputs).await;
            let Ok(Opened::At { version: Version(from), .. }) = self.store.open(key, None).await else {
                panic!("no conversation")
            };
            let commit = Commit { processed, ..Commit::new(key.clone(), Version(from), Millis(0)) };
            self.store.commit(self.epoch, commit).await.unwrap();
        })
    }
}

async fn scene(settings: MailboxSettings) -> Scene {
    let mut scene = Scene::new(settings).await;
    let recorder = Arc::clone(&scene.recorder);
    let store = Arc::clone(&scene.store);
    let committer = Committer { recorder, store, epoch: scene.epoch };
    scene.mailboxes = Mailboxes::with(Arc::new(committer), Arc::clone(&scene.store), settings, true);
    scene
}

#[tokio::test(start_paused = true)]
async fn an_earlier_row_of_another_instance_goes_first() {
    let scene = scene(MailboxSettings::default()).await;
    scene.receives(1, 7, "by another").await;
    let (key, _) = scene.receives(1, 8, "here, a moment later").await;
    scene.mailboxes.check_inbox(&key);
    assert_eq!(scene.processed(2).await, [(1, vec![7]), (1, vec![8])]);
}

#[tokio::test(start_paused = true)]
async fn a_row_in_memory_is_not_taken_up_again() {
    let scene = scene(MailboxSettings::default()).await;
    let (key, slow) = scene.receives(1, 1, "slow").await;
    scene.mailboxes.deliver(key.clone(), slow.clone());
    tokio::task::yield_now().await;
    let (_, second) = scene.receives(1, 2, "next").await;
    for _ in 0..3 {
        scene.mailboxes.check_inbox(&key);
        scene.mailboxes.deliver(key.clone(), slow.clone());
        scene.mailboxes.deliver(key.clone(), second.clone());
        tokio::task::yield_now().await;
    }
    scene.recorder.slow.notify_one();
    assert_eq!(scene.processed(2).await, [(1, vec![1]), (1, vec![2])]);
    scene.mailboxes.check_inbox(&key);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((scene.recorder.processed.lock().len(), scene.mailboxes.waiting()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn the_overflow_is_read_in_the_order_of_the_inbox() {
    let scene = scene(MailboxSettings { max_per_conversation: 4, ..MailboxSettings::default() }).await;
    let (key, _) = scene.receives(1, 1, "slow").await;
    scene.mailboxes.check_inbox(&key);
    tokio::task::yield_now().await;
    for id in 2..40 {
        let (key, input) = scene.receives(1, id, "text").await;
        // Some rows are delivered here, others are announced.
        if id % 3 == 0 {
            scene.mailboxes.deliver(key, input);
        } else {
            scene.mailboxes.check_inbox(&key);
        }
    }
    scene.recorder.slow.notify_one();
    assert_eq!(scene.processed(39).await, (1..40).map(|id| (1, vec![id])).collect::<Vec<_>>());
    scene.mailboxes.close().await;
    assert_eq!((scene.recorder.processed.lock().len(), scene.mailboxes.waiting()), (39, 0));
}

#[tokio::test(start_paused = true)]
async fn album_items_stored_by_others_are_one_input() {
    let scene = scene(MailboxSettings::default()).await;
    for id in [1, 3, 2] {
        let (key, _) = scene.receives(1, id, &item(id)).await;
        scene.mailboxes.check_inbox(&key);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert_eq!(scene.processed(1).await, [(1, vec![1, 2, 3])]);
    assert_eq!(scene.mailboxes.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_failed_read_of_the_inbox_is_repeated() {
    let store = FaultyStore::new(Arc::new(MemoryStore::new()));
    store.fail_next("waiting_for", 3, Fault::Before);
    let scene = Scene::on(Arc::new(store), MailboxSettings::default()).await;
    let mailboxes =
        Mailboxes::with(Arc::clone(&scene.recorder) as _, Arc::clone(&scene.store), MailboxSettings::default(), true);
    let (key, _) = scene.receives(1, 1, "text").await;
    mailboxes.check_inbox(&key);
    assert_eq!(scene.processed(1).await, [(1, vec![1])]);
}
