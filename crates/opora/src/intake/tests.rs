//! Which turns start early, and which updates are stored first.

use futures_util::future::BoxFuture;

use super::*;
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::mailbox::{InputProcessor, MailboxSettings};
use crate::store::{LeaseAnswer, MemoryStore};

/// Finishes every input at once.
struct Quick;

impl InputProcessor for Quick {
    fn process<'a>(&'a self, _: &'a ConversationKey, inputs: Vec<QueuedInput>) -> BoxFuture<'a, ()> {
        Box::pin(async move { inputs.iter().for_each(QueuedInput::mark_durable) })
    }
}

/// Never finishes the inputs of one person, in the handler or in the commit. Finishes those of others at once.
struct Stuck {
    person: i64,
    in_handler: bool,
}

impl InputProcessor for Stuck {
    fn process<'a>(&'a self, key: &'a ConversationKey, inputs: Vec<QueuedInput>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if key.user == self.person {
                inputs.iter().for_each(|input| input.set_handler_running(self.in_handler));
                std::future::pending::<()>().await;
            }
            inputs.iter().for_each(QueuedInput::mark_durable);
        })
    }
}

fn intake() -> Intake {
    intake_with(Arc::new(MemoryStore::new()), Epoch(1), Arc::new(Quick))
}

fn intake_with(store: Arc<dyn Store>, epoch: Epoch, processor: Arc<dyn InputProcessor>) -> Intake {
    Intake {
        bot: 1,
        epoch,
        mailboxes: Mailboxes::new(processor, Arc::clone(&store), MailboxSettings::default()),
        store,
        clock: Clock::manual(Millis(0)),
        unsure: Arc::default(),
        start_early: Arc::new(StartEarly::new(true)),
        inbox_writes: InboxWrites::default(),
    }
}

fn update(update_id: i64, user: i64) -> Incoming {
    let mark = Mark { bot: 1, update_id, identity: "message:1".into() };
    Incoming { key: ConversationKey::private(1, user), origin: Origin::Update(mark), body: "{}".into(), at: Millis(0) }
}

#[tokio::test]
async fn an_update_does_not_overtake_one_being_stored() {
    let intake = intake();
    let (first, ..) = intake.start_direct_turns(vec![update(1, 7)]);
    assert_eq!(first.updates.len(), 1);
    // The first turn is running, so the second update is stored behind it.
    let (direct, rest, guard) = intake.start_direct_turns(vec![update(2, 7), update(3, 8)]);
    assert!(matches!(&rest[..], [Pending::Started(_), Pending::New(_)]));
    assert_eq!(direct.updates.len(), 1, "another conversation starts early");
    assert!(first.latch.wait(Duration::from_secs(5)).await);
    while intake.mailboxes.waiting() > 0 {
        tokio::task::yield_now().await;
    }
    // The first is done, and the second is not stored yet.
    let (direct, rest, _) = intake.start_direct_turns(vec![update(4, 7)]);
    assert!(direct.updates.is_empty() && rest.len() == 1);
    drop(guard);
    let (direct, ..) = intake.start_direct_turns(vec![update(5, 7)]);
    assert_eq!(direct.updates.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_intake_waits_longer_for_commits_than_for_handlers() {
    for (in_handler, most) in [(true, 5), (false, 30)] {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let holder = serde_json::from_value(serde_json::json!({
            "host": "h", "pid": 1, "process_start": 1, "boot_id": "b", "pid_namespace": "n", "since": 0, "token": "t",
            "ttl_ms": 60_000,
        }));
        let LeaseAnswer::Granted(epoch) = store.claim(1, &holder.unwrap(), None).await.unwrap() else {
            panic!("the lease is free");
        };
        let intake = intake_with(Arc::clone(&store), epoch, Arc::new(Stuck { person: 7, in_handler }));
        let began = tokio::time::Instant::now();
        let (direct, ..) = intake.start_direct_turns(vec![update(1, 7), update(2, 8), update(3, 9)]);
        intake.wait_or_store(direct).await.unwrap();
        let took = began.elapsed();
        assert!(took <= Duration::from_millis(most) && took >= HANDLER_POLL_INTERVAL * 2, "{took:?}");
        let stored = store.waiting_for(&ConversationKey::private(1, 7), Seq(i64::MIN), 9).await.unwrap();
        assert_eq!(stored.len(), 1, "it is durable");
        assert!(!intake.start_early.next_batch(), "the next batch is stored first");
    }
}

#[tokio::test]
async fn in_a_batch_no_update_overtakes_an_album() {
    let intake = intake();
    let mut photo = update(1, 7);
    photo.body =
        r#"{"update_id":1,"message":{"message_id":1,"date":1,"chat":{"id":7,"type":"private","first_name":"Anna"},
        "media_group_id":"1","photo":[]}}"#
            .into();
    let (direct, rest, _) = intake.start_direct_turns(vec![photo, update(2, 7), update(3, 8)]);
    assert_eq!((direct.updates.len(), rest.len()), (1, 2));
}
